"""Tables in JSON: a row in each line, or a list of rows; what is nested deeper is refused with a recipe."""

from __future__ import annotations

import json
import re
from typing import Any

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.names import listed
from gcexp_adviser.logs.recipes import EVENTS, NESTED_JSON, see
from gcexp_adviser.logs.tables import MATRIX, Table, of_array, of_rows

_BEGINS = 60  # letters of a line in a sentence
_WANTED = "wanted is an object for each row, in lines or in a list, or a list of lists of times"
_JSON = re.compile(r'\s*(\{\s*["}]|\[\s*[\[{])')
_EVENT = {"ph", "pid", "ts"}  # of a timeline


def of_json(text: str, place: str) -> Table | None:
    """The table in JSON; None for text that only begins like JSON, as ``[rank0] ...``.

    Raises
    ------
    DataError
        For JSON that is damaged or holds no table.
    """
    if not _JSON.match(text):
        return None
    try:
        whole = json.loads(text)
    except RecursionError:
        raise DataError(f"{place}: is JSON of too many levels") from None
    except ValueError:
        rows, decisions = _json_lines(text, place)
        return _of_rows(rows, place, decisions)
    if isinstance(whole, list):
        return _of_rows(whole, place, ["took the file for JSON"])
    _refuse_object(whole, text, place)
    return of_rows([whole], place, ["took the file for a line of JSON"])


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


def _of_rows(rows: list, place: str, decisions: list[str]) -> Table:
    """The table in a list of rows: of objects, or of lists of times."""
    if rows and all(isinstance(row, list) for row in rows):
        return of_array(rows, place, [*decisions, MATRIX])
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{place}: is JSON, but no table ({_WANTED}); {see(NESTED_JSON)}")
    if rows[0].keys() >= _EVENT:
        _refuse_events(place)
    return of_rows(rows, place, decisions)


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
