rule tracking:
    # The one writer to MLflow: imports finished runs, each once.
    input:
        runs=lambda w: sorted({path for figure in figures_of(w.preset) for path in figure.inputs}),
        page=paths.PAGE,
    output:
        paths.IMPORTED,
    log:
        paths.log(paths.IMPORTED),
    benchmark:
        paths.benchmark(paths.IMPORTED)
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        fingerprint=lambda w: dependencies.tracked("tracking"),
        record=record_of(paths.IMPORTED),
        targets=lambda w: [figure.target for figure in figures_of(w.preset)],
        uri=lambda w: ["--uri", config["tracking_uri"]] if config["tracking_uri"] else [],
    message:
        "importing finished runs into MLflow"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job track {params.targets} --preset {wildcards.preset:q} {params.uri:q} -o {output:q} 2> {log:q}"
