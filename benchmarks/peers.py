"""B1 to B7: the work of other public implementations, whose numbers were measured on another machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import combinations
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import ROOT, Row, Spent, alone, median_cpu
from gcexp import codes
from gcexp.data import load, prepare
from gcexp.delays import ShiftedExponential
from gcexp.errors import UserError
from gcexp.schemes import Fastest, Scheme, Spanned
from gcexp.tasks.logistic_regression import LogisticRegression
from gcexp.tasks.optimizers import AcceleratedGradient, GradientDescent
from gcexp.tasks.training import train
from gcexp.timeline import simulate


def patterns_without(n: int, sets: list) -> np.ndarray:
    """Patterns (U, n) in which each set of workers is silent."""
    responses = np.ones((len(sets), n), dtype=np.int64)
    np.put_along_axis(responses, np.array(sets), 0, axis=1)
    return responses


#: n, s, and the peer's decode ms and worst error: the original authors' routines, one `lstsq` per pattern.
CYCLIC = (
    (10, 2, 0.030, "7e-13"),
    (20, 4, 0.061, "3e-11"),
    (50, 5, 0.34, "1.5e-8"),
    (100, 10, 1.7, "5e-9"),
    (200, 20, 6.4, "7e-9"),
    (400, 40, 26, "6e-9"),
)


def b1() -> Iterator[Row]:
    """B1: decode weights of the cyclic code of Tandon et al. for 200 random patterns of s stragglers, in one call.

    Times are of one pattern. Floor: ``numpy.linalg.solve`` of as many systems of s unknowns.
    """
    patterns = 200
    for n, s, decode_ms, peer_error in CYCLIC:
        code = codes.CyclicRepetition(n, s)
        draw = np.random.default_rng(1)
        responses = patterns_without(n, [draw.choice(n, s, replace=False) for _ in range(patterns)])
        coefficients = code.weights(responses) @ code.encoding.toarray()
        error = np.abs(coefficients - 1).max()
        A = draw.standard_normal((patterns, s, s))
        b = np.ones((patterns, s, 1))
        solved, decoded = median_cpu(partial(np.linalg.solve, A, b), partial(code.weights, responses))
        work, bar = f"CyclicRepetition n={n} s={s}: one decode", "error <= 1e-10"
        limit = None
        if n >= 100:
            bar, limit = f"{bar}, peer / ours >= 10", decode_ms / 1e4
        told = {"floor": solved / patterns, "note": f"error {error:.0e}", "holds": error <= 1e-10}
        peer = {"peer": f"{decode_ms:g} ms, error {peer_error}", "peer_seconds": decode_ms / 1e3}
        yield Row("B1", work, decoded / patterns, bar, limit, **told, **peer)


def mean_errors(decoder: str, n: int = 50, d: int = 3, graphs: int = 10, patterns: int = 100) -> np.ndarray:
    """Mean error ||c - 1||^2 / n for 3 to 7 stragglers, over random graphs and patterns."""
    stragglers = np.arange(3, 8)
    order = np.random.default_rng(0).random((5, patterns, n)).argsort(-1).argsort(-1)
    answered = order >= stragglers[:, None, None]
    responses = answered.astype(np.int64).reshape(-1, n)
    errors = []
    for seed in range(graphs):
        code = codes.RegularBipartiteCode(n, d, decoder=decoder, seed=seed)
        errors.append(code.decode(responses).error.reshape(5, patterns))
    return np.mean(errors, axis=(0, 2))


def b2() -> Iterator[Row]:
    """B2: random 3-regular codes of 50 workers, 5000 patterns, two decoders, one plot; after imports."""
    from matplotlib import pyplot

    def study() -> None:
        errors = [mean_errors(decoder) for decoder in ("one_step", "optimal")]
        assert (errors[1] <= errors[0]).all(), "optimal weights are worse than equal ones"
        figure, axes = pyplot.subplots()
        axes.plot(range(3, 8), np.transpose(errors), marker="o")
        figure.savefig(BytesIO(), format="pdf")
        pyplot.close(figure)

    pyplot.switch_backend("Agg")
    (seconds,) = median_cpu(study)
    work = "random regular n=50 d=3: 5000 x 2 decodes and a plot"
    yield Row("B2", work, seconds, "< 1 s", 1, peer="about 4.2 s user CPU")


def run_on_amazon(function: Callable, *each: tuple) -> list[tuple[Spent, Any]]:
    """Call a function with Amazon's rows and more, each time in a process; none where the raw files are missing.

    They are those of $GCEXP_DATA, or in data/raw.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder, "amazon.npz")
        try:
            prepare("amazon_access", path, os.environ.get("GCEXP_DATA") or ROOT / "data" / "raw")
        except UserError as error:
            print(f"not measured: {error}", file=sys.stderr)
            return []
        return [alone(function, str(path), *more) for more in each]


class PeersSplit(LogisticRegression):
    """Amazon's rows, the last of a fixed order to train with."""

    def order(self, N, seed):
        """The rows of the test come last here."""
        return np.roll(np.random.RandomState(0).permutation(N), -6554)


def train_accelerated(path: str) -> float:
    """B3's work: its AUC."""
    task = PeersSplit("amazon_access", 26215, verify_every=10**6)
    found = train(task, AcceleratedGradient(10.0, 1.0), load(path), [0], [100], progress=False)
    draws = ShiftedExponential(shift=0.1, mean=0.05).draw((0,), 100, 10)
    for code, s in (
        (codes.Uncoded(n=10), 0),
        (codes.FractionalRepetition(n=10, d=2), 1),
        (codes.CyclicRepetition(n=10, s=2), 2),
        (codes.CommunicationEfficient(n=10, d=4, m=3, s=1), 1),
        (codes.CommunicationEfficient(n=10, d=4, m=2, s=2), 2),
    ):
        simulate(Scheme(code, Fastest(s=s)), draws)
    return float(found.scores["test_auc"][0, -1])


def b3() -> Iterator[Row]:
    """B3: Amazon's rows, 100 accelerated iterations with the AUC in each, the clocks of five schemes: a process."""
    found = run_on_amazon(train_accelerated, (), (), ())
    if not found:
        return
    seconds = median(spent.cpu for spent, _ in found)
    _, auc = found[0]
    work, bar, note = "Amazon, 100 accelerated iterations, 5 schemes", "<= 3 s, AUC 0.883", f"AUC {auc:.4f}"
    peer = {"peer": "18-19 s wall, 31 s CPU", "peer_seconds": 31.0}
    yield Row("B3", work, seconds, bar, 3, holds=abs(auc - 0.883) <= 1e-3, note=note, **peer)


def train_with_delays(path: str, more_seeds: int) -> float:
    """B4's work: the mean time of an iteration on the clock."""
    scheme = Scheme(codes.FractionalRepetition(n=10, d=2), Fastest(q=5))
    delay = ShiftedExponential(shift=0.0, mean=0.5, data_time=0.0)
    first, *_ = [simulate(scheme, delay.draw((seed,), 100, 10)) for seed in range(1 + more_seeds)]
    task = LogisticRegression("amazon_access", 26220, split_seed=0, verify_every=10**6)
    given = load(path), [0], [100], first.coefficients, first.pattern
    train(task, GradientDescent(10.0), *given, progress=False)
    return float(first.duration.mean())


def b4() -> Iterator[Row]:
    """B4: 100 iterations of descent on Amazon's rows, groups of 2, the master waits for 5 of 10 workers: a process."""
    found = run_on_amazon(train_with_delays, (0,), (10,))
    if not found:
        return
    (slow, mean), (more, _) = found
    work, bar = "Amazon, waiting for 5 of 10 workers", "<= 2 s, mean 0.323 +- 0.045"
    told = {"peer": "162 s CPU", "peer_seconds": 162.0, "note": f"mean {mean:.3f} s"}
    yield Row("B4", work, slow.cpu, bar, 2, holds=abs(mean - 0.3228) <= 0.045, **told)
    yield Row("B4", "10 more seeds of delays", max(more.cpu - slow.cpu, 0.0), "< 0.5 s", 0.5)


def b5() -> Iterator[Row]:
    """B5: the waiting rule for n=256 workers, s=15, 1000 rounds of 1 + Exp(1), draws excluded.

    Floor: `numpy.partition` of the same arrivals, whose (n-s)-th smallest are the durations.
    """
    n, s = 256, 15
    draws = ShiftedExponential(shift=1.0).draw((0,), 1000, n)
    scheme = Scheme(codes.CyclicRepetition(n, s), Fastest(s=s))
    at = np.array(draws.arrival(scheme.code.load / scheme.code.k, scheme.code.length))
    partition = partial(np.partition, at, n - s - 1, axis=-1)
    wait = partial(scheme.wait.stop, scheme.code, lambda r=None: at)
    durations = simulate(scheme, draws).duration
    assert np.array_equal(durations, partition()[..., n - s - 1]), "durations differ from numpy.partition"
    floor, waited = median_cpu(partition, wait, repeats=15)
    told = {"floor": floor, "peer": "10.5 ms (durations)", "peer_seconds": 10.5e-3}
    yield Row("B5", f"n={n} s={s}, 1000 rounds: waiting rule", waited, "ours / floor <= 2", 2 * floor, **told)


def first_of_full_rank(rows: np.ndarray, arrival: np.ndarray) -> float:
    """Arrival at which the rows heard have full rank, by a rank from scratch at every arrival."""
    order = np.argsort(arrival, kind="stable")
    for heard in range(1, len(order) + 1):
        if np.linalg.matrix_rank(rows[order[:heard]]) == rows.shape[1]:
            return float(arrival[order[heard - 1]])
    return np.inf


def b6() -> Iterator[Row]:
    """B6: N=40 workers, messages of 1, 2 and 3 partitions; stop when all partitions are in the span of what arrived.

    The answer must be that of ranks from scratch. Floor: those ranks of one iteration at its stop alone.
    """
    iterations, sizes = 20, (1, 2, 3)
    code, rule = codes.CirculantMultiMessage(40, sizes), Spanned("partitions")
    partitions = 0.01 + np.random.default_rng(0).exponential(1 / 10, (1, iterations, 40, sum(sizes)))
    at = partitions.cumsum(-1)[..., np.cumsum(sizes) - 1]
    encoding = code.encoding.toarray()
    stop = partial(rule.stop, code, lambda r=0: at[..., r - 1])
    expected = [first_of_full_rank(encoding, at[0, t].ravel()) for t in range(iterations)]
    assert stop()[0][0].tolist() == expected, "stopping times differ from ranks from scratch"
    floor, ours = median_cpu(partial(np.linalg.matrix_rank, encoding), stop)
    work, bar = f"N=40, {len(encoding)} rows, one iteration of {iterations}", "< 2 ms, the same answer"
    told = {"peer": "0.25 s per iteration", "peer_seconds": 0.25, "note": "answer equal"}
    yield Row("B6", work, ours / iterations, bar, 2e-3, floor=floor, **told)


def worst_error(code: codes.Code, gradients: np.ndarray, responses: np.ndarray) -> float:
    """Largest relative error of the decoded sum over patterns."""
    sent = code.encode(gradients)
    total = gradients.sum(0)
    decoded = [code.combine(sent, weights)[: len(total)] for weights in code.decode(responses).weights]
    errors = np.linalg.norm(np.array(decoded) - total, axis=1)
    return float(errors.max() / np.linalg.norm(total))


def b7() -> Iterator[Row]:
    """B7: the code of Ye and Abbe with gradients of 10000: encode all workers, decode one pattern; errors at n=24.

    Floor: one product of numpy's with as many numbers. Peer: a Python loop per block.
    """
    gradients = np.random.default_rng(0).standard_normal((24, 10_000))
    draw = np.random.default_rng(1)
    code = codes.CommunicationEfficient(n=10, d=4, m=2, s=2)
    ten = gradients[:10]
    responses = patterns_without(10, list(combinations(range(10), 2)))
    sent = code.encode(ten)
    B = code.encoding.toarray()
    blocks = ten.reshape(20, -1)
    error = worst_error(code, ten, responses)

    def decode() -> None:
        for weights in code.weights(responses):
            code.combine(sent, weights)

    product, encoded, decoded = median_cpu(lambda: B @ blocks, partial(code.encode, ten), decode)
    work, told = "n=10 d=4 s=2 m=2 l=10000:", {"note": f"error {error:.0e}", "holds": error < 1e-10}
    peer = {"peer": "246 ms", "peer_seconds": 0.246}
    yield Row("B7", f"{work} encode all workers", encoded, "< 5 ms", 5e-3, floor=product, **peer)
    peer = {"peer": "28 ms, error 1.5e-13", "peer_seconds": 0.028}
    yield Row("B7", f"{work} decode", decoded / len(responses), "error < 1e-10", **peer, **told)
    responses = patterns_without(24, [draw.choice(24, 3, replace=False) for _ in range(100)])
    for name, code, most in (
        ("paper's theta", codes.CommunicationEfficient(24, 6, 3), 1e-8),
        ("well-conditioned V", codes.GeneralCommunicationEfficient(24, 6, 3), 1e-10),
    ):
        (seconds,) = median_cpu(partial(code.encode, gradients), repeats=5)
        error = worst_error(code, gradients, responses)
        bar, work = f"error < {most:.0e}", f"n=24 d=6 m=3: encode, {name}"
        told = {"peer": "error 2e-6", "note": f"error {error:.0e}"}
        yield Row("B7", work, seconds, bar, holds=error < most, **told)
