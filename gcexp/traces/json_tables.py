"""Tables in JSON: a row in each line, a list of rows, columns, or rows somewhere within an object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp.traces.names import listed, name_of
from gcexp.traces.tables import MATRIX, Table, of_frame, of_rows, table_in_memory

_BEGINS = 60  # letters of a line in a sentence
_MOST_LEVELS = 5  # of objects in which rows are looked for
_SHOWN = 3  # places in a sentence
_OF_TORCH = ("distributedInfo", "deviceProperties", "schemaVersion")
_SAVED = "to_csv('table.csv', index=False)"


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
    decisions = ["read as JSON"]
    if isinstance(whole, list):
        return _of_rows(whole, place, decisions)
    if not isinstance(whole, dict) or not whole:
        raise DataError(f"{place}: is JSON, but no table ({_WANTED})")
    return _of_object(whole, place, decisions, one_line=len(lines) == 1)


_WANTED = "wanted are rows as objects, rows as lists of times, or columns as lists"


def _json_lines(lines: list[str], place: str) -> tuple[list, list[str]]:
    """The rows in lines of JSON, without a last one that was cut off, and what is told."""
    rows: list[Any] = []
    decisions = ["read as lines of JSON"]
    last = max(number for number, line in enumerate(lines) if line.strip())
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
    if rows and all(isinstance(row, list) for row in rows):
        return table_in_memory(rows, place, [*decisions, MATRIX])
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{place}: is JSON, but no table ({_WANTED})")
    _refuse_events(rows, place)
    exploded = _times_in_lists(rows)
    if exploded:
        rows, name = exploded
        decisions = [*decisions, f"took each number of {name} for the time of an iteration, in their order"]
    try:
        return of_rows(rows, place, decisions)
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{place}: is JSON, but no table ({error})") from None


def _refuse_events(rows: list[dict], place: str) -> None:
    """Raise `DataError` for rows that are events of Spark or of a timeline, with what to type."""
    if any(str(row.get("Event", "")).startswith("SparkListener") for row in rows):
        raise DataError(
            f"{place}: is an event log of Spark; its tasks become a table, with a stage for each iteration, by: python "
            "-c \"import json, pandas as pd; tasks = [row for row in map(json.loads, open('FILE')) if row['Event'] == "
            "'SparkListenerTaskEnd']; table = pd.DataFrame([(t['Stage ID'], t['Task Info']['Executor ID'], "
            "t['Task Metrics']['Executor Run Time'] / 1000) for t in tasks], columns=['iteration', 'worker', 'time']); "
            f"table.groupby(['iteration', 'worker'], as_index=False).sum().{_SAVED}\""
        )
    events = [row for row in rows if "ph" in row and "pid" in row]
    if 2 * len(events) > len(rows):
        raise DataError(
            f"{place}: is a timeline of events, which does not say what an iteration is; the events of one name become "
            "a table by: python -c \"import json, pandas as pd; e = json.load(open('FILE')); e = "
            "pd.DataFrame(e['traceEvents'] if isinstance(e, dict) else e); e = e[e['name'] == 'NAME']; "
            "e['iteration'] = e.groupby(['pid', 'tid']).cumcount(); "
            f"e.rename(columns={{'dur': 'time_us'}})[['iteration', 'pid', 'tid', 'time_us']].{_SAVED}\", and "
            "columns=worker:pid+tid"
        )


def _times_in_lists(rows: list[dict]) -> tuple[list[dict], str] | None:
    """Rows of a worker each, with a list of its times, as rows of one time each, and the name of the list."""
    names = {name for row in rows for name in row}
    if any(name_of(name).fits("iteration") for name in names):
        return None
    if not any(name_of(name).fits("worker") for name in names):
        return None
    timed = []
    for name in sorted(names):
        are_lists = all(isinstance(row.get(name), list) for row in rows)
        if are_lists and name_of(name).base.rstrip("s").endswith(("time", "duration", "latency", "latencie")):
            timed.append(name)
    if len(timed) != 1:
        return None
    found = []
    for row in rows:
        others = {name: value for name, value in row.items() if not isinstance(value, list)}
        for iteration, time in enumerate(row[timed[0]]):
            unit = name_of(timed[0]).unit
            found.append({**others, "iteration": iteration, f"time_{unit}" if unit else "time": time})
    return found, timed[0]


# --- objects ----------------------------------------------------------------------------------------------------------


def _of_object(whole: dict, place: str, decisions: list[str], one_line: bool) -> Table:
    """The table in an object: columns, iterations, or rows within it."""
    import pandas as pd

    if "traceEvents" in whole:
        events = whole["traceEvents"]
        if isinstance(events, list) and not any(key in whole for key in _OF_TORCH):
            _refuse_events([event for event in events if isinstance(event, dict)], place)
        raise DataError(
            f"{place}: is the profiler trace of one rank; name the folder with those of all ranks: gcexp trace import "
            "FOLDER -o clean.csv"
        )
    if one_line and not any(isinstance(value, list | dict) for value in whole.values()):
        return of_rows([whole], place, decisions)  # one line
    if (
        {"columns", "data"} <= set(whole) <= {"columns", "index", "data"}
    ):  # as pandas writes it by orient="split"
        whole = [dict(zip(whole["columns"], row, strict=False)) for row in whole["data"]]
        return _of_rows(whole, place, decisions)
    if all(isinstance(value, list) and not _are_rows(value) for value in whole.values()):
        lengths = {len(value) for value in whole.values()}
        if len(lengths) > 1:
            return _of_frame(
                pd.DataFrame({name: pd.Series(value) for name, value in whole.items()}), place, decisions
            )
        return _of_frame(pd.DataFrame(whole), place, decisions)
    if all(isinstance(value, dict) and _is_flat(value) for value in whole.values()):
        return _of_objects(whole, place, decisions)
    found = dict(_rows_within(whole, "", 0))
    timed = {where: rows for where, rows in found.items() if _are_timed(rows)} or found
    if not timed:
        raise DataError(
            f"{place}: is JSON, but no table ({_WANTED}); it has {listed(whole)}: write its rows as a table: python -c "
            f"\"import json, pandas as pd; pd.DataFrame(json.load(open('FILE'))['NAME']).{_SAVED}\""
        )
    if len(timed) > 1:
        places = list(timed)[:_SHOWN]
        keys = "".join(f"[{key!r}]" for key in places[0].split("."))
        raise DataError(
            f"{place}: is JSON with several lists of rows, {listed(timed)}; write one as a table: python -c "
            f"\"import json, pandas as pd; pd.DataFrame(json.load(open('FILE')){keys}).{_SAVED}\""
        )
    where, rows = next(iter(timed.items()))
    return _of_rows(rows, place, [*decisions, f"took the rows in {where}"])


def _of_frame(frame: Any, place: str, decisions: list[str]) -> Table:
    return of_frame(frame.reset_index(drop=True), place, decisions)


def _of_objects(whole: dict, place: str, decisions: list[str]) -> Table:
    """The table in an object of objects: an iteration in each, or a column in each, as pandas writes it."""
    import pandas as pd

    outer = all(str(name).isdecimal() for name in whole)
    inner = all(str(name).isdecimal() for value in whole.values() for name in value)
    numbers_iterations = any(name_of(name).fits("iteration") for value in whole.values() for name in value)
    if outer and numbers_iterations:
        return of_rows(list(whole.values()), place, decisions)
    if outer and not inner:
        rows = [{"iteration": name, **value} for name, value in whole.items()]
        return of_rows(rows, place, [*decisions, "took the name of each object for its iteration"])
    if inner and not outer:
        frame = pd.DataFrame(whole)
        return _of_frame(frame, place, decisions)
    raise DataError(
        f"{place}: is JSON of objects in objects, of which either may be iterations; write it as a table: python "
        "-c \"import pandas as pd; pd.read_json('FILE', orient='index').to_csv('table.csv', index_label='iteration')\""
        ", without orient where the iterations are the inner ones"
    )


def _rows_within(value: Any, where: str, level: int) -> Iterator[tuple[str, list[dict]]]:
    """Lists of objects within an object, and objects that are alike, by where they stand."""
    if _are_rows(value):
        yield where, value
    elif isinstance(value, dict) and _are_alike(value):
        noun = where.rpartition(".")[2].rstrip("s")
        key = noun if name_of(noun).fits("worker") else "worker"
        yield where or "it", [{key: name, **part} for name, part in value.items()]
    elif isinstance(value, dict) and level < _MOST_LEVELS:
        for name, part in value.items():
            yield from _rows_within(part, f"{where}.{name}" if where else str(name), level + 1)


def _are_alike(value: dict) -> bool:
    """Whether an object holds several objects with the same names, as those of workers."""
    parts = list(value.values())
    if len(parts) < 2 or not all(isinstance(part, dict) and part for part in parts):
        return False
    return all(part.keys() == parts[0].keys() for part in parts)


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(row, dict) for row in value)


def _is_flat(value: dict) -> bool:
    """Whether an object holds no other ones."""
    return not any(isinstance(part, list | dict) for part in value.values())


def _are_timed(rows: list[dict]) -> bool:
    """Whether rows have the time of a worker."""
    names = [name_of(name) for name in rows[0]]
    timed = any(name.fits("time") or name.base.rstrip("s").endswith("_time") for name in names)
    return timed and any(name.fits("worker") for name in names)
