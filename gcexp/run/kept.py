"""Results that are kept by what decided them: a job whose result cannot be another one does not make it again.

Snakemake removes the outputs of a job before it starts. What costs more than to look is therefore kept elsewhere too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gcexp.errors import UserError
from gcexp.files import written
from gcexp.run import paths
from gcexp.run.reads import observed, record_of, unchanged, version_of

_WORTH_KEEPING = 0.1  # CPU seconds: what takes less is sooner made again than asked after


def kept(outputs: Sequence[Path], key: Any, make: Callable[[], object]) -> None:
    """Bring `outputs` from where they were kept under `key`, or make them and keep them there: the newest alone.

    Parameters
    ----------
    outputs : sequence of Path
        Files that `make` writes.
    key : plain values
        All that decides them.
    make : callable

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     place = Path(folder, "drawing.txt")
    ...     kept([place], ["table", 1], lambda: place.write_text("drawn"))
    ...     place.unlink()
    ...     kept([place], ["table", 1], lambda: place.write_text("drawn again"))
    ...     place.read_text()
    'drawn'
    """
    digest = digest_of(key)
    names = [Path(paths.KEPT.format(output=output.as_posix().lstrip("/"))) for output in outputs]
    places = [name / f"{digest}{output.suffix}" for name, output in zip(names, outputs, strict=True)]
    if all(place.is_file() for place in places):
        for place, output in zip(places, outputs, strict=True):
            _copy(place, output)
        return
    make()
    for name, place, output in zip(names, places, outputs, strict=True):
        shutil.rmtree(name, ignore_errors=True)
        _copy(output, place)


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
            if unchanged(json.loads(str(stored["reads"]))):
                return {name: stored[name] for name in stored.files if name != "reads"}, place
    began = time.process_time()
    with observed() as reads:
        made = make()
    if time.process_time() - began >= _WORTH_KEEPING:
        place = place or Path(paths.SWEPT.format(point=digest_of(key())))
        with suppress(UserError), written(place) as temporary, open(temporary, "wb") as file:
            np.savez(file, reads=np.array(json.dumps(reads)), **made)  # type: ignore[arg-type]
        return made, place
    return made, None


def forget(place: Path) -> None:
    """Remove what a sweep kept to go on from, with its lock and its record.

    Who waits for that lock then trains anew: to the same bits.
    """
    for file in (*place.parent.glob(f"{place.name}*"), record_of(place)):
        with suppress(OSError):
            file.unlink()


def digest_of(key: Any) -> str:
    """Name of what is kept under a key of plain values."""
    return hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]


def installed(*libraries: str) -> dict[str, str]:
    """Versions of libraries that decide bits."""
    return {name: version_of(name) for name in libraries}


def _copy(source: Path, target: Path) -> None:
    with written(target) as temporary:
        shutil.copyfile(source, temporary)
