"""What is said of an error, with which exit code, and where the trace of a defect is kept."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import tempfile
import time
import traceback
from pathlib import Path

from gcexp import __version__
from gcexp.errors import Defect, UserError, lacking, no_python


def said(error: Exception, given: list[str]) -> tuple[str, int]:
    """What is said of an error, and the exit code."""
    if isinstance(error, UserError):
        return str(error), 2
    if isinstance(error, SyntaxError) and not _ours(error.filename):
        return no_python(error), 2
    if sentence := lacking(error):
        return sentence, 2
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: {error.strerror}", 2
    if isinstance(error, MemoryError):
        return f"the run does not fit into memory ({error or 'nothing left'})", 2
    sentence = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, Defect):
        sentence = f"{type(error).__name__}: {sentence}"
    told = f"a defect of gcexp, not of what you gave: please report it with {_kept_trace(given)}"
    return f"{sentence} ({told})", 1


def _ours(file: str | None) -> bool:
    """Whether a module is the package's own, and its fault ours."""
    return file is None or Path(__file__).resolve().parents[1] in Path(file).resolve().parents


def _kept_trace(given: list[str]) -> str:
    """Where the trace of the exception being handled, and the command, were written."""
    text = f"{shlex.join(['gcexp', *given])}\ngcexp {__version__}, Python {sys.version}\n\n{traceback.format_exc()}"
    name = f"defect-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (Path("logs"), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        except OSError:
            continue
        return str(folder / name)
    traceback.print_exc()
    return "the trace above"
