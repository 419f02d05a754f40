"""Does the weighted pass give what workers and master would compute? The true path, replayed on saved parameters.

The one module that knows codes and tasks together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gcexp.codes import Code
from gcexp.errors import require
from gcexp.tasks import Problem, Task
from gcexp.tasks.training import Trajectory
from gcexp.timeline import Timeline

if TYPE_CHECKING:
    from gcexp.data import Dataset

#: Largest errors, relative to sqrt(sum_i ||g_i||^2). Only the last one is of float32: there a hidden unit may fall on
#: the other side of its kink for one sample, which in 1 of 40 checks on MNIST makes 3e-4 of the usual 2e-6.
BOUNDS = {"decoded_error": 1e-6, "weighted_error": 1e-5, "rounding_error": 2e-3}
_CHUNK_COLUMNS, _CHUNK_NUMBERS = 2**16, 2**24


def verify(
    code_of: Callable[[int], Code], timeline: Timeline, trajectory: Trajectory, task: Task, data: Dataset
) -> dict:
    """Replay the true path wherever a trajectory kept its parameters within a timeline's steps.

    Partition gradients g_i are computed one by one and encoded in float64, what was not heard is dropped, and the rest
    is decoded anew. That vector, and the weighted pass, must both be sum_i c_i g_i with the timeline's coefficients c;
    the weighted pass in float64, and up to rounding in float32 as training uses it. Where the code promises the whole
    sum, c must be exactly 1.

    Parameters
    ----------
    code_of : callable
        Code of a seed (codes drawn at random differ between seeds).
    timeline : Timeline
    trajectory : Trajectory
        Exact ones are shared by schemes and may be longer than the timeline.
    task : Task
    data : Dataset

    Returns
    -------
    dict
        Plain values. `passed`; `failures`, one sentence each; the largest `decoded_error`, `weighted_error`,
        `rounding_error` and `noise_gain`; `decoded_bound`, `weighted_bound`, `rounding_bound`; `checks`, one per seed
        and iteration with the same errors, `recovered` (fraction of the samples) and `skipped`: nothing was recovered,
        so there was nothing to compare.

    Raises
    ------
    ParameterError
        If the trajectory lacks a seed of the timeline, or ends before it.
    """
    checks, failures = [], []
    row_of = {int(seed): row for row, seed in enumerate(trajectory.seeds)}
    for row, (seed, steps) in enumerate(zip(timeline.seeds.tolist(), timeline.steps.tolist(), strict=True)):
        kept = row_of.get(seed)
        require(kept is not None, f"the trajectory has no seed {seed}, only {trajectory.seeds.tolist()}")
        require(
            trajectory.steps[kept] >= steps,
            f"the trajectory of seed {seed} has {trajectory.steps[kept]} steps, the timeline {steps}",
        )
        code, problem = code_of(seed), task.problem(data, seed)
        for v in np.flatnonzero(trajectory.verified < steps):
            t = int(trajectory.verified[v])
            u = timeline.pattern[row, t]
            heard, c, parameters = (
                timeline.patterns[u],
                timeline.coefficients[u],
                trajectory.parameters[kept, v],
            )
            check, failed = _check(code, heard, c, problem, parameters, t)
            checks.append({"seed": seed, "iteration": t} | check)
            failures += [f"seed {seed}, iteration {t}: {sentence}" for sentence in failed]
    if all(check["skipped"] for check in checks):
        failures.append("no iteration was compared: none was kept, or all recovered nothing")
    compared = [check for check in checks if not check["skipped"]]
    return {
        **{name: max((check[name] for check in compared), default=0.0) for name in (*BOUNDS, "noise_gain")},
        **{name.replace("error", "bound"): bound for name, bound in BOUNDS.items()},
        "passed": not failures,
        "failures": failures,
        "checks": checks,
    }


def _check(code: Code, heard, c, problem: Problem, parameters, t: int) -> tuple[dict, list[str]]:
    """One iteration: its entry in `checks`, and what failed."""
    decoding = code.decode(heard[None])
    failed = []
    exact = code.promise == "indicator" and code.recovers == code.k and bool(code.met(heard[None])[0])
    if exact and (c != 1).any():
        failed.append(
            "the code recovers all partitions from what was heard, but a coefficient is not exactly 1"
        )
    if not c.any() and not decoding.coefficients.any():
        return {"skipped": True, "recovered": 0.0}, failed

    gradients = problem.partition_gradients(parameters, code.k, t)
    expected = c @ gradients
    scale = float(np.sqrt((gradients**2).sum())) or 1.0
    found = {
        "decoded_error": decoded_vector(code, gradients, code.received(heard[None])[0], decoding.weights[0]),
        "weighted_error": problem.gradient(parameters.astype(np.float64), c, t),
        "rounding_error": problem.gradient(parameters, c, t),
    }
    errors = {name: float(np.linalg.norm(vector - expected)) / scale for name, vector in found.items()}
    for name, error in errors.items():
        if not error <= BOUNDS[name]:  # NaN fails too
            failed.append(f"{name.replace('_', ' ')} {error:.1e} is above {BOUNDS[name]:.0e}")
    return {
        "skipped": False,
        "recovered": problem.recovered_samples(c) / problem.n_samples,
        **errors,
        "noise_gain": float(decoding.noise_gain[0]),
    }, failed


def decoded_vector(
    code: Code, gradients: np.ndarray, received: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Encode, drop what was not received, decode: (l,), in chunks of coordinates that bound the memory.

    Parameters
    ----------
    code : Code
    gradients : ndarray (k, l)
    received : ndarray (M,)
        Messages that the master has.
    weights : ndarray (blocks, M)
        Decode weights of one pattern.

    Examples
    --------
    >>> from gcexp.codes import CyclicRepetition
    >>> code, heard = CyclicRepetition(n=3, s=1), np.array([[1, 0, 1]])
    >>> gradients = np.arange(6.0).reshape(3, 2)
    >>> decoded_vector(code, gradients, code.received(heard)[0], code.decode(heard).weights[0]).round(6)
    array([6., 9.])
    """
    k, l = gradients.shape
    # Blocks are consecutive sub-vectors, so a chunk takes the same columns of each of them.
    width = -(-l // code.blocks)
    blocked = np.pad(gradients, ((0, 0), (0, width * code.blocks - l))).reshape(k, code.blocks, width)
    step = max(1, min(_CHUNK_COLUMNS, _CHUNK_NUMBERS // max(len(received), k * code.blocks)))
    decoded = np.empty((code.blocks, width))
    for start in range(0, width, step):
        piece = blocked[:, :, start : start + step]
        sent = code.encode(piece.reshape(k, -1))
        sent[~received] = 0  # a decoder that uses what did not arrive is found out
        decoded[:, start : start + step] = code.combine(sent, weights).reshape(code.blocks, -1)
    return decoded.reshape(-1)[:l]
