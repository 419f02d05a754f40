"""What is said of an error, with which exit code, and where the trace of a defect is kept."""

from __future__ import annotations

import errno
import inspect
import os
import shlex
import sys
import tempfile
import time
import traceback
from pathlib import Path

from gcexp import __version__
from gcexp.errors import DecodingError, Defect, UserError, VerificationError, lacking, no_python

_SHOWN = 4  # calls of a trace


def describe_failure(error: Exception, command: list[str]) -> tuple[str, int]:
    """What is said of an error that a command ended with, and the exit code."""
    for part in (*_parts_of(error), *_parts_of(error.__cause__)):
        place = _place_of(part)
        if place is not None:
            return f"{error} ({type(part).__name__} of your project, {place}, not of gcexp)", 2
    if isinstance(error, UserError):
        return str(error), 2
    if isinstance(error, SyntaxError) and _is_of_a_project(error.filename):
        return no_python(error), 2
    lacked = lacking(error)
    if lacked:
        return lacked, 2
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: {error.strerror}", 2
    if isinstance(error, MemoryError):
        return f"the run does not fit into memory ({error or 'nothing left'})", 2
    by_a_project = _sentence_about_a_project(error)
    if by_a_project is not None:
        return by_a_project, 2
    sentence = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, Defect):
        sentence = f"{type(error).__name__}: {sentence}"
    place = _keep_trace(command)
    return f"{sentence} (a defect of gcexp, not of what you gave: please report it with {place})", 1


def _is_of_a_project(file: str | None) -> bool:
    """Whether a module is a project's own: neither ours nor Python's nor that of an installed library."""
    from gcexp.run.modules import is_own

    if file is None or not is_own(os.path.abspath(file)):
        return False
    beside_us = Path(__file__).resolve().parents[2]
    of_others = Path(file).resolve().parents
    return not any(beside_us / name in of_others for name in ("gcexp_adviser", "gcexp_papers"))


def _parts_of(error: BaseException | None) -> tuple[object, ...]:
    """The code, and the task, whose promise an error says is broken."""
    if isinstance(error, DecodingError):
        return (error.code,)
    if isinstance(error, VerificationError):
        return error.parts
    return ()


def _place_of(part: object) -> str | None:
    """Where the class of a code or a task stands, if that is a project."""
    try:
        file = inspect.getsourcefile(type(part))
        _, line = inspect.getsourcelines(type(part))
    except (OSError, TypeError):
        return None
    if not _is_of_a_project(file):
        return None
    return f"{file}, line {line}"


def _sentence_about_a_project(error: Exception) -> str | None:
    """What is said of an exception that a project's own code raised, or called for; None where it took no part."""
    since_project = []  # the calls from the first one of a project on
    last_of_project = None
    for call in traceback.extract_tb(error.__traceback__):
        if _is_of_a_project(call.filename):
            last_of_project = call
        if last_of_project is not None:
            since_project.append(call)
    if last_of_project is None:
        return None
    sentence = " ".join(str(error).split())
    shown = "".join(traceback.format_list(since_project[-_SHOWN:])).rstrip()
    return (
        f"{last_of_project.filename}, line {last_of_project.lineno}, in {last_of_project.name}: "
        f"{type(error).__name__}: {sentence} (the code of your project, not of gcexp)\n{shown}"
    )


def _keep_trace(command: list[str]) -> str:
    """Where the trace of the exception being handled, and the command, were written."""
    text = f"{shlex.join(command)}\ngcexp {__version__}, Python {sys.version}\n\n{traceback.format_exc()}"
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
