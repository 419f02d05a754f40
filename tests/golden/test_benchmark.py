"""The benchmark of remedies and bounds: break-evens, colours and gaps of an own computation, and the command."""

from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
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
    break_evens,
    remedies,
)
from gcexp.codes import Uncoded
from gcexp.command.benchmark import MARKS
from gcexp.command.main import main
from gcexp.errors import ParameterError, UserError
from gcexp.figures import draw, read_table, style
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


def benchmark(file: str, schemes=None, phi=(0.0,), **more) -> pd.DataFrame:
    """The map of a trace, by its name here or its file, without a progress bar."""
    return gcexp.benchmark(FILES.get(file, file), schemes, phi, **{"progress": False} | more)


def ends(file: str, label: str) -> pd.DataFrame:
    """From where on a scheme wins on a trace, and any code of its loads may, by what it is compared with."""
    return break_evens([{"file": file}], [label]).set_index("against")


#: Where schemes break even with waiting for all (E38), and the learned pairs with rebalancing (E39 and its bound, B11).
AGAINST_WAITING = {
    CYCLIC: {"job1": 0.952472, "SE": 0.931175},
    HOME: {"job1": 0.938801, "job4": 0.338015, "SE": 0.81467},
    LEARNED: {"job1": 0.889474, "job4": 0.0, "SE": 0.836531},
    "backup 1": {"job1": 0.572245, "SE": 0.0},
}
AGAINST_REBALANCING = {"job1": (0.958488, 0.943029), "job4": (0.346009, 0.346009), "SE": (0.836531, 0.712914)}
AGAINST_REBALANCING["AR"] = (0.947433, 0.946739)
#: Below which share no code of load 2 beats waiting for all, in closed form (B9).
NO_CODE_OF_LOAD_2 = {"job1": 0.867190, "job2": 0.900357, "job3": 0.872788, "job4": 0.0, "SE": 0.712914}
EXPECTED = [
    *(
        (name, label, "waiting", "ratio", phi)
        for label, at in AGAINST_WAITING.items()
        for name, phi in at.items()
    ),
    *((name, LEARNED, "rebalancing", "ratio", phi) for name, (phi, _) in AGAINST_REBALANCING.items()),
    *((name, HOME, "rebalancing", "bound", phi) for name, (_, phi) in AGAINST_REBALANCING.items()),
    *((name, HOME, "waiting", "bound", phi) for name, phi in NO_CODE_OF_LOAD_2.items()),
]


@pytest.mark.parametrize(
    ("name", "label", "against", "what", "phi"), [case for case in EXPECTED if case[0] != "job4"]
)  # of job4, which is long, the published table answers
def test_break_evens(name, label, against, what, phi):
    """Just below, a scheme or its bound takes longer than what it is compared with, and just above it does not."""
    near = [share for share in (phi - 2e-6, phi + 2e-6) if share >= 0]
    table = benchmark(name, label, phi=near)
    slower = table[what] > (1.0 if against == "waiting" else table["reference"])
    assert slower.tolist() == [True, False][-len(near) :]


BREAKEVENS = ROOT / "reports/published/data/stragglers_breakeven.csv"


@pytest.mark.skipif(
    not BREAKEVENS.exists(), reason="the study of stragglers was deleted, and its tables with it"
)
def test_published_break_evens():
    names = {"PAI 1": "job1", "PAI 2": "job2", "PAI 3": "job3", "PAI 4": "job4"}
    table = pd.read_csv(BREAKEVENS).replace({"trace": names}).set_index(["trace", "scheme", "against"])
    for name, label, against, what, phi in EXPECTED:
        column = {"ratio": "wins_from", "bound": "bound_from"}[what]
        assert table.loc[(name, label, against), column] == pytest.approx(phi, abs=2e-6)


def test_break_evens_are_searched_for():
    """On a small trace: where the ratio crosses, never, and always."""
    found = ends(FILES["AR"], LEARNED)
    assert found.loc["rebalancing", ["wins_from", "bound_from"]].tolist() == pytest.approx(
        AGAINST_REBALANCING["AR"], abs=2e-6
    )
    assert found.loc["waiting", ["wins_from", "bound_from"]].tolist() == [0, 0]
    assert ends(FILES["job3"], LEARNED).loc["rebalancing"].isna()["wins_from"]


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
        whole = Replay.of(FILES[name])
        n = whole.n

        def excess(q: int, phi: tuple[float, ...], whole=whole, n=n) -> np.ndarray:
            """By how much the bound of load n / q exceeds the reference."""
            bound = bounds.capacity(*whole.draws(n, phi).parts(), n / q).mean(1) / whole.waiting(n, phi).mean(
                1
            )
            return bound / (1.0 if against == "waiting" else whole.reference(n, n / q, phi)[0]) - 1

        if phi == 0:
            assert excess(binding, (0.0,)) < 0
        else:
            below, above = excess(binding, (phi - 2e-6, phi + 2e-6))
            assert above <= 1e-9 < below
            if name != "job4":  # the longest
                assert min(excess(q, (phi - 1e-5,)) for q in range(1, n)) > 0


#: Marks of the map at phi 0, 0.5, 0.9 and 1 (B15) of learned pairs and of cyclic repetition, and the gap of the pairs.
COLOURS = {
    "job1": ("xxx+", "xxx-", 0.0200668),
    "job2": ("xxx+", "xxx-", 0.00605518),
    "job3": ("xxx-", "xxx-", 0.0345074),
    "job4": ("x+++", "x---", 0.000376903),
    "AR": ("xxx+", "xxx+", 0.000444301),
    "SE": ("xx++", "xx-+", 0.106248),
}


@pytest.mark.parametrize("name", FILES)
def test_colours_and_gaps(name):
    *colours, gap = COLOURS[name]
    phi = [0.0, 1.0] if name == "job4" else [0.0, 0.5, 0.9, 1.0]  # that one is long
    table = benchmark(name, [LEARNED, CYCLIC], phi=phi)
    assert list(table) == list(COLUMNS)
    for label, marks in zip((LEARNED, CYCLIC), colours, strict=True):
        found = "".join(MARKS[colour] for colour in table.loc[table["scheme"] == label, "colour"])
        assert found == (marks if len(phi) == 4 else marks[0] + marks[-1])
    learned = table[table["scheme"] == LEARNED]
    assert learned["gap"].to_numpy() == pytest.approx(gap, rel=1e-3)
    np.testing.assert_allclose(learned["bound"] * (1 + learned["gap"]), learned["ratio"])
    if name == "job4":  # E42
        quarters = table.query("phi == 0").set_index("scheme")[["ratio_low", "ratio_high"]]
        assert quarters.loc[CYCLIC].tolist() == pytest.approx([1.76542, 1.90433], rel=2e-5)
        assert quarters.loc[LEARNED].tolist() == pytest.approx([0.198676, 0.507677], rel=2e-5)


def test_the_default_table_on_a_small_trace():
    """Every row has what it should have, and nothing is below its bound."""
    table = benchmark("AR", phi=[0.0, 0.7], late=["stop", "finish"])
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
    alike, keys = {"phi": [0.9], "n": 5}, ["late", "scheme"]
    whole = benchmark("SE", schemes, late=lates, **alike).set_index(keys)
    with ProcessPoolExecutor(2, get_context("fork")) as cores:
        alone = [cores.submit(benchmark, "SE", [one], late=lates[::-1], **alike) for one in schemes[::-1]]
    parts = pd.concat([one.result() for one in alone]).set_index(keys)
    assert len(parts) == len(whole) == 2 * len(schemes) - 3 and whole.index.is_unique
    assert parts.loc[whole.index].to_csv() == whole.to_csv()


def test_a_bound_does_not_depend_on_who_sits_where_or_is_late():
    table = benchmark("job1", [HOME, LEARNED], phi=[0.3], late=["stop", "chunk", "every"], chunks=[2, 8])
    assert table["bound"].nunique() == 1 and len(table) == 8
    assert table["chunks"].dropna().tolist() == [2, 2, 8, 8]


def test_times_that_follow_the_data():
    table = benchmark(
        "SE", ["bound: one message, load 2", HOME, "uneven, last row", "ignore 1"], data_bound=True
    )
    frc, ignore = table.set_index("scheme").loc[[HOME, "ignore 1"]].to_dict("records")
    assert [frc["ratio"], frc["bound"]] == pytest.approx([1.80161, 1.68884], rel=2e-5)
    assert (frc["colour"], frc["reference"], frc["against"]) == (CANNOT, 1.0, ALONE)
    assert pd.isna(ignore["bound"]) and "data_bound" in table.attrs["left_out"]["uneven, last row"]
    (bound,) = table.loc[table["group"] == "bounds", "ratio"]  # Theorem 3 takes the place of Theorem 1
    assert bound == frc["bound"] and not table.attrs["notes"]
    priced_by_workers = benchmark("SE", HOME)
    assert "data_bound" in priced_by_workers.attrs["notes"][0]


def test_workers_that_are_new_in_every_row():
    schemes = [HOME, LEARNED, "bound: any loads up to 2", "cyclic, s = 1", "uneven, last row"]
    table = benchmark("faas-aws-2048mb", schemes, pricing="additive", rows=[0])
    found = table.set_index("scheme")["ratio"]
    assert found["bound: any loads up to 2"] == pytest.approx(0.893139, rel=2e-5)  # B8
    assert found[HOME] == pytest.approx(1.67811, rel=2e-5)  # E41
    assert table.set_index("scheme").loc[HOME, "bound"] == pytest.approx(1.61734, rel=2e-5)
    assert {LEARNED, "uneven, last row"} <= set(table.attrs["left_out"])
    judged = table[table["colour"].notna()]
    assert set(judged["against"]) == {ALONE} and (judged["reference"] == 1).all()
    assert table["ratio_low"].isna().all()


def trace_at(path, times) -> str:
    """A trace of these times (R, N)."""
    lines = [f"{t},{w},{float(time)!r}" for (t, w), time in np.ndenumerate(times)]
    path.write_text("\n".join(["iteration,worker,time", *lines]))
    return str(path)


def test_a_code_slower_than_waiting_never_wins(tmp_path):
    """Of independent times the last row says nothing, so that rebalancing is slower than waiting for all."""
    file = trace_at(tmp_path / "my.csv", np.random.default_rng(0).exponential(1, (120, 8)))
    table = benchmark(file, phi=[0.0, 0.5, 1.0])
    assert (table.loc[table["scheme"] == "uneven, last row, at most 2", "ratio"] > 1.05).any()
    judged = table[table["colour"].notna()]
    assert set(judged["against"]) >= {WAITING} and (judged["reference"] <= 1).all()
    wins = judged["ratio"] <= judged["reference"] * (1 + 1e-9)
    assert (wins == (judged["colour"] == WINS)).all() and wins.any() and not wins.all()


#: On it cyclic repetition is faster than rebalancing at phi = 0, slower at .6, and faster again from .66 on.
DIPS = """2.748 1.864 1.519; 2.748 1.864 1.519; 0.692 1.046 1.001; 1.167 0.676 0.515; 1.771 1.621 0.858;
12.108 6.925 0.706; 44.807 1.624 0.975; 3.414 0.93 1.083"""


def test_no_code_wins_below_the_stated_share(tmp_path):
    """A scheme wins from the last crossing on, and the bound holds from the first one."""
    file = trace_at(tmp_path / "my.csv", [list(map(float, row.split())) for row in DIPS.split(";")])
    found = ends(file, CYCLIC).loc["rebalancing"]
    shares = [*np.linspace(0, 1, 101), found["wins_from"] - 1e-5, found["wins_from"] + 1e-5]
    table = benchmark(file, CYCLIC, phi=shares)
    wins = (table["ratio"] <= table["reference"]).set_axis(shares).sort_index()
    assert found["bound_from"] <= wins[wins].index.min() < found["wins_from"]
    assert wins[wins.index > found["wins_from"]].all() and not wins[found["wins_from"] - 1e-5]


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
    table = benchmark("job1", ["mine", {"scheme": "forget", "s": 2}])
    assert table["ratio"].nunique() == 1 and table["used_share"].tolist() == pytest.approx([0.8, 0.8])


HEAD = "# @package _global_\n# Mine.\ndefaults:\n  - override /code: {}\n  - override /wait: {}\n"
#: Own option files that cannot be played, as text behind their code and rule; and what the sentence names.
UNPLAYABLE = {
    ("uncoded", "fastest", "wait: {s: 99}"): "1 <= q <= n",
    ("uncoded", "fastest", "  - override /loads: backup\nloads: {b: 4}"): "b=4 leaves no worker of n=4",
    ("uncoded", "fastest", "  - override /loads: uneven\nwait: {s: 1}"): "wait=decodable",
    ("uncoded", "deadline", "wait: {time: 0.001}"): "Deadline(time=0.001",
    ("uncoded", "restart", ""): "wait=restart",
    ("uncoded", "fastest", "wait: {s: 1}\nexact: true"): "mine: the scheme declares exact: true",
    ("uncoded", "fastest", "wait: {s: 1}\nchunks: 0"): "got 0",
    ("cyclic_repetition", "capacity", "code: {s: 1}"): "bound=true",
    ("fractional_repetition", "decodable", "code: {dd: 2}"): "'dd'; did you mean 'd'",
    ("clustered", "decodable", "  - override /placement: greedy\ncode: {d: 2}"): "observe=state",
    ("uncoded", "decodable", "benchmark: certainly"): "mine: benchmark",
    ("uncoded", "decodable", "exat: true"): "'exat'; did you mean 'exact'",
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
    table = benchmark(file, ["wait for all", *mine], phi=[0.0, 0.6], late=lates)
    assert set(table["scheme"]) | set(table.attrs["left_out"]) == {"wait for all", *mine}
    assert not table.duplicated(["phi", "late", "scheme"]).any()
    assert np.isfinite(table[["mean_duration", "ratio"]].to_numpy(float)).all()
    assert (table["gap"].dropna() >= -1e-9).all() and table["gap"].notna().sum() >= 8


def test_what_clocks_depend_on_names_every_scheme():
    lines = decided_by([CYCLIC, {"scheme": "dropcompute", "wait.tau": 3.0}])
    assert f"{CYCLIC}: code._target_=gcexp.codes.cyclic.CyclicRepetition" in lines
    assert "dropcompute wait.tau=3.0: wait.tau=3.0" in lines


def slow_worker(folder):
    """A trace of hosts of which node3 is lastingly slow."""
    times = np.random.default_rng(0).uniform(1, 1.2, (60, 5))
    times[:, 3] *= 3
    frame = pd.DataFrame(times, columns=[f"node{w}" for w in range(5)]).rename_axis("iteration")
    frame.reset_index().melt("iteration", var_name="worker", value_name="time").to_csv(
        folder / "mine.csv", index=False
    )
    return str(folder / "mine.csv")


def test_what_never_uses_a_worker_is_marked_wherever_it_is_shown(tmp_path, capsys, monkeypatch):
    """On the terminal, in Markdown and in the picture; backup workers draw their data anew and lose none."""
    drawn = []
    monkeypatch.setattr("gcexp.figures.save", lambda figure, paths: drawn.append(figure))
    file, named = slow_worker(tmp_path), ["ignore 1", "backup 1", "wait for all"]
    assert main(["benchmark", file, *named, "--phi", "0", "-o", str(tmp_path / "out")]) == 0
    told, page = capsys.readouterr().out, (tmp_path / "out" / "benchmark.md").read_text()
    for text in (told, page):
        assert text.count("node3") == 1 and "gcexp advise" in text
    table = benchmark(file, named)
    assert list(table.attrs["unused"]) == ["ignore 1"] and "node3" in table.attrs["unused"]["ignore 1"]
    names = [label.get_text() for label in drawn[0].axes[0].get_yticklabels()]
    assert any(name.startswith("ignore 1") and "node3" in name for name in names)


def test_keys_vary_the_scheme_before_them(capsys):
    assert main(["benchmark", FILES["AR"], "cgc", "s=1,2", "frc", "code.d=2", "--phi", "0"]) == 0
    told = capsys.readouterr().out
    assert all(label in told for label in ("cgc s=1", "cgc s=2", "frc code.d=2"))
    schemes = [{"scheme": "cgc", "s": 1}, {"scheme": "cgc", "s": 2}]
    ratios = benchmark("AR", schemes)["ratio"]
    assert all(f"{ratio:.3f}" in told for ratio in ratios) and ratios.nunique() == 2


def test_the_command_shows_and_writes_what_the_function_gives(tmp_path, capsys):
    """By the name of a bundled trace: verdicts, marks and shares in text and Markdown, a table, a drawing."""
    assert main(["benchmark", "bytedance-AR-dp", "--phi", "0", "1", "-o", str(tmp_path)]) == 0
    told, page = capsys.readouterr().out, (tmp_path / "benchmark.md").read_text()
    frame = benchmark("bytedance-AR-dp", phi=[0.0, 1.0])
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".md", ".png"}
    table = read_table(tmp_path / "benchmark.csv")
    assert list(table) == list(COLUMNS) and table["scheme"].tolist() == frame["scheme"].tolist()
    assert len(benchmarking.verdicts(frame)) == 2
    for verdict in benchmarking.verdicts(frame):
        assert verdict in told and verdict in page
    assert "| exact | FRC, d = 2, learned pairs | 0.887x | 0.443+ |" in page
    assert r"| rebalance | uneven, hindsight | 0.515\~ | 0.441\~ |" in page
    assert re.search(r"^exact +FRC, d = 2, learned pairs +0\.887x +0\.443\+$", told, re.MULTILINE)
    assert re.search(r"^drop +ignore 1.* 0\.446 +75% +0\.446 +75%$", told, re.MULTILINE)
    drop = {"kind": "function", "function": "gcexp.figures.remedies.map_of"}
    axes = draw(table.query("group == 'drop'"), drop).axes[0]
    assert "0.45 75%" in [text.get_text() for text in axes.texts]
    many = pd.concat([table.assign(trace=f"a trace {i}") for i in range(12)])
    labels = [text.get_text() for text in draw(many, drop).axes[0].get_yticklabels()]
    assert any(label.startswith("ignore 1") and label.endswith("75%") for label in labels)


@pytest.mark.parametrize(
    ("case", "named"),
    [
        ([(LOSES, 0.9, 0.5)], ("none", "80 %", "90 %", "50 %")),
        ([(LOSES, 0.9, np.nan)], ("none", "80 %", "90 %")),
        ([(WINS, 0.8, 0.5), (LOSES, 0.9, 0.5)], ("nothing", "code 0", "80 %")),
        ([(WINS, 0.7, 0.5), (CANNOT, 0.6, 0.5)], ("code 0", "70 %", "80 %")),
        ([(CANNOT, 0.9, 0.85), (CANNOT, 1.9, 1.85)], ("do not code", "load 2 or 3")),
    ],
)  # fmt: skip
def test_verdicts(case, named):
    rows = [
        {"colour": colour, "ratio": ratio, "bound": bound, "load": 2.0 + i, "scheme": f"code {i}"}
        for i, (colour, ratio, bound) in enumerate(case)
    ]
    table = pd.DataFrame(rows).reindex(columns=COLUMNS)
    table = table.assign(phi=0.5, trace="x", late="stop", hindsight=False, reference=0.8, against=REBALANCING)
    (said,) = benchmarking.verdicts(table)
    assert said.startswith("phi 0.5: ") and all(name in said for name in named)
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
        ([FILES["AR"], "--rows", "3", "999"], "999"),
        ([FILES["AR"], "--late", "chunk", "--chunks", "0"], "got 0"),
        ([FILES["AR"], "--pricing", "additive"], "compute"),
        (["data/traces/faas-aws-256mb.csv", "--late", "finish"], "faas-aws-256mb"),
        ([FILES["AR"], "-n", "1000000000", "cgc"], "n=1000000000"),
        ([FILES["AR"], "-o", "pyproject.toml"], "pyproject.toml"),
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
        ({"schemes": {"s": 3}}, "scheme"),
        ({"schemes": {"scheme": "cgc", "group": "exakt"}}, "exact"),
        ({"schemes": ["frc", {"scheme": "cgc", "label": "frc"}]}, "frc"),
        ({"late": []}, "late"),
        ({"late": "chunk", "chunks": 2.5}, "chunks"),
        ({"late": float("nan")}, "late"),
        ({"progress": np.array([True, False])}, "progress"),
    ],
)
def test_mistakes_from_python(given, name):
    with pytest.raises(UserError, match=name):
        benchmark("AR", **{"schemes": "wait for all", "phi": [0.5]} | given)


@pytest.mark.parametrize("amount", ["-0.3", "nan", "inf", "text", "1e308"])
@pytest.mark.parametrize("asked", [{"pricing": "additive"}, {"column": "compute"}])
def test_measured_parts_that_are_no_times(amount, asked, tmp_path):
    cells = [f"{t},{w},2,{amount if (t, w) == (0, 1) else 1}" for t in range(3) for w in range(2)]
    (tmp_path / "my.csv").write_text("\n".join(["iteration,worker,time,compute", *cells]))
    with pytest.raises(UserError, match="compute of worker 1 in row 0"):
        benchmark(tmp_path / "my.csv", **asked)


@pytest.mark.paper("stragglers")
def test_drawings_of_the_folder_show_every_scheme():
    """Each drawing of the figures on a small trace: what it names, and what its markers say."""
    traces = [{"file": FILES["AR"], "name": "AR"}]

    def axes_of(table, name):
        room = "gcexp.figures" if name == "map_of" else "gcexp_papers.stragglers"
        return draw(table, {"kind": "function", "function": f"{room}.remedies.{name}"}).axes[0]

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
    lines = [axes_of(table, "late_lines").lines for table in (late, late.assign(ratio=1.0))]
    marks = [[line.get_xdata().tolist() for line in drawn[1::2]] for drawn in lines]
    assert set(lines[0][0].get_ydata()) == {1.0} and marks == [[[*range(5)]] * 2, [[0, 2, 4], [1, 3]]]
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
    """Building takes n^2 seconds of a clock of the test's own; of the rounds the least counts."""
    costs = {10: iter([0, 9, 1, 0]), 100: iter([100, 500, 0]), 1000: iter([2e4, 1e4, 0])}
    now = [0.0]
    monkeypatch.setattr("time.process_time", lambda: now[0])

    def made(n):
        def make():
            now[0] += next(costs[n])
            return Uncoded(n)

        return make

    codes = [{"label": "mine", "of": [made(n) for n in costs]}]
    frame = benchmarking.growth(codes, n=[*costs], iterations=5, repeats=2)
    assert list(frame) == benchmarking.growth.columns(codes=codes, n=[], iterations=5)
    values = frame.pivot(index="n", columns="quantity", values="value")
    assert values["CPU seconds"].tolist() == [1, 100, 1e4]
    assert values["memory (MiB)"].is_monotonic_increasing
    times = frame["quantity"] == "CPU seconds"
    np.testing.assert_allclose(frame.loc[times, "exponent"], 2)
    assert frame.loc[~times, "exponent"].isna().all()


@pytest.mark.parametrize(
    "keys, words",
    [
        ({"n": [20, 10]}, "20, 10"),
        ({"n": [10, 20], "sizes": [20]}, "10, 20"),
        ({"n": [10, 20, 30]}, "x: .* 3 n"),
        ({"n": [10, 20], "repeats": 0}, "repeats .* 0"),
    ],
)
def test_growth_refuses_what_it_cannot_fit(keys, words):
    with pytest.raises(ParameterError, match=words):
        benchmarking.growth([{"label": "x", "of": [Uncoded, Uncoded]}], iterations=1, **keys)
