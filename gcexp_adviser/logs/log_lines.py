"""Text logs: lines of words in which numbers have names, as ``[rank3] step 12 took 0.345 s``, or that hold objects."""

from __future__ import annotations

import ast
import json
import re
from functools import lru_cache
from typing import Any

from gcexp_adviser.logs.names import BRACKETS, LABEL, name_of, names_of

_TRIED = 60  # first lines by which a log is recognised
_MOST_WORDS = 5  # of a name
_LONGEST = 2000  # characters of a line of a log; a longer one is no such line, and would take long to search
_PROSE = 3  # lines from which on words are no header
_PAIR = re.compile(r"(?:^|[\s,;{\[(])([A-Za-z_][\w.-]*)=([^\s,;}\])]+)")
#: When a line was written: dates and times of day, which are no numbers with a name.
_WRITTEN = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[T _]?|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?Z?")
#: A name of words, maybe with a unit in brackets, and the number behind it with its unit.
_NAMED = re.compile(
    r"(?P<name>[A-Za-z_µ]+(?:[ ./-][A-Za-z_µ]+)*(?:\s*\([A-Za-zµ]+\))?)"
    r"(?:\s*[:=#]\s*|\s+|-)?\[?"
    r"(?P<number>(?:(?<=[\s:=#\[])[-+])?(?:\d[\d.,]*\d|\d)(?:[eE][-+]?\d+)?)"
    r"(?P<unit>\s?(?:ns|us|µs|ms|s|sec|secs|seconds|min)\b)?"
    r"(?P<rate>\s*/\s*[A-Za-z]+)?"
)
#: A time for each step, which no name stands before: ``439.75 ms/it``.
_PER_STEP = re.compile(r"(?<![\d.])(\d+(?:\.\d*)?)\s*(ns|us|µs|ms|s|sec)/(it|iter|iteration|step|batch)\b")
#: A time between bars or commas, which no name stands before: ``| 439.75 ms |``.
_ALONE = re.compile(r"(?<=[|,])\s*(\d+(?:\.\d*)?)\s?(ns|us|µs|ms|s|sec)\s*(?=[|,]|$)")
#: The rank that mpirun writes before a line, as ``[1,3]<stdout>:``, and a number alone in brackets.
_TAGGED = re.compile(r"\[(?:\d+,)?(\d+)\]<std(?:out|err)>")
_LABEL = re.compile(r"^\s*(\d+):\s")  # srun --label
_IN_BRACKETS = re.compile(r"(?:^|\s)\[(\d+)\]")
#: The pod that kubectl writes before a line, as ``[pod/train-worker-3/pytorch]``, and the service of docker compose.
_POD = re.compile(r"^\s*\[pod/([\w.-]+)/[\w.-]+\]")
_SERVICE = re.compile(r"^\s*([A-Za-z][\w.-]*\d)\s+\|\s")
#: A batch within an epoch, as ``Epoch: [0][ 10/5005]``.
_OF_TOTAL = re.compile(r"[\]\d]\s*\[\s*(\d+)\s*/\s*\d+")
_HOST = re.compile(r"\b(host|hostname|node|worker|client|pod)\s*[:=]\s*([A-Za-z][\w.-]*)")
_WORD = re.compile(r"[A-Za-z_]{2,}")


def pairs_of(text: str) -> tuple[list[dict[str, str]], list[str]]:
    r"""The rows of a log whose lines are made of ``name=value``, and what is told of them; no rows for other text.

    Examples
    --------
    >>> rows, told = pairs_of("started\nstep=0, rank=1, time=0.3s\nstep=0 rank=0 time=0.4s\n")
    >>> rows[0], told
    ({'step': '0', 'rank': '1', 'time': '0.3s'}, ['took name=value in 2 lines; 1 other line was left out'])
    """
    head = first_lines(text)
    if sum(len(_PAIR.findall(line)) > 1 for line in head) <= len(head) / 2:
        return [], []
    rows = []
    others = 0
    for line in text.split("\n"):
        pairs = _PAIR.findall(line)
        if len(pairs) > 1:
            begin = line[: line.index(f"{pairs[0][0]}=")]
            rows.append(_with_worker(dict(pairs), begin))
        else:
            others += bool(line.strip())
    of_steps = [row for row in rows if _has(tuple(row), "iteration")]
    if of_steps:  # other lines are of an evaluation, as "accuracy=0.7 time=12"
        others += len(rows) - len(of_steps)
        rows = of_steps
    return rows, [f"took name=value in {_lines(len(rows))}{_left_out(others)}"]


def objects_of(text: str) -> tuple[list[Any], list[str]]:
    r"""The objects in the lines of a log, of JSON or Python, behind whatever stands before them; none for other text.

    Examples
    --------
    >>> objects_of("INFO:root:{\"step\": 1, \"time\": 0.5}\n{'step': 2, 'time': 0.7}\n")
    ([{'step': 1, 'time': 0.5}, {'step': 2, 'time': 0.7}], ['took the objects in 2 lines'])
    """
    head = first_lines(text)
    if sum(_object_in(line) is not None for line in head) <= len(head) / 2:
        return [], []
    rows = []
    others = 0
    for line in text.split("\n"):
        found = _object_in(line)
        if found is not None:
            rows.append(found)
        else:
            others += bool(line.strip())
    return rows, [f"took the objects in {_lines(len(rows))}{_left_out(others)}"]


def _object_in(line: str) -> dict | None:
    """The object that ends a line, or None."""
    begin = line.find("{")
    text = line[begin:].rstrip()
    if begin < 0 or not text.endswith("}"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return None
    if not isinstance(found, dict) or len(found) < 2:
        return None
    return _with_worker(found, line[:begin])


def _with_worker(row: dict, begin: str) -> dict:
    """A row that says no worker, with the one that the begin of its line says, as ``[rank3]:`` of torchrun."""
    if not begin.strip() or _has(tuple(row), "worker"):
        return row
    of_worker = {}
    for name, number in fields_in(begin).items():
        if name in (BRACKETS, LABEL) or name_of(name).fits("worker"):
            of_worker[name] = number
    return of_worker | row


def cure_of_prose(text: str) -> str:
    """What to do with a log of words, as a sentence goes on; nothing for text that is no such log."""
    head = first_lines(text)
    wordy = [line for line in head if len(_WORD.findall(line)) > 2]
    if len(head) < _PROSE or len(wordy) <= len(head) / 2:
        return ""
    return (
        "; where lines of a log hold the numbers, write these as a table: (echo iteration,worker,time; sed -nE "
        "'s/.*step ([0-9]+).*rank ([0-9]+).* ([0-9.]+) s.*/\\1,\\2,\\3/p' FILE) > table.csv"
    )


def is_log(text: str, needed: tuple[str, ...] = ("iteration", "time")) -> bool:
    """Whether most of the first lines have all that is needed, as numbers with names: an iteration and a time."""
    head = first_lines(text)
    return sum(_is_row(fields_in(line), needed) for line in head) > len(head) / 2


def numbers_of(
    text: str, needed: tuple[str, ...] = ("iteration", "time")
) -> tuple[list[dict[str, str]], list[str]]:
    r"""The rows of a text log, by the names of their numbers, and what is told of them; no rows for other text.

    A row is a line with all that is needed: an iteration and a time.

    Examples
    --------
    >>> rows, told = numbers_of("loading\n[rank3] step 12: loss 0.1, took 0.345 s\n")
    >>> rows, told
    ([{'rank': '3', 'step': '12', 'loss': '0.1', 'took': '0.345 s'}], ['took the named numbers in 1 line; 1 other ...'])
    """
    rows = []
    others = 0
    for line in text.split("\n"):
        fields = fields_in(line)
        if _is_row(fields, needed):
            rows.append(fields)
        else:
            others += bool(line.strip())
    return rows, [f"took the named numbers in {_lines(len(rows))}{_left_out(others)}"]


def fields_in(line: str) -> dict[str, str]:
    """The numbers in a line, by their names, as they are written.

    Examples
    --------
    >>> fields_in("iteration 10/ 1000 | elapsed time per iteration (ms): 345.1 | loss: 9.1")
    {'iteration': '10', 'elapsed time per iteration (ms)': '345.1', 'loss': '9.1'}
    >>> fields_in("app | [0] Finished training it 16/150 of epoch 0, 439.65 ms/it")
    {'brackets': '0', 'it': '16', 'epoch': '0', 'ms_per_it': '439.65'}
    """
    fields: dict[str, str] = {}
    if len(line) > _LONGEST:
        return fields
    for launcher in (_POD, _SERVICE):
        before = launcher.match(line)
        if before:
            fields["pod"] = before[1]
            line = line[before.end() :]
    line = _WRITTEN.sub("  ", line)
    tag = _TAGGED.search(line)
    bracket = _IN_BRACKETS.search(line)
    label = _LABEL.match(line)
    if tag:
        fields["rank"] = tag[1]
    elif bracket:
        fields[BRACKETS] = bracket[1]
    elif label:
        fields[LABEL] = label[1]
    for found in _HOST.finditer(line):
        fields.setdefault(found[1], found[2])
    unnamed = line
    for found in _NAMED.finditer(line):
        unnamed = unnamed.replace(found[0], "|", 1)
        name = _known_end(found["name"])
        if name.split()[-1] == "in" and found["unit"]:  # finished in 0.3 s
            name = "took"
        if name == "default":  # torchrun writes [default3] before the lines of local rank 3
            name = "local_rank"
        if found["rate"] and found["unit"]:
            continue
        fields.setdefault(name, found["number"] + (found["unit"] or ""))
    batch = _OF_TOTAL.search(line)
    if batch:
        fields.setdefault("batch", batch[1])
    for found in _PER_STEP.finditer(line):
        fields.setdefault(f"{found[2]}_per_{found[3]}", found[1])
    alone = _ALONE.findall(unnamed)
    if len(alone) == 1:
        number, unit = alone[0]
        fields.setdefault(unit, number)
    return fields


@lru_cache(maxsize=4096)
def _known_end(name: str) -> str:
    """The longest end of a name that says an iteration, a worker or a time; else the last words."""
    words = re.split(r"[ ]+", name)
    for first in range(max(0, len(words) - _MOST_WORDS), len(words)):
        end = " ".join(words[first:])
        if any(name_of(end).fits(role) for role in ("iteration", "worker", "time")):
            return end
    return " ".join(words[-2:])


def _is_row(fields: dict[str, str], needed: tuple[str, ...] = ("iteration", "time")) -> bool:
    """Whether the numbers of a line have all that is needed among them."""
    names = tuple(fields)
    return all(_has(names, role) for role in needed)


@lru_cache(maxsize=4096)
def _has(names: tuple[str, ...], role: str) -> bool:
    """Whether one of these names may be that of an iteration, a worker or a time."""
    return names_of(names).has(role)


def first_lines(text: str) -> list[str]:
    """The first lines that are not empty."""
    lines = text.split("\n", 2 * _TRIED)[: 2 * _TRIED]
    filled = list(filter(str.strip, lines))
    return filled[:_TRIED]


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _left_out(others: int) -> str:
    """What is told of other lines."""
    if not others:
        return ""
    if others == 1:
        return "; 1 other line was left out"
    return f"; {others} other lines were left out"
