"""Tables behind the figures of Sakorikar and Wang (arXiv 2105.05231).

None of them needs a clock: straggler sets are enumerated, drawn, or bounded. Designs, sizes and densities are assumed,
since the paper's text has lost its images and their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.composite import Kronecker
from gcexp.codes.soft_bibd import SoftBIBD
from gcexp.decoding_error.error import error, errors_of
from gcexp.decoding_error.straggler_sets import random_sets
from gcexp.designs.block_designs import find_bibd, named_design, why_impossible
from gcexp.errors import require
from gcexp.seeding import rng
from gcexp.theory import errors as theory

from .theory import soft_paper_smallest_mu

# --- Figure 1: which parameters exist -------------------------------------------------------------------------


@columns(
    *("panel", "n", "density", "what", "load", "intersection", "design", "design_n", "design_density"),
    "value",
)
def existence(
    panels: list,
    most_load: int,
    other_n: list,
    most_k: int,
    density_window: list,
    points: int = 100,
    seed: int = 0,
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
    seed : int
        Of the points, and of the code that is sampled.

    Returns
    -------
    DataFrame
        ``panel, n, density, what, load, intersection, design, design_n, design_density, value``. What: ``edge`` (the
        smallest intersection, exact), ``top`` (the largest), ``union`` (the smallest by Theorem 1), ``design``,
        ``other design``, ``not constructed`` (passes the necessary conditions), and numbers in ``value``: ``soft k``,
        ``possible k``, ``constructed k`` (whole k up to most_load / density for which a Soft BIBD exists, a design
        is not ruled out, a design is built), ``agreeing points``, ``sampled`` (share of the rows of one drawn code with
        a weight next to n density).
    """
    rows = []
    others = [
        found
        for n in other_n
        for found in find_bibd(n, most_k, tuple(density_window))
        if found.load <= most_load and not found.design.startswith("stack")
    ]
    for given in panels:
        n, density = int(given["n"]), float(given["density"])
        panel = {"panel": f"n = {n}, density {density:g}", "n": n, "density": density}
        exact = float(theory.soft_smallest_mu(n, density)) / density
        union = float(soft_paper_smallest_mu(n, density)) / density
        for load in np.linspace(0, most_load, 4 * most_load + 1):
            for what, slope in (("edge", exact), ("top", 1.0), ("union", union)):
                rows.append(panel | {"what": what, "load": load, "intersection": slope * load})
        built, possible = set(), set()
        k_most = int(most_load / density + 1e-9)
        for found in find_bibd(n, k_most, (density - 1e-9, density + 1e-9)):
            built.add(found.k)
            rows.append(panel | _marker("design", found))
        redundancy = round(n * density)
        for k in range(1, k_most + 1):
            load = k * redundancy / n
            shared = load * (redundancy - 1) / (n - 1)
            if abs(n * density - redundancy) > 1e-9 or load % 1 or shared % 1:
                continue
            if k >= n and why_impossible(n, k, int(load), redundancy, int(shared)) is None:
                possible.add(k)
                if k not in built:
                    place = {"load": load, "intersection": shared, "design": "", "design_n": n}
                    rows.append(panel | {"what": "not constructed", "design_density": density} | place)
        rows += [panel | _marker("other design", found) for found in others if found.n != n]
        feasible = [k for k in range(1, k_most + 1) if theory.soft_smallest_mu(n, density) <= density]
        agreeing = sum(_agree(n, *point) for point in rng(seed, "monte_carlo", n).random((points, 2)))
        weights = SoftBIBD(n, n, n * density, seed=seed).assignment.sum(0)
        near = np.isin(weights, (np.floor(n * density), np.ceil(n * density))).mean()
        for what, value in (
            ("soft k", len(feasible)),
            ("possible k", len(possible)),
            ("constructed k", len(built)),
            ("agreeing points", agreeing),
            ("sampled", near),
        ):
            rows.append(panel | {"what": what, "value": float(value)})
    return pd.DataFrame(rows)


def _marker(what: str, found) -> dict:
    place = {"load": float(found.load), "intersection": float(found.intersection)}
    return place | {
        "what": what,
        "design": found.design,
        "design_n": found.n,
        "design_density": found.redundancy / found.n,
    }


def _agree(n: int, rho: float, height: float) -> bool:
    """Whether region and linear program of the row weights agree at a random density and 0 <= mu <= rho."""
    from scipy.optimize import linprog  # slow to import, and the figure file's check needs none of it

    mu, w = rho * height, np.arange(n + 1)
    moments = np.stack([np.ones(n + 1), w / n, w * (w - 1) / (n * (n - 1))])
    solved = linprog(np.zeros(n + 1), A_eq=moments, b_eq=[1, rho, mu], method="highs")
    return bool(solved.success) == bool(theory.soft_smallest_mu(n, rho) <= mu)


# --- Figure 2: a block design and Soft BIBDs --------------------------------------------------------------------


@columns(
    *("n", "k", "load", "redundancy", "intersection", "label", "s", "fraction", "realisation"),
    *("quantity", "value", "excess", "stderr", "largest", "trials", "standard_errors"),
)
def design_and_soft(
    design: str, soft: list, realisations: int, trials: int, seed: int = 0, checks: int = 20
) -> pd.DataFrame:
    """Fig. 2: errors of a block design, of realisations of Soft BIBDs under random and worst stragglers, and Theorem 2.

    Parameters
    ----------
    design : str
        A name of `gcexp.designs.block_designs`.
    soft : list of mapping
        ``n``, ``k`` and mean load ``d`` of each Soft BIBD; the intersection is the smallest.
    realisations : int
        Draws of each: seeds seed, seed + 1, ...
    trials : int
        Random straggler sets for each s, the same for all codes with n workers.
    seed : int
        Of the first draw, and of the straggler sets.
    checks : int
        Straggler sets for each s on which optimal errors are compared with the pseudoinverse.

    Returns
    -------
    DataFrame
        ``label, n, k, load, redundancy, intersection, s, fraction, quantity, value, stderr, largest, trials,
        realisation, excess, standard_errors``: quantity is ``closed form`` (design, Theorem 2), ``mean`` (over the
        random sets), ``worst`` (over all sets, exact) or ``pseudoinverse`` (largest difference from it). excess is
        value minus Theorem 2 (for parameters of a design its own error), standard_errors how many of them that is.
    """
    n, k, load, redundancy, shared = named_design(design).params
    rows: list[Mapping[str, object]] = []
    for s in range(n + 1):
        value = float(theory.bibd_error((n, k, load, redundancy, shared), s))
        known = {"n": n, "k": k, "load": load, "redundancy": redundancy, "intersection": shared}
        place = {"label": f"BIBD ({n}, {load}, {shared})", "s": s, "fraction": s / n, "realisation": 0}
        rows.append(known | place | {"quantity": "closed form", "value": value, "excess": 0.0})
    for given in soft:
        n, k, load = int(given["n"]), int(given["k"]), float(given["d"])
        shared = k * float(theory.soft_smallest_mu(n, load / k))
        known = {"n": n, "k": k, "load": load, "redundancy": n * load / k, "intersection": shared}
        bound = theory.bibd_error((n, k, load, n * load / k, shared), np.arange(n + 1))
        for s in range(n + 1):
            place = {"label": f"Theorem 2, n = {n}", "s": s, "fraction": s / n, "realisation": 0}
            rows.append(known | place | {"quantity": "closed form", "value": float(bound[s]), "excess": 0.0})
        for one in range(seed, seed + realisations):
            code = SoftBIBD(n, k, load, seed=one)
            means = error(code, range(n + 1), "random", trials=trials, seed=seed)
            for mean, worst in zip(means, error(code, range(n + 1)), strict=True):
                s = mean.s
                require(worst.exact, f"n={n}, s={s}: the worst case is not enumerated")
                place = {"s": s, "fraction": s / n, "realisation": one - seed}
                excess = mean.mean - float(bound[s])
                rows.append(
                    known
                    | place
                    | {"label": f"Soft BIBD, n = {n}", "quantity": "mean", "value": mean.mean}
                    | {"stderr": mean.stderr, "largest": mean.largest, "trials": trials, "excess": excess}
                    | {"standard_errors": excess / mean.stderr if mean.stderr > 1e-12 else np.nan}
                )
                rows.append(
                    known
                    | place
                    | {"label": f"Soft BIBD, n = {n}, worst set", "quantity": "worst", "value": worst.lower}
                    | {"excess": worst.lower - float(bound[s])}
                )
            responses = np.concatenate([random_sets(n, s, checks, one) for s in range(n + 1)])
            gap = np.abs(errors_of(code, responses) - _pseudoinverse_errors(code, responses)).max()
            rows.append(
                known
                | {"label": f"pseudoinverse, n = {n}", "quantity": "pseudoinverse"}
                | {"realisation": one - seed, "value": float(gap)}
            )
    return pd.DataFrame(rows)


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
def product_of_designs(first: str, second: str, found: bool = True, seed: int = 0) -> pd.DataFrame:
    """Fig. 3: errors of two block designs and bounds on those of their Kronecker product.

    Parameters
    ----------
    first, second : str
        Names of `gcexp.designs.block_designs`.
    found : bool
        Whether the worst straggler sets that the error engine finds are rows, too.
    seed : int
        Of that search.

    Returns
    -------
    DataFrame
        ``label, n, k, load, redundancy, density, gamma, s, fraction, value, excess, relation``: gamma is (l -
        lambda) / (l r) of a design, the larger one of a product; excess is over the worse of the two designs, drawn
        piecewise linear in the fraction; relation is ``design``, ``lower``, ``upper``, or ``parameters`` for the rows
        without s, which have parameters only (of the product, and of a hypothetical design of the same n and density).
    """
    a, b = (theory.Parameters(*named_design(name).params) for name in (first, second))
    n, k, load, redundancy, _ = a @ b
    factors = [theory.bibd_error(part, np.arange(part.n + 1)) for part in (a, b)]
    s = np.arange(n + 1)
    worse = np.maximum(
        *(np.interp(s / n, np.arange(p.n + 1) / p.n, e) for p, e in zip((a, b), factors, strict=True))
    )
    rows = []
    for name, part, curve in zip((first, second), (a, b), factors, strict=True):
        known = _known(part, part.gamma) | {"label": f"BIBD {_spoken(name)}", "relation": "design"}
        rows += [known | {"s": i, "fraction": i / part.n, "value": float(e)} for i, e in enumerate(curve)]
    gamma = max(a.gamma, b.gamma)
    known = _known(theory.Parameters(n, k, load, redundancy, 0), gamma)
    bounds = {
        ("product: Theorem 5", "upper"): theory.product_upper_bound(a, b, s),
        ("product: Theorem 6", "lower"): theory.product_lower_bound(factors[0], factors[1], s),
        ("product: spectral bound (ours)", "upper"): theory.product_spectral_bound(a, b, s),
        ("product: tight Lemma 10 (ours)", "upper"): theory.product_upper_bound(a, b, s, tight=True),
    }
    if found:
        code = Kronecker(BlockDesign(a.n, first), BlockDesign(b.n, second))
        worst = error(code, range(n + 1), seed=seed)
        bounds["product: worst set found (ours)", "lower"] = np.array([e.lower for e in worst])
    for (label, relation), curve in bounds.items():
        for i in range(n + 1):
            place = {"label": label, "relation": relation, "s": i, "fraction": i / n}
            rows.append(known | place | {"value": float(curve[i]), "excess": float(curve[i] - worse[i])})
    rows.append(known | {"label": "product", "relation": "parameters"})
    alone = theory.Parameters(n, n, redundancy, redundancy, redundancy * (redundancy - 1) / (n - 1))
    rows.append(_known(alone, alone.gamma) | {"label": "design of equal density", "relation": "parameters"})
    return pd.DataFrame(rows)


def _known(code: theory.Parameters, gamma: float) -> dict:
    n, k, load, redundancy, _ = code
    known = {"n": n, "k": k, "load": load, "redundancy": redundancy}
    return known | {"density": redundancy / n, "gamma": gamma}


def _spoken(name: str) -> str:
    head, *numbers = name.split("-")
    return f"{head}({', '.join(numbers)})"
