"""Table 4, Sections IX and X: costs of the schemes, stragglers that are chosen, accuracy against simulated time."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
from scipy.special import logsumexp

from gcexp.analysis.claims import (
    REPRODUCED,
    UNDECIDED,
    Verdict,
    because,
    before,
    below,
    claim,
    equals,
    every,
    less,
    number,
    ratio_within,
    selected,
    within,
)
from gcexp.analysis.ranges import range_said
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.partial_recovery import CyclicPartialRecovery
from gcexp.codes.uncoded import Uncoded
from gcexp.data import Dataset
from gcexp.tasks.optimizers import GradientDescent
from gcexp.theory import order_statistics

from .. import theory
from ..instances import fewest_copies, pairs
from ..numerics import recovered_partitions

CYCLIC_S = ("cyclic, β = 12", "cyclic, β = 15", "cyclic, β = 20")
CYCLIC_ALPHA = [f"cyclic, s = {s}, p = {s - 4}" for s in (6, 9, 5, 14)]
COMBINATORIAL, INTERMEDIATE = "combinatorial, s = 9, y = 3", "intermediate, s = 9, x = 2, y = 3"

#: The accuracy at which the curves are judged. The paper names none, and this one was fixed before they were seen.
LEVEL = 0.88
#: Those over which each verdict is told as well: every second percent, up to the last that every scheme comes near.
LEVELS = (0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92)
#: Tables keep nine digits: recovered fractions per second that differ by less are equal.
_EQUAL = 1e-6
CYCLIC_15, FRC, BRC = "cyclic, β = 15", "ε-FRC, ε = 0.1", "ε-BRC, ε = 0.1"


@claim("table4_combinatorial_least_load", "table4_cyclic_below_naive", figure="table4", assumed=True)
def loads_of_table_4_are_in_order(table):
    """At (n, s, alpha) = (7, 4, 5/7) and (9, 5, 6/9) the loads rise from combinatorial over cyclic to naive."""
    for n in (7, 9):
        least = below(table, "load", "combinatorial", "cyclic", {"n": n}, by="scheme")
        yield "table4_combinatorial_least_load", least
        yield "table4_cyclic_below_naive", below(table, "load", "cyclic", "naive", {"n": n}, by="scheme")


# --- The set-up of Section IX -------------------------------------------------------------------------------


@claim("ix_network")
def network_loss_and_step_are_those_of_the_paper():
    """The network has 19885 weights, the gradient of a cross-entropy that is written out here, and constant steps."""
    from gcexp.tasks.mlp import MultilayerPerceptron  # imports torch, which no other claim needs

    hidden, pixels, classes, samples = 25, 784, 10, 40
    random = np.random.default_rng(0)
    images = random.random((samples, pixels), dtype=np.float32)
    digits = np.arange(samples, dtype=np.int64) % classes
    data = Dataset("mnist", images, digits, images, digits, "")
    problem = MultilayerPerceptron("mnist").problem(data, seed=0)

    def loss(parameters: np.ndarray) -> float:
        W1, b1, W2, b2 = np.split(parameters, np.cumsum([hidden * pixels, hidden, classes * hidden]))
        nodes = np.maximum(images @ W1.reshape(hidden, pixels).T + b1, 0)
        output = nodes @ W2.reshape(classes, hidden).T + b2
        return float((logsumexp(output, axis=1) - output[np.arange(samples), digits]).sum())

    start = problem.initial()
    gradient = problem.partition_gradients(start, 4, 0).sum(0)
    at = start.astype(np.float64)
    yield len(start) == hidden * (pixels + 1) + classes * (hidden + 1) == 19885
    for place in random.choice(len(start), 12, replace=False):
        step = 1e-6 * (np.arange(len(start)) == place)
        slope = (loss(at + step) - loss(at - step)) / 2e-6
        yield abs(slope - gradient[place]) <= 1e-4 * max(1.0, abs(slope))
    rule, at = GradientDescent(), start
    state = rule.init(at)
    for _ in range(3):
        moved, state = rule.update(gradient, state, at, n_samples=samples, recovered=samples)
        yield np.allclose(at - moved, rule.learning_rate / samples * gradient, atol=1e-9)
        at = moved


@claim("ix_forget_is_alpha", "ix_cgc_is_full", assumed=True)
def forgetting_and_full_recovery_are_special_cases():
    """Beta = n - s recovers what the uncoded scheme does, and cyclic repetition everything with one message: n <= 8."""
    for n, s in pairs(8, least=2):
        alone = CyclicPartialRecovery(n, s, n - s)
        uncoded = Uncoded(n)
        same = (recovered_partitions(alone, s) == recovered_partitions(uncoded, s)).all()
        yield "ix_forget_is_alpha", same and alone.load.max() == 1
        full = CyclicRepetition(n, s)
        yield "ix_cgc_is_full", (recovered_partitions(full, s) == n).all() and full.messages.max() == 1


@claim("ix_a_same_stragglers", figure="fig4_fixed_s_timing", assumed=True)
def every_scheme_of_panel_1_waits_for_11_of_30(table):
    """The mean iteration time of six schemes is their work plus the mean 11th of 30 Pareto times, to 10 us."""
    waited = order_statistics.pareto(11, 30, scale=1e-3, shape=1.2)
    for label in ("Forget-19", *CYCLIC_S, "ε-FRC, ε = 0.1", "CGC, β = 30"):
        load, time = (
            number(table, column, {"label": label}, "mean", rows=5)
            for column in ("mean_load_fraction", "mean_iteration_time_s")
        )
        yield equals(time, 3e-3 * load + waited, 1e-5)


# --- Panel 1: fixed s ---------------------------------------------------------------------------------------


def _interval(table, numerator, denominator, level):
    """The interval of the median ratio of two times to a level, over the shared seeds, in words."""
    found = ratio_within(table, numerator, denominator, level=level, above=0).found
    return found.partition("(")[2].partition(")")[0]


def _over_levels(verdicts):
    """For which accuracies a verdict holds, from the verdicts at each of them."""
    return range_said("test accuracies", "%", {round(100 * level): one for level, one in verdicts.items()})


def _over_delays(table, first, others):
    """For which scales of the assumed delays schemes reach 90 % first, on the digits with shape 1.2; 5 seeds."""
    found = {}
    for scale, rows in selected(table, {"level": 0.9}, "reached_s").groupby("delay.scale"):
        milliseconds = float(f"{1e3 * scale:g}")
        found[milliseconds] = before(rows, first, others, y="reached_s")
    said = range_said("delay scales", "ms", found)
    return f"On the digits, to 90 %, with delays of shape 1.2 and five seeds: {said[0].lower()}{said[1:]}"


@claim("ix_a_cyclic_best", figure=("fig4_fixed_s", "fig4_map"), assumed=True)
def cyclic_scheme_with_beta_15_is_ahead(table, delays):
    """It reaches 88 % before beta = 12, 20, CGC and Forget-19 (5 seeds), and epsilon-BRC (10 seeds)."""
    seeds = {"cyclic, β = 12": 5, "cyclic, β = 20": 5, "CGC, β = 30": 5, "Forget-19": 5, BRC: 10}

    def ahead_of_each(level):
        return {
            other: before(table, CYCLIC_15, other, level=level, seeds=fewest)
            for other, fewest in seeds.items()
        }

    ahead_of = {level: ahead_of_each(level) for level in LEVELS}
    ahead = {level: every(verdicts.values()) for level, verdicts in ahead_of.items()}
    behind, not_separated = [], []
    for other, verdict in ahead_of[LEVEL].items():
        interval = f"{other} ({_interval(table, other, CYCLIC_15, LEVEL)})"
        kept = behind if verdict.outcome == REPRODUCED else not_separated
        kept.append(interval)
    reason = (
        "At 88 % test accuracy, the level that was fixed before the curves had been seen, the seeds separate the "
        f"cyclic scheme with beta = 15 from {', '.join(behind)}, but not from {', '.join(not_separated)}; in brackets "
        "the interval of the median ratio of the times, other over beta = 15. Over the levels: "
        f"{_over_levels(ahead)} {_over_delays(selected(delays, {'delay.shape': 1.2}), CYCLIC_15, [*seeds])}"
    )
    return because(ahead[LEVEL], reason)


@claim("ix_a_frc_slightly_better", figure="fig4_fixed_s", assumed=True)
def frc_is_ahead_of_the_best_cyclic_scheme(table):
    """Epsilon-FRC reaches 88 % before the cyclic scheme with beta = 15; 5 seeds. How much sooner is told."""
    ahead = {level: before(table, FRC, CYCLIC_15, level=level) for level in LEVELS}
    at_92, at_90, at_88 = (_interval(table, CYCLIC_15, FRC, level) for level in (0.92, 0.9, LEVEL))
    reason = (
        "The paper gives no number for 'slightly'. Over five seeds the median ratio of the times of the cyclic scheme "
        f"with beta = 15 and of epsilon-FRC lies in {at_88} at 88 % test accuracy, the level that was fixed before the "
        f"curves had been seen, in {at_90} at 90 % and in {at_92} at 92 %. Whether epsilon-FRC is ahead, over the "
        f"levels: {_over_levels(ahead)}"
    )
    return because(ahead[LEVEL], reason)


@claim("ix_a_frc_better_random", "ix_a_frc_consecutive", figure="adversarial", assumed=True)
def frc_is_better_on_average_and_worse_for_runs(table):
    """FRC recovers more than the cyclic scheme of its load on average, but less than 3/4 of that in the worst run."""
    cyclic, repetition = "cyclic, p = 5", "FRC, d = 5"
    average = below(table, "random_mean", cyclic, repetition, {"stragglers": "any set"}, by="scheme")
    yield "ix_a_frc_better_random", average
    run = {"scheme": repetition, "stragglers": "run, worst"}
    left, mean = (number(table, column, run) for column in ("recovered_fraction", "random_mean"))
    same = {"scheme": cyclic, "stragglers": "run, worst"}
    left_cyclic, mean_cyclic = (
        number(table, column, same) for column in ("recovered_fraction", "random_mean")
    )
    told = (
        f"In the worst run of 19 workers FRC recovers {left:.2f}, {left / mean:.0%} of its mean of {mean:.2f} over "
        "random sets; the bar of three quarters is ours. The cyclic scheme of the same load recovers as much there, "
        f"{left_cyclic:.2f}, and falls below the same bar, with {left_cyclic / mean_cyclic:.0%} of its own mean of "
        f"{mean_cyclic:.2f}: such runs are no weakness of FRC alone."
    )
    yield "ix_a_frc_consecutive", because(less(left, 0.75 * mean), told)


@claim("ix_a_cyclic_any_pattern", figure=["adversarial", "fig4_fixed_s_timing"], assumed=True)
def cyclic_scheme_keeps_its_guarantee(adversarial, timing):
    """At n = 30, s = 19 no set of stragglers and none of 20000 iterations leaves fewer than beta = 12, 15, 20."""
    for beta in (12, 15, 20):
        worst = {"scheme": f"cyclic, p = {beta - 10}", "stragglers": "any set"}
        yield within(number(adversarial, "at_least", worst), at_least=beta)
        seen = number(timing, "min_recovered_fraction", {"label": f"cyclic, β = {beta}"}, "min", rows=5)
        yield within(seen, at_least=beta / 30)


# --- Panel 2: fixed alpha -----------------------------------------------------------------------------------


@claim("ix_b_combinatorial_least_load", "ix_b_intermediate_in_between", figure="fig4_costs", assumed=True)
def combinatorial_scheme_sends_most_and_the_intermediate_one_less_than_half(table):
    """The first has a lower load than the cyclic scheme with s = 9, and the second sends more than every cyclic one."""
    most = below(table, "messages", [INTERMEDIATE, *CYCLIC_ALPHA], COMBINATORIAL, by="scheme")
    lower = below(table, "load", COMBINATORIAL, "cyclic, s = 9, p = 5", by="scheme")
    yield "ix_b_combinatorial_least_load", every(most, lower)
    more = below(table, "messages", CYCLIC_ALPHA, INTERMEDIATE, by="scheme")
    few, many = (number(table, "messages", {"scheme": one}) for one in (INTERMEDIATE, COMBINATORIAL))
    told = (
        f"It sends {few:.0f} messages and the combinatorial scheme {many:.0f}. The paper gives no number for 'much "
        "lower'; the bar of half as many is ours."
    )
    yield "ix_b_intermediate_in_between", because(every(more, less(few, many / 2)), told)


@claim("ix_b_combinatorial_least_load", assumed=True)
def load_of_the_combinatorial_scheme_is_the_least():
    """At n = 15, s = 9, alpha = 2/3 it is at most that of 59 copies of every pair and one of every triple."""
    n = 15
    s = 9
    alpha = Fraction(2, 3)
    load = Fraction(fewest_copies(n, s, alpha), n)
    partitions = 59 * comb(n, 2) + comb(n, 3)
    lost = 59 * comb(s, 2) + comb(s, 3)
    mixture = Fraction(59 * 2 * comb(n, 2) + 3 * comb(n, 3), n * partitions)
    feasible = Fraction(lost, partitions) <= 1 - alpha
    least = min(load, mixture) if feasible else load
    bound = theory.lower_bound(n, s, alpha)
    reason = (
        f"The scheme sends by far the most messages, and its load of {load} is the least for a whole y. It is not the "
        f"least possible load under the assumed n = {n}, s = {s} and alpha = {alpha}: a mixture of all pairs and all "
        f"triples of workers has a load of {mixture} = {float(mixture):.3f}; the bound of Theorem 1 is {bound} = "
        f"{float(bound):.3f}."
    )
    return because(equals(float(load), float(least)), reason)


@claim("ix_b_combinatorial_best", figure=["fig4_costs", "fig4_fixed_alpha"], assumed=True)
def combinatorial_scheme_is_ahead_of_all_others(costs, table):
    """In panel 2 it recovers most per second and reaches 88 % before the intermediate one."""
    slower, rate = [INTERMEDIATE, *CYCLIC_ALPHA], "recovered_fraction_per_s"
    ahead = {level: before(table, COMBINATORIAL, INTERMEDIATE, level=level) for level in LEVELS}
    both = [number(costs, rate, {"scheme": scheme}) for scheme in (COMBINATORIAL, INTERMEDIATE)]
    reason = (
        "The combinatorial and the intermediate scheme tie: under the assumed parameters both hold every partition "
        f"on three workers, wait for the same six workers and recover {both[0]:.1f} and {both[1]:.1f} fractions of "
        "the data per second. Five seeds do not separate their curves at 88 % test accuracy either: the median ratio "
        f"of their times lies in {_interval(table, INTERMEDIATE, COMBINATORIAL, LEVEL)}. Over the levels: "
        f"{_over_levels(ahead)}"
    )
    yield because(below(costs, rate, slower, COMBINATORIAL, by="scheme", resolution=_EQUAL), reason)
    yield because(ahead[LEVEL], reason)


@claim("ix_b_intermediate_similar", figure="fig4_fixed_alpha", assumed=True)
def how_similar_the_intermediate_scheme_is(table):
    """The paper gives "very similarly" no number: what is told is the ratio of the two times; 5 seeds."""
    at_92, at_90, at_88 = (
        _interval(table, INTERMEDIATE, COMBINATORIAL, level) for level in (0.92, 0.9, LEVEL)
    )
    return Verdict(
        UNDECIDED,
        "Over five seeds the median ratio of the times of the intermediate and of the combinatorial scheme lies in "
        f"{at_88} at 88 % test accuracy, the level that was fixed before the curves had been seen, in {at_90} at 90 % "
        f"and in {at_92} at 92 %. The paper gives no number for 'very similarly', so that the ratio is told and not "
        "judged.",
    )


@claim(
    "ix_b_cyclic_poorer",
    "ix_b_tradeoff",
    figure=("fig4_fixed_alpha", "fig4_fixed_alpha_map"),
    assumed=True,
)
def schemes_that_send_more_are_ahead_of_the_cyclic_ones(table, delays):
    """Combinatorial and intermediate scheme reach 88 % before each of four cyclic ones; 5 seeds."""
    send_more = [COMBINATORIAL, INTERMEDIATE]
    ahead = {level: before(table, send_more, CYCLIC_ALPHA, level=level) for level in LEVELS}
    not_separated = []
    for many in send_more:
        for few in CYCLIC_ALPHA:
            if before(table, many, few, level=LEVEL).outcome != REPRODUCED:
                not_separated.append(f"{many} from {few} ({_interval(table, few, many, LEVEL)})")
    reason = (
        "At 88 % test accuracy, the level that was fixed before the curves had been seen, five seeds do not separate "
        f"{'; '.join(not_separated)}, but all other pairs; in brackets the interval of the median ratio of the times. "
        f"Over the levels: {_over_levels(ahead)} {_over_delays(delays, send_more, CYCLIC_ALPHA)}"
    )
    return because(ahead[LEVEL], reason)


# --- Section X ----------------------------------------------------------------------------------------------


@claim("discussion_between_extremes", figure="fig4_costs", assumed=True)
def cyclic_schemes_lie_between_forgetting_and_full_recovery(table):
    """For beta = 12, 15, 20 load and mean recovered share lie above those of Forget-19 and below those of CGC."""
    for column in ("load", "mean_recovered_fraction"):
        yield below(table, column, "Forget-19", CYCLIC_S, by="scheme")
        yield below(table, column, CYCLIC_S, "CGC, β = 30", by="scheme")
