"""The rows of a text that is not divided into cells: JSON, ``name=value``, or what a pattern finds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from gcexp.errors import DataError, ParameterError
from gcexp.schema import quoted
from gcexp_adviser.logs.contents import Content
from gcexp_adviser.logs.dates import DATE
from gcexp_adviser.logs.names import STAMP, listed, names_of
from gcexp_adviser.logs.recipes import EVENTS, NESTED_JSON, PREFIXED_JSON, WORDS, see
from gcexp_adviser.logs.tables import MATRIX

_BEGINS = 60  # letters of a line in a sentence
_PAIR = re.compile(r'(?:^|[\s,;{\[(])([A-Za-z_][\w.-]*)=("[^"]*"|(?:[^\s,;}\])]|,(?=\d))+)')
_WRITTEN = re.compile(rf"[\s\[(]*({DATE})")
_OBJECT = re.compile(r"[^,;\t{]*\{.*\}")
_MARKUP = re.compile(r"\s*<(!doctype|\?xml|html|table|svg)\b", re.IGNORECASE)
_WANTED = "wanted is an object for each row, in lines or in a list, or a list of lists of times"
_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[{])')  # not [rank0] ...
_EVENT = {"ph", "pid", "ts"}  # of a timeline


def rows_in(content: Content, pattern: str) -> tuple[list, list[str]] | None:
    """The rows of a text and what is told of them; nothing of a text whose lines are divided into cells.

    Parameters
    ----------
    content : Content
    pattern : str
        A regular expression whose named groups are the cells of a line, where a person gave one.

    Returns
    -------
    rows : list of dict or list of list
        Cells that have names, or times of all workers.
    told : list of str
    """
    if pattern:
        rows, taken = _of_pattern(content.lines.decode(), pattern, content.place)
    elif _JSON.match(content.data):
        return _of_json(content.data.decode(), content.place)
    else:
        _refuse_markup_and_objects(content.first_lines, content.place)
        if not _holds_of_most(content.first_lines, _has_pairs):
            return None
        rows, taken = _of_pairs(content.lines.decode(), content.place)
    return rows, [*content.cut, taken]


# --- JSON -------------------------------------------------------------------------------------------------------------


def _of_json(text: str, place: str) -> tuple[list, list[str]]:
    """The rows in JSON: of objects, or of lists of times; raise `DataError` for what is damaged or no table."""
    try:
        whole = json.loads(text)
    except RecursionError:
        raise DataError(f"{place}: is JSON of too many levels") from None
    except ValueError:
        rows, told = _json_lines(text, place)
    else:
        rows, told = whole, ["took the file for JSON"]
        if not isinstance(whole, list):
            _refuse_object(whole, text, place)
            rows, told = [whole], ["took the file for a line of JSON"]
    if rows and all(isinstance(row, list) for row in rows):
        return rows, [*told, MATRIX]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{place}: is JSON, but no table ({_WANTED}); {see(NESTED_JSON)}")
    if rows[0].keys() >= _EVENT:
        _refuse_events(place)
    of_steps = _of_iterations(rows)
    others = len(rows) - len(of_steps)
    if others:
        told.append(f"left out {'1 row' if others == 1 else f'{others} rows'} without an iteration")
    return of_steps, told


def _json_lines(text: str, place: str) -> tuple[list, list[str]]:
    """The rows in lines of JSON, without a last one that was cut off, and what is told."""
    rows: list[Any] = []
    decisions = ["took the file for lines of JSON"]
    lines = text.rstrip().split("\n")
    last = len(lines)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            shown = quoted(line, _BEGINS)
            if number < last or not rows:
                raise DataError(f"{place}: line {number}, {shown}, is no JSON ({error})") from None
            decisions.append(f"left out the last line, {number}: {shown} was cut off")
    return rows, decisions


def _refuse_events(place: str) -> None:
    """Raise `DataError` for a timeline of events."""
    raise DataError(
        f"{place}: is a timeline of events, which does not say what an iteration is; {see(EVENTS)}"
    )


def _refuse_object(whole: dict, text: str, place: str) -> None:
    """Raise `DataError` for an object that is no single row, written in one line."""
    if "traceEvents" in whole:
        if not whole.keys() & {"distributedInfo", "deviceProperties", "schemaVersion"}:
            _refuse_events(place)
        raise DataError(
            f"{place}: is the profiler trace of one rank; name the folder with those of all ranks: gcexp trace import "
            "FOLDER -o clean.csv"
        )
    is_nested = any(isinstance(value, list | dict) for value in whole.values())
    if not whole or is_nested or "\n" in text.strip():
        raise DataError(
            f"{place}: is an object of JSON, but no table ({_WANTED}); it has {listed(whole)}; {see(NESTED_JSON)}"
        )


# --- lines ------------------------------------------------------------------------------------------------------------


def _of_pattern(text: str, pattern: str, place: str) -> tuple[list[dict[str, str]], str]:
    r"""The rows of a log in whose lines a regular expression is found, by its named groups, and what is told of them.

    Raises
    ------
    ParameterError
        Where no line fits.

    Examples
    --------
    >>> _of_pattern("begin\nstep 3 took 5 ms\n", r"step (?P<step>\d+) took (?P<time_ms>\d+)", "mine.log")
    ([{'step': '3', 'time_ms': '5'}], 'took pattern= in 1 line; 1 other line was left out')
    """
    search = re.compile(pattern).search
    rows, others = [], []
    for line in filter(str.strip, text.split("\n")):
        found = search(line)
        if found:
            rows.append(found.groupdict(default=""))
        else:
            others.append(line)
    if not rows:
        first = quoted(others[0], _BEGINS) if others else "nothing"
        raise ParameterError(f"{place}: pattern={pattern} fits no line; the first one is {first}")
    return rows, _told("pattern=", len(rows), len(others))


def _has_pairs(line: str) -> bool:
    """Whether a line is made of ``name=value``."""
    return len(_PAIR.findall(line)) > 1


def _has_object(line: str) -> bool:
    """Whether an object stands in a line, alone or behind other words."""
    return bool(_OBJECT.fullmatch(line.strip()))


def _holds_of_most(lines: list[str], holds: Callable[[str], bool]) -> bool:
    """Whether something holds of more than half of some lines."""
    return sum(map(holds, lines)) > len(lines) / 2


def _of_pairs(text: str, place: str) -> tuple[list[dict[str, str]], str]:
    r"""The rows of a log whose lines are made of ``name=value``, and what is told of them.

    Where some rows have an iteration, those without one are left out, as the lines of an evaluation. A date before the
    names says when the line was written.

    Raises
    ------
    DataError
        Where an iteration, a worker or a time stands twice in a line.

    Examples
    --------
    >>> rows, told = _of_pairs("started\nstep=0, rank=1, time=0.3s\nstep=0 rank=0 time=0.4s\n", "mine.log")
    >>> rows[0], told
    ({'step': '0', 'rank': '1', 'time': '0.3s'}, 'took name=value in 2 lines; 1 other line was left out')
    """
    rows = []
    others = 0
    for line in filter(str.strip, text.split("\n")):
        pairs = _PAIR.findall(line)
        if len(pairs) < 2:
            others += 1
            continue
        row = {name: value.strip('"') for name, value in pairs}
        if len(row) < len(pairs):
            _refuse_repeated(pairs, line, place)
        written = _WRITTEN.match(line)
        if written:
            row.setdefault(STAMP, written[1])
        rows.append(row)
    of_steps = _of_iterations(rows)
    others += len(rows) - len(of_steps)
    return of_steps, _told("name=value", len(of_steps), others)


def _of_iterations(rows: list[dict]) -> list[dict]:
    """The rows that have an iteration by their names, where some have; else all.

    >>> _of_iterations([{"event": "start", "rank": 0}, {"event": "step", "rank": 0, "step": 1}])
    [{'event': 'step', 'rank': 0, 'step': 1}]
    """
    names = {tuple(row) for row in rows}
    with_step = {of_row for of_row in names if names_of(of_row).has("iteration")}
    if not with_step or with_step == names:
        return rows
    return [row for row in rows if tuple(row) in with_step]


def _refuse_repeated(pairs: list[tuple[str, str]], line: str, place: str) -> None:
    """Raise `DataError` where a name that says what a column is stands twice in a line."""
    written = [name for name, _ in pairs]
    for name in written:
        if written.count(name) > 1 and names_of([name]).has("iteration", "worker", "time", "start", "end"):
            raise DataError(f"{place}: {name} stands twice in the line {quoted(line, _BEGINS)}; {see(WORDS)}")


def _refuse_markup_and_objects(lines: list[str], place: str) -> None:
    """Raise `DataError` for HTML, and for a log in whose lines objects stand behind other words, with the cure."""
    if lines and _MARKUP.match(lines[0]):
        raise DataError(f"{place}: is HTML or XML; save its table as CSV first, as by pandas.read_html")
    if _holds_of_most(lines, _has_object):
        raise DataError(f"{place}: is no JSON, though its lines hold objects; {see(PREFIXED_JSON)}")


def _told(what: str, rows: int, others: int) -> str:
    """What is told of the lines that are rows, and of the others."""
    told = f"took {what} in {_lines(rows)}"
    if others:
        verb = "was" if others == 1 else "were"
        told += f"; {_other_lines(others)} {verb} left out"
    return told


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _other_lines(count: int) -> str:
    return "1 other line" if count == 1 else f"{count} other lines"
