"""Search one cell of the table of best codes: python docs/best_codes/search.py N D S [--kind plain] [--seed 0].

Candidates are all circulant codes, disjoint unions of circulant codes, and what a local search makes of random codes,
with and without a symmetry. The search compares errors in double precision; what it finds is judged in exact fractions
(judge.py), and it keeps a row only if that is better than the row of the table.
"""

from __future__ import annotations

import argparse
import csv
import datetime
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from judge import KINDS, bound, matrix_of, mistake, worst_and_mean

TABLE = Path(__file__).parents[2] / "gcexp" / "codes" / "best.csv"
COLUMNS = ("n", "d", "s", "kind", "construction", "worst", "mean", "by", "date")
_RIDGE = 1e-9  # makes Gram matrices invertible; moves an error by less than _CLOSE
_CLOSE = 1e-6
_PROBES = 24  # sets that were worst, which are tried before all others


@dataclass(frozen=True)
class Cell:
    """n workers and partitions, at most d partitions each (on the mean for kind uneven), s stragglers."""

    n: int
    d: int
    s: int
    kind: str


@dataclass(frozen=True)
class Found:
    """A code by its construction, and how it is at worst and on the mean."""

    construction: str
    worst: Fraction
    mean: Fraction

    def is_better_than(self, other: Found | None) -> bool:
        """Whether the worst error is smaller, or as large with a smaller mean."""
        return other is None or (self.worst, self.mean) < (other.worst, other.mean)


@cache
def heard_sets(n: int, s: int) -> np.ndarray:
    """All sets of n - s workers, (sets, n - s)."""
    return np.array(list(combinations(range(n), n - s)))


def errors(B: np.ndarray, heard: np.ndarray) -> np.ndarray:
    """Error of each set of heard workers, in double precision."""
    n = len(B)
    gram = B @ B.T
    sums = B.sum(1)
    systems = gram[heard[:, :, None], heard[:, None, :]] + _RIDGE * np.eye(heard.shape[1])
    right = sums[heard]
    weights = np.linalg.solve(systems, right[:, :, None])[:, :, 0]
    return (n - (weights * right).sum(1)) / n


def judged(construction: str, cell: Cell) -> Found:
    """A construction with its exact errors."""
    B = matrix_of(construction, cell.n)
    reason = mistake(B, cell.n, cell.d, cell.kind)
    if reason:
        raise ValueError(f"{construction}: {reason}")
    return Found(construction, *worst_and_mean(B, cell.s))


def rows_of(B: np.ndarray) -> str:
    """The construction that lists the rows of a matrix, which are sorted: the order of workers does not matter."""
    if np.isin(B, (0, 1)).all():
        numbers = [sum(int(entry) << i for i, entry in enumerate(row)) for row in B]
        return "rows " + " ".join(f"{number:x}" for number in sorted(numbers))
    return "rows " + " ".join(",".join(str(int(entry)) for entry in row) for row in B)


# --- Circulant codes and their unions ------------------------------------------------------------------------------


@cache
def circulants(size: int, d: int) -> tuple[tuple[int, ...], ...]:
    """Offsets of the circulant codes with at most d partitions each, one of each class under shifts and multiples."""
    seen = set()
    chosen = []
    units = [u for u in range(1, size + 1) if np.gcd(u, size) == 1]
    for load in range(1, min(d, size) + 1):
        for others in combinations(range(1, size), load - 1):
            offsets = (0, *others)
            if offsets in seen:
                continue
            chosen.append(offsets)
            for unit in units:
                for first in offsets:
                    seen.add(tuple(sorted((offset - first) * unit % size for offset in offsets)))
    return tuple(chosen)


@cache
def profile(size: int, offsets: tuple[int, ...]) -> tuple[float, ...]:
    """Worst ||c - 1||^2 of a circulant code for 0, 1, ..., size stragglers."""
    B = np.array(matrix_of("circulant " + " ".join(map(str, offsets)), size), dtype=float)
    worst = [float(errors(B, heard_sets(size, s)).max() * size) for s in range(size)]
    return (*worst, float(size))


def best_circulant(cell: Cell) -> Found:
    """The best circulant code of a cell."""
    offsets = min(circulants(cell.n, cell.d), key=lambda one: round(profile(cell.n, one)[cell.s], 6))
    return judged("circulant " + " ".join(map(str, offsets)), cell)


def _partitions(n: int, least: int = 1):
    """Every way to write n as a sum of numbers that do not fall."""
    if n == 0:
        yield ()
    for first in range(least, n + 1):
        for rest in _partitions(n - first, first):
            yield (first, *rest)


def best_union(cell: Cell) -> Found | None:
    """The best disjoint union of circulant codes: the stragglers share themselves out as they harm most."""
    best = None
    best_worst = np.inf
    for sizes in _partitions(cell.n):
        if len(sizes) < 2:
            continue
        for parts in _choices(sizes, cell.d, cell.s):
            worst = _worst_of_union(parts, cell.s)
            if worst < best_worst - _CLOSE:
                best_worst = worst
                best = parts
    if best is None:
        return None
    words = [f"{size}x({','.join(map(str, offsets))})" for size, offsets in best]
    return judged("union " + " ".join(words), cell)


def _choices(sizes: tuple[int, ...], d: int, s: int):
    """Circulant codes for each size, each load of which the one with the smallest sum of errors."""
    options = []
    for size in sizes:
        kept = {}
        for offsets in circulants(size, d):
            told = profile(size, offsets)
            kept.setdefault(tuple(np.round(told[: s + 1], 6)), offsets)
        options.append([(size, offsets) for told, offsets in kept.items() if not _is_dominated(told, kept)])
    chosen = [()]
    for option in options:
        chosen = [(*one, part) for one in chosen for part in option]
    return chosen


def _is_dominated(told: tuple[float, ...], all_told) -> bool:
    return any(other != told and all(a <= b for a, b in zip(other, told, strict=True)) for other in all_told)


def _worst_of_union(parts, s: int) -> float:
    worst = np.full(s + 1, -np.inf)
    worst[0] = 0
    for size, offsets in parts:
        told = profile(size, offsets)
        grown = np.full(s + 1, -np.inf)
        for stragglers in range(min(size, s) + 1):
            grown[stragglers:] = np.maximum(
                grown[stragglers:], worst[: s + 1 - stragglers] + told[stragglers]
            )
        worst = grown
    return float(worst[s])


# --- Local search --------------------------------------------------------------------------------------------------


class Symmetry:
    """Workers and partitions are moved together in cycles of one length; the rest stays where it is."""

    def __init__(self, n: int, length: int):
        image = np.arange(n)
        for begin in range(0, n - n % length, length):
            image[begin : begin + length] = np.roll(image[begin : begin + length], -1)
        self.powers = [np.arange(n)]
        for _ in range(length - 1):
            self.powers.append(image[self.powers[-1]])

    def set_orbit(self, B: np.ndarray, worker: int, partition: int, value: float) -> None:
        """Set an entry and its images."""
        for power in self.powers:
            B[power[worker], power[partition]] = value


def start(cell: Cell, symmetry: Symmetry, generator: np.random.Generator) -> np.ndarray:
    """A random code with d partitions for each worker, or fewer where the symmetry allows no more."""
    B = np.zeros((cell.n, cell.n))
    for worker in generator.permutation(cell.n):
        for partition in generator.permutation(cell.n):
            if B[worker].sum() == cell.d:
                break
            changed = B.copy()
            symmetry.set_orbit(changed, worker, partition, 1)
            if changed.sum(1).max() <= cell.d:
                B = changed
    return B


def neighbour(
    B: np.ndarray, cell: Cell, symmetry: Symmetry, generator: np.random.Generator
) -> np.ndarray | None:
    """A code that differs by one move, or None where the move is not allowed.

    A worker gives one partition up for another; or two workers swap partitions, so that columns keep their sums; for
    uneven loads an entry goes to another worker; for any coefficients one of them changes.
    """
    n = cell.n
    changed = B.copy()
    ones = np.argwhere(B != 0)
    worker, partition = ones[generator.integers(len(ones))]
    move = generator.random()
    if cell.kind == "any" and move < 0.4:
        symmetry.set_orbit(changed, worker, partition, generator.choice([-3, -2, -1, 1, 2, 3]))
        return changed
    if cell.kind == "uneven" and move < 0.5:
        zeros = np.argwhere(B == 0)
        other_worker, other_partition = zeros[generator.integers(len(zeros))]
        symmetry.set_orbit(changed, worker, partition, 0)
        symmetry.set_orbit(changed, other_worker, other_partition, 1)
        return changed
    free = np.flatnonzero(B[worker] == 0)
    if not len(free):
        return None
    other = generator.choice(free)
    value = B[worker, partition]
    symmetry.set_orbit(changed, worker, partition, 0)
    symmetry.set_orbit(changed, worker, other, value)
    if move > 0.7:  # column sums are kept: somebody who holds the other partition and not this one swaps back
        partners = np.flatnonzero((B[:, other] != 0) & (B[:, partition] == 0))
        if not len(partners):
            return None
        partner = generator.choice(partners)
        value = B[partner, other]
        symmetry.set_orbit(changed, partner, other, 0)
        symmetry.set_orbit(changed, partner, partition, value)
    return changed if is_allowed(changed, cell, n) else None


def is_allowed(B: np.ndarray, cell: Cell, n: int) -> bool:
    """Whether the loads are those of the kind."""
    loads = (B != 0).sum(1)
    if cell.kind == "uneven":
        return bool(loads.sum() <= n * cell.d)
    return bool(loads.max() <= cell.d)


def local_search(cell: Cell, seed: int, steps: int, begin: np.ndarray | None = None) -> np.ndarray:
    """Improve a code by single moves; one that makes it a little worse is taken now and then, rarer towards the end."""
    generator = np.random.default_rng([seed, *cell_key(cell)])
    lengths = [1, 1] + [length for length in range(2, cell.n) if cell.n % length in (0, 1)]
    symmetry = Symmetry(cell.n, int(generator.choice(lengths)) if begin is None else 1)
    B = start(cell, symmetry, generator) if begin is None else begin
    heard = heard_sets(cell.n, cell.s)
    goal = float(bound(cell.n, cell.d, cell.s, cell.kind))
    current = errors(B, heard)
    best, best_score = B, _score(current)
    probes = heard[np.argsort(current)[-_PROBES:]]
    score = best_score
    for step in range(steps):
        changed = neighbour(B, cell, symmetry, generator)
        if changed is None or not is_allowed(changed, cell, cell.n):
            continue
        heat = 0.15 / cell.n * (1 - step / steps) ** 2
        limit = score + heat * generator.exponential()
        if errors(changed, probes).max() > limit:
            continue
        current = errors(changed, heard)
        new_score = _score(current)
        if new_score > limit:
            continue
        B, score = changed, new_score
        probes = heard[np.argsort(current)[-_PROBES:]]
        if score < best_score:
            best, best_score = B, score
        if current.max() <= goal + _CLOSE:
            break
    return best


def _score(found: np.ndarray) -> float:
    """The worst error; of equal ones, fewer worst sets are better, and a smaller mean."""
    worst = found.max()
    return float(
        worst + 1e-3 * (found > worst - _CLOSE).mean() / len(found) ** 0.5 + 1e-4 * found.mean() / len(found)
    )


def cell_key(cell: Cell) -> tuple[int, int, int, int]:
    """Numbers that name a cell, for its stream of random numbers."""
    return cell.n, cell.d, cell.s, KINDS.index(cell.kind)


def search(cell: Cell, seed: int, steps: int, restarts: int, known: list[str]) -> Found:
    """The best code that circulants, unions and some local searches find, or that is among the known constructions."""
    plain = replace(cell, kind="plain")
    best = best_circulant(plain)
    union = best_union(plain)
    if union is not None and union.is_better_than(best):
        best = union
    for construction in known:
        found = judged(construction, cell)
        if found.is_better_than(best):
            best = found
    goal = bound(cell.n, cell.d, cell.s, cell.kind)
    for restart in range(restarts):
        if best.worst == goal:
            break
        begin = None
        if restart % 3 == 2:
            begin = np.array(matrix_of(best.construction, cell.n), dtype=float)
        B = local_search(cell, seed * 1000 + restart, steps, begin)
        found = errors(B, heard_sets(cell.n, cell.s))
        if found.max() <= float(best.worst) + _CLOSE:
            exact = judged(rows_of(B), cell)
            if exact.is_better_than(best):
                best = exact
    return best


# --- The table -----------------------------------------------------------------------------------------------------


def read_table() -> dict[Cell, dict[str, str]]:
    """The rows of the table by cell."""
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {Cell(int(row["n"]), int(row["d"]), int(row["s"]), row["kind"]): row for row in rows}


def write_table(rows: dict[Cell, dict[str, str]]) -> None:
    """Write all rows, by n, d, s and kind."""
    order = sorted(rows, key=cell_key)
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for cell in order:
            writer.writerow(rows[cell])


def keep(cell: Cell, found: Found, by: str) -> bool:
    """Put a code into the table if it is better than the row that is there."""
    rows = read_table()
    row = rows.get(cell)
    if row is not None:
        there = Found(row["construction"], Fraction(row["worst"]), Fraction(row["mean"]))
        if not found.is_better_than(there):
            return False
    rows[cell] = {
        "n": str(cell.n),
        "d": str(cell.d),
        "s": str(cell.s),
        "kind": cell.kind,
        "construction": found.construction,
        "worst": str(found.worst),
        "mean": str(found.mean),
        "by": by,
        "date": datetime.date.today().isoformat(),
    }
    write_table(rows)
    return True


def main() -> None:
    """Search one cell and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", type=int)
    parser.add_argument("d", type=int)
    parser.add_argument("s", type=int)
    parser.add_argument("--kind", choices=KINDS, default="plain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=4000, help="moves that each local search tries")
    parser.add_argument("--restarts", type=int, default=6, help="local searches")
    parser.add_argument("--by", default="gcexp developers", help="who found it, for the table")
    given = parser.parse_args()
    cell = Cell(given.n, given.d, given.s, given.kind)
    table = read_table()
    known = [table[one]["construction"] for one in (cell, replace(cell, kind="plain")) if one in table]
    found = search(cell, given.seed, given.steps, given.restarts, known)
    kept = keep(cell, found, given.by)
    limit = bound(cell.n, cell.d, cell.s, cell.kind)
    print(f"{cell}: {found.worst} by {found.construction}; bound {limit}{'; kept' if kept else ''}")


if __name__ == "__main__":
    main()
