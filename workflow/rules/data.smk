rule data:
    output:
        arrays=paths.DATA,
        record=paths.DATA_RECORD,
    log:
        paths.log(paths.DATA),
    # One array file per data set, made from local or downloaded raw files, checked by checksum.
    # It runs where the workflow was started: nodes of a cluster may reach no other machine.
    localrule: True
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        fingerprint=lambda w: datasets.fingerprint(w.dataset),
        record=records.state_of(paths.DATA),
        folder=lambda w: ["--data-dir", config["data_dir"]] if config["data_dir"] else [],
    message:
        "preparing {wildcards.dataset}"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job data {wildcards.dataset:q} {params.folder:q} -o {output.arrays:q} 2> {log:q}"
