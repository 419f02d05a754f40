"""Checkpoints of interrupted trainings: one file to resume from, and a lock beside it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gcexp.errors import UserError
from gcexp.files import written


class Checkpoint:
    """The last state of a training run, kept after its end.

    It is kept so that a run whose output was lost (Snakemake deletes the output of a job that outlived it) is written
    again without repeating a step.

    Parameters
    ----------
    path : path
        npz file of the state; the lock is ``<path>.lock``.
    config : dict
        What the run depends on besides the arrays given to `held`: task, optimiser, data checksum, version. Plain
        values that JSON can write.
    every : float
        Seconds of wall time between two saves; up to 20 times as many where saving would take over 2 % of the time.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(f"{folder}/run.npz", {"learning_rate": 0.5})
    ...     with checkpoint.held():
    ...         checkpoint.save({"step": np.array(7)})
    ...     with checkpoint.held():
    ...         found = checkpoint.load()
    ...     with Checkpoint(checkpoint.path, {"learning_rate": 0.1}).held() as other:
    ...         stale = other.load()
    >>> found, stale
    ({'step': array(7)}, None)
    """

    def __init__(self, path: Path | str, config: dict, every: float = 15.0):
        self.path = Path(path)
        self.config = config
        self.every = every
        self._stamp = ""
        self._saved_at, self._took = time.monotonic(), 0.0

    @contextmanager
    def held(self, *arrays: np.ndarray) -> Iterator[Checkpoint]:
        """Hold the lock of the run; a second process waits here and then finds the first one's state.

        The state belongs to the `arrays` too (steps, coefficients, pattern).
        """
        self._stamp = stamp(self.config, *arrays)
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            file = open(lock, "a")
        except OSError as error:
            raise UserError(f"cannot write {lock}: {error.strerror or error}") from error
        with file:  # closing the file gives the lock back, and so does the death of the process
            _lock(file, self.path)
            self._saved_at = time.monotonic()
            yield self

    @property
    def due(self) -> bool:
        """Whether the last save is long enough ago."""
        return time.monotonic() - self._saved_at >= max(self.every, min(50 * self._took, 20 * self.every))

    def load(self) -> dict[str, np.ndarray] | None:
        """The saved state, or None if there is no complete one that belongs to this run."""
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                if str(stored["stamp"]) == self._stamp:
                    return {name: stored[name] for name in stored.files if name != "stamp"}
                reason = "it belongs to another configuration"
        except FileNotFoundError:
            return None
        except Exception as error:  # of a damaged file: numpy, zipfile and its codecs raise each their own
            reason = f"it cannot be read ({error})"
        print(f"checkpoint {self.path} is not used: {reason}; training starts over", file=sys.stderr)
        return None

    def save(self, state: dict[str, np.ndarray]) -> None:
        """Replace the saved state."""
        started = time.monotonic()
        with written(self.path) as temporary, open(temporary, "wb") as file:
            np.savez(file, stamp=np.array(self._stamp), **state)  # type: ignore[arg-type]
        self._saved_at = time.monotonic()
        self._took = self._saved_at - started


def stamp(config: dict, *arrays: np.ndarray) -> str:
    """Sha256 of a configuration and of arrays: equal only where the runs are.

    >>> stamp({"a": 1, "b": 2}, np.ones(2)) == stamp({"b": 2, "a": 1}, np.ones(2))
    True
    >>> stamp({}, np.ones(2)) == stamp({}, np.ones((1, 2)))
    False
    """
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for array in map(np.ascontiguousarray, arrays):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array)  # type: ignore[arg-type]
    return digest.hexdigest()


def _lock(file, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another job trains {path}: waiting for it", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        # Some network file systems have no locks. A second trainer wastes time, but every file still appears whole.
        print(f"cannot lock {path} ({error.strerror}): training without a lock", file=sys.stderr, flush=True)
