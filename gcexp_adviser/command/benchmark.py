"""``gcexp benchmark``: where redundancy pays on a log of workers' times, and where it cannot: a map."""

from __future__ import annotations

import math
import re
import shlex
import warnings
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcexp.command.arguments import add_folder, keywords
from gcexp.errors import UserError
from gcexp.figures.markdown import escape, grid
from gcexp.files import write_text
from gcexp.run.benchmark_schemes import is_named
from gcexp.schema import typed
from gcexp_adviser.benchmark import COLUMNS, benchmark, verdicts
from gcexp_adviser.diagnosis.check import report
from gcexp_adviser.logs.how import OF_A_LOG

if TYPE_CHECKING:
    import pandas as pd

MARKS = {"wins": "+", "loses": "-", "cannot win": "x"}
LEGEND = (
    "mean duration over that of waiting for all; exact codes against the faster of waiting for all and rebalancing "
    "with the same largest load (loads by the times seen last): + wins, - loses, x cannot win: proven, for every exact "
    "code of these loads and messages (docs/bounds.md); ~ hindsight; a percentage is the share of the gradient that a "
    "scheme uses which drops some of it"
)
DIFFERS = (
    "gcexp advise gives other numbers for the same times: there a message costs 0.001 of a mean iteration "
    "(per_message=0 makes it free), each remedy is learned on one half and judged on the other, only what holds since "
    "the last change of level counts, without single spells, rebalancing goes by mean times, and work in chunks is "
    "tried with 1, 2, 4 and 8 chunks of each share"
)
ASSUMED = (
    "no communication; load law assumed (share phi of the time does not grow with the load), not measured; rebalancing "
    "moves data, which costs nothing here"
)
_MOST_ABOVE = 6  # verdicts above a picture
OF_LOG = ("absent", "timeout", "barrier", *OF_A_LOG)  # keys that say how a log is read
#: Options of a new benchmark, by the name of their argument; None where they are not given.
OPTIONS = ("schemes", "phi", "late", "chunks", "workers", "pricing", "rows", "data_bound")


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a log of workers' times (CSV with iteration, worker, time, and other forms); the name of a bundled "
        "trace, such as pai-job1; or a table of a benchmark, to be shown again",
    )
    parser.add_argument(
        "schemes",
        nargs="*",
        metavar="SCHEME [KEY=VALUE ...]",
        help="further files of the log; names of scheme options with their keys, as cgc s=1,2,3 or frc code.d=3, or "
        "labels (default: conf/benchmark.yaml); and keys of the log: absent=late or absent=skip, timeout=, barrier=no, "
        "columns=, unit=, decimal=, pattern=",
    )
    parser.set_defaults(rest="schemes")
    parser.add_argument(
        "--phi",
        type=float,
        nargs="+",
        help="shares of the time that do not grow with the load (default: 0 0.5 1)",
    )
    parser.add_argument("--late", nargs="+", help="stop, chunk, finish, every (default: stop)")
    parser.add_argument(
        "--chunks", type=int, nargs="+", help="pieces of a share, for --late chunk (default: 8)"
    )
    parser.add_argument("-n", "--workers", type=int, help="only the first ones (default: all)")
    parser.add_argument("--pricing", help="scaled (default), or additive: fixed part from the column compute")
    parser.add_argument(
        "--rows", type=int, nargs="+", help="only these rows, for traces with new workers in each"
    )
    parser.add_argument(
        "--data-bound", action="store_true", default=None, help="times follow the data, not the worker"
    )
    add_folder(parser, "for the map as CSV, Markdown and PNG")


def run(arguments) -> None:
    """The map on the terminal, and in a folder where one is named."""
    given = {}
    for name in OPTIONS:
        value = getattr(arguments, name)
        if value is not None and value != []:
            given[name] = value
    frame = _read_benchmark(arguments.file)
    if frame is None:
        further, of_schemes, of_log = _sorted_words(given.pop("schemes", []))
        sources = [arguments.file, *further]
        frame = _play(sources, given, of_schemes, of_log)
        head = _head(frame)
        print(format_map(frame, head), end="")
        print(f"what to set, in one sentence: {shlex.join(['gcexp', 'advise', *sources, *of_log])}")
    else:
        _refuse_options(arguments.file, given)
        head = f"{arguments.file}: {', '.join(dict.fromkeys(frame['trace']))}"
        print(format_map(frame, head), end="")
    if arguments.folder:
        for path in write(frame, head, arguments.folder):
            print(f"wrote {path}")


def _sorted_words(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Further files of a log, words of schemes, and those that say how a log is read.

    What is called as a scheme is no file.

    >>> _sorted_words(["README.md", "cgc", "s=1", "unit=ms"])
    (['README.md'], ['cgc', 's=1'], ['unit=ms'])
    """
    files, of_schemes, of_log = [], [], []
    for word in words:
        key, _, _ = word.partition("=")
        if key in OF_LOG:
            of_log.append(word)
        elif "=" not in word and Path(word).exists() and not is_named(word):
            files.append(word)
        else:
            of_schemes.append(word)
    return files, of_schemes, of_log


def _play(
    sources: list[str], given: dict[str, Any], of_schemes: list[str], of_log: list[str]
) -> pd.DataFrame:
    """The table of a new benchmark of the files of a log, by its options, its schemes, and how the log is read."""
    options = dict(given)
    schemes = schemes_of_words(of_schemes)
    if schemes:
        options["schemes"] = schemes
    options |= keywords(of_log, report)
    n = options.pop("workers", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the map has them among its notes
        frame = benchmark(sources if len(sources) > 1 else sources[0], n=n, **options)
    frame.attrs["files"] = sources
    return frame


def _refuse_options(file: str, given: dict[str, Any]) -> None:
    """Refuse options of a new benchmark where a finished one is shown again."""
    if not given:
        return
    words = []
    for name in given:
        if name == "schemes":
            words.append("SCHEME")
        else:
            words.append(f"--{name.replace('_', '-')}")
    raise UserError(
        f"{file} is the table of a finished benchmark and is shown as it is; {', '.join(words)} can only be given with "
        "a trace"
    )


def _head(frame: pd.DataFrame) -> str:
    """What was played, in one line."""
    workers = frame["workers"].max()
    learned = "nothing is learned"
    prefix = frame.attrs["prefix"]
    if prefix:
        learned = f"{prefix} before them are learned from"
    return f"{frame['trace'].iloc[0]}: {workers} workers, {frame.attrs['rows']} scored rows, {learned}"


def schemes_of_words(words: list[str]) -> list[str | dict[str, Any]]:
    """Schemes as `benchmark` takes them; a key belongs to the scheme before it, and several values make several.

    >>> schemes_of_words(["cgc", "s=1,2", "cyclic, s = 1"])
    [{'scheme': 'cgc', 's': 1}, {'scheme': 'cgc', 's': 2}, 'cyclic, s = 1']
    """
    named: list[_NamedScheme] = []
    for word in words:
        key, _, values = word.partition("=")
        if not re.match(r"[\w.]+=", word):
            named.append(_NamedScheme(word))
        elif key == "phi":
            raise UserError(f"phi is that of all schemes, and an option: --phi {values.replace(',', ' ')}")
        elif named:
            named[-1].add(word)
        else:
            raise UserError(f"{word} belongs to the scheme before it: name that first, as in cgc {word}")
    found: list[str | dict[str, Any]] = []
    for scheme in named:
        found += scheme.entries()
    return found


@dataclass
class _NamedScheme:
    """A scheme as it is typed, with the values of the keys behind it."""

    name: str
    lists: dict[str, list] = field(default_factory=dict)

    def add(self, word: str) -> None:
        """Take up a word ``KEY=VALUES``."""
        key, _, text = word.partition("=")
        if key in self.lists:
            raise UserError(f"{self.name}: {key} is given twice; several values are written {key}=1,2")
        if text.startswith(("[", "{")):
            self.lists[key] = [typed(text)]
        else:
            self.lists[key] = [typed(value) for value in text.split(",")]

    def entries(self) -> list[str | dict[str, Any]]:
        """The scheme as `benchmark` takes it, once for every combination of the values."""
        if not self.lists:
            return [self.name]
        found: list[str | dict[str, Any]] = []
        for values in product(*self.lists.values()):
            found.append({"scheme": self.name} | dict(zip(self.lists, values, strict=True)))
        return found


def _read_benchmark(file: str) -> pd.DataFrame | None:
    """The table of an earlier benchmark, or of a figure that shows one; None for anything else."""
    from gcexp.figures import read_table

    path = Path(file)
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", errors="replace") as lines:
        columns = lines.readline().strip().split(",")
    if not {"scheme", "ratio", "late", "phi"} <= set(columns):
        return None
    # One of an earlier version may lack columns: they are empty.
    return read_table(path).reindex(columns=list(dict.fromkeys([*columns, *COLUMNS])))


def format_map(frame: pd.DataFrame, head: str) -> str:
    """The verdicts, and the map as aligned text."""
    rows = _align(_map(frame), names=2)
    lines = [*_doubts(frame), head, "", *verdicts(frame), "", *rows, "", *_notes(frame)]
    return "\n".join(lines) + "\n"


def _align(table: list[list[str]], names: int) -> list[str]:
    """The rows of a table as text: so many columns of names, then columns of numbers."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = []
    for row in table:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            if column < names:
                cells.append(cell.ljust(width))
            else:
                cells.append(cell.rjust(width))
        rows.append("  ".join(cells).rstrip())
    return rows


def as_markdown(frame: pd.DataFrame, head: str) -> str:
    """The verdicts, the map and its notes as a page."""
    table = []
    for cells in _map(frame):
        table.append([" ".join(cell.split()) for cell in cells])
    header, *rows = table
    said = _bullets([*_doubts(frame), *verdicts(frame)])
    notes = _bullets(_notes(frame))
    return f"# {escape(head)}\n\n{said}\n{grid(header, rows, right=range(2, len(header)))}\n{notes}"


def _doubts(frame: pd.DataFrame) -> list[str]:
    """What makes the times doubtful, and whether the verdicts depend on missing rows, where there are any."""
    doubts = list(frame.attrs.get("doubts", ()))
    sentence = frame.attrs.get("depends")
    if sentence:
        doubts.append(sentence)
    return doubts


def _bullets(lines: list[str]) -> str:
    """Lines as a list in Markdown."""
    return "".join(f"* {escape(line)}\n" for line in lines)


def _map(frame: pd.DataFrame) -> list[list[str]]:
    """The header and a row for each scheme: its group, its name, and a cell for each phi and value of late."""
    several_late = frame["late"].nunique() > 1 or frame["chunks"].nunique(dropna=False) > 1
    several_traces = frame["trace"].nunique() > 1
    cases: list[str] = []
    cells_of: dict[tuple[str, str], dict[str, str]] = {}
    for row in frame.itertuples():
        case = f"phi {row.phi:g}"
        if several_late:
            case += f" {_late_in_words(row)}"
        if several_traces:
            case += f" {row.trace}"
        if case not in cases:
            cases.append(case)
        cells_of.setdefault((row.group, row.scheme), {})[case] = _cell(row)
    table = [["", "scheme", *cases]]
    for (group, scheme), cells in cells_of.items():
        table.append([group, scheme, *(cells.get(case, "") for case in cases)])
    return table


def _late_in_words(row: Any) -> str:
    """What workers do who are late, with the number of pieces where there are pieces."""
    if row.chunks is None or math.isnan(row.chunks):
        return row.late
    return f"{row.late}({row.chunks:g})"


def _cell(row: Any) -> str:
    """The ratio of a scheme with its mark, and the share of the gradient that it uses where it drops some."""
    if row.hindsight and row.group != "bounds":
        mark = "~"
    else:
        mark = MARKS.get(row.colour, " ")
    digits = ".3f" if row.ratio < 1e4 else ".3g"
    cell = f"{row.ratio:{digits}}{mark}"
    drops_some = row.exact == False  # noqa: E712  # it may be empty
    if drops_some:
        cell += f" {row.used_share:4.0%}"
    return cell


def _notes(frame: pd.DataFrame) -> list[str]:
    """What is said below: how to read it, on what it rests, what the codes are compared with, what is left out."""
    lines = [LEGEND, _assumptions(frame), DIFFERS]
    for reference, rows in frame.dropna(subset="against").groupby("against", sort=False):
        cases = [f"phi {phi:g}" for phi in rows["phi"].unique()]
        lines.append(f"codes are compared with {reference}: {', '.join(cases)}")
    lines += _unused_data(frame)
    lines += frame.attrs.get("notes", ())
    schemes_of: dict[str, list[str]] = {}
    for scheme, reason in frame.attrs.get("left_out", {}).items():
        schemes_of.setdefault(reason, []).append(scheme)
    for reason, schemes in schemes_of.items():
        lines.append(f"left out: {'; '.join(schemes)}: {reason}")
    return lines


def _assumptions(frame: pd.DataFrame) -> str:
    """What the times are, where the trace says it, and what is taken for granted."""
    measures = frame.attrs.get("measures")
    known = "recorded times, replayed"
    if measures:
        known = f"compute times of real workers, replayed ({measures})"
    return f"{known}; {ASSUMED}"


def _unused_data(frame: pd.DataFrame) -> list[str]:
    """Which schemes hardly ever use the data of some workers, a sentence for each."""
    unused = frame.attrs.get("unused")
    if unused is None:  # a table that is shown again says how much is never used, and not whose it is
        unused = dict.fromkeys(frame.loc[frame["never_used"] > 0, "scheme"], "never uses some data")
    return [f"{scheme}: {phrase}" for scheme, phrase in unused.items()]


def write(frame: pd.DataFrame, head: str, folder: Path) -> list[Path]:
    """The table, and the map in Markdown and as a drawing, under a folder."""
    from gcexp.figures import draw, save, write_table

    table = folder / "benchmark.csv"
    page = folder / "benchmark.md"
    drawing = folder / "benchmark.png"
    write_table(frame, table)
    text = as_markdown(frame, head)
    files = frame.attrs.get("files")
    if files:
        command = shlex.join(["gcexp", "advise", *files, "-o", str(folder)])
        text += f"\nWhat to set, in one sentence: [the advice](advice.md), which `{command}` writes.\n"
    write_text(page, text)
    plot = {
        "kind": "function",
        "function": "gcexp_adviser.maps.map_of",
        "height": 0.6 + 0.15 * frame["scheme"].nunique(),
        "width": "single",
    }
    note = (
        f"{_assumptions(frame)}. The darker, the slower. A code with ✓ wins, one with ✗ cannot win (proven for every "
        "exact code of these loads and messages), another one loses, against the faster of waiting for all and "
        "rebalancing with the same largest load. Hatched: hindsight."
    )
    on_data = _unused_data(frame)
    if on_data:
        note += f" Data that are not used: {'; '.join(on_data)}."
    above = [head]
    said = verdicts(frame)
    if len(said) <= _MOST_ABOVE:
        above += said
    save(draw(frame, plot, "\n".join(above), note), [drawing])
    return [table, page, drawing]
