"""Where does redundancy pay on given times, and where can it not? What does a clock cost? As tidy tables."""

from gcexp_adviser.benchmark.bound import bound_of, load_of
from gcexp_adviser.benchmark.replay import Replay
from gcexp_adviser.benchmark.scale import growth
from gcexp_adviser.benchmark.studies import break_evens, remedies
from gcexp_adviser.benchmark.table import COLUMNS, benchmark
from gcexp_adviser.benchmark.verdict import ALONE, CANNOT, LOSES, REBALANCING, WAITING, WINS, colour, verdicts

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
