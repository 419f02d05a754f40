"""What was found out before, kept on disk: what was composed and checked as long as no option file changes, and what
was read in a module (`gcexp.run.source`) as long as its text does not.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.run.options import conf_dir, search_dirs

_MODULES = ("build.py", "cache.py", "compose.py", "options.py", "../schema.py")


def remembered(key: str, kept: str | None = None) -> Any:
    """Value that was kept under `key`, a fresh copy; None if there is none.

    `kept` names the file of what does not depend on option files.
    """
    text = _entries(_file(kept)).get(json.dumps(key))
    try:
        return None if text is None else json.loads(text)
    except ValueError:  # damaged: only slow
        return None


def remember(key: str, value: Any, kept: str | None = None) -> None:
    """Keep `value` for this and later processes; what JSON cannot give back as it was is not kept."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        return
    if json.loads(text) != value:
        return
    file = _file(kept)
    _entries(file)[json.dumps(key)] = text
    try:  # one write at the end of the file: processes do not lose each other's entries
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(f"\n{json.dumps(key)}\t{text}\n")
    except OSError:  # a folder that cannot be written: only slow
        pass


@cache
def _entries(file: Path) -> dict[str, str]:
    """Values as they stand in the file, by their keys as they stand there."""
    try:
        lines = file.read_text("utf-8", errors="replace").split("\n")
    except OSError:
        return {}
    return {key: value for key, tab, value in (line.partition("\t") for line in lines) if tab}


def _file(kept: str | None) -> Path:
    if kept is not None:
        return Path(".cache").absolute() / f"gcexp-{kept}.txt"
    return _file_of(conf_dir(), os.environ.get("GCEXP_SEARCHPATH"))


@cache  # a job does not outlive an edit of its options
def _file_of(*_where) -> Path:
    return Path(".cache").absolute() / f"gcexp-{conf_fingerprint()}.txt"


def conf_fingerprint() -> str:
    """Hash of every option file (figures and presets excepted) and of the modules that read them."""
    digest = hashlib.sha256()
    for name in _MODULES:
        digest.update((Path(__file__).parent / name).read_bytes())
    for folder in search_dirs():
        for where, _, names in sorted(os.walk(folder)):  # every job does it: half the time of pathlib
            inside = os.path.relpath(where, folder)
            if inside.partition(os.sep)[0] == "preset":
                continue
            for name in sorted(name for name in names if name.endswith(".yaml")):
                with open(os.path.join(where, name), "rb") as file:
                    digest.update(f"{inside}/{name}".encode() + file.read())
    return digest.hexdigest()[:16]
