"""Failures on the clock against other ways to the same numbers: renewal, Lambert's W, enumeration, Erlang's B."""

from itertools import combinations
from math import factorial, inf

import numpy as np
import pytest

from gcexp.codes import CyclicRepetition, FractionalRepetition, SPARe, Uncoded
from gcexp.delays import Draws
from gcexp.failures import Costs, Job, Lifetimes, Respread, Steps, best_goodput, goodput, of_history
from gcexp.failures.history import History
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.schemes.micro_batches import Covered
from gcexp.seeding import rng
from gcexp.theory import failures as theory

MTBF, RESTART, SAVE = 3600.0, 600.0, 30.0


def equal(n, rows=1):
    """The draws of equal workers."""
    return Draws((0,), (1, rows, n), compute=float(n))


def alone(n):
    return Steps(Scheme(Uncoded(n), Fastest(q=n)), equal(n))


def copies(n, r):
    return Steps(Scheme(FractionalRepetition(n, r), Decodable()), equal(n))


def job(steps, restart=RESTART, mtbf=MTBF, most=(), **keys):
    """A job, whose run may end after less fatal failures and failures in all."""
    domains = steps.n // keys.get("domain", 1)
    return Job(Lifetimes(n=steps.n, mean=mtbf * domains, **keys), steps, restart, *most)


def shares(found):
    parts = ("progress", "slower_steps", "saving", "redo", "lost_work", "restart", "waiting")
    return [getattr(found, part) for part in parts]


def close(found, wanted):
    """Within 1 % or three standard errors."""
    return abs(found.progress - wanted) <= max(0.01 * wanted, 3 * found.error)


# --- 1. Renewal -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [1.0, 0.78])
@pytest.mark.parametrize(
    "steps, survives, slow",
    [
        (alone(24), lambda failed: theory.groups_survive(failed, 24, 1), 1),
        (copies(24, 2), lambda failed: theory.groups_survive(failed, 24, 2), 2),
        (copies(24, 3), lambda failed: theory.groups_survive(failed, 24, 3), 3),
        (
            Steps(Scheme(CyclicRepetition(n=12, s=3), Fastest(s=3)), equal(12)),
            lambda failed: theory.any_survive(failed, 12, 3),
            4,
        ),
    ],
    ids=["no redundancy", "two copies", "three copies", "any three"],
)
def test_goodput_is_that_of_the_renewal_formula(steps, survives, slow, shape):
    mean = MTBF * steps.n
    period = 900.0
    found = goodput(job(steps, shape=shape), Costs(SAVE), period)
    wanted = theory.goodput(
        lambda time: survives(theory.failed_by(time, mean, shape)), period, SAVE, RESTART, slow
    )
    assert close(found, wanted)
    assert sum(shares(found)) == pytest.approx(1, abs=1e-12)


def test_goodput_with_exponential_replacement_is_that_of_the_renewal_formula():
    n, mtbf, rejoin = 8, 300.0, 400.0
    found = goodput(
        job(copies(n, 2), mtbf=mtbf, rejoin=rejoin, rejoin_law="exponential"), Costs(SAVE), period=500.0
    )
    end = 40_000.0
    times = np.linspace(0, end, 801)
    known = theory.replaced_survive(times, n, 2, mtbf * n, rejoin)

    def survives(time):
        return np.exp(np.interp(time, times, np.log(known), right=-inf))

    assert close(found, theory.goodput(survives, 500.0, SAVE, RESTART, slow=2))


# --- 2. The best period ---------------------------------------------------------------------------------------


def test_the_best_period_without_redundancy():
    period = theory.best_period(MTBF, SAVE)
    assert period == pytest.approx(445, abs=0.5)
    of_theory = theory.goodput(lambda time: np.exp(-time / MTBF), period, SAVE, RESTART)
    assert of_theory == pytest.approx(0.7512, abs=5e-5)
    found = best_goodput(job(alone(24)), Costs(SAVE))
    assert found.period == pytest.approx(period, rel=0.2)  # goodput is flat there
    assert close(found, of_theory)


# --- 3. Endured failures --------------------------------------------------------------------------------------


ORDERS = 4000  # a mean over them is off by less than 1 %


def endured(steps):
    """Mean number of failures up to and with the fatal one, over some orders of failing workers."""
    orders = np.array([rng(0, "monte_carlo", i).permutation(steps.n) for i in range(ORDERS)])
    total = 0
    for order in orders:
        dead = np.cumsum([1 << int(worker) for worker in order]).tolist()
        times = [step.time for step in steps.of(dead)]
        total += times.index(inf) + 1
    return total / len(orders)


def survived_sets(n, holders):
    """Mean endured failures over all sets: the sum over f of the share of sets of f workers that are survived."""
    mean = 0.0
    for f in range(n):
        sets = list(combinations(range(n), f))
        mean += np.mean([all(not holder <= set(dead) for holder in holders) for dead in sets])
    return mean


def test_endured_failures_of_two_copies():
    wanted = theory.mean_endured(20, 2)
    assert theory.mean_endured(8, 2) == pytest.approx(
        survived_sets(8, [{2 * i, 2 * i + 1} for i in range(4)])
    )
    assert endured(copies(20, 2)) == pytest.approx(wanted, rel=0.02)


def test_endured_failures_of_stacks():
    n, d = 9, 3
    code = SPARe(n, d)
    steps = Steps(Scheme(code, Covered()), equal(n))
    holders = [{int(w) for w in np.flatnonzero(code.assignment[:, i])} for i in range(n)]
    assert endured(steps) == pytest.approx(survived_sets(n, holders), rel=0.02)


# --- 4. Waiting for machines ----------------------------------------------------------------------------------


@pytest.mark.parametrize("spares", [0, 2])
def test_waiting_for_machines_is_erlangs_formula(spares):
    mtbf, repair, period = 3600.0, 7200.0, 30.0
    found = goodput(
        job(alone(6), restart=0.0, rejoin=0.0, spares=spares, repair=repair, mtbf=mtbf), Costs(0.0), period
    )
    load = repair / mtbf
    lines = spares + 1
    erlang = load**lines / factorial(lines) / sum(load**i / factorial(i) for i in range(lines + 1))
    assert theory.share_waiting(spares, repair, mtbf) == pytest.approx(erlang)
    assert found.waiting == pytest.approx(erlang, abs=max(0.01, 3 * found.error))


# --- 5. and 6. Limits -----------------------------------------------------------------------------------------


def test_without_failures_the_goodput_is_that_of_the_clock():
    times = rng(0, "rows").exponential(size=(50, 6)) + 1
    draws = Draws((0,), (1, 50, 6), compute=6 * times[None])
    waiting = Steps(Scheme(Uncoded(6), Fastest(q=6)), draws).alive.time
    steps = Steps(Scheme(FractionalRepetition(6, 2), Decodable()), draws)
    ratio = steps.alive.time / waiting
    found = best_goodput(job(steps, mtbf=1e15), Costs(SAVE, ideal=waiting))
    assert found.progress == pytest.approx(1 / ratio, rel=1e-4)
    free = goodput(job(steps, mtbf=1e15), Costs(0.0, ideal=waiting), period=1.0)
    assert free.progress == pytest.approx(1 / ratio, rel=1e-12)


@pytest.mark.parametrize("rejoin", [0.0, 600.0, inf])
@pytest.mark.parametrize("redo", [0.0, 20.0])
def test_no_goodput_is_above_the_ratio_of_the_steps(rejoin, redo):
    for steps, step in ((alone(12), 1), (copies(12, 2), 2)):
        found = best_goodput(job(steps, rejoin=rejoin, most=(50, 2000)), Costs(SAVE, redo))
        assert found.progress <= 1 / step
        assert sum(shares(found)) == pytest.approx(1, abs=1e-12)


# --- The rules, one by one, on histories that are written by hand ----------------------------------------------


def history(lengths, failed, fatal=True, step=1.0, waiting=0.0, restart=100.0, **keys):
    """One life of so many stretches."""
    count = len(lengths)
    return History(
        n=2,
        life=np.zeros(count, dtype=int),
        length=np.array(lengths, dtype=float),
        step=np.full(count, step) if np.ndim(step) == 0 else np.array(step),
        used=np.ones(count),
        alive=np.full(count, 2.0),
        failed=np.array(failed),
        fatal=np.array([fatal]),
        waiting=np.array([waiting]),
        restart=np.array([restart]),
        failures=np.array([1.0 + sum(failed)]),
        **keys,
    )


def seconds(found, wall):
    """The shares in seconds."""
    return [round(share * wall, 6) for share in shares(found)]


def test_work_since_the_last_finished_save_is_lost():
    found = of_history(history([250.0], [False]), Costs(save=10.0), period=100.0)
    # Two periods and saves are finished at 220; 30 s of work are lost.
    assert seconds(found, 350.0) == [200.0, 0.0, 20.0, 0.0, 30.0, 100.0, 0.0]
    assert found.saves == 2 and found.endured == 1


def test_a_save_that_is_broken_loses_its_period():
    found = of_history(history([105.0], [False]), Costs(save=10.0), period=100.0)
    assert seconds(found, 205.0) == [0.0, 0.0, 5.0, 0.0, 100.0, 100.0, 0.0]


def test_redo_stops_the_clock_of_the_period():
    lived = history([50.0, 200.0], [False, True])
    found = of_history(lived, Costs(save=10.0, redo=20.0), period=100.0)
    # 230 s of work and saves as before: the second save is finished 20 s later.
    assert seconds(found, 350.0) == [200.0, 0.0, 20.0, 20.0, 10.0, 100.0, 0.0]


def test_redo_stops_a_save_which_then_goes_on():
    lived = history([105.0, 30.0], [False, True])
    found = of_history(lived, Costs(save=10.0, redo=20.0), period=100.0)
    assert seconds(found, 235.0) == [100.0, 0.0, 10.0, 20.0, 5.0, 100.0, 0.0]


def test_failures_during_redo_are_redone_as_well():
    lived = history([50.0, 5.0, 200.0], [False, True, True])
    found = of_history(lived, Costs(save=10.0, redo=20.0), period=100.0)
    assert seconds(found, 355.0)[3] == 40.0
    fatal_during_redo = history([50.0, 5.0], [False, True])
    assert seconds(of_history(fatal_during_redo, Costs(10.0, 20.0), 100.0), 155.0)[3:5] == [5.0, 50.0]


def test_progress_is_continuous_and_follows_the_step():
    lived = history([60.0, 60.0], [False, True], step=[2.0, 4.0])
    found = of_history(lived, Costs(save=10.0, ideal=1.0), period=100.0)
    # 60 s at 2 s a step and 40 s at 4 s a step are saved.
    assert seconds(found, 220.0)[:2] == [40.0, 60.0]


def test_faster_steps_make_slower_steps_negative():
    found = of_history(history([110.0], [False], step=0.5), Costs(save=10.0), period=100.0)
    assert seconds(found, 210.0)[:2] == [200.0, -100.0]


def test_a_run_that_does_not_end_is_cut_at_its_last_save():
    found = of_history(history([250.0], [False], fatal=False, restart=0.0), Costs(10.0), 100.0)
    assert found.progress == pytest.approx(200 / 220)
    closed = of_history(history([250.0], [False], fatal=False, restart=0.0, closed=True), Costs(10.0), 100.0)
    assert closed.progress == pytest.approx(200 / 250) and closed.lost_work == pytest.approx(30 / 250)


def test_a_run_ends_at_its_last_save(monkeypatch):
    monkeypatch.setattr("gcexp.failures.shares.MOST_SAVES", 1)
    found = of_history(history([250.0], [False]), Costs(save=10.0), period=100.0)
    assert found.saves == 1 and found.restart == 0
    assert found.progress == pytest.approx(100 / 110)


# --- Schemes ---------------------------------------------------------------------------------------------------


def test_respread_takes_longer_by_the_share_of_the_dead():
    draws = Draws((0,), (1, 1, 4), start=0.5, compute=2.0)  # phi = 0.5: a step of 1 with the own share
    steps = Steps(Scheme(Uncoded(4), Fastest(q=4), loads=Respread()), draws)
    times = [step.time for step in steps.of([0b0000, 0b0001, 0b0110, 0b1111])]
    assert times == pytest.approx([1.0, 0.5 + 0.5 * 4 / 3, 0.5 + 0.5 * 2, inf])


def test_a_domain_takes_all_its_workers():
    found = best_goodput(job(copies(24, 2), domain=2), Costs(SAVE))
    assert found.endured == 1  # neighbours are the two copies
    apart = best_goodput(job(copies(24, 2), domain=1), Costs(SAVE))
    assert apart.endured == pytest.approx(theory.mean_endured(24, 2), rel=0.05)
