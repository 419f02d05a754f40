"""What an edit makes again: one expression in a module, what would run then, and what must."""

import ast
import itertools
import os
import shutil
import textwrap
from pathlib import Path

import pytest

from gcexp.report import figurefile
from gcexp.run import compose as compose_module
from gcexp.run import dependencies, source
from gcexp.run import options as options_module
from gcexp.run import run as run_module
from gcexp.run.checks import declared_scores
from gcexp.run.dependencies import STAGES, tracked

pytestmark = pytest.mark.paper("dynamic_clustering", "partial_recovery")

ROOT = Path(__file__).resolve().parents[2]

FIGURES = {
    "trained": """
        title: Learning curves
        source: Fig. 1
        kind: curves
        common: {task: digits_mlp, delay: pareto, n: 6, s: 2, iterations: 30, seeds: 2}
        runs:
          - {label: CGC, scheme: cgc}
          - {label: FRC, scheme: frc, code.d: 2}
          - {label: raptor, scheme: epsilon_brc}
        plot: {kind: lines, x: simulated_time_s, y: test_accuracy}
        """,
    "timed": """
        title: Times
        source: Fig. 2
        kind: timings
        common: {n: 6, s: 2, iterations: 30, seeds: 2}
        runs:
          - {label: slow, scheme: cgc, delay: markov}
          - {label: mine, scheme: mine, delay: traced}
          - {label: dynamic, scheme: gc_dc, delay: shifted_exponential, code.d: 2}
        plot: {kind: bars, y: mean_iteration_time_s}
        """,
    "closed": """
        title: Closed forms
        source: Table 1
        kind: analysis
        analysis:
          function: gcexp_papers.partial_recovery.numerics.cyclic_schemes
          n: 12
          s: 5
          divisible: 8
          other: 10
        plot: {kind: table}
        """,
}

PLUG_IN = {
    "code.py": """
        from somebody import scale
        from gcexp.codes import Uncoded

        class Mine(Uncoded):
            def __init__(self, n: int):
                super().__init__(n)

            def twice(self):
                return scale.FACTOR
        """,
    "scale.py": "FACTOR = 1 + 1\n",
    "__init__.py": "raise ImportError('imported')\n",
    "delay.py": """
        from .reading import rows
        from gcexp.delays import Draws

        class Traced:
            def __init__(self, file: str):
                self.file = file

            def draw(self, seeds, iterations, n):
                return Draws(rows(self.file))
        """,
    "reading.py": "def rows(file):\n    return open(file).read()\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory, add_paper):
    """Options as they are, three figures, a package beside them and a trace that it reads."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "conf", folder / "conf")
    add_paper(folder / "paper")
    for name, text in FIGURES.items():
        (folder / "paper" / "figures" / f"{name}.yaml").write_text(textwrap.dedent(text))
    (folder / "somebody").mkdir()
    for name, text in PLUG_IN.items():
        (folder / "somebody" / name).write_text(textwrap.dedent(text))
    (folder / "trace.csv").write_text("0.1,0.2\n")
    options = {
        "code/mine": "_target_: somebody.code.Mine\nn: ${n}\n",
        "delay/traced": "_target_: somebody.delay.Traced\nfile: trace.csv\n",
        "scheme/mine": "# @package _global_\ndefaults:\n  - override /code: mine\n  - override /wait: fastest\n",
    }
    for name, text in options.items():
        (folder / "conf" / f"{name}.yaml").write_text(text)
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        for name in ("GCEXP_CONF", "GCEXP_SEARCHPATH"):
            patch.delenv(name, raising=False)
        patch.setattr(figurefile, "check", lambda configs: None)  # the plug-in is only read, never imported
        forget()
        yield folder
    forget()
    os.chdir(before)


def forget():
    """What a fresh process knows, syntax trees of unchanged texts apart."""
    for module in (options_module, compose_module, run_module, figurefile, source, dependencies):
        for function in vars(module).values():
            if hasattr(function, "cache_clear") and function is not source._module:
                function.cache_clear()


def jobs():
    """Every job, with what the rules hand to Snakemake: what it tracks, and the jobs whose files it reads."""
    found, figures = {}, figurefile.figures("quick")
    for run in itertools.chain.from_iterable(figure.runs for figure in figures):
        found[f"timeline {run.label}"] = tracked("timeline", run.config), []
        if run.task and run.exact:
            found["train exact"] = tracked("trajectory", run.config), []
            found[f"replay {run.label}"] = (
                tracked("replay", run.config),
                [f"timeline {run.label}", "train exact"],
            )
        elif run.task:
            both = tracked("trajectory", run.config) + tracked("replay", run.config)
            found[f"train {run.label}"] = both, [f"timeline {run.label}"]
    for figure in figures:
        made = {run.label: [name for name in found if name.endswith(f" {run.label}")] for run in figure.runs}
        inputs = list(itertools.chain.from_iterable(made.values()))
        table = f"table {figure.name}"
        found[table] = figure.tracked_table, [*inputs, *(["train exact"] if figure.name == "trained" else [])]
        found[f"plot {figure.name}"] = figure.tracked_plot, [table]
        found[f"claims {figure.name}"] = figure.tracked_claims, [table]
    judged = [name for name in found if name.startswith("claims")]
    found["scorecard"] = tracked("scorecard"), judged
    pages = [figure.tracked_page for figure in figures]
    found["page"] = [*tracked("page"), *pages], ["scorecard", *(f"plot {figure.name}" for figure in figures)]
    return found


def downstream(changed, all_jobs):
    """The jobs and all that read their files."""
    found = set(changed)
    for name, (_, inputs) in all_jobs.items():  # a job stands behind those whose files it reads
        if found & set(inputs):
            found.add(name)
    return found


@pytest.fixture(scope="module")
def before(project):
    return jobs()


def would_run(before, monkeypatch, edited):
    """Jobs whose tracked values differ once `edited` (texts by file) stand in the place of the files."""
    plain = source.read
    monkeypatch.setattr(source, "read", lambda path: edited.get(path.resolve()) or plain(path))
    forget()
    after = jobs()
    return {name for name in before if before[name][0] != after[name][0]}


class Edit(ast.NodeTransformer):
    """One expression is another one: what the first function returns, else the first value that is assigned."""

    done = False

    def visit_Return(self, node):
        if node.value is not None and not self.done:
            self.done = True
            node.value = ast.Tuple([node.value, ast.Constant(0)], ast.Load())
        return node

    def visit_Assign(self, node):
        if not self.done and not any(isinstance(n, ast.FunctionDef) for n in ast.walk(node)):
            self.done = True
            node.value = ast.Tuple([node.value, ast.Constant(0)], ast.Load())
        return node


def edit(file):
    editor = Edit()
    tree = editor.visit(ast.parse(file.read_text()))
    assert editor.done, file
    return ast.unparse(ast.fix_missing_locations(tree))


TIMELINES = {f"timeline {label}" for label in ("CGC", "FRC", "raptor", "slow", "mine", "dynamic")}
TRAININGS = {"train exact", "train FRC", "train raptor"}
VERIFIED = {
    "replay CGC",
    "train FRC",
    "train raptor",
}  # an approximate run is verified by the job that trains it
TABLES = {f"table {name}" for name in FIGURES}
PLOTS = {f"plot {name}" for name in FIGURES}
CLAIMS = {f"claims {name}" for name in FIGURES}
DRAWN = PLOTS - {"plot closed"}
TIMED, CLOSED, LEARNED = {"table timed"}, {"table closed"}, {"table trained"}
CYCLIC = {"timeline CGC", "timeline slow", "timeline dynamic"}  # clusters are made of cyclic repetition

#: What must run when one expression of a module is another one, beside all that reads the files of these jobs.
MUST_RUN = {
    # codes: the family's own timelines, its verification, and the tables that build it
    "gcexp/codes/cyclic.py": CYCLIC | {"replay CGC"} | TIMED,
    "gcexp/codes/clustered.py": {"timeline dynamic"} | TIMED,
    "gcexp/codes/repetition.py": {"timeline FRC", "train FRC"} | CLOSED,
    "gcexp/codes/raptor.py": {"timeline raptor", "train raptor"} | CLOSED,
    "gcexp/codes/uncoded.py": {"timeline mine"} | TIMED | CLOSED,
    "gcexp/codes/subset_designs.py": CLOSED,
    "gcexp/codes/adaptive.py": set(),
    "gcexp/codes/expander.py": set(),
    "gcexp/codes/base.py": TIMELINES | VERIFIED | TIMED | CLOSED,
    # delays
    "gcexp/delays/markov.py": {"timeline slow"},
    "gcexp/delays/distributions.py": {f"timeline {run}" for run in ("CGC", "FRC", "raptor", "dynamic")},
    "gcexp/delays/epochs.py": set(),
    # schemes and the clock
    "gcexp/schemes/waiting.py": TIMELINES | TIMED,
    "gcexp/schemes/placement.py": TIMELINES | TIMED,
    "gcexp/schemes/elimination.py": set(),
    "gcexp/timeline.py": TIMELINES | VERIFIED | LEARNED | TIMED,
    # learning: its own room alone retrains
    "gcexp/tasks/mlp.py": TRAININGS | VERIFIED,
    "gcexp/tasks/optimizers.py": TRAININGS,
    "gcexp/tasks/training.py": TRAININGS | VERIFIED | LEARNED,
    "gcexp/tasks/checkpoint.py": VERIFIED | LEARNED,
    "gcexp/tasks/linear_regression.py": set(),
    "gcexp/data/readers.py": set(),
    # runs
    "gcexp/run/build.py": TIMELINES | TIMED | CLOSED,  # an analysis names codes by their options
    "gcexp/run/scheme.py": TIMELINES | TIMED,
    "gcexp/run/verification.py": VERIFIED,
    "gcexp/run/provenance.py": set(),
    "gcexp/run/tokens.py": LEARNED | TIMED,  # the keys of a run are columns
    # closed forms
    "gcexp/theory/partial_recovery.py": CLOSED,
    "gcexp/theory/order_statistics.py": CLOSED,
    "gcexp/theory/adaptive.py": set(),
    "gcexp/analysis/counting.py": CLOSED,
    "gcexp_papers/partial_recovery/numerics.py": CLOSED,
    "gcexp_papers/dynamic_clustering/numerics.py": set(),
    # reports
    "gcexp/figures/tables.py": TABLES | PLOTS | CLAIMS | {"page"},  # whose alternative texts read tables
    "gcexp/figures/lines.py": DRAWN,
    "gcexp/figures/style.py": DRAWN,
    "gcexp/figures/typeset.py": {"plot closed"},
    "gcexp/report/claims.py": CLAIMS | {"scorecard", "page"},
    "gcexp/report/scorecard.py": {"scorecard", "page"},
    "gcexp/report/page.py": {"page"},
    "gcexp/report/tracking.py": set(),
    "gcexp/command/catalogue.py": set(),
    # a package of somebody else's
    "somebody/code.py": {"timeline mine"} | TIMED,
    "somebody/scale.py": {"timeline mine"} | TIMED,
    "somebody/delay.py": {"timeline mine"},
    "somebody/reading.py": {"timeline mine"},
}


def test_the_edits_reach_every_package():
    rooms = {path.parent.name for path in (ROOT / "gcexp").glob("*/*.py")}
    assert rooms == {Path(name).parent.name for name in MUST_RUN if name.startswith("gcexp/")} - {"gcexp"}
    assert len(MUST_RUN) >= 25


@pytest.mark.slow
@pytest.mark.parametrize("name", MUST_RUN)
def test_an_edit_runs_what_it_decides_and_nothing_else(name, project, before, monkeypatch):
    file = (project if name.startswith("somebody") else ROOT) / name
    found = would_run(before, monkeypatch, {file.resolve(): edit(file)})
    assert found == MUST_RUN[name]
    trained = {job for job in downstream(found, before) if job == "train exact"}
    assert bool(trained) == (
        name in ("gcexp/tasks/mlp.py", "gcexp/tasks/optimizers.py", "gcexp/tasks/training.py")
    )


@pytest.mark.slow
def test_comments_and_docstrings_run_nothing(project, before, monkeypatch):
    edited = {}
    for name in MUST_RUN:
        file = (project if name.startswith("somebody") else ROOT) / name
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and ast.get_docstring(node) is None
            ):
                node.body.insert(0, ast.Expr(ast.Constant("What it is.")))
        edited[file.resolve()] = ast.unparse(ast.fix_missing_locations(tree)) + "\n# a remark\n"
    assert would_run(before, monkeypatch, edited) == set()


def test_a_trace_is_an_input_by_its_content(project, before, monkeypatch):
    trace = project / "trace.csv"
    kept = trace.read_text()
    os.utime(trace)
    assert would_run(before, monkeypatch, {}) == set()
    try:
        trace.write_text("0.1,0.3\n")
        assert would_run(before, monkeypatch, {}) == {"timeline mine"}
    finally:
        trace.write_text(kept)


def test_a_template_is_an_input_of_the_page(before, monkeypatch, project):
    assert any("report.html.j2=" in value for value in tracked("page"))


def test_what_a_class_says_is_read_in_its_source(tmp_path, monkeypatch):
    (tmp_path / "base_task.py").write_text(
        textwrap.dedent("""
            import torch
            class Base:
                scores: tuple = ("reward", "cost")
                many = 2 * 3
            class Near(Base):
                pass
            """)
    )
    (tmp_path / "own_task.py").write_text(
        textwrap.dedent("""
            import base_task
            from base_task import Base as Other
            class Mine(Other):
                pass
            class Loud(Other):
                scores = ("noise",)
                def problem(self): ...
            class Another(Other):
                def problem(self): ...
            class Far(base_task.Base):
                pass
            scores = 3
            """)
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def said(cls, name="scores"):
        return source.class_value(cls, name, "problem")

    assert said("own_task.Mine") == said("base_task.Near") == ["reward", "cost"]
    assert said("own_task.Loud") == ["noise"]
    for cls in ("Another", "Far", "Other", "scores", "Nobody"):
        assert said(f"own_task.{cls}") is None
    assert said("torch.nn.Linear") is None and said("base_task.Base", "many") is None
    defined = {"Other", "base_task", "Mine", "Loud", "Another", "Far", "scores"}
    assert source.names_in("own_task") == defined


@pytest.mark.parametrize(
    "scores, wanted",
    [(["reward"], ["reward"]), (3, None), ([1, 2], None), (None, ["test_accuracy", "test_loss"])],
)
def test_scores_may_stand_in_the_options(scores, wanted):
    mlp = {"_target_": "gcexp.tasks.mlp.MultilayerPerceptron", "dataset": "digits"}
    assert declared_scores(mlp | {"scores": scores}) == wanted


def test_every_entry_leads_to_code():
    for name, stage in STAGES.items():
        assert source.reached(*stage.entries), name
        for file in stage.files:
            assert dependencies.content(ROOT / "gcexp" / file), file


def test_tracked_values_are_short_lines(project):
    (run, *_) = figurefile.figure("paper_trained", "quick").runs
    for stage in STAGES:
        lines = tracked(stage, run.config)
        assert all(isinstance(line, str) and "\n" not in line for line in lines)
    assert {"code.n=6", "code.s=2", "wait.s=2", "wait.q=None", "exact=True"} <= set(
        tracked("timeline", run.config)
    )


def test_a_text_that_is_known_to_give_the_same_bits_does_not_retrain(project, before, monkeypatch):
    (run, *_) = figurefile.figure("paper_trained", "quick").runs
    monkeypatch.setattr(dependencies, "known_texts", dict)
    unknown = tracked("trajectory", run.config)
    texts = {"gcexp.tasks.mlp": {"version": 3, "texts": ["older", source.text_hash("gcexp.tasks.mlp")]}}
    monkeypatch.setattr(dependencies, "known_texts", lambda: texts)
    assert "gcexp.tasks.mlp=3" in tracked("trajectory", run.config)
    assert "gcexp.tasks.mlp=3" not in unknown
