"""How far from the gradient a code decodes without some of its workers, as a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.given import Given

if TYPE_CHECKING:
    import pandas as pd


def error(
    *overrides: str,
    s: int | Sequence[int] | None = None,
    kind: str = "worst",
    decoding: str = "optimal",
    stragglers: Iterable[int] | None = None,
    p: float | Sequence[float] | None = None,
    trace: str | None = None,
    trials: int = 2000,
    seed: int = 0,
    steps: int = 10,
    max_sets: int | None = None,
    max_searched: int | None = None,
    progress: bool = False,
    **keys: Any,
) -> pd.DataFrame:
    """Measure how far from the gradient a code decodes without some of its workers.

    Parameters
    ----------
    *overrides, **keys
        The code, as in `simulate`: ``code="cyclic_repetition", n=10``, with ``**{"code.s": 3}`` for what it is built
        for; or an object, ``code=CyclicRepetition(n=10, s=3)``.
    s : int or sequence of int, optional
        Stragglers; by default 0 to n.
    kind, decoding, stragglers, p, trace, trials, seed, steps, max_sets, max_searched, progress
        See `gcexp.decoding_error.error.error`; by default up to 60 million sets are searched.

    Returns
    -------
    DataFrame
        One row for each s: ``lower`` and ``upper`` of the worst error ||c - 1||^2 / k, which are equal where it is
        known exactly; ``mean``, ``stderr`` and ``largest`` over drawn or recorded sets, and with ``decoding="own"`` the
        mean ``coefficients`` of the partitions; or ``error`` of the given set.

    Raises
    ------
    UserError
        For an unknown key or option, and whatever the code refuses.

    Examples
    --------
    >>> import gcexp
    >>> gcexp.error(code="fractional_repetition", n=6, s=[1, 2], **{"code.d": 2})["upper"].round(4).tolist()
    [0.0, 0.3333]
    """
    import pandas as pd

    from gcexp.decoding_error import error as decoding_error

    given = Given.of(overrides, keys)
    code = build(compose(given.overrides) | given.objects, "code")
    if s is None and kind in ("set", "by_worker"):
        s = []
    elif s is None:
        s = list(range(code.n + 1))
    if max_sets is None:
        max_sets = decoding_error.MAX_SETS
    if max_searched is None:
        max_searched = decoding_error.MAX_SEARCHED
    errors = decoding_error.error(
        code,
        s,
        kind,
        decoding,
        stragglers=stragglers,
        p=p,
        trace=trace,
        trials=trials,
        seed=seed,
        steps=steps,
        max_sets=max_sets,
        max_searched=max_searched,
        progress=progress,
    )
    if not isinstance(errors, list):
        errors = [errors]
    table = pd.DataFrame([dataclasses.asdict(error_of_size) for error_of_size in errors])
    if decoding != "own":
        table = table.drop(columns=["coefficients", "coefficients_stderr"], errors="ignore")
    return table
