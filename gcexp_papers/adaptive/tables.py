"""Tables behind the figures of Cao, Yan, Tang, Han (arXiv 2006.04845) that need no clock and no training.

Costs are exact, mean times are sums over the restart chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import lcm

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.delays.base import alike
from gcexp.delays.epochs import Epochs, Restarts
from gcexp.errors import require
from gcexp.schemes import Restart, Scheme

from . import experiment, theory
from .experiment import NAMES

# --- Tables I to VI -------------------------------------------------------------------------------------------


@columns("scheme", "s", "cost", "fraction")
def costs(d: int, w: int, lengths: list):
    """Table I: what a worker of load d sends by the number of stragglers, in gradients of w numbers.

    CGC has messages of each of the `lengths`. Where a scheme does not survive s stragglers the cost is empty, and its
    fraction is the word "fails".
    """
    costs_of = {f"CGC, q = {q}": theory.fixed_costs(d, q, w) for q in lengths}
    costs_of["AGC"] = theory.adaptive_costs(w, d, w)
    for s in range(d):
        for scheme, costs_by_s in costs_of.items():
            if s < len(costs_by_s):
                yield scheme, s, float(costs_by_s[s]), str(costs_by_s[s])
            else:
                yield scheme, s, None, "fails"


_ORDERS = {
    "agc": ("AGC", "(L + (n-d) ⌈L/(d-s)⌉)³"),
    "cgc": ("CGC", "(⌈w/q⌉ + n - d)²"),
    "g_agc": ("G-AGC", "(⌊n/d⌋ - 1) L² + (L + ⌈L/(d-s)⌉ (n mod d))³"),
    "g_cgc": ("G-CGC", "(⌊n/d⌋ - 1) ⌈w/q⌉² + (⌈w/q⌉ + n mod d)²"),
}


@columns("scheme", "order", "s", "cost", "tripled")
def decoding_costs(n: int, d: int, L: int):
    """Table II: orders of the decoding cost, and their values, for n workers of load d and L rounds.

    s are the stragglers (AGC) or those that a code is built for (CGC), and ``tripled`` is the cost with three times as
    many workers over this one.
    """
    for scheme, (name, order) in _ORDERS.items():
        for s in range(d):
            cost = theory.decode_cost(scheme, n, d, s, L)
            cost_of_three_times_as_many = theory.decode_cost(scheme, 3 * n, d, s, L)
            yield name, order, s, cost, cost_of_three_times_as_many / cost


@columns("setting", "value")
def settings(workers: int, load: int, batch: int, classes: int, train: int, test: int, rate: float):
    """Table III: settings of the training, with what follows from them; `rate` is the learning rate."""
    parameters = resnet18_parameters(classes)
    L = lcm(*range(1, load + 1))
    yield "workers", workers
    yield "data points", train + test
    yield "training samples", train
    yield "test samples", test
    yield "parameters of ResNet-18 (3x3 stem, 10 classes)", parameters
    yield "learning rate", rate
    yield "mini-batch", batch
    yield "partitions k", workers
    yield "samples of a partition", batch / workers
    yield "load d", load
    yield "mu = d / n", load / workers
    yield "rounds L = lcm(1, ..., d)", L
    yield "numbers of a round, w / L", parameters / L
    for s in range(load):
        yield f"length of CGC({s}) in gradients", 1 / (load - s)


def resnet18_parameters(classes: int) -> int:
    """Parameters of ResNet-18 with a 3x3 stem, two basic blocks per width, and 1x1 shortcuts between widths.

    Convolutions have no bias, and each is followed by a batch norm (two numbers per channel); the last layer is linear.
    """

    def convolution(inputs: int, outputs: int, size: int) -> int:
        return inputs * outputs * size**2 + 2 * outputs

    inputs = 64
    total = convolution(3, inputs, 3)
    for width in (64, 128, 256, 512):
        total += convolution(inputs, width, 3) + 3 * convolution(width, width, 3)
        if inputs != width:
            total += convolution(inputs, width, 1)
        inputs = width
    return total + inputs * classes + classes


_AGC_ROWS = {f"agc_s{s}": f"AGC, s = {s}" for s in range(3)} | {"agc_more": "AGC, s > 2"}


@columns("row", "epoch", "phase", "seconds")
def phases(adaptive: bool):
    """Table IV, or Table V if `adaptive` (AGC by stragglers): measured phases of an iteration, n = 20, d = 3.

    ``Comp + Comm + Enc`` is added up here; further phases compare Comm with the largest other one, and with that of
    epoch 0.
    """
    names = _AGC_ROWS if adaptive else NAMES
    broadcast = experiment.BROADCAST
    update = experiment.UPDATE
    for epoch, rows in (("0", experiment.EPOCH_0), ("> 0", experiment.LATER_EPOCHS)):
        for key, row in rows.items():
            if key not in names:
                continue
            largest_other = max(row.compute, row.encode, row.decode, broadcast, update)
            seconds_of = {
                "Bcast": broadcast,
                "Comp": row.compute,
                "Comm": row.send,
                "Enc": row.encode,
                "Total": row.total,
                "Dec": row.decode,
                "Update": update,
                "Comp + Comm + Enc": row.compute + row.send + row.encode,
                "Comm - largest other": row.send - largest_other,
                "Comm / Comm in epoch 0": row.send / experiment.EPOCH_0[key].send,
            }
            for phase, seconds in seconds_of.items():
                yield names[key], epoch, phase, seconds


@columns("scheme", "p", "convention", "time_s", "deviation", "rank", "mean_stragglers")
def calculated_times(printed: dict, chances: list):
    """Table VI: calculated mean times of the experiment, in every convention, beside the printed ones.

    For each scheme `printed` holds a number for each of the `chances`, the probabilities p that a started worker
    straggles. Conventions are ``printed``, ``paper``, ``formula`` and ``measured`` (see `prices`); ``as printed``, the
    formula with the i t_i that the paper writes for what was lost before epoch i, 4 i seconds; and ``caption``, the
    formula with 2.45 s of computation for the uncoded scheme too. The deviation is that from the printed number in per
    cent, the rank that among the schemes of a convention, G-CGC(0) left out.
    """
    require(set(printed) == set(NAMES), f"printed names {', '.join(NAMES)}, got {', '.join(printed)}")
    slower = experiment.EPOCH_0["cgc0"].compute - experiment.EPOCH_0["uncoded"].compute

    def times(p: float, timing: str, lost: tuple[float, float] = experiment.LOST) -> dict[str, float]:
        return {scheme: experiment.modified_average_time(scheme, p, timing, lost) for scheme in NAMES}

    _, lost_later = experiment.LOST
    for place, p in enumerate(chances):
        stated = {scheme: printed[scheme][place] for scheme in NAMES}
        formula = times(p, "formula")
        times_of = {
            "printed": stated,
            "paper": times(p, "paper"),
            "formula": formula,
            "measured": times(p, "measured"),
            "as printed": times(p, "formula", lost=(lost_later, lost_later)),
            "caption": formula | {"uncoded": formula["uncoded"] + slower},
        }
        for convention, found in times_of.items():
            ranked = [scheme for scheme in NAMES if scheme != "g_cgc0"]
            ranked.sort(key=found.__getitem__)
            for scheme, time in found.items():
                yield {
                    "scheme": NAMES[scheme],
                    "p": p,
                    "convention": convention,
                    "time_s": time,
                    "deviation": 100 * (time / stated[scheme] - 1),
                    "rank": ranked.index(scheme.replace("g_cgc0", "cgc0")) + 1,
                    "mean_stragglers": experiment.N * p,
                }


# --- Fig. 3 ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A curve of Fig. 3: stragglers that CGC is built for, None of AGC, and whether workers are in groups."""

    s_max: int | None
    grouped: bool


def _curves() -> dict[str, Curve]:
    """The curves by their labels: all schemes of the experiment but the uncoded one."""
    found = {}
    for scheme, name in NAMES.items():
        if scheme != "uncoded":
            s_max = None if name.endswith("AGC") else experiment.most_stragglers(scheme)
            found[name] = Curve(s_max, grouped=name.startswith("G-"))
    return found


CURVES = _curves()


@columns(
    *("range", "scheme", "p", "average_time_s", "positive", "best_s_max", "above_lowest_s"),
    *("gain_of_groups_s", "below_best_cgc_s", "paper_limit"),
)
def average_times(n: int, d: int, t_cp: float, t_cm: float, ranges: dict, paper_limit: float):
    """Fig. 3: average execution time over the probability p, and where curves cross, for d = 3.

    To compute takes `t_cp` seconds, to send a gradient `t_cm`. A range of p is ``[first, last, points]``, and the paper
    has s_max = 2 as the best of G-CGC from its `paper_limit` on. In range ``crossing`` stand the schemes that cross,
    where p is that of the crossing, and in ``three groups`` what it would be with groups of 3, 3 and 5 workers. In the
    other ranges ``best_s_max`` is that of the best CGC (or G-CGC) at this p. ``gain_of_groups_s`` is what a group
    scheme saves against the same without groups, and ``below_best_cgc_s`` what AGC and G-AGC save against that best CGC
    or G-CGC. ``above_lowest_s`` says by how much a scheme is slower than the fastest of all.
    """
    require(d == 3, f"the curves are those of d = 3, got d={d}")

    def time(label: str, p: float) -> float:
        curve = CURVES[label]
        return theory.average_time(n, d, p, curve.s_max, curve.grouped, t_cp, t_cm)

    for name, (first, last, points) in ranges.items():
        for p in np.linspace(first, last, int(points)).tolist():
            times = {label: time(label, p) for label in CURVES}
            for label, curve in CURVES.items():
                own_time = times[label]
                best_s_max = _best_s_max(times, curve.grouped)
                gain_of_groups = below_best_cgc = None
                if curve.grouped:
                    gain_of_groups = times[label.removeprefix("G-")] - own_time
                if curve.s_max is None:
                    family = "G-CGC" if curve.grouped else "CGC"
                    below_best_cgc = times[f"{family}({best_s_max})"] - own_time
                yield {
                    "range": name,
                    "scheme": label,
                    "p": p,
                    "average_time_s": own_time,
                    "positive": int(p > 0),
                    "best_s_max": best_s_max,
                    "above_lowest_s": own_time - min(times.values()),
                    "gain_of_groups_s": gain_of_groups,
                    "below_best_cgc_s": below_best_cgc,
                    "paper_limit": paper_limit,
                }
    for family in ("CGC", "G-CGC"):
        for s, from_p in ((0, 0.001), (1, 0.05)):
            low = f"{family}({s})"
            high = f"{family}({s + 1})"
            p = theory.crossing(partial(time, low), partial(time, high), from_p, 0.6)
            yield {
                "range": "crossing",
                "scheme": f"{low} and {high}",
                "p": p,
                "average_time_s": time(low, p),
                "paper_limit": paper_limit,
            }
    one = partial(_time_of_three_groups, t_cp, t_cm, 1)
    two = partial(_time_of_three_groups, t_cp, t_cm, 2)
    yield {
        "range": "three groups",
        "scheme": "G-CGC(1) and G-CGC(2)",
        "p": theory.crossing(one, two, 0.05, 0.6),
        "paper_limit": paper_limit,
    }


def _best_s_max(times: Mapping[str, float], grouped: bool) -> int:
    """The s_max of the fastest CGC, or G-CGC, by the times of all curves."""
    time_of_s_max = {}
    for label, curve in CURVES.items():
        if curve.s_max is not None and curve.grouped == grouped:
            time_of_s_max[curve.s_max] = times[label]
    return min(time_of_s_max, key=time_of_s_max.__getitem__)


def _time_of_three_groups(t_cp: float, t_cm: float, s_max: int, p: float) -> float:
    """Average time of G-CGC with the group sizes that explain the printed Table VI."""
    last = [t_cp + t_cm / (3 - s_max)] * (s_max + 1)
    return theory.mean_time(theory.last_epoch([3, 3, 5], p, s_max), last, last, [t_cp + t_cm] * 2)


# --- What a clock should show ---------------------------------------------------------------------------------


def expected_iteration_time(scheme: Scheme, delay: Epochs | Restarts, iterations: int) -> float:
    """Mean iteration time in the restart model, by (83), (84) or (91), (92): independent of how many iterations.

    The code has disjoint quorums of equal needs. The wait is `Restart` on `Epochs`, or any on `Restarts`.

    Examples
    --------
    >>> from gcexp.codes.uncoded import Uncoded
    >>> from gcexp.schemes import Decodable
    >>> round(expected_iteration_time(Scheme(Uncoded(2), Decodable()), Restarts(p=0.5), 1), 2)
    49.67
    """
    code = scheme.code
    sizes = [len(quorum.workers) for quorum in code.quorums]
    quorum = code.quorums[0]  # the needs of all are equal
    s_max = len(quorum.workers) - min(workers for _, workers in quorum.need)
    chances = theory.last_epoch(sizes, alike(delay, "p"), s_max)
    if isinstance(scheme.wait, Restart):
        mean = theory.mean_time(chances, scheme.wait.first, scheme.wait.later, scheme.wait.lost)
        return scheme.overhead + mean
    assert isinstance(delay, Restarts), "Epochs are for a wait of their own"
    computing = float(code.load.max()) / code.k * delay.compute
    final_epoch = []
    for s in range(s_max + 1):
        heard = len(quorum.workers) - s
        messages = min(messages for messages, workers in quorum.need if workers <= heard)
        final_epoch.append(computing + messages * code.length * delay.transmit)
    lost = [delay.epoch, delay.epoch]
    return scheme.overhead + theory.mean_time(chances, final_epoch, final_epoch, lost)
