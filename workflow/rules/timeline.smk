rule timeline:
    # Clock and coefficients of one scheme under one delay model, all seeds at once.
    output:
        paths.TIMELINE,
    log:
        paths.log(paths.TIMELINE),
    benchmark:
        paths.benchmark(paths.TIMELINE)
    group:
        "timeline"  # free locally; with --group-components several share one cluster job
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        reads=reads_of(paths.TIMELINE),
        run=overrides,
        tracked=lambda w: tracked(w, "timeline"),
    message:
        "timeline of {wildcards.scheme} under {wildcards.delay}"
    shell:
        "GCEXP_READS={params.reads:q} gcexp job timeline {params.run:q} -o {output:q} 2> {log:q}"
