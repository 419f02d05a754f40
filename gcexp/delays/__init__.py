"""Delay models: when each worker finishes, drawn without knowing code, load or data."""

from gcexp.delays.base import DelayModel, Draws, Exponentials, Streamed, held_exponentials
from gcexp.delays.composed import Composed
from gcexp.delays.compute_transmit import ComputeTransmit
from gcexp.delays.distributions import Pareto, ShiftedExponential
from gcexp.delays.epochs import Epochs, Restarts
from gcexp.delays.local_steps import LocalSteps
from gcexp.delays.markov import SummedDraws, TwoStateMarkov
from gcexp.delays.trace import Trace, TraceDraws
from gcexp.schema import checked_fields

__all__ = [
    "Composed",
    "ComputeTransmit",
    "DelayModel",
    "Draws",
    "Epochs",
    "Exponentials",
    "LocalSteps",
    "Pareto",
    "Restarts",
    "ShiftedExponential",
    "Streamed",
    "SummedDraws",
    "Trace",
    "TraceDraws",
    "TwoStateMarkov",
    "held_exponentials",
]

# Constructors called from Python report a wrong argument as option files do.
checked_fields(*(globals()[name] for name in __all__ if hasattr(globals()[name], "draw")))
