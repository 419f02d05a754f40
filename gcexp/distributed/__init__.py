"""Codes in real training: record what ranks take, run with a code under DistributedDataParallel, join the recordings.

`Recorder` writes what each rank takes before the collective, ``gcexp trace join`` makes one trace of it, and `Coded`
gives every rank the decoded gradient of the first ranks that suffice. This is the only room that measures seconds of
real processes; every time in a figure is simulated. `join` needs no torch.
"""

from importlib import import_module

_HOMES = {"Coded": "coded", "Recorder": "recorder", "Step": "coded", "join": "join"}
__all__ = ["Coded", "Recorder", "Step", "join"]


def __getattr__(name: str):
    if name in _HOMES:  # loaded when used: torch is an extra
        return getattr(import_module(f"gcexp.distributed.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
