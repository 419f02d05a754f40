# A sweep that `gcexp run -m --submit PROFILE` hands over: its plan names the file of every job, and what the job is.
import atexit
import json
import sys
from pathlib import Path

from snakemake.utils import min_version

from gcexp.command import progress, snakemake_inside
from gcexp.files import remove_half_written
from gcexp.run import paths, records

min_version("9.0")
snakemake_inside.use_this_interpreter()
JOBS = json.loads(Path(config["sweep"]).read_text("utf-8"))


wildcard_constraints:
    name="[0-9a-f]{16}",
    task=paths.NAME,


onstart:
    remove_half_written("results/sweep")  # of jobs that were killed
    progress.watch(logger, snakemake_inside.planned_jobs(workflow))


onerror:
    atexit.register(print, progress.failures(), file=sys.stderr)


def told(key, pattern):
    # What the plan says of the job that makes this file.
    return lambda wildcards: JOBS[pattern.format(**wildcards)][key]


def planned(pattern, *more):
    # All that decides what a job makes.
    keys = {key: told(key, pattern) for key in ("fingerprint", "run", *more)}
    return {"record": records.state_of(pattern), **keys}


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
        mem_mb=3000,
        runtime=600,
    params:
        **planned(paths.SWEEP_TRAINING),
    message:
        "training {wildcards.task}, exact"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job train {params.run:q} -o {output:q} 2> {log:q}"


rule sweep_point:
    # A clock, and where the training of exact schemes is given, its scores on this clock.
    input:
        told("needs", paths.SWEEP_POINT),
    output:
        paths.SWEEP_POINT,
    log:
        paths.log(paths.SWEEP_POINT),
    conda:
        "envs/train.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **planned(paths.SWEEP_POINT, "options"),
    message:
        "point {params.run}"
    shell:
        "GCEXP_PLANNED={params.record:q} gcexp job point {params.run:q} {params.options:q} -o {output:q} 2> {log:q}"


use rule sweep_point as sweep_trained_point with:
    input:
        [],
    # A point that is trained with the coefficients that its scheme decodes.
    output:
        paths.SWEEP_TRAINED_POINT,
    log:
        paths.log(paths.SWEEP_TRAINED_POINT),
    resources:
        mem_mb=3000,
        runtime=600,
    params:
        **planned(paths.SWEEP_TRAINED_POINT, "options"),
