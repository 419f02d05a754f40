rule tracking:
    # The one writer to MLflow: imports the runs of finished figures, each once.
    input:
        lambda w: REQUEST.products(w.preset),
    output:
        paths.IMPORTED,
    log:
        paths.log(paths.IMPORTED),
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        fingerprint=lambda w: dependencies.stage_fingerprint("tracking"),
        record=imported.import_state_of(paths.IMPORTED),
        targets=lambda w: [*REQUEST.figures(w.preset)],
        uri=lambda w: ["--uri", config["tracking_uri"]] if config["tracking_uri"] else [],
    message:
        "importing finished runs into MLflow"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job track {params.targets} --preset {wildcards.preset:q} {params.uri:q} -o {output:q} 2> {log:q}"


use rule tracking as tracking_part with:
    # The same of one figure, or of a paper's own.
    input:
        lambda w: REQUEST.products_of(w.part, w.preset),
    output:
        paths.IMPORTED_PART,
    log:
        paths.log(paths.IMPORTED_PART),
    wildcard_constraints:
        part="|".join([*FIGURES, *PAPERS]) or "none",
    params:
        fingerprint=lambda w: dependencies.stage_fingerprint("tracking"),
        record=imported.import_state_of(paths.IMPORTED_PART),
        targets=lambda w: [figure.target for figure in REQUEST.figures_of(w.part, w.preset)],
        uri=lambda w: ["--uri", config["tracking_uri"]] if config["tracking_uri"] else [],
    message:
        "importing the runs of {wildcards.part} into MLflow"
