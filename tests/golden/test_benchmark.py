"""The benchmark of remedies and bounds: break-evens, colours and gaps of an own computation, and the command."""

from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import gcexp
from gcexp.codes import Uncoded
from gcexp.command.main import main
from gcexp.errors import UserError
from gcexp.figures import draw, read_table
from gcexp.run.benchmark_schemes import entries, played_schemes, schemes_fingerprint
from gcexp.theory import bounds
from gcexp_adviser import benchmark as benchmarking
from gcexp_adviser.benchmark import (
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
from gcexp_adviser.logs.reading import trace_of
from tests.conftest import refusals

AR, SE, JOB1, JOB3 = "bytedance-AR-dp", "bytedance-SE-dp", "pai-job1", "pai-job3"
CYCLIC, HOME, LEARNED = "cyclic, s = 1", "FRC, d = 2", "FRC, d = 2, learned pairs"
LABELS = {entry.label for entry in entries()}


def benchmark(file: str, schemes=None, phi=(0.0,), **more) -> pd.DataFrame:
    """The map of a trace, without a progress bar."""
    return gcexp.benchmark(file, schemes, phi, **{"progress": False} | more)


# --- Numbers of an own computation -------------------------------------------------------------------------------


def expected(name: str) -> pd.DataFrame:
    return pd.read_csv(Path(__file__).with_name(f"{name}.expected.csv"))


def keyed(words: list[str]) -> dict:
    return {key: yaml.safe_load(value) for key, value in (word.split("=", 1) for word in words)}


def scheme(text: str) -> str | dict:
    """A label of the default table, or the name of a scheme with its keys."""
    name, *keys = text.split()
    return text if text in LABELS else {"scheme": name, "label": text} | keyed(keys)


OF_A_CASE = ["trace", "more", "phi", "late"]
CASES = [
    pytest.param(
        case, wanted, id=" ".join(map(str, case)), marks=[pytest.mark.slow] * (case[0] == "pai-job4")
    )
    for case, wanted in expected("stragglers").fillna({"more": ""}).groupby(OF_A_CASE, sort=False)
]


@pytest.mark.parametrize(("case", "wanted"), CASES)
def test_expected_numbers(case, wanted):
    """E1 to E43 and B1 to B15 of the specification, by trace and its options, share phi, and late workers."""
    trace, more, phi, late = case
    found = benchmark(
        trace, [scheme(one) for one in wanted["scheme"]], [phi], late=late, **keyed(more.split())
    )
    assert list(found) == list(COLUMNS) and found["scheme"].tolist() == wanted["scheme"].tolist()
    for column in wanted.columns.difference([*OF_A_CASE, "scheme", "source"]):
        there = wanted[column].notna().to_numpy()
        values, told = found.loc[there, column], wanted.loc[there, column]
        if column == "colour":
            assert values.tolist() == told.tolist()
        else:
            tolerance = 1e-3 if column == "gap" else 2e-5
            np.testing.assert_allclose(values.astype(float), told, rtol=tolerance, err_msg=column)


@pytest.mark.parametrize(("trace", "wanted"), expected("breakevens").groupby("trace"))
def test_break_evens(trace, wanted):
    """Just below, a scheme or its bound takes longer than what it is compared with, and just above it does not.

    E38 and E39: where schemes win; B9 and B11: where any code of their loads may.
    """
    sides = [wanted["phi"] - 2e-6, wanted["phi"] + 2e-6]
    phi = sorted({share for side in sides for share in side if share >= 0})
    table = benchmark(trace, [*wanted["scheme"].unique()], phi).set_index(["scheme", "phi"])
    for row in wanted.itertuples():
        for share, slower in ((row.phi - 2e-6, True), (row.phi + 2e-6, False)):
            if share >= 0:
                found = table.loc[(row.scheme, share)]
                other = 1.0 if row.against == "waiting" else found["reference"]
                assert (found[row.of] > other) == slower, row


def test_break_evens_are_searched_for():
    """On small traces: where the ratio crosses, always, and never."""
    table = break_evens([{"file": AR}, {"file": JOB3}], [LEARNED]).set_index(["trace", "against"])
    found = table[["wins_from", "bound_from"]]
    assert found.loc[(AR, "rebalancing")].tolist() == pytest.approx([0.947433, 0.946739], abs=2e-6)
    assert found.loc[(AR, "waiting")].tolist() == [0, 0]
    assert np.isnan(found.loc[(JOB3, "rebalancing"), "wins_from"])


#: The phi below which no load n/q can win, and the q that binds: against waiting for all (B10), and rebalancing (B12).
ANY_LOAD = {
    "pai-job1": ((0.572245, 9), (0.846865, 9)),
    "pai-job2": ((0.560072, 9), (0.928162, 9)),
    "pai-job3": ((0.7333, 8), (0.904085, 7)),
    "pai-job4": ((0, 5), (0.346009, 5)),
    AR: ((0, 3), (0.431598, 3)),
    SE: ((0, 31), (0, 31)),
}


@pytest.mark.parametrize("name", ANY_LOAD)
def test_below_what_no_code_of_any_load_can(name):
    """Of all real loads d = n/q the named one binds: it wins from there on, and just below none does."""
    whole = Replay.of(name)
    n = whole.n

    def excess(q: int, phi: tuple[float, ...], rebalancing: bool) -> np.ndarray:
        """By how much the bound of load n / q exceeds the reference."""
        took = bounds.capacity(*whole.draws(n, phi).parts(), n / q).mean(1) / whole.waiting(n, phi).mean(1)
        return took / (whole.reference(n, n / q, phi)[0] if rebalancing else 1.0) - 1

    for rebalancing, (phi, binding) in enumerate(ANY_LOAD[name]):
        if phi == 0:
            assert excess(binding, (0.0,), rebalancing) < 0
        else:
            below, above = excess(binding, (phi - 2e-6, phi + 2e-6), rebalancing)
            assert above <= 1e-9 < below
            if name != "pai-job4":  # the longest
                assert min(excess(q, (phi - 1e-5,), rebalancing) for q in range(1, n)) > 0


# --- The table ---------------------------------------------------------------------------------------------------


def test_the_default_table_on_a_small_trace():
    """Every row has what it should have, and nothing is below its bound."""
    table = benchmark(AR, phi=[0.0, 0.7], late=["stop", "finish"])
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
    whole = benchmark(SE, schemes, late=lates, **alike).set_index(keys)
    with ProcessPoolExecutor(2, get_context("fork")) as cores:
        alone = [cores.submit(benchmark, SE, [one], late=lates[::-1], **alike) for one in schemes[::-1]]
    parts = pd.concat([one.result() for one in alone]).set_index(keys)
    assert len(parts) == len(whole) == 2 * len(schemes) - 3 and whole.index.is_unique
    assert parts.loc[whole.index].to_csv() == whole.to_csv()


def test_a_bound_does_not_depend_on_who_sits_where_or_is_late():
    table = benchmark(JOB1, [HOME, LEARNED], phi=[0.3], late=["stop", "chunk", "every"], chunks=[2, 8])
    assert table["bound"].nunique() == 1 and len(table) == 8
    assert table["chunks"].dropna().tolist() == [2, 2, 8, 8]


def test_times_that_follow_the_data():
    schemes = ["bound: one message, load 2", HOME, "uneven, last row", "ignore 1"]
    table = benchmark(SE, schemes, data_bound=True)
    frc, ignore = table.set_index("scheme").loc[[HOME, "ignore 1"]].to_dict("records")
    assert (frc["colour"], frc["reference"], frc["against"]) == (CANNOT, 1.0, ALONE)
    assert pd.isna(ignore["bound"]) and "data_bound" in table.attrs["left_out"]["uneven, last row"]
    (bound,) = table.loc[table["group"] == "bounds", "ratio"]  # Theorem 3 takes the place of Theorem 1
    assert bound == frc["bound"] and not table.attrs["notes"]
    priced_by_workers = benchmark(SE, HOME)
    assert "data_bound" in priced_by_workers.attrs["notes"][0]


def test_workers_that_are_new_in_every_row():
    table = benchmark("faas-aws-2048mb", [HOME, LEARNED, "uneven, last row"], pricing="additive", rows=[0])
    assert {LEARNED, "uneven, last row"} <= set(table.attrs["left_out"])
    judged = table[table["colour"].notna()]
    assert set(judged["against"]) == {ALONE} and (judged["reference"] == 1).all()
    assert table["ratio_low"].isna().all()


def test_a_code_slower_than_waiting_never_wins():
    """Of independent times the last row says nothing, so that rebalancing is slower than waiting for all."""
    table = benchmark(np.random.default_rng(0).exponential(1, (120, 8)), phi=[0.0, 0.5, 1.0])
    assert (table.loc[table["scheme"] == "uneven, last row, at most 2", "ratio"] > 1.05).any()
    judged = table[table["colour"].notna()]
    assert set(judged["against"]) >= {WAITING} and (judged["reference"] <= 1).all()
    wins = judged["ratio"] <= judged["reference"] * (1 + 1e-9)
    assert (wins == (judged["colour"] == WINS)).all() and wins.any() and not wins.all()


#: On it cyclic repetition is faster than rebalancing at phi = 0, slower at .6, and faster again from .66 on.
DIPS = """2.748 1.864 1.519; 2.748 1.864 1.519; 0.692 1.046 1.001; 1.167 0.676 0.515; 1.771 1.621 0.858;
12.108 6.925 0.706; 44.807 1.624 0.975; 3.414 0.93 1.083"""


def test_no_code_wins_below_the_stated_share():
    """A scheme wins from the last crossing on, and the bound holds from the first one."""
    trace = trace_of([list(map(float, row.split())) for row in DIPS.split(";")])
    found = break_evens([{"file": trace}], [CYCLIC]).set_index("against").loc["rebalancing"]
    shares = [*np.linspace(0, 1, 101), found["wins_from"] - 1e-5, found["wins_from"] + 1e-5]
    table = benchmark(trace, CYCLIC, phi=shares)
    wins = (table["ratio"] <= table["reference"]).set_axis(shares).sort_index()
    assert found["bound_from"] <= wins[wins].index.min() < found["wins_from"]
    assert wins[wins.index > found["wins_from"]].all() and not wins[found["wins_from"] - 1e-5]


# --- Schemes of one's own ----------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write option files of schemes: a name, the code, the rule, and what else stands in it."""
    (tmp_path / "scheme").mkdir()
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(tmp_path))

    def written(name, code, wait, more):
        head = f"# @package _global_\n# Mine.\ndefaults:\n  - override /code: {code}\n  - override /wait: {wait}\n"
        (tmp_path / "scheme" / f"{name}.yaml").write_text(head + more)

    return written


def test_ones_own_scheme_joins_by_its_option_file(own):
    own("mine", "uncoded", "fastest", "wait: {s: 2}")
    assert "mine" not in [entry.label for entry in entries()]
    own("mine", "uncoded", "fastest", "wait: {s: 2}\nbenchmark: true")
    assert entries()[-1].label == "mine" and entries()[-1].group == "own"
    table = benchmark(JOB1, ["mine", {"scheme": "forget", "s": 2}])
    assert table["ratio"].nunique() == 1 and table["used_share"].tolist() == pytest.approx([0.8, 0.8])


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
def test_a_scheme_of_ones_own_that_cannot_be_played(given, own, refused_command):
    """A sentence and exit 2, also where it is the only one; beside others it is told, or refused where it lies."""
    own("mine", *given)
    named = [] if "benchmark:" in given[2] else ["mine"]
    refused_command(UNPLAYABLE[given], "benchmark", AR, *named, "--phi", "0.2")


ODD = {
    "one worker": np.random.default_rng(0).uniform(1, 2, (9, 1)),
    "one row": np.random.default_rng(1).uniform(1, 2, (1, 6)),
    "ties": np.random.default_rng(2).integers(1, 3, (12, 6)),
    "small and large": 10.0 ** np.random.default_rng(3).uniform(-150, 150, (12, 6)),
    "a prime number": np.random.default_rng(4).exponential(1, (12, 7)) + 0.1,
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("error")
def test_own_schemes_on_odd_traces_are_never_below_their_bound(name, own):
    """Whatever late workers do: one row for each that can be played, finite, and each other one has its reason."""
    for i, given in enumerate(
        (
            ("cyclic_repetition", "fastest", "code: {s: 2}\nwait: {s: 2}"),
            ("partial_work", "covered", "code: {d: 2, q: 3}\nwait: {fraction: 0.8}"),
            ("circulant", "recovered", "wait: {fraction: 0.7}"),
            ("uncoded", "adaptive_deadline", "  - override /placement: zipper\nwait: {kappa: 1.0}"),
            ("uncoded", "decodable", "  - override /loads: uneven\nloads: {cap: 1.5}"),
            ("cyclic_repetition", "capacity", "code: {s: 1}\nbound: true"),
        )
    ):
        own(f"mine{i}", *given)
    mine, lates = [f"mine{i}" for i in range(6)], ["stop", "chunk", "finish", "every"]
    table = benchmark(ODD[name], ["wait for all", *mine], phi=[0.0, 0.6], late=lates)
    assert set(table["scheme"]) | set(table.attrs["left_out"]) == {"wait for all", *mine}
    assert not table.duplicated(["phi", "late", "scheme"]).any()
    assert np.isfinite(table[["mean_duration", "ratio"]].to_numpy(float)).all()
    assert (table["gap"].dropna() >= -1e-9).all() and table["gap"].notna().sum() >= 8


def test_what_clocks_depend_on_names_every_scheme():
    lines = schemes_fingerprint(played_schemes([CYCLIC, {"scheme": "dropcompute", "wait.tau": 3.0}]))
    assert f"{CYCLIC}: code._target_=gcexp.codes.cyclic.CyclicRepetition" in lines
    assert "dropcompute wait.tau=3.0: wait.tau=3.0" in lines


# --- The command -------------------------------------------------------------------------------------------------


def test_what_never_uses_a_worker_is_marked_wherever_it_is_shown(tmp_path, capsys, monkeypatch):
    """On the terminal, in Markdown and in the picture; backup workers draw their data anew and lose none."""
    drawn, file, named = [], str(tmp_path / "mine.csv"), ["ignore 1", "backup 1", "wait for all"]
    monkeypatch.setattr("gcexp.figures.save", lambda figure, paths: drawn.append(figure))
    times = np.random.default_rng(0).uniform(1, 1.2, (60, 5)) * [1, 1, 1, 3, 1]  # node3 is lastingly slow
    rows = [{"iteration": t, "worker": f"node{w}", "time": time} for (t, w), time in np.ndenumerate(times)]
    pd.DataFrame(rows).to_csv(file, index=False)
    assert main(["benchmark", file, *named, "--phi", "0", "-o", str(tmp_path / "out")]) == 0
    told, page = capsys.readouterr().out, (tmp_path / "out" / "benchmark.md").read_text()
    for text in (told, page):
        assert text.count("node3") == 1 and "gcexp advise" in text
    unused = benchmark(file, named).attrs["unused"]
    assert list(unused) == ["ignore 1"] and "node3" in unused["ignore 1"]
    names = [label.get_text() for label in drawn[0].axes[0].get_yticklabels()]
    assert "ignore 1" in names, "a phrase behind a name leaves no room for the map"
    notes = [text.get_text().replace("\n", " ") for text in drawn[0].texts]
    assert any("ignore 1: never uses worker node3" in note for note in notes)


def test_the_command_shows_and_writes_what_the_function_gives(tmp_path, capsys, monkeypatch):
    """By the name of a bundled trace: verdicts, marks and shares in text and Markdown, a table, a drawing."""
    monkeypatch.setattr("gcexp.figures.style._save_png", lambda figure, path: path.write_bytes(b""))
    assert main(["benchmark", AR, "--phi", "0", "1", "-o", str(tmp_path)]) == 0
    told, page = capsys.readouterr().out, (tmp_path / "benchmark.md").read_text()
    frame = benchmark(AR, phi=[0.0, 1.0])
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
    drop = {"kind": "function", "function": "gcexp_adviser.maps.map_of"}
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


def test_a_table_is_shown_again_and_its_page_has_every_row(tmp_path, capsys, monkeypatch, refused_command):
    monkeypatch.setattr("gcexp.figures.save", lambda figure, paths: None)
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
    for more in (["--late", "bogus"], ["--data-bound"]):
        refused_command(more[0], "benchmark", str(tmp_path / "table.csv"), *more)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (["nowhere.csv"], "nowhere.csv"),
        ([AR, "frk"], "frc"),
        ([AR, "--phi", "2"], "got 2.0"),
        ([AR, "--late", "finnish"], "finish"),
        ([AR, "-n", "9"], "n=9"),
        ([AR, "--rows", "3", "999"], "999"),
        ([AR, "--late", "chunk", "--chunks", "0"], "got 0"),
        ([AR, "--pricing", "additive"], "compute"),
        (["data/traces/faas-aws-256mb.csv", "--late", "finish"], "faas-aws-256mb"),
        ([AR, "-n", "1000000000", "cgc"], "n=1000000000"),
        ([AR, "-o", "pyproject.toml"], "pyproject.toml"),
        ([AR, "-o", ""], "folder"),
        ([AR, "s=2"], "s=2"),
        ([AR, "cgc", "s=1", "s=2"], "cgc"),
        ([AR, "cgc", "s=9"], "s=9"),
        (["pai-job9"], "pai-job4"),
    ],
)
def test_mistakes_of_the_command(given, name, refused_command):
    refused_command(name, "benchmark", *given)


test_mistakes_from_python = refusals(
    (lambda: benchmark(AR, "wait for all", []), "phi"),
    (lambda: benchmark(AR, [], [0.5]), "schemes"),
    (lambda: benchmark(AR, {"s": 3}, [0.5]), "scheme"),
    (lambda: benchmark(AR, {"scheme": "cgc", "group": "exakt"}, [0.5]), "exact"),
    (lambda: benchmark(AR, ["frc", {"scheme": "cgc", "label": "frc"}], [0.5]), "frc"),
    (lambda: benchmark(AR, "wait for all", [0.5], late=[]), "late"),
    (lambda: benchmark(AR, "wait for all", [0.5], late="chunk", chunks=2.5), "chunks"),
    (lambda: benchmark(AR, "wait for all", [0.5], late=float("nan")), "late"),
    (lambda: benchmark(AR, "wait for all", [0.5], progress=np.array([True, False])), "progress"),
    error=UserError,
)


@pytest.mark.parametrize("amount", ["-0.3", "nan", "inf", "text", "1e308"])
@pytest.mark.parametrize("asked", [{"pricing": "additive"}, {"column": "compute"}])
def test_measured_parts_that_are_no_times(amount, asked, tmp_path):
    cells = [f"{t},{w},2,{amount if (t, w) == (0, 1) else 1}" for t in range(3) for w in range(2)]
    (tmp_path / "my.csv").write_text("\n".join(["iteration,worker,time,compute", *cells, ""]))
    with pytest.raises(UserError, match="compute of worker 1 in row 0"):
        benchmark(tmp_path / "my.csv", **asked)


@pytest.mark.paper("stragglers")
def test_drawings_of_the_folder_show_every_scheme():
    """Drawings of the figures on a small trace: what they name, and what their markers say."""
    traces = [{"file": AR, "name": "AR"}]

    def axes_of(table, name):
        return draw(table, {"kind": "function", "function": f"gcexp_papers.stragglers.remedies.{name}"}).axes[
            0
        ]

    def legend_of(axes):
        (legend,) = axes.figure.legends
        return [text.get_text() for text in legend.get_texts()]

    schemes = ["bound: any loads", LEARNED, "ignore 1", "quorum n/2 and grace"]
    fair = axes_of(remedies(traces, [0.0], schemes), "fair")
    assert [label.get_text() for label in fair.get_yticklabels()] == schemes[1:]
    assert [text.get_text() for text in fair.texts][0] == "exact"
    points = [line for line in fair.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert [line.get_markerfacecolor() == "white" for line in points] == [False, True, True]
    late = remedies(traces, [0.0], ["wait for all", HOME], ["stop", "chunk", "finish", "every"], [2, 8])
    cells = axes_of(late, "late_cells")
    assert [label.get_text() for label in cells.get_xticklabels()] == [
        "stop",
        "1/8",
        "1/2",
        "finish",
        "every",
    ]
    texts = [text.get_text() for text in cells.texts]
    assert len(texts) == len(late) and texts.count("1.00") >= 5
    assert cells.patches[0].get_facecolor() == cells.patches[2].get_facecolor()  # waiting takes as long
    bars = axes_of(break_evens(traces, [LEARNED]).query("against == 'rebalancing'"), "break_even_bars")
    assert bars.patches[0].get_width() == pytest.approx(0.946739, abs=2e-6)
    paired = {"scheme": "frc", "wait": "decodable", "code.d": 2, "group": "exact", "placement": "hindsight"}
    seats = [paired | {"placement.which": one, "label": f"FRC: {one}"} for one in ("best", "worst")]
    table = remedies(traces, [0.0], [one | {"placement.pairs": True} for one in seats])
    assert table["ratio"].is_monotonic_increasing and table["hindsight"].all()
    assert "best (hindsight)" in legend_of(axes_of(table, "placements"))


def test_growth_fits_the_exponent_of_what_it_measures(monkeypatch):
    """Building takes n^2 seconds of a clock of the test's own, once everything is loaded."""
    costs = {10: iter([9, 1, 0]), 100: iter([100, 0]), 1000: iter([1e4, 0])}
    now = [0.0]
    monkeypatch.setattr("time.process_time", lambda: now[0])

    def made(n):
        def make():
            now[0] += next(costs[n])
            return Uncoded(n)

        return make

    codes = [{"label": "mine", "of": [made(n) for n in costs]}]
    frame = benchmarking.growth(codes, n=[*costs], iterations=5)
    assert list(frame) == benchmarking.growth.columns(codes=codes, n=[], iterations=5)
    values = frame.pivot(index="n", columns="quantity", values="value")
    assert values["CPU seconds"].tolist() == [1, 100, 1e4]
    assert values["memory (MiB)"].is_monotonic_increasing
    times = frame["quantity"] == "CPU seconds"
    np.testing.assert_allclose(frame.loc[times, "exponent"], 2)
    assert frame.loc[~times, "exponent"].isna().all()


growth = partial(benchmarking.growth, [{"label": "x", "of": [Uncoded, Uncoded]}], iterations=1)
test_growth_refuses_what_it_cannot_fit = refusals(
    (lambda: growth(n=[20, 10]), "20, 10"),
    (lambda: growth(n=[10, 20], sizes=[20]), "10, 20"),
    (lambda: growth(n=[10, 20, 30]), "x: .* 3 n"),
)
