"""Optional members: a class without them takes part, and a reader finds each of them in one place."""

import pydoc
import re
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

from gcexp.codes import CyclicRepetition
from gcexp.delays import Draws, ShiftedExponential
from gcexp.delays.base import DelayExtras
from gcexp.extras import extras
from gcexp.schemes import Fastest, Scheme
from gcexp.schemes.loads import LoadsExtras
from gcexp.schemes.placement import PlacementExtras
from gcexp.schemes.waiting import WaitingExtras
from gcexp.tasks.base import ProblemExtras, TaskExtras
from gcexp.timeline import run_clock

KINDS = (WaitingExtras, DelayExtras, PlacementExtras, LoadsExtras, TaskExtras, ProblemExtras)
CODE = CyclicRepetition(n=6, s=2)


@dataclass(frozen=True)
class PlainRule:
    """A waiting rule with the one method that it must have."""

    def stop(self, code, arrive):
        return Fastest(s=2).stop(code, arrive)


@dataclass(frozen=True)
class PlainDelay:
    """A delay model with the one method that it must have, and a parameter that is called as an extra is."""

    start: float = 1.0

    def draw(self, seeds, iterations, n):
        drawn = ShiftedExponential(shift=self.start).draw(seeds, iterations, n)
        return Draws(tuple(seeds), drawn.shape, start=drawn.start)


@dataclass(frozen=True)
class PlainPlacement:
    """A placement with the two methods that it must have."""

    def check(self, code):
        pass

    def seat(self, is_slow, seeds, play=None):
        return np.broadcast_to(np.arange(play.shape[2])[::-1], play.shape)


@dataclass(frozen=True)
class PlainLoads:
    """Loads with the two methods that they must have."""

    def check(self, code):
        pass

    def start(self, n, known):
        return lambda draws: np.ones(draws.shape)


@pytest.mark.parametrize("late", ["stop", "finish"])
@pytest.mark.parametrize(
    "more",
    [{}, {"placement": PlainPlacement()}, {"loads": PlainLoads()}],
    ids=["alone", "placement", "loads"],
)
def test_parts_without_any_extra_take_part(late, more):
    scheme = Scheme(CODE, PlainRule(), late=late, **more)
    timeline = run_clock(scheme, PlainDelay(), (0, 1), 7)
    assert timeline.duration.shape == (2, 7) and (timeline.duration > 1).all()
    assert not scheme.bound and scheme.costs(0)["codewords"] == 1
    plain = run_clock(Scheme(CODE, Fastest(s=2), late=late, **more), ShiftedExponential(shift=1.0), (0, 1), 7)
    assert timeline.duration.tobytes() == plain.duration.tobytes()


@pytest.mark.parametrize(
    "part", [object(), None, PlainRule, PlainLoads()], ids=["an object", "none", "a class", "a rule"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_out_has_its_default(kind, part):
    names = [field.name for field in fields(kind) if field.name != "start"]  # of loads it is no extra
    assert all(getattr(extras(kind, part), name) == getattr(kind(), name) for name in names)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_protocols_names_every_extra(kind):
    page = Path("docs/protocols.md").read_text()
    place = re.search(rf"`([\w.]+\.{kind.__name__})`", page)[1]
    assert pydoc.locate(place) is kind
    _, _, table = page.partition(f"`{place}`")
    rows, _, _ = table.partition("\n\n")
    named = {row.split("`")[1].partition("(")[0] for row in rows.splitlines()[2:]}
    assert named == {field.name for field in fields(kind)}
