"""What a kill leaves in this folder goes at the next start; what ends `make` ends Snakemake and its jobs.

Every Snakemake that reads our rules keeps a lock of the system on one file as long as it lives (`hold`). The system
gives it back whatever way the process ends, so that whoever gets it alone knows that nobody works here: then a lock of
Snakemake's own is one that a killed Snakemake left.
"""

from __future__ import annotations

import fcntl
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from gcexp.errors import UserError
from gcexp.files import remove_half_written, remove_outdated
from gcexp.run import paths

_ALIVE = Path(".snakemake/alive")
_LOCKS = Path(".snakemake/locks")
_KEPT = ("gcexp", "gcexp-reads")  # what is kept in .cache under a digest of what it was made from


def hold() -> IO | None:
    """Say that this process works in the folder until it ends; where no other does, remove Snakemake's lock.

    Returns
    -------
    file or None
        To be kept open; None where nothing can be locked, and nothing was removed.
    """
    try:
        _ALIVE.parent.mkdir(exist_ok=True)
        file = open(_ALIVE, "a")  # its end is that of the process
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(_LOCKS, ignore_errors=True)
        fcntl.flock(file, fcntl.LOCK_SH)
    except OSError:  # a folder that cannot be written, or a file system without locks
        return None
    return file


def tidy() -> None:
    """Remove what killed jobs have half written, and what was kept of options that are no more."""
    remove_half_written(*paths.WRITTEN)
    remove_outdated(".cache", _KEPT)


def refuse_beside_another() -> None:
    """Raise `UserError` where a living Snakemake works in this folder."""
    if not _LOCKS.is_dir() or not any(_LOCKS.iterdir()):
        return
    with open(_ALIVE, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                "a Snakemake works in this folder: wait for its end or stop it, then run make again"
            ) from None


def snakemake(arguments: list[str]) -> int:
    """Exit code of a Snakemake that ends, with all its jobs, when this process is asked to end.

    Snakemake itself would answer SIGTERM by waiting for its running jobs; Ctrl-C in a terminal reaches all of them.
    """
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, lambda *_: None)  # Snakemake has got it, too, and says what there is to say
    process = subprocess.Popen(["snakemake", *arguments])
    try:
        return process.wait()
    except _Ended:
        told: set[int] = set()
        while process.poll() is None:  # until then it may start another job
            told |= _interrupt(process.pid, told)
            time.sleep(0.1)
        return process.returncode


class _Ended(BaseException):
    """Somebody sent SIGTERM."""


def _end(*_) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Ended


def _interrupt(parent: int, told: set[int]) -> set[int]:
    """Interrupt a process and all that it started, but for those who were told before."""
    import psutil

    interrupted = set()
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(parent)
        for one in [first, *first.children(recursive=True)]:
            if one.pid not in told:
                with suppress(psutil.NoSuchProcess):
                    one.send_signal(signal.SIGINT)
                    interrupted.add(one.pid)
    return interrupted


if __name__ == "__main__":
    try:
        refuse_beside_another()
    except UserError as error:
        print(f"gcexp: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(snakemake(sys.argv[1:]))
