"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): statements no other test covers, and what claims rest on.

Brute force here is slow and obvious on purpose, and shares no code with the library.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.partial_recovery import CyclicPartialRecovery
from gcexp.codes.raptor import BatchRaptor, degree_law
from gcexp.codes.repetition import FractionalRepetition
from gcexp.data import prepare
from gcexp.delays import Pareto
from gcexp.report import figurefile
from gcexp.run.stages import length_of, run_training, run_verification, simulated
from gcexp.schemes import Fastest, Scheme
from gcexp.theory import order_statistics
from gcexp.theory import partial_recovery as theory
from gcexp.timeline import simulate
from gcexp_papers.partial_recovery import numerics as tables

# --- Statements -------------------------------------------------------------------------------------------------


def test_theorem_1_is_a_mixture_of_two_combinatorial_schemes():
    """Tight where two parts of the data may be treated differently: the best mixture of two y has the bound's load."""
    for n in range(2, 10):
        for s in range(n):
            for alpha in (Fraction(i, 12) for i in range(1, 13)):
                missed = [theory.rho(n, s, y) for y in range(n + 1)]
                loads = [Fraction(y, n) for y in range(n + 1) if missed[y] <= 1 - alpha]
                for few, many in combinations(range(n + 1), 2):
                    if missed[few] > 1 - alpha >= missed[many]:
                        part = (missed[few] - (1 - alpha)) / (missed[few] - missed[many])
                        loads.append((part * many + (1 - part) * few) / n)
                assert min(loads) == theory.lower_bound(n, s, alpha)


def test_lemma_2_for_every_assignment():
    """Load 1/n and k = n: whoever holds what, some s stragglers leave at most n - s partitions."""
    for n in range(1, 6):
        for held in product(range(n), repeat=n):
            for s in range(n):
                assert min(len(set(left)) for left in combinations(held, n - s)) <= n - s


def test_partitions_that_a_cyclic_assignment_shows():
    """min(n, n-s+p-1) in the worst case: p >= s + beta - n + 1 is necessary."""
    for n in range(1, 10):
        for p in range(1, n + 1):
            arcs = [{(w + i) % n for i in range(p)} for w in range(n)]
            for s in range(n):
                least = min(len(set().union(*left)) for left in combinations(arcs, n - s))
                assert least == min(n, n - s + p - 1)
    frame = tables.chosen_stragglers(9, 4, [3, 9], [2, 4], trials=10, seed=0).set_index("scheme")
    for scheme, p in (("FRC, d = 3", 3), ("FRC, d = 9", 9), ("cyclic, p = 4", 4)):
        assert set(frame.loc[scheme, "cyclic_visible"]) == {min(9, 5 + p - 1)}


def test_two_messages_fail_at_five_workers_whatever_the_decoder():
    """n = 5, s = 3, beta = 5: p = 4, r = 1; sums of four and single gradients of two workers do not span all ones."""
    rows = {w: np.zeros((2, 5)) for w in range(5)}
    for w in range(5):
        rows[w][0, [(w + i) % 5 for i in range(4)]] = 1
        rows[w][1, w] = 1
    ranks = [
        [np.linalg.matrix_rank(np.vstack([*responses, *more])) for more in ([], [np.ones((1, 5))])]
        for responses in combinations(rows.values(), 2)
    ]
    assert any(without < together for without, together in ranks)


def test_example_1_holds_for_a_range_of_alpha():
    """Any alpha in (2/5, 7/10] makes y = 2 the least; at 7/10 the naive scheme needs 0.56."""
    assert theory.minimal_y(5, 3, Fraction(2, 5)) == 1 and theory.minimal_y(5, 3, Fraction(701, 1000)) == 3
    assert {theory.minimal_y(5, 3, Fraction(i, 1000)) for i in range(401, 701)} == {2}
    assert theory.naive(5, 3, 0.7).load == Fraction(14, 25)


def test_the_messages_of_table_4_have_other_readings():
    assert [theory.co_prime(n, 2).m for n in (11, 15)] == [6, 8]
    assert theory.combinatorial(5, 3).m == 6


@pytest.mark.parametrize("shift", [0.0, 0.5, 3.0])
def test_the_shift_of_model_b_cancels(shift):
    first, second = theory.expected_times("B", 20, 0.75, 2000, sample_time=0.01, shift=shift, mean=2.0)
    assert second - first == pytest.approx(1 - 2 * sum(1 / i for i in range(6, 11)))


def test_a_decoder_that_stops_at_beta_favours_no_intermediate_load():
    """((p + n - s - 1) / n) / (p t0 + E[X]) rises with p, from Forget-19 to full recovery."""
    wait = order_statistics.pareto(11, 30, scale=1e-3, shape=1.2)
    rates = [(p + 10) / 30 / (1e-4 * p + wait) for p in range(1, 21)]
    assert rates == sorted(rates)
    for p in (2, 5, 10):
        code = CyclicPartialRecovery(30, 19, 10 + p, decoder="exact")
        responses = tables.random_sets(30, 19, 50, seed=0)
        assert (code.decode(responses).coefficients.sum(1) == 10 + p).all()


def test_mean_of_repetition_over_random_sets():
    frame = tables.chosen_stragglers(30, 19, [2, 3, 5, 6, 10], [], trials=20000, seed=0)
    for d in (2, 3, 5, 6, 10):
        lost = comb(30 - d, 19 - d) / comb(30, 19)  # one group
        both = comb(30 - 2 * d, 19 - 2 * d) / comb(30, 19) if 2 * d <= 19 else 0.0
        groups = 30 // d
        variance = (lost + (groups - 1) * both) / groups - lost**2
        found = frame.loc[frame["scheme"] == f"FRC, d = {d}", "random_mean"].iloc[0]
        assert abs(found - (1 - lost)) <= 4.5 * np.sqrt(variance / 20000)


@pytest.mark.slow
def test_mean_load_of_raptor_codes():
    """About 13 of 30 partitions: 5 E[min(degree, 6)]."""
    mean = 5 * degree_law(0.1) @ np.minimum(np.arange(1, 12), 6)
    assert mean == pytest.approx(12.904, abs=5e-4)
    loads = np.array([BatchRaptor(30, 19, 0.1, seed=seed).load for seed in range(200)])
    assert abs(loads.mean() - mean) <= 4.5 * loads.std() / np.sqrt(loads.size)


# --- Fig. 4: settings, tolerances, the true path --------------------------------------------------------------------


@pytest.mark.parametrize("target", ["fig4_fixed_s", "fig4_fixed_alpha"])
def test_settings_of_the_experiment(target):
    figure = figurefile.figure(f"partial_recovery_{target}", "paper")
    for run in figure.runs:
        task, delay, optimizer = (run.config[group] for group in ("task", "delay", "optimizer"))
        assert (task["dataset"], task["hidden"], task["initial_std"], task["evaluate_every"]) == (
            "mnist",
            25,
            0.1,
            1,
        )
        assert (delay["scale"], delay["shape"], delay["data_time"]) == (1e-3, 1.2, 3e-3)
        assert (delay["scaling"], delay["persistence"]) == ("data", 10)
        assert (optimizer["learning_rate"], optimizer["normalize"]) == (0.5, "total")
        assert run.config["code"].get("decoder", "max_disjoint") == "max_disjoint"
        assert run.horizon == 0.8 and figure.file.level == 0.88
        wanted = 10 if run.label in ("cyclic, β = 15", "ε-BRC, ε = 0.1") else 5
        assert len(run.seed_list) == wanted
    if target == "fig4_fixed_s":
        assert {(run.config["n"], run.config["s"]) for run in figure.runs} == {(30, 19)}
        betas = {run.config["code"].get("beta") for run in figure.runs} - {None}
        assert betas == {12, 15, 20}


@cache
def over_all_sets(n: int, s: int, p: int) -> tuple[float, float]:
    """Mean and standard deviation of the recovered fraction: most disjoint arcs by trying all choices of workers."""
    arcs = [sum(1 << (w + i) % n for i in range(p)) for w in range(n)]
    choices = []  # masks of workers with disjoint arcs, most first
    for count in range(n // p, 0, -1):
        for chosen in combinations(range(n), count):
            union = 0
            for w in chosen:
                union |= arcs[w]
            if union.bit_count() == p * count:
                choices.append((sum(1 << w for w in chosen), count))
    fractions = [
        next(count for mask, count in choices if mask & responses == mask) * p / n
        for responses in (sum(1 << w for w in left) for left in combinations(range(n), n - s))
    ]
    return float(np.mean(fractions)), float(np.std(fractions))


def expected(column: str, scheme: str) -> dict:
    """What the figure of the costs expects of a scheme."""
    file = figurefile.figure("partial_recovery_fig4_costs", "paper").file
    values = [claim["value"] for claim in file.claims if "value" in claim]
    (one,) = [v for v in values if (v["column"], v["where"]["scheme"]) == (column, scheme)]
    return one


@pytest.mark.slow
@pytest.mark.parametrize(("s", "p", "deviation"), [(6, 2, 0.0779), (9, 5, 0.1376)])
def test_what_the_costs_tolerate(s, p, deviation):
    """Simulated reference means: 4.5 standard errors of 4000 iterations and half a digit; the table is exact."""
    mean, found = over_all_sets(15, s, p)
    assert found == pytest.approx(deviation, abs=5e-5)
    code = CyclicPartialRecovery(15, s, 10)
    recovered = tables.recovered_partitions(code, s) / 15
    assert recovered.mean() == pytest.approx(mean, abs=1e-12) and recovered.std() == pytest.approx(found)
    slack = 4.5 * found / np.sqrt(4000)
    fraction = expected("mean_recovered_fraction", f"cyclic, s = {s}, p = {p}")
    assert fraction["tolerance"] == pytest.approx(slack + 5e-4, abs=5e-5)
    time = 3e-3 * p / 15 + order_statistics.pareto(15 - s, 15, scale=1e-3, shape=1.2)
    rate = expected("recovered_fraction_per_s", f"cyclic, s = {s}, p = {p}")
    assert rate["tolerance"] == pytest.approx(slack / time + 0.5, abs=0.05)


@pytest.mark.parametrize(
    ("name", "code", "mean", "deviation"),
    [  # mean and deviation over all C(30,19) straggler sets, enumerated outside this suite
        ("cyclic, β = 12", CyclicPartialRecovery(30, 19, 12), 0.542859962, 0.058030),
        ("cyclic, β = 15", CyclicPartialRecovery(30, 19, 15), 0.754733805, 0.088447),
        ("cyclic, β = 20", CyclicPartialRecovery(30, 19, 20), 0.790617329, 0.161100),
        ("ε-FRC, d = 5", FractionalRepetition(30, 5), 0.918403436, 0.097487),
    ],
)
def test_means_of_fixed_s_are_known_exactly(name, code, mean, deviation):
    figure = figurefile.figure("partial_recovery_fig4_costs", "paper")
    trials = figure.file.analysis["trials"]
    fractions = tables._recovered(code, tables.random_sets(30, 19, trials, figure.file.analysis["seed"])) / 30
    error = deviation / np.sqrt(trials)
    assert abs(fractions.mean() - mean) <= 4.5 * error
    assert fractions.std() == pytest.approx(deviation, rel=0.03)
    claim = expected("mean_recovered_fraction", name)
    half = 0.5 * 10.0 ** -len(str(claim["expected"]).split(".")[1])
    assert abs(claim["expected"] - mean) <= half
    assert claim["tolerance"] == pytest.approx(4.5 * error + half, abs=5e-5)


def test_raptor_keeps_its_delays_for_ten_iterations():
    draws = Pareto(scale=1e-3, shape=1.2, data_time=3e-3, persistence=10).draw((3,), 40, 30)
    for code in (BatchRaptor(30, 19, 0.1, seed=3), CyclicRepetition(30, 19)):
        duration = simulate(Scheme(code, Fastest(s=19)), draws).duration[0]
        assert (np.flatnonzero(np.diff(duration)) + 1).tolist() == [10, 20, 30]


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    prepare("digits", folder / "data/prepared/digits.npz")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "label", [run.label for run in figurefile.figure("partial_recovery_fig4_fixed_alpha", "quick").runs]
)
def test_the_true_path_gives_the_masked_gradient(label, digits, tmp_path, monkeypatch):
    """(g) 17 for panel 2: encode, drop, decode in float64 against the weighted pass."""
    (run,) = [
        run
        for run in figurefile.figure("partial_recovery_fig4_fixed_alpha", "quick").runs
        if run.label == label
    ]
    config = run.config | {"iterations": 2, "horizon": None, "seeds": "0-1"}
    config["task"] = config["task"] | {"verify_every": 1}
    monkeypatch.chdir(digits)
    timeline = simulated(config, length_of(config))
    trajectory = run_training(config, tmp_path / "trajectory.npz", timeline)
    found = run_verification(config, timeline, trajectory, tmp_path / "v.json")
    assert found["passed"] and len(found["checks"]) == 4
    assert found["decoded_error"] < 1e-9 and found["weighted_error"] < 1e-5
