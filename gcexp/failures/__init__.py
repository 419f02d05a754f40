"""Failures on the clock: workers that die and are replaced, and what of the wall time of a job is progress then."""

from gcexp.failures.history import MOST_FATAL, History, Job, recorded_history
from gcexp.failures.lifetimes import REJOIN_LAWS, Lifetimes
from gcexp.failures.recorded import Faults, read_faults
from gcexp.failures.remedies import Present, Respread
from gcexp.failures.shares import (
    MOST_SAVES,
    Costs,
    Goodput,
    best_goodput,
    best_of_history,
    goodput,
    of_history,
)
from gcexp.failures.steps import Step, Steps

__all__ = [
    "MOST_FATAL",
    "MOST_SAVES",
    "REJOIN_LAWS",
    "Costs",
    "Faults",
    "Goodput",
    "History",
    "Job",
    "Lifetimes",
    "Present",
    "Respread",
    "Step",
    "Steps",
    "best_goodput",
    "best_of_history",
    "goodput",
    "of_history",
    "read_faults",
    "recorded_history",
]
