"""``python -m benchmarks [ids...]``: measure and print one table."""

from __future__ import annotations

import os

# Before numpy: the peers ran on one thread.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import importlib
import sys

from benchmarks import MODULES, SLOW
from benchmarks.measure import table
from gcexp.errors import UserError, require_known


def function(id: str):
    """The benchmark of an id."""
    return getattr(importlib.import_module(f"benchmarks.{MODULES[id]}"), id.lower())


def chosen(ids: list[str], slow_too: bool) -> list[str]:
    """The benchmarks to be run, in their order: all of them, those that are named, or all but the slow ones."""
    for id in ids:
        require_known("benchmark", id, MODULES)
    if slow_too:
        return [*MODULES]
    if ids:
        return [id for id in MODULES if id in ids]
    return [id for id in MODULES if id not in SLOW]


def main(argv: list[str] | None = None) -> int:
    """Entry point: exit code 0; 1 where a row is far over its bar (`Row.excess`), 2 for a user's mistake."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time the hot paths of gcexp.")
    names = f"{', '.join(MODULES)}; none: all but {', '.join(SLOW)}"
    parser.add_argument("ids", nargs="*", type=str.upper, metavar="ID", help=names)
    parser.add_argument("--all", action="store_true", help="the slow ones too")
    given = parser.parse_args(argv)
    rows = []
    try:
        for id in chosen(given.ids, given.all):
            print(f"{id} ...", file=sys.stderr, flush=True)
            rows += function(id)()
    except UserError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    print(table(rows))
    over = [row for row in rows if row.excess]
    for row in over:
        print(f"benchmarks: {row.id}, {row.work}: {row.excess}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
