"""What of a job's wall time is progress where workers fail, with checkpoints, codes and spares."""

from gcexp_adviser.goodput.break_even import BreakEven
from gcexp_adviser.goodput.studies import best_schemes, goodputs
from gcexp_adviser.goodput.table import COLUMNS, goodput

__all__ = ["COLUMNS", "BreakEven", "best_schemes", "goodput", "goodputs"]
