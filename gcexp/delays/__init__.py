"""Delay models: when each worker finishes, drawn without knowing code, load or data."""

from gcexp.delays.base import DelayModel, Draws, held_exponentials
from gcexp.delays.distributions import Pareto, ShiftedExponential

__all__ = ["DelayModel", "Draws", "Pareto", "ShiftedExponential", "held_exponentials"]
