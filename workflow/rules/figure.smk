rule table:
    # The tidy CSV of the plotted numbers.
    input:
        lambda w: figure_of(w).inputs,
        lambda w: ancient(figure_of(w).data),
    output:
        paths.TABLE,
    log:
        paths.log(paths.TABLE),
    priority: 1  # some analyses are the longest jobs of all, and wait for nothing
    conda:
        "../envs/report.yaml"
    resources:
        **asked_by_table(),
    params:
        fingerprint=lambda w: figure_of(w).table_fingerprint,
        record=records.state_of(paths.TABLE),
    message:
        "table of {wildcards.target}"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job table {wildcards.target:q} --preset {wildcards.preset:q} -o {output:q} 2> {log:q}"


rule draw:
    # The drawing of a table; an edit of how it looks repeats no run.
    input:
        paths.TABLE,
    output:
        pdf=paths.DRAWN[0],
        drawing=report(
            paths.DRAWN[1],
            category=lambda w: figure_of(w).paper,
            caption="../report/figure.rst",
            labels=labels_of,
        ),
    log:
        paths.log(paths.DRAWN[0]),
    wildcard_constraints:
        target="|".join(DRAWN) or "none",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        fingerprint=lambda w: figure_of(w).drawing_fingerprint,
        record=lambda w: records.state(figure_of(w).drawings[0]),
        render=REQUEST.render.arguments,
    message:
        "drawing {wildcards.target}"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job plot {wildcards.target:q} --preset {wildcards.preset:q} -i {input:q} -o {output:q}"
        " {params.render:q} 2> {log:q}"


use rule draw as typeset with:
    # A figure that is a table: as Markdown and LaTeX.
    output:
        drawing=report(
            paths.TYPESET[0],
            category=lambda w: figure_of(w).paper,
            caption="../report/figure.rst",
            labels=labels_of,
        ),
        tex=paths.TYPESET[1],
    log:
        paths.log(paths.TYPESET[0]),
    wildcard_constraints:
        target="|".join(TYPESET) or "none",
    message:
        "typesetting {wildcards.target}"
