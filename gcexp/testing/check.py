"""One check of one subject, and what the checks of several kinds of subjects share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gcexp.errors import ParameterError

SEEDS, ITERATIONS = (0, 1), 20


@dataclass(frozen=True)
class Check:
    """One check of one subject: call it."""

    subject: str
    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Run it; a failure says what was broken, what was found and the cure."""
        try:
            self.run()
        except AssertionError as error:
            raise AssertionError(f"{self}: {self.meaning}\n{error}".rstrip()) from error
        except Exception as error:
            error.add_note(f"{self}: {self.meaning}")
            raise

    @property
    def meaning(self) -> str:
        """What has to hold, and the cure where it does not."""
        return inspect.getdoc(self.run) or ""

    def __str__(self) -> str:
        return f"{self.subject}-{self.name}"


def named(build: Callable) -> str:
    """A constructor and what it is given, where that is short."""
    if not isinstance(build, partial):
        return getattr(build, "__name__", type(build).__name__)
    short = [f"{k}={v}" for k, v in build.keywords.items() if isinstance(v, int | float | str | None)]
    given = [*map(str, (a for a in build.args if isinstance(a, int | float | str))), *short]
    return f"{named(build.func)}({', '.join(given)})"


def first_place(places: np.ndarray) -> str:
    """The first of some places (seed, iteration, worker) in words."""
    names = ("seed", "iteration", "worker")
    return ", ".join(f"{name} {place}" for name, place in zip(names, places[0], strict=False))


def assert_refused(call: Callable, given) -> None:
    """The call ends in a `ParameterError`, as it must for what is no valid argument."""
    try:
        call(given)
    except ParameterError:
        return
    raise AssertionError(f"{call.__qualname__} takes {given!r:.100}, which should be a ParameterError")
