"""Training under given coefficients: one weighted backward pass per iteration, for any code."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import ParameterError, UserError, require
from gcexp.extras import extras
from gcexp.files import written
from gcexp.progress import bar
from gcexp.tasks.base import Optimizer, ProblemExtras, Task, TaskExtras
from gcexp.tasks.checkpoint import Checkpoint

if TYPE_CHECKING:
    from gcexp.data import Dataset

_SCORE = "score."  # npz names of scores start with this
_STATE = "state."  # those of the optimiser's state at the kept parameters
_STATE_AFTER = "state_after."  # and with which the next iteration began
_RULE = "at_rule."  # and in a checkpoint those of the optimiser's state as it is now


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The trajectories of S seeds. Each seed is scored and kept on the task's own grid.

    Attributes
    ----------
    seeds : ndarray (S,)
    steps : ndarray (S,)
        Iterations of each seed.
    evaluated : ndarray (E,)
        Iterations with a score: t means after t updates (skipped ones count).
    scores : dict of ndarray (S, E)
        By name; NaN where a seed has no score: beyond its steps, or where only another seed ended.
    verified : ndarray (V,)
        Iterations whose step is kept.
    parameters, parameters_after : ndarray (S, V, l)
        With which these iterations began, and the ones after them; float32, NaN beyond a seed's steps.
    state, state_after : dict of ndarray (S, V, ...)
        The optimiser's state with which they began, by name, in the optimiser's own types.
    skipped : ndarray (S,)
        Iterations that recovered nothing and left the model as it was.
    """

    seeds: np.ndarray
    steps: np.ndarray
    evaluated: np.ndarray
    scores: dict[str, np.ndarray]
    verified: np.ndarray
    parameters: np.ndarray
    parameters_after: np.ndarray
    state: dict[str, np.ndarray]
    state_after: dict[str, np.ndarray]
    skipped: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """All fields as named arrays, scores and the parts of the state one by one."""
        found = {name: getattr(self, name) for name in _plain_fields()}
        for name, values in self.scores.items():
            found[_SCORE + name] = values
        for name, values in self.state.items():
            found[_STATE + name] = values
        for name, values in self.state_after.items():
            found[_STATE_AFTER + name] = values
        return found

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Trajectory:
        """Undo `arrays`; further names are ignored."""
        plain = {name: arrays[name] for name in _plain_fields()}
        return cls(
            **plain,
            scores=_named(arrays, _SCORE),
            state=_named(arrays, _STATE),
            state_after=_named(arrays, _STATE_AFTER),
        )

    def save(self, path: Path | str, **more: np.ndarray) -> None:
        """Write all fields, and `more`, as one npz file."""
        with written(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **self.arrays(), **more)  # type: ignore[arg-type]

    def _check(self) -> None:
        """Raise `ValueError` for arrays that are not a trajectory."""
        S, V, l = self.parameters.shape
        E = len(self.evaluated)
        shapes = {"seeds": (S,), "steps": (S,), "skipped": (S,), "evaluated": (E,), "verified": (V,)}
        arrays = self.arrays()
        for name, shape in (shapes | {_SCORE + name: (S, E) for name in self.scores}).items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
        for name in shapes:
            if arrays[name].dtype.kind not in "iu":
                raise ValueError(f"{name} is of type {arrays[name].dtype}, not whole numbers")
        if self.parameters.dtype.kind != "f":
            raise ValueError(f"parameters are of type {self.parameters.dtype}, not numbers")
        if self.parameters_after.shape != (S, V, l):
            raise ValueError(f"parameters_after has shape {self.parameters_after.shape}, not {(S, V, l)}")
        if self.state.keys() != self.state_after.keys():
            raise ValueError("the optimiser's state is kept at one end of a step only")
        for kept in (self.state, self.state_after):
            for name, values in kept.items():
                if values.shape[:2] != (S, V):
                    raise ValueError(
                        f"{_STATE}{name} has shape {values.shape}, which does not begin with {(S, V)}"
                    )

    @classmethod
    def load(cls, path: Path | str) -> Trajectory:
        """Read what `save` wrote; kept steps stay in the file until they are used."""
        try:
            arrays = {}
            with np.load(path) as stored:
                for name in stored.files:
                    large = name.startswith(("parameters", _STATE, _STATE_AFTER))
                    arrays[name] = _mapped(Path(path), f"{name}.npy") if large else stored[name]
            found = cls.from_arrays(arrays)
            found._check()
            return found
        except FileNotFoundError:
            raise UserError(f"the trajectory {path} does not exist; make it first") from None
        except (OSError, EOFError, KeyError, ValueError, TypeError, IndexError, zipfile.BadZipFile) as error:
            raise UserError(
                f"{path} is not a trajectory written by this version ({error}); delete it and run again"
            ) from error


def _plain_fields() -> list[str]:
    """The fields of a trajectory that are one array each."""
    return [
        field.name for field in fields(Trajectory) if field.name not in ("scores", "state", "state_after")
    ]


def _named(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _mapped(path: Path, member: str) -> np.ndarray:
    """Memory-mapped array of an uncompressed npz file."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        info = archive.getinfo(member)
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member} is compressed")
        file.seek(info.header_offset)
        header = file.read(30)  # of the member: its own name and extra field follow
        file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
        version = np.lib.format.read_magic(file)
        form = np.lib.format
        read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        shape, fortran, dtype = read(file)
        if dtype.hasobject or fortran:
            raise ValueError(f"{member} holds no plain numbers")
        if not np.prod(shape):
            return np.zeros(shape, dtype)
        return np.memmap(path, dtype, "r", file.tell(), shape)


def train(
    task: Task,
    optimizer: Optimizer,
    data: Dataset,
    seeds: Sequence[int],
    steps: Sequence[int],
    coefficients: np.ndarray | None = None,
    pattern: np.ndarray | None = None,
    checkpoint: Checkpoint | None = None,
    progress: bool = True,
) -> Trajectory:
    """Train one model per seed.

    Parameters
    ----------
    task : Task
    optimizer : Optimizer
    data : Dataset
    seeds : sequence of int (S,)
    steps : sequence of int (S,)
        Iterations of each seed.
    coefficients : ndarray (U, k), optional
        Distinct partition coefficients; a row of zeros skips the update. Left out: every gradient is exact.
    pattern : ndarray (S, T), optional
        Row of `coefficients` of each iteration; given together with it.
    checkpoint : Checkpoint, optional
        Saved now and then, after each seed and at the end; a run that finds its own goes on from there, and ends with
        the same bits as one that was never interrupted.
    progress : bool
        Show a progress bar, on a terminal or in a notebook.

    Raises
    ------
    ParameterError
        If the arrays do not fit together, the optimiser refuses the coefficients, or training diverges.
    """
    seeds, steps = np.array(seeds, dtype=np.int64), np.array(steps, dtype=np.int64)
    require(
        seeds.ndim == 1 and len(seeds) >= 1 and steps.shape == seeds.shape and bool((steps >= 0).all()),
        f"training takes S >= 1 seeds and a number of steps >= 0 for each, got {seeds.tolist()} and {steps.tolist()}",
    )
    require(
        (coefficients is None) == (pattern is None),
        "training needs both coefficients and pattern, or neither",
    )
    if coefficients is None:
        k = (
            extras(TaskExtras, task).partitions or 1
        )  # most gradients are the same however the samples are cut
        coefficients, pattern = np.ones((1, k)), np.zeros((len(seeds), steps.max()), dtype=np.int64)
    require(
        len(pattern) == len(seeds) and pattern.shape[1] >= steps.max(),  # type: ignore[arg-type, union-attr]
        f"training {len(seeds)} seeds for {steps.max()} steps needs a pattern of that size, got shape {pattern.shape}",  # type: ignore[union-attr]
    )
    if extras(TaskExtras, task).together is not None:
        require(
            bool((coefficients == 1).all() and (steps == steps[0]).all()),
            f"{type(task).__name__} trains all seeds together, which needs coefficients of 1 and "
            "the same number of steps for each seed",
        )
    ran = pattern[:, : steps.max()][np.arange(steps.max()) < steps[:, None]]  # type: ignore[index]
    optimizer.check(coefficients[np.unique(ran)])

    with checkpoint.held(seeds, steps, coefficients, pattern) if checkpoint else nullcontext():  # type: ignore[arg-type]
        return _train(task, optimizer, data, seeds, steps, coefficients, pattern, checkpoint, progress)


def _train(task, optimizer, data, seeds, steps, coefficients, pattern, checkpoint, progress) -> Trajectory:
    together = extras(TaskExtras, task).together
    if together is not None:
        optimizer = _EachSeed(optimizer)
    grids = [np.union1d(np.arange(0, T, task.evaluate_every), T) for T in steps.tolist()]
    saved = (checkpoint.load() if checkpoint else None) or {}
    trajectory = Trajectory.from_arrays(saved) if saved else None
    first, start = int(saved.get("at_row", 0)), int(saved.get("at_step", 0))

    def save(row: int, t: int) -> None:
        at = {"at_row": np.array(row), "at_step": np.array(t), "at_parameters": parameters}
        for name, array in rule.items():
            at[_RULE + name] = array
        if statistics:
            at["at_statistics"] = statistics[0]
        checkpoint.save(trajectory.arrays() | at)  # type: ignore[union-attr]

    passes = len(seeds) if together is None else 1
    done = int(steps[:first].sum()) + start
    with bar(int(steps[:passes].sum()), "training", "step", progress, done) as moving:
        for row in range(first, passes):
            rows: int | slice = row
            if together is None:
                problem = task.problem(data, int(seeds[row]))
            else:
                problem = together(data, seeds.tolist())
                rows = slice(None)  # what has a row per seed, parameters first, has them all in this one pass
            # Running statistics go with every call of a problem that gathers them, and with no other.
            gathered = extras(ProblemExtras, problem).statistics
            statistics: tuple[np.ndarray, ...] = ()
            if gathered is not None:
                statistics = (saved["at_statistics"] if start else gathered(),)
            if start:
                parameters = saved["at_parameters"]
                rule = _named(saved, _RULE)
            else:
                parameters = problem.initial()
                rule = optimizer.init(parameters)
            if trajectory is None:
                trajectory = _blank(task, seeds, steps, pattern, grids, parameters.shape[-1])
            kept_at = {t: place for place, t in enumerate(trajectory.verified.tolist())}
            column_of = dict(zip(grids[row], np.searchsorted(trajectory.evaluated, grids[row]), strict=True))
            score = None  # of the parameters as they are; None after an update
            for t in range(start, int(steps[row]) + 1):
                # What the step before left is taken from here, so that whatever gets lost in between is seen.
                left = kept_at.get(t - 1)
                if left is not None:
                    trajectory.parameters_after[rows, left] = parameters
                    _keep_state(trajectory, trajectory.state_after, rows, left, rule)
                if t in column_of:
                    score = score or problem.score(parameters, *statistics)
                    for name, value in score.items():
                        blank = np.full((len(seeds), len(trajectory.evaluated)), np.nan)
                        trajectory.scores.setdefault(name, blank)[rows, column_of[t]] = value
                if t == steps[row]:
                    break
                kept = kept_at.get(t)
                if kept is not None:
                    trajectory.parameters[rows, kept] = parameters
                    _keep_state(trajectory, trajectory.state, rows, kept, rule)
                c = coefficients[pattern[row, t]]
                if c.any():
                    gradient = problem.gradient(parameters, c, t, *statistics)
                    recovered = problem.recovered_samples(c)
                    parameters, rule = optimizer.update(
                        gradient, rule, parameters, problem.n_samples, recovered
                    )
                    _require_finite(parameters, seeds[rows], t)
                    score = None
                else:  # the time passed, the model stays: no momentum, no decay
                    trajectory.skipped[row] += 1
                moving.update()
                if checkpoint and checkpoint.due:
                    save(row, t + 1)
            start = 0
            if checkpoint:
                save(row + 1, 0)
    return trajectory  # type: ignore[return-value]


def _blank(
    task: Task, seeds: np.ndarray, steps: np.ndarray, pattern: np.ndarray, grids: list[np.ndarray], l: int
) -> Trajectory:
    """A trajectory before anything was scored or kept, with l parameters."""
    verified = verified_iterations(pattern, steps, task.verify_every)
    parameters = np.full((len(seeds), len(verified), l), np.nan, np.float32)
    return Trajectory(
        seeds,
        steps,
        evaluated=np.unique(np.concatenate(grids)),
        scores={},
        verified=verified,
        parameters=parameters,
        parameters_after=parameters.copy(),
        state={},
        state_after={},
        skipped=np.zeros(len(seeds), np.int64),
    )


def verified_iterations(pattern: np.ndarray, steps: np.ndarray, every: int) -> np.ndarray:
    """Iterations whose step is kept: the first and every so many, and the first where a pattern gives way to another.

    At that one, coefficients that come an iteration late are wrong: delays may persist, so that they are right at most
    iterations.

    >>> verified_iterations(np.array([[0, 0, 0, 1, 1, 1]]), np.array([6]), every=4)
    array([0, 3, 4])
    >>> verified_iterations(np.zeros((1, 6), int), np.array([6]), every=4)
    array([0, 4])
    """
    last = int(steps.max())
    kept = np.arange(0, last, every)
    later = np.arange(1, last)
    changes = (pattern[:, 1:last] != pattern[:, : max(last - 1, 0)]) & (later < steps[:, None])
    return np.union1d(kept, later[changes.any(0)][:1])


def _keep_state(
    trajectory: Trajectory,
    states: dict[str, np.ndarray],
    rows: int | slice,
    kept: int,
    rule: dict[str, np.ndarray],
) -> None:
    """Keep the optimiser's state of one seed, or of all of them where `rows` is a slice, among `states`."""
    for name, array in rule.items():
        values = np.asarray(array)
        shape = values.shape[1:] if isinstance(rows, slice) else values.shape
        if name not in states:
            blank = np.nan if values.dtype.kind == "f" else 0
            seeds_and_steps = trajectory.parameters.shape[:2]
            states[name] = np.full((*seeds_and_steps, *shape), blank, values.dtype)
        place = states[name]
        require(
            place.shape[2:] == shape,
            f"the optimiser's state {name!r} must keep its shape {place.shape[2:]} while it trains, got {shape}",
        )
        place[rows, kept] = values


def _require_finite(parameters: np.ndarray, seeds: np.ndarray, iteration: int) -> None:
    """Raise `ParameterError` that names the first seed whose parameters (l,) or (S, l) are not finite."""
    finite = np.isfinite(parameters)
    if not finite.all():
        finite = finite.reshape(-1, finite.shape[-1]).all(1)
        seed = np.atleast_1d(seeds)[finite.argmin()]
        raise ParameterError(
            f"training diverged: seed {seed} has parameters that are not finite after "
            f"iteration {iteration}; a smaller optimizer.learning_rate may help"
        )


class _EachSeed:
    """Apply an update rule to each row of parameters, since a rule may use the whole vector (clipping)."""

    def __init__(self, rule: Optimizer):
        self._rule = rule

    def init(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        return _stacked([self._rule.init(each) for each in parameters])

    def update(self, gradient, state, parameters, n_samples, recovered):
        states = [{name: values[i] for name, values in state.items()} for i in range(len(parameters))]
        found = [
            self._rule.update(*each, n_samples, recovered)
            for each in zip(gradient, states, parameters, strict=True)
        ]
        return np.stack([new for new, _ in found]), _stacked([new for _, new in found])


def _stacked(states: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.stack([state[name] for state in states]) for name in states[0]}
