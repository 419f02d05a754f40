"""Certified bounds: no scheme is ever below them, they are as large as they may be, and they are refused elsewhere."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import gcexp
from gcexp.codes import Code, CyclicRepetition, FractionalRepetition, PartialWork, Uncoded
from gcexp.command.main import main
from gcexp.delays import Draws, Trace
from gcexp.errors import ParameterError, UserError
from gcexp.run.compose import compose
from gcexp.run.options import option_names
from gcexp.run.scheme import build_scheme
from gcexp.schemes import LATE, Capacity, Decodable, Fewest, Given, Pairs, Scheme, Uneven
from gcexp.theory import bounds
from gcexp.timeline import run_clock, simulate
from tests.conftest import refusals

CLOSE = 1e-9


def draws_of(n: int, T: int, phi: float = 0.0, seed: int = 0, ties: bool = False) -> Draws:
    """Times of real shape: some workers are slow for all, and every row has a straggler."""
    random = np.random.default_rng(seed)
    x = random.uniform(0.5, 2, n) + random.exponential(1, (1, T, n))
    x = np.ceil(3 * x) if ties else x
    return Draws((0,), x.shape, start=phi * x, compute=n * (1 - phi) * x)


def capacity_of(scheme: Scheme, draws: Draws, share: np.ndarray) -> np.ndarray:
    """The capacity bound of each iteration (T,) at the share of the partitions that it decoded."""
    found = np.zeros(len(share))
    for alpha in np.unique(share[share > 0]):
        bound = Scheme(scheme.code, Capacity(alpha), scheme.overhead, scheme.placement, bound=True)
        found[share == alpha] = simulate(bound, draws).duration[0, share == alpha]
    return found


def floor_of(scheme: Scheme, draws: Draws, share: np.ndarray) -> np.ndarray:
    cap = draws.shape[2] * float(scheme.code.load.max()) / scheme.code.k
    fixed, growing = (part[0] for part in draws.parts())
    rows = zip(fixed, growing, share, strict=True)
    return np.array([bounds.work_floor(F, C, max(cap, a), a) for F, C, a in rows]) + scheme.overhead


def shares(timeline) -> tuple[np.ndarray, np.ndarray]:
    """Of each iteration: partitions with a coefficient, and the used share (sum c)^2 / (k sum c^2)."""
    c = timeline.coefficients.astype(float)
    square = (c**2).sum(1)
    used = np.divide(c.sum(1) ** 2, c.shape[1] * square, out=np.zeros(len(c)), where=square > 0)
    return (c != 0).mean(1)[timeline.pattern[0]], used[timeline.pattern[0]]


def never_below(scheme: Scheme, draws: Draws) -> None:
    timeline = simulate(scheme, draws)
    took = timeline.duration[0] * (1 + CLOSE)
    held, used = shares(timeline)
    assert (used <= held + CLOSE).all()
    bound = capacity_of(scheme, draws, held)
    assert (took >= bound).all()
    assert (took >= capacity_of(scheme, draws, np.minimum(held, used))).all()
    if draws.linear and scheme.code.length == 1:
        floor = floor_of(scheme, draws, held)
        assert (bound * (1 + CLOSE) >= floor)[held > 0].all() and (took >= floor).all()


PLAIN = [
    name
    for name in option_names("scheme")
    if not (config := compose([f"scheme={name}"]))["bound"]
    and not config.get("loads")
    and not config.get("placement")
    and "restart" not in name
    and name not in ("deadline", "dropcompute")  # they learn from a trace
    and name != "sr_sgc"  # it decodes in later iterations, of which the theorems say nothing
]


@pytest.mark.parametrize("name", PLAIN)
def test_no_scheme_is_below_its_bounds(name):
    """Every family and rule that has an option, under every value of `late`; row by row."""
    for late, phi in zip(LATE, (0.0, 0.3, 0.7, 0.0), strict=True):
        config = compose([f"scheme={name}", f"late={late}", "chunks=3", "overhead=0.25"])
        scheme = build_scheme(config, 0)
        never_below(scheme, draws_of(scheme.code.n, 12, phi, ties=late == "chunk"))


@pytest.mark.parametrize("file", ["pai-job1", "pai-job4", "bytedance-AR-dp"])
@pytest.mark.parametrize("late", LATE)
def test_nor_on_traces_with_learned_seats(file, late):
    delay = Trace(f"data/traces/{file}.csv", phi=0.4, skip="prefix")
    n = 4 if "AR" in file else 10
    draws = delay.draw((0,), 40, n)
    for placement in (None, Pairs(2)):
        never_below(Scheme(FractionalRepetition(n, 2), Decodable(), placement=placement, late=late), draws)


# --- Random assignments --------------------------------------------------------------------------------------------


def decodable_at(code: Code, at: np.ndarray, alpha: float) -> float:
    """The earliest time at which what was heard holds a share alpha of the partitions: any decoder, generic entries.

    `at` (messages, n) has a worker's last message again where it has fewer.
    """
    for time in np.sort(at.ravel()):
        heard = np.minimum((at <= time).sum(0), code.messages)
        rows = code.encoding.toarray()[code.received(heard[None])[0]]
        if rows.any(0).sum() >= alpha * code.k - CLOSE:
            return time
    return np.inf


def random_code(random, n: int, k: int) -> Code:
    """Any supports: different loads, several messages, repeats; everything is held by somebody."""
    rows = []
    for w in range(n):
        held = random.permutation(k)[: random.integers(1, k + 1)]
        cuts = np.sort(random.integers(0, len(held) + 1, random.integers(0, 3)))
        rows += [(w, part) for part in np.split(held, cuts) if len(part)]
    missing = set(range(k)).difference(*(part for _, part in rows))
    rows += [(int(random.integers(n)), [i]) for i in missing]
    B = np.zeros((len(rows), k))
    for row, (_, part) in enumerate(rows):
        B[row, part] = random.normal(size=len(part))
    return Code(B, owner=[w for w, _ in rows], promise="least_squares", n=n)


def test_no_assignment_is_decodable_before_its_capacity():
    random = np.random.default_rng(0)
    met = 0
    for case in range(300):
        n, k = int(random.integers(2, 6)), int(random.integers(2, 8))
        code = random_code(random, n, k)
        draws = draws_of(n, 1, phi=float(random.choice([0, 0.5])), seed=case)
        most = int(code.messages.max())
        at = np.array([draws.arrival(code.work(r + 1) / k, code.messages)[0, 0] for r in range(most)])
        for alpha in (0.6, 1.0):
            bound = simulate(Scheme(code, Capacity(alpha), bound=True), draws).duration[0, 0]
            found = decodable_at(code, at, alpha)
            assert found >= bound * (1 - CLOSE)
            met += found <= bound * (1 + CLOSE)
    assert met > 20  # and it is not too small: many of them reach it


def test_no_data_bound_assignment_is_decodable_before_theorem_3():
    random, met = np.random.default_rng(1), 0
    for _ in range(300):
        n = int(random.integers(2, 7))
        d, phi = int(random.integers(1, n + 1)), random.choice([0.0, 0.5, 0.9])
        x = random.exponential(1, n) + 0.2
        everything = set(range(n))
        held = [{i, *random.permutation([*everything - {i}])[: d - 1]} for i in random.permutation(n)]
        at = np.array([phi * x[w] + (1 - phi) * x[[*held[w]]].sum() for w in range(n)])
        first = min(t for t in at if set().union(*(held[w] for w in range(n) if at[w] <= t)) == everything)
        bound = float(bounds.data_bound(phi * x, (1 - phi) * x, d))
        assert first >= bound * (1 - CLOSE)
        met += first <= bound * (1 + CLOSE)
    assert met > 20


# --- As large as they may be ---------------------------------------------------------------------------------------


def test_the_bound_is_strong():
    """Two workers of load 2 cannot hold 5 partitions: a third must be heard."""
    x = np.arange(1.0, 6)[None, None]
    draws = Draws((0,), x.shape, compute=5 * x)
    bound = simulate(Scheme(CyclicRepetition(5, 1), Capacity(), bound=True), draws).duration
    assert bound == 6 and float(bounds.capacity(0 * x, x, 2)[0, 0]) == 6


def test_capacity_is_its_formula_and_that_of_clusters():
    draws = draws_of(12, 50, phi=0.3)
    fixed, growing = draws.parts()
    for d in (1, 2, 3, 5, 12):
        code = CyclicRepetition(12, d - 1) if d > 1 else Uncoded(12)
        for alpha in (0.6, 0.9, 1.0):
            found = simulate(Scheme(code, Capacity(alpha), bound=True), draws).duration
            np.testing.assert_allclose(found, bounds.capacity(fixed, growing, d, alpha), rtol=1e-12)
        if 12 % d == 0 and d > 1:
            clusters = simulate(Scheme(FractionalRepetition(12, d), Fewest()), draws).duration
            exact = simulate(Scheme(FractionalRepetition(12, d), Capacity(), bound=True), draws).duration
            np.testing.assert_array_equal(exact, clusters)


def test_the_floor_is_what_loads_in_hindsight_reach():
    for cap in (None, 1.0, 1.5, 3.0):
        for phi in (0.0, 0.6, 1.0):
            draws = draws_of(6, 30, phi)
            fixed, growing = draws.parts()
            took = simulate(Scheme(Uncoded(6), Decodable(), loads=Uneven("hindsight", cap)), draws).duration
            np.testing.assert_allclose(took, bounds.work_floor(fixed, growing, cap), rtol=1e-9)
    loads = bounds.water_loads(fixed, growing, 1.5)
    np.testing.assert_allclose(loads.sum(-1), 6)
    assert (loads <= 1.5 + CLOSE).all() and (np.sort(loads[0, 0])[::-1][:4] == 1.5).all()


def test_the_floor_by_bisection():
    random = np.random.default_rng(2)
    for _ in range(200):
        n = int(random.integers(2, 7))
        F, C = random.uniform(0, 2, n), random.choice([0.0, 1.0], n) * random.uniform(0.1, 2, n)
        cap, alpha = random.choice([1.0, 1.3, 2.0, float(n)]), random.choice([0.4, 1.0])

        def work(tau, F=F, C=C, cap=cap):
            free = np.where(tau >= F, cap, 0.0)
            return np.where(C > 0, np.clip((tau - F) / np.maximum(C, 1e-300), 0, cap), free).sum()

        low, high = 0.0, float((F + cap * C).max()) + 1
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if work(middle) >= alpha * n - 1e-12 else (middle, high)
        assert float(bounds.work_floor(F, C, cap, alpha)) == pytest.approx(high, abs=1e-9)


def test_nothing_is_bounded_at_a_share_of_zero():
    x = np.ones((3, 4))
    assert not bounds.capacity(x, x, 2, fraction=[0]).any() and not bounds.work_floor(x, x, fraction=0).any()
    assert all(np.isinf(bounds.capacity(x, x, load)).all() for load in (0.5, 1e-300, 5e-324))


def test_the_floor_speaks_of_the_same_share_in_every_row():
    """Who gives up the slow row has half of the progress at a hundredth of the time."""
    x = np.array([[1.0, 1.0], [100.0, 100.0]])
    floor = bounds.work_floor(0 * x, x).mean()
    assert floor == 50.5 and bounds.work_floor(0 * x, x, fraction=np.array([1.0, 0.0])).mean() / 0.5 == 1
    for share in (0.2, 0.5, 1.0):
        assert bounds.work_floor(0.3 * x, 0.7 * x, fraction=share).mean() / share >= floor * (1 - CLOSE)


def test_pairs_are_the_best_assignment_for_all_rows():
    """On AR the pairs (0, 2) and (1, 3) reach the bound of one assignment, and learned ones nearly do."""
    draws = Trace("data/traces/bytedance-AR-dp.csv", skip="prefix").draw((0,), 40, 4)
    fixed, growing = (part[0] for part in draws.parts())
    bound, every = bounds.one_assignment(fixed, growing, 2), (fixed + growing).max(1).mean()
    assert bound / every == pytest.approx(0.886603, rel=2e-6)
    assert bound >= bounds.capacity(fixed, growing, 2).mean()

    def took(placement):
        return simulate(
            Scheme(FractionalRepetition(4, 2), Decodable(), placement=placement), draws
        ).duration.mean()

    assert took(Given([0, 2, 1, 3])) == pytest.approx(bound, rel=1e-9)
    assert min(took(Given([0, 1, 2, 3])), took(Given([0, 3, 1, 2])), took(Pairs(2))) > bound
    with pytest.raises(ParameterError, match="n=5"):
        bounds.one_assignment(np.ones((1, 5)), np.ones((1, 5)), 2)


# --- Refused ------------------------------------------------------------------------------------------------------

SE = Trace("data/traces/bytedance-SE-dp.csv", data_bound=True)
HINDSIGHT = Scheme(Uncoded(4), Decodable(), loads=Uneven("hindsight"), bound=True)
LAST = Scheme(Uncoded(50), Decodable(), loads=Uneven())


UNEVEN = Code(np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]]))


@dataclasses.dataclass(frozen=True)
class Anywhere:
    def check(self, code):
        pass

    def seat(self, is_slow, seeds, play=None):
        return np.broadcast_to(np.arange(play.shape[2]), play.shape)


def played(scheme: Scheme, file: str, **keys):
    return run_clock(scheme, Trace(f"data/traces/{file}.csv", **keys), (0,), 3)


test_refused_where_a_theorem_does_not_hold = refusals(
    (lambda: run_clock(Scheme(CyclicRepetition(32, 1), Capacity()), SE, (0,), 3), "wait=capacity"),
    (lambda: run_clock(Scheme(FractionalRepetition(32, 2), Fewest()), SE, (0,), 3), "wait=fewest"),
    (lambda: run_clock(Scheme(Uncoded(32), Decodable(), loads=Uneven()), SE, (0,), 3), "data_bound"),
    (lambda: Scheme(UNEVEN, Capacity(), placement=Anywhere()), "wait=capacity.*placement anywhere"),
    (lambda: Scheme(Uncoded(4), Capacity(), late="finish"), "late=stop"),
    (lambda: Scheme(Uncoded(4), Decodable(), bound=True), "bound: true"),
    (lambda: Scheme(Uncoded(4), Capacity(), loads=Uneven()), "scheme=work_floor"),
    (lambda: played(HINDSIGHT, "bytedance-AR-chunk"), "load"),
    (lambda: played(LAST, "faas-aws-256mb", rows=[0]), "know=last.*faas-aws-256mb"),
    (lambda: Scheme(Uncoded(10), Decodable(), loads=Uneven(cap=0.5)), "n=10.* cap=0.5"),
    (lambda: Capacity(0.0), "fraction.* 0.0"),
    (lambda: bounds.work_floor(np.ones(10), np.ones(10), cap=0.5), "n=10.* cap=0.5"),
    (lambda: bounds.work_floor("x", np.ones(2)), "'x'"),
    (lambda: bounds.work_floor(np.ones(2), np.ones(3)), "shapes"),
    (lambda: bounds.capacity(np.ones(2), np.ones(2), 2, fraction=np.ones(3)), "fraction"),
    (lambda: bounds.capacity(np.ones((3, 2)), 1, 2, fraction=np.ones(2)), "fraction"),
    (lambda: bounds.needed(10, 2, 1.5), "fraction.* 1.5"),
    (lambda: bounds.one_assignment(np.ones(3), np.ones(3), 2), "rows"),
    (lambda: bounds.one_assignment(np.ones((2, 3)), np.ones((2, 3)), np.nan), "load"),
)


@pytest.mark.parametrize(
    "bound",
    [bounds.work_floor, bounds.capacity, bounds.water_loads, bounds.data_bound, bounds.one_assignment],
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_times_are_finite_and_not_negative(bound, bad):
    load = [] if bound in (bounds.work_floor, bounds.water_loads) else [2]
    good, wrong = np.ones((2, 3)), np.array([[1.0, bad, 1.0], [1.0, 1.0, 1.0]])
    for given, kind in (((wrong, good), "fixed"), ((good, wrong), "growing")):
        with pytest.raises(ParameterError, match=f"{kind} times .* got {bad:g}"):
            bound(*given, *load)


def test_placements_that_stay():
    """Seats do not matter where loads and messages are equal, nor where a worker keeps its seat."""
    for code in (PartialWork(4, 2, 2), UNEVEN):
        assert Scheme(code, Capacity(), placement=Pairs(2)).bound


def test_a_bound_as_a_scheme_and_no_task_for_it(capsys):
    clock = ["delay=pai_job4", "n=10", "s=1", "iterations=5", "seeds=1"]
    assert main(["simulate", "scheme=capacity", *clock]) == 0
    assert main(["simulate", "scheme=work_floor", *clock]) == 0
    assert main(["simulate", "scheme=capacity", *clock, "late=every"]) == 2
    for scheme, delay, named in (
        ("work_floor", "pai_job4", "decode"),
        ("uncoded", "local_steps", "local_steps"),
    ):
        with pytest.raises(UserError, match=named):
            gcexp.train(scheme=scheme, n=10, delay=delay, task="digits_mlp")


@pytest.mark.filterwarnings("error")
def test_a_bound_that_no_number_holds_is_infinite():
    assert bounds.capacity(np.ones((2, 2)), 1e308, load=2).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("cap", [None, 1.5])
def test_loads_of_the_last_row_follow_who_had_something_to_do(cap, monkeypatch):
    """As row by row, also where the clock asks for some rows at a time: who had no work keeps what is known of it."""
    monkeypatch.setattr("gcexp.schemes.loads._TOGETHER", 8)
    draw = np.random.default_rng(0)
    whole = draw.integers(1, 9, (2, 30, 5)).astype(float)
    fixed, growing = 0.6 * whole, 0.4 * whole

    def draws(rows):
        part = fixed[:, rows]
        return Draws((0, 1), part.shape, start=part, compute=5 * growing[:, rows])

    wanted, seen = np.ones(whole.shape), None
    for t in range(30):
        if seen is not None:
            wanted[:, t] = bounds.water_loads(*seen, cap)
        here = wanted[:, t] > 0
        known = (fixed[:, t], growing[:, t]) if seen is None else seen
        seen = [np.where(here, part[:, t], old) for part, old in zip((fixed, growing), known, strict=True)]
    assert (wanted == 0).any()
    for first, second in ((1, 12), (3, 4)):
        loads = Uneven(know="last", cap=cap).start(5, None)
        found = [loads(draws(slice(*rows))) for rows in ((0, first), (first, second), (second, 30))]
        np.testing.assert_array_equal(np.concatenate(found, axis=1), wanted)
