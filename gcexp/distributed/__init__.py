"""Codes in real training: `Recorder` times ranks, `join` makes a trace of their files, `Coded` runs DDP with a code.

This is the only room that measures real processes; every time in a figure is simulated. `join` needs no torch.
"""

from importlib import import_module

_HOMES = {"Coded": "coded", "Recorder": "recorder", "join": "recorder"}
__all__ = ["Coded", "Recorder", "join"]


def __getattr__(name: str):
    if name in _HOMES:  # loaded when used: torch is an extra
        return getattr(import_module(f"gcexp.distributed.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
