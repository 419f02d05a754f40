"""Codes of the whole library side by side: how well approximate ones do, and how far exact ones can be trusted.

Nothing here stands in a paper; what papers say of their own codes is checked in their figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    for case in _cases(groups):
        rows: list[dict] = []
        for label, make in case.makers:
            rows += _errors_of_code(label, make, case, trials, draws, points)
        if all(row.get("exact", True) for row in rows):
            for row in rows:
                row["panel"] = row["panel"].replace(_SPOKEN["upper"], "worst case, exact")
        found += rows
    return pd.DataFrame(found)


@dataclass(frozen=True)
class _Case:
    """One n of a group with its density, and the label and the maker of each code."""

    n: int
    density: float
    makers: list[tuple[str, Callable[[int], Code]]]


def _cases(groups: list) -> Iterator[_Case]:
    """Each n of the groups in turn."""
    for group in groups:
        for place, (n, density) in enumerate(zip(group["n"], group["density"], strict=True)):
            makers = [(given["label"], given["of"][place]) for given in group["codes"]]
            yield _Case(n, density, makers)


def _errors_of_code(
    label: str, make: Callable[[int], Code], case: _Case, trials: int, draws: int, points: int
) -> Iterator[dict]:
    """Rows of one code: for each s the mean over random sets, and both ends of the worst case."""
    n = case.n
    if points < n:
        stragglers = sorted({round(i * n / points) for i in range(points + 1)})
    else:
        stragglers = list(range(n + 1))
    codes = _draw_codes(label, make, draws, case)
    random = [error(code, stragglers, "random", trials=trials) for code in codes]
    worst = [error(code, stragglers) for code in codes]
    load = float(np.mean([code.load.mean() for code in codes]))
    for i, s in enumerate(stragglers):
        place = {"label": label, "n": n, "k": codes[0].k, "density": case.density, "load": load}
        place |= {"draws": len(codes), "s": s, "fraction": s / n}
        is_exact = all(errors[i].exact for errors in worst)
        mean = float(np.mean([errors[i].mean for errors in random]))
        lower = float(np.mean([errors[i].lower for errors in worst]))
        upper = float(np.mean([errors[i].upper for errors in worst]))
        yield place | _quantity(n, "mean", mean) | {"trials": trials}
        yield place | _quantity(n, "lower", lower) | {"exact": is_exact}
        yield place | _quantity(n, "upper", upper) | {"exact": is_exact}


def _quantity(n: int, quantity: str, value: float) -> dict:
    """A number of a row, with the panel that it stands in."""
    return {"panel": f"n = {n}: {_SPOKEN[quantity]}", "quantity": quantity, "value": value}


_SPOKEN = {
    "mean": "mean over random sets",
    "lower": "worst case, at least",
    "upper": "worst case, at most",
}


def _draw_codes(label: str, make: Callable[[int], Code], draws: int, case: _Case) -> list[Code]:
    """Realisations of a code, one where nothing is drawn; each has the n and, about, the density of its group."""
    codes = [make(0)]
    if codes[0].redrawn:
        codes += [make(seed) for seed in range(1, draws)]
    for code in codes:
        density = code.assignment.mean()
        slack = 0.25 if code.redrawn else 1e-9
        require(
            code.n == case.n and abs(density / case.density - 1) <= slack,
            f"{label} has n={code.n} and density {density:.3g}, its group n={case.n} and {case.density:g}",
        )
    return codes


@columns(
    *("label", "n", "k", "density", "least_load", "most_load", "least_holders", "most_holders"),
    *("gamma", "spectral_gap"),
)
def parameters(groups: list):
    """What decides the worst case of the codes of `comparison`, whose groups these are: gamma and the spectral gap.

    They are those of the first realisation. gamma is (sigma_2 / sigma_1)^2, for which the error of a biregular code is
    at most x / (1 + x), x = gamma s / (n - s); the spectral gap is 1 - sigma_2 / sigma_1.
    """
    for case in _cases(groups):
        for label, make in case.makers:
            code = make(0)
            singular_values = np.linalg.svd(messages(code).B, compute_uv=False)
            largest, second, *_ = np.append(singular_values, 0)
            holders = code.assignment.sum(0)
            yield {
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
    known: dict[int, None] = {}
    for group in groups:
        known |= dict.fromkeys(group["n"])
    for n in sizes or ():
        require(n in known, f"sizes are among the n of the groups, {list(known)}, got {n}")
    for construction in _constructions(groups):
        curves: dict[tuple[str, str], dict[int, float]] = {pair: {} for pair in _PAIRS}  # errors by n
        for n, s, make in construction.cases:
            is_asked = not sizes or n in sizes
            takes_too_long = construction.is_slow and n > most_slow
            if not is_asked or takes_too_long:
                continue
            errors, status = _errors(construction.label, make, n, s, sets, length)
            for (precision, gradients), value in errors.items():
                curves[precision, gradients][n] = value
                yield {
                    "label": construction.label,
                    "n": n,
                    "s": s,
                    "precision": precision,
                    "gradients": gradients,
                    "panel": f"{precision}, {gradients} gradients",
                    "what": "error",
                    "value": value,
                    "status": status,
                }
        for (precision, gradients), curve in curves.items():
            usable, stops = _range_of_use(curve, USABLE[precision])
            for what, size in (("usable", usable), ("stops", stops)):
                yield {
                    "label": construction.label,
                    "precision": precision,
                    "gradients": gradients,
                    "panel": "",
                    "what": what,
                    "value": size,
                    "status": "",
                }


_GRADIENTS = ("Gaussian", "adversarial")
_PAIRS = list(product(PRECISIONS, _GRADIENTS))


def _range_of_use(errors: dict[int, float], limit: float) -> tuple[float, float]:
    """The largest n up to which all errors are below a limit, 0 if none, and the next one, NaN if there is none."""
    usable = 0.0
    for n, value in errors.items():  # n rises
        if not value < limit:  # NaN is not
            return usable, float(n)
        usable = float(n)
    return usable, np.nan


@dataclass(frozen=True)
class _Construction:
    """A construction: its label, whether it is slow, and n, s and what makes the code in each case."""

    label: str
    is_slow: bool
    cases: list[tuple[int, int, Callable[[], Code]]]


def _constructions(groups: list) -> Iterator[_Construction]:
    """All constructions of the groups."""
    for group in groups:
        sizes = group["n"]
        stragglers = group["s"]
        for given in group["codes"]:
            label = given["label"]
            makers = given["of"]
            if not isinstance(makers, list):
                makers = [makers]
            require(
                len(sizes) == len(stragglers) == len(makers),
                f"{label}: one s and one code for each n, got {len(sizes)} n, {len(stragglers)} s and "
                f"{len(makers)} codes",
            )
            cases = list(zip(sizes, stragglers, makers, strict=True))
            yield _Construction(label, given.get("slow", False), cases)


def _errors(
    label: str, make: Callable[[], Code], n: int, s: int, sets: int, length: int
) -> tuple[dict[tuple[str, str], float], str]:
    """Largest errors of a code by precision and gradients, NaN where it is refused, and what the library said."""
    refused = dict.fromkeys(_PAIRS, np.nan)
    try:
        code = make()
        if code.n != n:  # no refusal of the library
            raise UserError(f"{label} has n={code.n}, its group n={n}")
        require(bears(code) >= s, f"{code!r} bears {bears(code)} stragglers, not {s}")
        neighbours = runs(n, s)[:: max(1, 2 * n // sets)]
        responses = np.concatenate([random_sets(n, s, sets), neighbours]) * code.messages
        weights = code.decode(responses).weights
    except (ParameterError, DecodingError) as error:
        return refused, f"refused: {error}"
    B = code.encoding.toarray()
    target = np.tile(np.eye(code.blocks), code.k)
    columns_of_block = -(-length // code.blocks)
    gaussian = rng(0, "monte_carlo", n, s).standard_normal((code.k * code.blocks, columns_of_block))
    largest = dict.fromkeys(_PAIRS, 0.0)
    for precision, (real, complex_) in PRECISIONS.items():
        kind = complex_ if np.iscomplexobj(B) else real
        rounded_B = B.astype(kind)
        for W in weights:
            rounded_W = W.astype(kind)
            off = np.real(rounded_W.astype(W.dtype) @ rounded_B.astype(B.dtype)) - target
            _, _, directions = np.linalg.svd(off, full_matrices=False)
            adversarial = directions[:1].T
            for name, gradients in (("Gaussian", gaussian), ("adversarial", adversarial)):
                rounded_gradients = gradients.astype(real)
                sent = rounded_B @ rounded_gradients.astype(kind)
                decoded = np.real(rounded_W @ sent).astype(np.float64)
                missed = decoded - target @ rounded_gradients.astype(np.float64)
                relative = float(np.linalg.norm(missed) / np.linalg.norm(gradients))
                largest[precision, name] = max(largest[precision, name], relative, 1e-18)
    return largest, "decoded"
