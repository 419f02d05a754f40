"""What we ask of Snakemake beyond what it documents: the only place, so that a new version is tried here.

Rules hand over their `workflow` and get plain values back.
"""

from __future__ import annotations

import atexit
import gc
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

#: Version that it was tried with; `tests/workflow/test_plans.py` asks every function of this module.
TRIED = "9.27"


@dataclass(frozen=True)
class Asked:
    """What a person asked for.

    Attributes
    ----------
    targets, mentioned : list of str
        Targets, and names behind options such as ``--forcerun``; nothing where another program or a `module` brings
        these rules.
    here : bool
        Whether jobs, if any, will run on this machine.
    first : bool
        Whether no other Snakemake started this one for its jobs.
    """

    targets: list[str]
    mentioned: list[str]
    here: bool
    first: bool


def collect_later() -> None:
    """Look for no cycles in memory while Snakemake plans, nor when it ends: that is 1 CPU-s of 4, and finds 5 MB.

    Rules that start jobs call `gc.enable`. Nothing changes where another program brings these rules.
    """
    if Path(sys.argv[0]).name == "snakemake":
        gc.disable()
        atexit.register(gc.freeze)


def one_thread() -> None:
    """Plan on one thread: small systems of equations on several cost a first plan 2 to 12 CPU-s.

    Snakemake has loaded numpy before, so that no variable of the environment is read any more.
    """
    threadpool_limits(1)


def asked(workflow: Any) -> Asked:
    """What stands on the command line."""
    if Path(sys.argv[0]).name != "snakemake" or workflow.modifier.namespace is not None:
        return Asked([], [], False, workflow.is_main_process)
    given = _given()
    others = (given.forcerun, given.prioritize, given.until, given.omit_from)
    other = given.dryrun, given.touch, given.executor, given.profile, given.workflow_profile
    mentioned = [name for names in others for name in names or ()]
    first = workflow.is_main_process
    return Asked(list(given.targets or ()), mentioned, first and not any(other), first)


def handed_jobs(workflow: Any) -> list[tuple[str, dict[str, str]]]:
    """Rule and wildcards of each job that another Snakemake started this one for; none where a person started it."""
    jobs = [] if workflow.is_main_process else _given().target_jobs or []
    return [(job.rulename, dict(job.wildcards_dict)) for job in jobs]


def planned_jobs(workflow: Any) -> int:
    """Jobs of a plan that is about to start."""
    return sum(1 for _ in workflow.dag.needrun_jobs())


def start_jobs_at_once(workflow: Any) -> bool:
    """Drop the limit of starts per second where jobs run on this machine, and say whether they do.

    It is meant for clusters. Here every job that ends would leave one more timer that wakes the scheduler each second.
    """
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
    return bool(workflow.local_exec)


def _given() -> Any:
    from snakemake.cli import get_argument_parser

    return get_argument_parser().parse_known_args()[0]
