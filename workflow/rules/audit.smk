# What the papers state, judged anew at each call: the outcomes of a job are deleted once all papers are judged.
rule audit_paper:
    output:
        temp("results/audit/{paper}.csv"),
    log:
        paths.log("results/audit/{paper}.csv"),
    conda:
        "../envs/train.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    message:
        "judging the statements of {wildcards.paper}"
    shell:
        "gcexp audit {wildcards.paper:q} -o {output:q} 2> {log:q}"


rule audit:
    input:
        [f"results/audit/{folder.name}.csv" for folder in audit.papers().values()],
