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
    # Training with the partition coefficients of a timeline, then the replay of the true path.
    input:
        data=described_data,
        timeline=paths.TIMELINE,
    output:
        trajectory=paths.APPROXIMATE,
        verified=paths.REPLAY_OF_TRAINING,
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
        tracked=lambda w: tracked(w, "trajectory") + tracked(w, "replay"),
    message:
        "training {wildcards.task} with {wildcards.scheme}"
    shell:
        "GCEXP_READS={params.reads:q} gcexp job train {params.run:q} --timeline {input.timeline:q}"
        " -o {output.trajectory:q} --verified {output.verified:q} 2> {log:q}"


rule replay:
    # Replay of the true encode, drop, decode path of an exact scheme on the parameters that the shared training saved.
    input:
        data=lambda w: [ancient(file) for file in prepared_files(w)],
        timeline=paths.TIMELINE,
        trajectory=lambda w: run_of(w).trajectory,
    output:
        paths.REPLAY,
    log:
        paths.log(paths.REPLAY),
    benchmark:
        paths.benchmark(paths.REPLAY)
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        reads=reads_of(paths.REPLAY),
        run=overrides,
        tracked=lambda w: tracked(w, "replay"),
    message:
        "replaying {wildcards.scheme} on {wildcards.task}"
    shell:
        "GCEXP_READS={params.reads:q} gcexp job replay {params.run:q} --timeline {input.timeline:q} --trajectory {input.trajectory:q}"
        " -o {output:q} 2> {log:q}"
