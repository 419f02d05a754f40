"""Results that are kept by what decided them: a job whose result cannot be another one does not make it again.

Snakemake removes the outputs of a job before it starts. What costs more than to look is therefore kept elsewhere too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gcexp.files import written
from gcexp.run import paths
from gcexp.run.reads import version_of as version


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
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]
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


def installed(*libraries: str) -> dict[str, str]:
    """Versions of libraries that decide bits."""
    return {name: version(name) for name in libraries}


def _copy(source: Path, target: Path) -> None:
    with written(target) as temporary:
        shutil.copyfile(source, temporary)
