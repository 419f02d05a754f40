"""Tables behind the figures of Cao, Yan, Tang, Han (arXiv 2006.04845) that need no clock and no training.

Every function returns a tidy table. Costs are exact, mean times are sums over the restart chain.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.delays.epochs import Epochs, Restarts
from gcexp.errors import require
from gcexp.schemes import Restart, Scheme
from gcexp.theory import adaptive as theory

from . import theory as experiment

#: Names in figures.
NAMES = {
    "uncoded": "uncoded",
    "cgc0": "CGC(0)",
    "cgc1": "CGC(1)",
    "cgc2": "CGC(2)",
    "g_cgc0": "G-CGC(0)",
    "g_cgc1": "G-CGC(1)",
    "g_cgc2": "G-CGC(2)",
    "agc": "AGC",
    "g_agc": "G-AGC",
}

# --- Tables I to VI -------------------------------------------------------------------------------------------


@columns("scheme", "s", "cost", "fraction")
def costs(d: int, w: int, lengths: list) -> pd.DataFrame:
    """Table I: what a worker sends, in gradients, by the number of stragglers.

    Parameters
    ----------
    d, w : int
        Load and length of the gradient.
    lengths : list of int
        Lengths q of the messages of CGC.

    Returns
    -------
    DataFrame
        ``scheme, s, cost, fraction``; an empty cost and the word "fails" where a scheme does not survive s stragglers.
    """
    columns = {f"CGC, q = {q}": theory.fixed_costs(d, q, w) for q in lengths}
    columns["AGC"] = theory.adaptive_costs(w, d, w)
    rows = []
    for s in range(d):
        for scheme, cost in columns.items():
            here = cost[s] if s < len(cost) else None
            value = np.nan if here is None else float(here)
            rows.append({"scheme": scheme, "s": s, "cost": value, "fraction": str(here or "fails")})
    return pd.DataFrame(rows)


_ORDERS = {
    "agc": ("AGC", "(L + (n-d) ⌈L/(d-s)⌉)³"),
    "cgc": ("CGC", "(⌈w/q⌉ + n - d)²"),
    "g_agc": ("G-AGC", "(⌊n/d⌋ - 1) L² + (L + ⌈L/(d-s)⌉ (n mod d))³"),
    "g_cgc": ("G-CGC", "(⌊n/d⌋ - 1) ⌈w/q⌉² + (⌈w/q⌉ + n mod d)²"),
}


@columns("scheme", "order", "s", "cost", "tripled")
def decoding_costs(n: int, d: int, L: int) -> pd.DataFrame:
    """Table II: orders of the decoding cost, and their values.

    Parameters
    ----------
    n, d, L : int
        Workers, load and rounds.

    Returns
    -------
    DataFrame
        ``scheme, order, s, cost``, s being the stragglers (AGC) or those a code is built for (CGC); ``tripled``, the
        cost with three times as many workers over this one.
    """
    rows = []
    for scheme, (name, order) in _ORDERS.items():
        for s in range(d):
            cost = theory.decode_cost(scheme, n, d, s, L)
            more = theory.decode_cost(scheme, 3 * n, d, s, L)
            rows.append({"scheme": name, "order": order, "s": s, "cost": cost, "tripled": more / cost})
    return pd.DataFrame(rows)


@columns("setting", "value")
def settings(
    workers: int, load: int, batch: int, classes: int, train: int, test: int, rate: float
) -> pd.DataFrame:
    """Table III: settings of the training, with what follows from them.

    Parameters
    ----------
    workers, load, batch, classes, train, test : int
    rate : float
        Learning rate.

    Returns
    -------
    DataFrame
        ``setting, value``.
    """
    parameters = resnet18_parameters(classes)
    L = int(np.lcm.reduce(np.arange(1, load + 1)))
    return pd.DataFrame(
        [
            {"setting": setting, "value": value}
            for setting, value in {
                "workers": workers,
                "data points": train + test,
                "training samples": train,
                "test samples": test,
                "parameters of ResNet-18 (3x3 stem, 10 classes)": parameters,
                "learning rate": rate,
                "mini-batch": batch,
                "partitions k": workers,
                "samples of a partition": batch / workers,
                "load d": load,
                "mu = d / n": load / workers,
                "rounds L = lcm(1, ..., d)": L,
                "numbers of a round, w / L": parameters / L,
                **{f"length of CGC({s}) in gradients": 1 / (load - s) for s in range(load)},
            }.items()
        ]
    )


def resnet18_parameters(classes: int, stem: int = 3, widths: tuple[int, ...] = (64, 128, 256, 512)) -> int:
    """Parameters of ResNet-18 with a square stem kernel, two basic blocks per width, 1x1 shortcuts between widths.

    Convolutions have no bias, every one is followed by a batch norm (two numbers per channel), the last layer is linear
    with bias.

    Examples
    --------
    >>> resnet18_parameters(10), resnet18_parameters(10, stem=7)
    (11173962, 11181642)
    """

    def convolution(inputs: int, outputs: int, size: int) -> int:
        return inputs * outputs * size**2 + 2 * outputs

    total, inputs = convolution(3, widths[0], stem), widths[0]
    for width in widths:
        total += convolution(inputs, width, 3) + 3 * convolution(width, width, 3)
        total += convolution(inputs, width, 1) if inputs != width else 0
        inputs = width
    return total + inputs * classes + classes


_PHASES = {"compute": "Comp", "send": "Comm", "encode": "Enc", "total": "Total", "decode": "Dec"}
_ROWS = {
    "uncoded": "uncoded",
    "cgc0": "CGC(0)",
    "cgc1": "CGC(1)",
    "cgc2": "CGC(2)",
    "agc_s0": "AGC, s = 0",
    "agc_s1": "AGC, s = 1",
    "agc_s2": "AGC, s = 2",
    "agc_more": "AGC, s > 2",
}


@columns("row", "epoch", "phase", "seconds")
def phases(adaptive: bool) -> pd.DataFrame:
    """Tables IV and V: measured phases of an iteration, n = 20, d = 3.

    Parameters
    ----------
    adaptive : bool
        Table V (AGC by stragglers) instead of Table IV.

    Returns
    -------
    DataFrame
        ``row, epoch, phase, seconds``; phase ``Comp + Comm + Enc`` is added up here; further
        phases compare Comm with the largest other one, and with that of epoch 0.
    """
    rows = []
    for epoch, found in (("0", experiment.EPOCH_0), ("> 0", experiment.LATER_EPOCHS)):
        for key, times in found.items():
            if key.startswith("agc") != adaptive:
                continue
            cells = {"Bcast": experiment.BROADCAST}
            cells |= {name: getattr(times, field) for field, name in _PHASES.items()}
            cells["Update"] = experiment.UPDATE
            cells["Comp + Comm + Enc"] = times.compute + times.send + times.encode
            others = (times.compute, times.encode, times.decode, experiment.BROADCAST, experiment.UPDATE)
            cells["Comm - largest other"] = times.send - max(others)
            cells["Comm / Comm in epoch 0"] = times.send / experiment.EPOCH_0[key].send
            rows += [
                {"row": _ROWS[key], "epoch": epoch, "phase": phase, "seconds": seconds}
                for phase, seconds in cells.items()
            ]
    return pd.DataFrame(rows)


@columns("scheme", "p", "convention", "time_s", "deviation", "rank", "mean_stragglers")
def calculated_times(printed: dict, chances: list) -> pd.DataFrame:
    """Table VI: calculated mean times of the experiment, in every convention, beside the printed ones.

    Parameters
    ----------
    printed : mapping
        Scheme to the printed numbers, one for each of the chances.
    chances : list of float
        Probabilities p that a started worker straggles.

    Returns
    -------
    DataFrame
        ``scheme, p, convention, time_s, deviation, rank``: ``printed``, ``paper``, ``formula``, ``measured`` (see
        `prices`); ``as printed``, the formula with the i t_i that the paper writes for what was
        lost before epoch i; ``caption``, the formula with 2.45 s of computation for the uncoded scheme too. The
        deviation is that from the printed number in per cent, the rank that among the schemes of a convention, G-CGC(0)
        left out.
    """
    require(set(printed) == set(NAMES), f"printed names {', '.join(NAMES)}, got {', '.join(printed)}")
    rows = []
    for place, p in enumerate(chances):
        columns = {"printed": {scheme: printed[scheme][place] for scheme in NAMES}}
        for timing in ("paper", "formula", "measured"):
            columns[timing] = {
                scheme: experiment.modified_average_time(scheme, p, timing) for scheme in NAMES
            }
        columns["as printed"] = {scheme: _as_printed(scheme, p) for scheme in NAMES}
        slower = experiment.EPOCH_0["cgc0"].compute - experiment.EPOCH_0["uncoded"].compute
        columns["caption"] = columns["formula"] | {"uncoded": columns["formula"]["uncoded"] + slower}
        for convention, times in columns.items():
            order = sorted((s for s in NAMES if s != "g_cgc0"), key=times.__getitem__)
            rows += [
                {
                    "scheme": NAMES[scheme],
                    "p": p,
                    "convention": convention,
                    "time_s": time,
                    "deviation": 100 * (time / printed[scheme][place] - 1),
                    "rank": order.index(scheme.replace("g_cgc0", "cgc0")) + 1,
                    "mean_stragglers": experiment.N * p,
                }
                for scheme, time in times.items()
            ]
    return pd.DataFrame(rows)


def _as_printed(scheme: str, p: float) -> float:
    """(91), (92) with i t_i as it stands: 4 i seconds for i > 0."""
    cost = experiment.prices(scheme)
    sizes = theory.group_sizes(experiment.N, experiment.D) if scheme.startswith("g_") else [experiment.N]
    chances = theory.last_epoch(sizes, p, experiment.most_stragglers(scheme))
    return experiment.OVERHEAD + theory.mean_time(chances, cost.first, cost.later, [experiment.LOST[1]] * 2)


# --- Fig. 3 ---------------------------------------------------------------------------------------------------

#: Label to the arguments (s_max, grouped) of the average time; G-CGC(0) is CGC(0).
CURVES = {
    "CGC(0)": (0, False),
    "CGC(1)": (1, False),
    "CGC(2)": (2, False),
    "G-CGC(0)": (0, True),
    "G-CGC(1)": (1, True),
    "G-CGC(2)": (2, True),
    "AGC": (None, False),
    "G-AGC": (None, True),
}


@columns(
    *("range", "scheme", "p", "average_time_s", "positive", "best_s_max", "above_lowest_s"),
    *("gain_of_groups_s", "below_best_cgc_s", "paper_limit"),
)
def average_times(n: int, d: int, t_cp: float, t_cm: float, ranges: dict, paper_limit: float) -> pd.DataFrame:
    """Fig. 3: average execution time over the probability p, and where curves cross.

    Parameters
    ----------
    n, d : int
        Workers and load, d = 3.
    t_cp, t_cm : float
        Seconds to compute, and to send one gradient.
    ranges : mapping
        Name to ``[first, last, points]`` of p.
    paper_limit : float
        The paper's p from which s_max = 2 is the best of G-CGC: the column ``paper_limit``.

    Returns
    -------
    DataFrame
        ``range, scheme, p, average_time_s``; in range ``crossing`` the schemes that cross, where p is that of
        the crossing, and ``three groups`` what it would be with groups of 3, 3 and 5 workers. In the other ranges
        ``positive``, whether p > 0; ``best_s_max``, that of the best CGC (or G-CGC) at this p; ``gain_of_groups_s``,
        of a group scheme what it saves against the same without groups; ``below_best_cgc_s``, of AGC and G-AGC what
        they save against that CGC or G-CGC; ``above_lowest_s``, by how much a scheme is slower than the fastest of all.
    """
    require(d == 3, f"the curves are those of d = 3, got d={d}")

    def time(label: str, p: float) -> float:
        s_max, grouped = CURVES[label]
        return theory.average_time(n, d, p, s_max, grouped, t_cp, t_cm)

    rows = []
    for name, (first, last, points) in ranges.items():
        for p in map(float, np.linspace(first, last, int(points))):
            times = {label: time(label, p) for label in CURVES}
            rows += [
                {"range": name, "scheme": label, "p": p, **_compared(label, p, times)} for label in CURVES
            ]
    for low, high in (
        ("CGC(0)", "CGC(1)"),
        ("CGC(1)", "CGC(2)"),
        ("G-CGC(0)", "G-CGC(1)"),
        ("G-CGC(1)", "G-CGC(2)"),
    ):
        start = 0.001 if "(0)" in low else 0.05
        p = theory.crossing(partial(time, low), partial(time, high), start, 0.6)
        rows.append(
            {"range": "crossing", "scheme": f"{low} and {high}", "p": p, "average_time_s": time(low, p)}
        )
    rows.append({"range": "three groups", "scheme": "G-CGC(1) and G-CGC(2)", "p": _three_groups(t_cp, t_cm)})
    return pd.DataFrame(rows).assign(paper_limit=paper_limit)


def _compared(label: str, p: float, times: dict[str, float]) -> dict[str, float]:
    """Columns of one scheme at one p."""
    _, grouped = CURVES[label]
    fixed = {s: times[name] for name, (s, groups) in CURVES.items() if s is not None and groups == grouped}
    found = {
        "average_time_s": times[label],
        "positive": int(p > 0),
        "best_s_max": min(fixed, key=fixed.__getitem__),
        "above_lowest_s": times[label] - min(times.values()),
    }
    if grouped:
        found["gain_of_groups_s"] = times[label.removeprefix("G-")] - times[label]
    if label.endswith("AGC"):
        found["below_best_cgc_s"] = min(fixed.values()) - times[label]
    return found


def _three_groups(t_cp: float, t_cm: float) -> float:
    """Crossing of G-CGC(1) and G-CGC(2) with the group sizes that explain the printed Table VI."""

    def time(s_max: int, p: float) -> float:
        last = [t_cp + t_cm / (3 - s_max)] * (s_max + 1)
        return theory.mean_time(theory.last_epoch([3, 3, 5], p, s_max), last, last, [t_cp + t_cm] * 2)

    return theory.crossing(lambda p: time(1, p), lambda p: time(2, p), 0.05, 0.6)


# --- What a clock should show ---------------------------------------------------------------------------------


def expected_iteration_time(scheme: Scheme, delay: Epochs | Restarts, iterations: int) -> float:
    """Mean iteration time in the restart model, by (83), (84) or (91), (92).

    Parameters
    ----------
    scheme : Scheme
        A code of disjoint quorums of equal needs: with `Restart` on `Epochs`, or any on `Restarts`.
    delay : Epochs or Restarts
    iterations : int
        Not used: iterations are independent.

    Examples
    --------
    >>> from gcexp.codes.uncoded import Uncoded
    >>> from gcexp.schemes import Decodable
    >>> round(expected_iteration_time(Scheme(Uncoded(2), Decodable()), Restarts(p=0.5), 1), 2)
    49.67
    """
    code = scheme.code
    sizes = [len(quorum.workers) for quorum in code.quorums]
    first = code.quorums[0]
    s_max = len(first.workers) - min(q for _, q in first.need)
    chances = theory.last_epoch(sizes, delay.p, s_max)
    if isinstance(scheme.wait, Restart):
        prices = scheme.wait.first, scheme.wait.later, scheme.wait.lost
    else:
        assert isinstance(delay, Restarts), "Epochs are for a wait of their own"
        need = [min(r for r, q in first.need if q <= len(first.workers) - s) for s in range(s_max + 1)]
        share = float(code.load.max()) / code.k
        last = [share * delay.compute + r * code.length * delay.transmit for r in need]
        prices = last, last, [delay.epoch] * 2
    return scheme.overhead + theory.mean_time(chances, *prices)
