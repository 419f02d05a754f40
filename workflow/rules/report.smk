rule page:
    # The page of every figure: the index of all that is made.
    input:
        products=lambda w: shown_products(w.preset),
    output:
        paths.PAGE,
    log:
        paths.log(paths.PAGE),
    benchmark:
        paths.benchmark(paths.PAGE)
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        fingerprint=lambda w: dependencies.tracked("page")
        + [dependencies.digest_of(read_yaml(path)) for path in shown_files(w.preset).values()]
        + papers_fingerprint(papers_of(shown_files(w.preset))),
        record=records.state_of(paths.PAGE),
        targets=lambda w: list(shown_files(w.preset)),
    message:
        "report page of the {wildcards.preset} preset"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job page {params.targets} --preset {wildcards.preset:q} -o {output:q} 2> {log:q}"
