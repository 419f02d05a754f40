rule page:
    # The page of every figure: the index of all that is made.
    input:
        products=lambda w: [product for figure in figures_of(w.preset) for product in figure.products],
    output:
        paths.PAGE,
    log:
        paths.log(paths.PAGE),
    benchmark:
        paths.benchmark(paths.PAGE)
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        targets=lambda w: [figure.target for figure in figures_of(w.preset)],
        reads=reads_of(paths.PAGE),
        tracked=lambda w: dependencies.tracked("page")
        + [figure.tracked_page for figure in figures_of(w.preset)]
        + figure_view.tracked_papers(),
    message:
        "report page of the {wildcards.preset} preset"
    shell:
        "GCEXP_READS={params.reads:q} gcexp job page {params.targets} --preset {wildcards.preset:q} -o {output:q} 2> {log:q}"
