rule train_exact:
    # Training with every coefficient 1: no scheme, no delay model and no clock in it.
    input:
        data=described_data,
    output:
        paths.EXACT,
    log:
        paths.log(paths.EXACT),
    conda:
        "../envs/train.yaml"
    resources:
        **asked_by_training("train_exact"),
    params:
        fingerprint=lambda w: fingerprint_of_run(w, "trajectory"),
        record=records.state_of(paths.EXACT),
        run=overrides,
    message:
        "training {wildcards.task}, exact"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job train {params.run:q} -o {output:q} 2> {log:q}"


rule train:
    # Training with the coefficients that a scheme decodes, then the replay of encode, drop and decode.
    input:
        data=described_data,
    output:
        trajectory=paths.APPROXIMATE,
        verified=paths.VERIFIED,
    log:
        paths.log(paths.APPROXIMATE),
    conda:
        "../envs/train.yaml"
    resources:
        **asked_by_training("train"),
    params:
        fingerprint=lambda w: fingerprint_of_run(w, "timeline", "trajectory", "replay"),
        record=records.state_of(paths.APPROXIMATE),
        run=overrides,
    message:
        "training {wildcards.task} with {wildcards.scheme}"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job train {params.run:q} -o {output.trajectory:q}"
        " --verified {output.verified:q} 2> {log:q}"
