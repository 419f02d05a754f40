"""Checksums of files and records."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from gcexp.errors import DataError


def sha256(path: Path) -> str:
    """Checksum of a file's content."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def checksum(record: dict) -> str:
    """Sha256 of a record's values; its own ``checksum``, and the ``key`` of what it was made from, left out."""
    rest = {key: value for key, value in record.items() if key not in ("checksum", "key")}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def check_digest(path: Path, expected: str, size: int, remedy: str) -> None:
    """Raise unless the file has this checksum, in a sentence that tells the bytes too and ends with a remedy."""
    found = sha256(path)
    if found != expected:
        raise DataError(
            f"{path}: expected sha256 {expected}, found {found} "
            f"({path.stat().st_size} bytes, expected {size}); {remedy}"
        )
