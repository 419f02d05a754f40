"""From figure files to runs and file names."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gcexp.data.sources import find_source
from gcexp.report import figurefile
from gcexp.report.figure import RenderOptions
from gcexp.report.figurechecks import check_figure
from gcexp.report.targets import RULES, page_files, target_files
from gcexp.run import paths as run_paths
from gcexp.run import scheme
from gcexp.run.run import run_of_path
from gcexp.run.seeds import seed_range
from tests.conftest import write_files

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
TIMED = (
    SMALL.replace("task: digits_mlp, ", "").replace("kind: curves", "kind: timings").replace("lines", "bars")
)
ANALYSIS = "title: A\nsource: B\nkind: analysis\nanalysis: {function: math.gcd}\nplot: {kind: bars}\n"


@pytest.fixture(autouse=True)
def elsewhere(paper):
    """All of these tests work in a project with one paper."""


def edited(text, *edits):
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def read(*edits, text=SMALL, preset="paper"):
    """The figure of a file, some of whose texts are others."""
    path = Path("paper/figures/target.yaml").resolve()
    path.write_text(edited(text, *edits))
    return figurefile.read_figure(path, preset)


# --- Runs and their files


def test_the_path_is_the_overrides():
    exact, first, second = read().runs
    assert [run.label for run in (exact, first, second)] == ["CGC", "β = 4", "β = 6"]
    assert list(first.overrides) == [
        *("scheme=cyclic_partial", "n=6", "s=2", "code.beta=4"),
        *("delay=pareto", "task=digits_mlp", "optimizer=gradient_descent"),
        *("iterations=30", "seeds=0-1"),
    ]
    place = "cyclic_partial+.n@6+.s@2+beta@4/pareto/T30/seeds0-1"
    assert first.trajectory_file == f"results/trajectory/digits_mlp/gradient_descent/{place}.npz"
    assert first.replay_file == f"results/trajectory/digits_mlp/gradient_descent/{place}.verified.json"
    assert exact.replay_file is None
    assert exact.replayed_on == ["data/prepared/digits.npz"] and first.replayed_on == []
    assert first.id == f"digits_mlp/gradient_descent/{place}"
    assert first.inputs == [first.trajectory_file, first.replay_file] and exact.inputs == [
        exact.trajectory_file
    ]
    assert first.config["code"]["beta"] == 4 and first.config["n"] == first.config["code"]["n"] == 6


def test_exact_runs_share_a_trajectory_without_scheme_delay_or_horizon():
    swept = ("label: CGC, scheme: cgc", "label: '{code._target_}', scheme: [cgc, uncoded]")
    figure = read(swept, ("iterations: 30", "horizon: 0.2, iterations: 30"))
    first, second = figure.runs[:2]
    assert first.exact and second.exact and not figure.runs[2].exact
    assert first.id != second.id
    assert first.trajectory_file == second.trajectory_file
    assert first.trajectory_file == "results/trajectory/digits_mlp/gradient_descent/exact/T30/seeds0-1.npz"
    assert figure.inputs.count(first.trajectory_file) == 1
    assert len(figure.inputs) == len(set(figure.inputs)) == 1 + 2 * 2


def test_a_run_without_a_task_needs_no_file():
    figure = read(text=TIMED)
    assert figure.inputs == figure.data == []
    assert "digits" not in figure.note
    assert figure.runs[0].id == "cgc+.n@6+.s@2/pareto/T30/seeds0-1"


def test_products_of_a_figure():
    figure = read()
    assert (figure.target, figure.paper, figure.name) == ("paper_target", "paper", "target")
    assert figure.table == "reports/paper/data/paper_target.csv"
    assert figure.products == [figure.table, *figure.drawings]
    assert {Path(p).suffix for p in figure.products} == {".csv", ".pdf", ".png"}
    table = read(("kind: lines", "kind: table"), preset="quick")
    assert {Path(p).suffix for p in table.drawings} == {".md", ".tex"}
    assert all(p.startswith("reports/quick/tables/paper_target") for p in table.drawings)


def test_a_code_is_built_once_for_all_figures(monkeypatch):
    built = []

    def counted(node, build=scheme._built):
        built.append(node)
        return build(node)

    monkeypatch.setattr(scheme, "_built", counted)
    write_files(Path("paper/figures"), {"one.yaml": SMALL, "other.yaml": TIMED})
    assert [len(figure.runs) for figure in figurefile.figures("paper")] == [3, 3]
    assert [node.get("beta") for node in built] == [None, 4, 6]


# --- Paths back to runs


def test_paths_stand_in_one_module():
    place = re.compile(r'^(?! *>>>).*"(reports|results|data/prepared)(/[^"]*)?"', re.M)
    texts = {path.name: path.read_text() for path in (ROOT / "gcexp").rglob("*.py")}
    assert {name for name, text in texts.items() if place.search(text)} == {"paths.py"}


def check_paths(runs):
    """The wildcards of a rule spell the run again from the path of its file."""
    rules = (ROOT / "workflow" / "rules" / "common.smk").read_text()
    known = dict(re.findall(r'^ {4}(\w+)=r"(.*)",$', rules, re.M))
    known |= dict.fromkeys(("scheme", "delay", "task", "optimizer"), run_paths.NAME)
    for run in runs:
        patterns = [run_paths.EXACT] if run.exact else [run_paths.APPROXIMATE, run_paths.VERIFIED]
        for path, pattern in zip(run.inputs, patterns, strict=True) if run.trains else ():
            regex = re.sub(r"\\{(\w+)\\}", lambda it: f"(?P<{it[1]}>{known[it[1]]})", re.escape(pattern))
            again = run_of_path(re.fullmatch(regex, path).groupdict())
            assert again.file(pattern) == path
            keys = ["task", "optimizer", "iterations", "seeds"]
            if not run.exact:
                keys += ["code", "wait", "placement", "loads", "delay", "overhead", "horizon"]
            assert [again.config.get(key) for key in keys] == [run.config.get(key) for key in keys]


def parts_built(run):
    """What decides which parts a check of a run builds."""
    return tuple(run.tokens.get(part) for part in ("scheme", "delay", "optimizer"))


@pytest.mark.slow
def test_every_path_of_every_figure_spells_its_run(published_figure, monkeypatch, forget):
    """In both presets. Quick runs need no download, and what only runs of the paper preset have can be built."""
    monkeypatch.chdir(ROOT)
    forget()
    quick = [run for figure in figurefile.figures("quick") for run in figure.runs]
    check_paths(quick)
    datasets = {run.dataset for run in quick if run.trains}
    assert datasets and not any(find_source(name).files for name in datasets)
    built = {parts_built(run) for run in quick}
    for figure in map(published_figure, page_files()):
        check_figure(figure)
        check_paths(figure.runs)
        for run in figure.runs:
            if parts_built(run) not in built:
                run.check()
                run.release()


SPELLED = [
    "horizon: 0.4",
    "horizon: 1",
    "horizon: 1e-5",
    "horizon: 2.5e+10",
    "horizon: 0.1234561",
    "horizon: 0.1234562",
    "seeds: 3-3",
    "seeds: 2-4",
    "overhead: 0.5",
    "overhead: 1e-7",
    "delay.scale: 1.0e-3, delay.persistence: 1",
    "optimizer.normalize: recovered, optimizer.learning_rate: 1",
    "task.hidden: 7, s: 1, code.n: 6",
    "wait.s: null, wait.q: 6",
    "delay: trace, delay.file: data/traces/pai-job1.csv, delay.workers: [[5, 4, 3, 2, 1, 0]]",
]


def test_different_values_have_different_paths_that_spell_them():
    edit = ("label: CGC, scheme: cgc", "label: one, scheme: forget, MORE")
    runs = [read((edit[0], edit[1].replace("MORE", more))).runs[0] for more in SPELLED]
    check_paths(runs)
    assert len({run.id for run in runs}) == len(runs)
    assert "/trace+file@data@traces@pai-job1.csv+workers@5,4,3,2,1,0/" in runs[-1].trajectory_file
    exact = [read(("seeds: 2", f"seeds: 2, overhead: {x}")).runs[0] for x in (0.5, 0.25)]
    assert exact[0].id != exact[1].id and exact[0].trajectory_file == exact[1].trajectory_file


def test_equal_runs_of_two_presets_and_figures_are_shared():
    assert read(preset="quick").inputs == read().inputs
    old, new = "task: digits_mlp, delay: pareto, n: 6, s: 2,", "s: 2, n: 6, delay: pareto, task: digits_mlp,"
    assert read((old, new)).inputs == read().inputs


# --- Sweeps and labels


def test_sweeps_are_products_in_order():
    figure = read(
        ("delay: pareto,", "delay: pareto, delay.persistence: [1, 2],"),
        (
            "label: CGC, scheme: cgc",
            "label: '{delay.persistence}, {code.seed}', scheme: cgc, code.seed: [0, 7]",
        ),
        ("β =", "β, {delay.persistence} ="),
    )
    assert figure.labels[:4] == ["1, 0", "1, 7", "2, 0", "2, 7"]
    assert figure.labels[4:] == ["β, 1 = 4", "β, 1 = 6", "β, 2 = 4", "β, 2 = 6"]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("scheme", ["cgc+.n@6+.s@2", "uncoded+.n@6+.s@2", "forget+.n@6+.s@2"]),
        ("task", ["digits_mlp", "mnist_mlp"]),
        ("delay", ["pareto", "shifted_exponential"]),
    ],
)
def test_schemes_delays_and_tasks_can_be_swept(key, values):
    label = "{code._target_} {wait._target_} {task.dataset} {delay._target_}"
    names = [value.partition("+")[0] for value in values]
    more = "" if key == "scheme" else "scheme: cgc, "
    figure = read(("label: CGC, scheme: cgc", f"label: '{label}', {more}{key}: [{', '.join(names)}]"))
    assert [run.tokens[key] for run in figure.runs[:-2]] == values


def test_a_run_overrides_what_is_common_and_its_label_uses_composed_values():
    label = "'{n} {code.seed} {delay.scale} {horizon} {optimizer.normalize}'"
    first, second, _ = read(
        ("label: CGC, scheme: cgc", f"label: {label}, scheme: cgc, s: 1, iterations: 7, seeds: 3")
    ).runs
    assert (first.tokens["scheme"], first.length, first.seeds) == ("cgc+.n@6+.s@1", "T7", (0, 1, 2))
    assert second.length == "T30"
    assert first.label == "6 0 0.001 None total"


# --- Mistakes

LINES, BARS = "{kind: lines}", "{kind: bars}"
#: Of a figure file what stands there, what stands there instead, and what the sentence names.
MISTAKES = [
    ("{code.beta}", "{code.bta}", "'code.beta'"),
    ("{code.beta}", "{nope}", "'nope'"),
    ("β = {code.beta}", "CGC", "'CGC'"),
    ("label: CGC, ", "", "label"),
    ("label: CGC", "label: null", "label"),
    ("scheme: cgc", "", "scheme"),
    ("scheme: cgc", "scheme: cgcc", ("'cgcc'", "'cgc'")),
    ("scheme: cgc", "scheme: cgc+n@3", "scheme"),
    ("scheme: cgc", "scheme: {cgc: 3}", "scheme"),
    ("delay: pareto, ", "", "delay"),
    ("task: digits_mlp, ", "", "task"),  # curves need one
    ("[4, 6]", "[]", "code.beta"),
    ("[4, 6]", "[4, x]", ("code.beta", "'x'")),
    ("[4, 6]", "[4, [6]]", "code.beta"),
    ("n: 6", "n: 6.5", ("n ", "6.5")),
    ("n: 6", "cod.n: 6", "'cod.n'"),
    ("n: 6", "n: 6, exact: true", ("β = 4", "exact: true")),
    ("iterations: 30, ", "", "iterations"),
    ("kind: curves", "kind: curve", ("kind", "'curve'", "'curves'")),
    ("kind: curves", "kind: analysis", "analysis.function"),
    ("title: A figure", "titel: A figure", ("'titel'", "'title'")),
    ("title: A figure\n", "", "'title'"),
    ("title: A figure", "title: 3", ("title", "3")),
    (LINES, "lines", ("plot", "'lines'")),
    (LINES, "{kind: lines}\nlevel: high", "level"),
    ("runs:", "runs:\n  - CGC", ("runs", "'CGC'")),
    # columns that the table will not have, and functions that are not there
    (LINES, "{kind: lines, y: test_acuracy}", ("plot", "'test_acuracy'", "'test_accuracy'")),
    (LINES, "{kind: lines, x: simulated_time}", "'simulated_time_s'"),
    (LINES, "{kind: lines, panel: code.bta}", ("'code.bta'", "'code.beta'")),
    (LINES, "{kind: bars, y: mean}", ("plot", "'mean'")),
    (LINES, "{kind: lines}\ntolerances: {test_lss: 0.1}", ("tolerances", "'test_lss'", "'test_loss'")),
    (LINES, "{kind: function, function: nowhere.draw}", ("plot.function", "'nowhere.draw'")),
]
LEARNING = "gcexp_papers.dynamic_clustering"
OF_TIMINGS = [
    (BARS, f"{BARS}\ntimings: {{exact: {exact}}}", names)
    for exact, names in (
        (f"{LEARNING}.numerics.expected_iterations", "'expected_iteration_time'"),
        ("gcexp.analysis.clustering.f", ("timings.exact", "'gcexp.analysis.clustering.f'")),
        ("expected", "timings.exact"),
        ("3 + 4", "timings.exact"),
    )
]
OF_ANALYSES = [
    ("math.gcd", "gcexp.nope.f", "gcexp.nope"),
    ("math.gcd", "math.flor", "'floor'"),
    ("math.gcd", "math.pi", "math.pi"),  # nothing to call
    ("math.gcd", "3", "3"),
    ("math.gcd", "math.gcd, nope: 3", "nope"),
]
DRAWN = "{kind: bars, y: test_loss, by: draw}"
OF_LOSSES = [
    (DRAWN, "{kind: bars, y: test_los, by: draw}", ("plot", "'test_los'", "'test_loss'")),
    (DRAWN, "{kind: table, columns: [drawn]}", ("plot", "'drawn'", "'draw'")),
    (DRAWN, "{kind: table, columns: [draw], across: {iteration: los}}", ("plot", "'los'")),
]


@pytest.mark.paper("dynamic_clustering")
@pytest.mark.parametrize(
    ("text", "old", "new", "names"),
    [
        (text, *mistake)
        for text, found in (
            (SMALL, MISTAKES),
            (TIMED, OF_TIMINGS),
            (ANALYSIS, OF_ANALYSES),
            (LOSSES, OF_LOSSES),
        )
        for mistake in found
    ],
)
def test_mistakes_in_figure_files_name_the_file(refused, text, old, new, names):
    said = refused(names, lambda: read((old, new), text=text))
    assert re.match(r"(.*/)?paper/figures/target\.yaml: ", said)


def test_a_task_that_declares_no_scores_is_asked_for_its_keys_alone(refused, monkeypatch):
    monkeypatch.setattr("gcexp.report.figure.scores_of_task", lambda task: None)
    drawn = "{kind: lines, y: reward, panel: code.beta}"
    assert read((LINES, drawn)).columns is None
    refused("'panl'", lambda: read((LINES, drawn.replace("code.beta", "panl"))))


def test_a_regression_has_no_accuracy(refused):
    other = ("task: digits_mlp", "task: torch, task.dataset: linear_mixture")
    assert "test_accuracy" in read().columns
    refused("'test_accuracy'", lambda: read(other))
    assert read(other, (LINES, "{kind: lines, y: test_loss}")).columns[-1] == "test_loss"


@pytest.mark.paper("dynamic_clustering")
def test_columns_of_an_analysis():
    assert read(text=LOSSES).columns == ["draw", "iteration", "train_loss", "test_loss"]
    across = "{kind: table, columns: [draw], across: {iteration: test_loss}, formats: {'3': .2f}}"
    read((DRAWN, across), text=LOSSES)  # columns that values become are free
    free = "gcexp.analysis.claims.all_instances, holds: []}"  # declares nothing, so any column may be drawn
    assert read(("math.gcd}", free), (BARS, "{kind: bars, by: nothing}"), text=ANALYSIS).columns is None


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("paper/a&touch X", "'a&touch X'"),
        ("paper/ü", "'ü'"),
        ("$(id)/target", ("$(id)", "paper.yaml")),
        ("ü/target", ("ü", "paper.yaml")),
        ("paper/-n", "'-n'"),
        ("data/target", "data"),
        ("all/target", "all"),
        ("paper_a/b", ("paper_a_b", "paper/figures/a_b.yaml")),
        ("paper_a_b/c", ("paper_a_b", "paper/figures/a_b.yaml")),
    ],
)
def test_names_that_no_target_can_have(refused, name, names):
    for place, target in (name.split("/", 1), ("paper", "a_b")):
        files = {"paper.yaml": "title: A\n", "__init__.py": "", f"figures/{target}.yaml": SMALL}
        write_files(Path(place), files)
    refused(names, target_files)


def test_figures_of_a_package_that_is_no_paper(refused, monkeypatch):
    write_files(Path("mylab"), {"__init__.py": "", "figures/a.yaml": SMALL})
    with monkeypatch.context() as patch:
        refused(("mylab/figures", "paper.yaml"), target_files)
        patch.chdir("mylab")  # found by the entry point, from another folder
        patch.syspath_prepend("..")
        target_files()
        patch.setattr("gcexp.run.options.plugins", lambda: ("mylab",))
        refused(("mylab/figures", "paper.yaml"), target_files)
    (Path("mylab") / "__init__.py").unlink()
    target_files()  # a folder that is no package


def test_the_rules_are_known():
    files = [ROOT / "workflow/Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]
    rules = "".join(path.read_text() for path in files)
    found = re.findall(r"^(?:rule|use rule \w+ as) (\w+)(?: with)?:", rules, re.M)
    assert {*found} == {*RULES}


def test_unknown_figures_and_presets(refused):
    read()
    refused(("'paper_targt'", "'paper_target'"), figurefile.figure, "paper_targt", "quick")
    refused(("'papr'", "'paper'"), figurefile.figures, "papr")


# --- Presets


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("task: 5", ("quick.yaml", "task", "5")),
        ("task: {mnist_mlp: 5}", ("quick.yaml", "task: mnist_mlp", "5")),
        ("tasks: {a: b}", ("'tasks'", "'task'")),
        ("task: {mnist_mlp: digit_mlp}", ("'digit_mlp'", "'digits_mlp'")),
        ("task: [", ("quick.yaml", "line ")),
    ],
)
def test_mistakes_in_a_preset(refused, own_conf, text, names):
    (own_conf / "preset/quick.yaml").write_text(text)
    said = refused(names, lambda: read(preset="quick"))
    assert "target.yaml" not in said


def test_quick_values_replace_those_of_common_and_runs():
    edits = [("scheme: cgc", "scheme: cgc, iterations: 77, seeds: 9")]
    edits += [(LINES, f"{LINES}\nquick: {{iterations: 5, seeds: 1, overhead: 0.5}}")]
    for run in read(*edits, preset="quick").runs:
        assert (run.iterations, run.seeds, run.config["overhead"]) == (5, (0,), 0.5)
    assert [run.iterations for run in read(*edits).runs] == [77, 30, 30]


def test_stand_ins_of_the_quick_preset():
    mnist = ("digits_mlp", "mnist_mlp")
    for preset, task, data in (("paper", "mnist_mlp", "mnist"), ("quick", "digits_mlp", "digits")):
        figure = read(mnist, preset=preset)
        assert {run.option("task") for run in figure.runs} == {task}
        assert f"{data} ({preset} preset)" in figure.note
    chosen = read(mnist, (LINES, f"{LINES}\nquick: {{task: mnist_mlp}}"), preset="quick")
    assert {run.option("task") for run in chosen.runs} == {"digits_mlp"}
    swept = ("task: digits_mlp", "task: [mnist_mlp, linear_regression]")
    swept = read(
        swept, ("label: CGC", "label: '{task._target_}'"), ("β =", "{task._target_} ="), preset="quick"
    )
    assert [run.option("task") for run in swept.runs[:2]] == ["digits_mlp", "linear_regression"]


@pytest.mark.parametrize(("preset", "level"), [("paper", 0.5), ("quick", 0.4)])
def test_the_level_is_compared_and_not_drawn(preset, level):
    figure = read((LINES, f"{LINES}\nlevel: 0.5\nquick: {{level: 0.4}}"), preset=preset)
    assert figure.file.level == level and "level" not in figure.file.plot
    assert all(run.config["iterations"] == 30 for run in figure.runs)


def test_comments_in_a_style_are_not_tracked(own_conf):
    before = read().drawing_fingerprint
    style = own_conf / "style" / "paper.mplstyle"
    style.write_text("# new\n" + style.read_text())
    assert read().drawing_fingerprint == before
    style.write_text(style.read_text() + "\nlines.linewidth: 7\n")
    assert read().drawing_fingerprint != before


@pytest.mark.parametrize(
    "given", [0, -1, True, 1.0, None, "", "a", "1-", "3-2", "1,2", "0-1-2", "3", [], [0, 2], [True]]
)
def test_seeds_that_are_none(refused, given):
    refused("seeds", seed_range, given)


def test_a_copy_for_a_paper_has_no_title_and_is_drawn_anew():
    one = read()
    renders = [RenderOptions(title=False), RenderOptions(note=False)]
    renders += [RenderOptions(width=width) for width in (3.5, 3.6)]
    bare, noteless, *_ = copies = [replace(one, render=render) for render in renders]
    assert (one.heading, bare.heading) == ("A figure", "")
    assert (one.footnote, noteless.footnote) == (one.note, "")
    assert len({tuple(copy.drawing_fingerprint) for copy in (one, *copies)}) == 5
    assert one.table_fingerprint == bare.table_fingerprint
