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
def comparison(groups: list, trials: int, draws: int, points: int) -> pd.DataFrame:
    """Errors with optimal decoding of codes with equal n and density: random stragglers, and the worst case.

    A group has ``n`` and ``density``, which are lists, and ``codes``: mappings with ``label`` and ``of``, which for
    each n makes the code with a given seed. A code must have the n of its group and, random codes only about, its
    density. For each s all codes with n workers have the same `trials` random sets of stragglers. Numbers of random
    codes are means over `draws` realisations. s goes from 0 to n in so many steps as `points`, or takes every value
    where n is no larger. ``quantity`` is ``mean`` (over random sets), or ``lower`` and ``upper`` (ends of the worst
    case, equal where it is exact).
    """
    found = []
    for n, density, codes in _placed(groups):
        rows = []
        s = sorted({round(i * n / points) for i in range(points + 1)}) if points < n else list(range(n + 1))
        for label, make in codes:
            drawn = _drawn(label, make, draws, n, density)
            means = [error(code, s, "random", trials=trials) for code in drawn]
            worst = [error(code, s) for code in drawn]
            load = float(np.mean([code.load.mean() for code in drawn]))
            known = {"label": label, "n": n, "k": drawn[0].k, "density": density, "load": load}
            for i, lost in enumerate(s):
                place = known | {"draws": len(drawn), "s": lost, "fraction": lost / n}
                exact = {"exact": all(one[i].exact for one in worst)}
                numbers: dict[str, tuple[list, dict]] = {
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


def _drawn(label: str, make: Callable[[int], Code], draws: int, n: int, density: float) -> list[Code]:
    """Realisations of a code, one where nothing is drawn; each has the n and, about, the density of its group."""
    drawn = [make(0)]
    if drawn[0].redrawn:
        drawn += [make(seed) for seed in range(1, draws)]
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
def parameters(groups: list):
    """What decides the worst case of the codes of `comparison`, whose groups these are: gamma and the spectral gap.

    They are those of the first realisation. gamma is (sigma_2 / sigma_1)^2, for which the error of a biregular code is
    at most x / (1 + x), x = gamma s / (n - s); the spectral gap is 1 - sigma_2 / sigma_1.
    """
    for _, _, codes in _placed(groups):
        for label, make in codes:
            code = make(0)
            largest, second, *_ = np.append(np.linalg.svd(messages(code).B, compute_uv=False), 0)
            holders, density = code.assignment.sum(0), float(code.assignment.mean())
            ends = (int(end) for counts in (code.load, holders) for end in (counts.min(), counts.max()))
            gap = float(1 - second / largest)
            yield label, code.n, code.k, density, *ends, float((second / largest) ** 2), gap


# --- Exact codes: where rounding ends them ----------------------------------------------------------------------


@columns("label", "n", "s", "precision", "gradients", "panel", "what", "value", "status")
def stability(groups: list, most_slow: int, sets: int, length: int, sizes: list | None = None):
    """Decode error of exact constructions against n, in single and double precision.

    Encoding, messages, weights and sum are rounded to the precision; the weights are found in double precision, as the
    library does. A set of stragglers is random (`sets` of them) or a run of neighbours (half as many).

    A group has ``n`` and ``s``, numbers of workers, ascending, and of stragglers at each of them, and ``codes``:
    mappings with ``label``, ``of``, which makes the code at each n, and ``slow: true`` for a construction whose exact
    products or searches take seconds beyond a few dozen workers; of the slow ones `most_slow` is the largest n. With
    `sizes` only those n are tried. A gradient has `length` numbers, rounded up to whole blocks.

    ``what`` is ``error``: the largest ||decoded - sum|| / ||gradients|| over the sets, for Gaussian gradients and for
    adversarial ones, which point where the rounded weights and encoding err most; empty where the library refuses to
    build the code or to decode (``status``). ``usable`` is the largest of the sizes tried up to which that error stays
    below `USABLE`, 0 if none, and ``stops`` the next one, empty if the largest that was tried is usable.
    """
    known = list(dict.fromkeys(n for group in groups for n in group["n"]))
    for n in sizes or ():
        require(n in known, f"sizes are among the n of the groups, {known}, got {n}")
    for label, is_slow, cases in _constructions(groups):
        tried: dict[tuple, list[tuple[int, float]]] = {pair: [] for pair in product(PRECISIONS, _GRADIENTS)}
        for n, s, make in cases:
            if (sizes and n not in sizes) or (is_slow and n > most_slow):
                continue
            values, status = _errors(label, make, n, s, sets, length)
            for (precision, gradients), value in values.items():
                tried[precision, gradients].append((n, value))
                panel = f"{precision}, {gradients} gradients"
                yield label, n, s, precision, gradients, panel, "error", value, status
        for pair, curve in tried.items():
            ends = [n for n, value in curve if not value < USABLE[pair[0]]]
            fit = [n for n, _ in curve if not ends or n < ends[0]]
            for what, n in (("usable", fit[-1] if fit else 0), ("stops", ends[0] if ends else np.nan)):
                yield label, None, None, *pair, "", what, float(n), ""


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


def _errors(label: str, make, n: int, s: int, sets: int, length: int) -> tuple[dict, str]:
    refused = dict.fromkeys(product(PRECISIONS, _GRADIENTS), np.nan)
    try:
        code = make()
        if code.n != n:  # no refusal of the library
            raise UserError(f"{label} has n={code.n}, its group n={n}")
        require(bears(code) >= s, f"{code!r} bears {bears(code)} stragglers, not {s}")
        some = runs(n, s)[:: max(1, 2 * n // sets)]
        responses = np.concatenate([random_sets(n, s, sets), some]) * code.messages
        weights = code.decode(responses).weights
    except (ParameterError, DecodingError) as error:
        return refused, f"refused: {error}"
    B, target = code.encoding.toarray(), np.tile(np.eye(code.blocks), code.k)
    across = -(-length // code.blocks)
    gaussian = rng(0, "monte_carlo", n, s).standard_normal((code.k * code.blocks, across))
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
