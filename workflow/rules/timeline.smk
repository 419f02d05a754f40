rule timeline:
    # Clock and coefficients of one scheme under one delay model, all seeds at once.
    output:
        "results/timeline/{scheme}/{delay}/{length}/seeds{seeds}.npz",
    log:
        "logs/timeline/{scheme}/{delay}/{length}/seeds{seeds}.log",
    benchmark:
        "benchmarks-raw/timeline/{scheme}/{delay}/{length}/seeds{seeds}.tsv"
    group:
        "timeline"  # free locally; with --group-components several share one cluster job
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        run=overrides,
        tracked=lambda w: tracked(w, "timeline"),
    message:
        "timeline of {wildcards.scheme} under {wildcards.delay}"
    shell:
        "gcexp timeline {params.run} -o {output} 2> {log}"
