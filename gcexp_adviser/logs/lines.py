"""Logs whose lines are no table: ``name=value``, lines that a regular expression reads, and those that are refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from gcexp.errors import DataError, ParameterError
from gcexp.schema import quoted
from gcexp_adviser.logs.names import SYNONYMS, names_of
from gcexp_adviser.logs.recipes import LAUNCHER, PREFIXED_JSON, WORDS, see

_TRIED = 60  # first lines by which a log is recognised
_OF_SENTENCE = 4  # words from which on they are a sentence, and no name of a column
_BEGINS = 60  # letters of a line in a sentence
_PAIR = re.compile(r'(?:^|[\s,;{\[(])([A-Za-z_][\w.-]*)=("[^"]*"|(?:[^\s,;}\])]|,(?=\d))+)')
_OBJECT = re.compile(r"[^,;\t{]*\{.*\}")
_MARKUP = re.compile(r"\s*<(!doctype|\?xml|html|table|svg)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_]{2,}")


def of_pattern(text: str, pattern: str, place: str) -> tuple[list[dict[str, str]], str]:
    r"""The rows of a log in whose lines a regular expression is found, by its named groups, and what is told of them.

    Raises
    ------
    ParameterError
        Where no line fits.

    Examples
    --------
    >>> of_pattern("begin\nstep 3 took 5 ms\n", r"step (?P<step>\d+) took (?P<time_ms>\d+)", "mine.log")
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


def has_pairs(text: str) -> bool:
    """Whether most of the first lines are made of ``name=value``."""
    return _most(text, lambda line: len(_PAIR.findall(line)) > 1)


def of_pairs(text: str, place: str) -> tuple[list[dict[str, str]], str]:
    r"""The rows of a log whose lines are made of ``name=value``, and what is told of them.

    Where some rows have an iteration, those without one are left out, as the lines of an evaluation.

    Raises
    ------
    DataError
        Where an iteration, a worker or a time stands twice in a line.

    Examples
    --------
    >>> rows, told = of_pairs("started\nstep=0, rank=1, time=0.3s\nstep=0 rank=0 time=0.4s\n", "mine.log")
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
        rows.append(row)
    names = {tuple(row) for row in rows}
    with_step = {of_row for of_row in names if names_of(of_row).has("iteration")}
    if with_step:
        of_steps = [row for row in rows if tuple(row) in with_step]
        others += len(rows) - len(of_steps)
        rows = of_steps
    return rows, _told("name=value", len(rows), others)


def _refuse_repeated(pairs: list[tuple[str, str]], line: str, place: str) -> None:
    """Raise `DataError` where a name that says what a column is stands twice in a line."""
    written = [name for name, _ in pairs]
    for name in written:
        if written.count(name) > 1 and names_of([name]).has("iteration", "worker", "time", "start", "end"):
            raise DataError(f"{place}: {name} stands twice in the line {quoted(line, _BEGINS)}; {see(WORDS)}")


def refuse_markup_and_objects(text: str, place: str) -> None:
    """Raise `DataError` for HTML, and for a log in whose lines objects stand behind other words, with the cure."""
    if _MARKUP.match(text):
        raise DataError(f"{place}: is HTML or XML; save its table as CSV first, as by pandas.read_html")
    if _most(text, lambda line: bool(_OBJECT.fullmatch(line.strip()))):
        raise DataError(f"{place}: is no JSON, though its lines hold objects; {see(PREFIXED_JSON)}")


def refuse_words(text: str, place: str) -> None:
    """Raise `DataError` for a log of words, of which some stand in half of its lines, with the recipe for it."""
    lines_of: Counter[str] = Counter()
    head = _first_lines(text)
    for line in head:
        lines_of.update(set(_WORD.findall(line)))
    ((_, most),) = lines_of.most_common(1) or [("", 0)]
    if most > 1 and most >= len(head) / 2:
        raise DataError(sentence_of_words(place))


def refuse_preamble(text: str, place: str) -> None:
    """Raise `DataError` for a log whose first line is no header, but a sentence or a rule."""
    (first, *_) = [*_first_lines(text), ""]
    cells = re.split(r"[,;|\t]", first)
    words = max(len(cell.split()) for cell in cells)
    is_sentence = words >= _OF_SENTENCE or (len(cells) == 1 and (words > 1 or not re.search(r"\w", first)))
    if first and is_sentence and not names_of(cells).has(*SYNONYMS):
        raise DataError(sentence_of_words(place))


def sentence_of_words(place: str) -> str:
    """What to do about a log of words."""
    return (
        f"{place}: is a log of words, which pattern= with named groups reads; {see(WORDS)}, and {LAUNCHER!r}"
    )


def _most(text: str, holds: Callable[[str], bool]) -> bool:
    """Whether something holds of more than half of the first lines."""
    head = _first_lines(text)
    return sum(map(holds, head)) > len(head) / 2


def _first_lines(text: str) -> list[str]:
    """The first lines that are not empty."""
    lines = text.split("\n", 2 * _TRIED)[: 2 * _TRIED]
    return [line for line in lines if line.strip()][:_TRIED]


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
