"""A large JSON object read as a stream: the standard library's parser, on one member or element after the other.

The library ijson does the same in about the same time, but a file of 100 kB that only nests lists made it take all
memory of a machine. Here the limits of the standard parser hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Any

_CHUNK = 2**20  # letters that are read at once
_MOST = 2**26  # letters of a member or element
_BLANKS = re.compile(r"[ \t\n\r]*")


def members(file: IO[str], streamed: str) -> Iterator[tuple[str, Any]]:
    """Members of the object in a file, by key; of the list under `streamed` each element by itself.

    Raises
    ------
    ValueError
        For text that is no JSON object or ends before the object does, and for values of more than 64 million letters.

    Examples
    --------
    >>> from io import StringIO
    >>> list(members(StringIO('{"rank": 3, "events": [1, [2]]}'), "events"))
    [('rank', 3), ('events', 1), ('events', [2])]
    """
    text = _Text(file)
    text.take("{")
    while text.sign() != "}":
        key = text.value()
        text.take(":")
        if key == streamed and text.sign() == "[":
            for element in text.elements():
                yield key, element
        else:
            yield key, text.value()
        if text.sign() != "}":
            text.take(",")


class _Text:
    """A file's text from the place that was reached."""

    def __init__(self, file: IO[str]):
        self._file = file
        self._text = ""
        self._at = 0
        self._decode = json.JSONDecoder().raw_decode

    def sign(self) -> str:
        """The next letter that is not blank."""
        while True:
            self._at = _BLANKS.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                raise ValueError("the end is missing")

    def take(self, sign: str) -> None:
        """Go over a sign that stands here."""
        found = self.sign()
        if found != sign:
            raise ValueError(f"{found!r} stands where {sign!r} belongs")
        self._at += 1

    def value(self) -> Any:
        """Go over a value, and give it."""
        self.sign()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError:
                end = len(self._text)
            if end < len(self._text):  # a number at the end may go on
                self._at = end
                return value
            if len(self._text) - self._at > _MOST:
                raise ValueError("it is no JSON, or a value in it is very large")
            if not self._read_on():
                raise ValueError("a value is damaged or its end is missing")

    def elements(self) -> Iterator[Any]:
        """Go over a list, and give its elements."""
        self.take("[")
        while self.sign() != "]":
            yield self.value()
            if self.sign() != "]":
                self.take(",")
        self.take("]")

    def _read_on(self) -> bool:
        """Read more, each time as much as there is, so that long values are not parsed too often."""
        rest = self._text[self._at :]
        more = self._file.read(max(_CHUNK, len(rest)))
        self._text, self._at = rest + more, 0
        return bool(more)
