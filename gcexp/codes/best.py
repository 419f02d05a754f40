"""The best gradient codes that are known, from a table of constructions.

A *cell* of the table is (n, d, s): n workers and as many partitions, at most d partitions for each worker, one message
each, s stragglers and optimal decoding. A *record* is the code with the least known error at worst. Records are of
three kinds: ``plain`` (all coefficients are 0 or 1), ``any`` (any coefficients) and ``uneven`` (0 or 1, and d is the
mean load). The page docs/best-codes.md shows all of them and says how a better one is sent.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from gcexp.codes.base import Code
from gcexp.errors import ParameterError, require_known
from gcexp.schema import checked
from gcexp.theory.errors import least_worst_error, least_worst_error_of_largest_load

KINDS = ("any", "plain", "uneven")
TABLE = Path(__file__).with_name("best.csv")
_NEAREST = 4  # cells that a refusal names


@dataclass(frozen=True)
class Record:
    """A row of the table.

    Attributes
    ----------
    n, d, s, kind
        Its cell.
    construction : str
        How the encoding is built, see `encoding_of`.
    worst, mean : Fraction
        Largest and mean ||c - 1||^2 / n over all sets of s stragglers.
    by, date : str
        Who found it, and when.
    """

    n: int
    d: int
    s: int
    kind: str
    construction: str
    worst: Fraction
    mean: Fraction
    by: str
    date: str

    @property
    def bound(self) -> Fraction:
        """What no code of this cell and kind can beat at worst."""
        return least_error_of(self.n, self.d, self.s, self.kind)

    @property
    def is_optimal(self) -> bool:
        """Whether no code can be better."""
        return self.worst == self.bound


def least_error_of(n: int, d: int, s: int, kind: str) -> Fraction:
    """What no code of a cell can beat at worst: Theorem 5 of docs/bounds.md, unless loads are uneven Theorem 8 too."""
    of_mean_load = least_worst_error(n, d, s)
    if kind == "uneven":
        return of_mean_load
    return max(of_mean_load, least_worst_error_of_largest_load(n, d, s))


@cache
def records() -> dict[tuple[int, int, int, str], Record]:
    """Every record by its cell and kind.

    Examples
    --------
    >>> record = records()[10, 3, 3, "plain"]
    >>> str(record.worst), record.is_optimal
    ('1/10', True)
    """
    found = {}
    with TABLE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            n, d, s = int(row["n"]), int(row["d"]), int(row["s"])
            worst = Fraction(row["worst"])
            mean = Fraction(row["mean"])
            record = Record(n, d, s, row["kind"], row["construction"], worst, mean, row["by"], row["date"])
            found[n, d, s, record.kind] = record
    return found


def encoding_of(construction: str, n: int) -> np.ndarray:
    """The encoding (n, n) that a construction stands for.

    Parameters
    ----------
    construction : str
        ``circulant 0 1 3``: worker w holds the partitions w, w + 1 and w + 3 (mod n); ``union 3x(0,1) 5x(0,1)``:
        circulant codes of three and of five workers side by side; ``rows 7 b d ...``: a hexadecimal number for each
        worker, whose bit i stands for partition i; ``rows 1,0,-2 ...``: whole numbers, one for each partition.
    n : int
        Workers.

    Examples
    --------
    >>> encoding_of("union 1x(0) 2x(0,1)", 3).tolist()
    [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
    >>> encoding_of("rows 1 6 6", 3).tolist()
    [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
    """
    word, _, rest = construction.partition(" ")
    if word == "circulant":
        return _circulant(n, rest.split())
    if word == "union":
        encoding = np.zeros((n, n), dtype=int)
        first = 0
        for size, offsets in re.findall(r"(\d+)x\(([\d,]+)\)", rest):
            last = first + int(size)
            encoding[first:last, first:last] = _circulant(int(size), offsets.split(","))
            first = last
        return encoding
    return np.array([_row(text, n) for text in rest.split()])


def _circulant(n: int, offsets: list[str]) -> np.ndarray:
    encoding = np.zeros((n, n), dtype=int)
    workers = np.arange(n)
    for offset in offsets:
        encoding[workers, (workers + int(offset)) % n] = 1
    return encoding


def _row(text: str, n: int) -> list[int]:
    if "," in text:
        return [int(entry) for entry in text.split(",")]
    number = int(text, 16)
    return [number >> i & 1 for i in range(n)]


class BestCode(Code):
    r"""The code with the least known error ||c - 1||^2 / n at worst, from the table of best codes.

    Parameters
    ----------
    n : int
        Workers, equal to the number of partitions.
    d : int
        Partitions that each worker holds at most; on the mean for the kind ``uneven``.
    s : int
        Stragglers, for which the code is the best known: d <= s <= n - 2.
    kind : {"plain", "any", "uneven"}
        Encoding entries 0 and 1; any coefficients; 0 and 1 with uneven loads.

    Raises
    ------
    ParameterError
        For a cell that is not in the table; the sentence names the nearest.

    References
    ----------
    docs/best-codes.md; the bounds are Theorems 5 and 8 of docs/bounds.md.

    Examples
    --------
    >>> code = BestCode(n=9, d=3, s=4)
    >>> heard = [[1, 1, 1, 1, 1, 0, 0, 0, 0]]
    >>> bool(code.decode(heard).error[0] <= float(code.record.worst) + 1e-12)
    True
    """

    formulas = {"k": "n", "messages": "1", "length": "1"}
    error_bound = "the least known error at worst (gcexp show code=best)"
    decoding = "the pseudoinverse of what was heard; O(m^2 n)"
    limit = "the cells of docs/best-codes.md: n <= 12"
    source = ("tandon2017", "kadhe2019")
    examples = (
        {"n": 7, "d": 3, "s": 3},
        {"n": 6, "d": 2, "s": 3, "kind": "uneven"},
        {"n": 5, "d": 2, "s": 2, "kind": "any"},
    )

    @checked
    def __init__(self, n: int, d: int, s: int, kind: str = "plain"):
        require_known("kind", kind, KINDS)
        cell = (n, d, s, kind)
        if cell not in records():
            raise ParameterError(_refusal(n, d, s, kind))
        self.record = records()[cell]
        super().__init__(encoding_of(self.record.construction, n), promise="least_squares")
        self.d, self.s, self.kind = d, s, kind

    @property
    def remarks(self) -> dict[str, str]:
        """What ``gcexp show`` says of the record."""
        record = self.record
        known = f"{record.worst} = {float(record.worst):.4g} at worst, {float(record.mean):.4g} on the mean"
        bound = f"no code is below {record.bound} = {float(record.bound):.4g}"
        if record.is_optimal:
            bound += ": it is optimal"
        return {
            "construction": record.construction,
            "error": f"{known} over all sets of {record.s} stragglers",
            "bound": bound,
            "found": f"by {record.by}, {record.date}",
        }


def _refusal(n: int, d: int, s: int, kind: str) -> str:
    """What to say of a cell without a row."""
    if s < d:
        return (
            f"the table of best codes has d <= s, got d={d}, s={s}: cyclic repetition loses nothing there "
            f"(scheme=cyclic_repetition s={s})"
        )
    if s >= n - 1:
        return f"the table of best codes has s <= n - 2, got n={n}, s={s}: with one worker heard the error is 1 - d/n"

    def distance(cell: tuple[int, int, int, str]) -> int:
        return 2 * abs(cell[0] - n) + 2 * abs(cell[1] - d) + abs(cell[2] - s)

    of_kind = [cell for cell in records() if cell[3] == kind]
    nearest = sorted(of_kind, key=distance)[:_NEAREST]
    named = "; ".join(f"n={n} code.d={d} s={s}" for n, d, s, _ in nearest)
    return f"the table of best codes has no row of n={n}, d={d}, s={s}, kind={kind} (the nearest: {named})"
