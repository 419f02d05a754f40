"""From figure files to runs and file names."""

import ast
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gcexp.data.sources import find_source
from gcexp.errors import UserError
from gcexp.report import figurefile
from gcexp.report.figure import RenderOptions
from gcexp.run import paths as run_paths
from gcexp.run.run import run_of_path, seed_range

ROOT = Path(__file__).resolve().parents[2]

SMALL = """
title: A figure
source: Fig. 1
kind: curves
common: {task: digits_mlp, delay: pareto, n: 6, s: 2, iterations: 30, seeds: 2}
runs:
  - {label: CGC, scheme: cgc}
  - {label: "β = {code.beta}", scheme: cyclic_partial, code.beta: [4, 6]}
plot: {kind: lines}
"""


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """A copy of conf/ without figures for all tests of this file."""
    folder = tmp_path_factory.mktemp("options")
    shutil.copytree(ROOT / "conf", folder / "conf")
    return folder


@pytest.fixture(autouse=True)
def project(options, monkeypatch, forget, add_paper):
    """That copy as working folder; its figures, presets and style are the test's own."""
    monkeypatch.chdir(options)
    for name in ("GCEXP_CONF", "GCEXP_SEARCHPATH"):
        monkeypatch.delenv(name, raising=False)
    for place in options.glob("*/paper.yaml"):
        shutil.rmtree(place.parent)
    for name in ("preset", "style"):
        shutil.rmtree(options / "conf" / name, ignore_errors=True)
    for name in ("preset", "style"):
        shutil.copytree(ROOT / "conf" / name, options / "conf" / name)
    add_paper(options / "paper")
    return options


def read(text=SMALL, preset="paper"):
    path = Path("paper/figures/target.yaml").resolve()
    path.write_text(text)
    return figurefile.read_figure(path, preset)


def edited(old, new, text=SMALL):
    assert old in text
    return text.replace(old, new)


def refused(text=SMALL, preset="paper"):
    """The sentence that says what is wrong with a figure file."""
    with pytest.raises(UserError) as caught:
        read(text, preset)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


# --- Runs and their files


def test_the_path_is_the_overrides():
    exact, first, second = read().runs
    assert [run.label for run in (exact, first, second)] == ["CGC", "β = 4", "β = 6"]
    assert first.overrides == [
        *("scheme=cyclic_partial", "n=6", "s=2", "code.beta=4"),
        *("delay=pareto", "task=digits_mlp", "optimizer=gradient_descent"),
        *("iterations=30", "seeds=0-1"),
    ]
    place = "cyclic_partial+.n@6+.s@2+beta@4/pareto/T30/seeds0-1"
    assert first.trajectory == f"results/trajectory/digits_mlp/gradient_descent/{place}.npz"
    assert first.verification == f"results/trajectory/digits_mlp/gradient_descent/{place}.verified.json"
    assert exact.verification is None
    assert exact.replayed_on == ["data/prepared/digits.npz"] and first.replayed_on == []
    assert first.id == f"digits_mlp/gradient_descent/{place}"
    assert first.inputs == [first.trajectory, first.verification] and exact.inputs == [exact.trajectory]
    assert first.config["code"]["beta"] == 4 and first.config["n"] == first.config["code"]["n"] == 6


def test_exact_runs_share_a_trajectory_without_scheme_delay_or_horizon():
    text = edited("label: CGC, scheme: cgc", "label: '{code._target_}', scheme: [cgc, uncoded]")
    figure = read(text.replace("iterations: 30", "horizon: 0.2, iterations: 30"))
    first, second = figure.runs[:2]
    assert first.exact and second.exact and not figure.runs[2].exact
    assert first.id != second.id
    assert first.trajectory == second.trajectory
    assert first.trajectory == "results/trajectory/digits_mlp/gradient_descent/exact/T30/seeds0-1.npz"
    assert figure.inputs.count(first.trajectory) == 1
    assert len(figure.inputs) == len(set(figure.inputs)) == 1 + 2 * 2


def test_a_run_without_a_task_needs_no_file():
    text = edited("kind: curves", "kind: timings").replace("task: digits_mlp, ", "")
    figure = read(edited("{kind: lines}", "{kind: bars}", text))
    assert figure.inputs == figure.data == []
    assert "digits" not in figure.note
    assert figure.runs[0].id == "cgc+.n@6+.s@2/pareto/T30/seeds0-1"


def test_products_of_a_figure():
    figure = read()
    assert (figure.target, figure.paper, figure.name) == ("paper_target", "paper", "target")
    assert figure.table == "reports/paper/data/paper_target.csv"
    assert figure.products == [figure.table, *figure.drawings]
    assert {Path(p).suffix for p in figure.products} == {".csv", ".pdf", ".png"}
    table = read(edited("kind: lines", "kind: table"), "quick")
    assert {Path(p).suffix for p in table.drawings} == {".md", ".tex"}
    assert all(p.startswith("reports/quick/tables/paper_target") for p in table.drawings)


# --- Paths back to runs


PLACES = ("reports", "results", "data/prepared")


def spelled_places(source: str) -> list[str]:
    """Literals of a module that begin with a folder of what is made; docstrings and help texts apart."""
    if not any(f'"{place}' in source for place in PLACES):
        return []
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    said |= {id(key.value) for key in ast.walk(tree) if isinstance(key, ast.keyword) and key.arg == "help"}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in said
        and (node.value in PLACES or node.value.startswith(tuple(f"{place}/" for place in PLACES)))
    ]


def test_paths_stand_in_one_module():
    package = ROOT / "gcexp"
    found = {
        path.relative_to(package).as_posix(): spelled_places(path.read_text())
        for path in package.rglob("*.py")
    }
    assert found.pop("run/paths.py") and {name: places for name, places in found.items() if places} == {}


def constraints():
    """What the wildcards of rules may be."""
    rules = (ROOT / "workflow" / "rules" / "common.smk").read_text()
    found = dict(re.findall(r'^ {4}(\w+)=r"(.*)",$', rules, re.M))
    assert set(found) >= {"iterations", "length", "seeds"}
    return found | dict.fromkeys(("scheme", "delay", "task", "optimizer"), run_paths.NAME)


def check_paths(runs):
    """The wildcards of a rule spell the run again from the path of its file."""
    known = constraints()
    for run in runs:
        patterns = [run_paths.EXACT] if run.exact else [run_paths.APPROXIMATE, run_paths.VERIFIED]
        for path, pattern in zip(run.inputs, patterns, strict=True) if run.task else ():
            regex = re.sub(
                r"\\{(\w+)\\}", lambda found: f"(?P<{found[1]}>{known[found[1]]})", re.escape(pattern)
            )
            again = run_of_path(re.fullmatch(regex, path).groupdict())
            assert again.file(pattern) == path
            keys = ["task", "optimizer", "iterations", "seeds"]
            if not run.exact:
                keys += ["code", "wait", "placement", "loads", "delay", "overhead", "horizon"]
            assert [again.config.get(key) for key in keys] == [run.config.get(key) for key in keys]


@pytest.mark.slow
@pytest.mark.parametrize("preset", figurefile.PRESETS)
def test_every_path_of_every_figure_spells_its_run(preset, monkeypatch, forget):
    """And quick runs need no download."""
    monkeypatch.setenv("GCEXP_CONF", str(ROOT / "conf"))
    forget()
    runs = [run for figure in figurefile.figures(preset) for run in figure.runs]
    assert runs
    check_paths(runs)
    datasets = {run.config["task"]["dataset"] for run in runs if run.task}
    assert preset == "paper" or not any(find_source(name).files for name in datasets)


@pytest.mark.parametrize(
    "extra",
    [
        "horizon: 0.4",
        "horizon: 1",
        "horizon: 1e-5",
        "horizon: 1000000",
        "horizon: 2.5e+10",
        "horizon: 0.123456789",
        "seeds: 3-3",
        "seeds: 2-4",
        "overhead: 0.001",
        "overhead: 1e-7",
        "delay.scale: 1.0e-3, delay.persistence: 1",
        "optimizer.normalize: recovered, optimizer.learning_rate: 1",
        "task.hidden: 7, s: 1, code.n: 6",
        "wait.s: null, wait.q: 6",
    ],
)
def test_paths_spell_runs(extra):
    keys = [key.partition(":")[0] for key in extra.split(", ")]
    text = SMALL.replace("seeds: 2", extra if "seeds" in keys else f"seeds: 2, {extra}")
    text = text.replace("s: 2, iter", "iter") if "s" in keys else text
    text = "\n".join(line for line in text.splitlines() if "cyclic_partial" not in line)
    check_paths(read(text).runs)


def test_different_values_have_different_paths():
    def paths(**keys):
        text = edited("seeds: 2", "seeds: 2, " + ", ".join(f"{k}: {v}" for k, v in keys.items()))
        return read("\n".join(line for line in text.splitlines() if "cyclic_partial" not in line)).runs[0]

    close = [paths(horizon=0.1234561), paths(horizon=0.1234562)]
    assert close[0].id != close[1].id
    assert [run.config["horizon"] for run in close] == [0.1234561, 0.1234562]
    assert paths(overhead=0.5).id != paths(overhead=0.25).id
    assert paths(overhead=0.5).trajectory == paths(overhead=0.25).trajectory


def test_equal_runs_of_two_presets_and_figures_are_shared():
    assert read(preset="quick").inputs == read(preset="paper").inputs
    reordered = edited(
        "{task: digits_mlp, delay: pareto, n: 6, s: 2,", "{s: 2, n: 6, delay: pareto, task: digits_mlp,"
    )
    assert read(reordered).inputs == read().inputs


# --- Sweeps and labels


def test_sweeps_are_products_in_order():
    text = edited("delay: pareto,", "delay: pareto, delay.persistence: [1, 2],")
    text = text.replace("label: CGC", "label: 'CGC, {delay.persistence}, {code.seed}'")
    text = text.replace("scheme: cgc", "scheme: cgc, code.seed: [0, 7]").replace(
        "β =", "β, {delay.persistence} ="
    )
    labels = read(text).labels
    assert labels[:4] == ["CGC, 1, 0", "CGC, 1, 7", "CGC, 2, 0", "CGC, 2, 7"]
    assert labels[4:] == ["β, 1 = 4", "β, 1 = 6", "β, 2 = 4", "β, 2 = 6"]


def test_lists_and_paths_are_values_of_runs():
    """They could not stand in a file name."""
    asked = {"file": "data/traces/pai-job1.csv", "workers": [5, 4, 3, 2, 1, 0]}
    text = f"delay: trace, delay.file: {asked['file']}, delay.workers: [{asked['workers']}]"
    pattern = re.sub(r"\{(\w+)\}", rf"(?P<\1>{run_paths.NAME})", run_paths.APPROXIMATE)
    for run in read(edited("delay: pareto", text)).runs:
        parts = re.fullmatch(pattern, run.file(run_paths.APPROXIMATE)).groupdict()
        assert parts["delay"] == "trace+file@data@traces@pai-job1.csv+workers@5,4,3,2,1,0"
        delay = run_of_path(parts).config["delay"]
        assert delay == run.config["delay"] and delay | asked == delay


def test_schemes_delays_and_tasks_can_be_swept():
    text = edited(
        "label: CGC, scheme: cgc", "label: '{code._target_} {wait._target_}', scheme: [cgc, uncoded, forget]"
    )
    assert [run.scheme for run in read(text).runs[:3]] == [
        f"{s}+.n@6+.s@2" for s in ("cgc", "uncoded", "forget")
    ]
    text = edited("digits_mlp", "[digits_mlp, mnist_mlp]").replace(
        "label: CGC", "label: 'CGC {task.dataset}'"
    )
    text = text.replace("β =", "{task.dataset}, β =")
    assert [run.task for run in read(text).runs[:2]] == ["digits_mlp", "mnist_mlp"]
    text = edited("label: CGC", "label: '{delay._target_}', delay: [pareto, shifted_exponential]")
    assert [run.delay for run in read(text).runs[:2]] == ["pareto", "shifted_exponential"]


def test_a_run_overrides_what_is_common():
    figure = read(edited("scheme: cgc", "scheme: cgc, s: 1, iterations: 7, seeds: 3"))
    assert (figure.runs[0].scheme, figure.runs[0].length, figure.runs[0].seeds) == (
        "cgc+.n@6+.s@1",
        "T7",
        "0-2",
    )
    assert figure.runs[1].length == "T30"


def test_labels_use_composed_values():
    text = edited("label: CGC", "label: '{n} {code.seed} {delay.scale} {horizon} {optimizer.normalize}'")
    assert read(text).labels[0] == "6 0 0.001 None total"


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("{code.beta}", "{code.bta}", "did you mean 'code.beta'"),
        ("{code.beta}", "{nope}", "unknown key 'nope'"),
        ("β = {code.beta}", "CGC", "label 'CGC' stands twice"),
        ("label: CGC, ", "", "a run lacks label"),
        ("label: CGC", "label: null", "label"),
        ("scheme: cgc", "", "a run lacks scheme"),
        ("scheme: cgc", "scheme: 3", "unknown scheme '3'"),
        ("scheme: cgc", "scheme: cgcc", "unknown scheme 'cgcc'; did you mean 'cgc'"),
        ("scheme: cgc", "scheme: cgc+n@3", "unknown scheme"),
        ("scheme: cgc", "scheme: {cgc: 3}", "scheme"),
        ("delay: pareto", "delay: parteo", "unknown delay 'parteo'; did you mean 'pareto'"),
        ("delay: pareto, ", "", "a run lacks delay"),
        ("task: digits_mlp", "task: digits", "unknown task 'digits'"),
        ("task: digits_mlp, ", "", "task"),  # curves need one
        ("[4, 6]", "[]", "code.beta"),
        ("[4, 6]", "[4, x]", "code.beta must be a whole number, got 'x'"),
        ("[4, 6]", "[4, [6]]", "code.beta"),
        ("n: 6", "n: 6.5", "n must be a whole number, got 6.5"),
        ("n: 6", "mm: 6", "unknown run key 'mm'"),
        ("n: 6", "n: 6, beta: 6", "unknown key 'beta'; did you mean code.beta of code="),
        ("n: 6", "N: 6", "unknown run key 'N'; did you mean 'n'?"),
        ("n: 6", "6: 6", "'6'"),
        ("n: 6", "cod.n: 6", "unknown run key 'cod.n'"),
        ("n: 6", "code.sead: 6", "unknown key 'code.sead'"),
        ("n: 6", "n: 6, exact: true", "unknown run key 'exact'"),
        ("n: 6", "n: 6, delay.scalling: data", "did you mean 'delay.scaling'"),
        ("iterations: 30", "iterations: 0", "iterations must be an integer >= 1, got 0"),
        ("iterations: 30, ", "", "a run lacks iterations"),
        ("iterations: 30", "iterations: 30, horizon: soon", "horizon must be a simulated time > 0"),
        ("seeds: 2", "seeds: 0", "a number of seeds >= 1 or a range such as 0-4, got 0; seed 0 alone is 0-0"),
        ("n: 6", "n: !!python/name:os.system", "could not determine a constructor"),
        ("n: 6", "n: 6, common: [*x]", "not valid YAML"),
        ("kind: curves", "kind: curve", "kind: unknown choice 'curve'; did you mean 'curves'"),
        ("kind: curves", "kind: analysis", "analysis.function is the dotted name"),
        ("title: A figure", "titel: A figure", "unknown key 'titel'; did you mean 'title'"),
        ("title: A figure\n", "", "'title' is missing"),
        ("title: A figure", "title: 3", "title must be text, got 3"),
        ("title: A figure", "title: A figure\ntitle: B", "stands twice"),
        ("plot: {kind: lines}", "plot: {kind: linse}", "did you mean 'lines'"),
        ("plot: {kind: lines}", "plot: {kind: lines, xlimm: [0, 1]}", "did you mean 'xlim'"),
        ("plot: {kind: lines}", "plot: {}", "kind"),
        ("plot: {kind: lines}", "plot: lines", "plot must be a mapping, got 'lines'"),
        ("plot: {kind: lines}", "plot: {kind: lines}\nlevel: high", "level must be"),
        ("plot: {kind: lines}", "plot: {kind: lines}\nclaims: {id: one}", "claims.py"),
        ("runs:", "runs:\n  - CGC", "runs: expected keys and values, got 'CGC'"),
    ],
)
def test_mistakes_in_figure_files_name_the_file(old, new, sentence):
    said = refused(edited(old, new))
    assert re.match(r"(.*/)?paper/figures/target\.yaml: ", said)
    assert sentence in said


@pytest.mark.parametrize(
    "plot, sentence",
    [
        (
            "{kind: lines, y: test_acuracy}",
            "plot: unknown column 'test_acuracy'; did you mean 'test_accuracy'?",
        ),
        ("{kind: lines, x: simulated_time}", "'simulated_time'; did you mean 'simulated_time_s'?"),
        ("{kind: lines, y: train_loss}", "plot: unknown column 'train_loss'; did you mean 'test_loss'?"),
        ("{kind: lines, panel: code.bta}", "'code.bta'; did you mean 'code.beta'?"),
        (
            "{kind: function, function: gcexp.figures.style.plane}",
            "in gcexp.figures.style 'plane'; did you mean",
        ),
        (
            "{kind: function, function: nowhere.draw}",
            "plot.function: cannot import 'nowhere.draw' (there is no",
        ),
        ("{kind: bars, y: mean}", "plot: unknown column 'mean'"),
        ("{kind: lines}\ntolerances: {test_lss: 0.1}", "tolerances: unknown column 'test_lss'; did you mean"),
    ],
)
def test_columns_that_curves_will_not_have(plot, sentence):
    assert sentence in refused(edited("plot: {kind: lines}", f"plot: {plot}"))


def test_a_task_that_declares_no_scores_is_asked_for_its_keys_alone(monkeypatch):
    monkeypatch.setattr("gcexp.report.figure.declared_scores", lambda task: None)
    drawn = "plot: {kind: lines, y: reward}"
    assert read(edited("plot: {kind: lines}", drawn)).columns is None
    with pytest.raises(UserError, match="unknown column 'panl'"):
        read(edited("plot: {kind: lines}", "plot: {kind: lines, y: reward, panel: panl}"))


def test_a_regression_has_no_accuracy():
    other = "task: torch, task.dataset: linear_mixture"
    assert "test_accuracy" in read().columns
    with pytest.raises(UserError, match="plot: unknown column 'test_accuracy'"):
        read(edited("task: digits_mlp", other))
    text = edited("task: digits_mlp", other).replace("{kind: lines}", "{kind: lines, y: test_loss}")
    assert read(text).columns[-1] == "test_loss"


@pytest.mark.paper("dynamic_clustering")
@pytest.mark.parametrize(
    "exact, sentence",
    [
        (
            "gcexp_papers.dynamic_clustering.numerics.expected_iterations",
            "did you mean 'expected_iteration_time'?",
        ),
        (
            "gcexp.analysis.clustering.f",
            "timings.exact: cannot import 'gcexp.analysis.clustering.f' (there is no",
        ),
        ("expected", "timings.exact"),
        ("3 + 4", "wanted: a dotted name"),
    ],
)
def test_a_formula_that_is_not_there(exact, sentence):
    text = edited("kind: curves", f"kind: timings\ntimings: {{exact: {exact}}}").replace(
        "task: digits_mlp, ", ""
    )
    assert sentence in refused(text.replace("{kind: lines}", "{kind: bars}"))


LOSSES = """
title: A
source: B
kind: analysis
analysis:
  function: gcexp_papers.dynamic_clustering.learning.losses_by_data
  draws: 2
  iterations: 3
  learning_rate: 0.1
plot: {kind: bars, y: test_loss, by: draw}
"""


@pytest.mark.paper("dynamic_clustering")
@pytest.mark.parametrize(
    "plot, sentence",
    [
        ("{kind: bars, y: test_los, by: draw}", "plot: unknown column 'test_los'; did you mean 'test_loss'?"),
        ("{kind: table, columns: [drawn]}", "plot: unknown column 'drawn'; did you mean 'draw'?"),
        ("{kind: table, columns: [draw], across: {iteration: los}}", "plot: unknown column 'los'"),
    ],
)
def test_columns_that_an_analysis_does_not_give(plot, sentence):
    assert read(LOSSES).columns == ["draw", "iteration", "train_loss", "test_loss"]
    across = "{kind: table, columns: [draw], across: {iteration: test_loss}, formats: {'3': .2f}}"
    read(
        LOSSES.replace("{kind: bars, y: test_loss, by: draw}", across)
    )  # columns that values become are free
    assert sentence in refused(LOSSES.replace("{kind: bars, y: test_loss, by: draw}", plot))


def test_an_analysis_that_declares_nothing_is_not_asked():
    text = re.sub(
        r"(?<=function: ).*\n(  .*\n)*", "gcexp.analysis.claims.all_instances\n  holds: []\n", LOSSES
    )
    assert read(text.replace("by: draw", "by: nothing")).columns is None


ANALYSIS = "title: A\nsource: B\nkind: analysis\nanalysis: {function: FUNCTION}\nplot: {kind: bars}\n"


@pytest.mark.parametrize(
    "function, sentence",
    [
        ("gcexp.nope.f", "gcexp.nope"),
        ("math.flor", "did you mean 'floor'"),
        ("numpy.nope", "unknown name in numpy 'nope'"),
        ("math.pi", "math.pi"),  # nothing to call
        ("3", "3"),
        ("math.gcd, nope: 3", "nope"),
    ],
)
def test_mistakes_in_analysis_files(function, sentence):
    said = refused(ANALYSIS.replace("FUNCTION", function))
    assert re.match(r"paper/figures/target\.yaml: ", said)
    assert sentence in said


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("paper/a&touch X", "'a&touch X' cannot name a target"),
        ("paper/ü", "'ü' cannot name a target"),
        ("$(id)/target", "$(id) has a paper.yaml and is no package"),
        ("ü/target", "ü has a paper.yaml and is no package"),
        ("paper/-n", "'-n' cannot name a target"),
        ("data/target", "data: data is already the name of a rule of the workflow"),
        ("all/target", "all is already the name of a rule"),
        ("everything/target", "everything is already the name of a rule"),
        ("paper_a/b", "paper_a_b is already the name of paper/figures/a_b.yaml"),
        ("paper_a_b/c", "paper_a_b is already the name of paper/figures/a_b.yaml"),
    ],
)
def test_names_that_no_target_can_have(name, sentence, add_paper):
    for paper, target in (name.split("/", 1), ("paper", "a_b")):
        if not Path(paper).exists():
            add_paper(Path(paper))
        Path(paper, "figures", f"{target}.yaml").write_text(SMALL)
    with pytest.raises(UserError) as caught:
        figurefile.figure_files()
    assert sentence in str(caught.value)


def test_the_rules_are_known():
    rules = "".join(
        p.read_text() for p in [ROOT / "workflow/Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]
    )
    assert set(re.findall(r"^(?:rule|use rule \w+ as) (\w+)(?: with)?:", rules, re.M)) == set(
        figurefile.RULES
    )


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("task: 5", "conf/preset/quick.yaml: task must be a mapping, got 5"),
        ("task: {mnist_mlp: 5}", "conf/preset/quick.yaml: task: mnist_mlp must be text, got 5"),
        ("tasks: {a: b}", "unknown group 'tasks'; did you mean 'task'"),
        ("task: {mnist_mlp: digit_mlp}", "unknown task 'digit_mlp'; did you mean 'digits_mlp'"),
        ("task: [", "quick.yaml: line "),
    ],
)
def test_mistakes_in_a_preset(text, sentence):
    Path("conf/preset/quick.yaml").write_text(text)
    said = refused(preset="quick")
    assert sentence in said and "target.yaml" not in said


def test_a_swept_task_has_stand_ins_too():
    text = edited("task: digits_mlp", "task: [mnist_mlp, linear_regression]").replace(
        "label: CGC", "label: '{task._target_}'"
    )
    text = text.replace("β =", "{task._target_}, β =")
    assert [run.task for run in read(text, "quick").runs[:2]] == ["digits_mlp", "linear_regression"]


def test_unknown_figures_and_presets():
    read()
    with pytest.raises(UserError, match="unknown figure 'paper_targt'; did you mean 'paper_target'"):
        figurefile.figure("paper_targt", "quick")
    with pytest.raises(UserError, match="unknown preset 'papr'; did you mean 'paper'"):
        figurefile.figures("papr")


# --- Presets


def test_quick_values_replace_those_of_common_and_runs():
    text = (
        edited("scheme: cgc", "scheme: cgc, iterations: 77, seeds: 9")
        + "quick: {iterations: 5, seeds: 1, overhead: 0.5}\n"
    )
    for run in read(text, "quick").runs:
        assert (run.iterations, run.seeds, run.config["overhead"]) == (5, "0", 0.5)
    assert [run.iterations for run in read(text, "paper").runs] == [77, 30, 30]


def test_stand_ins_of_the_quick_preset(project):
    text = edited("digits_mlp", "mnist_mlp")
    assert {run.task for run in read(text, "paper").runs} == {"mnist_mlp"}
    assert {run.task for run in read(text, "quick").runs} == {"digits_mlp"}
    assert "digits (quick preset)" in read(text, "quick").note
    assert "mnist (paper preset)" in read(text, "paper").note
    chosen = text + "quick: {task: mnist_mlp}\n"
    assert {run.task for run in read(chosen, "quick").runs} == {"digits_mlp"}


@pytest.mark.parametrize("preset, level", [("paper", 0.5), ("quick", 0.4)])
def test_the_level_is_compared_and_not_drawn(preset, level):
    figure = read(SMALL + "level: 0.5\nquick: {level: 0.4}\n", preset)
    assert figure.file.level == level and "level" not in figure.file.plot
    assert all(run.config["iterations"] == 30 for run in figure.runs)


def test_what_a_figure_shows_is_drawn_and_computed_by_no_job():
    before, after = read(), read(SMALL + "shows: Two lines.\n")
    assert after.file.shows == "Two lines."
    assert (before.drawing_fingerprint, before.table_fingerprint) == (
        after.drawing_fingerprint,
        after.table_fingerprint,
    )


def test_comments_in_a_style_are_not_tracked(project):
    before = read().drawing_fingerprint
    style = project / "conf" / "style" / "paper.mplstyle"
    style.write_text("# new\n" + style.read_text())
    assert read().drawing_fingerprint == before
    style.write_text(style.read_text() + "\nlines.linewidth: 7\n")
    assert read().drawing_fingerprint != before


# --- Seeds


@pytest.mark.parametrize(
    "given",
    [
        0,
        -1,
        True,
        1.0,
        None,
        "",
        "a",
        "1-",
        "-1",
        "3-2",
        "1,2",
        "0-1-2",
        "3",
        [],
        [0, 2],
        ["a"],
        [-1],
        [True],
    ],
)
def test_seeds_that_are_none(given):
    with pytest.raises(UserError, match="seeds must be"):
        seed_range(given)


# --- Titles


def test_a_copy_for_a_paper_has_no_title_and_is_drawn_anew():
    one = read()
    bare = replace(one, render=RenderOptions(title=False))
    assert (one.heading, bare.heading) == ("A figure", "")
    assert (one.footnote, replace(one, render=RenderOptions(note=False)).footnote) == (one.note, "")
    options = (
        one.render,
        bare.render,
        RenderOptions(note=False),
        RenderOptions(width="single"),
        RenderOptions(width="3.6"),
    )
    assert len({tuple(replace(one, render=render).drawing_fingerprint) for render in options}) == len(options)
    assert one.table_fingerprint == bare.table_fingerprint
