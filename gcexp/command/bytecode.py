"""Compiled modules that a full disk cut short: without help Python would stop at them in every process from then on."""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from types import CodeType

_read = SourceFileLoader.get_code


def mend() -> None:
    """From now on this process removes a compiled module that is damaged, says so, and compiles its text anew.

    For processes that are commands of ours; a library that is imported leaves Python as it is. Damaged are those that
    the marshal format does not allow; what was cut to nothing or within its head Python itself makes anew.
    """
    SourceFileLoader.get_code = _whole  # type: ignore[method-assign, assignment]


def _whole(loader: SourceFileLoader, fullname: str) -> CodeType | None:
    try:
        return _read(loader, fullname)
    except (EOFError, ValueError, TypeError) as error:  # what marshal raises
        compiled = cache_from_source(loader.get_filename(fullname))
        if isinstance(error, UnicodeError) or not os.path.exists(compiled):  # the text itself is no Python
            raise
        os.unlink(compiled)
        print(f"gcexp: {compiled} was damaged ({error}) and is made anew", file=sys.stderr)
        return _read(loader, fullname)
