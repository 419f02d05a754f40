# `snakemake` in this folder; the rules are in workflow/, where the Snakemake workflow catalog looks for them.
include: "workflow/Snakefile"


workflow.default_target = "all"  # an included file sets none
