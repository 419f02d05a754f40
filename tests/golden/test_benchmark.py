"""The benchmark of remedies and bounds: break-evens, colours and gaps of an own computation, and the command."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp import benchmarking
from gcexp.benchmarking import (
    ALONE,
    CANNOT,
    COLUMNS,
    LOSES,
    REBALANCING,
    WAITING,
    WINS,
    Replay,
    _crossing,
    break_evens,
)
from gcexp.codes import Uncoded
from gcexp.command.main import main
from gcexp.errors import ParameterError, UserError
from gcexp.figures import read_table
from gcexp.run.benchmarked import decided_by, entries
from gcexp.theory import bounds

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    name: f"data/traces/{file}.csv"
    for name, file in (
        *((f"job{j}", f"pai-job{j}") for j in range(1, 5)),
        ("AR", "bytedance-AR-dp"),
        ("SE", "bytedance-SE-dp"),
    )
}
CYCLIC, HOME, LEARNED = "cyclic, s = 1", "FRC, d = 2", "FRC, d = 2, learned pairs"


@cache
def found(file: str, label: str) -> pd.DataFrame:
    return break_evens([{"file": file}], [label]).set_index("against")


def ends(file, label: str, against: str) -> dict:
    """From where on a scheme wins on a trace, and from where on any code of its loads may."""
    row = found(str(file), label).loc[against]
    return {name: row[column] for name, column in (("scheme", "wins_from"), ("bound", "bound_from"))}


#: Where schemes break even with waiting for all (E38), and the learned pairs with rebalancing (E39 and its bound, B11).
AGAINST_WAITING = {
    CYCLIC: {"SE": 0.931175},
    HOME: {"job1": 0.938801, "SE": 0.81467},
    LEARNED: {"job1": 0.889474, "job4": 0.0, "SE": 0.836531},
    "backup 1": {"job1": 0.572245, "SE": 0.0},
}
AGAINST_REBALANCING = {"job1": (0.958488, 0.943029), "job4": (0.346009, 0.346009), "SE": (0.836531, 0.712914)}
AGAINST_REBALANCING["AR"] = (0.947433, 0.946739)
#: Below which share no code of load 2 beats waiting for all, in closed form (B9).
NO_CODE_OF_LOAD_2 = {"job1": 0.867190, "job4": 0.0, "SE": 0.712914}


def test_break_evens():
    """In one test, since the pairs' break-evens answer three questions."""
    for label, expected in AGAINST_WAITING.items():
        for name, phi in expected.items():
            assert ends(FILES[name], label, "waiting")["scheme"] == pytest.approx(phi, abs=2e-6)
    for name, (scheme, bound) in AGAINST_REBALANCING.items():
        pairs = ends(FILES[name], LEARNED, "rebalancing")
        assert pairs["scheme"] == pytest.approx(scheme, abs=2e-6)
        assert pairs["bound"] == pytest.approx(bound, abs=2e-6)
    for name, phi in NO_CODE_OF_LOAD_2.items():
        assert ends(FILES[name], LEARNED, "waiting")["bound"] == pytest.approx(phi, abs=2e-6)


#: More of E38 and B9, for which the published table answers: computing it again takes ten seconds.
PUBLISHED = {
    ("PAI 1", CYCLIC): {"wins_from": 0.952472, "bound_from": 0.867190},
    ("PAI 2", CYCLIC): {"bound_from": 0.900357},
    ("PAI 3", CYCLIC): {"bound_from": 0.872788},
    ("PAI 4", HOME): {"wins_from": 0.338015, "bound_from": 0.0},
}


BREAKEVENS = ROOT / "reports/published/data/stragglers_breakeven.csv"


@pytest.mark.skipif(
    not BREAKEVENS.exists(), reason="the study of stragglers was deleted, and its tables with it"
)
@pytest.mark.parametrize(("trace", "label"), PUBLISHED)
def test_published_break_evens(trace, label):
    table = pd.read_csv(BREAKEVENS)
    (row,) = table.query("trace == @trace and scheme == @label and against == 'waiting'").to_dict("records")
    for column, phi in PUBLISHED[trace, label].items():
        assert row[column] == pytest.approx(phi, abs=2e-6)


def bound_over(name: str, against: str):
    """Workers, and by how much the bound of load n / q exceeds the reference at some phi."""
    whole = Replay.of(FILES[name])

    @cache
    def excess(q: int, phi: tuple[float, ...]) -> np.ndarray:
        n, d = whole.n, whole.n / q
        bound = bounds.capacity(*whole.draws(n, phi).parts(), d).mean(1) / whole.waiting(n, phi).mean(1)
        return bound / (1.0 if against == "waiting" else whole.reference(n, d, phi)[0]) - 1

    return whole.n, excess


#: The phi below which no load n/q can win, and the q that binds.
ANY_LOAD = {
    "waiting": {  # B10
        **{"job1": (0.572245, 9), "job2": (0.560072, 9), "job3": (0.7333, 8)},
        **{"job4": (0, 5), "AR": (0, 3), "SE": (0, 31)},
    },
    "rebalancing": {  # B12
        **{"job1": (0.846865, 9), "job2": (0.928162, 9), "job3": (0.904085, 7)},
        **{"job4": (0.346009, 5), "AR": (0.431598, 3), "SE": (0, 31)},
    },
}


@pytest.mark.parametrize("against", ANY_LOAD)
def test_below_what_no_code_of_any_load_can(against):
    """Of all real loads d = n/q the named one binds: it wins from there on, and just below none does."""
    for name, (phi, binding) in ANY_LOAD[against].items():
        n, excess = bound_over(name, against)
        if phi == 0:
            assert excess(binding, (0.0,)) < 0
        else:
            assert _crossing(partial(excess, binding), last=False) == pytest.approx(phi, abs=2e-6)
            if name != "job4":  # the longest
                assert min(excess(q, (phi - 1e-5,)) for q in range(1, n)) > 0


COLOURS = {  # B15 at phi 0, 0.5, 0.9, 1
    LEARNED: {
        "job1": [CANNOT] * 3 + [WINS],
        "job3": [CANNOT] * 3 + [LOSES],
        "job2": [CANNOT] * 3 + [WINS],
        "AR": [CANNOT] * 3 + [WINS],
        "job4": [CANNOT, WINS, WINS, WINS],
        "SE": [CANNOT, CANNOT, WINS, WINS],
    },
    CYCLIC: {
        "job1": [CANNOT] * 3 + [LOSES],
        "job2": [CANNOT] * 3 + [LOSES],
        "job3": [CANNOT] * 3 + [LOSES],
        "job4": [CANNOT, LOSES, LOSES, LOSES],
        "AR": [CANNOT] * 3 + [WINS],
        "SE": [CANNOT, CANNOT, LOSES, WINS],
    },
}


@pytest.mark.parametrize("name", FILES)
def test_colours_and_gaps(name):
    table = gcexp.benchmark(FILES[name], [LEARNED, CYCLIC], phi=[0.0, 0.5, 0.9, 1.0], progress=False)
    assert list(table) == list(COLUMNS)
    for label in (LEARNED, CYCLIC):
        assert table.loc[table["scheme"] == label, "colour"].tolist() == COLOURS[label][name]
    gaps = dict(
        zip(FILES, (0.0200668, 0.00605518, 0.0345074, 0.000376903, 0.000444301, 0.106248), strict=True)
    )
    learned = table[table["scheme"] == LEARNED]
    assert learned["gap"].to_numpy() == pytest.approx(gaps[name], rel=1e-3)
    np.testing.assert_allclose(learned["bound"] * (1 + learned["gap"]), learned["ratio"])


def test_quarters():  # E42
    table = gcexp.benchmark(FILES["job4"], [CYCLIC, LEARNED], phi=[0.0], progress=False)
    found = table[["ratio_low", "ratio_high"]].to_numpy()
    assert found == pytest.approx(np.array([[1.76542, 1.90433], [0.198676, 0.507677]]), rel=2e-5)


def test_the_default_table_on_a_small_trace():
    """Every row has what it should have, and nothing is below its bound."""
    table = gcexp.benchmark(FILES["AR"], phi=[0.0, 0.7], late=["stop", "finish"], progress=False)
    labels = [entry.label for entry in entries()]
    assert table.groupby(["phi", "late"], sort=False)["scheme"].nunique().max() == len(labels)
    assert not table.attrs["left_out"]
    kept = table[table["bound"].notna()]
    assert (kept["gap"] >= -1e-9).all()
    assert set(table.loc[table["bound"].isna(), "group"]) == {"bounds", "local"}
    assert set(table.loc[table["colour"].notna(), "group"]) == {"exact"}
    exact = table[table["exact"] == True]  # noqa: E712  # empty where nothing is decoded
    assert (exact["error"] == 0).all() and (exact["used_share"] == 1).all()
    hindsight = table.loc[table["hindsight"], "scheme"]
    assert set(hindsight) == {"bound: any loads", "bound: any loads up to 2", "uneven, hindsight"}
    assert not table.loc[table["scheme"].isin(hindsight), "learned"].any()


def test_the_same_bytes_together_alone_and_on_two_cores():
    """What schemes and lates keep for each other changes nothing, in whatever order they come; a bound stands once.

    Of five workers pairs take four; one code and one placement are drawn, and one code has a load of its own.
    """
    more = [
        {"scheme": "cgc", "s": 3, "label": "load 4"},
        {"scheme": "bgc", "code.d": 2, "label": "drawn"},
        {"scheme": "partial_work", "placement": "hindsight", "label": "best"},
    ]
    schemes, lates = [*(entry.label for entry in entries()), *more], ["stop", "every"]
    alike, keys = {"phi": [0.9], "n": 5, "progress": False}, ["late", "scheme"]
    whole = gcexp.benchmark(FILES["SE"], schemes, late=lates, **alike).set_index(keys)
    with ProcessPoolExecutor(2, get_context("fork")) as cores:
        alone = [
            cores.submit(gcexp.benchmark, FILES["SE"], [one], late=lates[::-1], **alike)
            for one in schemes[::-1]
        ]
    parts = pd.concat([one.result() for one in alone]).set_index(keys)
    assert len(parts) == len(whole) == 2 * len(schemes) - 3 and whole.index.is_unique
    assert parts.loc[whole.index].to_csv() == whole.to_csv()


def test_a_bound_does_not_depend_on_who_sits_where_or_is_late():
    table = gcexp.benchmark(
        FILES["job1"],
        [HOME, LEARNED],
        phi=[0.3],
        late=["stop", "chunk", "every"],
        chunks=[2, 8],
        progress=False,
    )
    assert table["bound"].nunique() == 1 and len(table) == 8
    assert table["chunks"].dropna().tolist() == [2, 2, 8, 8]


def test_times_that_follow_the_data():
    table = gcexp.benchmark(
        FILES["SE"],
        ["bound: one message, load 2", HOME, "uneven, last row", "ignore 1"],
        phi=[0.0],
        data_bound=True,
        progress=False,
    )
    frc, ignore = table.set_index("scheme").loc[[HOME, "ignore 1"]].to_dict("records")
    assert frc["ratio"] == pytest.approx(1.80161, rel=2e-5) and frc["bound"] == pytest.approx(
        1.68884, rel=2e-5
    )
    assert (frc["colour"], frc["reference"], frc["against"]) == (CANNOT, 1.0, ALONE)
    assert pd.isna(ignore["bound"]) and "data_bound" in table.attrs["left_out"]["uneven, last row"]
    (bound,) = table.loc[table["group"] == "bounds", "ratio"]  # Theorem 3 takes the place of Theorem 1
    assert bound == frc["bound"] and not table.attrs["notes"]
    priced_by_workers = gcexp.benchmark(FILES["SE"], HOME, phi=[0.0], progress=False)
    assert "data_bound" in priced_by_workers.attrs["notes"][0]


def test_workers_that_are_new_in_every_row():
    table = gcexp.benchmark(
        "faas-aws-2048mb",
        [HOME, LEARNED, "bound: any loads up to 2", "cyclic, s = 1", "uneven, last row"],
        phi=[0.0],
        pricing="additive",
        rows=[0],
        progress=False,
    )
    found = table.set_index("scheme")["ratio"]
    assert found["bound: any loads up to 2"] == pytest.approx(0.893139, rel=2e-5)  # B8
    assert found[HOME] == pytest.approx(1.67811, rel=2e-5)  # E41
    assert table.set_index("scheme").loc[HOME, "bound"] == pytest.approx(1.61734, rel=2e-5)
    assert "learns from times before the run" in table.attrs["left_out"][LEARNED]
    assert "persistent: false" in table.attrs["left_out"]["uneven, last row"]
    judged = table[table["colour"].notna()]
    assert set(judged["against"]) == {ALONE} and (judged["reference"] == 1).all()
    assert table["ratio_low"].isna().all()


def trace_at(path, times) -> str:
    """A trace of these times (R, N)."""
    lines = [f"{t},{w},{float(time)!r}" for (t, w), time in np.ndenumerate(times)]
    path.write_text("\n".join(["iteration,worker,time", *lines]))
    return str(path)


def test_a_code_slower_than_waiting_never_wins(tmp_path, capsys):
    """Of independent times the last row says nothing, so that rebalancing is slower than waiting for all."""
    file = trace_at(tmp_path / "my.csv", np.random.default_rng(0).exponential(1, (400, 8)))
    table = gcexp.benchmark(file, progress=False)
    assert (table.loc[table["scheme"] == "uneven, last row, at most 2", "ratio"] > 1.05).any()
    judged = table[table["colour"].notna()]
    assert set(judged["against"]) >= {WAITING} and (judged["reference"] <= 1).all()
    wins = judged["ratio"] <= judged["reference"] * (1 + 1e-9)
    assert (wins == (judged["colour"] == WINS)).all() and wins.any() and not wins.all()
    assert main(["benchmark", file, CYCLIC, "--phi", "0"]) == 0
    told = capsys.readouterr().out
    assert "Waiting for everybody is faster than rebalancing" in told
    (line,) = (line for line in told.splitlines() if line.startswith("exact"))
    assert line.endswith("-")


#: On it cyclic repetition is faster than rebalancing at phi = 0, slower at .6, and faster again from .66 on.
DIPS = """2.748 1.864 1.519; 2.748 1.864 1.519; 0.692 1.046 1.001; 1.167 0.676 0.515; 1.771 1.621 0.858;
12.108 6.925 0.706; 44.807 1.624 0.975; 3.414 0.93 1.083"""


def test_no_code_wins_below_the_stated_share(tmp_path):
    file = trace_at(tmp_path / "my.csv", [list(map(float, row.split())) for row in DIPS.split(";")])
    shares = np.linspace(0, 1, 101)
    table = gcexp.benchmark(file, CYCLIC, phi=shares, progress=False)
    ratios = table["ratio"] / table["reference"]
    found = ends(file, CYCLIC, "rebalancing")
    first = shares[(ratios <= 1).to_numpy()].min()
    assert found["bound"] <= first and found["scheme"] > first


def test_a_crossing_is_the_first_or_the_last():
    def dip(phi):  # at most 0 from .301 to .315 and from .7 on
        phi = np.array(phi)
        return np.where((phi > 0.301) & (phi < 0.315), -1.0, 0.7 - phi)

    assert _crossing(dip, last=False) == pytest.approx(0.301, abs=3e-8)
    assert _crossing(dip, last=True) == pytest.approx(0.7, abs=3e-8)
    ends = {lambda phi: np.ones(len(phi)): (None, None), lambda phi: -np.ones(len(phi)): (0.0, 0.0)}
    ends[lambda phi: np.array(phi)] = (0.0, None)
    for excess, (first, last) in ends.items():
        assert (_crossing(excess, last=False), _crossing(excess, last=True)) == (first, last)


def test_ones_own_scheme_joins_by_its_option_file(tmp_path, monkeypatch):
    folder = tmp_path / "scheme"
    folder.mkdir()
    text = """# @package _global_
# Ignore the two slowest.
defaults:
  - override /code: uncoded
  - override /wait: fastest
wait:
  s: 2
"""
    (folder / "mine.yaml").write_text(text)
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(tmp_path))
    assert "mine" not in [entry.label for entry in entries()]
    (folder / "mine.yaml").write_text(text + "benchmark: true\n")
    assert entries()[-1].label == "mine" and entries()[-1].group == "own"
    table = gcexp.benchmark(FILES["job1"], ["mine", {"scheme": "forget", "s": 2}], phi=[0.0], progress=False)
    assert table["ratio"].nunique() == 1 and table["used_share"].tolist() == pytest.approx([0.8, 0.8])


HEAD = "# @package _global_\n# Mine.\ndefaults:\n  - override /code: {}\n  - override /wait: {}\n"
#: Own option files that cannot be played, as text behind their code and rule; and what is said.
UNPLAYABLE = {
    ("uncoded", "fastest", "wait: {s: 99}"): "needs 1 <= q <= n",
    (
        "uncoded",
        "fastest",
        "  - override /loads: backup\nloads: {b: 4}",
    ): "backup b=4 leaves no worker of n=4",
    ("uncoded", "fastest", "  - override /loads: uneven\nwait: {s: 1}"): "wait=decodable",
    (
        "uncoded",
        "decodable",
        "  - override /loads: uneven\nloads: {cap: 0.5}",
    ): "cap=0.5",
    ("uncoded", "decodable", "exact: true\noverhead: -1"): "overhead",
    ("uncoded", "quorum_grace", "wait: {q: 12}"): "q=12",
    ("uncoded", "deadline", "wait: {time: 0.001}"): "is ever heard",
    ("uncoded", "restart", ""): "wait=restart",
    ("uncoded", "fastest", "wait: {s: 1}\nexact: true"): "mine: the scheme declares exact: true, but",
    ("uncoded", "fastest", "wait: {s: 1}\nchunks: 0"): "got 0",
    ("partial_work", "dropcompute", "code: {d: 1, q: 1}"): "dropcompute needs M >= 2 micro-batches, got 1",
    (
        "cyclic_repetition",
        "covered",
        "code: {s: 1}",
    ): "wait=covered needs",
    ("cyclic_repetition", "capacity", "code: {s: 1}"): "add bound=true",
    ("fractional_repetition", "decodable", "code: {dd: 2}"): "mine: code: unknown key 'dd'; did you mean 'd'",
    ("partial_work", "covered", "code: {d: 9}"): "d=9",
    (
        "clustered",
        "decodable",
        "  - override /placement: greedy\ncode: {d: 2}",
    ): "observe=state",
    ("uncoded", "decodable", "benchmark: certainly"): "mine: benchmark must be",
    ("uncoded", "decodable", "exat: true"): "mine.yaml: unknown key 'exat'; did you mean 'exact'",
}


@pytest.mark.parametrize("given", UNPLAYABLE)
def test_a_scheme_of_ones_own_that_cannot_be_played(given, tmp_path, monkeypatch, capsys):
    """A sentence and exit 2, also where it is the only one; beside others it is told, or refused where it lies."""
    code, wait, more = given
    (tmp_path / "scheme").mkdir()
    (tmp_path / "scheme" / "mine.yaml").write_text(HEAD.format(code, wait) + more)
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(tmp_path))
    named = [] if "benchmark:" in more else ["mine"]
    assert main(["benchmark", FILES["AR"], *named, "--phi", "0.2"]) == 2
    told = capsys.readouterr().err.strip()
    assert told.startswith("gcexp: ") and "\n" not in told and UNPLAYABLE[given] in told


ODD = {
    "one worker": np.random.default_rng(0).uniform(1, 2, (9, 1)),
    "one row": np.random.default_rng(1).uniform(1, 2, (1, 6)),
    "ties": np.random.default_rng(2).integers(1, 3, (12, 6)),
    "small and large": 10.0 ** np.random.default_rng(3).uniform(-150, 150, (12, 6)),
    "a prime number": np.random.default_rng(4).exponential(1, (12, 7)) + 0.1,
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("error")
def test_own_schemes_on_odd_traces_are_never_below_their_bound(name, tmp_path, monkeypatch):
    """Whatever late workers do: one row for each that can be played, finite, and each other one has its reason."""
    (tmp_path / "scheme").mkdir()
    for i, (code, wait, more) in enumerate(
        (
            ("cyclic_repetition", "fastest", "code: {s: 2}\nwait: {s: 2}"),
            ("partial_work", "covered", "code: {d: 2, q: 3}\nwait: {fraction: 0.8}"),
            ("circulant", "recovered", "wait: {fraction: 0.7}"),
            ("uncoded", "adaptive_deadline", "  - override /placement: zipper\nwait: {kappa: 1.0}"),
            ("uncoded", "decodable", "  - override /loads: uneven\nloads: {cap: 1.5}"),
            ("cyclic_repetition", "capacity", "code: {s: 1}\nbound: true"),
        )
    ):
        (tmp_path / "scheme" / f"mine{i}.yaml").write_text(HEAD.format(code, wait) + more)
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(tmp_path))
    file = trace_at(tmp_path / "my.csv", ODD[name])
    mine = [f"mine{i}" for i in range(6)]
    lates = ["stop", "chunk", "finish", "every"]
    table = gcexp.benchmark(file, ["wait for all", *mine], phi=[0.0, 0.6], late=lates, progress=False)
    assert set(table["scheme"]) | set(table.attrs["left_out"]) == {"wait for all", *mine}
    assert not table.duplicated(["phi", "late", "scheme"]).any()
    assert np.isfinite(table[["mean_duration", "ratio"]].to_numpy(float)).all()
    assert (table["gap"].dropna() >= -1e-9).all() and table["gap"].notna().sum() >= 8


def test_what_clocks_depend_on_names_every_scheme():
    lines = decided_by([CYCLIC, {"scheme": "dropcompute", "wait.tau": 3.0}])
    assert f"{CYCLIC}: code._target_=gcexp.codes.cyclic.CyclicRepetition" in lines
    assert "dropcompute wait.tau=3.0: wait.tau=3.0" in lines


def test_the_command_writes_text_table_page_and_drawing(tmp_path, capsys):
    assert (
        main(
            [
                "benchmark",
                FILES["AR"],
                LEARNED,
                "uneven, hindsight",
                "ignore 1",
                "--phi",
                "0",
                "1",
                "-o",
                str(tmp_path),
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "4 workers, 40 scored rows, 4 before them are learned from" in told
    assert "0.887x" in told and "0.443+" in told and "0.515~" in told
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".md", ".png"}
    assert list(read_table(tmp_path / "benchmark.csv")) == list(COLUMNS)
    assert (
        "| exact | FRC, d = 2, learned pairs | 0.887x | 0.443+ |" in (tmp_path / "benchmark.md").read_text()
    )


def slow_worker(folder):
    """A trace of hosts of which node3 is lastingly slow."""
    times = np.random.default_rng(0).uniform(1, 1.2, (60, 5))
    times[:, 3] *= 3
    frame = pd.DataFrame(times, columns=[f"node{w}" for w in range(5)]).rename_axis("iteration")
    frame.reset_index().melt("iteration", var_name="worker", value_name="time").to_csv(
        folder / "mine.csv", index=False
    )
    return str(folder / "mine.csv")


def test_what_never_uses_a_worker_is_marked_wherever_it_is_shown(tmp_path, capsys):
    """On the terminal, in Markdown and in the picture; backup workers draw their data anew and lose none."""
    from gcexp.command.benchmark import write

    file = slow_worker(tmp_path)
    named = ["ignore 1", "backup 1", "wait for all"]
    assert main(["benchmark", file, *named, "--phi", "0", "-o", str(tmp_path / "out")]) == 0
    told, page = capsys.readouterr().out, (tmp_path / "out" / "benchmark.md").read_text()
    for text in (told, page):
        assert text.count("node3") == 1 and "ignore 1, never uses worker node3" in text
        assert "real workers" not in text and "gcexp advise" in text
    table = gcexp.benchmark(file, named, phi=[0.0], progress=False)
    assert list(table.attrs["unused"]) == ["ignore 1"]
    drawn = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gcexp.figures.save", lambda figure, paths: drawn.append(figure))
        write(table, "mine", tmp_path)
    names = [label.get_text() for label in drawn[0].axes[0].get_yticklabels()]
    assert any(name.startswith("ignore 1, never uses worker node3") for name in names)
    assert main(["benchmark", "bytedance-AR-dp", "wait for all", "--phi", "0"]) == 0
    assert "real workers" in capsys.readouterr().out


def test_keys_vary_the_scheme_before_them(capsys):
    assert main(["benchmark", FILES["AR"], "cgc", "s=1,2", "frc", "code.d=2", "--phi", "0"]) == 0
    told = capsys.readouterr().out
    assert all(label in told for label in ("cgc s=1", "cgc s=2", "frc code.d=2"))
    schemes = [{"scheme": "cgc", "s": 1}, {"scheme": "cgc", "s": 2}]
    ratios = gcexp.benchmark(FILES["AR"], schemes, phi=[0.0], progress=False)["ratio"]
    assert all(f"{ratio:.3f}" in told for ratio in ratios) and ratios.nunique() == 2


def test_a_verdict_for_each_share_and_what_is_dropped(tmp_path, capsys):
    """By the name of a bundled trace, on the terminal, in Markdown and above the picture."""
    assert main(["benchmark", "pai-job1", "--phi", "0", "0.5", "-o", str(tmp_path)]) == 0
    told, page = capsys.readouterr().out, (tmp_path / "benchmark.md").read_text()
    for text in (told, page):
        assert "phi 0: do not code. Rebalancing takes 94.6 % of the waiting time; no exact code" in text
        assert "phi 0.5: code. partial work, d = 2, learned takes 95.3 % of the waiting time" in text
    assert "| drop | ignore 1 | 0.955 90% |" in page and "0.955   90%" in told
    from gcexp.figures import draw

    table = read_table(tmp_path / "benchmark.csv").query("group == 'drop'")
    axes = draw(table, {"kind": "function", "function": "gcexp.figures.remedies.map_of"}).axes[0]
    assert "0.95 90%" in [text.get_text() for text in axes.texts]
    many = pd.concat([table.assign(trace=f"a trace {i}") for i in range(12)])
    axes = draw(many, {"kind": "function", "function": "gcexp.figures.remedies.map_of"}).axes[0]
    assert "deadline, adaptive, uses 93%" in [text.get_text() for text in axes.get_yticklabels()]


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        ([(LOSES, 0.9, 0.5)], "use none of these codes. Rebalancing takes 80 %"),
        ([(LOSES, 0.9, np.nan)], "the fastest code takes 90 %."),
        ([(WINS, 0.8, 0.5), (LOSES, 0.9, 0.5)], "coding changes nothing. code 0 takes 80 %"),
        ([(WINS, 0.7, 0.5), (CANNOT, 0.6, 0.5)], "code. code 0 takes 70 %"),
        ([(CANNOT, 0.9, 0.85), (CANNOT, 1.9, 1.85)], "no exact code with load 2 or 3 and"),
    ],
)  # fmt: skip
def test_verdicts(case, verdict):
    rows = [
        {"colour": colour, "ratio": ratio, "bound": bound, "load": 2.0 + i, "scheme": f"code {i}"}
        for i, (colour, ratio, bound) in enumerate(case)
    ]
    table = pd.DataFrame(rows).reindex(columns=COLUMNS)
    table = table.assign(phi=0.5, trace="x", late="stop", hindsight=False, reference=0.8, against=REBALANCING)
    (said,) = benchmarking.verdicts(table)
    assert said.startswith("phi 0.5: ") and verdict in said
    assert not benchmarking.verdicts(table.assign(hindsight=True))


def test_a_table_is_shown_again_and_its_page_has_every_row(tmp_path, capsys):
    table = pd.DataFrame(
        {"trace": ["A", "B", "B"], "phi": 0.0, "late": "stop", "chunks": np.nan, "scheme": ["x", "x", "<b>"],
         "group": "own", "hindsight": False, "ratio": [1.5, 0.123456789, np.nan], "colour": ["wins", None, None]}
    )  # fmt: skip
    table.to_csv(tmp_path / "table.csv", index=False)
    assert main(["benchmark", str(tmp_path / "table.csv"), "-o", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "phi 0 A" in told and "phi 0 B" in told and "1.500+" in told and "0.123" in told
    page = (tmp_path / "out" / "benchmark.md").read_text()
    assert "1.500+" in page and "0.123" in page and "<b>" not in page


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (["nowhere.csv"], "nowhere.csv"),
        ([FILES["AR"], "frk"], "frc"),
        ([FILES["AR"], "--phi", "2"], "got 2.0"),
        ([FILES["AR"], "--late", "finnish"], "finish"),
        ([FILES["AR"], "-n", "9"], "n=9"),
        ([FILES["AR"], "-n", "0"], "got 0"),
        ([FILES["AR"], "--rows", "3", "999"], "999"),
        ([FILES["AR"], "--late", "chunk", "--chunks", "0"], "got 0"),
        ([FILES["AR"], "--pricing", "additive"], "compute"),
        (["data/traces/faas-aws-256mb.csv", "--late", "finish"], "faas-aws-256mb"),
        ([FILES["AR"], "-n", "1000000000", "cgc"], "n=1000000000"),
        ([FILES["AR"], "--chunks", "0"], "got 0"),
        ([FILES["AR"], "--pricing", "x", "cgc"], "pricing"),
        ([FILES["AR"], "-o", "pyproject.toml"], "pyproject.toml"),
        ([FILES["AR"], "-o", "/dev/null/deep/folder"], "/dev/null"),
        ([FILES["AR"], "-o", ""], "folder"),
        ([FILES["AR"], "s=2"], "s=2"),
        ([FILES["AR"], "cgc", "s=1", "s=2"], "cgc"),
        ([FILES["AR"], "cgc", "s=9"], "s=9"),
        (["pai-job9"], "pai-job4"),
        (["reports/published/data/stragglers_map.csv", "frc", "--late", "bogus"], "--late"),
        (["reports/published/data/stragglers_map.csv", "--data-bound"], "--data-bound"),
    ],
)
def test_mistakes_of_the_command(given, name, capsys):
    try:
        assert main(["benchmark", *given]) == 2
    except SystemExit as stopped:  # of the parser
        assert stopped.code == 2
    told = capsys.readouterr()
    assert name in told.err and told.err.count("\n") == 1 and not told.out


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"phi": []}, "phi"),
        ({"schemes": []}, "schemes"),
        ({"schemes": "frk"}, "frc"),
        ({"schemes": ["frc", {"scheme": "cgc", "label": "frc"}]}, "frc"),
        ({"late": []}, "late"),
        ({"late": "chunk", "chunks": 2.5}, "chunks"),
        ({"late": float("nan")}, "late"),
        ({"progress": np.array([True, False])}, "progress"),
        ({"chunks": -1}, "got -1"),
    ],
)
def test_mistakes_from_python(given, name):
    with pytest.raises(UserError, match=name):
        gcexp.benchmark(FILES["AR"], **{"schemes": "wait for all", "phi": [0.5], "progress": False} | given)


@pytest.mark.parametrize("amount", ["-0.3", "nan", "inf", "text", "1e308"])
@pytest.mark.parametrize("asked", [{"pricing": "additive"}, {"column": "compute"}])
def test_measured_parts_that_are_no_times(amount, asked, tmp_path):
    cells = [f"{t},{w},2,{amount if (t, w) == (0, 1) else 1}" for t in range(3) for w in range(2)]
    (tmp_path / "my.csv").write_text("\n".join(["iteration,worker,time,compute", *cells]))
    with pytest.raises(UserError, match="my: compute of worker 1 in row 0 is .*, wanted is a number from"):
        gcexp.benchmark(tmp_path / "my.csv", phi=[0.0], progress=False, **asked)


def test_mistakes_of_an_entry():
    for bad, sentence in (
        ({"s": 3}, "names a scheme"),
        ({"scheme": "cgc", "group": "exakt"}, "did you mean 'exact'"),
    ):
        with pytest.raises(UserError, match=sentence):
            entries([bad])
    assert Replay.of(FILES["job1"]).rows == 270


def test_drawings_of_the_folder_show_every_scheme():
    """Each drawing of the figures on a small trace: what it names, and what its markers say."""
    from gcexp.benchmarking import break_evens, remedies
    from gcexp.figures import draw, style

    traces = [{"file": FILES["AR"], "name": "AR"}]

    def axes_of(table, name):
        return draw(table, {"kind": "function", "function": f"gcexp.figures.remedies.{name}"}).axes[0]

    def legend_of(axes):
        (legend,) = axes.figure.legends
        return [text.get_text() for text in legend.get_texts()]

    schemes = ["bound: any loads", LEARNED, "ignore 1", "quorum n/2 and grace"]
    fair = axes_of(remedies(traces, [0.0], schemes), "fair")
    assert legend_of(fair) == schemes[1:]
    points = [line for line in fair.lines if line.get_marker() != "None" and len(line.get_xdata())]
    assert [line.get_markerfacecolor() == "white" for line in points] == [False, True, True]
    with style.applied():
        looks = style.looks(schemes[1:])  # those of the lines in other figures
    assert [line.get_color() for line in points] == [look["color"] for look in looks.values()]
    late = remedies(traces, [0.0], ["wait for all", HOME], ["stop", "chunk", "finish", "every"], [2, 8])
    lines = axes_of(late, "late_lines").lines
    assert [len(line.get_ydata()) for line in lines] == [5, 5] and set(lines[0].get_ydata()) == {1.0}
    bars = axes_of(break_evens(traces, [LEARNED]).query("against == 'rebalancing'"), "break_even_bars")
    assert bars.patches[0].get_width() == pytest.approx(0.946739, abs=2e-6)
    seats = [
        {"scheme": "frc", "wait": "decodable", "code.d": 2, "group": "exact", "label": f"FRC: {which}",
         "placement": "hindsight", "placement.pairs": True, "placement.which": which}
        for which in ("best", "worst")
    ]  # fmt: skip
    table = remedies(traces, [0.0], seats)
    assert table["ratio"].is_monotonic_increasing and table["hindsight"].all()
    placed = axes_of(table, "placements")
    assert "best (hindsight)" in legend_of(placed)
    cells = axes_of(remedies(traces, [0.0, 1.0], [LEARNED, "uneven, hindsight"]), "map_of")
    assert [text.get_text() for text in cells.texts] == ["0.89", "0.52", "0.44", "0.44"]


def test_growth_fits_the_exponent_of_what_it_measures(monkeypatch):
    """A clock that takes n^2 and holds 100 n bytes: times of every round, the least of them counts."""
    spent = {10: [9.0, 1.0], 100: [100.0, 500.0], 1000: [1e4, 2e4]}

    def made(n):
        return lambda: n

    monkeypatch.setattr(benchmarking, "_played", lambda make, s, T: bytearray(100_000 * make()) and None)
    rounds = {n: iter(times) for n, times in spent.items()}
    monkeypatch.setattr(benchmarking, "_seconds", lambda play: next(rounds[play.args[0]()]))
    codes = [{"label": "mine", "of": [made(n) for n in spent]}]
    frame = benchmarking.growth(codes, n=[*spent], iterations=5, repeats=2)
    assert list(frame) == benchmarking.growth.columns(codes=codes, n=[], iterations=5)
    values = frame.pivot(index="n", columns="quantity", values="value")
    assert values["CPU seconds"].tolist() == [1, 100, 1e4]
    np.testing.assert_allclose(values["memory (MiB)"], [n * 1e5 / 2**20 for n in spent], rtol=0.01)
    times = frame["quantity"] == "CPU seconds"
    np.testing.assert_allclose(frame.loc[times, "exponent"], 2)
    assert frame.loc[~times, "exponent"].isna().all()


@pytest.mark.parametrize(
    "keys, words",
    [
        ({"n": [20, 10]}, "of a rising n"),
        ({"n": [10, 20], "sizes": [20]}, "of a rising n"),
        ({"n": [10, 20, 30]}, "x: one code and one s for each of 3 n"),
        ({"n": [10, 20], "repeats": 0}, "repeats is a number of rounds"),
    ],
)
def test_growth_refuses_what_it_cannot_fit(keys, words):
    with pytest.raises(ParameterError, match=words):
        benchmarking.growth([{"label": "x", "of": [Uncoded, Uncoded]}], iterations=1, **keys)
