"""Does the weighted pass give what workers and master would compute? The true path, replayed on saved parameters.

The one module that knows codes and tasks together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import numpy as np

from gcexp.codes import Code
from gcexp.errors import DecodingError, require
from gcexp.run import paths
from gcexp.tasks import Problem, Task
from gcexp.tasks.training import Trajectory
from gcexp.timeline import Timeline

if TYPE_CHECKING:
    from gcexp.data import Dataset

_UNIT = 2.0**-24  # one rounding of float32, relative
#: Largest errors, relative to sqrt(sum_i ||g_i||^2), of what is computed in float64.
BOUNDS = {"decoded_error": 1e-6, "weighted_error": 1e-5}
#: And of a float32 pass against float32 partitions, for tasks too large for float64: the specification's.
SINGLE = 1e-4
#: Of a float32 pass against float64 partitions, in roundings of the gradient, which is a long sum itself, and in what
#: moving all terms by their roundings does to it (measured on 2000 random regressions and classifications: 9 times that
#: at most), when samples at a kink are accounted for.
ROUNDINGS, MOVES = 32, 16
#: A flipped unit changes the gradient by its jump once; a fit to rounding noise is a little off.
_FLIP = 1.1
_CHUNK_COLUMNS, _CHUNK_NUMBERS = 2**16, 2**24
#: Gradients of all partitions with more bytes are kept in files and mapped.
LARGE = 2**28


def verify_decoding(
    code_of: Callable[[int], Code],
    timeline: Timeline,
    trajectory: Trajectory,
    task: Task,
    data: Dataset,
    kept: dict[tuple, np.ndarray] | None = None,
) -> dict:
    """Replay the true path wherever a trajectory kept its parameters within a timeline's steps.

    Partition gradients g_i are computed one by one and encoded in float64, what was not heard is dropped, and the rest
    is decoded anew. That vector, and the weighted pass, must both be sum_i c_i g_i with the timeline's coefficients c;
    the weighted pass in float64, and up to rounding in float32 as training uses it. Where the code promises the whole
    sum, c must be exactly 1.

    Rounding is bounded by what explains it: a few roundings of the gradient and of the terms of every sum of the pass,
    besides a jump for each sample that is within rounding of a kink (see `gcexp.tasks.rounding`). A task whose problems
    have `precision` float32, because float64 would take too long, is replayed in float32: partitions and weighted pass
    differ by rounding, and encoding and decoding are in float64 all the same.

    An exact trajectory is shared by schemes and may be longer than the timeline. `kept` takes up large gradients, in
    files without names, for other schemes of the same trajectory. What is found are plain values: `passed`, `failures`
    (a sentence each), the largest errors with their bounds, and in `checks` an entry for every seed and iteration; one
    is `skipped` where nothing was recovered, so that there was nothing to compare.
    """
    checks, failures = [], []
    row_of = {int(seed): row for row, seed in enumerate(trajectory.seeds)}
    for row, (seed, steps) in enumerate(zip(timeline.seeds.tolist(), timeline.steps.tolist(), strict=True)):
        place = row_of.get(seed)
        require(place is not None, f"the trajectory has no seed {seed}, only {trajectory.seeds.tolist()}")
        require(
            trajectory.steps[place] >= steps,
            f"the trajectory of seed {seed} has {trajectory.steps[place]} steps, the timeline {steps}",
        )
        code, problem = code_of(seed), task.problem(data, seed)
        for v in np.flatnonzero(trajectory.verified < steps):
            t = int(trajectory.verified[v])
            u = timeline.pattern[row, t]
            c = timeline.coefficients[u].astype(np.float64)
            saved = problem, np.asarray(trajectory.parameters[place, v]), t
            check, failed = _check(code, timeline.patterns[u], c, *saved, partial(_once, kept, (seed, t)))
            checks.append({"seed": seed, "iteration": t} | check)
            failures += [f"seed {seed}, iteration {t}: {sentence}" for sentence in failed]
    if all(check["skipped"] for check in checks):
        failures.append("no iteration was compared: none was kept, or all recovered nothing")
    compared = [check for check in checks if not check["skipped"]]
    return {
        **{
            name: max((check[name] for check in compared), default=0.0)
            for name in (*BOUNDS, "rounding_error", "rounding_bound", "noise_gain")
        },
        **{name.replace("error", "bound"): bound for name, bound in BOUNDS.items()},
        "passed": not failures,
        "failures": failures,
        "checks": checks,
    }


def largest_errors(found: dict) -> dict[str, dict[str, float]]:
    """Largest errors of every seed that was compared, of what `verify_decoding` found.

    >>> check = {"seed": 3, "iteration": 0, "skipped": False, "decoded_error": 1e-16, "weighted_error": 2e-16}
    >>> largest_errors({"checks": [check, check | {"iteration": 100, "decoded_error": 3e-16}]})
    {'3': {'decoded_error': 3e-16, 'weighted_error': 2e-16}}
    """
    largest: dict[str, dict[str, float]] = {}
    for check in found["checks"]:
        if not check["skipped"]:
            mine = largest.setdefault(str(check["seed"]), dict.fromkeys(BOUNDS, 0.0))
            for name in BOUNDS:
                mine[name] = max(mine[name], check[name])
    return largest


def failure(sentences: list[str]) -> str:
    """What failed in one sentence: the first failure of every seed.

    >>> failure(["seed 1, iteration 0: a", "seed 1, iteration 3: b", "seed 4, iteration 0: a"])
    'seed 1, iteration 0: a (and 1 more); seed 4, iteration 0: a'
    """
    of_seed: dict[str, list[str]] = {}
    for sentence in sentences:
        of_seed.setdefault(sentence.partition(",")[0], []).append(sentence)
    return "; ".join(
        first + (f" (and {len(more)} more)" if more else "") for first, *more in of_seed.values()
    )


def _once(
    kept: dict | None, at: tuple, key: tuple, size: int, compute: Callable[[], np.ndarray]
) -> np.ndarray:
    """Gradients, kept where those of all partitions have so many bytes that another scheme should find them."""
    if kept is None or size < LARGE:
        return compute()
    if (*at, *key) not in kept:
        made = compute()
        with TemporaryFile(dir=paths.WRITTEN[0]) as file:  # no name: whatever ends this process, it is gone
            made.tofile(file)
            kept[*at, *key] = np.memmap(file, made.dtype, "r", shape=made.shape)
    return kept[*at, *key]


def _check(
    code: Code, responses, c, problem: Problem, parameters: np.ndarray, t: int, once: Callable
) -> tuple[dict, list[str]]:
    """One iteration: its entry in `checks`, and what failed."""
    decoding = code.decode(responses[None], partial=True)
    failed = []
    exact = code.promise == "indicator" and code.recovers == code.k and bool(code.met(responses[None])[0])
    if exact and (c != 1).any():
        failed.append(
            "the code recovers all partitions from what was heard, but a coefficient is not exactly 1"
        )
    if not c.any() and not decoding.coefficients.any():
        return {"skipped": True, "recovered": 0.0}, failed

    size = code.k * parameters.nbytes
    gradients = once((code.k,), size, lambda: problem.partition_gradients(parameters, code.k, t))
    expected, scale = _summed(gradients, c)
    scale = scale or 1.0

    def weighted(precision: type) -> np.ndarray:
        """The weighted pass, less what it must be."""
        given = parameters.astype(precision), c, t
        return once((c.tobytes(), precision), size, lambda: problem.gradient(*given)) - expected

    def relative(difference: np.ndarray) -> float:
        return float(np.linalg.norm(difference)) / scale

    decoded = decoded_vector(code, gradients, code.received(responses[None])[0], decoding.weights[0])
    errors = {"decoded_error": relative(decoded - expected)}
    del decoded
    training, kinks = weighted(parameters.dtype.type), 0
    if getattr(problem, "precision", np.float64) == np.float32:
        errors["weighted_error"], bound = 0.0, SINGLE
    else:
        errors["weighted_error"] = relative(weighted(np.float64))
        bound, tell = ROUNDINGS * _UNIT, getattr(problem, "rounding", None)
        if relative(training) > bound and tell and (found := tell(parameters, c, t)) is not None:
            bound += (MOVES * found.noise + found.more) / scale
            kinks = len(found.jumps)
            if kinks:  # each jump (q, l) may have happened, once and to either side
                times = np.linalg.lstsq(found.jumps.T, training, rcond=None)[0]
                training = training - np.clip(times, -_FLIP, _FLIP) @ found.jumps
    errors["rounding_error"] = relative(training)
    for name, error in errors.items():
        most = BOUNDS.get(name, bound)
        if not error <= most:  # NaN fails too
            failed.append(f"{name.replace('_', ' ')} {error:.1e} is above {most:.0e}")
    return {
        "skipped": False,
        "recovered": problem.recovered_samples(c) / problem.n_samples,
        **errors,
        "rounding_bound": float(bound),
        "kinks": kinks,
        "noise_gain": float(decoding.noise_gain[0]),
    }, failed


def _summed(gradients: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, float]:
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
