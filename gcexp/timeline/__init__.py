"""The simulated clock: a scheme and random draws give a timeline, for all iterations and seeds."""

from gcexp.timeline.arrivals import arrivals_in_order
from gcexp.timeline.clock import durations, run_clock, simulate
from gcexp.timeline.game import Game
from gcexp.timeline.median import in_times_of, median_time, usual_time, with_limits_as_times
from gcexp.timeline.one_iteration import Iteration, first_iteration
from gcexp.timeline.timeline import Timeline, joined

__all__ = [
    "Game",
    "Iteration",
    "Timeline",
    "arrivals_in_order",
    "durations",
    "first_iteration",
    "in_times_of",
    "joined",
    "median_time",
    "run_clock",
    "simulate",
    "usual_time",
    "with_limits_as_times",
]
