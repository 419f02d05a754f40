rule trajectory_exact:
    # Training with every coefficient 1: no scheme, no delay model and no clock in it.
    input:
        data=prepared("results/trajectory/{task}/{optimizer}/exact/T{iterations}/seeds{seeds}.npz"),
    output:
        "results/trajectory/{task}/{optimizer}/exact/T{iterations}/seeds{seeds}.npz",
    log:
        "logs/trajectory/{task}/{optimizer}/exact/T{iterations}/seeds{seeds}.log",
    benchmark:
        "benchmarks-raw/trajectory/{task}/{optimizer}/exact/T{iterations}/seeds{seeds}.tsv"
    resources:
        mem_mb=3000,
        runtime=600,
    params:
        run=overrides,
        tracked=lambda w: tracked(w, "trajectory"),
    message:
        "training {wildcards.task}, exact"
    shell:
        "gcexp train {params.run} -o {output} 2> {log}"


rule trajectory_approximate:
    # Training with the partition coefficients of a timeline, then the replay of the true path.
    input:
        data=prepared("results/trajectory/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.npz"),
        timeline="results/timeline/{scheme}/{delay}/{length}/seeds{seeds}.npz",
    output:
        trajectory="results/trajectory/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.npz",
        verified="results/trajectory/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.verified.json",
    log:
        "logs/trajectory/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.log",
    benchmark:
        "benchmarks-raw/trajectory/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.tsv"
    resources:
        mem_mb=3000,
        runtime=600,
    params:
        run=overrides,
        tracked=lambda w: tracked(w, "trajectory") + tracked(w, "verify"),
    message:
        "training {wildcards.task} with {wildcards.scheme}"
    shell:
        "gcexp train {params.run} --timeline {input.timeline} -o {output.trajectory} --verified {output.verified} 2> {log}"


rule verify:
    # Replay of the true encode, drop, decode path of an exact scheme on the parameters that the shared training saved.
    input:
        data=lambda w: [ancient(file) for file in prepared_files(w)],
        timeline="results/timeline/{scheme}/{delay}/{length}/seeds{seeds}.npz",
        trajectory=lambda w: run_of(w).trajectory,
    output:
        "results/verify/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.json",
    log:
        "logs/verify/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.log",
    benchmark:
        "benchmarks-raw/verify/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.tsv"
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        run=overrides,
        tracked=lambda w: tracked(w, "verify"),
    message:
        "verifying {wildcards.scheme} on {wildcards.task}"
    shell:
        "gcexp verify {params.run} --timeline {input.timeline} --trajectory {input.trajectory} -o {output} 2> {log}"
