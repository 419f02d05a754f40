rule trajectory_exact:
    # Training with every coefficient 1: no scheme, no delay model and no clock in it.
    input:
        data=described_data,
    output:
        paths.EXACT,
    log:
        paths.log(paths.EXACT),
    benchmark:
        paths.benchmark(paths.EXACT)
    resources:
        mem_mb=3000,
        runtime=600,
    params:
        reads=reads_of(paths.EXACT),
        run=overrides,
        tracked=lambda w: tracked(w, "trajectory"),
    message:
        "training {wildcards.task}, exact"
    shell:
        "GCEXP_READS={params.reads:q} gcexp job train {params.run:q} -o {output:q} 2> {log:q}"


rule trajectory_approximate:
    # Training with the coefficients that a scheme decodes, then the replay of encode, drop and decode.
    input:
        data=described_data,
    output:
        trajectory=paths.APPROXIMATE,
        verified=paths.VERIFIED,
    log:
        paths.log(paths.APPROXIMATE),
    benchmark:
        paths.benchmark(paths.APPROXIMATE)
    resources:
        mem_mb=3000,
        runtime=600,
    params:
        reads=reads_of(paths.APPROXIMATE),
        run=overrides,
        tracked=lambda w: tracked(w, "timeline") + tracked(w, "trajectory") + tracked(w, "replay"),
    message:
        "training {wildcards.task} with {wildcards.scheme}"
    shell:
        "GCEXP_READS={params.reads:q} gcexp job train {params.run:q}"
        " -o {output.trajectory:q} --verified {output.verified:q} 2> {log:q}"
