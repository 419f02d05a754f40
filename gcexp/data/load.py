"""Load a prepared data set."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from gcexp.data.checksum import check_digest, checksum
from gcexp.errors import DataError, UserError
from gcexp.schema import fill


@dataclass(frozen=True)
class _Record:
    """What the loader needs of a sidecar file."""

    dataset: str
    sha256: str
    bytes: int
    scale: int | None
    classes: int | None
    note: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set in memory.

    Attributes
    ----------
    name : str
        Name of the data set.
    x_train, x_test : ndarray (N, features)
        float32 in [0, 1], C-contiguous; as stored where the data set has no scale.
    y_train, y_test : ndarray (N,)
        int64 labels, 0 to classes - 1; float64 targets where the data set has no classes.
    note : str
        Named on figures where these data stand in for others; empty for a paper's own data.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    note: str


def load(path: str | Path) -> Dataset:
    """Load the array file that `prepare` wrote, after checking it against the checksum in the sidecar.

    >>> from tempfile import TemporaryDirectory
    >>> from gcexp.data.prepare import prepare
    >>> with TemporaryDirectory() as folder:
    ...     record = prepare("digits", f"{folder}/digits.npz")
    ...     data = load(f"{folder}/digits.npz")
    >>> data.x_train.shape, data.x_train.dtype, data.y_test.shape
    ((1497, 64), dtype('float32'), (300,))
    """
    path = Path(path)
    record = _sidecar(path)
    check_digest(path, record.sha256, record.bytes, "delete it and run again to prepare it")
    with np.load(path) as arrays:
        # One split at a time: the bytes of x_train are gone before those of x_test come.
        x_train = _scaled(arrays["x_train"], record.scale)
        x_test = _scaled(arrays["x_test"], record.scale)
        kind = np.float64 if record.classes is None else np.int64
        y_train = arrays["y_train"].astype(kind)
        y_test = arrays["y_test"].astype(kind)
    return Dataset(record.dataset, x_train, y_train, x_test, y_test, record.note)


def _scaled(x: np.ndarray, scale: int | None) -> np.ndarray:
    if scale is None:
        return x
    return np.divide(x, np.float32(scale), dtype=np.float32, order="C")


def _sidecar(path: Path) -> _Record:
    """The record beside an array file; what is wrong with it becomes a sentence with a remedy."""
    sidecar = path.with_suffix(".json")
    if not os.path.exists(path):
        raise DataError(f"{path}: there is no such file; prepare the data set first")
    try:
        return _record(json.loads(sidecar.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise DataError(
            f"{path}: its expected sha256 should stand in {sidecar}, found no such file; delete {path} and run again "
            "to prepare both"
        ) from error
    except (OSError, ValueError, TypeError, UserError) as error:  # ValueError: neither JSON nor UTF-8
        raise DataError(
            f"{sidecar}: expected the record with the sha256 of {path}, found something else ({error}); delete both "
            "and run again to prepare them"
        ) from error


def _record(stored: dict) -> _Record:
    """What the loader needs of a sidecar file, whose own checksum must be right where it has one."""
    names = [field.name for field in fields(_Record)]
    values = {key: value for key, value in dict(stored).items() if key in names}
    record = fill(_Record, values, "its record")
    if record.scale is not None and record.scale < 1:
        raise ValueError(f"scale is {record.scale}")
    if "checksum" in stored and stored["checksum"] != checksum(stored):
        raise ValueError("it was edited: its own checksum differs")
    return record
