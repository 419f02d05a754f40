from snakemake.utils import min_version

min_version("9.0")


configfile: "conf/workflow.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/timeline.smk"
include: "workflow/rules/trajectory.smk"
include: "workflow/rules/figure.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/tracking.smk"
include: "workflow/rules/targets.smk"


# Everything of the chosen preset; the default target.
rule all:
    default_target: True
    input:
        everything(config["preset"]),
