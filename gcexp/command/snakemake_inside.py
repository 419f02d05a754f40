"""What we ask of Snakemake beyond what it documents: the only place, so that a new version is tried here.

Rules hand over their `workflow` and get plain values back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path
from typing import Any

from gcexp import slurm
from gcexp.command import progress
from gcexp.run.costs import Cost, memory_asked, minutes_asked

#: Version that it was tried with; `tests/workflow/test_plans.py` asks every function of this module.
TRIED = "9.27"


def use_this_interpreter() -> None:
    """Let jobs start with the interpreter that plans, whether or not its environment was activated."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def names_on_command_line(workflow: Any) -> tuple[list[str], list[str]]:
    """Targets on the command line, and names behind options such as ``--forcerun``.

    Nothing where another program or a `module` brings these rules.
    """
    if Path(sys.argv[0]).name != "snakemake" or workflow.modifier.namespace is not None:
        return [], []
    given = _given()
    behind_options: list[str] = []
    for names in (given.forcerun, given.prioritize, given.until, given.omit_from):
        behind_options += names or ()
    return list(given.targets or ()), behind_options


def is_first(workflow: Any) -> bool:
    """Whether a person started this Snakemake, and not another one for a job."""
    return bool(workflow.is_main_process)


def handed_jobs(workflow: Any) -> list[tuple[str, dict[str, str]]]:
    """Rule and wildcards of each job that another Snakemake started this one for; none where a person started it."""
    if is_first(workflow):
        return []
    jobs = _given().target_jobs or []
    return [(job.rulename, dict(job.wildcards_dict)) for job in jobs]


def planned_jobs(workflow: Any) -> int:
    """Jobs of a plan that is about to start."""
    return sum(1 for _ in workflow.dag.needrun_jobs())


def name_of_submissions(workflow: Any) -> str:
    """The name that all jobs have which this Snakemake submits to Slurm; empty under another executor."""
    return str(getattr(workflow.scheduler._executor, "run_uuid", ""))


def outlast_controller(workflow: Any) -> None:
    """Let Snakemake go on when the controller of Slurm is away for minutes and comes back.

    The plugin forgets jobs of which it learns nothing, so that Snakemake waits for them for ever, and it counts a
    submission that finds no controller as an attempt of the job. Here such jobs are asked for again, and a submission
    waits until Slurm answers. The plugin also waits for ever for jobs that the controller no longer knows; here they
    have failed after some minutes (`gcexp.slurm.UnknownJobs`).
    """
    executor = workflow.scheduler._executor
    if not hasattr(executor, "run_uuid"):  # no Slurm
        return
    check = executor.check_active_jobs
    submit = executor.run_job
    unknown = slurm.UnknownJobs(executor.run_uuid)

    async def check_again(jobs: list) -> AsyncIterator:
        answers = executor._status_query_calls
        unfinished = [job async for job in check(jobs)]
        if executor._status_query_calls == answers:
            unfinished = jobs
        lost = unknown.lost([job.external_jobid for job in unfinished])
        for job in unfinished:
            if job.external_jobid in lost:
                _fail_as_lost(executor, job)
            else:
                yield job

    def submit_later(job: Any) -> None:
        slurm.wait_until_it_answers()
        named: set[str] = getattr(executor, "_failed_nodes", set())
        executor._failed_nodes = named | _nodes_left_out(job)
        try:
            submit(job)
        finally:
            executor._failed_nodes = named

    executor.check_active_jobs = check_again
    executor.run_job = submit_later


def _nodes_left_out(job: Any) -> set[str]:
    """Nodes that the retry of a job leaves out, since several submissions failed there; never all that are usable."""
    suspected = progress.suspected_nodes()
    if not suspected or job.attempt == 1:
        return set()
    others = slurm.usable_nodes(job.resources.get("slurm_partition")) - suspected
    return suspected if others else set()


def _fail_as_lost(executor: Any, job: Any) -> None:
    """Count a submitted job as failed, since Slurm does not know it any more."""
    message = f"Slurm has lost job {job.external_jobid}: it answers, and has not known the job for minutes. "
    executor.report_job_error(job, message, aux_logs=[str(job.aux["slurm_logfile"])], state=slurm.LOST)


def asked_resources(
    workflow: Any, rule: str, cost: Callable[[Any], Cost], least: tuple[int, int] = (0, 0), beside: int = 0
) -> dict[str, Callable]:
    """Memory and minutes of a rule, by what a job costs: more in each attempt, at most what a queue grants.

    `least` are MB and minutes that are asked for at least; `beside` are minutes of a job that shares the submission.
    """
    least_mb, least_minutes = least

    def memory(wildcards: Any, attempt: int) -> int:
        return max(attempt * least_mb, memory_asked(cost(wildcards), attempt))

    def minutes(wildcards: Any, attempt: int) -> int:
        asked = max(attempt * least_minutes, minutes_asked(cost(wildcards), attempt))
        if not is_first(workflow):
            return asked
        longest = _longest_minutes(_partition(workflow, rule))
        if longest is None:
            return asked
        return max(1, min(asked, longest - beside))

    return {"mem_mb": memory, "runtime": minutes}


def _partition(workflow: Any, rule: str) -> str | None:
    """The partition of Slurm that is asked for by the jobs of a rule, where one is named."""
    settings = workflow.resource_settings
    of_rule = (settings.overwrite_resources or {}).get(rule)
    for resources in (of_rule, settings.default_resources):
        if not resources:
            continue
        if hasattr(resources, "args"):  # in older versions the defaults are no mapping
            resources = dict(argument.split("=", 1) for argument in resources.args)
        partition = resources.get("slurm_partition")
        name = getattr(partition, "raw", partition)
        if name and not callable(name):  # in older versions it may be an expression that was read already
            return str(name)
    return None


@cache
def _longest_minutes(partition: str | None) -> int | None:
    """What Slurm says of a partition, asked once."""
    return slurm.longest_minutes(partition)


def _given() -> Any:
    from snakemake.cli import get_argument_parser

    return get_argument_parser().parse_known_args()[0]
