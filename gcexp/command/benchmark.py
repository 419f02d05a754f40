"""``gcexp benchmark``: remedies and bounds on a person's own times, as text, Markdown, CSV and a drawing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.benchmarking import Replay, benchmark
from gcexp.figures.markdown import escape, grid
from gcexp.files import written

if TYPE_CHECKING:
    import pandas as pd

MARKS = {"wins": "+", "loses": "-", "cannot win": "x"}
LEGEND = (
    "mean duration over that of waiting for all; exact codes against rebalancing with the same largest load (loads by "
    "the row before): + wins, - loses, x cannot win: proven, for every exact code of these loads and messages "
    "(docs/bounds.md); ~ hindsight"
)
SAID = (
    "compute times of real workers, replayed; no communication; load law assumed (share phi of the time does not grow "
    "with the load), not measured"
)


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="CSV with the columns iteration, worker, time; or a table of a benchmark, to be shown again",
    )
    parser.add_argument(
        "schemes",
        nargs="*",
        metavar="SCHEME",
        help="names of scheme options, or labels (default: conf/benchmark.yaml)",
    )
    parser.add_argument(
        "--phi",
        type=float,
        nargs="+",
        default=[0.0, 0.5, 1.0],
        help="shares of the time that do not grow with the load (default: 0 0.5 1)",
    )
    parser.add_argument(
        "--late", nargs="+", default=["stop"], help="stop, chunk, finish, every (default: stop)"
    )
    parser.add_argument(
        "--chunks", type=int, nargs="+", help="pieces of a share, for --late chunk (default: 8)"
    )
    parser.add_argument("-n", "--workers", type=int, help="only the first ones (default: all)")
    parser.add_argument("--pricing", default="scaled", help="additive: fixed part from the column compute")
    parser.add_argument(
        "--rows", type=int, nargs="+", help="only these rows, for traces with new workers in each"
    )
    parser.add_argument("--data-bound", action="store_true", help="times follow the data, not the worker")
    parser.add_argument("-o", dest="folder", type=Path, help="folder for the map as CSV, Markdown and PNG")


def run(arguments) -> None:
    """The map on the terminal, and in a folder where one is named."""
    if (frame := _table(arguments.file)) is not None:
        _give(frame, f"{arguments.file}: {', '.join(dict.fromkeys(frame['trace']))}", arguments.folder)
        return
    options = {"pricing": arguments.pricing, "rows": arguments.rows, "data_bound": arguments.data_bound}
    trace = {key: value for key, value in options.items() if value}
    replay = Replay.of(arguments.file, 0.0, arguments.workers, **trace)
    frame = benchmark(
        arguments.file,
        arguments.schemes or None,
        arguments.phi,
        late=arguments.late,
        chunks=arguments.chunks,
        n=arguments.workers,
        **trace,
    )
    _give(frame, summary(frame, replay.rows, replay.prefix), arguments.folder)


def _table(file: str) -> pd.DataFrame | None:
    """The table of an earlier benchmark, or of a figure that shows one; None for anything else."""
    from gcexp.figures import read_table

    path = Path(file)
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", errors="replace") as lines:
        columns = lines.readline().strip().split(",")
    return read_table(path) if {"scheme", "ratio", "late", "phi"} <= set(columns) else None


def _give(frame: pd.DataFrame, head: str, folder: Path | None) -> None:
    print(format_map(frame, head), end="")
    if folder:
        for path in write(frame, head, folder):
            print(f"wrote {path}")


def summary(frame: pd.DataFrame, rows: int, prefix: int) -> str:
    """What was played, in a line."""
    first = frame.iloc[0]
    known = f", {prefix} before them are learned from" if prefix else ", nothing is learned"
    return f"{first['trace']}: {frame['workers'].max()} workers, {rows} scored rows{known}"


def format_map(frame: pd.DataFrame, head: str) -> str:
    """The map: a row for each scheme, a column for each phi and value of late."""
    cases, cells = _cells(frame)
    width = max(map(len, cells)) if cells else 0
    columns = [f"phi {phi:g}{late}" for phi, late in cases]
    lines = [head, "", " " * (width + 11) + "".join(f"{name:>{max(9, len(name) + 2)}}" for name in columns)]
    before = None
    for scheme, (group, found) in cells.items():
        shown = group if group != before else ""
        before = group
        texts = (
            f"{found.get(case, ''):>{max(9, len(name) + 2)}}"
            for case, name in zip(cases, columns, strict=True)
        )
        lines.append(f"{shown:9}  {scheme:{width}}{''.join(texts)}".rstrip())
    lines += ["", LEGEND, SAID, *_left_out(frame)]
    return "\n".join(lines) + "\n"


def as_markdown(frame: pd.DataFrame, head: str) -> str:
    """The same as a page."""
    cases, cells = _cells(frame)
    header = ["", "scheme", *(f"φ = {phi:g}{late}" for phi, late in cases)]
    table = [
        [group, scheme, *(found.get(case, "") for case in cases)] for scheme, (group, found) in cells.items()
    ]
    left_out = "".join(f"\n* {escape(line)}" for line in _left_out(frame))
    return (
        f"# {escape(head)}\n\n{escape(LEGEND)}.\n\n{grid(header, table, right=range(2, len(header)))}\n"
        f"{escape(SAID)}.\n{left_out}\n"
    )


def _cells(frame: pd.DataFrame) -> tuple[list[tuple[float, str]], dict[str, tuple[str, dict]]]:
    """Columns of the map in order, and of each scheme its group and cells."""
    several = frame["late"].nunique() > 1 or frame["chunks"].nunique(dropna=False) > 1
    traces = frame["trace"].nunique() > 1
    cases: dict[tuple[float, str], None] = {}
    cells: dict[str, tuple[str, dict]] = {}
    for row in frame.itertuples():
        pieces = f"({row.chunks:g})" if row.chunks == row.chunks and row.chunks is not None else ""
        case = (row.phi, f" {row.late}{pieces}" * several + f" {row.trace}" * traces)
        cases[case] = None
        mark = "~" if row.hindsight and row.group != "bounds" else MARKS.get(row.colour, " ")
        cells.setdefault(row.scheme, (row.group, {}))[1][case] = (
            f"{row.ratio:{'.3f' if row.ratio < 1e4 else '.3g'}}{mark}"
        )
    return list(cases), cells


def _left_out(frame: pd.DataFrame) -> list[str]:
    return [f"left out: {scheme}: {why}" for scheme, why in frame.attrs.get("left_out", {}).items()]


def write(frame: pd.DataFrame, head: str, folder: Path) -> list[Path]:
    """The table, and the map in Markdown and as a drawing, under a folder."""
    from gcexp.figures import draw, save, write_table

    folder.mkdir(parents=True, exist_ok=True)
    table, page, drawing = (folder / f"benchmark.{suffix}" for suffix in ("csv", "md", "png"))
    write_table(frame, table)
    with written(page) as temporary:
        temporary.write_text(as_markdown(frame, head), "utf-8")
    plot = {
        "kind": "function",
        "function": "gcexp.figures.remedies.map_of",
        "height": 0.6 + 0.135 * frame["scheme"].nunique(),
        "width": "single",
    }
    note = (
        f"{SAID}. Green wins, yellow loses, red cannot win (proven for every exact code of these loads and messages) "
        "against rebalancing with the same largest load; hatched: hindsight"
    )
    save(draw(frame, plot, head, note), [drawing])
    return [table, page, drawing]
