"""Tables behind the figures of Sakorikar and Wang (arXiv 2105.05231).

None of them needs a clock: straggler sets are enumerated, drawn, or bounded. Designs, sizes and densities are assumed,
since the paper's text has lost its images and their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

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

# --- (12): the system for three workers -----------------------------------------------------------------------


@columns("row", *(f"{number:03b}" for number in range(8)))
def system_of_three_workers():
    """(12) for n = 3: the values of 1, of each variable, and of each product of two, at the eight points of {0, 1}^3.

    A column is named after its point (x1 x2 x3): which of the three workers hold a partition.
    """
    points = np.array(list(product((0, 1), repeat=3)))
    yield "1", *np.ones(8, dtype=int).tolist()
    for worker in range(3):
        yield f"x{worker + 1}", *points[:, worker].tolist()
    for one, other in combinations(range(3), 2):
        yield f"x{one + 1} x{other + 1}", *(points[:, one] * points[:, other]).tolist()


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
    others = []
    for n in other_n:
        for design in find_bibd(n, most_k, tuple(density_window)):
            if design.load <= most_load and not design.design.startswith("stack"):
                others.append(design)
    for given in panels:
        n = given["n"]
        density = given["density"]
        panel = {"panel": f"n = {n}, density {density:g}", "n": n, "density": density}
        elsewhere = [design for design in others if design.n != n]
        for row in _rows_of_panel(n, density, most_load, elsewhere, points):
            yield panel | row


def _rows_of_panel(
    n: int, density: float, most_load: int, others: list[Found], points: int
) -> Iterator[dict]:
    """Lines of the region, designs, and numbers of one panel."""
    smallest = soft_smallest_mu(n, density) / density
    slopes = {"edge": smallest, "top": 1.0, "union": theory.soft_paper_smallest_mu(n, density) / density}
    for load in np.linspace(0, most_load, 4 * most_load + 1):
        for what, slope in slopes.items():
            yield {"what": what, "load": load, "intersection": slope * load}
    most_k = int(most_load / density + 1e-9)
    built = find_bibd(n, most_k, (density - 1e-9, density + 1e-9))
    sizes_built = {design.k for design in built}
    possible = _possible_designs(n, density, most_k)
    not_constructed = [design for design in possible if design.k not in sizes_built]
    for what, designs in (("design", built), ("not constructed", not_constructed), ("other design", others)):
        for design in designs:
            yield {
                "what": what,
                "load": float(design.load),
                "intersection": float(design.intersection),
                "design": design.design,
                "design_n": design.n,
                "design_density": design.redundancy / design.n,
            }
    agreeing = 0
    for rho, height in rng(0, "monte_carlo", n).random((points, 2)):
        agreeing += _agree(n, rho, height)
    weights = SoftBIBD(n, n, n * density, seed=0).assignment.sum(0)
    next_to_mean = (np.floor(n * density), np.ceil(n * density))
    numbers = {
        "soft k": most_k if smallest <= 1 else 0,
        "possible k": len(possible),
        "constructed k": len(sizes_built),
        "agreeing points": agreeing,
        "sampled": np.isin(weights, next_to_mean).mean(),
    }
    for what, value in numbers.items():
        yield {"what": what, "value": float(value)}


def _possible_designs(n: int, density: float, most_k: int) -> list[Found]:
    """Parameters with this n and density and up to most_k partitions that no theorem excludes."""
    redundancy = round(n * density)
    if abs(n * density - redundancy) > 1e-9:
        return []
    possible = []
    for k in range(n, most_k + 1):
        load = k * redundancy / n
        shared = load * (redundancy - 1) / (n - 1)
        if load % 1 == shared % 1 == 0:
            candidate = Found("", n, k, int(load), redundancy, int(shared))
            if why_impossible(*candidate[1:]) is None:
                possible.append(candidate)
    return possible


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
        n = given["n"]
        k = given["k"]
        load = given["d"]
        shared = k * float(soft_smallest_mu(n, load / k))
        mean_parameters = Parameters(n, k, load, n * load / k, shared)
        yield from _closed_form(f"Theorem 2, n = {n}", mean_parameters)
        for realisation in range(realisations):
            code = SoftBIBD(n, k, load, seed=realisation)
            known = mean_parameters._asdict() | {"realisation": realisation}
            means = error(code, range(n + 1), "random", trials=trials, seed=0)
            for mean, worst in zip(means, error(code, range(n + 1)), strict=True):
                s = mean.s
                bound = float(bibd_error(mean_parameters, s))
                require(worst.exact, f"n={n}, s={s}: the worst case is not enumerated")
                excess = mean.mean - bound
                standard_errors = np.nan
                if mean.stderr > 1e-12:
                    standard_errors = excess / mean.stderr
                place = known | {"s": s, "fraction": s / n}
                yield place | {
                    "label": f"Soft BIBD, n = {n}",
                    "quantity": "mean",
                    "value": mean.mean,
                    "stderr": mean.stderr,
                    "largest": mean.largest,
                    "trials": trials,
                    "excess": excess,
                    "standard_errors": standard_errors,
                }
                yield place | {
                    "label": f"Soft BIBD, n = {n}, worst set",
                    "quantity": "worst",
                    "value": worst.lower,
                    "excess": worst.lower - bound,
                }
            responses = np.concatenate([random_sets(n, s, checks, realisation) for s in range(n + 1)])
            gaps = np.abs(errors_of(code, responses) - _pseudoinverse_errors(code, responses))
            yield known | {
                "label": f"pseudoinverse, n = {n}",
                "quantity": "pseudoinverse",
                "value": float(gaps.max()),
            }


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
    a = Parameters(*named_design(first).params)
    b = Parameters(*named_design(second).params)
    errors_of_a = bibd_error(a, np.arange(a.n + 1))
    errors_of_b = bibd_error(b, np.arange(b.n + 1))
    whole = a @ b
    n = whole.n
    gamma = max(a.gamma, b.gamma)
    redundancy = whole.redundancy
    s = np.arange(n + 1)
    fractions = s / n
    a_interpolated = np.interp(fractions, np.arange(a.n + 1) / a.n, errors_of_a)
    b_interpolated = np.interp(fractions, np.arange(b.n + 1) / b.n, errors_of_b)
    worse = np.maximum(a_interpolated, b_interpolated)
    code = Kronecker(BlockDesign(a.n, first), BlockDesign(b.n, second))
    worst_found = np.array([worst.lower for worst in error(code, s)])
    frames = []
    for name, factor, errors in ((first, a, errors_of_a), (second, b, errors_of_b)):
        head, *numbers = name.split("-")
        label = f"BIBD {head}({', '.join(numbers)})"
        frames.append(_curve(factor, factor.gamma, label, "design", s=np.arange(factor.n + 1), value=errors))
    for label, relation, errors in (
        ("product: Theorem 5", "upper", theory.product_upper_bound(a, b, s)),
        ("product: Theorem 6", "lower", theory.product_lower_bound(errors_of_a, errors_of_b, s)),
        ("product: spectral bound (ours)", "upper", theory.product_spectral_bound(a, b, s)),
        ("product: tight Lemma 10 (ours)", "upper", theory.product_upper_bound(a, b, s, tight=True)),
        ("product: worst set found (ours)", "lower", worst_found),
    ):
        curve = _curve(whole, gamma, label, relation, s=s, value=errors)
        frames.append(curve.assign(excess=errors - worse))
    alone = Parameters(n, n, redundancy, redundancy, redundancy * (redundancy - 1) / (n - 1))
    frames.append(_curve(whole, gamma, "product", "parameters"))
    frames.append(_curve(alone, alone.gamma, "design of equal density", "parameters"))
    return pd.concat(frames, ignore_index=True)


def _curve(code: Parameters, gamma: float, label: str, relation: str, s=np.nan, value=np.nan):
    """A curve of one code, a row for each s; one row without s where none is given."""
    columns: dict = {
        "n": code.n,
        "k": code.k,
        "load": code.load,
        "redundancy": code.redundancy,
        "density": code.redundancy / code.n,
        "gamma": gamma,
        "label": label,
        "relation": relation,
        "s": s,
        "fraction": s / code.n,
        "value": value,
    }
    return pd.DataFrame(columns, index=range(np.size(s)))
