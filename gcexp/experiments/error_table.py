"""How far from the gradient a code decodes without some of its workers, as a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gcexp.errors import UserError
from gcexp.run.build import build, is_redrawn, with_seed
from gcexp.run.compose import compose
from gcexp.run.given import Given
from gcexp.run.scheme import named_keys, require_same_workers
from gcexp.run.seeds import seed_list, seed_range

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.codes.base import Code


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
    seeds: int | str | Sequence[int] | None = None,
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
    seeds : int, str or sequence of int, optional
        Draws of a random code over which its error is told; by default it is that of one draw, with its own seed.

    Returns
    -------
    DataFrame
        One row for each s: ``lower`` and ``upper`` of the worst error ||c - 1||^2 / k, which are equal where it is
        known exactly; ``mean``, ``stderr`` and ``largest`` over drawn or recorded sets, and with ``decoding="own"`` the
        mean ``coefficients`` of the partitions; or ``error`` of the given set. With `seeds` each of these numbers is
        the mean over ``draws`` of the code, and stands beside their standard deviation and extremes, as in
        ``upper_std``, ``upper_least`` and ``upper_most``.

    Raises
    ------
    UserError
        For an unknown key or option, one that has no part in an error, and whatever the code refuses.

    Examples
    --------
    >>> import gcexp
    >>> gcexp.error(code="fractional_repetition", n=6, s=[1, 2], **{"code.d": 2})["upper"].round(4).tolist()
    [0.0, 0.3333]
    """
    import pandas as pd

    from gcexp.decoding_error import error as decoding_error

    given = Given.of(overrides, keys)
    config = config_of_code(given.overrides, given.objects)
    if max_sets is None:
        max_sets = decoding_error.MAX_SETS
    if max_searched is None:
        max_searched = decoding_error.MAX_SEARCHED

    def of_draw(seed_of_code: int | None) -> pd.DataFrame:
        code = build_code(config, seed_of_code)
        sizes = s
        if sizes is None and kind in ("set", "by_worker"):
            sizes = []
        elif sizes is None:
            sizes = list(range(code.n + 1))
        errors = decoding_error.error(
            code,
            sizes,
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

    if seeds is None:
        return of_draw(None)
    if not isinstance(config["code"], dict) or not is_redrawn(config):
        raise UserError(
            "seeds are draws of a random code, and this code is the same for all of them; leave them out"
        )
    draws = [of_draw(one) for one in seed_list(seeds if isinstance(seeds, str) else seed_range(seeds))]
    return _over_draws(draws)


def config_of_code(overrides: Iterable[str], objects: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The config of a code alone: refused are keys that say nothing of it, and a number of workers that is not its."""
    overrides = list(overrides)
    config = compose(overrides) | dict(objects or {})
    unused = []
    for key in named_keys(overrides):
        if key not in ("code", "scheme", "n") and not key.startswith("code."):
            unused.append(key)
    if unused:
        raise UserError(
            f"{', '.join(sorted(unused))}: no part of the error of a code (allowed: code, code.KEY, n, scheme, and the "
            "arguments of gcexp.error)"
        )
    return config | {"named": named_keys(overrides)}


def build_code(config: dict[str, Any], seed: int | None = None) -> Code:
    """The code of a config, drawn with a seed in the place of its own, if one is given."""
    node = config["code"]
    if seed is not None:
        node = with_seed(node, seed)
    code = build({"code": node}, "code")
    if "n" in config["named"]:
        require_same_workers(config, code)
    return code


def _over_draws(draws: list[pd.DataFrame]) -> pd.DataFrame:
    """One row for each s, with the mean, the standard deviation and the extremes of each number over the draws."""
    import pandas as pd

    stacked = pd.concat(draws)
    by_size = stacked.groupby("s", sort=False)
    columns = {"draws": by_size.size()}
    for name in ("lower", "upper", "mean", "error"):
        if name in stacked:
            of_name = by_size[name]
            columns[name] = of_name.mean()
            columns[f"{name}_std"] = of_name.std()
            columns[f"{name}_least"] = of_name.min()
            columns[f"{name}_most"] = of_name.max()
    return pd.DataFrame(columns).reset_index()
