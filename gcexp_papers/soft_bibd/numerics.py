"""Tables behind the figures of Sakorikar and Wang (arXiv 2105.05231).

None of them needs a clock: straggler sets are enumerated, drawn, or bounded. Designs, sizes and densities are assumed,
since the paper's text has lost its images and their numbers.
"""

from __future__ import annotations

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
def existence(
    panels: list, most_load: int, other_n: list, most_k: int, density_window: list, points: int
) -> pd.DataFrame:
    """Fig. 1: mean loads l and intersections lambda for which a Soft BIBD exists, and block designs beside them.

    Parameters
    ----------
    panels : list of mapping
        ``n`` and ``density`` of each panel.
    most_load : int
        Largest l.
    other_n : list of int
        Numbers of workers of other designs.
    most_k : int
        Most partitions of these.
    density_window : (float, float)
        Their densities.
    points : int
        Random points of each panel at which the closed form is compared with a linear program.

    Returns
    -------
    DataFrame
        What: ``edge`` (the smallest intersection, exact), ``top`` (the largest), ``union`` (the smallest by Theorem
        1), ``design``, ``other design``, ``not constructed`` (passes the necessary conditions), and numbers in
        ``value``: ``soft k``, ``possible k``, ``constructed k`` (whole k up to most_load / density for which a Soft
        BIBD exists, a design is not ruled out, a design is built), ``agreeing points``, ``sampled`` (share of the
        rows of one drawn code with a weight next to n density).
    """
    others = [
        found
        for n in other_n
        for found in find_bibd(n, most_k, tuple(density_window))
        if found.load <= most_load and not found.design.startswith("stack")
    ]
    panel_rows = (_region(**given, most_load=most_load, others=others, points=points) for given in panels)
    return pd.concat(panel_rows, ignore_index=True)


def _region(n: int, density: float, most_load: int, others: list[Found], points: int) -> pd.DataFrame:
    """Rows of one panel."""
    smallest = soft_smallest_mu(n, density) / density
    slopes = {"edge": smallest, "top": 1.0, "union": theory.soft_paper_smallest_mu(n, density) / density}
    rows: list[dict] = [
        {"what": what, "load": load, "intersection": slope * load}
        for load in np.linspace(0, most_load, 4 * most_load + 1)
        for what, slope in slopes.items()
    ]
    most_k = int(most_load / density + 1e-9)
    own = find_bibd(n, most_k, (density - 1e-9, density + 1e-9))
    rows += [_marker("design", found) for found in own]
    built, redundancy, possible = {found.k for found in own}, round(n * density), 0
    for k in range(1, most_k + 1):
        load = k * redundancy / n
        shared = load * (redundancy - 1) / (n - 1)
        if abs(n * density - redundancy) > 1e-9 or load % 1 or shared % 1 or k < n:
            continue
        candidate = Found("", n, k, int(load), redundancy, int(shared))
        if why_impossible(*candidate[1:]) is None:
            possible += 1
            if k not in built:
                rows.append(_marker("not constructed", candidate))
    rows += [_marker("other design", found) for found in others if found.n != n]
    weights = SoftBIBD(n, n, n * density, seed=0).assignment.sum(0)
    numbers = {
        "soft k": most_k if smallest <= 1 else 0,
        "possible k": possible,
        "constructed k": len(built),
        "agreeing points": sum(_agree(n, *point) for point in rng(0, "monte_carlo", n).random((points, 2))),
        "sampled": np.isin(weights, (np.floor(n * density), np.ceil(n * density))).mean(),
    }
    rows += [{"what": what, "value": float(value)} for what, value in numbers.items()]
    panel = {"panel": f"n = {n}, density {density:g}", "n": n, "density": density}
    return pd.DataFrame([panel | row for row in rows])


def _marker(what: str, found: Found) -> dict:
    return {
        "what": what,
        "load": float(found.load),
        "intersection": float(found.intersection),
        "design": found.design,
        "design_n": found.n,
        "design_density": found.redundancy / found.n,
    }


def _agree(n: int, rho: float, height: float) -> bool:
    """Whether region and linear program agree at a random density and 0 <= mu <= rho."""
    return law_of_weights_exists(n, rho, rho * height) == (soft_smallest_mu(n, rho) <= rho * height)


def law_of_weights_exists(n: int, rho: float, mu: float) -> bool:
    """Whether a law of the row weight has the density rho and the joint density mu, by a linear program."""
    from scipy.optimize import linprog  # slow to import, and the figure file's check needs none of it

    w = np.arange(n + 1)
    moments = np.stack([np.ones(n + 1), w / n, w * (w - 1) / (n * (n - 1))])
    return linprog(np.zeros(n + 1), A_eq=moments, b_eq=[1, rho, mu], method="highs").success


# --- Figure 2: a block design and Soft BIBDs --------------------------------------------------------------------


@columns(
    *("n", "k", "load", "redundancy", "intersection", "label", "s", "fraction", "realisation"),
    *("quantity", "value", "excess", "stderr", "largest", "trials", "standard_errors"),
)
def design_and_soft(
    design: str, soft: list, realisations: int, trials: int, checks: int = 20
) -> pd.DataFrame:
    """Fig. 2: errors of a block design, of realisations of Soft BIBDs under random and worst stragglers, and Theorem 2.

    Parameters
    ----------
    design : str
        A name of `gcexp.designs.block_designs`.
    soft : list of mapping
        ``n``, ``k`` and mean load ``d`` of each Soft BIBD; the intersection is the smallest.
    realisations : int
        Draws of each: seeds 0, 1, ...
    trials : int
        Random straggler sets for each s, the same for all codes with n workers.
    checks : int
        Straggler sets for each s on which optimal errors are compared with the pseudoinverse.

    Returns
    -------
    DataFrame
        Quantity is ``closed form`` (design, Theorem 2), ``mean`` (over the random sets), ``worst`` (over all sets,
        exact) or ``pseudoinverse`` (largest difference from it). excess is value minus Theorem 2 (for parameters of a
        design its own error), standard_errors how many of them that is.
    """
    own = Parameters(*named_design(design).params)
    rows = _closed_form(f"BIBD ({own.n}, {own.load}, {own.intersection})", own)
    for given in soft:
        n, k, load = given["n"], given["k"], given["d"]
        shared = k * float(soft_smallest_mu(n, load / k))
        mean_parameters = Parameters(n, k, load, n * load / k, shared)
        rows += _closed_form(f"Theorem 2, n = {n}", mean_parameters)
        for realisation in range(realisations):
            code = SoftBIBD(n, k, load, seed=realisation)
            known = mean_parameters._asdict() | {"realisation": realisation}
            means = error(code, range(n + 1), "random", trials=trials, seed=0)
            for mean, worst in zip(means, error(code, range(n + 1)), strict=True):
                s, bound = mean.s, float(bibd_error(mean_parameters, mean.s))
                require(worst.exact, f"n={n}, s={s}: the worst case is not enumerated")
                excess = mean.mean - bound
                place = known | {"s": s, "fraction": s / n}
                rows.append(
                    place
                    | {"label": f"Soft BIBD, n = {n}", "quantity": "mean", "value": mean.mean}
                    | {"stderr": mean.stderr, "largest": mean.largest, "trials": trials, "excess": excess}
                    | {"standard_errors": excess / mean.stderr if mean.stderr > 1e-12 else np.nan}
                )
                rows.append(
                    place
                    | {"label": f"Soft BIBD, n = {n}, worst set", "quantity": "worst", "value": worst.lower}
                    | {"excess": worst.lower - bound}
                )
            responses = np.concatenate([random_sets(n, s, checks, realisation) for s in range(n + 1)])
            gap = np.abs(errors_of(code, responses) - _pseudoinverse_errors(code, responses)).max()
            name = {"label": f"pseudoinverse, n = {n}", "quantity": "pseudoinverse"}
            rows.append(known | name | {"value": float(gap)})
    return pd.DataFrame(rows)


def _closed_form(label: str, code: Parameters) -> list[dict]:
    """The curve of a block design, or of the mean parameters of a Soft BIBD."""
    rows = []
    for s, value in enumerate(bibd_error(code, np.arange(code.n + 1))):
        place = {"label": label, "s": s, "fraction": s / code.n, "realisation": 0}
        rows.append(code._asdict() | place | {"quantity": "closed form", "value": value, "excess": 0.0})
    return rows


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

    Parameters
    ----------
    first, second : str
        Names of `gcexp.designs.block_designs`.

    Returns
    -------
    DataFrame
        gamma is (l - lambda) / (l r) of a design, the larger one of a product; excess is over the worse of the two
        designs, drawn piecewise linear in the fraction; relation is ``design``, ``lower``, ``upper``, or
        ``parameters`` for the rows without s, which have parameters only (of the product, and of a hypothetical
        design of the same n and density).
    """
    a, b = factors = [Parameters(*named_design(name).params) for name in (first, second)]
    whole, s = a @ b, np.arange(a.n * b.n + 1)
    n, gamma, redundancy = whole.n, max(a.gamma, b.gamma), whole.redundancy
    errors = [bibd_error(part, np.arange(part.n + 1)) for part in factors]
    frames = [
        _curve(part, part.gamma, f"BIBD {_spoken(name)}", "design", np.arange(part.n + 1), curve)
        for name, part, curve in zip((first, second), factors, errors, strict=True)
    ]
    code = Kronecker(BlockDesign(a.n, first), BlockDesign(b.n, second))
    bounds = {
        ("product: Theorem 5", "upper"): theory.product_upper_bound(a, b, s),
        ("product: Theorem 6", "lower"): theory.product_lower_bound(errors[0], errors[1], s),
        ("product: spectral bound (ours)", "upper"): theory.product_spectral_bound(a, b, s),
        ("product: tight Lemma 10 (ours)", "upper"): theory.product_upper_bound(a, b, s, tight=True),
        ("product: worst set found (ours)", "lower"): np.array([e.lower for e in error(code, s)]),
    }
    worse = np.max(
        [np.interp(s / n, np.arange(p.n + 1) / p.n, curve) for p, curve in zip(factors, errors, strict=True)],
        axis=0,
    )
    for name, curve in bounds.items():
        frames.append(_curve(whole, gamma, *name, s, curve).assign(excess=curve - worse))
    alone = Parameters(n, n, redundancy, redundancy, redundancy * (redundancy - 1) / (n - 1))
    frames.append(_curve(whole, gamma, "product", "parameters"))
    frames.append(_curve(alone, alone.gamma, "design of equal density", "parameters"))
    return pd.concat(frames, ignore_index=True)


def _curve(code: Parameters, gamma: float, label: str, relation: str, s=np.nan, value=np.nan) -> pd.DataFrame:
    known: dict = {"n": code.n, "k": code.k, "load": code.load, "redundancy": code.redundancy}
    known |= {"density": code.redundancy / code.n, "gamma": gamma, "label": label, "relation": relation}
    return pd.DataFrame(known | {"s": s, "fraction": s / code.n, "value": value}, index=range(np.size(s)))


def _spoken(name: str) -> str:
    head, *numbers = name.split("-")
    return f"{head}({', '.join(numbers)})"
