rule tracking:
    # The one writer to MLflow: imports finished runs, each once.
    input:
        runs=lambda w: sorted({path for figure in figures_of(w.preset) for path in figure.inputs}),
        scorecard="reports/{preset}/scorecard.json",
    output:
        "results/mlflow/{preset}.imported",
    log:
        "logs/tracking/{preset}.log",
    benchmark:
        "benchmarks-raw/tracking/{preset}.tsv"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        tracked=dependencies.tracked("tracking"),
        uri=lambda w: f"--uri {shlex.quote(config['tracking_uri'])}" if config["tracking_uri"] else "",
    message:
        "importing finished runs into MLflow"
    shell:
        "gcexp track --preset {wildcards.preset} {params.uri} -o {output} 2> {log}"
