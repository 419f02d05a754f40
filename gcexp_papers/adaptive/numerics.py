"""Condition numbers and rounding errors of adaptive codes (Cao, Yan, Tang, Han, arXiv 2006.04845)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.codes.adaptive import Adaptive, GroupedAdaptive, decode_rows, random_matrix
from gcexp.seeding import rng
from gcexp.theory import adaptive as theory


@columns("matrices", "stragglers", "s", "n", "draws", "condition", "exponent", "bound")
def condition_numbers(
    d: int, L: int, sizes: dict, quantile: float, realisations: int, sets: int
) -> pd.DataFrame:
    """Quantile of the condition number of the paper's decoding matrix, and how it grows with n.

    Parameters
    ----------
    d, L : int
        Load and rounds.
    sizes : mapping
        n to the number of draws of E and of the stragglers, one for each s = 0, ..., d-1.
    quantile : float
        1 - eps of Theorem 2.
    realisations : int
        Draws of E of which Remark 2 keeps one: that of the smallest quantile over the stragglers, for each n and s
        anew, which can only favour the remark.
    sets : int
        Draws of the stragglers on which these are judged; for s = 0 there is one.

    Returns
    -------
    DataFrame
        ``matrices, stragglers, s, n, draws, condition``; ``exponent``, the slope of log condition over log n of these
        matrices; ``bound``, the exponent 1 / (6 eps) of Theorem 2. ``matrices`` is ``drawn`` where E is drawn anew for
        every set of stragglers, else ``best``.
    """
    rows = []
    for s in range(d):
        drawn = {n: _conditions(n, d, L, s, sizes[n][s]) for n in sizes}
        best = {n: _best_conditions(n, d, L, s, realisations, sets if s else 1, quantile) for n in sizes}
        for matrices, found in (("drawn", drawn), ("best", best)):
            values = {n: float(np.quantile(conditions, quantile)) for n, conditions in found.items()}
            slope = np.polyfit(np.log([int(n) for n in values]), np.log(list(values.values())), 1)[0]
            rows += [
                {
                    "matrices": matrices,
                    "stragglers": f"s = {s}",
                    "s": s,
                    "n": n,
                    "draws": len(found[n]),
                    "condition": value,
                    "exponent": slope,
                    "bound": 1 / (6 * (1 - quantile)),
                }
                for n, value in values.items()
            ]
    return pd.DataFrame(rows)


def _conditions(n: int, d: int, L: int, s: int, draws: int) -> list[float]:
    """Condition numbers of decoding matrices, E and the stragglers drawn anew for each."""
    generator, found = rng(0, "monte_carlo", int(n), s), []
    for _ in range(draws):
        some = decode_rows(int(n), d, L, generator.choice(int(n), s, replace=False))
        found.append(float(np.linalg.cond(random_matrix(int(n), d, L, generator)[some, : len(some)])))
    return found


def _best_conditions(
    n: int, d: int, L: int, s: int, realisations: int, sets: int, quantile: float
) -> list[float]:
    """Condition numbers over sets of stragglers of the E, of some drawn, whose quantile is smallest."""
    generator = rng(1, "monte_carlo", int(n), s)
    rows = [decode_rows(int(n), d, L, generator.choice(int(n), s, replace=False)) for _ in range(sets)]
    found = []
    for _ in range(realisations):
        E = random_matrix(int(n), d, L, generator)
        found.append([float(np.linalg.cond(E[some, : len(some)])) for some in rows])
    return min(found, key=lambda conditions: np.quantile(conditions, quantile))


@columns("n", "method", "seed", "error", "largest_group")
def decode_errors(
    d: int, L: int, sizes: list, seeds: int, sets: int, length: int, search_seeds: int
) -> pd.DataFrame:
    """Relative decode errors over the number of workers: plain solves, single precision, the search, groups.

    Parameters
    ----------
    d, L : int
        Load and rounds.
    sizes : list of int
        Workers n.
    seeds : int
        Drawn E of the plain methods, none of them chosen.
    sets : int
        Random sets of stragglers for each number of them.
    length : int
        Numbers in a gradient.
    search_seeds : int
        Draws from which the library's code is chosen.

    Returns
    -------
    DataFrame
        ``n, method, seed, error``, the error ||g_hat - g|| / ||g|| of the worst set of a seed. ``float64``: M and
        the paper's decoding matrix by plain solves. ``float32``: the same B, encoded and decoded in single precision.
        ``chosen, refined``: `Adaptive`. ``groups``: `GroupedAdaptive`.
    """
    rows = []
    for n in sizes:
        for seed in range(seeds):
            for method, error in _plain(n, d, L, seed, sets, length).items():
                rows.append({"n": n, "method": method, "seed": seed, "error": error})
        codes: dict[str, Adaptive | GroupedAdaptive] = {
            "chosen, refined": Adaptive(n, d, L, search_seeds=search_seeds),
            "groups": GroupedAdaptive(n, d, L, search_seeds=search_seeds),
        }
        for method, code in codes.items():
            rows.append({"n": n, "method": method, "seed": 0, "error": _library(code, sets, length)})
    frame = pd.DataFrame(rows)
    return frame.assign(largest_group=frame["n"].map(lambda n: max(theory.group_sizes(n, d))))


def _plain(n: int, d: int, L: int, seed: int, sets: int, length: int) -> dict[str, float]:
    """Largest error of plain solves, by precision.

    An independent second computation, on purpose not that of `Adaptive`: the errors of the library's codes (`_library`)
    are compared with it.
    """
    generator = rng(seed, "assignment", n, d, L)
    E, B = random_matrix(n, d, L, generator), np.zeros((n * L, n, L))
    for p in range(n):
        Q = np.array([r * n + j for r in range(L) for j in range(n) if (p - j) % n >= d])
        H = np.setdiff1d(np.arange(n * L), Q)
        B[H, p] = E[H, :L] - E[H, L:] @ np.linalg.solve(E[Q, L:], E[Q, :L])
    g = generator.standard_normal((n * L, -(-length // L)))
    wanted, worst = g.reshape(n, L, -1).sum(0), {"float64": 0.0, "float32": 0.0}
    for s in range(d):
        for _ in range(sets):
            some = decode_rows(n, d, L, generator.choice(n, s, replace=False))
            A, rows = E[some, : len(some)], B.reshape(n * L, -1)[some]
            for method, kind in (("float64", np.float64), ("float32", np.float32)):
                sent = rows.astype(kind) @ g.astype(kind)
                found = np.linalg.solve(A.astype(kind), sent)[:L]
                error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
                worst[method] = max(worst[method], float(error))
    return worst


def _library(code: Adaptive | GroupedAdaptive, sets: int, length: int) -> float:
    generator = rng(0, "monte_carlo", code.n, code.rounds)
    g = generator.standard_normal((code.n, length))
    wanted, sent, worst = g.sum(0), code.encode(g), 0.0
    for s in range(code.d):
        for _ in range(sets):
            responses = np.zeros(code.n, dtype=int)
            for quorum in code.quorums:
                members = np.array(quorum.workers)
                responses[members] = theory.rounds(code.rounds, code.d, s)
                responses[generator.choice(members, s, replace=False)] = 0
            weights = code.weights(responses[None])[0]
            found = (weights @ sent).reshape(-1)[:length]
            worst = max(worst, float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted)))
    return worst
