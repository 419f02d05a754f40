"""Experiments from Python and from the shell: the same bits as the workflow, tidy tables, sentences."""

import importlib
import io
import itertools
import json
from functools import wraps
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import gcexp
from gcexp.codes import CyclicRepetition, ReedSolomon
from gcexp.command.main import main
from gcexp.delays import Exponentials, Pareto
from gcexp.errors import ExtraError, UserError
from gcexp.figures import parse
from gcexp.figures.compose import draw_on
from gcexp.figures.rows import time_to
from gcexp.run.compose import compose
from gcexp.run.measurement import Measurement
from gcexp.run.run import Run
from gcexp.run.trainings import HomeTrainings, write_timeline
from gcexp.schemes import Fastest, Span
from gcexp.tasks import training
from gcexp.tasks.mlp import MultilayerPerceptron

JOB = "data/traces/pai-job1.csv"
CLOCK = {"n": 6, "delay": "pareto", "iterations": 30, "seeds": 2}
SMALL = CLOCK | {"s": 2}
TRAINED = SMALL | {"task": "digits_mlp", "iterations": 6}


# --- Tables ----------------------------------------------------------------------------------------------------


def test_the_same_bits_as_a_timeline_of_the_workflow(tmp_path):
    words = "scheme=cyclic_partial n=6 s=2 code.beta=4 delay=pareto iterations=30 seeds=0-1"
    measurement = Measurement(Run.of(words.split()), HomeTrainings())
    write_timeline(measurement, tmp_path / "clock.npz")
    timeline = measurement.timeline
    found = gcexp.simulate("code.beta=4", scheme="cyclic_partial", rows="iterations", **SMALL)
    assert (found["iteration_time_s"].to_numpy().reshape(2, 30) == timeline.duration).all()
    assert (found["simulated_time_s"].to_numpy().reshape(2, 30) == timeline.clock).all()
    assert set(found["code.beta"]) == {"4"} and set(found["scheme"]) == {"cyclic_partial"}


def test_objects_in_place_of_names():
    named = gcexp.simulate(scheme="cgc", **SMALL)
    law = Pareto(**{key: value for key, value in compose(["delay=pareto"])["delay"].items() if key[0] != "_"})
    keys = SMALL | {"delay": law, "seeds": np.int64(2)}
    built = gcexp.simulate(code=CyclicRepetition(n=6, s=2), wait=Fastest(s=2), **keys)
    assert (built["mean_iteration_time_s"] == named["mean_iteration_time_s"]).all()
    assert built["code"].iloc[0].startswith("CyclicRepetition(n=6, s=2")


def test_objects_are_swept_and_compared():
    grid = {"code": [CyclicRepetition(6, 1), CyclicRepetition(6, 2)]}
    keys = {"wait": "decodable", "delay": "pareto", "iterations": 10, "seeds": 5}
    trained = gcexp.sweep(grid, task="digits_mlp", **keys)
    assert [report["passed"] for report in trained.verification.values()] == [True, True]
    ranked = gcexp.compare(trained, 0.2)
    times = ranked["time_to_0.2"]
    assert times.is_monotonic_increasing and (ranked["seeds"] == 5).all()
    assert (ranked["low"] <= times).all() and (times <= ranked["high"]).all()
    each = trained.time_to(0.2, per_seed=True)
    fastest = each["time_to_0.2"][each["code"] == ranked["code"][0]]
    assert len(each) == 10 and fastest.median() == pytest.approx(times[0])
    assert gcexp.compare(gcexp.sweep(grid, **keys))["mean_iteration_time_s"].is_monotonic_increasing


def test_errors_of_a_code_by_name_and_as_an_object():
    named = gcexp.error(code="cyclic_repetition", n=6, s=[1, 2], **{"code.s": 2})
    built = gcexp.error(code=CyclicRepetition(6, 2), s=[1, 2])
    assert (named["upper"] < 1e-12).all() and named.equals(built)
    assert gcexp.error(code=CyclicRepetition(6, 1), kind="set", stragglers=[0, 1])["error"][0] > 0


def test_the_error_of_a_single_random_set(capsys):
    """It has no standard error, and the command ended with a defect."""
    command = ["error", "code=bernoulli", "n=12", "kind=random", "s=2", "trials=1"]
    assert main(command) == 0 and "1" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["errors"][0]["stderr"] is None


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: gcexp.simulate({"scheme": "cgc"}), ("override", "{'scheme': 'cgc'}")),
        (lambda: gcexp.simulate(schem="cgc"), ("'schem'", "'scheme'")),
        (lambda: gcexp.simulate(scheme="cgcc"), ("'cgcc'", "'cgc'")),
        (lambda: gcexp.simulate(rows="second"), ("'second'", "'seeds'")),
        (lambda: gcexp.simulate(scheme="cgc", rows=np.zeros((99, 9))), ("rows", "'seeds'")),
        (lambda: gcexp.simulate(code=Pareto(), **SMALL), ("code", "Code")),
        (lambda: gcexp.simulate(n=Pareto()), ("n", "Pareto")),
        (lambda: gcexp.simulate(delay=Fastest(s=1)), ("delay", "DelayModel")),
        (lambda: gcexp.simulate(code=np.ones((100, 6)), n=6), ("code", "Code")),
        (lambda: gcexp.train(wait=range(3)), ("wait", "WaitingRule", "range(0, 3)")),
        (lambda: gcexp.train(scheme="lb", task="digits_mlp"), ("bound",)),
        (lambda: gcexp.train(scheme="forget", task="digits_together"), ("exact: true",)),
        (lambda: gcexp.sweep({"s": 2}), ("s", "{'s': [2]}")),
        (lambda: gcexp.sweep({"s": []}), ("s", "empty")),
        (lambda: gcexp.sweep({"seeds": [2, 5]}), ("seeds",)),
        (lambda: gcexp.sweep({"s": [1]}, s=2), ("s",)),
        (lambda: gcexp.sweep({"s": [1]}, jobs=0), ("jobs", "0")),
        (lambda: gcexp.sweep({"s": [1]}, jobs="2"), ("jobs", "'2'")),
        (lambda: gcexp.sweep(["cgc"]), ("grid", "['cgc']")),
        (lambda: gcexp.sweep({"s": [1]}, impossible="skipp"), ("'skipp'", "'skip'")),
        (lambda: gcexp.compare(3), ("compare", "3")),
        (lambda: gcexp.plot("table"), ("plot", "table")),
        (lambda: gcexp.plot(gcexp.simulate(**SMALL), y="tst"), ("'tst'", "mean_iteration_time_s")),
        (lambda: gcexp.simulate(**SMALL).time_to(0.2), ("train", "sweep")),
        (lambda: gcexp.show(scheme="frc", n=6, s=1, delay="parto"), ("'parto'", "'pareto'")),
        (lambda: gcexp.show(scheme="cgc", seed="x"), ("seed", "'x'")),
        (lambda: gcexp.benchmark(pd.DataFrame()), ("file", "Empty DataFrame")),
        (lambda: gcexp.benchmark(JOB, ["wait for all"], row=[3]), ("'row'", "'rows'")),
        (lambda: gcexp.benchmark(JOB, "wait for al"), ("'wait for al'", "'wait for all'")),
        (lambda: ReedSolomon(6, 1, k=10**30), ("ReedSolomon",)),
        (lambda: Span(2, 2, targets=2), ("targets",)),
        (lambda: Span(2, 2, targets=[["x", "y"]]), ("numbers",)),
        (lambda: Span(2, 2, targets=[[1, 1]], tolerance="x"), ("tolerance",)),
        (lambda: Exponentials(len, 6), ("seeds",)),
        (lambda: Exponentials((0,), 6, purpose=3), ("purpose",)),
    ],
    ids=count(),
)
def test_a_mistake_is_one_sentence_that_names_what_was_given_and_what_is_wanted(refused, call, named):
    refused(named, call)


def test_a_list_as_a_value_is_text_in_its_column():
    """It became one number per seed, or an error about lengths."""
    keys = {"scheme": "cgc", "delay": "trace", "n": 3, "s": 1, "iterations": 5, "delay.file": JOB}
    for seeds in (2, 3):
        found = gcexp.simulate(**keys, seeds=seeds, **{"delay.workers": [7, 8, 9]})
        assert found["delay.workers"].tolist() == ["[7, 8, 9]"] * seeds
    both = gcexp.sweep({"delay.workers": [[7, 8, 9], (1, 2, 3)]}, **keys, seeds=1)
    assert both["delay.workers"].tolist() == ["[7, 8, 9]", "[1, 2, 3]"]
    assert both["mean_iteration_time_s"].nunique() == 2


def test_recorded_times_are_swept_and_named_by_their_size():
    times = np.random.default_rng(0).permutation(np.arange(1.0, 601.0)).reshape(100, 6)
    keys = {"scheme": "cgc", "n": 6, "s": 1, "iterations": 100, "seeds": 1, "overhead": 0}
    found = gcexp.sweep({"delay": [times, times[::-1]]}, **keys)
    assert found["delay"].nunique() == 2 and found["delay"].str.contains("100 .* 6 ").all()
    assert found["mean_iteration_time_s"].nunique() == 1  # the same rows in another order
    assert gcexp.simulate(**keys, delay=times)["delay"][0] == found["delay"][0]


# --- Sweeps ----------------------------------------------------------------------------------------------------


def test_a_verification_that_failed_is_a_warning(monkeypatch):
    """Only attrs knew."""
    failed = {"passed": False, "failures": ["seed 0, iteration 0: too far"], "checks": []}
    monkeypatch.setattr("gcexp.run.verification.verify_decoding", lambda *a: failed)
    keys = TRAINED | {"iterations": 2, "seeds": 1}
    with pytest.warns(UserWarning, match="seed 0, iteration 0: too far"):
        gcexp.train(scheme="frc", **keys)
    with pytest.warns(UserWarning, match="scheme=frc: seed 0.*scheme=cgc: seed 0"):
        found = gcexp.sweep({"scheme": ["frc", "cgc"]}, **keys)
    assert not found.attrs["verification"]["scheme=cgc"]["passed"]


def test_impossible_points_are_left_out_and_listed(capsys):
    grid = {"scheme": ["cgc", "frc"], "s": [1, 3]}
    with pytest.warns(UserWarning, match="1 of 4 points.*scheme=frc, s=3: .*n=6, d=4"):
        found = gcexp.sweep(grid, **CLOCK)
    assert [*found.groupby(["scheme", "s"]).groups] == [("cgc", 1), ("cgc", 3), ("frc", 1)]
    assert found.impossible[["scheme", "s"]].to_numpy().tolist() == [["frc", 3]]
    assert "n=6, d=4" in found.impossible["reason"][0] and "1 impossible" in found._repr_html_()
    with pytest.raises(UserError, match="n=6, d=4"):
        gcexp.sweep(grid, impossible="raise", **CLOCK)
    with pytest.raises(UserError, match="n=6, d="):
        gcexp.sweep({"s": [3, 4]}, scheme="frc", **CLOCK)
    assert main(["run", "-m", "scheme=cgc,frc", "n=4", "s=2", "iterations=2", "seeds=1"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("gcexp: 1 of 2 points") and "Warning" not in said


def test_a_result_knows_times_loads_and_origin():
    found = gcexp.sweep({"scheme": ["frc", "forget"]}, **TRAINED | {"iterations": 8})
    times = found.time_to(0.2).set_index("scheme")
    for scheme, rows in found.groupby("scheme"):
        each = [time_to(seed, "test_accuracy", 0.2) for _, seed in rows.groupby("seed")]
        expected = [np.median(each), np.isfinite(each).sum()]
        assert times.loc[scheme, ["time_to_0.2", "seeds_reached"]].tolist() == expected
    assert found.loads.set_index("scheme")["load"].to_dict() == {"frc": 3, "forget": 1}
    assert {"load", "messages", "mean_load_fraction"} <= {*gcexp.train(scheme="frc", **TRAINED)}
    assert set(found.verification) == {"scheme=frc", "scheme=forget"}
    assert found[found["scheme"] == "frc"].provenance["points"][0]["n"] == 6
    assert "verification passed" in found._repr_html_()
    assert {"numpy", "torch"} <= {*found.provenance["versions"]} and "gcexp" in found.provenance["packages"]
    with pytest.raises(UserError, match="'test_acuracy'.*'test_accuracy'"):
        found.time_to(0.2, "test_acuracy")
    # Fewer than five seeds have no interval, and nobody reaches all: what is printed says so.
    never = found.time_to(1.0)
    assert np.isneginf(never["low"]).all() and np.isposinf(never["time_to_1"]).all()
    for said in (
        repr(never),
        str(never.sort_values("low")),
        never._repr_html_(),
        repr(gcexp.compare(found, 1.0)),
    ):
        assert "5 seeds" in said and "do not reach" in said
    assert "do not reach" not in repr(found.mean_time())


@pytest.mark.parametrize("rows", ["seeds", "running", "iterations"])
def test_a_sweep_is_its_runs_one_below_the_other(rows):
    grid = {"scheme": ["cgc", "bgc"], "s": np.arange(1, 3)}
    both = gcexp.sweep(grid, rows=rows, **CLOCK)
    points = [{"scheme": scheme, "s": s} for scheme in ("cgc", "bgc") for s in (1, 2)]
    each = pd.concat([gcexp.simulate(**point, rows=rows, **CLOCK) for point in points], ignore_index=True)
    pd.testing.assert_frame_equal(both, each[[*both]])
    if rows == "seeds":
        pd.testing.assert_frame_equal(gcexp.sweep(grid, jobs=2, **CLOCK), both)


def test_a_trained_curve_is_that_of_a_training_alone_and_exact_schemes_share_it(monkeypatch):
    trained, original = [], training.train
    monkeypatch.setattr(training, "train", lambda *given: trained.append(given) or original(*given))
    both = gcexp.sweep({"scheme": ["cgc", "forget", "frc"]}, **TRAINED)
    assert len(trained) == 2
    assert list(both.columns[:7]) == ["n", "delay", "s", "task", "scheme", "seed", "iteration"]
    for scheme, rows in both.groupby("scheme"):
        alone = gcexp.train(scheme=scheme, **TRAINED)
        assert alone.attrs["verification"]["passed"]
        scores = ["simulated_time_s", "test_accuracy", "test_loss"]
        assert (rows[scores].to_numpy() == alone[scores].to_numpy()).all()


def test_a_sweep_complains_before_it_runs(monkeypatch):
    for clock in ("clock", "summary"):
        monkeypatch.setattr(Run, clock, lambda *_: pytest.fail("it ran"))
    with pytest.raises(UserError, match="n=6"):
        gcexp.sweep({"s": [1, 9]}, scheme="cgc", n=6, impossible="raise")
    with pytest.raises(UserError, match="'cgc'"):
        gcexp.sweep({"scheme": ["frc", "cgcc"]}, n=6, s=1)


def test_codes_are_built_and_tried_once(monkeypatch, tmp_path, forget):
    """A code is checked, played and counted; at 100 000 workers it costs more than the clock."""
    built, tried, original = [], [], CyclicRepetition.__init__

    @wraps(original)
    def init(self, n, s, *more, **keys):
        built.append(s)
        original(self, n, s, *more, **keys)

    monkeypatch.setattr(CyclicRepetition, "__init__", init)
    gcexp.simulate(scheme="cgc", **SMALL)
    assert built == [2]
    built.clear()
    forget()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gcexp.codes.accuracy.require_accurate", tried.append)
    grid = {"s": [1, 2], "overhead": [0, 1, 2], "wait": ["fastest", "decodable"]}
    assert len(gcexp.sweep(grid, scheme="cgc", n=6, delay="pareto", iterations=3, seeds=1)) == 12
    assert built == [1, 2] and len(tried) == 2


class Killed(BaseException):
    """What nobody catches."""


def test_a_sweep_that_was_killed_continues_its_trainings(monkeypatch, tmp_path):
    original, began = MultilayerPerceptron.problem, []

    def swept(folder, last=100, iterations=4):
        def told(*given):  # a seed's training
            began.append(given)
            if len(began) > last:
                raise Killed
            return original(*given)

        monkeypatch.setattr(MultilayerPerceptron, "problem", told)
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        began.clear()
        keys = TRAINED | {"iterations": iterations, "verify": False}
        return gcexp.sweep({"scheme": ["bgc", "forget", "sgc"]}, **keys)

    whole = swept(tmp_path / "whole")
    pieces = len(began)
    with pytest.raises(Killed):
        swept(tmp_path / "killed", last=pieces // 2)
    pd.testing.assert_frame_equal(swept(tmp_path / "killed"), whole)
    assert len(began) == pieces - pieces // 2
    left = [path for path in Path("results").rglob("*") if path.is_file() and "data" not in path.parts]
    assert left == [], "what it went on from is deleted"
    with pytest.raises(Killed):
        swept(tmp_path / "killed", last=pieces // 2)
    swept(tmp_path / "killed", iterations=5)
    assert len(began) == pieces, "another run is not taken for it"


# --- Drawings --------------------------------------------------------------------------------------------------


def test_a_table_is_drawn_without_further_arguments():
    """Schemes at one s were refused: give x, a column with numbers."""
    schemes = gcexp.sweep({"scheme": ["cgc", "frc"]}, **SMALL)
    alone = gcexp.simulate(**SMALL)
    running = gcexp.simulate(rows="running", **SMALL)
    for table in (alone, running, gcexp.train(scheme="frc", **TRAINED)):
        assert gcexp.plot(table).axes[0].has_data()
    figure = gcexp.plot(schemes)
    assert figure._repr_png_().startswith(b"\x89PNG")  # what a notebook asks for
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["cgc", "frc"]
    axes = gcexp.plot(gcexp.sweep({"s": [1, 2]}, scheme="cgc", **CLOCK)).axes[0]
    assert axes.get_xlabel() == "s" and "time" in axes.get_ylabel()


def test_a_drawing_of_a_sweep_names_what_varies():
    """Lines are named by keys, a scheme keeps its colour, and many lines are spread over panels with one y axis."""
    keys = {
        "scheme": ["cgc", "frc"],
        "s": [1, 2],
        "overhead": [0, 1],
        "delay": ["pareto", "ec2_like", "markov"],
    }
    rows = [dict(zip(keys, values, strict=True)) for values in itertools.product(*keys.values())]
    table = pd.DataFrame(rows).assign(seed=0)
    table["mean_iteration_time_s"] = 1.0 + table.index
    table.attrs["keys"] = [*keys]
    figure = gcexp.plot(table)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(names) == 6 and names[0] == "scheme=cgc, delay=pareto"
    left, right = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["overhead = 0", "overhead = 1"]
    assert left.get_ylim() == right.get_ylim()
    colours = {line.get_color() for line in left.lines if "cgc" in names[left.lines.index(line)]}
    assert len(colours) == 1 and len({line.get_color() for line in left.lines}) == 2
    crowded = gcexp.plot(table, "s", panel="seed")
    told = " ".join(crowded.texts[-1].get_text().split())
    assert "12 lines" in told and "panel=KEY" in told


def test_a_table_is_drawn_into_axes_that_are_given():
    figure, (left, right) = pyplot.subplots(1, 2)
    table = gcexp.sweep({"scheme": ["cgc", "frc"], "s": [1, 2]}, **CLOCK)
    with pyplot.rc_context({"axes.labelsize": 20}):
        assert gcexp.plot(table, ax=right, title="pareto") is right
    assert (right.get_xlabel(), right.get_title(), right.xaxis.label.get_size()) == ("s", "pareto", 10)
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["cgc", "frc"]
    assert right.get_ylabel() and not left.has_data() and not figure.texts
    for here, there in zip(right.lines, gcexp.plot(table).axes[0].lines, strict=True):
        assert (here.get_xydata() == there.get_xydata()).all() and here.get_color() == there.get_color()
    gcexp.plot(table, "s", ax=left, panel="n")  # one panel
    for wrong in ({"ax": [left, right]}, {"ax": 3}, {"ax": left, "panel": "scheme"}):
        with pytest.raises(UserError, match="ax"):
            gcexp.plot(table, "s", **wrong)
    with pytest.raises(UserError, match="ax"):
        draw_on(left, table, parse({"kind": "table"}))
    pyplot.close(figure)


def test_a_drawing_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setattr("gcexp.figures.draw", lambda *a, **k: importlib.import_module("matplotlib.nothing"))
    with pytest.raises(ExtraError, match=r"matplotlib.*gcexp\[workflow\]"):
        gcexp.plot(gcexp.simulate(scheme="cgc", **SMALL))


# --- From the shell --------------------------------------------------------------------------------------------

SHORT = ["scheme=cgc", "n=4", "s=1", "iterations=3"]


def shell(capsys, *words):
    """The table that a command prints."""
    assert main([*words, "--format", "csv"]) == 0
    return pd.read_csv(io.StringIO(capsys.readouterr().out))


def swept(capsys, words):
    return shell(capsys, "run", "-m", *words.split())


@pytest.mark.parametrize("given, meant", [(3, [0, 1, 2]), ("3-3", [3]), ([3], [3]), ("1-2", [1, 2])])
def test_seeds_mean_the_same_in_the_shell_and_in_python(capsys, given, meant):
    table, spelled = gcexp.simulate(*SHORT, seeds=given), gcexp.simulate(*SHORT, f"seeds={given}")
    found = shell(capsys, "simulate", *SHORT, f"seeds={given}")
    assert found["seed"].tolist() == table["seed"].tolist() == spelled["seed"].tolist() == meant
    assert found["mean_iteration_time_s"].tolist() == pytest.approx(table["mean_iteration_time_s"].tolist())


@pytest.mark.parametrize("seeds", [range(2, 4), np.array([2, 3])], ids=["range", "array"])
def test_seeds_as_other_values_of_python(seeds):
    assert gcexp.simulate(*SHORT, seeds=seeds)["seed"].tolist() == [2, 3]


def test_a_sweep_from_the_shell_shows_the_decoding_error(capsys):
    """An approximate code recovers no partition exactly, and its share of recovered ones said 0."""
    found = swept(capsys, "scheme=cgc,bgc,forget n=8 s=2 delay=pareto iterations=50 seeds=2")
    shown = found.set_index("scheme")[["mean_decoding_error", "mean_recovered_fraction"]]
    assert shown.loc["cgc"].tolist() == [0, 1] and shown.loc["forget"].tolist() == [0.25, 0.75]
    error, recovered = shown.loc["bgc"]
    assert 0 < error < 1 and pd.isna(recovered)


@pytest.mark.parametrize("task", ["", "task=digits_mlp "], ids=["clock", "training"])
def test_iterations_are_swept_like_any_key(capsys, task):
    found = swept(capsys, task + "scheme=cgc n=4 s=1 delay.persistence=1 iterations=3,6 seeds=2")
    assert found["iterations"].tolist() == [3, 6] and found["mean_iteration_time_s"].nunique() == 2


def test_a_sweep_reads_values_as_a_run_does(capsys):
    found = swept(capsys, "scheme=cgc n=4 s=1,2 horizon=null,9 overhead=1e-3,0 iterations=3 seeds=1")
    assert len(found) == 8 and set(found["overhead"]) == {1e-3, 0} and found["horizon"].count() == 4


def test_a_sweep_chooses_options_by_a_pattern(monkeypatch):
    asked = []
    monkeypatch.setattr("gcexp.command.runs.sweep", lambda grid, *more, **kept: asked.append(grid))
    monkeypatch.setattr("gcexp.command.runs.summary_of_sweep", lambda *_: pd.DataFrame({"a": [1]}))
    assert main(["run", "-m", "scheme=glob(cyclic_p*)", "s=range(1,3)"]) == 0
    assert asked == [{"scheme": ["cyclic_partial"], "s": [1, 2]}]


@pytest.mark.parametrize(("scheme", "says"), [("sgc", True), ("cgc", False), ("erasure_head", False)])
def test_simulate_shows_the_error_that_the_recovered_share_does_not_say(scheme, says, capsys):
    assert main(["simulate", f"scheme={scheme}", "--format", "csv", "iterations=5", "seeds=1"]) == 0
    assert ("mean_decoding_error" in capsys.readouterr().out) == says


def test_words_may_stand_behind_options(capsys):
    assert main(["simulate", "scheme=cgc", "--format", "csv", "n=4", "s=1", "iterations=2", "seeds=1"]) == 0
    assert capsys.readouterr().out.startswith("scheme,n,s,")
    with pytest.raises(SystemExit):
        main(["simulate", "scheme=cgc", "--fromat", "csv", "n=4"])
    assert "--fromat" in capsys.readouterr().err


def test_compare_tells_ratios_of_paired_seeds(refused):
    table = gcexp.sweep(
        {"scheme": ["uncoded", "forget"], "s": [1, 2]}, n=6, delay="pareto", iterations=20, seeds=6
    )
    point = {"scheme": "uncoded", "s": 1}
    found = gcexp.compare(table, against=point)
    by_seed = table.mean_time(per_seed=True)
    times = {key: part["mean_iteration_time_s"].to_numpy() for key, part in by_seed.groupby(["scheme", "s"])}
    row = found[(found["scheme"] == "forget") & (found["s"] == 2)].iloc[0]
    ratios = times["forget", 2] / times["uncoded", 1]
    assert row["ratio"] == np.median(ratios)
    assert [row["ratio_low"], row["ratio_high"]] == [ratios.min(), ratios.max()]
    assert gcexp.compare(table)["ratio"].iloc[0] == 1
    refused(("2", "scheme"), lambda: gcexp.compare(table, against="uncoded"))
    refused(("uncodd", "uncoded"), lambda: gcexp.compare(table, against={"scheme": "uncodd", "s": 1}))
    refused("worker", lambda: gcexp.compare(table, against={"worker": 1}))
