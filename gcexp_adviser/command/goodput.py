"""``gcexp goodput``: what of a job's wall time is progress where workers fail, with checkpoints, codes and spares."""

from __future__ import annotations

import inspect
import warnings
from math import isinf, isnan
from typing import TYPE_CHECKING, Any

from gcexp.command.arguments import add_folder
from gcexp.errors import UserError
from gcexp.figures import write_table
from gcexp.schema import typed
from gcexp_adviser.command.benchmark import schemes_of_words
from gcexp_adviser.goodput import goodput
from gcexp_adviser.goodput.words import conditions_in_words, rejoin_in_words
from gcexp_adviser.logs.how import OF_A_LOG

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_KEYS = {*inspect.signature(goodput).parameters, *OF_A_LOG} - {"times", "schemes", "progress", "keys"}
_WITH_DOT = ("mtbf.worker", "rejoin.law")
_SHARES = ("slower_steps", "saving", "redo", "lost_work", "restart", "waiting")
LEGEND = (
    "goodput: saved ideal time over wall time, where ideal is a step of all workers, waited for, without failures; "
    "behind it the shares of wall time that are no progress; endured: failures up to and with the fatal one; worker-h: "
    "hours of workers for an hour of ideal progress; ~ approximate: uses only the share of the data that stands in "
    "used"
)


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="[FILE] KEY=VALUE ... [SCHEME [KEY=VALUE ...]]",
        help="a log of workers' times, or n=64 equal workers (delay=NAME: by a law); mtbf= (or mtbf.worker=, or "
        "faults=FILE), restart= and save= in seconds, which have no defaults; phi=, rejoin=, rejoin.law=, redo=, "
        "period=, shape=, domain=, spares= repair=, seed=; then schemes as in gcexp benchmark (default: "
        "conf/benchmark.yaml)",
    )
    parser.set_defaults(rest="words")
    add_folder(parser, "for the table as goodput.csv")


def run(arguments) -> None:
    """The table on the terminal, with the sentence above it, and in a folder where one is named."""
    times, keys, of_schemes = _sorted(arguments.words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        frame = goodput(times, schemes_of_words(of_schemes) or None, **keys)
    print(format_goodputs(frame), end="")
    if arguments.folder:
        path = _write(frame, arguments.folder)
        print(f"wrote {path}")


def _sorted(words: list[str]) -> tuple[str | None, dict[str, Any], list[str]]:
    """The file, the keys of the job, and the words of schemes; a key that is none of the job's is its scheme's.

    >>> _sorted(["mine.csv", "mtbf=3600", "frc", "code.d=2", "save=30"])
    ('mine.csv', {'mtbf': 3600, 'save': 30}, ['frc', 'code.d=2'])
    """
    times = None
    if words and "=" not in words[0]:
        times, *words = words
    keys: dict[str, Any] = {}
    of_schemes = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and (key in _KEYS or key in _WITH_DOT or key.startswith("delay.")):
            if key in keys:
                raise UserError(f"{key} is given twice")
            keys[key] = typed(value)
        else:
            of_schemes.append(word)
    return times, keys, of_schemes


def format_goodputs(frame: pd.DataFrame) -> str:
    """The sentence, and the table as aligned text."""
    conditions = frame.attrs["conditions"]
    lines = [frame.attrs["sentence"], "", f"{frame.attrs['workers']}; {conditions_in_words(conditions)}"]
    for rejoin, rows in frame.groupby("rejoin", sort=False, dropna=False):
        lines += ["", f"dead workers {rejoin_in_words(rejoin)}", *_aligned(rows, frame.attrs["exact"])]
    lines += ["", LEGEND, *frame.attrs["notes"]]
    reasons: dict[str, list[str]] = {}
    for label, reason in frame.attrs["left_out"].items():
        reasons.setdefault(reason, []).append(label)
    lines += [f"left out: {'; '.join(labels)}: {reason}" for reason, labels in reasons.items()]
    return "\n".join(lines) + "\n"


def _aligned(rows: pd.DataFrame, exact: tuple[str, ...]) -> list[str]:
    """A row for each scheme, the largest goodput first."""
    shown = [share for share in _SHARES if (rows[share].abs() > 0).any()]
    with_shares = (rows["used_share"] < 1).any()
    table = [["scheme", "goodput", "period", "step", "endured", *(name.replace("_", " ") for name in shown)]]
    table[0] += ["used"] if with_shares else []
    table[0].append("worker-h")
    if "slower steps" in table[0] and (rows["slower_steps"] < 0).any():
        table[0][table[0].index("slower steps")] = "slower (-: faster) steps"
    for row in rows.sort_values("goodput", ascending=False, kind="stable").to_dict("records"):
        mark = "" if row["scheme"] in exact else "~"
        cells = [f"{row['scheme']}{mark}", f"{row['goodput']:.3f} ± {row['goodput_se']:.3f}"]
        cells += [_seconds(row["period"]), f"{row['step']:.3f}", _number(row["endured"])]
        cells += [f"{100 * row[share]:.1f} %" for share in shown]
        cells += [f"{row['used_share']:.0%}"] if with_shares else []
        cells.append(_number(row["worker_hours"]))
        table.append(cells)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for cells in table:
        first, *others = zip(cells, widths, strict=True)
        lines.append("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]))
    return lines


def _seconds(value: float) -> str:
    """A period, in the largest unit that makes it at least 1."""
    for unit, size in (("d", 86400), ("h", 3600)):
        if value >= 10 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.4g} s"


def _number(value: float) -> str:
    """A number, or a dash where there is no end."""
    return "-" if isinf(value) or isnan(value) else f"{value:.1f}"


def _write(frame: pd.DataFrame, folder: Path) -> Path:
    """The table under a folder."""
    path = folder / "goodput.csv"
    write_table(frame, path)
    return path
