"""Tables in JSON: a row in each line, a list of rows, columns, or rows somewhere within an object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.names import Names, listed, name_of, names_of
from gcexp_adviser.logs.tables import MATRIX, Table, of_frame, of_rows, table_in_memory

_BEGINS = 60  # letters of a line in a sentence
_MOST_LEVELS = 5  # of objects in which rows are looked for
_OF_TORCH = ("distributedInfo", "deviceProperties", "schemaVersion")
_WANTED = "wanted are rows as objects, rows as lists of times, or columns as lists"
#: Commands that write a table of what is none.
_SAVE_PART = (
    "python -c \"import json, pandas as pd; pd.DataFrame(json.load(open('FILE'))PART).to_csv('table.csv', "
    'index=False)"'
)
_SPARK = (
    "python -c \"import json, pandas as pd; tasks = [row for row in map(json.loads, open('FILE')) if row['Event'] == "
    "'SparkListenerTaskEnd']; table = pd.DataFrame([(t['Stage ID'], t['Task Info']['Executor ID'], "
    "t['Task Metrics']['Executor Run Time'] / 1000) for t in tasks], columns=['iteration', 'worker', 'time']); "
    "table.groupby(['iteration', 'worker'], as_index=False).sum().to_csv('table.csv', index=False)\""
)
_PROMETHEUS = (
    "python -c \"import json, pandas as pd; series = json.load(open('FILE'))['data']['result']; "
    "pd.DataFrame({s['metric']['instance']: dict(s['values']) for s in series})"
    ".to_csv('table.csv', index=False)\", and columns=workers:*"
)
_TIMELINE = (
    "python -c \"import json, pandas as pd; e = json.load(open('FILE')); e = pd.DataFrame(e['traceEvents'] "
    "if isinstance(e, dict) else e); e = e[e['name'] == 'NAME']; "
    "e['iteration'] = e.groupby(['pid', 'tid']).cumcount(); e.rename(columns={'dur': 'time_us'})"
    "[['iteration', 'pid', 'tid', 'time_us']].to_csv('table.csv', index=False)\""
)


def of_json(text: str, place: str) -> Table | None:
    """The table in JSON; None for text that only begins like JSON.

    Raises
    ------
    DataError
        For JSON that is damaged or holds no table; the sentence shows what to type.
    """
    lines = text.splitlines()
    first = next(line for line in lines if line.strip())
    try:
        whole: Any = json.loads(text)
    except RecursionError:
        raise DataError(f"{place}: is JSON of too many levels") from None
    except ValueError as error:
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            if re.match(r"\s*\[\s*[^\s\[{\"]", first) or re.match(r"\s*\{\s*'", first):
                return None  # a log whose lines begin with a time or a host in brackets, or are objects of Python
            raise DataError(
                f"{place}: is no JSON ({error}); a log that was cut off ends within its last row"
            ) from None
        rows, decisions = _json_lines(lines, place)
        return _of_rows(rows, place, decisions)
    decisions = ["took the file for JSON"]
    if isinstance(whole, list):
        return _of_rows(whole, place, decisions)
    if not isinstance(whole, dict) or not whole:
        raise DataError(f"{place}: is JSON, but no table ({_WANTED})")
    return _of_object(whole, place, decisions, one_line=len(lines) == 1)


def _json_lines(lines: list[str], place: str) -> tuple[list, list[str]]:
    """The rows in lines of JSON, without a last one that was cut off, and what is told."""
    rows: list[Any] = []
    decisions = ["took the file for lines of JSON"]
    while not lines[-1].strip():
        lines = lines[:-1]
    last = len(lines) - 1
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            shown = quoted(line, _BEGINS)
            if number < last or len(rows) < 1:
                raise DataError(f"{place}: line {number + 1}, {shown}, is no JSON ({error})") from None
            decisions.append(f"left out the last line, {number + 1}: {shown} was cut off")
    return rows, decisions


# --- rows -------------------------------------------------------------------------------------------------------------


def _of_rows(rows: list, place: str, decisions: list[str]) -> Table:
    """The table in a list of rows: of objects, or of lists of times."""
    if _all_are(list, rows):
        return table_in_memory(rows, place, [*decisions, MATRIX])
    if not _all_are(dict, rows):
        raise DataError(f"{place}: is JSON, but no table ({_WANTED})")
    _refuse_events(rows, place)
    parts = _parts_of_workers(rows)
    if parts:
        rows = _one_worker_each(rows, parts)
        decisions = [*decisions, f"took each part of {parts} for the row of a worker"]
    times = _times_in_lists(rows)
    if times:
        rows = _one_time_each(rows, times)
        decisions = [*decisions, f"took each number of {times} for the time of an iteration, in their order"]
    try:
        return of_rows(rows, place, decisions)
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{place}: is JSON, but no table ({error})") from None


def _all_are(kind: type, values: Iterable[Any]) -> bool:
    """Whether there are values, and all are of a kind."""
    values = list(values)
    return bool(values) and all(isinstance(value, kind) for value in values)


def _refuse_events(rows: list[dict], place: str) -> None:
    """Raise `DataError` for rows that are events of Spark or of a timeline, with what to type."""
    of_timeline = 0
    for row in rows:
        if str(row.get("Event", "")).startswith("SparkListener"):
            raise DataError(
                f"{place}: is an event log of Spark; its tasks become a table, with a stage for each iteration, by: "
                f"{_SPARK}"
            )
        of_timeline += "ph" in row and "pid" in row
    if 2 * of_timeline > len(rows):
        raise DataError(
            f"{place}: is a timeline of events, which does not say what an iteration is; the events of one name become "
            f"a table by: {_TIMELINE}, and columns=worker:pid+tid"
        )


def _names_in(rows: list[dict]) -> Names:
    """The names of the cells of all rows."""
    found: dict[str, None] = {}
    for row in rows:
        found.update(dict.fromkeys(row))
    return names_of(found)


def _parts_of_workers(rows: list[dict]) -> str:
    """The name of what holds the rows of workers, where each row is an iteration; empty for other rows.

    These are lists of objects of which each names its worker, or objects that are alike, by the workers' names.
    """
    names = _names_in(rows)
    if not names.has("iteration") or names.has("worker"):
        return ""
    found = []
    for name in names.written:
        parts = [row.get(name) for row in rows]
        if all(_are_of_workers(part, name) for part in parts):
            found.append(name)
    return found[0] if len(found) == 1 else ""


def _are_of_workers(part: Any, name: str) -> bool:
    """Whether a part of a row holds the rows of workers."""
    if isinstance(part, list) and _all_are(dict, part):
        return names_of(part[0]).has("worker")
    if isinstance(part, dict) and _are_alike(part):
        return name_of(name.rstrip("s")).fits("worker")
    return False


def _one_worker_each(rows: list[dict], parts: str) -> list[dict]:
    """Rows of one worker each, from rows of an iteration; their other cells are repeated."""
    found = []
    for row in rows:
        others = {name: cell for name, cell in row.items() if name != parts}
        of_workers = row[parts]
        if isinstance(of_workers, dict):
            of_workers = _of_workers(of_workers, parts)
        for part in of_workers:
            found.append({**others, **part})
    return found


def _times_in_lists(rows: list[dict]) -> str:
    """The name of the lists of times, where each row is of a worker and has one of them; empty for other rows."""
    names = _names_in(rows)
    if names.has("iteration") or not names.has("worker"):
        return ""
    timed = []
    for name in names.items:
        of_times = name.base.rstrip("s").endswith(("time", "duration", "latency", "latencie"))
        if of_times and _all_are(list, [row.get(name.written) for row in rows]):
            timed.append(name.written)
    return timed[0] if len(timed) == 1 else ""


def _one_time_each(rows: list[dict], times: str) -> list[dict]:
    """Rows of one time each, from rows with a list of them; their other cells are repeated."""
    unit = name_of(times).unit
    column = f"time_{unit}" if unit else "time"
    found = []
    for row in rows:
        for iteration, time in enumerate(row[times]):
            cells = {"iteration": iteration, column: time}
            for name, value in row.items():
                if not isinstance(value, list):
                    cells[name] = value
            found.append(cells)
    return found


# --- objects ----------------------------------------------------------------------------------------------------------


def _refuse_prometheus(whole: dict, place: str) -> None:
    """Raise `DataError` for the answer of Prometheus to a query of a range, with what to type."""
    data = whole.get("data")
    if isinstance(data, dict) and data.get("resultType") == "matrix":
        raise DataError(f"{place}: is an answer of Prometheus; it becomes a table by: {_PROMETHEUS}")


def _of_object(whole: dict, place: str, decisions: list[str], one_line: bool) -> Table:
    """The table in an object: columns, iterations, or rows within it."""
    if "traceEvents" in whole:
        _refuse_trace(whole, place)
    _refuse_prometheus(whole, place)
    if one_line and _is_flat(whole):
        return of_rows([whole], place, decisions)
    if (
        {"columns", "data"} <= set(whole) <= {"columns", "index", "data"}
    ):  # as pandas writes it by orient="split"
        rows = []
        for row in whole["data"]:
            rows.append(dict(zip(whole["columns"], row, strict=False)))
        return _of_rows(rows, place, decisions)
    if _all_are(list, whole.values()) and not any(map(_are_rows, whole.values())):
        return _of_columns(whole, place, decisions)
    if _all_are(dict, whole.values()) and all(map(_is_flat, whole.values())):
        return _of_objects(whole, place, decisions)
    return _of_rows_within(whole, place, decisions)


def _refuse_trace(whole: dict, place: str) -> None:
    """Raise `DataError` for the profiler trace of a rank, or a timeline of the same form."""
    events = whole["traceEvents"]
    of_torch = any(key in whole for key in _OF_TORCH)
    if _all_are(dict, events if isinstance(events, list) else []) and not of_torch:
        _refuse_events(events, place)
    raise DataError(
        f"{place}: is the profiler trace of one rank; name the folder with those of all ranks: gcexp trace import "
        "FOLDER -o clean.csv"
    )


def _of_columns(whole: dict, place: str, decisions: list[str]) -> Table:
    """The table in an object of lists, which may be of different lengths."""
    import pandas as pd

    columns = {}
    for name, values in whole.items():
        columns[name] = pd.Series(values)
    return of_frame(pd.DataFrame(columns), place, decisions)


def _of_objects(whole: dict, place: str, decisions: list[str]) -> Table:
    """The table in an object of objects: an iteration in each, or a column in each, as pandas writes it."""
    import pandas as pd

    rows = list(whole.values())
    names = _names_in(rows)
    outer = _are_numbers(whole)
    inner = _are_numbers(names.written)
    if outer and names.has("iteration"):
        return of_rows(rows, place, decisions)
    if outer and not inner:
        numbered = []
        for iteration, row in whole.items():
            numbered.append({"iteration": iteration, **row})
        return of_rows(numbered, place, [*decisions, "took the name of each object for its iteration"])
    if inner and not outer:
        return of_frame(pd.DataFrame(whole).reset_index(drop=True), place, decisions)
    raise DataError(
        f"{place}: is JSON of objects in objects, of which either may be iterations; write it as a table: python -c "
        "\"import pandas as pd; pd.read_json('FILE', orient='index').to_csv('table.csv', index_label='iteration')\""
        ", without orient where the iterations are the inner ones"
    )


def _are_numbers(names: Iterable[Any]) -> bool:
    return all(str(name).isdecimal() for name in names)


def _of_rows_within(whole: dict, place: str, decisions: list[str]) -> Table:
    """The table in the one list of rows that is somewhere in an object, or the one of several that has times."""
    found = dict(_rows_within(whole, "", 0))
    timed = {}
    for where, rows in found.items():
        names = names_of(rows[0])
        has_time = names.has("time") or names.where(lambda name: name.base.rstrip("s").endswith("_time"))
        if has_time and names.has("worker"):
            timed[where] = rows
    if len(found) == 1 and not timed:
        timed = found
    if len(timed) == 1:
        where, rows = next(iter(timed.items()))
        return _of_rows(rows, place, [*decisions, f"took the rows in {where}"])
    lists = timed or found
    if not lists:
        raise DataError(
            f"{place}: is JSON, but no table ({_WANTED}); it has {listed(whole)}: write its rows as a table: "
            + _SAVE_PART.replace("PART", "['NAME']")
        )
    part = "".join(f"[{key!r}]" for key in next(iter(lists)).split("."))
    raise DataError(
        f"{place}: is JSON with several lists of rows, {listed(lists)}; write one as a table: "
        + _SAVE_PART.replace("PART", part)
    )


def _rows_within(value: Any, where: str, level: int) -> Iterator[tuple[str, list[dict]]]:
    """Lists of objects within an object, and objects that are alike, by where they stand."""
    if _are_rows(value):
        yield where, value
    elif isinstance(value, dict) and _are_alike(value):
        yield where or "it", _of_workers(value, where)
    elif isinstance(value, dict) and level < _MOST_LEVELS:
        for name, part in value.items():
            yield from _rows_within(part, f"{where}.{name}" if where else str(name), level + 1)


def _of_workers(value: dict, where: str) -> list[dict]:
    """Objects that are alike as rows, with their names as those of workers."""
    noun = where.rpartition(".")[2].rstrip("s")
    column = noun if name_of(noun).fits("worker") else "worker"
    rows = []
    for name, part in value.items():
        rows.append({column: name, **part})
    return rows


def _are_alike(value: dict) -> bool:
    """Whether an object holds several objects with the same names, as those of workers."""
    parts = list(value.values())
    if len(parts) < 2 or not _all_are(dict, parts) or not parts[0]:
        return False
    return all(part.keys() == parts[0].keys() for part in parts)


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and _all_are(dict, value)


def _is_flat(value: dict) -> bool:
    """Whether an object holds no lists and no other objects."""
    return not any(isinstance(part, list | dict) for part in value.values())
