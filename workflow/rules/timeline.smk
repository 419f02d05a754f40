rule timeline:
    # Clock and coefficients of one scheme under one delay model, all seeds at once.
    output:
        "results/timeline/{scheme}/{delay}/{length}/seeds{seeds}.npz",
    params:
        run=overrides,
        tracked=lambda w: tracked(w, ("code", "wait", "overhead", "exact", "delay"), "timeline"),
    log:
        "logs/timeline/{scheme}/{delay}/{length}/seeds{seeds}.log",
    benchmark:
        "benchmarks-raw/timeline/{scheme}/{delay}/{length}/seeds{seeds}.tsv"
    resources:
        mem_mb=2000,
        runtime=20,
    group:
        "timeline"  # free locally; with --group-components several share one cluster job
    message:
        "timeline of {wildcards.scheme} under {wildcards.delay}"
    shell:
        "gcexp timeline {params.run} -o {output} 2> {log}"
