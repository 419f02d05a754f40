"""All plain codes of up to six workers, up to the order of workers and partitions: is a record the best of them?

python docs/best_codes/enumerate_plain.py        n = 4 to 6, d = 2 to n/2: about a minute
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
from search import Cell, errors, heard_sets, judged, read_table, rows_of

_CLOSE = 1e-6
_CHUNK = 2000


def images(n: int) -> np.ndarray:
    """What each permutation of the partitions makes of each set of partitions, (n!, 2^n): sets are bit masks."""
    masks = np.arange(2**n)
    found = []
    for order in permutations(range(n)):
        image = np.zeros_like(masks)
        for partition, place in enumerate(order):
            image |= (masks >> partition & 1) << place
        found.append(image)
    return np.array(found)


def grown(codes: np.ndarray, sets: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Each code with one more worker, one of each class under permutations of the partitions."""
    classes = set()
    for code in codes:
        for one in sets:
            rows = np.append(code, one)
            classes.add(tuple(min(map(tuple, np.sort(image[:, rows], 1).tolist()))))
    return np.array(sorted(classes))


def best_of_all(n: int, d: int) -> dict[int, tuple[Fraction, int]]:
    """For each s the smallest worst error of all plain codes, and how many codes were tried."""
    masks = np.arange(2**n)
    sets = masks[np.bitwise_count(masks) <= d]
    image = images(n)
    codes = np.zeros((1, 0), dtype=int)
    for _ in range(n - 1):
        codes = grown(codes, sets, image)
    least = dict.fromkeys(range(d, n - 1), (np.inf, None))
    tried = 0
    for code in codes:
        for last in sets:  # the last worker is not reduced to classes: every code is met, some twice
            B = ((np.append(code, last)[:, None] >> np.arange(n)) & 1).astype(float)
            tried += 1
            for s, (worst, _) in least.items():
                found = errors(B, heard_sets(n, s)).max()
                if found < worst - _CLOSE:
                    least[s] = (found, B)
    exact = {}
    for s, (_, B) in least.items():
        exact[s] = (judged(rows_of(B), Cell(n, d, s, "plain")).worst, tried)
    return exact


def main() -> None:
    """Compare all records of up to six workers."""
    table = read_table()
    for n in (4, 5, 6):
        for d in range(2, n // 2 + 1):
            for s, (worst, tried) in best_of_all(n, d).items():
                record = Fraction(table[Cell(n, d, s, "plain")]["worst"])
                verdict = "equal" if record == worst else "NOT EQUAL"
                print(
                    f"n={n} d={d} s={s}: best of {tried} codes {worst}, record {record}: {verdict}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
