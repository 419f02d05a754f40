"""`gcexp advise`: settings, verdicts and bounds of the bundled traces, little regret, and the clock agrees."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.command import main
from gcexp.run.run import Run
from gcexp.seeding import rng
from gcexp_adviser.logs.reading import trace_of
from gcexp_adviser.remedies.advise import advise
from gcexp_adviser.remedies.pictures import of_advice
from gcexp_adviser.remedies.remedies import Remedy
from gcexp_adviser.remedies.settings import settings
from gcexp_adviser.remedies.terms import Terms
from gcexp_adviser.remedies.verdict import Comparison

JOBS = [f"pai-job{number}" for number in (1, 2, 3, 4)]
AR, SE, ST = (f"bytedance-{name}-dp" for name in ("AR", "SE", "ST"))


@pytest.fixture
def undrawn(monkeypatch):
    """Pages of advice without their pictures, which another test looks at."""
    for picture in ("remedies.pictures.of_advice", "diagnosis.pictures.of_fit"):
        monkeypatch.setattr(f"gcexp_adviser.{picture}", lambda *given: None)
    monkeypatch.setattr("gcexp_adviser.page.files.drawn", lambda picture: b"")


def times(name):
    return trace_of(name).values["time"]


def halves(name):
    x = times(name)
    return x[: len(x) // 2], x[len(x) // 2 :]


# --- Numbers --------------------------------------------------------------------------------------------------------

SETTINGS = {
    "pai-job1": ((525, 0.9740, 0.9927, 0.9333, 0.9), (0.9398, 0.9040, 0.5133, 0.9), (1.0443, 0.9921, 0.9398)),
    "pai-job2": ((925, 0.9964, 0.9849, 0.8487, 0.9), (0.9534, 0.9000, 0.0420, 0.9), (1.0593, 1.0063, 0.9534)),
    "pai-job3": ((801, 0.9562, 0.8903, 0.7339, 0.5), (0.9721, 0.9073, 0.6613, 0.9), (1.0801, 1.0261, 0.9721)),
    "pai-job4": ((317, 0.6223, 0.9296, 0.7149, 0.8), (0.9043, 0.9023, 0.5445, 0.9), (1.0048, 0.9546, 0.9043)),
    AR: ((45.7002, 1, 1, 1, 1), (0.4464, 0.75, 0, 0.75), (0.5952, 0.5208, 0.4464)),
    SE: (
        (7.7622, 0.9721, 0.9886, 0.9545, 0.9375),
        (0.9308, 0.9688, 0.8636, 0.9688),
        (0.9609, 0.9459, 0.9308),
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name):
    timeout, quorum, spare = SETTINGS[name]
    seen = settings(times(name), (0.0, 0.5, 1.0)).set_index("setting")
    judged = ["value", "time", "used", "least_used_worker", "worst_iteration"]
    assert seen[seen["limit"] == 0.01][judged].iloc[0].tolist() == pytest.approx(timeout, abs=1e-4)
    assert seen.loc["quorum"][judged[1:]].iloc[0].tolist() == pytest.approx(quorum, abs=1e-4)
    one_spare = seen.loc["spare"].query("value == 1")
    assert one_spare["time"].tolist() == pytest.approx(spare, abs=1e-4)


def test_a_single_spell_counts_in_the_settings_and_is_told_beside_them():
    advice = advise("pai-job1", phi=0.0)
    least = advice.table.iloc[0]
    assert (least["setting"], least["value"]) == ("timeout", 584)
    judged = least[["time", "time_without_event", "used", "least_used_worker"]].tolist()
    assert judged == pytest.approx([0.9809, 0.9986, 0.9953, 0.9533], abs=1e-4)
    assert "time without the spell" in advice.page().text() and "iterations 0 to 299" in advice.page().text()
    without_spells = advise("pai-job4", phi=0.0)
    assert without_spells.table["time_without_event"].isna().all()
    text = without_spells.page().text()
    assert "time without the" not in text and "Settings on iterations 1980 to 2181" in text


def test_spare_workers_say_what_they_need_and_why_they_are_not_advised():
    advice = advise("pai-job2", phi=1.0)
    spare = advice.table.query("setting == 'spare' and value == 1").iloc[0]
    assert "draw any data" in spare["remark"] and "4.2 %" in spare["remark"]
    told = [sentence for sentence in advice.sentences if "spare" in sentence]
    assert len(told) == 1 and "draw any data" in told[0] and "0.8 %" in told[0]
    assert not any("spare" in sentence for sentence in advise("pai-job2", phi=0.0).sentences)


def test_the_headline_names_its_phi():
    one_verdict = advise(AR)
    assert one_verdict.verdict == "rebalance"
    assert all(f"with phi {phi}" in one_verdict.sentence.lower() for phi in ("0", "0.5", "1"))
    assert "with phi 0.5" in repr(one_verdict)
    assert "with phi 0.25" in advise(AR, phi=0.25).sentence
    assert "with phi 0.5" in advise(ST).sentence


def test_a_broken_promise_is_never_recommended():
    seen = settings(times("pai-job4"), (0.0,)).set_index("limit")
    assert not seen.loc[0.01, "kept_on_second_half"] and seen.loc[0.01, "remark"]
    advice = advise(AR, phi=0.0)
    fewer = advice.table.query("setting == 'quorum'").iloc[0]
    assert fewer["remark"] and fewer["never_used"] == [0]
    assert any("never uses worker 0" in note for note in advice.page().notes)


@pytest.fixture
def whole_shares(monkeypatch):
    """Shares are computed whole, as in the independent implementation from which the numbers are."""
    monkeypatch.setattr("gcexp_adviser.remedies.remedies._PIECES", (1,))


WORDS = {"n": "not enough data", "d": "do nothing", "r": "rebalance", "c": "code"}
VERDICTS = {  # from first halves at phi 0, .5, 1: verdict and ratio; the same with free messages; bound at phi 0
    "pai-job1": ("ndc", (0.9884, 0.9813, 0.8830), "ndc", (0.9883, 0.9811, 0.8818), 0.90706),
    "pai-job2": ("rrc", (0.9084, 0.9448, 0.8791), "rrc", (0.9075, 0.9442, 0.8779), 0.88154),
    "pai-job3": ("rrc", (0.9582, 0.9664, 0.8947), "rrc", (0.9578, 0.9660, 0.8937), 0.91059),
    "pai-job4": ("rcc", (0.4791, 0.4044, 0.2480), "rcc", (0.4739, 0.3840, 0.2271), 0.35269),
    AR: ("rrr", (0.5192, 0.5185, 0.4449), "rrc", (0.5173, 0.5176, 0.4390), 0.51295),
    SE: ("ddc", (1.0, 1.0, 0.7777), "ddc", (1.0, 1.0, 0.7706), 0.79621),
    ST: ("ddd", (1.0, 1.0, 1.0), "ddd", (1.0, 1.0, 1.0), 0.99647),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts_from_the_first_half_do_no_harm_in_the_second(name, whole_shares):
    first, second = halves(name)
    words, ratios, free_words, free_ratios, bound = VERDICTS[name]
    for per_message, *expected in ((0.001, words, ratios), (0.0, free_words, free_ratios)):
        compared = Comparison(first, Terms(per_message=per_message))
        for phi, word, ratio in zip((0.0, 0.5, 1.0), *expected, strict=True):
            answer = compared.answer(phi)
            assert (answer.verdict, answer.pick.ratio) == (WORDS[word], pytest.approx(ratio, abs=1e-4)), phi
            took = answer.plan.times(second, [phi]).mean() + compared.extra(answer.pick.remedy)
            waiting = second.max(1).mean() + compared.extra(Remedy("wait"))
            assert not answer.advised or took <= waiting
    assert compared.floor(0.0) == pytest.approx(bound, abs=2e-5)


def test_intervals_and_gaps(whole_shares):
    first = {name: halves(name)[0] for name in JOBS}
    unsure = Comparison(first["pai-job1"]).answer(0.0)
    coded = Comparison(first["pai-job4"]).answer(0.5)
    assert (unsure.low, unsure.high) == pytest.approx((0.965, 1.012), abs=0.01)
    assert (coded.low, coded.high) == pytest.approx((0.373, 0.441), abs=0.01)
    compared = [Comparison(first[name], Terms(per_message=0.0)) for name in JOBS]
    gaps = [[one.answer(phi).gap for one in compared] for phi in (0.0, 0.5)]
    expected = [[0.0896, 0.0294, 0.0518, 0.3436], [0.0816, 0.0711, 0.0609, 0.1460]]
    assert gaps == [pytest.approx(row, abs=1e-4) for row in expected]


LEARNED = {  # on the first half; time of the second over waiting, on jobs 1 to 4 and AR
    Remedy("rebalance", "learned"): (0.977057, 0.907555, 0.985488, 0.425994, 0.5181),
    Remedy("grouped", "snake", 2, 1): (1.787736, 1.829352, 1.800502, 0.288690, 0.888716),
    Remedy("chunks", "alternate", 2): (0.998021, 1, 1, 0.286741, 0.888026),
}


@pytest.mark.parametrize("remedy", LEARNED)
def test_what_is_learned_and_what_it_takes(remedy):
    for name, ratio in zip([*JOBS, AR], LEARNED[remedy], strict=True):
        first, second = halves(name)
        took = remedy.learned(first).times(second, [0.0]).mean()
        assert took / second.max(1).mean() == pytest.approx(ratio, abs=1e-6)
    if remedy.kind != "rebalance":
        assert remedy.learned(halves("pai-job4")[0]).workers.tolist() == [7, 1, 8, 4, 6, 2, 5, 3, 0, 9]


ONE_RATIO = [  # what is learned on the whole trace: its time on it over waiting, or over its own with late workers
    ("pai-job4", Remedy("rebalance", "recent"), 0.303563),
    (AR, Remedy("rebalance", "recent"), 0.527859),
    ("pai-job1", Remedy("grouped", "home", 10, 1), 1 / 1.014211),
    ("pai-job4", Remedy("grouped", "home", 10, 1), 1 / 1.014230),
]


@pytest.mark.parametrize(("name", "remedy", "ratio"), ONE_RATIO)
def test_remedies_on_a_whole_trace(name, remedy, ratio):
    """Rebalancing by the last 20 iterations, and late workers that delay the next ones."""
    x = times(name)
    plan = remedy.learned(x)
    late = plan.times(x, [0.0], "every").mean() if remedy.kind == "grouped" else x.max(1).mean()
    assert plan.times(x, [0.0]).mean() / late == pytest.approx(ratio, abs=1e-6)


def test_what_would_change_its_mind(whole_shares):
    first = halves("pai-job4")[0]
    found = {change["what"]: change for change in Comparison(first, Terms(per_message=0.0)).changes(0.5)}
    phi = {"what": "phi", "at": pytest.approx(0.0953, abs=3e-4), "below": True, "then": "rebalance"}
    cost = found["per_message"]["at"]
    assert found["phi"] == phi and 0.0003 <= cost <= 0.0004 and found["d_max"]["at"] == 3
    picks = [{"d_max": d, "per_message": 0.0} for d in range(1, 6)] + [{"per_message": cost}]
    picks = [Comparison(first, Terms(**terms)).answer(0.5).pick.remedy for terms in picks]
    assert [one.kind for one in picks] == ["rebalance", "grouped", "grouped", "chunks", "chunks", "grouped"]
    assert {*picks[1:3], picks[5]} == {Remedy("grouped", "snake", 2, 1)}


def test_free_messages_make_small_chunks_better():
    """What the best remedy in chunks takes on the whole trace is what the benchmark says of the same scheme."""
    priced, free = (advise(SE, phi=0.5, per_message=cost) for cost in (0.001, 0.0))
    assert priced.verdict == "do nothing" and free.verdict == "code"
    assert free.main.pick.remedy == Remedy("chunks", "home", 2, pieces=8)
    x = times(SE)
    table = gcexp.benchmark(SE, ["partial work, d = 2"], [0.5], progress=False)
    scored = x[-table.attrs["rows"] :]
    took = free.main.plan.times(scored, [0.5]).mean() / scored.max(1).mean()
    assert table["ratio"][0] == pytest.approx(took, rel=1e-12)


# --- One road ---------------------------------------------------------------------------------------------------------


HOW = [
    ("pai-job1", {}),
    (AR, {"moves": True}),
    ("pai-job1", {"slowness": "data"}),
    (AR, {"late": "every"}),
    (AR, {"late": "finish", "slowness": "data"}),
]


@pytest.mark.parametrize(("name", "how"), HOW)
def test_every_remedy_is_played_by_the_clock_as_it_was_priced(name, how):
    """What each remedy would write as its scheme, on the trace, takes the mean that was told."""
    advice = advise(name, phi=0.3, **how)
    x, terms = advice.recorded.x, advice.comparison.terms
    kinds = set()
    for remedy in advice.comparison.plans:
        plan = remedy.learned(x)
        run = Run.of([*advice.playing(plan), f"iterations={len(x)}", "seeds=1"])
        told = plan.times(x, [0.3], terms.late, terms.data_bound).mean()
        assert told == pytest.approx(run.clock().duration.mean(), rel=1e-12), remedy
        kinds.add(remedy.kind)
    assert ("rebalance" in kinds) == ("slowness" not in how) and ("chunks" in kinds) == ("late" not in how)


WRITTEN = [
    ("pai-job4", "phi=0.5"),
    (AR, "phi=0.5"),
    ("pai-job1", "phi=0", "moves=true"),
    ("pai-job1", "phi=1", "slowness=data", "late=every"),
]


def test_what_is_written_runs_and_takes_what_was_told(tmp_path, undrawn, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.main(["init", "mine"]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    for place, given in enumerate(WRITTEN):
        capsys.readouterr()
        command = ["advise", *given, "--write", f"conf/scheme/advised{place}.yaml"]
        assert main.main([*command, "-o", "out"]) == 0
        line = capsys.readouterr().out.strip().splitlines()[-1].partition("gcexp run ")[2]
        line = shlex.split(line)
        told = json.loads(Path("out/advice.json").read_text())
        length = {"iterations": told["iterations"], "seeds": 1, "progress": False}
        for overrides in (line, told["scheme"]):
            mean = gcexp.simulate(*overrides, **length)["mean_iteration_time_s"][0]
            assert mean == pytest.approx(told["mean_as_written"], rel=1e-9)
    assert main.main(command) == 2  # nothing is written over what is there
    assert command[-1] in capsys.readouterr().err


def test_advice_on_a_log_of_another_form_says_how_it_is_replayed(here, undrawn, capsys, refused):
    table = pd.DataFrame(
        {"it": np.repeat(range(40), 4), "who": [*"abcd"] * 40, "took": times(AR)[:40].ravel()}
    )
    table.to_csv("log.csv", sep=";", index=False)
    of_log = ["columns=iteration:it,worker:who,time:took", "unit=s"]
    assert main.main(["advise", "log.csv", "phi=0.5", *of_log, "--write", "advised.yaml"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert shlex.split(said[-3].partition(": ")[2]) == ["gcexp", "benchmark", "log.csv", *of_log]
    imported = shlex.split(said[-2].partition(": ")[2])
    assert main.main(imported[1:]) == 0
    advice = gcexp.advise(
        "log.csv", 0.5, columns={"iteration": "it", "worker": "who", "time": "took"}, unit="s"
    )
    mean = gcexp.simulate(*advice.scheme, iterations=40, seeds=1, progress=False)["mean_iteration_time_s"][0]
    assert mean == pytest.approx(advice.mean_as_written, rel=1e-9)
    training = {"task": "digits_mlp", "level": 0.9}
    refused("gcexp trace import log.csv", lambda: gcexp.advise("log.csv", columns=of_log[0][8:], **training))
    refused(("colums", "columns"), lambda: gcexp.advise("log.csv", colums="iteration:it"))
    refused(("d_mx", "d_max"), lambda: gcexp.advise("log.csv", d_mx=3))


def test_advice_and_benchmark_name_each_other(tmp_path, undrawn, capsys, monkeypatch):
    monkeypatch.setattr("gcexp.figures.save", lambda figure, paths: None)
    for verb, other, given in (("advise", "benchmark", []), ("benchmark", "advise", ["wait for all"])):
        assert main.main([verb, AR, *given, "-o", str(tmp_path)]) == 0
        assert f"gcexp {other} {AR}" in capsys.readouterr().out
    for verb, other in (("advise", "benchmark"), ("benchmark", "advise")):
        page = "advice" if verb == "advise" else verb
        assert f"({'advice' if other == 'advise' else other}.md)" in (tmp_path / f"{page}.md").read_text()


# --- Harm, regret, invariance -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.paper("stragglers")
def test_little_regret_and_no_harm_on_generated_clusters():
    from gcexp_papers.stragglers.clusters import harm, regret

    known = regret(10, [300], first=300, later=1000)
    assert known["regret"].mean() <= 0.01 and (known["regret"] <= 0.02).mean() >= 0.9
    assert (harm(5, first=300)["later"] <= 1.02).all()


def test_neither_unit_nor_names_nor_one_pause_nor_one_glitch_change_the_verdict():
    x, phi = times("pai-job4")[::4], 0.5
    plain = advise(x, phi=phi)
    paused, glitch = x.copy(), x.copy()
    paused[200] *= 1e6
    glitch[300, 2] *= 1e6
    permuted = x[:, np.random.default_rng(1).permutation(10)]
    whole, lacking = (len(x), 1e-9), (len(x) - 1, 0.02)
    others = [(x * 1000, whole), (permuted, whole), (paused, lacking), (glitch, lacking)]
    for other, (kept, close) in others:
        seen = advise(other, phi=phi)
        assert seen.verdict == plain.verdict and len(seen.recorded.x) == kept
        assert seen.ratio == pytest.approx(plain.ratio, rel=close)


def test_equal_times_and_too_few(refused):
    assert advise(np.ones((16, 4)), unit="s").verdict == "do nothing"
    refused("equal", advise, np.ones((16, 4)))  # a setting or a count, perhaps
    few = advise(times("pai-job4")[:15], phi=0.5)
    assert few.verdict == "not enough data" and few.scheme is None
    refused("worker", advise, np.ones((50, 1)))
    refused("workers", advise, "faas-aws-2048mb")


# --- What a person sees -----------------------------------------------------------------------------------------------


def test_a_range_of_phi_has_one_verdict_or_depends(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    advice = advise(times("pai-job4")[:1091])
    assert advice.verdict == "depends on phi" and advice.phi == [0.0, 1.0] and advice.scheme is None
    assert {one["what"] for one in advice.depends} >= {"phi", "d_max"}
    assert advise(ST).verdict == "do nothing" and advise(ST).scheme[0] == "code=uncoded"
    assert main.main(["advise", "pai-job4", "phi=0.5", "-o", "out"]) == 0
    out = capsys.readouterr().out
    assert "Use redundancy: fractional repetition with pairs" in out
    assert "worker 5 has been 4.24 times slower since iteration 1872" in out
    told = json.loads((tmp_path / "out" / "advice.json").read_text())
    assert told["verdict"] == "code" and told["bound"] < told["ratio"]
    assert told["low"] < told["ratio"] < told["high"]
    assert {*told["settings"][0]} >= {"setting", "limit", "value", "time", "used", "least_used_worker"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("advice.html", "advice.json", "advice.md", "advice.png")
    }


def test_lines_of_the_picture_differ_without_their_colours():
    figure = of_advice(gcexp.advise("bytedance-AR-dp", phi=0.5), "")
    lines = [line for line in figure.axes[0].get_lines() if not line.get_label().startswith("_")]
    assert len(lines) > 3 and len({str(line._unscaled_dash_pattern) for line in lines}) == len(lines)


def test_phi_is_measured_where_it_can_be():
    x = times("pai-job2")
    parts = {"iteration": np.repeat(np.arange(len(x)), 10), "worker": np.tile(np.arange(10), len(x))}
    advice = advise(pd.DataFrame(parts | {"time": x.ravel(), "compute": 0.9 * x.ravel()}))
    assert advice.measured and advice.main.phi == pytest.approx(0.1)


@pytest.mark.parametrize(("size", "s"), [(2, 1), (5, 1), (5, 4)])
def test_a_search_for_groups_tries_one_swap_after_another_and_keeps_those_that_help(size, s):
    x = np.exp(0.3 * np.random.default_rng(0).standard_normal((200, 10)))
    dealt, searched = (Remedy("grouped", order, size, s).learned(x) for order in ("snake", "search"))
    draw = rng(0, "advice.search")
    count = 10 // size
    first = draw.integers(count, size=300)
    second = (first + 1 + draw.integers(count - 1, size=300)) % count
    seats = draw.integers(size, size=(300, 2))
    workers, kept = dealt.workers, 0
    for places in zip(first * size + seats[:, 0], second * size + seats[:, 1], strict=True):
        swapped = workers.copy()
        swapped[[*places]] = workers[[*places[::-1]]]
        before, after = (replace(dealt, workers=one).times(x, [0.0]).mean() for one in (workers, swapped))
        if after < before * (1 - 1e-12):
            workers, kept = swapped, kept + 1
    assert searched.workers.tolist() == workers.tolist() and kept > 1
    assert searched.times(x, [0.0]).mean() < 0.99 * dealt.times(x, [0.0]).mean()


def test_the_same_from_python():
    advice = gcexp.advise(AR, phi=0.5)
    assert advice.verdict == "rebalance" and advice.scheme is not None
    assert "<table" in advice._repr_html_() and {*advice.table["setting"]} == {"timeout", "quorum", "spare"}
    page = gcexp.advise(AR).page()
    for shown in (page.text(), page.markdown(), page.html()):
        assert (
            "45.7002 s" in shown and "88.6 %" in shown
        )  # the value to type with its unit, shares in per cent


BAD = [
    ("fit", ["phi=1.2"], "1.2"),
    ("fit", ["absent=never"], "skip"),
    ("fit", ["phy=1"], "phi"),
    ("fit", ["phi"], "trace phi"),  # several logs may be named
    ("fit", ["phi=0", "phi=1"], "twice"),
    ("advise", ["phi=1.2"], "1.2"),
    ("advise", ["d_max=0.5"], "d_max"),
    ("advise", ["level=0.9"], "task"),
    ("advise", ["slowness=both"], "worker"),
    ("advise", ["late=finnish"], "finish"),
]


@pytest.mark.parametrize(("verb", "options", "named"), BAD)
def test_bad_input_is_one_sentence_and_nothing_is_written(verb, options, named, here, refused_command):
    write = ["--write", "a.yaml"] if verb == "advise" else []
    refused_command(named, verb, "pai-job1", *options, "-o", "out", *write)
    assert not any(here.iterdir())


@pytest.mark.slow
def test_which_is_fastest_to_a_level_on_the_trace(tmp_path, undrawn, monkeypatch):
    monkeypatch.setattr(
        "gcexp_adviser.remedies.trained.ITERATIONS", 60
    )  # every seed reaches its level before
    advice = advise("pai-job4", phi=0.0, task="digits_mlp", level=0.9, seeds=3)
    medians = advice.trained.runs.set_index("scheme")["median"]
    assert medians["wait for all"] == pytest.approx(11729, rel=1e-3)
    assert medians["groups of 2, s = 1 (snake)"] == pytest.approx(5120, rel=1e-3)
    ranked = advice.trained.ranked
    assert ranked["median"].iloc[0] == medians.min() and (ranked["least_recovered"] >= 0.05).all()
    falling = advise(AR, phi=0.0, task="linear_regression", level=0.5, seeds=1).trained
    assert (falling.ranked["median"] > 0).all(), "a loss reaches a level from above"
    told = json.loads(advice.write(tmp_path)[0].read_text())["task"]
    assert told["fastest"][0] == ranked["scheme"].iloc[0] and len(told["runs"][0]["reached"]) == 3
