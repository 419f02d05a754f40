"""What a sweep goes on from when it was interrupted: columns of clocks that took time, and states of trainings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gcexp.errors import UserError
from gcexp.files import written
from gcexp.run import paths
from gcexp.run.dependencies import digest_of
from gcexp.run.records import changes, observed

_WORTH_KEEPING = 0.1  # CPU seconds: what takes less is sooner made again than asked after


def arrays_kept(
    key: Callable[[], Any], make: Callable[[], dict[str, np.ndarray]]
) -> tuple[dict[str, np.ndarray], Path | None]:
    """Arrays of one point of a sweep, from where an earlier call kept them under `key`; else made, and kept if slow.

    What was kept counts as long as all that `make` read is as it was. A folder that cannot be written keeps nothing,
    and where nothing is kept nobody asks for the key, for which the library's own texts are read.

    Returns
    -------
    arrays : dict
    place : Path or None
        Where they are kept; the sweep that needs them no more calls `forget`.

    Examples
    --------
    >>> arrays_kept(lambda: ["quick"], lambda: {"seed": np.arange(2)})
    ({'seed': array([0, 1])}, None)
    """
    place = None
    if Path(paths.SWEPT).parent.is_dir():
        place = Path(paths.SWEPT.format(point=digest_of(key())))
        with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile), np.load(place) as stored:
            if not changes(json.loads(str(stored["record"]))):
                return {name: stored[name] for name in stored.files if name != "record"}, place
    began = time.process_time()
    with observed() as seen:
        made = make()
    if time.process_time() - began >= _WORTH_KEEPING:
        place = place or Path(paths.SWEPT.format(point=digest_of(key())))
        with suppress(UserError), written(place) as temporary, open(temporary, "wb") as file:
            np.savez(file, record=np.array(json.dumps(seen.record())), **made)  # type: ignore[arg-type]
        return made, place
    return made, None


def forget(place: Path) -> None:
    """Remove what a sweep kept to go on from, with its lock.

    Who waits for that lock then trains anew: to the same bits.
    """
    for file in place.parent.glob(f"{place.name}*"):
        with suppress(OSError):
            file.unlink()
