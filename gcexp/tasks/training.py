"""Training under given coefficients: one weighted backward pass per iteration, for any code."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import ParameterError, UserError, require
from gcexp.extras import extras
from gcexp.files import written
from gcexp.progress import bar
from gcexp.tasks.base import Optimizer, Problem, ProblemExtras, Task, TaskExtras
from gcexp.tasks.checkpoint import Checkpoint

if TYPE_CHECKING:
    from gcexp.data import Dataset

_SCORE = "score."  # npz names of scores start with this
_STATE = "state."  # those of the optimiser's state at the kept parameters
_STATE_AFTER = "state_after."  # and with which the next iteration began
#: What single precision holds, in which trajectories keep parameters.
_LARGEST = np.finfo(np.float32).max
_RULE = "at_rule."  # and in a checkpoint those of the optimiser's state as it is now
#: What reading a damaged archive raises: of the file, of its directory, of its arrays, and of what these hold.
_DAMAGES = (
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
    *(KeyError, ValueError, TypeError, IndexError, OverflowError, SyntaxError, tokenize.TokenError),
)
_CHUNK_BYTES = 2**20  # that are read at once of an array to compare its checksum


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
        arrays = self.arrays()
        counts = {"seeds": (S,), "steps": (S,), "skipped": (S,), "evaluated": (E,), "verified": (V,)}
        scores = {_SCORE + name: (S, E) for name in self.scores}
        for name, shape in {**counts, **scores}.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
        for name in counts:
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
        """Read what `save` wrote; kept steps stay in the file until they are used.

        Raises
        ------
        UserError
            Where there is no such file, and where it is damaged: every array is held against its checksum.
        """
        try:
            arrays = {}
            with np.load(path) as stored:
                for name in stored.files:
                    if name.startswith(("parameters", _STATE, _STATE_AFTER)):
                        arrays[name] = _mapped(Path(path), f"{name}.npy")
                    else:
                        arrays[name] = stored[name]
            found = cls.from_arrays(arrays)
            found._check()
            return found
        except FileNotFoundError:
            raise UserError(f"the trajectory {path} does not exist; make it first") from None
        except _DAMAGES as error:
            raise UserError(
                f"{path} is damaged, or was not written by this version ({error}); delete it and run again"
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
    """Memory-mapped array of an uncompressed npz file, once its bytes were held against their checksum."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        info = archive.getinfo(member)
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member} is compressed")
        with archive.open(info) as content:
            while content.read(_CHUNK_BYTES):  # raises BadZipFile at the end
                pass
        file.seek(info.header_offset)
        header = file.read(30)  # of the member: its own name and extra field follow
        length_of_name = int.from_bytes(header[26:28], "little")
        length_of_extra = int.from_bytes(header[28:30], "little")
        file.seek(length_of_name + length_of_extra, 1)
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
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
    seeds = np.array(seeds, dtype=np.int64)
    steps = np.array(steps, dtype=np.int64)
    require(
        seeds.ndim == 1 and len(seeds) >= 1 and steps.shape == seeds.shape and bool((steps >= 0).all()),
        f"training takes S >= 1 seeds and a number of steps >= 0 for each, got {seeds.tolist()} and {steps.tolist()}",
    )
    require(
        (coefficients is None) == (pattern is None),
        "training needs both coefficients and pattern, or neither",
    )
    about_task = extras(TaskExtras, task)
    last = steps.max()
    if coefficients is None or pattern is None:
        k = about_task.partitions or 1  # most gradients are the same however the samples are cut
        coefficients = np.ones((1, k))
        pattern = np.zeros((len(seeds), last), dtype=np.int64)
    require(
        len(pattern) == len(seeds) and pattern.shape[1] >= last,
        f"training {len(seeds)} seeds for {last} steps needs a pattern of that size, got shape {pattern.shape}",
    )
    if about_task.together is not None:
        require(
            bool((coefficients == 1).all() and (steps == steps[0]).all()),
            f"{type(task).__name__} trains all seeds together, which needs coefficients of 1 and "
            "the same number of steps for each seed",
        )
    ran = pattern[:, :last][np.arange(last) < steps[:, None]]
    optimizer.check(coefficients[np.unique(ran)])

    given = (task, optimizer, data, seeds, steps, coefficients, pattern, checkpoint, progress)
    if checkpoint is None:
        return _train(*given)
    with checkpoint.held(seeds, steps, coefficients, pattern):
        return _train(*given)


def _train(
    task: Task,
    optimizer: Optimizer,
    data: Dataset,
    seeds: np.ndarray,
    steps: np.ndarray,
    coefficients: np.ndarray,
    pattern: np.ndarray,
    checkpoint: Checkpoint | None,
    progress: bool,
) -> Trajectory:
    """Train one seed after the other, or all in one pass, from where the checkpoint is."""
    together = extras(TaskExtras, task).together
    passes = len(seeds)
    if together is not None:
        passes = 1
        optimizer = _EachSeed(optimizer)
    grids = [np.union1d(np.arange(0, T, task.evaluate_every), T) for T in steps.tolist()]
    saved: dict[str, np.ndarray] = {}
    if checkpoint is not None:
        saved = checkpoint.load() or {}
    first_row = int(saved.get("at_row", 0))
    first_step = int(saved.get("at_step", 0))
    trajectory = None
    if saved:
        trajectory = Trajectory.from_arrays(saved)

    done = int(steps[:first_row].sum()) + first_step
    with bar(int(steps[:passes].sum()), "training", "step", progress, done) as moving:
        for row in range(first_row, passes):
            rows: int | slice = row
            if together is None:
                problem = task.problem(data, int(seeds[row]))
            else:
                problem = together(data, seeds.tolist())
                rows = slice(None)  # what has a row per seed, parameters first, has them all in this one pass
            if first_step:
                model = _Model.saved(saved)
            else:
                model = _Model.initial(problem, optimizer)
            if trajectory is None:
                trajectory = _blank(task, seeds, steps, pattern, grids, model.parameters.shape[-1])
            one_pass = _Pass(problem, optimizer, model, trajectory, rows, grids[row])
            last = int(steps[row])
            for t in range(first_step, last):
                one_pass.keep_what_was_left(t)
                one_pass.score(t)
                one_pass.step(t, coefficients[pattern[row, t]])
                moving.update()
                if checkpoint is not None and checkpoint.due:
                    checkpoint.save(trajectory.arrays() | _place(row, t + 1) | model.arrays())
            one_pass.keep_what_was_left(last)
            one_pass.score(last)
            first_step = 0
            if checkpoint is not None:
                checkpoint.save(trajectory.arrays() | _place(row + 1, 0) | model.arrays())
    assert trajectory is not None, "a training has at least one pass"
    return trajectory


def _place(row: int, step: int) -> dict[str, np.ndarray]:
    """Where a training goes on, as a checkpoint keeps it."""
    return {"at_row": np.array(row), "at_step": np.array(step)}


@dataclass
class _Model:
    """What an update changes.

    Attributes
    ----------
    parameters : ndarray (l,) or (S, l)
    rule : dict of ndarray
        The optimiser's state.
    statistics : tuple of ndarray
        The running statistics of a problem that gathers them, which go with each of its calls; else empty.
    """

    parameters: np.ndarray
    rule: dict[str, np.ndarray]
    statistics: tuple[np.ndarray, ...]

    @classmethod
    def initial(cls, problem: Problem, optimizer: Optimizer) -> _Model:
        """The model before the first update."""
        statistics: tuple[np.ndarray, ...] = ()
        gathered = extras(ProblemExtras, problem).statistics
        if gathered is not None:
            statistics = (gathered(),)
        parameters = problem.initial()
        return cls(parameters, optimizer.init(parameters), statistics)

    @classmethod
    def saved(cls, arrays: dict[str, np.ndarray]) -> _Model:
        """The model of a checkpoint."""
        statistics: tuple[np.ndarray, ...] = ()
        if "at_statistics" in arrays:
            statistics = (arrays["at_statistics"],)
        return cls(arrays["at_parameters"], _named(arrays, _RULE), statistics)

    def arrays(self) -> dict[str, np.ndarray]:
        """The model as a checkpoint keeps it."""
        found = {"at_parameters": self.parameters}
        for name, array in self.rule.items():
            found[_RULE + name] = array
        if self.statistics:
            found["at_statistics"] = self.statistics[0]
        return found


class _Pass:
    """The training of one seed, or of all seeds together: it changes a model, and writes a trajectory.

    `rows` are the rows of the trajectory that it writes, `grid` the iterations that are scored.
    """

    def __init__(
        self,
        problem: Problem,
        optimizer: Optimizer,
        model: _Model,
        trajectory: Trajectory,
        rows: int | slice,
        grid: np.ndarray,
    ):
        self._problem = problem
        self._optimizer = optimizer
        self._model = model
        self._trajectory = trajectory
        self._rows = rows
        columns = np.searchsorted(trajectory.evaluated, grid)
        self._column_of = dict(zip(grid.tolist(), columns.tolist(), strict=True))
        self._kept_at = {t: place for place, t in enumerate(trajectory.verified.tolist())}
        self._score: dict | None = None  # of the model as it is; None after an update

    def keep_what_was_left(self, t: int) -> None:
        """Keep what step t - 1 left, where it is verified: taken now, so that whatever gets lost in between is seen."""
        trajectory = self._trajectory
        rows = self._rows
        left = self._kept_at.get(t - 1)
        if left is not None:
            trajectory.parameters_after[rows, left] = self._model.parameters
            _keep_state(trajectory, trajectory.state_after, rows, left, self._model.rule)

    def score(self, t: int) -> None:
        """Score the model after t updates, if that is asked for."""
        if t not in self._column_of:
            return
        model = self._model
        if self._score is None:
            self._score = self._problem.score(model.parameters, *model.statistics)
        scores = self._trajectory.scores
        for name, value in self._score.items():
            if name not in scores:
                scores[name] = np.full((len(self._trajectory.seeds), len(self._trajectory.evaluated)), np.nan)
            scores[name][self._rows, self._column_of[t]] = value

    def step(self, t: int, c: np.ndarray) -> None:
        """Update the model by the gradient with coefficients c (k,), and keep the step where it is verified."""
        model = self._model
        trajectory = self._trajectory
        rows = self._rows
        kept = self._kept_at.get(t)
        if kept is not None:
            trajectory.parameters[rows, kept] = model.parameters
            _keep_state(trajectory, trajectory.state, rows, kept, model.rule)
        if c.any():
            self._update(t, c)
        else:  # the time passed, the model stays: no momentum, no decay
            trajectory.skipped[rows] += 1

    @np.errstate(
        over="ignore", invalid="ignore"
    )  # of a training that diverges, which is told in one sentence
    def _update(self, t: int, c: np.ndarray) -> None:
        model = self._model
        problem = self._problem
        gradient = problem.gradient(model.parameters, c, t, *model.statistics)
        recovered = problem.recovered_samples(c)
        model.parameters, model.rule = self._optimizer.update(
            gradient, model.rule, model.parameters, problem.n_samples, recovered
        )
        _require_finite(model.parameters, self._trajectory.seeds[self._rows], t)
        self._score = None


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
    finite = np.abs(parameters) <= _LARGEST  # false for NaN, too
    if finite.all():
        return
    is_finite = finite.reshape(-1, finite.shape[-1]).all(1)
    seed = np.atleast_1d(seeds)[is_finite.argmin()]
    raise ParameterError(
        f"training diverged: seed {seed} has parameters that are not finite in single precision after "
        f"iteration {iteration}; a smaller optimizer.learning_rate may help"
    )


class _EachSeed:
    """Apply an update rule to each row of parameters, since a rule may use the whole vector (clipping)."""

    def __init__(self, rule: Optimizer):
        self._rule = rule

    def check(self, coefficients: np.ndarray) -> None:
        self._rule.check(coefficients)

    def init(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        return _stacked([self._rule.init(parameters_of_seed) for parameters_of_seed in parameters])

    def update(self, gradient, state, parameters, n_samples, recovered):
        new_parameters, new_states = [], []
        for i in range(len(parameters)):
            state_of_seed = {name: values[i] for name, values in state.items()}
            updated, updated_state = self._rule.update(
                gradient[i], state_of_seed, parameters[i], n_samples, recovered
            )
            new_parameters.append(updated)
            new_states.append(updated_state)
        return np.stack(new_parameters), _stacked(new_states)


def _stacked(states: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The states of all seeds with a row for each."""
    stacked = {}
    for name in states[0]:
        stacked[name] = np.stack([state[name] for state in states])
    return stacked
