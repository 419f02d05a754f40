"""Tables behind the figures of Sakorikar and Wang (arXiv 2105.05231).

None of them needs a clock: straggler sets are enumerated, drawn, or bounded. Designs, sizes and densities are assumed,
since the paper's text has lost its images and their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.composite import Kronecker
from gcexp.codes.soft_bibd import SoftBIBD
from gcexp.decoding_error.error import error, errors_of
from gcexp.decoding_error.straggler_sets import random_sets
from gcexp.designs.block_designs import Found, find_bibd, named_design, why_impossible
from gcexp.errors import require
from gcexp.seeding import rng
from gcexp.theory.errors import Parameters, bibd_error, soft_smallest_mu

from . import theory

# --- Figure 1: which parameters exist -------------------------------------------------------------------------


@columns(
    *("panel", "n", "density", "what", "load", "intersection", "design", "design_n", "design_density"),
    "value",
)
def existence(panels: list, most_load: int, other_n: list, most_k: int, density_window: list, points: int):
    """Fig. 1: mean loads l and intersections lambda for which a Soft BIBD exists, and block designs beside them.

    Each panel has its ``n`` and ``density``, and l goes up to `most_load`. Other designs have one of `other_n` workers,
    at most `most_k` partitions, and a density in the window. ``what`` is ``edge`` (the smallest intersection, exact),
    ``top`` (the largest), ``union`` (the smallest by Theorem 1), ``design``, ``other design`` or ``not constructed``
    (not ruled out), or names a number in ``value``: for how many whole k up to most_load / density a Soft BIBD exists,
    a design is possible, and one is built; at how many of the random `points` the closed form agrees with non-negative
    least squares; and the share of the rows of one drawn code whose weight is next to n density.
    """
    others = [
        found
        for n in other_n
        for found in find_bibd(n, most_k, tuple(density_window))
        if found.load <= most_load and not found.design.startswith("stack")
    ]
    for given in panels:
        n, density = given["n"], given["density"]
        panel = {"panel": f"n = {n}, density {density:g}", "n": n, "density": density}
        elsewhere = [found for found in others if found.n != n]
        yield from (panel | row for row in _region(n, density, most_load, elsewhere, points))


def _region(n: int, density: float, most_load: int, others: list[Found], points: int) -> Iterator[dict]:
    """Rows of one panel."""
    smallest = soft_smallest_mu(n, density) / density
    slopes = {"edge": smallest, "top": 1.0, "union": theory.soft_paper_smallest_mu(n, density) / density}
    for load, (what, slope) in product(np.linspace(0, most_load, 4 * most_load + 1), slopes.items()):
        yield {"what": what, "load": load, "intersection": slope * load}
    most_k, redundancy = int(most_load / density + 1e-9), round(n * density)
    own = find_bibd(n, most_k, (density - 1e-9, density + 1e-9))
    built, possible = {found.k for found in own}, []
    for k in range(n, most_k + 1) if abs(n * density - redundancy) <= 1e-9 else ():
        load = k * redundancy / n
        shared = load * (redundancy - 1) / (n - 1)
        if load % 1 == shared % 1 == 0:
            candidate = Found("", n, k, int(load), redundancy, int(shared))
            if why_impossible(*candidate[1:]) is None:
                possible.append(candidate)
    unknown = [candidate for candidate in possible if candidate.k not in built]
    for what, some in {"design": own, "not constructed": unknown, "other design": others}.items():
        for found in some:
            named = {
                "design": found.design,
                "design_n": found.n,
                "design_density": found.redundancy / found.n,
            }
            place = {"load": float(found.load), "intersection": float(found.intersection)}
            yield {"what": what} | place | named
    weights = SoftBIBD(n, n, n * density, seed=0).assignment.sum(0)
    for what, value in {
        "soft k": most_k if smallest <= 1 else 0,
        "possible k": len(possible),
        "constructed k": len(built),
        "agreeing points": sum(_agree(n, *point) for point in rng(0, "monte_carlo", n).random((points, 2))),
        "sampled": np.isin(weights, (np.floor(n * density), np.ceil(n * density))).mean(),
    }.items():
        yield {"what": what, "value": float(value)}


def _agree(n: int, rho: float, height: float) -> bool:
    """Whether region and non-negative least squares agree at a random density and 0 <= mu <= rho."""
    return law_of_weights_exists(n, rho, rho * height) == (soft_smallest_mu(n, rho) <= rho * height)


def law_of_weights_exists(n: int, rho: float, mu: float) -> bool:
    """Whether a law of the row weight has the density rho and the joint density mu.

    A law is a non-negative solution of three linear equations. Non-negative least squares leaves no residual exactly
    where there is one; it takes a hundredth of the time of a linear program with an objective of zeros.
    """
    from scipy.optimize import nnls  # slow to import, and the figure file's check needs none of it

    w = np.arange(n + 1)
    moments = np.stack([np.ones(n + 1), w / n, w * (w - 1) / (n * (n - 1))])
    _, residual = nnls(moments, np.array([1, rho, mu]))
    return bool(residual <= 1e-9)


# --- Figure 2: a block design and Soft BIBDs --------------------------------------------------------------------


@columns(
    *("n", "k", "load", "redundancy", "intersection", "label", "s", "fraction", "realisation"),
    *("quantity", "value", "excess", "stderr", "largest", "trials", "standard_errors"),
)
def design_and_soft(design: str, soft: list, realisations: int, trials: int, checks: int = 20):
    """Fig. 2: errors of a block design, of realisations of Soft BIBDs under random and worst stragglers, and Theorem 2.

    A Soft BIBD has its ``n``, ``k`` and mean load ``d``, and the smallest intersection; its realisations are the seeds
    0, 1, ... For each s all codes with n workers have the same `trials` random sets. ``quantity`` is ``closed form``
    (design, Theorem 2), ``mean`` (over the random sets), ``worst`` (over all sets, exact), or ``pseudoinverse``: the
    largest difference from its errors on so many sets for each s as `checks` says. ``excess`` is the value less Theorem
    2, and ``standard_errors`` how many of them that is.
    """
    own = Parameters(*named_design(design).params)
    yield from _closed_form(f"BIBD ({own.n}, {own.load}, {own.intersection})", own)
    for given in soft:
        n, k, load = given["n"], given["k"], given["d"]
        shared = k * float(soft_smallest_mu(n, load / k))
        mean_parameters = Parameters(n, k, load, n * load / k, shared)
        yield from _closed_form(f"Theorem 2, n = {n}", mean_parameters)
        for realisation in range(realisations):
            code = SoftBIBD(n, k, load, seed=realisation)
            known = mean_parameters._asdict() | {"realisation": realisation}
            means = error(code, range(n + 1), "random", trials=trials, seed=0)
            for mean, worst in zip(means, error(code, range(n + 1)), strict=True):
                s, bound = mean.s, float(bibd_error(mean_parameters, mean.s))
                require(worst.exact, f"n={n}, s={s}: the worst case is not enumerated")
                excess = mean.mean - bound
                place = known | {"s": s, "fraction": s / n}
                yield (
                    place
                    | {"label": f"Soft BIBD, n = {n}", "quantity": "mean", "value": mean.mean}
                    | {"stderr": mean.stderr, "largest": mean.largest, "trials": trials, "excess": excess}
                    | {"standard_errors": excess / mean.stderr if mean.stderr > 1e-12 else np.nan}
                )
                label, excess = f"Soft BIBD, n = {n}, worst set", worst.lower - bound
                yield place | {"label": label, "quantity": "worst", "value": worst.lower, "excess": excess}
            responses = np.concatenate([random_sets(n, s, checks, realisation) for s in range(n + 1)])
            gap = np.abs(errors_of(code, responses) - _pseudoinverse_errors(code, responses)).max()
            label, quantity = f"pseudoinverse, n = {n}", "pseudoinverse"
            yield known | {"label": label, "quantity": quantity, "value": float(gap)}


def _closed_form(label: str, code: Parameters) -> Iterator[dict]:
    """The curve of a block design, or of the mean parameters of a Soft BIBD."""
    for s, value in enumerate(bibd_error(code, np.arange(code.n + 1))):
        place = {"label": label, "s": s, "fraction": s / code.n, "realisation": 0}
        yield code._asdict() | place | {"quantity": "closed form", "value": value, "excess": 0.0}


def _pseudoinverse_errors(code, responses: np.ndarray) -> np.ndarray:
    """||A_F pinv(A_F) 1 - 1||^2 / k of each set."""
    A = responses[:, None] * code.encoding.toarray().T
    fitted = A @ (np.linalg.pinv(A, rcond=1e-10).sum(2)[..., None])
    return ((fitted[..., 0] - 1) ** 2).mean(1)


# --- Figure 3: a product of two block designs -------------------------------------------------------------------


@columns(
    *("n", "k", "load", "redundancy", "density", "gamma", "label", "relation", "s", "fraction"),
    *("value", "excess"),
)
def product_of_designs(first: str, second: str) -> pd.DataFrame:
    """Fig. 3: errors of two block designs, and bounds and worst sets found of their Kronecker product.

    ``gamma`` is (l - lambda) / (l r) of a design, the larger one of a product. ``excess`` is over the worse of the two
    designs, drawn piecewise linear in the fraction. ``relation`` is ``design``, ``lower``, ``upper``, or ``parameters``
    for the rows without s: those of the product, and of a hypothetical design of the same n and density.
    """
    names = first, second
    a, b = factors = [Parameters(*named_design(name).params) for name in names]
    whole, s = a @ b, np.arange(a.n * b.n + 1)
    n, gamma, redundancy = whole.n, max(a.gamma, b.gamma), whole.redundancy
    ends = [np.arange(part.n + 1) for part in factors]
    errors = [*map(bibd_error, factors, ends)]
    worse = np.max([np.interp(s / n, x / x[-1], y) for x, y in zip(ends, errors, strict=True)], axis=0)
    code = Kronecker(BlockDesign(a.n, first), BlockDesign(b.n, second))
    frames = []
    for name, part, x, curve in zip(names, factors, ends, errors, strict=True):
        head, *numbers = name.split("-")
        label = f"BIBD {head}({', '.join(numbers)})"
        frames.append(_curve(part, part.gamma, label, "design", s=x, value=curve))
    for label, relation, curve in (
        ("product: Theorem 5", "upper", theory.product_upper_bound(a, b, s)),
        ("product: Theorem 6", "lower", theory.product_lower_bound(errors[0], errors[1], s)),
        ("product: spectral bound (ours)", "upper", theory.product_spectral_bound(a, b, s)),
        ("product: tight Lemma 10 (ours)", "upper", theory.product_upper_bound(a, b, s, tight=True)),
        ("product: worst set found (ours)", "lower", np.array([e.lower for e in error(code, s)])),
    ):
        frames.append(_curve(whole, gamma, label, relation, s=s, value=curve).assign(excess=curve - worse))
    alone = Parameters(n, n, redundancy, redundancy, redundancy * (redundancy - 1) / (n - 1))
    frames.append(_curve(whole, gamma, "product", "parameters"))
    frames.append(_curve(alone, alone.gamma, "design of equal density", "parameters"))
    return pd.concat(frames, ignore_index=True)


def _curve(code: Parameters, gamma: float, label: str, relation: str, s=np.nan, value=np.nan):
    known: dict = {"n": code.n, "k": code.k, "load": code.load, "redundancy": code.redundancy}
    known |= {"density": code.redundancy / code.n, "gamma": gamma, "label": label, "relation": relation}
    return pd.DataFrame(known | {"s": s, "fraction": s / code.n, "value": value}, index=range(np.size(s)))
