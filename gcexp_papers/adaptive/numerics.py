"""Condition numbers and rounding errors of adaptive codes (Cao, Yan, Tang, Han, arXiv 2006.04845)."""

from __future__ import annotations

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.codes.adaptive import Adaptive, GroupedAdaptive, decode_rows, random_matrix
from gcexp.seeding import rng

from . import theory


@columns("matrices", "stragglers", "s", "n", "draws", "condition", "exponent", "bound")
def condition_numbers(d: int, L: int, sizes: dict, quantile: float, realisations: int, sets: int):
    """Quantile (1 - eps of Theorem 2) of the condition number of the paper's decoding matrix, and how it grows with n.

    In ``drawn`` matrices E is drawn anew for every set of stragglers: `sizes` holds the number of draws for each n and
    s = 0, ..., d-1. In ``best`` ones it is that of `realisations` draws whose quantile over `sets` draws of the
    stragglers is smallest, for each n and s anew, which can only favour Remark 2; for s = 0 there is one set.
    ``exponent`` is the slope of log condition over log n of these matrices, and ``bound`` is 1 / (6 eps) of Theorem 2.
    """
    for s in range(d):
        drawn, best = {}, {}  # condition numbers by n
        for n in sizes:
            drawn[n] = _conditions(n, d, L, s, sizes[n][s])
            best[n] = _best_conditions(n, d, L, s, realisations, sets if s else 1, quantile)
        for matrices, found in (("drawn", drawn), ("best", best)):
            quantiles = [float(np.quantile(conditions, quantile)) for conditions in found.values()]
            slope, _ = np.polyfit(np.log(list(sizes)), np.log(quantiles), 1)
            for n, condition in zip(sizes, quantiles, strict=True):
                yield {
                    "matrices": matrices,
                    "stragglers": f"s = {s}",
                    "s": s,
                    "n": n,
                    "draws": len(found[n]),
                    "condition": condition,
                    "exponent": slope,
                    "bound": 1 / (6 * (1 - quantile)),
                }


def _condition(E: np.ndarray, rows: np.ndarray) -> float:
    """Condition number of the matrix that is inverted where these rows are heard."""
    return float(np.linalg.cond(E[rows, : len(rows)]))


def _conditions(n: int, d: int, L: int, s: int, draws: int) -> list[float]:
    """Condition numbers of decoding matrices, E and the stragglers drawn anew for each."""
    generator = rng(0, "monte_carlo", n, s)
    found = []
    for _ in range(draws):
        rows = decode_rows(n, d, L, generator.choice(n, s, replace=False))
        found.append(_condition(random_matrix(n, d, L, generator), rows))
    return found


def _best_conditions(
    n: int, d: int, L: int, s: int, realisations: int, sets: int, quantile: float
) -> list[float]:
    """Condition numbers over sets of stragglers of the E, of some drawn, whose quantile is smallest."""
    generator = rng(1, "monte_carlo", n, s)
    rows_heard = [decode_rows(n, d, L, generator.choice(n, s, replace=False)) for _ in range(sets)]
    found = []
    for _ in range(realisations):
        E = random_matrix(n, d, L, generator)
        found.append([_condition(E, rows) for rows in rows_heard])
    return min(found, key=lambda conditions: np.quantile(conditions, quantile))


@columns("n", "method", "seed", "error", "largest_group", "lost")
def decode_errors(d: int, L: int, sizes: list, seeds: int, sets: int, length: int, search_seeds: int):
    """Relative errors ||g_hat - g|| / ||g|| of decoding over the number of workers n, for load d and L rounds.

    There are `sets` random sets of stragglers for each number of them, and a gradient of `length` numbers. The error is
    that of the median set where the method says ``typical``, else the largest, and ``lost`` is the share of the sets
    whose error is above a tenth. ``float64``: M and the paper's decoding matrix by plain solves, for `seeds` drawn E,
    none of them chosen. ``float32``: the same B, encoded and decoded in single precision. ``chosen, refined``:
    `Adaptive`, chosen from `search_seeds` draws. ``groups``: `GroupedAdaptive`.
    """
    for n in sizes:
        largest_group = max(theory.group_sizes(n, d))
        for seed in range(seeds):
            for method, errors in _errors_of_plain_solves(n, d, L, seed, sets, length).items():
                lost = _share_lost(errors)
                yield n, f"{method}, worst set", seed, max(errors), largest_group, lost
                yield n, f"{method}, typical set", seed, float(np.median(errors)), largest_group, lost
        for method, code in (
            ("chosen, refined", Adaptive(n, d, L, search_seeds=search_seeds)),
            ("groups", GroupedAdaptive(n, d, L, search_seeds=search_seeds)),
        ):
            errors = _errors_of_library(code, sets, length)
            yield n, method, 0, max(errors), largest_group, _share_lost(errors)


def _share_lost(errors: list[float]) -> float:
    """Share of the sets whose error is above a tenth."""
    return float(np.mean(np.array(errors) > 0.1))


def _errors_of_plain_solves(
    n: int, d: int, L: int, seed: int, sets: int, length: int
) -> dict[str, list[float]]:
    """Errors of plain solves, one for each set of stragglers, by precision.

    An independent second computation, on purpose not that of `Adaptive`: the errors of the library's codes
    (`_errors_of_library`) are compared with it.
    """
    generator = rng(seed, "assignment", n, d, L)
    E, B = plain_code(n, d, L, generator)
    g = generator.standard_normal((n * L, -(-length // L)))
    wanted = g.reshape(n, L, -1).sum(0)
    errors: dict[str, list[float]] = {"float64": [], "float32": []}
    for s in range(d):
        for _ in range(sets):
            heard = decode_rows(n, d, L, generator.choice(n, s, replace=False))
            A = E[heard, : len(heard)]
            encoding = B[heard]
            for method, kind in (("float64", np.float64), ("float32", np.float32)):
                sent = encoding.astype(kind) @ g.astype(kind)
                found = np.linalg.solve(A.astype(kind), sent)[:L]
                errors[method].append(_relative_error(found, wanted))
    return errors


def plain_code(n: int, d: int, L: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A drawn E, and the messages that follow from it: both (n L, n L), in double precision by plain solves.

    Row r n + j belongs to worker j in round r, column p L + u of the second to part u of partition p.
    """
    E = random_matrix(n, d, L, generator)
    B = np.zeros((n * L, n, L))
    rows = np.arange(n * L)
    for p in range(n):
        holds_it = (p - rows % n) % n < d
        Q = rows[~holds_it]
        H = rows[holds_it]
        B[H, p] = E[H, :L] - E[H, L:] @ np.linalg.solve(E[Q, L:], E[Q, :L])
    return E, B.reshape(n * L, n * L)


def _relative_error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def _errors_of_library(code: Adaptive | GroupedAdaptive, sets: int, length: int) -> list[float]:
    """Errors of a code of the library, one for each set of stragglers."""
    generator = rng(0, "monte_carlo", code.n, code.rounds)
    g = generator.standard_normal((code.n, length))
    wanted = g.sum(0)
    sent = code.encode(g)
    errors = []
    for s in range(code.d):
        for _ in range(sets):
            responses = np.zeros(code.n, dtype=int)
            for quorum in code.quorums:
                members = np.array(quorum.workers)
                responses[members] = theory.rounds(code.rounds, code.d, s)
                responses[generator.choice(members, s, replace=False)] = 0
            weights = code.weights(responses[None])[0]
            found = (weights @ sent).reshape(-1)[:length]
            errors.append(_relative_error(found, wanted))
    return errors
