"""Where does redundancy pay on given times, and where can it not? What does a clock cost? As tidy tables."""

from gcexp.benchmarking.bound import bound_of, load_of
from gcexp.benchmarking.replay import Replay
from gcexp.benchmarking.scale import growth
from gcexp.benchmarking.studies import break_evens, remedies
from gcexp.benchmarking.table import COLUMNS, benchmark
from gcexp.benchmarking.verdict import ALONE, CANNOT, LOSES, REBALANCING, WAITING, WINS, colour, verdicts

__all__ = [
    "ALONE",
    "CANNOT",
    "COLUMNS",
    "LOSES",
    "REBALANCING",
    "Replay",
    "WAITING",
    "WINS",
    "benchmark",
    "bound_of",
    "break_evens",
    "colour",
    "growth",
    "load_of",
    "remedies",
    "verdicts",
]
