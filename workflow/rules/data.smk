rule data:
    # One array file per data set, made from local or downloaded raw files, checked by checksum.
    output:
        arrays="data/prepared/{dataset}.npz",
        record="data/prepared/{dataset}.json",
    log:
        "logs/data/{dataset}.log",
    benchmark:
        "benchmarks-raw/data/{dataset}.tsv"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        folder=lambda w: f"--data-dir {shlex.quote(config['data_dir'])}" if config["data_dir"] else "",
        tracked=lambda w: dependencies.tracked("prepare", datasets.depends(w.dataset)),
    message:
        "preparing {wildcards.dataset}"
    shell:
        "gcexp data {wildcards.dataset} {params.folder} -o {output.arrays} 2> {log}"
