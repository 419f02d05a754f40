rule scorecard:
    # The papers' statements and every claim of every figure, as one list and as a page.
    input:
        claims=lambda w: [figure.claims for figure in figures_of(w.preset)],
    output:
        paths.SCORECARD[0],
        report(paths.SCORECARD[1], category="scorecard", caption="../report/scorecard.rst"),
    log:
        paths.log(paths.SCORECARD[0]),
    benchmark:
        paths.benchmark(paths.SCORECARD[0])
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        reads=reads_of(paths.SCORECARD[0]),
        tracked=lambda w: dependencies.tracked("scorecard"),
    message:
        "scorecard of the {wildcards.preset} preset"
    shell:
        "GCEXP_READS={params.reads:q} gcexp job scorecard -i {input.claims:q} -o {output:q} 2> {log:q}"


rule page:
    # One static page with every figure and its claims: the index of all that is made.
    input:
        scorecard=paths.SCORECARD,
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
        "GCEXP_READS={params.reads:q} gcexp job page {params.targets} --preset {wildcards.preset:q} -i {input.scorecard[0]:q} -o {output:q} 2> {log:q}"
