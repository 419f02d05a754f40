"""Write the page of the table of best codes: python docs/best_codes/page.py > docs/best-codes.md."""

from __future__ import annotations

import csv
from fractions import Fraction
from math import comb
from pathlib import Path

from judge import KINDS, bound
from search import Cell, best_circulant, read_table

SEEDS = Path(__file__).with_name("seeds.csv")
TOP = (Path(__file__).with_name("top.txt")).read_text("utf-8")
HEADER = (
    *(
        "n",
        "d",
        "s",
        "no code of mean load d below",
        "nor of largest load d",
        "best circulant",
        "plain",
        "any",
        "uneven",
    ),
    *("optimal", "mean", "no mean below", "seeds"),
)


def seeds_that_find() -> dict[Cell, str]:
    """How many of ten seeds find the plain record, by cell."""
    with SEEDS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        found[Cell(int(row["n"]), int(row["d"]), int(row["s"]), "plain")] = (
            f"{row['found']} of {row['seeds']}"
        )
    return found


def short(number: Fraction) -> str:
    """A fraction with its decimals."""
    if number.denominator > 999:
        return f"{float(number):.4f}"
    return f"{number} = {float(number):.4f}"


def rows_of_table() -> list[tuple[str, ...]]:
    """A row for each n, d and s."""
    table = read_table()
    seeds = seeds_that_find()
    found = []
    for cell, row in table.items():
        if cell.kind != "plain":
            continue
        worst = {}
        optimal = []
        for kind in KINDS:
            worst[kind] = Fraction(table[Cell(cell.n, cell.d, cell.s, kind)]["worst"])
            if worst[kind] == bound(cell.n, cell.d, cell.s, kind):
                optimal.append(kind)
        mean_bound = mean_limit(cell)
        found.append(
            (
                str(cell.n),
                str(cell.d),
                str(cell.s),
                short(bound(cell.n, cell.d, cell.s, "uneven")),
                short(bound(cell.n, cell.d, cell.s, "plain")),
                short(best_circulant(cell).worst),
                *(short(worst[kind]) for kind in KINDS),
                ", ".join(optimal) or "-",
                f"{float(Fraction(row['mean'])):.4f}",
                f"{mean_bound:.4f}",
                seeds.get(cell, ""),
            )
        )
    return found


def mean_limit(cell: Cell) -> float:
    """What no code can beat on the mean: Theorem 6."""
    return comb(cell.n - cell.d, cell.s - cell.d) / comb(cell.n, cell.s)


def constructions() -> list[tuple[str, str]]:
    """Each record's cell and construction, where the kind is plain, or another one is better."""
    table = read_table()
    found = []
    for cell, row in table.items():
        plain = Fraction(table[Cell(cell.n, cell.d, cell.s, "plain")]["worst"])
        if cell.kind == "plain" or Fraction(row["worst"]) < plain:
            found.append((f"{cell.n}, {cell.d}, {cell.s}, {cell.kind}", f"`{row['construction']}`"))
    return found


def grid(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the page."""
    rows = rows_of_table()
    optimal = sum("plain" in row[9] for row in rows)
    any_kind = sum(row[9] != "-" for row in rows)
    print(TOP.format(cells=len(rows), optimal=optimal, any_kind=any_kind))
    print(grid(HEADER, rows))
    print("## Constructions\n")
    print("Records of the kinds *any* and *uneven* are listed where they are better than the plain one.\n")
    print(grid(("n, d, s, kind", "construction"), constructions()), end="")


if __name__ == "__main__":
    main()
