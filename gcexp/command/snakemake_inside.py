"""What we ask of Snakemake beyond what it documents: the only place, so that a new version is tried here.

Rules hand over their `workflow` and get plain values back.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """

    targets: list[str]
    mentioned: list[str]


def use_this_interpreter() -> None:
    """Let jobs start with the interpreter that plans, whether or not its environment was activated."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def asked(workflow: Any) -> Asked:
    """What stands on the command line."""
    if Path(sys.argv[0]).name != "snakemake" or workflow.modifier.namespace is not None:
        return Asked([], [])
    given = _given()
    others = (given.forcerun, given.prioritize, given.until, given.omit_from)
    return Asked(list(given.targets or ()), [name for names in others for name in names or ()])


def handed_jobs(workflow: Any) -> list[tuple[str, dict[str, str]]]:
    """Rule and wildcards of each job that another Snakemake started this one for; none where a person started it."""
    jobs = [] if workflow.is_main_process else _given().target_jobs or []
    return [(job.rulename, dict(job.wildcards_dict)) for job in jobs]


def planned_jobs(workflow: Any) -> int:
    """Jobs of a plan that is about to start."""
    return sum(1 for _ in workflow.dag.needrun_jobs())


def leave_benchmarks(workflow: Any) -> None:
    """Leave it to the fork server to write benchmark files: Snakemake would measure the command that waits for it."""
    for rule in workflow.rules:
        rule._benchmark = None
    for job in workflow.dag.needrun_jobs():
        job._benchmark = None


def runs_here(workflow: Any) -> bool:
    """Whether jobs run on this machine."""
    return bool(workflow.local_exec)


def _given() -> Any:
    from snakemake.cli import get_argument_parser

    return get_argument_parser().parse_known_args()[0]
