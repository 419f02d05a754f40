rule scorecard:
    # The papers' statements and every claim of every figure, as one list and as a page.
    input:
        claims=lambda w: [figure.claims for figure in figures_of(w.preset)],
        statements=lambda w: statement_files(w.preset),
    output:
        "reports/{preset}/scorecard.json",
        report("reports/{preset}/scorecard.md", category="scorecard", caption="../report/scorecard.rst"),
    log:
        "logs/scorecard/{preset}.log",
    benchmark:
        "benchmarks-raw/scorecard/{preset}.tsv"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        tracked=dependencies.tracked("scorecard"),
    message:
        "scorecard of the {wildcards.preset} preset"
    shell:
        "gcexp scorecard -i {input.claims} -o {output} 2> {log}"


rule page:
    # One static page with every figure and its claims.
    input:
        scorecard="reports/{preset}/scorecard.json",
        drawings=lambda w: [drawing for figure in figures_of(w.preset) for drawing in figure.drawings],
    output:
        "reports/{preset}/index.html",
    log:
        "logs/page/{preset}.log",
    benchmark:
        "benchmarks-raw/page/{preset}.tsv"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        tracked=lambda w: dependencies.tracked("page")
        + [figure.tracked_page for figure in figures_of(w.preset)],
    message:
        "report page of the {wildcards.preset} preset"
    shell:
        "gcexp page --preset {wildcards.preset} -i {input.scorecard} -o {output} 2> {log}"
