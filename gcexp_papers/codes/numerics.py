"""Codes of the whole library side by side: how well approximate ones do, and how far exact ones can be trusted.

Nothing here stands in a paper; what papers say of their own codes is checked in their figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.codes.base import Code
from gcexp.decoding_error.error import bears, error
from gcexp.decoding_error.straggler_sets import random_sets, runs
from gcexp.decoding_error.subset_errors import rows as messages
from gcexp.errors import DecodingError, ParameterError, UserError, require
from gcexp.seeding import rng

PRECISIONS = {"float32": (np.float32, np.complex64), "float64": (np.float64, np.complex128)}
#: A decode is called usable while its error, relative to the gradients' norm, stays below this.
USABLE = {"float32": 1e-3, "float64": 1e-6}


# --- Approximate codes at equal density -------------------------------------------------------------------------


@columns(
    *("label", "n", "k", "density", "load", "draws", "s", "fraction", "panel", "quantity", "value"),
    *("trials", "exact"),
)
def comparison(
    groups: list, trials: int, draws: int, points: int, max_sets: int = 2_000_000, seed: int = 0
) -> pd.DataFrame:
    """Errors with optimal decoding of codes with equal n and density: random stragglers, and the worst case.

    Parameters
    ----------
    groups : list of mapping
        ``n`` and ``density``, lists, and ``codes``: mappings with ``label`` and ``of``, which for each n makes the code
        with a given seed.
    trials : int
        Random straggler sets for each s, the same for all codes with n workers.
    draws : int
        Realisations of random codes, over which numbers are means.
    points : int
        Numbers of stragglers between 0 and n; all of them where n is no larger.
    max_sets : int
        As in `gcexp.decoding_error.error.error`.
    seed : int
        Of the first realisation, and of the sets.

    Returns
    -------
    DataFrame
        Quantity is ``mean`` (over random sets), ``lower`` and ``upper`` (ends of the worst case, equal where exact is
        true).

    Raises
    ------
    ParameterError
        If a code has not the n or, on average, not the density of its group (random codes: within a tenth).
    """
    found = []
    for n, density, codes in _placed(groups):
        rows = []
        s = sorted({round(i * n / points) for i in range(points + 1)}) if points < n else list(range(n + 1))
        for label, make in codes:
            drawn = _drawn(label, make, draws, seed, n, density)
            means = [error(code, s, "random", trials=trials, seed=seed) for code in drawn]
            worst = [error(code, s, max_sets=max_sets, seed=seed) for code in drawn]
            load = float(np.mean([code.load.mean() for code in drawn]))
            known = {"label": label, "n": n, "k": drawn[0].k, "density": density, "load": load}
            for i, lost in enumerate(s):
                place = known | {"draws": len(drawn), "s": lost, "fraction": lost / n}
                exact = {"exact": all(one[i].exact for one in worst)}
                numbers = {
                    "mean": ([one[i].mean for one in means], {"trials": trials}),
                    "lower": ([one[i].lower for one in worst], exact),
                    "upper": ([one[i].upper for one in worst], exact),
                }
                for quantity, (values, more) in numbers.items():
                    panel = {"panel": f"n = {n}: {_SPOKEN[quantity]}", "quantity": quantity}
                    rows.append(place | panel | {"value": float(np.mean(values))} | more)
        if all(row.get("exact", True) for row in rows):
            for row in rows:
                row["panel"] = row["panel"].replace(_SPOKEN["upper"], "worst case, exact")
        found += rows
    return pd.DataFrame(found)


_SPOKEN = {
    "mean": "mean over random sets",
    "lower": "worst case, at least",
    "upper": "worst case, at most",
}


def _placed(groups: list) -> Iterator[tuple[int, float, list[tuple[str, Callable[[int], Code]]]]]:
    """Each n of the groups in turn, with its density, and the labels and makers of its codes."""
    for group in groups:
        for place, (n, density) in enumerate(zip(group["n"], group["density"], strict=True)):
            yield n, density, [(given["label"], given["of"][place]) for given in group["codes"]]


def _drawn(
    label: str, make: Callable[[int], Code], draws: int, seed: int, n: int, density: float
) -> list[Code]:
    """Realisations of a code, one where nothing is drawn; each has the n and, about, the density of its group."""
    drawn = [make(seed)]
    if drawn[0].redrawn:
        drawn += [make(seed + i) for i in range(1, draws)]
    for code in drawn:
        mine, slack = code.assignment.mean(), 0.25 if code.redrawn else 1e-9
        require(
            code.n == n and abs(mine / density - 1) <= slack,
            f"{label} has n={code.n} and density {mine:.3g}, its group n={n} and {density:g}",
        )
    return drawn


@columns(
    *("label", "n", "k", "density", "least_load", "most_load", "least_holders", "most_holders"),
    *("gamma", "spectral_gap"),
)
def parameters(groups: list, seed: int = 0) -> pd.DataFrame:
    """What decides the worst case of the codes of `comparison`: gamma and the spectral gap of their first realisation.

    Parameters
    ----------
    groups, seed
        As in `comparison`.

    Returns
    -------
    DataFrame
        gamma is (sigma_2 / sigma_1)^2, for which the error of a biregular code is at most x / (1 + x), x = gamma s /
        (n - s); the spectral gap is 1 - sigma_2 / sigma_1.
    """
    rows = []
    for _, _, codes in _placed(groups):
        for label, make in codes:
            code = make(seed)
            largest, second, *_ = np.append(np.linalg.svd(messages(code).B, compute_uv=False), 0)
            holders = code.assignment.sum(0)
            rows.append(
                {
                    "label": label,
                    "n": code.n,
                    "k": code.k,
                    "density": float(code.assignment.mean()),
                    "least_load": int(code.load.min()),
                    "most_load": int(code.load.max()),
                    "least_holders": int(holders.min()),
                    "most_holders": int(holders.max()),
                    "gamma": float((second / largest) ** 2),
                    "spectral_gap": float(1 - second / largest),
                }
            )
    return pd.DataFrame(rows)


# --- Exact codes: where rounding ends them ----------------------------------------------------------------------


@columns("label", "n", "s", "precision", "gradients", "panel", "what", "value", "status")
def stability(
    groups: list, most_slow: int, sets: int, length: int, sizes: list | None = None, seed: int = 0
) -> pd.DataFrame:
    """Decode error of exact constructions against n, in single and double precision.

    Encoding, messages, weights and sum are rounded to the precision; the weights are found in double precision, as the
    library does. A set of stragglers is random or a run of neighbours.

    Parameters
    ----------
    groups : list of mapping
        ``n`` and ``s``: numbers of workers, and of stragglers at each of them; ``codes``: mappings with ``label``,
        ``of``, which is what makes the code at each n, and ``slow: true`` for a construction whose exact products or
        searches take seconds beyond a few dozen workers.
    most_slow : int
        Largest n for the slow ones.
    sets : int
        Random straggler sets; half as many runs of neighbours are added.
    length : int
        Numbers of a gradient, rounded up to whole blocks.
    sizes : list of int, optional
        Those n that are tried; default all.
    seed : int
        Of sets and gradients.

    Returns
    -------
    DataFrame
        What is ``error``: the largest ||decoded - sum|| / ||gradients|| over the sets, for Gaussian gradients and for
        adversarial ones, which point where the rounded weights and encoding err most; empty where the library refuses
        to build the code or to decode (status). ``usable``: the largest of the sizes tried up to which that error stays
        below `USABLE`, 0 if none; ``stops``: the next one, empty if the largest that was tried is usable.

    Raises
    ------
    UserError
        If a construction has not one s and one code for each n, or a code not the n at which it stands, or if no group
        has one of the sizes.
    """
    known = list(dict.fromkeys(n for group in groups for n in group["n"]))
    for n in sizes or ():
        require(n in known, f"sizes are among the n of the groups, {known}, got {n}")
    found = []
    for label, is_slow, cases in _constructions(groups):
        tried: dict[tuple, list[tuple[int, float]]] = {pair: [] for pair in product(PRECISIONS, _GRADIENTS)}
        for n, s, make in cases:
            if (sizes and n not in sizes) or (is_slow and n > most_slow):
                continue
            values, status = _errors(label, make, n, s, sets, length, seed)
            for (precision, gradients), value in values.items():
                tried[precision, gradients].append((n, value))
                place = {"label": label, "n": n, "s": s, "precision": precision, "gradients": gradients}
                panel = {"panel": f"{precision}, {gradients} gradients"}
                found.append(place | panel | {"what": "error", "value": value, "status": status})
        for (precision, gradients), curve in tried.items():
            ends = [n for n, value in curve if not value < USABLE[precision]]
            fit = [n for n, _ in curve if not ends or n < ends[0]]
            place = {"label": label, "precision": precision, "gradients": gradients}
            for what, n in (("usable", fit[-1] if fit else 0), ("stops", ends[0] if ends else np.nan)):
                found.append(place | {"what": what, "value": float(n), "panel": "", "status": ""})
    return pd.DataFrame(found)


_GRADIENTS = ("Gaussian", "adversarial")


def _constructions(groups: list) -> Iterator[tuple[str, bool, list[tuple]]]:
    """Label of each construction, whether it is slow, and n, s and what makes the code in each case."""
    for group in groups:
        for given in group["codes"]:
            lists = group["n"], group["s"], given["of"] if isinstance(given["of"], list) else [given["of"]]
            n, s, of = map(len, lists)
            label = given["label"]
            require(n == s == of, f"{label}: one s and one code for each n, got {n} n, {s} s and {of} codes")
            yield label, given.get("slow", False), list(zip(*lists, strict=True))


def _errors(label: str, make, n: int, s: int, sets: int, length: int, seed: int) -> tuple[dict, str]:
    refused = dict.fromkeys(product(PRECISIONS, _GRADIENTS), np.nan)
    try:
        code = make()
        if code.n != n:  # no refusal of the library
            raise UserError(f"{label} has n={code.n}, its group n={n}")
        require(bears(code) >= s, f"{code!r} bears {bears(code)} stragglers, not {s}")
        some = runs(n, s)[:: max(1, 2 * n // sets)]
        responses = np.concatenate([random_sets(n, s, sets, seed), some]) * code.messages
        weights = code.decode(responses).weights
    except (ParameterError, DecodingError) as error:
        return refused, f"refused: {error}"
    B, target = code.encoding.toarray(), np.tile(np.eye(code.blocks), code.k)
    across = -(-length // code.blocks)
    gaussian = rng(seed, "monte_carlo", n, s).standard_normal((code.k * code.blocks, across))
    values = dict.fromkeys(refused, 0.0)
    for precision, (real, complex_) in PRECISIONS.items():
        kind = complex_ if np.iscomplexobj(B) else real
        rounded = B.astype(kind)
        for W in weights:
            w = W.astype(kind)
            off = np.real(w.astype(W.dtype) @ rounded.astype(B.dtype)) - target
            worst = np.linalg.svd(off, full_matrices=False)[2][:1].T
            for name, gradients in (("Gaussian", gaussian), ("adversarial", worst)):
                given = gradients.astype(real)
                decoded = np.real(w @ (rounded @ given.astype(kind)))
                missed = decoded.astype(np.float64) - target @ given.astype(np.float64)
                relative = float(np.linalg.norm(missed) / np.linalg.norm(gradients))
                values[precision, name] = max(values[precision, name], relative, 1e-18)
    return values, "decoded"
