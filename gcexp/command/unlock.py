"""Remove the lock that a killed Snakemake left in this folder, and never one that a living one holds.

Every Snakemake that reads our rules keeps a lock of the system on one file as long as it lives (`hold`). The system
gives it back whatever way the process ends, so that whoever gets it alone knows that nobody works here.
"""

from __future__ import annotations

import fcntl
import shutil
import sys
from pathlib import Path
from typing import IO

from gcexp.errors import UserError

_ALIVE = Path(".snakemake/alive")
_LOCKS = Path(".snakemake/locks")


def hold() -> IO | None:
    """Say that this process works in the folder until it ends; None where nothing can be locked."""
    try:
        _ALIVE.parent.mkdir(exist_ok=True)
        file = open(_ALIVE, "a")  # its end is that of the process
        fcntl.flock(file, fcntl.LOCK_SH)
    except OSError:  # a folder that cannot be written, or a file system without locks
        return None
    return file


def unlock() -> None:
    """Remove Snakemake's lock where no living process holds it.

    Raises
    ------
    UserError
        If a living one does.
    """
    if not _LOCKS.is_dir() or not any(_LOCKS.iterdir()):
        return
    with open(_ALIVE, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                "a Snakemake works in this folder: wait for its end or stop it, then run make again"
            ) from None
        shutil.rmtree(_LOCKS)


if __name__ == "__main__":
    try:
        unlock()
    except UserError as error:
        print(f"gcexp: {error}", file=sys.stderr)
        sys.exit(2)
