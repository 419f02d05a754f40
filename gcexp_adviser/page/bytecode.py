"""Compiled templates, kept where Python keeps its compiled modules: to compile those of an advice takes 0.1 s."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

from jinja2.bccache import Bucket, FileSystemBytecodeCache


class BytecodeBesideModules(FileSystemBytecodeCache):
    """Compiled templates by their text and the versions of Python and Jinja, where Python may keep modules, too.

    Parameters
    ----------
    read_by : path
        The module that says how templates are read, which counts as their text does.
    """

    def __init__(self, read_by: Path) -> None:
        super().__init__(str(Path(cache_from_source(str(read_by))).parent))
        self._reading = read_by.read_text(encoding="utf-8")

    def get_source_checksum(self, source: str) -> str:
        return super().get_source_checksum(self._reading + source)

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):  # nothing is kept that can be read
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):  # a folder in which nobody may write
            super().dump_bytecode(bucket)
