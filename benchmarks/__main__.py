"""``python -m benchmarks [ids...]``: measure and print one table."""

from __future__ import annotations

import os

# Before numpy: the peers ran on one thread.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks import REGISTRY, SLOW
from benchmarks.measure import Row, calibration, duration, median_cpu, table
from gcexp.errors import UserError, unknown
from gcexp.files import written


def chosen(ids: list[str], everything: bool = False) -> list[str]:
    """Ids to run, in the registry's order: the named ones, else all but the slow ones.

    Raises
    ------
    UserError
        For an id that is not registered, with the nearest match.
    """
    named = {given.upper() for given in ids}
    for id in named - set(REGISTRY):
        raise UserError(unknown("benchmark", id, REGISTRY))
    return [id for id in REGISTRY if everything or (id in named if named else id not in SLOW)]


def function(id: str) -> Callable[[], list[Row]]:
    """The benchmark of an id."""
    module, _, name = REGISTRY[id].partition(":")
    return getattr(importlib.import_module(module), name)


def main(argv: list[str] | None = None) -> int:
    """Entry point: exit code 0; 1 where a row is far over its bar (`Row.excess`), 2 for a user's mistake."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time the hot paths of gcexp.")
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help=f"{', '.join(REGISTRY)}; none: all but {', '.join(SLOW)}"
    )
    parser.add_argument("--all", action="store_true", help="the slow ones too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    arguments = parser.parse_args(argv)
    try:
        rows = []
        for id in chosen(arguments.ids, arguments.all):
            print(f"{id} ...", file=sys.stderr, flush=True)
            rows += function(id)()
        (seconds,) = median_cpu(calibration, repeats=3)
        print(table(rows))
        print(f"\nHere numpy sorts a million numbers and Python adds up a million in {duration(seconds)}.")
        if arguments.json:
            content = {"calibration": seconds, "rows": [asdict(row) | {"met": row.met} for row in rows]}
            with written(arguments.json) as temporary:
                temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except UserError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    over = [row for row in rows if row.excess]
    for row in over:
        print(f"benchmarks: {row.id}, {row.work}: {row.excess}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
