# A sweep that `gcexp run -m --submit PROFILE` hands over: its plan names the file of every job, and what the job is.
import atexit
import json
import sys
from pathlib import Path

from snakemake.utils import min_version

from gcexp.command import progress, snakemake_inside
from gcexp.files import remove_half_written
from gcexp.run import paths, records
from gcexp.run.costs import Cost

min_version("9.0")
snakemake_inside.use_this_interpreter()
PLAN = Path(config["sweep"])
COMMAND, JOBS = json.loads(PLAN.read_text("utf-8")).values()


wildcard_constraints:
    name="[0-9a-f]{16}",
    task=paths.NAME,


onstart:
    remove_half_written("results/sweep")  # of jobs that were killed
    name = snakemake_inside.name_of_submissions(workflow)
    if name:
        PLAN.with_suffix(".run").write_text(name)
    snakemake_inside.outlast_controller(workflow)
    progress.watch(logger, snakemake_inside.planned_jobs(workflow), COMMAND)


onsuccess:
    nodes = progress.lines_about_nodes()
    if nodes:
        atexit.register(print, "\n".join(nodes), file=sys.stderr)


onerror:
    atexit.register(print, progress.failures(), file=sys.stderr)


def job_of(wildcards, pattern):
    return JOBS[pattern.format(**wildcards)]


def planned(pattern):
    # All that decides what a training makes.
    keys = {key: lambda w, key=key: job_of(w, pattern)[key] for key in ("fingerprint", "run")}
    return {"record": records.state_of(pattern), **keys}


def asked(rule, pattern):
    # What the jobs of a rule ask a cluster for.
    return snakemake_inside.asked_resources(workflow, rule, lambda w: Cost(**job_of(w, pattern)["cost"]))


rule sweep:
    # The table itself is collected by the command that waits for this workflow.
    default_target: True
    input:
        list(JOBS),


rule sweep_training:
    # Training with every coefficient 1, shared by all points with an exact scheme.
    output:
        paths.SWEEP_TRAINING,
    log:
        paths.log(paths.SWEEP_TRAINING),
    conda:
        "envs/train.yaml"
    resources:
        **asked("sweep_training", paths.SWEEP_TRAINING),
    params:
        **planned(paths.SWEEP_TRAINING),
    message:
        "training {wildcards.task}, exact"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job train {params.run:q} -o {output:q} 2> {log:q}"


rule sweep_point:
    # Clocks, and where the training of exact schemes is given, its scores on them: as many as take some minutes.
    input:
        lambda w: job_of(w, paths.SWEEP_POINTS)["needs"],
    output:
        paths.SWEEP_POINTS,
    log:
        paths.log(paths.SWEEP_POINTS),
    conda:
        "envs/train.yaml"
    resources:
        **asked("sweep_point", paths.SWEEP_POINTS),
    params:
        plan=config["sweep"],
        number=lambda w: len(job_of(w, paths.SWEEP_POINTS)["points"]),
    message:
        "points measured together: {params.number}"
    shell:
        "gcexp job point {params.plan:q} -o {output:q} 2> {log:q}"


use rule sweep_point as sweep_trained_point with:
    # Points that are trained with the coefficients that their schemes decode.
    input:
        [],
    output:
        paths.SWEEP_TRAINED_POINTS,
    log:
        paths.log(paths.SWEEP_TRAINED_POINTS),
    resources:
        **asked("sweep_trained_point", paths.SWEEP_TRAINED_POINTS),
    params:
        plan=config["sweep"],
        number=lambda w: len(job_of(w, paths.SWEEP_TRAINED_POINTS)["points"]),
    message:
        "points of {wildcards.task} trained one after the other: {params.number}"
