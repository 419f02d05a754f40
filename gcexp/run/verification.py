"""Does a training take the steps that workers and master would take? The true path, replayed on saved parameters.

The one module that knows codes and tasks together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.codes import Code
from gcexp.errors import DecodingError, require
from gcexp.extras import extras
from gcexp.run import paths
from gcexp.tasks import Optimizer, Problem, Task
from gcexp.tasks.base import ProblemExtras
from gcexp.tasks.training import Trajectory
from gcexp.timeline import Timeline

if TYPE_CHECKING:
    from gcexp.data import Dataset

#: Largest errors of what is computed in float64, relative to sqrt(sum_i ||g_i||^2).
BOUNDS = {"decoded_error": 1e-6, "weighted_error": 1e-5}
#: Largest error of a pass in float32, relative to the largest sqrt(sum_i ||g_i||^2) of its seed so far. Rounding alone
#: stays below 1e-5. What decides is a rectified linear unit whose input is within rounding of zero: float32 and float64
#: may see it on different sides, and the gradient of that one sample jumps. In 16 trainings of the tasks on the digits
#: over 2000 iterations (1000 checks) the largest jump was 4e-3. A partition left out is 1 / sqrt(k) of it at the start.
SINGLE = 1e-2
#: Largest distance of a kept step from the optimiser's update, as the error of a gradient that would explain it,
#: relative to the same size as `SINGLE`; see `_Replay._step_errors`. A step that was computed on the same kind of
#: machine has the distance 0, and seeds that were trained together stayed below 1e-4 with every optimiser. A partition
#: left out of the first step is about 1 / sqrt(k), as for `SINGLE`, and a learning rate that is wrong by a tenth is at
#: least .1 there.
STEP = SINGLE
#: Parameters are kept in float32: shares of their length by which a step may differ without a meaning.
_ROUNDING = 4 * float(np.finfo(np.float32).eps)
#: Numbers of a decode at once, and coordinates of a gradient.
_CHUNK_COLUMNS = 2**16
_CHUNK_NUMBERS = 2**24
#: Gradients of all partitions with more bytes are kept in files and mapped.
LARGE = 2**28


def verify_decoding(
    code_of: Callable[[int], Code],
    timeline: Timeline,
    trajectory: Trajectory,
    task: Task,
    optimizer: Optimizer,
    data: Dataset,
    kept: dict[tuple, np.ndarray] | None = None,
) -> dict:
    """Replay the true path wherever a trajectory kept a step within a timeline's steps.

    Partition gradients g_i are computed one by one and encoded in float64, what was not heard is dropped, and the rest
    is decoded anew. That vector must be sum_i c_i g_i with the timeline's coefficients c, and where the code promises
    the whole sum, c must be exactly 1. The weighted pass must be the same sum: in float64 (``weighted_error``), and in
    float32 as training uses it (``rounding_error``).

    The first two errors are relative to sqrt(sum_i ||g_i||^2) and have the bounds `BOUNDS`. The error of float32 has
    the bound `SINGLE` and is relative to the largest such size of its seed so far: near an optimum the terms that are
    summed stay as large as they were, and so does their rounding, while their sum vanishes. A task whose problems have
    `precision` float32, because float64 would take too long, is replayed in float32, and its weighted pass has the
    bound of float32 alone; encoding and decoding are in float64 all the same.

    The kept parameters after the step must be the optimiser's update of those before it by the decoded vector, from the
    kept state of the optimiser and, at iteration 0, from its initial state (``step_error``, with the bound `STEP`).
    The state with which the next iteration began must be the one that this update returns (``state_error``, with the
    same bound), so that a momentum which the loop forgets is found. This proves what the loop of the training did with
    the pass: its coefficients, learning rate and state. Where the task computes in float32, the update by the weighted
    pass will do as well, since that pass is held against the decoded vector itself. Where nothing was recovered neither
    parameters nor state must have moved at all.

    An exact trajectory is shared by schemes and may be longer than the timeline. `kept` takes up large gradients, in
    files without names, for other schemes of the same trajectory. What is found are plain values: `passed`, `failures`
    (a sentence each), the largest errors with their bounds, and in `checks` an entry for every seed and iteration; one
    is `skipped` where nothing was recovered, so that there was nothing to compare.
    """
    place_of = {int(seed): place for place, seed in enumerate(trajectory.seeds)}
    checks: list[dict] = []
    failures: list[str] = []
    for row, seed in enumerate(timeline.seeds.tolist()):
        require(seed in place_of, f"the trajectory has no seed {seed}, only {trajectory.seeds.tolist()}")
        place = place_of[seed]
        steps = int(timeline.steps[row])
        require(
            trajectory.steps[place] >= steps,
            f"the trajectory of seed {seed} has {trajectory.steps[place]} steps, the timeline {steps}",
        )
        replay = _Replay(seed, code_of(seed), task.problem(data, seed), optimizer, kept)
        for saved in np.flatnonzero(trajectory.verified < steps):
            iteration = int(trajectory.verified[saved])
            pattern = timeline.pattern[row, iteration]
            step = _KeptStep(
                before=np.asarray(trajectory.parameters[place, saved]),
                after=np.asarray(trajectory.parameters_after[place, saved]),
                state=_state_of(trajectory.state, place, saved),
                state_after=_state_of(trajectory.state_after, place, saved),
            )
            check = replay.check(
                iteration,
                step,
                responses=timeline.decoded_from[pattern],
                coefficients=timeline.coefficients[pattern].astype(np.float64),
            )
            checks.append({"seed": seed, "iteration": iteration, **check.entry})
            for sentence in check.failures:
                failures.append(f"seed {seed}, iteration {iteration}: {sentence}")
    compared = [check for check in checks if not check["skipped"]]
    if not compared:
        failures.append("no iteration was compared: none was kept, or all recovered nothing")
    report: dict = {}
    for name in (
        "decoded_error",
        "weighted_error",
        "rounding_error",
        "step_error",
        "state_error",
        "noise_gain",
    ):
        report[name] = max((check[name] for check in compared), default=0.0)
    report["decoded_bound"] = BOUNDS["decoded_error"]
    report["weighted_bound"] = BOUNDS["weighted_error"]
    report["rounding_bound"] = SINGLE
    report["step_bound"] = STEP
    report["passed"] = not failures
    report["failures"] = failures
    report["checks"] = checks
    return report


def largest_errors(found: dict) -> dict[str, dict[str, float]]:
    """Largest errors of every seed that was compared, of what `verify_decoding` found.

    >>> check = {"seed": 3, "iteration": 0, "skipped": False, "decoded_error": 1e-16, "weighted_error": 2e-16}
    >>> largest_errors({"checks": [check, check | {"iteration": 100, "decoded_error": 3e-16}]})
    {'3': {'decoded_error': 3e-16, 'weighted_error': 2e-16}}
    """
    largest: dict[str, dict[str, float]] = {}
    for check in found["checks"]:
        if check["skipped"]:
            continue
        of_seed = largest.setdefault(str(check["seed"]), dict.fromkeys(BOUNDS, 0.0))
        for name in BOUNDS:
            of_seed[name] = max(of_seed[name], check[name])
    return largest


def failure(sentences: list[str]) -> str:
    """What failed in one sentence: the first failure of every seed.

    >>> failure(["seed 1, iteration 0: a", "seed 1, iteration 3: b", "seed 4, iteration 0: a"])
    'seed 1, iteration 0: a (and 1 more); seed 4, iteration 0: a'
    """
    of_seed: dict[str, list[str]] = {}
    for sentence in sentences:
        seed = sentence.partition(",")[0]
        of_seed.setdefault(seed, []).append(sentence)
    told = []
    for first, *more in of_seed.values():
        told.append(f"{first} (and {len(more)} more)" if more else first)
    return "; ".join(told)


@dataclass(frozen=True, eq=False)
class _KeptStep:
    """What a training kept of one step: parameters and the optimiser's state, with which it and the next one began."""

    before: np.ndarray
    after: np.ndarray
    state: dict[str, np.ndarray]
    state_after: dict[str, np.ndarray]


@dataclass(frozen=True)
class _Check:
    """What the replay of one iteration gives: its entry in `checks`, and a sentence for everything that failed."""

    entry: dict[str, Any]
    failures: list[str]


def _state_of(kept: dict[str, np.ndarray], place: int, saved: int) -> dict[str, np.ndarray]:
    """The optimiser's state of one seed at one of its kept steps."""
    return {name: np.asarray(values[place, saved]) for name, values in kept.items()}


class _Replay:
    """The replay of one seed. It remembers the largest gradient so far, and in `kept` large ones for other schemes."""

    def __init__(
        self,
        seed: int,
        code: Code,
        problem: Problem,
        optimizer: Optimizer,
        kept: dict[tuple, np.ndarray] | None,
    ):
        self._seed = seed
        self._code = code
        self._problem = problem
        self._optimizer = optimizer
        self._kept = kept
        self._largest_size = 0.0

    def check(
        self, iteration: int, step: _KeptStep, responses: np.ndarray, coefficients: np.ndarray
    ) -> _Check:
        """One iteration, in which the master heard some responses and the training had some coefficients."""
        code = self._code
        problem = self._problem
        c = coefficients
        parameters = step.before
        failures = []
        decoding = code.decode(responses[None], partial=True)
        promises_all = code.promise == "indicator" and code.recovers == code.k
        if promises_all and code.met(responses[None])[0] and (c != 1).any():
            failures.append(
                "the code recovers all partitions from what was heard, but a coefficient is not exactly 1"
            )
        if not c.any():
            failures += _moves_without_a_gradient(step)
            if not decoding.coefficients.any():
                return _Check({"skipped": True, "recovered": 0.0}, failures)

        gradients = self._partition_gradients(iteration, parameters)
        expected, size = _weighted_sum(gradients, c)
        self._largest_size = max(self._largest_size, size)
        largest_size = self._largest_size or 1.0

        received = code.received(responses[None])[0]
        decoded = decoded_vector(code, gradients, received, decoding.weights[0])
        decoded_error = _distance(decoded, expected) / (size or 1.0)
        weighted_error = 0.0
        if extras(ProblemExtras, problem).precision != np.float32:
            in_float64 = self._weighted_pass(iteration, parameters.astype(np.float64), c)
            weighted_error = _distance(in_float64, expected) / (size or 1.0)
            del in_float64  # a gradient of a large task fills much of the memory
        as_trained = self._weighted_pass(iteration, parameters, c)
        rounding_error = _distance(as_trained, expected) / largest_size
        step_error, state_error = 0.0, 0.0
        if c.any():
            step_error, state_error = self._step_errors(iteration, step, c, decoded, as_trained, largest_size)

        for name, error, bound in (
            ("decoded error", decoded_error, BOUNDS["decoded_error"]),
            ("weighted error", weighted_error, BOUNDS["weighted_error"]),
            ("rounding error", rounding_error, SINGLE),
            ("step error", step_error, STEP),
            ("state error", state_error, STEP),
        ):
            if not error <= bound:  # NaN fails too
                failures.append(f"{name} {error:.1e} is above {bound:.0e}")
        entry = {
            "skipped": False,
            "recovered": problem.recovered_samples(c) / problem.n_samples,
            "decoded_error": decoded_error,
            "weighted_error": weighted_error,
            "rounding_error": rounding_error,
            "step_error": step_error,
            "state_error": state_error,
            "noise_gain": float(decoding.noise_gain[0]),
        }
        return _Check(entry, failures)

    def _step_errors(
        self,
        iteration: int,
        step: _KeptStep,
        c: np.ndarray,
        decoded: np.ndarray,
        as_trained: np.ndarray,
        largest_size: float,
    ) -> tuple[float, float]:
        """How far kept parameters and state lie from the optimiser's update, as relative errors of the gradient.

        An update that moves the parameters by ||step|| for a decoded vector d is taken to turn an error e of d into one
        of ||e|| ||step|| / ||d||; for gradient descent that is what it does. So the distance is divided by
        ||step|| / ||d|| and by the largest size of a gradient of the seed so far. What float32 rounds off the
        parameters, `_ROUNDING` of their length, always stays within `STEP`. The same goes for the arrays of the state,
        of which the largest error counts; see `_state_error`.
        """
        problem = self._problem
        optimizer = self._optimizer
        before = step.before
        state = step.state
        if iteration == 0:
            state = optimizer.init(before)
        samples = problem.n_samples, problem.recovered_samples(c)
        by_decoded, state_by_decoded = optimizer.update(decoded, state, before, *samples)
        distance = _distance(step.after, by_decoded)
        length = _distance(by_decoded, before)
        del by_decoded  # as large as the parameters
        by_pass, state_by_pass = optimizer.update(as_trained, state, before, *samples)
        distance = min(distance, _distance(step.after, by_pass))
        for_one_gradient = length
        size_of_decoded = float(np.linalg.norm(decoded))
        if size_of_decoded:
            for_one_gradient = length * largest_size / size_of_decoded
        rounding = _rounded_off(before, step.after)
        scale = for_one_gradient + rounding / STEP
        step_error = distance / (scale or 1.0)
        if not state and not step.state_after:
            return step_error, 0.0
        _, state_by_twice = optimizer.update(2 * decoded, state, before, *samples)
        # A gradient is known up to its largest size, and to what the rounding of the parameters changes of it.
        relative_size = 1.0
        if length:
            relative_size = scale / length
        errors = []
        for name in state | step.state_after:
            if name in state and name in step.state_after:
                error = _state_error(
                    before=state[name],
                    left=step.state_after[name],
                    by_decoded=state_by_decoded[name],
                    by_pass=state_by_pass[name],
                    by_twice=state_by_twice[name],
                    relative_size=relative_size,
                )
            else:
                error = 1.0
            errors.append(error)
        return step_error, float(np.max(errors))  # NaN stays NaN

    def _partition_gradients(self, iteration: int, parameters: np.ndarray) -> np.ndarray:
        """The gradients of all partitions, (k, l)."""
        k = self._code.k
        problem = self._problem
        key = (iteration, k)
        return self._once(key, parameters, lambda: problem.partition_gradients(parameters, k, iteration))

    def _weighted_pass(self, iteration: int, parameters: np.ndarray, c: np.ndarray) -> np.ndarray:
        """sum_i c_i g_i in the precision of the parameters."""
        key = (iteration, c.tobytes(), parameters.dtype.type)
        return self._once(key, parameters, lambda: self._problem.gradient(parameters, c, iteration))

    def _once(self, key: tuple, parameters: np.ndarray, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Gradients at some parameters; where those of all partitions are large, they are kept for other schemes."""
        if self._kept is None or self._code.k * parameters.nbytes < LARGE:
            return compute()
        key = (self._seed, *key)
        if key not in self._kept:
            self._kept[key] = _in_a_file(compute())
        return self._kept[key]


def _moves_without_a_gradient(step: _KeptStep) -> list[str]:
    """What a step has changed, a sentence each, although nothing was recovered in its iteration."""
    found = []
    if not np.array_equal(step.after, step.before):
        found.append("the step moved the parameters although nothing was recovered")
    for name, value in step.state.items():
        if _differ(step.state_after[name], value):
            found.append("the step changed the optimiser's state although nothing was recovered")
            break
    return found


def _in_a_file(gradients: np.ndarray) -> np.ndarray:
    """The same numbers, mapped from a file without a name: whatever ends this process, it is gone."""
    with TemporaryFile(dir=paths.WRITTEN[0]) as file:
        gradients.tofile(file)
        return np.memmap(file, gradients.dtype, "r", shape=gradients.shape)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(np.subtract(one, other)))


def _state_error(
    *,
    before: np.ndarray,
    left: np.ndarray,
    by_decoded: np.ndarray,
    by_pass: np.ndarray,
    by_twice: np.ndarray,
    relative_size: float,
) -> float:
    """How far one array of the state, as a step left it, lies from what the update returns, as a relative error.

    `before` is the array before the step and `left` the one behind it. The others are what the update returns for the
    decoded vector, for the gradient of the training's own pass, and for twice the decoded vector. The distance is
    measured by how far the update moves the array, or a gradient of twice the length moves it further: the squares of
    Adam hardly move where they have settled. What is no floating-point number, such as a count of the updates, must be
    equal.
    """
    if np.asarray(by_decoded).dtype.kind != "f":
        return 1.0 if _differ(left, by_decoded) else 0.0
    moved = max(_distance(by_decoded, before), _distance(by_twice, by_decoded))
    scale = moved * relative_size + _rounded_off(before, left) / STEP
    distance = min(_distance(left, by_decoded), _distance(left, by_pass))
    return distance / (scale or 1.0)


def _differ(one: np.ndarray, other: np.ndarray) -> bool:
    return not np.array_equal(one, other)


def _rounded_off(one: np.ndarray, other: np.ndarray) -> float:
    """What float32 may round off two vectors, in their length."""
    return _ROUNDING * max(float(np.linalg.norm(one)), float(np.linalg.norm(other)))


def _weighted_sum(gradients: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, float]:
    """sum_i c_i g_i, and sqrt(sum_i ||g_i||^2), row by row: in float64 whatever the rows are."""
    total, squares = np.zeros(gradients.shape[1]), 0.0
    for weight, gradient in zip(c, gradients, strict=True):
        row = gradient.astype(np.float64)
        squares += float(row @ row)
        row *= weight
        total += row
    return total, squares**0.5


def decoded_vector(
    code: Code, gradients: np.ndarray, received: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Encode gradients (k, l), drop what was not received, and decode with weights (blocks, M): (l,).

    It goes in chunks of coordinates that bound the memory.
    """
    k, l = gradients.shape
    # Blocks are consecutive sub-vectors, so a chunk takes the same columns of each of them.
    width = -(-l // code.blocks)
    step = max(1, min(_CHUNK_COLUMNS, _CHUNK_NUMBERS // max(len(received), k * code.blocks)))
    decoded = np.empty((code.blocks, width))
    for start in range(0, width, step):
        columns = min(step, width - start)
        piece = np.zeros((k, code.blocks, columns))  # what is beyond l is padding
        for block in range(code.blocks):
            first = block * width + start
            part = gradients[:, first : min(first + columns, l)]
            piece[:, block, : part.shape[1]] = part
        sent = code.encode(piece.reshape(k, -1))
        sent[~received] = 0  # a decoder that uses what did not arrive is found out
        answer = np.asarray(code.combine(sent, weights))
        if answer.shape != (code.blocks * columns,):
            raise DecodingError(
                f"combine of {code!r} must give {code.blocks * columns} numbers, got the shape {answer.shape}",
                code,
            )
        decoded[:, start : start + columns] = answer.reshape(code.blocks, -1)
    return decoded.reshape(-1)[:l]
