"""From a figure's table to its plot: `parse` what the figure file says, `draw`, `save`.

Checking and typesetting need no matplotlib, so that a workflow can be parsed quickly.
"""

from gcexp.figures.drawing import draw, save
from gcexp.figures.plots import parse
from gcexp.figures.tables import read_table, write_table

__all__ = ["draw", "parse", "read_table", "save", "write_table"]
