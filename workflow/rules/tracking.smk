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
        targets=lambda w: [figure.target for figure in figures_of(w.preset)],
        reads=reads_of(paths.IMPORTED),
        uri=lambda w: ["--uri", config["tracking_uri"]] if config["tracking_uri"] else [],
        tracked=lambda w: dependencies.tracked("tracking"),
    message:
        "importing finished runs into MLflow"
    shell:
        "GCEXP_READS={params.reads:q} gcexp job track {params.targets} --preset {wildcards.preset:q} {params.uri:q} -o {output:q} 2> {log:q}"
