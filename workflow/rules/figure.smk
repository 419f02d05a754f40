rule table:
    # The tidy CSV of the plotted numbers.
    input:
        lambda w: figure_of(w).inputs,
    output:
        "reports/{preset}/data/{target}.csv",
    log:
        "logs/table/{preset}/{target}.log",
    benchmark:
        "benchmarks-raw/table/{preset}/{target}.tsv"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        tracked=lambda w: figure_of(w).tracked_table,
    message:
        "table of {wildcards.target}"
    shell:
        "gcexp table {wildcards.target} --preset {wildcards.preset} -o {output} 2> {log}"


rule plot:
    # The drawing of a table; a change of style or labels repeats only this.
    input:
        table="reports/{preset}/data/{target}.csv",
        style=ancient("conf/style/paper.mplstyle"),
    output:
        report(
            "reports/{preset}/figures/{target}.png",
            category=lambda w: figure_of(w).paper,
            caption="../report/figure.rst",
            labels=lambda w: {"figure": figure_of(w).file.title},
        ),
        "reports/{preset}/figures/{target}.pdf",
    log:
        "logs/plot/{preset}/{target}.log",
    benchmark:
        "benchmarks-raw/plot/{preset}/{target}.tsv"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        tracked=lambda w: figure_of(w).tracked_plot,
    message:
        "drawing {wildcards.target}"
    shell:
        "gcexp plot {wildcards.target} --preset {wildcards.preset} -i {input.table} -o {output} 2> {log}"


use rule plot as typeset with:
    # A figure that is a table: typeset as PDF, PNG, Markdown and LaTeX.
    output:
        report(
            "reports/{preset}/tables/{target}.png",
            category=lambda w: figure_of(w).paper,
            caption="../report/figure.rst",
            labels=lambda w: {"figure": figure_of(w).file.title},
        ),
        "reports/{preset}/tables/{target}.pdf",
        "reports/{preset}/tables/{target}.md",
        "reports/{preset}/tables/{target}.tex",
    log:
        "logs/typeset/{preset}/{target}.log",
    benchmark:
        "benchmarks-raw/typeset/{preset}/{target}.tsv"
    message:
        "typesetting {wildcards.target}"


rule claims:
    # The paper's statements held against the table.
    input:
        "reports/{preset}/data/{target}.csv",
    output:
        "reports/{preset}/claims/{target}.json",
    log:
        "logs/claims/{preset}/{target}.log",
    benchmark:
        "benchmarks-raw/claims/{preset}/{target}.tsv"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        tracked=lambda w: figure_of(w).tracked_claims,
    message:
        "claims of {wildcards.target}"
    shell:
        "gcexp claims {wildcards.target} --preset {wildcards.preset} -i {input} -o {output} 2> {log}"
