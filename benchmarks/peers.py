"""B1 to B7: the work of other public implementations, whose numbers were measured on another machine."""

from __future__ import annotations

import os
import sys
from functools import partial
from io import BytesIO
from itertools import combinations
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measure import ROOT, Row, alone, median_cpu
from gcexp import codes
from gcexp.delays import ShiftedExponential
from gcexp.schemes import Fastest, Scheme, Spanned
from gcexp.timeline import simulate


def straggling(n: int, sets: list) -> np.ndarray:
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


def b1() -> list[Row]:
    """B1: decode weights of the cyclic code of Tandon et al. for 200 random patterns of s stragglers, in one call.

    Times are of one pattern. Floor: ``numpy.linalg.solve`` of as many systems of s unknowns.
    """
    rows, patterns = [], 200
    for n, s, decode_ms, peer_error in CYCLIC:
        code, draw = codes.CyclicRepetition(n, s), np.random.default_rng(1)
        responses = straggling(n, [draw.choice(n, s, replace=False) for _ in range(patterns)])
        error = np.abs(code.weights(responses) @ code.encoding.toarray() - 1).max()
        A, b = draw.standard_normal((patterns, s, s)), np.ones((patterns, s, 1))
        solved, decoded = median_cpu(partial(np.linalg.solve, A, b), partial(code.weights, responses))
        bar, limit = (
            ("error <= 1e-10, peer / ours >= 10", decode_ms / 1e4) if n >= 100 else ("error <= 1e-10", None)
        )
        rows.append(
            Row(
                *("B1", f"CyclicRepetition n={n} s={s}: one decode", decoded / patterns, bar, limit),
                holds=error <= 1e-10,
                floor=solved / patterns,
                peer=f"{decode_ms:g} ms, error {peer_error}",
                peer_seconds=decode_ms / 1e3,
                note=f"error {error:.0e}",
            )
        )
    return rows


def mean_errors(decoder: str, n: int = 50, d: int = 3, graphs: int = 10, patterns: int = 100) -> np.ndarray:
    """Mean error ||c - 1||^2 / n for 3 to 7 stragglers, over random graphs and patterns."""
    order = np.random.default_rng(0).random((5, patterns, n)).argsort(-1).argsort(-1)
    responses = (order >= np.arange(3, 8)[:, None, None]).astype(np.int64).reshape(-1, n)
    drawn = [codes.RegularBipartiteCode(n, d, decoder=decoder, seed=seed) for seed in range(graphs)]
    return np.mean([code.decode(responses).error.reshape(5, patterns) for code in drawn], axis=(0, 2))


def b2() -> list[Row]:
    """B2: random 3-regular codes of 50 workers, 5000 patterns, two decoders, one plot; after imports."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    def study() -> None:
        errors = [mean_errors(decoder) for decoder in ("one_step", "optimal")]
        assert (errors[1] <= errors[0]).all(), "optimal weights are worse than equal ones"
        figure, axes = pyplot.subplots()
        axes.plot(range(3, 8), np.transpose(errors), marker="o")
        figure.savefig(BytesIO(), format="pdf")
        pyplot.close(figure)

    (seconds,) = median_cpu(study)
    return [
        Row(
            "B2",
            "random regular n=50 d=3: 5000 x 2 decodes and a plot",
            seconds,
            "< 1 s",
            1,
            peer="about 4.2 s user CPU",
        )
    ]


def prepared(name: str, folder: str) -> Path | None:
    """A prepared data set, if its raw files are on this machine ($GCEXP_DATA, or data/raw)."""
    from gcexp.data import prepare
    from gcexp.errors import UserError

    ready = ROOT / "data" / "prepared" / f"{name}.npz"
    if not ready.is_file():
        ready = Path(folder, f"{name}.npz")
        try:
            prepare(name, ready, os.environ.get("GCEXP_DATA") or ROOT / "data" / "raw")
        except UserError as error:
            print(f"{name} is not measured: {error}", file=sys.stderr)
            return None
    return ready


def accelerated(path: str) -> float:
    """B3's work: its AUC."""
    from gcexp.data import load
    from gcexp.tasks.logistic_regression import LogisticRegression
    from gcexp.tasks.optimizers import AcceleratedGradient
    from gcexp.tasks.training import train

    class PeersSplit(LogisticRegression):
        def order(self, N, seed):
            order = np.random.RandomState(0).permutation(N)
            return np.concatenate([order[6554:], order[:6554]])

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


def b3() -> list[Row]:
    """B3: Amazon's rows, 100 accelerated iterations with the AUC in each, the clocks of five schemes: a process."""
    with TemporaryDirectory() as folder:
        if (path := prepared("amazon_access", folder)) is None:
            return []
        found = [alone(accelerated, str(path)) for _ in range(3)]
    seconds, auc = median(spent.cpu for spent, _ in found), found[0][1]
    work, bar, note = "Amazon, 100 accelerated iterations, 5 schemes", "<= 3 s, AUC 0.883", f"AUC {auc:.4f}"
    peer = {"peer": "18-19 s wall, 31 s CPU", "peer_seconds": 31.0}
    return [Row("B3", work, seconds, bar, 3, holds=abs(auc - 0.883) <= 1e-3, note=note, **peer)]


def with_delays(path: str, more_seeds: int) -> float:
    """B4's work: the mean time of an iteration on the clock."""
    from gcexp.data import load
    from gcexp.tasks.logistic_regression import LogisticRegression
    from gcexp.tasks.optimizers import GradientDescent
    from gcexp.tasks.training import train

    scheme = Scheme(codes.FractionalRepetition(n=10, d=2), Fastest(q=5))
    delay = ShiftedExponential(shift=0.0, mean=0.5, data_time=0.0)
    first, *_ = [simulate(scheme, delay.draw((seed,), 100, 10)) for seed in range(1 + more_seeds)]
    task = LogisticRegression("amazon_access", 26220, split_seed=0, verify_every=10**6)
    given = load(path), [0], [100], first.coefficients, first.pattern
    train(task, GradientDescent(10.0), *given, progress=False)
    return float(first.duration.mean())


def b4() -> list[Row]:
    """B4: 100 iterations of descent on Amazon's rows, groups of 2, the master waits for 5 of 10 workers: a process."""
    with TemporaryDirectory() as folder:
        if (path := prepared("amazon_access", folder)) is None:
            return []
        slow, mean = alone(with_delays, str(path), 0)
        more, _ = alone(with_delays, str(path), 10)
    work, bar = "Amazon, waiting for 5 of 10 workers", "<= 2 s, mean 0.323 +- 0.045"
    told = {"peer": "162 s CPU", "peer_seconds": 162.0, "note": f"mean {mean:.3f} s"}
    return [
        Row("B4", work, slow.cpu, bar, 2, holds=abs(mean - 0.3228) <= 0.045, **told),
        Row("B4", "10 more seeds of delays", max(more.cpu - slow.cpu, 0.0), "< 0.5 s", 0.5),
    ]


def b5() -> list[Row]:
    """B5: the waiting rule for n=256 workers, s=15, 1000 rounds of 1 + Exp(1), draws excluded.

    Floor: `numpy.partition` of the same arrivals, whose (n-s)-th smallest are the durations.
    """
    n, s = 256, 15
    draws = ShiftedExponential(shift=1.0).draw((0,), 1000, n)
    scheme = Scheme(codes.CyclicRepetition(n, s), Fastest(s=s))
    at = np.array(draws.arrival(scheme.code.load / scheme.code.k, scheme.code.length))
    partition = partial(np.partition, at, n - s - 1, axis=-1)
    durations = simulate(scheme, draws).duration
    assert np.array_equal(durations, partition()[..., n - s - 1]), "durations differ from numpy.partition"
    floor, waited = median_cpu(
        partition, lambda: scheme.wait.stop(scheme.code, lambda r=None: at), repeats=15
    )
    work, peer = (
        f"n={n} s={s}, 1000 rounds: waiting rule",
        {"peer": "10.5 ms (durations)", "peer_seconds": 10.5e-3},
    )
    return [Row("B5", work, waited, "ours / floor <= 2", 2 * floor, floor=floor, **peer)]


def first_of_full_rank(rows: np.ndarray, arrival: np.ndarray) -> float:
    """Arrival at which the rows heard have full rank, by a rank from scratch at every arrival."""
    order = np.argsort(arrival, kind="stable")
    for heard in range(1, len(order) + 1):
        if np.linalg.matrix_rank(rows[order[:heard]]) == rows.shape[1]:
            return float(arrival[order[heard - 1]])
    return np.inf


def b6() -> list[Row]:
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
    return [Row("B6", work, ours / iterations, bar, 2e-3, floor=floor, **told)]


def worst_error(code: codes.Code, gradients: np.ndarray, responses: np.ndarray) -> float:
    """Largest relative error of the decoded sum over patterns."""
    sent, total = code.encode(gradients), gradients.sum(0)
    decoded = [code.combine(sent, weights)[: len(total)] for weights in code.decode(responses).weights]
    return float(np.linalg.norm(np.array(decoded) - total, axis=1).max() / np.linalg.norm(total))


def b7() -> list[Row]:
    """B7: the code of Ye and Abbe with gradients of 10000: encode all workers, decode one pattern; errors at n=24.

    Floor: one product of numpy's with as many numbers. Peer: a Python loop per block.
    """
    gradients = np.random.default_rng(0).standard_normal((10, 10_000))
    code = codes.CommunicationEfficient(n=10, d=4, m=2, s=2)
    responses = straggling(10, list(combinations(range(10), 2)))
    sent, B, blocks = code.encode(gradients), code.encoding.toarray(), gradients.reshape(20, -1)
    error = worst_error(code, gradients, responses)
    assert error < 1e-10, f"the decoded sum is off by {error:.0e}"

    def decode() -> None:
        for weights in code.weights(responses):
            code.combine(sent, weights)

    product, encoded, decoded = median_cpu(lambda: B @ blocks, partial(code.encode, gradients), decode)
    work, peer = "n=10 d=4 s=2 m=2 l=10000:", {"peer": "28 ms, error 1.5e-13", "peer_seconds": 0.028}
    encoding = {"floor": product, "peer": "246 ms", "peer_seconds": 0.246}
    rows = [
        Row("B7", f"{work} encode all workers", encoded, "< 5 ms", 5e-3, **encoding),
        Row("B7", f"{work} decode", decoded / len(responses), note=f"error {error:.0e}", **peer),
    ]
    gradients, draw = np.random.default_rng(0).standard_normal((24, 10_000)), np.random.default_rng(1)
    responses = straggling(24, [draw.choice(24, 3, replace=False) for _ in range(100)])
    for name, code, most in (
        ("paper's theta", codes.CommunicationEfficient(24, 6, 3), 1e-8),
        ("well-conditioned V", codes.GeneralCommunicationEfficient(24, 6, 3), 1e-10),
    ):
        (seconds,) = median_cpu(partial(code.encode, gradients), repeats=5)
        error = worst_error(code, gradients, responses)
        bar, work = f"error < {most:.0e}", f"n=24 d=6 m=3: encode, {name}"
        told = {"peer": "error 2e-6", "note": f"error {error:.0e}"}
        rows.append(Row("B7", work, seconds, bar, holds=error < most, **told))
    return rows
