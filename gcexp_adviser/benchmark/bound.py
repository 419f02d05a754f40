"""What no scheme of the same loads and messages can beat on given times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gcexp.theory import bounds

if TYPE_CHECKING:
    from gcexp.codes import Code
    from gcexp.delays import Draws
    from gcexp.schemes import Scheme


def is_fresh(scheme: Scheme) -> bool:
    """Whether the data of each batch are drawn anew, so that what is heard makes up a whole one."""
    return getattr(scheme.loads, "fresh", False)


def load_of(scheme: Scheme) -> float:
    """Largest relative load: a cap where loads differ, that of a backup worker, else the code's."""
    from gcexp.schemes import Backup, Uneven

    n = scheme.code.n
    if isinstance(scheme.loads, Uneven):
        return float(n if scheme.loads.cap is None else scheme.loads.cap)
    if isinstance(scheme.loads, Backup):
        return n / (n - scheme.loads.b)
    return float(n * scheme.code.load.max() / scheme.code.k)


def bound_of(scheme: Scheme, draws: Draws, share: float | np.ndarray) -> np.ndarray | None:
    """What no scheme of these loads and messages can beat, (S, T); None where no theorem speaks of it.

    `share` is that of the gradient which each iteration used, one or (S, T): 1 for exact schemes. The theorem with
    unequal loads, or with several messages of which some were dropped, is that of the work floor, with the largest load
    as its cap. No theorem speaks of single iterations of a code over time, which decodes in later ones.
    """
    if scheme.lag:
        return None
    code = scheme.code
    load = load_of(scheme)
    one_message = bool((code.messages == 1).all())
    equal_loads = bool((code.load == code.load[0]).all())
    if scheme.loads is not None:
        equal_loads = equal_loads and load * (code.n - 1) <= code.n
    exact = np.ndim(share) == 0 and share == 1
    if getattr(draws, "data_bound", False):
        plain = one_message and equal_loads and exact and code.k == code.n and scheme.loads is None
        return _bound_of_data(scheme, draws, plain)
    in_one_order = scheme.decoder is code or _is_alike(code)
    if scheme.loads is None and exact and in_one_order and not (one_message and equal_loads and draws.linear):
        return _played_bound(scheme, draws, anywhere=equal_loads)
    if not draws.linear:
        return None
    fixed, growing = draws.parts()
    if one_message and (scheme.loads is None and equal_loads or is_fresh(scheme)):
        return bounds.capacity(fixed, growing, load, share)
    return bounds.work_floor(fixed, growing, max(load, 1.0), share)


def _is_alike(code: Code) -> bool:
    """Whether the first messages of a worker need the same work in whatever order it computes them."""
    sizes = np.diff(code.encoding.indptr)
    return bool((sizes == sizes[0]).all()) and sizes.sum() == code.blocks * code.load.sum()


def _bound_of_data(scheme: Scheme, draws: Draws, plain: bool) -> np.ndarray | None:
    """The bound where times follow the data: of a scheme that shares all work, or of a `plain` one."""
    fixed = np.broadcast_to(draws.start, draws.shape)
    growing = draws.chunks.sum(-1)  # type: ignore[attr-defined]  # data-bound draws have them
    if scheme.bound and scheme.loads is not None:
        return bounds.shared_work(fixed, growing)
    if plain:
        return bounds.data_bound(fixed, growing, int(scheme.code.load[0]))
    return None


def _played_bound(scheme: Scheme, draws: Draws, *, anywhere: bool) -> np.ndarray:
    """The bound as the clock plays it: the capacity of the workers that have answered, with any seats if `anywhere`."""
    from gcexp.schemes import Capacity
    from gcexp.timeline import simulate

    rule = replace(scheme, wait=Capacity(), bound=True, late="stop", overhead=0.0)
    if anywhere:
        rule = replace(rule, placement=None)
    return simulate(rule, draws).duration
