"""Check rows of the table of best codes in exact fractions, without gcexp.

python docs/best_codes/check.py                      all rows of gcexp/codes/best.csv
python docs/best_codes/check.py 10 3 4 plain 'rows 7 b d ...'    a new code: says what it reaches, and prints its row
"""

from __future__ import annotations

import datetime
import sys
from fractions import Fraction

from judge import KINDS, bound, matrix_of, mistake, worst_and_mean
from search import Cell, cell_key, read_table


def wrong_rows() -> list[str]:
    """What is wrong with rows of the table, a sentence each."""
    found = []
    for cell, row in read_table().items():
        B = matrix_of(row["construction"], cell.n)
        reason = mistake(B, cell.n, cell.d, cell.kind)
        if reason is None and worst_and_mean(B, cell.s) != (Fraction(row["worst"]), Fraction(row["mean"])):
            worst, mean = worst_and_mean(B, cell.s)
            reason = f"worst and mean are {worst} and {mean}, the table says {row['worst']} and {row['mean']}"
        if reason is None and Fraction(row["worst"]) < bound(cell.n, cell.d, cell.s, cell.kind):
            reason = "the error is below the bound"
        if reason:
            found.append(f"{cell}: {reason}")
    return found


def check_new(cell: Cell, construction: str, by: str) -> int:
    """Say what a code reaches in a cell, and print the row that it would have; 0 if it is better than the record."""
    B = matrix_of(construction, cell.n)
    reason = mistake(B, cell.n, cell.d, cell.kind)
    if reason:
        print(f"no code of this cell: {reason}")
        return 2
    worst, mean = worst_and_mean(B, cell.s)
    row = read_table().get(cell)
    print(
        f"worst {worst} = {float(worst):.6g}, mean {mean}; no code is below {bound(cell.n, cell.d, cell.s, cell.kind)}"
    )
    if row is not None and (worst, mean) >= (Fraction(row["worst"]), Fraction(row["mean"])):
        print(f"not better than the record: worst {row['worst']}, mean {row['mean']} ({row['construction']})")
        return 1
    today = datetime.date.today().isoformat()
    key = ",".join(map(str, (*cell_key(cell)[:3], cell.kind)))
    quoted = f'"{construction}"' if "," in construction else construction
    print(f"a new record; its row: {key},{quoted},{worst},{mean},{by},{today}")
    return 0


def main() -> int:
    """Check all rows, or a new code."""
    given = sys.argv[1:]
    if not given:
        found = wrong_rows()
        print("\n".join(found) or f"{len(read_table())} rows are right")
        return 1 if found else 0
    if len(given) not in (5, 6) or given[3] not in KINDS:
        print(__doc__)
        return 2
    n, d, s = (int(number) for number in given[:3])
    by = given[5] if len(given) == 6 else "YOUR NAME"
    return check_new(Cell(n, d, s, given[3]), given[4], by)


if __name__ == "__main__":
    sys.exit(main())
