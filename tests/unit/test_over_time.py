"""Codes over time: which iteration completes which gradient, when a curve has it, and SR-SGC."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from gcexp.codes import CyclicRepetition, FractionalRepetition, SPARe, Uncoded
from gcexp.delays import Pareto
from gcexp.errors import ParameterError
from gcexp.run.measurement import Measurement
from gcexp.run.result_columns import curve_of
from gcexp.run.run import Run
from gcexp.run.trainings import HomeTrainings
from gcexp.schemes import Decodable, Scheme, SelectiveRepeat, Uneven
from gcexp.summary import summarise, summary_of
from gcexp.timeline import joined, run_clock, simulate
from gcexp_adviser.benchmark import bound_of

DELAY = Pareto(persistence=1)
T, SEEDS = 60, (0, 1)


@dataclass(frozen=True)
class Errands:
    """Each worker works for a random one of the last iterations; the master stops at the q-th arrival."""

    q: int
    lag: int

    def begin(self, lead):
        return 0

    def ages(self, code, state):
        return np.random.default_rng(state).integers(0, self.lag + 1, code.n)

    def stop(self, code, arrive, state):
        at = arrive()
        time = np.sort(at, axis=-1)[..., self.q - 1]
        return time, (at <= time[..., None]).astype(np.int16), state + 1


class Later(Errands):
    """Its workers work for iterations that are too long ago."""

    def ages(self, code, state):
        return np.full(code.n, self.lag + 1)


ERRANDS = Scheme(FractionalRepetition(n=6, d=3), Errands(q=4, lag=2), overhead=0.1)


@pytest.fixture(scope="module")
def errands():
    """Timeline of errands, and the same by a plain loop over rounds: what each gradient has been sent, and when."""
    draws = DELAY.draw(SEEDS, T, 6)
    sent = np.zeros((2, T, 6), dtype=int)
    completed = np.full((2, T), T)
    for s in range(2):
        for t in range(T):
            at = draws.arrival(3 / 6, 1.0)[s, t]
            age = ERRANDS.wait.ages(ERRANDS.code, t)
            for w in np.flatnonzero(at <= np.sort(at)[3]):
                job = t - age[w]
                if job >= 0 and completed[s, job] == T:
                    sent[s, job, w] = 1
            for job in range(max(t - 2, 0), t + 1):
                groups = sent[s, job].reshape(2, 3).any(1)
                if completed[s, job] == T and (groups.all() or job == t - 2):
                    completed[s, job] = t
    return SimpleNamespace(timeline=simulate(ERRANDS, draws), sent=sent, completed=completed)


def test_the_timeline_says_which_iteration_completes_which_gradient(errands):
    timeline = errands.timeline
    np.testing.assert_array_equal(timeline.completed, errands.completed)
    decoded = errands.completed[:, : T - 2] - np.arange(T - 2)
    assert set(decoded.ravel()) == {0, 1, 2}
    for s, steps in enumerate(timeline.steps):
        assert T - 2 <= steps <= T and (errands.completed[s, :steps] < T).all()
        assert steps == T or errands.completed[s, steps] == T
        pattern = timeline.pattern[s, :steps]
        np.testing.assert_array_equal(timeline.patterns[pattern], errands.sent[s, :steps])
    exact = ERRANDS.code.met(timeline.patterns)
    assert not exact.all(), "some gradient is decoded from what there is after the lag"
    np.testing.assert_array_equal((timeline.coefficients == 1).all(1), exact)


def test_a_gradient_is_there_when_it_and_all_before_it_are_decoded(errands):
    timeline = errands.timeline
    clock = timeline.clock
    for s in range(2):
        for t in range(timeline.steps[s]):
            last = errands.completed[s, : t + 1].max()
            assert timeline.finished[s, t] == clock[s, last]
    horizon = clock[:, T // 2].max()
    cut = timeline.until(horizon)
    for s, steps in enumerate(cut.steps):
        assert cut.finished[s, steps - 1] >= horizon > cut.finished[s, steps - 2]
    plain = simulate(Scheme(Uncoded(6), Decodable()), DELAY.draw(SEEDS, T, 6))
    np.testing.assert_array_equal(plain.finished, plain.clock)


def test_pieces_seeds_files_and_summaries_agree(errands, tmp_path):
    whole = run_clock(ERRANDS, DELAY, SEEDS, T)
    pieces = run_clock(ERRANDS, DELAY, SEEDS[:1], T, chunk=60)
    np.testing.assert_array_equal(pieces.completed[0], whole.completed[0])
    np.testing.assert_array_equal(pieces.duration[0], whole.duration[0])
    both = joined([pieces, replace(pieces, seeds=np.array([1]))])
    np.testing.assert_array_equal(both.completed, np.tile(whole.completed[:1], (2, 1)))
    whole.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as stored:
        np.testing.assert_array_equal(stored["completed"], whole.completed)
    streamed, kept = summarise(ERRANDS, DELAY, SEEDS, T), summary_of(whole, decodes=True)
    np.testing.assert_array_equal(streamed.error, kept.error)
    np.testing.assert_array_equal(streamed.steps, whole.steps)
    assert (streamed.error > 0).all()


def test_what_has_no_meaning_over_time_is_refused():
    code = CyclicRepetition(n=5, s=1)
    for scheme, named in (
        (lambda: Scheme(Uncoded(5), SelectiveRepeat(), loads=Uneven()), "loads"),
        (
            lambda: simulate(Scheme(code, SelectiveRepeat(burst=2, window=3)), DELAY.draw(SEEDS, 2, 5)),
            "iterations",
        ),
        (lambda: Scheme(code, Errands(3, lag=0)), "lag=0"),
        (lambda: simulate(Scheme(code, Later(3, lag=1)), DELAY.draw(SEEDS, 9, 5)), "ages"),
        (lambda: simulate(Scheme(SPARe(7, 3), SelectiveRepeat()), DELAY.draw(SEEDS, 9, 7)), "SPARe"),
        (lambda: simulate(Scheme(code, SelectiveRepeat(stragglers=3)), DELAY.draw(SEEDS, 9, 5)), "s >= 2"),
        (lambda: SelectiveRepeat(burst=2, window=4), "burst=2"),
        (lambda: SelectiveRepeat(mu=-1.0), "mu"),
    ):
        with pytest.raises(ParameterError, match=named):
            scheme()


# --- SR-SGC -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("burst", "window", "s"), [(1, 2, 1), (1, 4, 2), (2, 3, 2), (2, 5, 2), (3, 4, 1)])
def test_selective_repeat_finishes_every_gradient_in_time(burst, window, s):
    """Against a plain loop over rounds; and the stragglers keep the bursty model for which the code is built."""
    n, code = 9, CyclicRepetition(n=9, s=s)
    rule = SelectiveRepeat(burst=burst, window=window, mu=0.7)
    draws = DELAY.draw(SEEDS, T, n)
    timeline = simulate(Scheme(code, rule), draws)
    assert (timeline.coefficients == 1).all() and (timeline.steps >= T - burst).all()
    at, most = draws.arrival(code.load / code.k, 1.0), s * (window - 1 + burst) // burst
    repeated = 0
    for s_ in range(2):
        heard = at[s_] <= timeline.duration[s_, :, None]
        own = np.zeros((T, n), dtype=bool)
        for t in range(T):
            again = []
            if t >= burst:
                missing = np.flatnonzero(~own[t - burst])
                again = missing[: max(len(missing) - s, 0)].tolist()
                assert own[t - burst].sum() + heard[t][again].sum() >= n - s
            own[t] = heard[t] & ~np.isin(np.arange(n), again)
            repeated += len(again)
            last = t if own[t].sum() >= n - s else t + burst
            assert timeline.completed[s_, t] == min(last, T)
            # The model, and that no less waiting keeps it.
            early = ~heard[max(t - window + 1, 0) : t]
            straggles = ~heard[t]
            assert (early.any(0) | straggles).sum() <= most
            long_ago = ~heard[max(t - window + 1, 0) : max(t - burst + 1, 0)]
            assert not (long_ago.any(0) & straggles).any()
            took = timeline.duration[s_, t]
            if took > 1.7 * at[s_, t].min() and not np.isclose(took, 1.7 * at[s_, t].min()):
                sooner = at[s_, t] >= took
                too_many = (early.any(0) | sooner).sum() > most
                assert too_many or (long_ago.any(0) & sooner).any()
    assert repeated > 0


def rounds(at, *, burst, window, mu, s):
    """Durations of SR-SGC, and the round at whose end each gradient is decoded, by loops and sets over times (T, n).

    The master tries to end a round after (1 + mu) times the fastest worker, then at each later arrival, until those who
    are late keep the bursty model.
    """
    n = at.shape[1]
    most = s * (window - 1 + burst) // burst
    durations, late, sent, completed = [], [], [], {}
    for t, times in enumerate(at.tolist()):
        within, long_ago = set(), set()
        for before in range(max(t - window + 1, 0), t):
            within |= late[before]
            if t - before >= burst:
                long_ago |= late[before]
        patient = (1 + mu) * min(times)
        for end in [patient, *sorted(time for time in times if time > patient)]:
            now = {worker for worker in range(n) if times[worker] > end}
            if len(within | now) <= most and not now & long_ago:
                break
        late.append(now)
        durations.append(min(end, max(times)))
        job = t - burst
        repeat = set()
        if job >= 0 and job not in completed:
            lacking = [worker for worker in range(n) if worker not in sent[job]]
            repeat = {*lacking[: n - s - len(sent[job])]}
            if not repeat & now:
                completed[job] = t
        sent.append({*range(n)} - now - repeat)
        if len(sent[t]) >= n - s:
            completed[t] = t
    return durations, completed


@pytest.mark.parametrize(
    ("burst", "window", "s", "n"), [(1, 2, 1, 6), (1, 4, 2, 9), (2, 5, 2, 9), (3, 7, 3, 12)]
)
@pytest.mark.parametrize("mu", [0.0, 0.4, 2.0])
def test_times_of_selective_repeat_are_those_of_its_description(burst, window, s, n, mu):
    code = CyclicRepetition(n=n, s=s)
    draws = DELAY.draw(SEEDS, T, n)
    timeline = simulate(Scheme(code, SelectiveRepeat(burst=burst, window=window, mu=mu)), draws)
    at = draws.arrival(code.load / code.k, 1.0)
    for seed, times in enumerate(at):
        durations, completed = rounds(times, burst=burst, window=window, mu=mu, s=s)
        assert timeline.duration[seed].tolist() == durations
        decoded = timeline.completed[seed].tolist()
        assert {t: last for t, last in enumerate(decoded) if last < T} == completed


def test_selective_repeat_gains_where_stragglers_are_rare_and_bursts_short():
    """With a load of 2 it endures two stragglers of an iteration, for which a code by itself needs a load of 3."""
    delay = Pareto(shape=6.0, persistence=1, scaling="server")
    over_time = Scheme(CyclicRepetition(n=20, s=1), SelectiveRepeat(burst=1, window=2, stragglers=2, mu=0.5))
    alone = Scheme(CyclicRepetition(n=20, s=2), Decodable())
    one, other = (run_clock(scheme, delay, SEEDS, 200).duration.mean() for scheme in (over_time, alone))
    assert one < other


def test_bounds_of_single_iterations_do_not_speak_of_codes_over_time():
    """One that hears almost nobody for once is far below the capacity of its code."""
    scheme = Scheme(CyclicRepetition(n=10, s=1), SelectiveRepeat(burst=1, window=9, mu=0.1))
    draws = DELAY.draw((0,), T, 10)
    least = bound_of(Scheme(scheme.code, Decodable()), draws, 1.0)
    assert (simulate(scheme, draws).duration < least).any()
    assert bound_of(scheme, draws, 1.0) is None


def test_a_curve_has_a_gradient_when_it_is_decoded():
    """Exact schemes share their training; the replay decodes each gradient from messages of two iterations."""
    given = ("scheme=sr_sgc", "n=9", "s=2", "delay=pareto", "delay.persistence=1", "iterations=14", "seeds=1")
    learned = ("task=digits_mlp", "task.verify_every=4", "task.evaluate_every=1")
    measurement = Measurement(Run.of([*given, *learned]), HomeTrainings(progress=False))
    timeline, curve = measurement.timeline, measurement.curve
    assert measurement.report["passed"] and (timeline.completed[:, :12] > np.arange(12)).any()
    for s, seed in enumerate(timeline.seeds):
        of_seed = curve[curve["seed"] == seed].set_index("iteration")["simulated_time_s"]
        assert of_seed.index.max() == timeline.steps[s]
        for updates, time in of_seed.items():
            assert time == (timeline.finished[s, updates - 1] if updates else 0)
    other = Run.of(["scheme=cgc", *given[1:], *learned])
    same = curve_of(other.clock(), measurement.trajectory)
    both = curve.merge(same, on=["seed", "iteration"])
    assert len(both) == len(curve) and (both["test_loss_x"] == both["test_loss_y"]).all()
