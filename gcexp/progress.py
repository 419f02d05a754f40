"""What does a long call from Python show while it runs? A bar on a terminal or in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from typing import Any

AFTER = 0.5  # seconds: what is done by then needs no bar


def bar(total: int, what: str, unit: str, shown: bool = True) -> Any:
    """A bar of tqdm, as a context manager with ``update(count)``.

    In a notebook it is the notebook's own where ipywidgets is there, else one of text.

    Parameters
    ----------
    total : int
    what, unit : str
        What is done, and what is counted.
    shown : bool
        False: nothing is shown anywhere.

    Examples
    --------
    >>> with bar(2, "trainings", "point") as moving:
    ...     moving.update(2)
    """
    inside = _in_notebook()
    if inside and shown and find_spec("ipywidgets"):
        from tqdm.notebook import tqdm
    else:
        from tqdm import tqdm
    hidden = (False if inside else None) if shown else True  # None: where there is no terminal
    return tqdm(total=total, desc=what, unit=unit, delay=AFTER, disable=hidden)


def _in_notebook() -> bool:
    """Whether this process is a kernel of Jupyter."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "IPKernelApp" in getattr(shell, "config", ())


class Watched:
    """A delay model that moves a bar: when more is drawn, what was drawn before has been played.

    Parameters
    ----------
    delay : DelayModel
    moving : bar
        Of iterations of all seeds.
    """

    def __init__(self, delay: Any, moving: Any):
        self._delay, self._moving, self._drawn = delay, moving, 0

    def draw(self, seeds: tuple[int, ...], iterations: int, n: int) -> Any:
        """As of the model."""
        return self._next(partial(self._delay.draw, seeds, n=n), len(seeds), iterations)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._delay, name)
        streams = name == "start" and callable(found)  # of a trace it is a number
        return partial(self._start, found) if streams else found

    def close(self) -> None:
        """All that was drawn has been played."""
        self._moving.update(self._drawn)

    def _start(self, begin: Callable, seeds: tuple[int, ...], n: int) -> Callable[[int], Any]:
        return partial(self._next, begin(seeds, n), len(seeds))

    def _next(self, draw: Callable[[int], Any], seeds: int, iterations: int) -> Any:
        self._moving.update(self._drawn)
        self._drawn = seeds * iterations
        return draw(iterations)


class Steps:
    """In the place of a training's checkpoint: it is asked after every step, keeps nothing and moves a bar."""

    def __init__(self, moving: Any):
        self._moving = moving

    def held(self, *arrays: Any) -> nullcontext:
        """As of a checkpoint: nobody else is kept away."""
        return nullcontext()

    def load(self) -> None:
        """There is never a state."""

    def save(self, state: dict) -> None:
        """Keep nothing."""

    @property
    def due(self) -> bool:
        """Whether to save: never."""
        self._moving.update()
        return False
