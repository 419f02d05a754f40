"""What was found out before, kept on disk in files whose names say what it depends on."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any


def remembered(key: str, kept: str) -> Any:
    """Value that was kept under `key` in the file named by `kept`, a fresh copy; None if there is none."""
    text = _entries(_file(kept)).get(json.dumps(key))
    return None if text is None else json.loads(text)


def remember(key: str, value: Any, kept: str) -> None:
    """Keep `value` for this and later processes; what JSON cannot give back as it was is not kept."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        return
    if json.loads(text) != value:
        return
    file, spelled = _file(kept), json.dumps(key)
    _entries(file)[spelled] = text
    try:  # one write at the end of the file: processes do not lose each other's entries
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(f"\n{spelled}\t{text}\t{_sum(spelled, text)}\n")
    except OSError:  # a folder that cannot be written: only slow
        pass


@cache
def _entries(file: Path) -> dict[str, str]:
    """Values as they stand in the file, by their keys as they stand there; a damaged line is none."""
    try:
        lines = file.read_text("utf-8", errors="replace").split("\n")
    except OSError:
        return {}
    parts = (line.split("\t") for line in lines)
    return {part[0]: part[1] for part in parts if len(part) == 3 and part[2] == _sum(*part[:2])}


def _sum(key: str, text: str) -> str:
    return hashlib.sha256(f"{key}\t{text}".encode()).hexdigest()[:12]


def _file(kept: str) -> Path:
    return Path(".cache").absolute() / f"gcexp-{kept}.txt"
