rule page:
    # The page of every figure: the index of all that is made.
    input:
        products=lambda w: REQUEST.shown_products(w.preset),
    output:
        paths.PAGE,
    log:
        paths.log(paths.PAGE),
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        fingerprint=fingerprint_of_page,
        record=records.state_of(paths.PAGE),
        targets=lambda w: [*REQUEST.shown_files(w.preset)],
    message:
        "report page of the {wildcards.preset} preset"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job page {params.targets} --preset {wildcards.preset:q} -o {output:q} 2> {log:q}"


rule figure_page:
    # A page of one figure, for who asks for it by its name.
    input:
        lambda w: figure_of(w).products,
    output:
        paths.FIGURE_PAGE,
    log:
        paths.log(paths.FIGURE_PAGE),
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        fingerprint=lambda w: fingerprint_of_pages([target_files()[w.target]], [figure_of(w).paper]),
        record=records.state_of(paths.FIGURE_PAGE),
    message:
        "page of {wildcards.target}"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job figure_page {wildcards.target:q} --preset {wildcards.preset:q} -o {output:q} 2> {log:q}"
