"""What a stage depends on: all that its entries need, and nothing that only brings values to them."""

import ast
import json
import shutil
from importlib.util import resolve_name

import pandas as pd
import pytest

from gcexp.report.figurechecks import check_named
from gcexp.report.figurefile import figures
from gcexp.run.closure import closure_of
from gcexp.run.contents import code_of
from gcexp.run.datasets import prepared_file
from gcexp.run.declarations import declaration_of
from gcexp.run.dependencies import STAGES, TELLING, dotted_names, names_of_run, stage_fingerprint
from gcexp.run.imports import bound_names
from gcexp.run.modules import library_modules
from gcexp.run.parts import PARTS
from gcexp.run.run import Run
from tests.closures import counted, counting, data_among
from tests.conftest import ROOT, Project

#: Stages whose jobs read figure files and options themselves.
READING = {"page", "tracking"}
COMPUTING = [name for name in STAGES if name not in READING]

# --- Entries alone, in a process that has read no option, figure file or record

RUN = "scheme=cyclic_partial n=6 s=2 code.beta=4 delay=pareto iterations=4 seeds=0-1 task=digits_mlp".split()
BEGINNING = """
import importlib, json, types
import numpy as np
about = json.load(open("about.json"))
config = about["config"]

def run():
    from gcexp.run.parts import Parts
    from gcexp.run.scheme import Codes
    one = Parts()
    vars(one).update(about, codes=Codes(), keys_set=about["keys"].get, option=about["options"].get)
    return one

def made(key):
    node = dict(config[key])
    module, _, name = node.pop("_target_").rpartition(".")
    return getattr(importlib.import_module(module), name)(**node)

def figure(runs=(), **about_file):
    file = dict(passages=None, timings=types.SimpleNamespace(rows="seeds", exact=None, against={})) | about_file
    return types.SimpleNamespace(
        file=types.SimpleNamespace(**file), runs=runs, identifying_columns=about["identifying"], columns=None,
        arguments=about["arguments"],
    )

class Trainings:
    def trajectory(self, run, timeline):
        from gcexp.data import load
        from gcexp.run.learning import train_parts
        return train_parts(run, timeline, load(about["data"]), progress=False)

    def report(self, run, timeline, trajectory):
        from gcexp.run.learning import replay_parts
        return replay_parts(run, timeline, trajectory, about["data"])
"""
WORK = {
    "prepare": """
from gcexp.data.prepare import prepare
from gcexp.data.sources import SOURCES
prepare(SOURCES["digits"], "digits.npz")
""",
    "timeline": 'run().clock().save("clock.npz")',
    "trajectory": """
from gcexp.tasks.training import train
digits = np.load(about["data"])
data = types.SimpleNamespace(name="digits", note="", **{name: digits[name] for name in digits.files})
data.x_train, data.x_test = data.x_train / np.float32(16), data.x_test / np.float32(16)
train(made("task"), made("optimizer"), data, [0, 1], [4, 4], progress=False).save("trajectory.npz")
""",
    "replay": """
one, trainings = run(), Trainings()
timeline = one.clock()
assert trainings.report(one, timeline, trainings.trajectory(one, timeline))["passed"]
""",
    "curves": """
from gcexp.figures.tables import write_table
from gcexp.report.run_table import table_of_runs
write_table(table_of_runs(figure([run()], kind="curves"), Trainings())[0], "curves.csv")
""",
    "timings": """
from gcexp.figures.tables import write_table
from gcexp.report.run_table import table_of_runs
about["trains"] = False
write_table(table_of_runs(figure([run()], kind="timings"), None)[0], "timings.csv")
""",
    "analysis": """
from gcexp.figures.tables import write_table
from gcexp.report.analysis_table import analysis_table
write_table(analysis_table(figure(kind="analysis", analysis=about["analysis"])), "analysis.csv")
""",
    "draw": """
from gcexp.figures import draw, read_table, save
table = read_table("given.csv")
for plot in about["plots"]:
    save(draw(table, plot, "A title", "A note."), ["drawn.pdf"])
""",
    "typeset": """
from gcexp.figures import parse, read_table
from gcexp.figures.typeset import typeset
grid = parse({"kind": "table", "across": {"name": "load"}, "columns": ["d"]})
typeset(read_table("given.csv"), grid, "A title", "", "tab:a").save(["set.md", "set.tex"])
""",
}
ANALYSIS = {"function": "gcexp.analysis.coefficients.table"}
ARGUMENTS = {
    "length": 2,
    "codes": {"best": {"_target_": "gcexp.codes.best.BestCode", "n": 5, "d": 2, "s": 2}},
}
PLOTS = [
    {"kind": "lines", "x": "d", "y": "load", "by": "name", "yscale": "log"},
    {"kind": "bars", "y": "load", "by": "name", "panel": "d"},
]


@pytest.fixture(scope="module")
def values():
    """What entries get of a run and its figure."""
    run = Run.of(RUN)
    return {
        "config": run.config,
        "label": "a run",
        "id": run.id,
        "trains": True,
        "columns": [],
        "keys": {part: run.keys_set(part) for part in PARTS},
        "options": {part: run.option(part) for part in PARTS},
        "identifying": ["label", "run", "scheme", "n", "s", "delay", "task"],
        "data": str(prepared_file("digits", home=True)),
        "analysis": ANALYSIS,
        "arguments": ARGUMENTS,
        "plots": PLOTS,
    }


def _what_counts(stage, config):
    """What the fingerprint of a job of a stage names."""
    names = names_of_run(stage, config)
    if stage == "analysis":
        names = dotted_names([ANALYSIS, ARGUMENTS])
    return counting(stage_fingerprint(stage, config, names))


@pytest.mark.slow
@pytest.mark.parametrize("stage", COMPUTING)
def test_entries_need_nothing_beside_their_closure(stage, values, tmp_path):
    """No module and no file of the library, where values alone are brought to them.

    They work in a fork of a process that has what they import of others, and find the library in another place, so
    that they import all of it themselves.
    """
    (tmp_path / "library").symlink_to(ROOT)
    working = Project(tmp_path, tmp_path / "library").guarded()
    shutil.copy(ROOT / "tests/loaded.py", tmp_path / ".guard/sitecustomize.py")
    (tmp_path / "about.json").write_text(json.dumps(values))
    pd.DataFrame({"name": ["a", "b"] * 2, "d": [1, 1, 2, 2], "load": [0.5, 1, 2, 4]}).to_csv(
        tmp_path / "given.csv", index=False
    )
    (tmp_path / "work.py").write_text(BEGINNING + WORK[stage])
    code, said = working.begin("work.py").ended()
    assert code == 0, said
    loaded, opened = json.loads((tmp_path / "told.json").read_text())
    counts = _what_counts(stage, values["config"])
    if stage == "replay":  # of a clock, by the job that made it
        counts |= _what_counts("timeline", values["config"])
    assert STAGES[stage].entries[0] in loaded
    assert [name for name in loaded if not counted(name, counts)] == []
    assert [name for name in data_among(opened) if name not in counts] == []


# --- What does not count


@pytest.mark.parametrize("module", sorted(TELLING))
def test_what_tells_of_a_job_is_reached(module):
    """One that no stage which computes reaches need not be left out."""
    reached = [closure_of(frozenset(STAGES[stage].entries), TELLING).left_out for stage in COMPUTING]
    assert any(module in one for one in reached)


#: What composes options, reads figure files, keeps records and is called by rules.
BRINGING = (
    *(
        "gcexp.command",
        "gcexp.run.compose",
        "gcexp.run.options",
        "gcexp.run.dependencies",
        "gcexp.run.records",
    ),
    *("gcexp.run.provenance", "gcexp.run.run", "gcexp.report.figure", "gcexp.report.figurefile"),
)


@pytest.mark.parametrize("stage", COMPUTING)
def test_what_computes_imports_nothing_that_brings_values(stage):
    """Else an edit of how options are read, or of the adviser, makes every result again."""
    found = closure_of(frozenset(STAGES[stage].entries), TELLING).modules
    assert [name for name in found if name in BRINGING or name.startswith("gcexp_adviser")] == []
    assert set(BRINGING) <= library_modules().keys()


@pytest.mark.parametrize("stage", sorted(READING))
def test_what_shows_figures_knows_no_adviser(stage):
    found = closure_of(frozenset(STAGES[stage].entries), TELLING).modules
    assert "gcexp.run.compose" in found
    assert [name for name in found if name.startswith("gcexp_adviser")] == []


@pytest.mark.slow
@pytest.mark.paper("stragglers", "codes")
def test_only_our_studies_of_measured_workers_depend_on_the_adviser():
    """Neither a table nor a drawing of the five papers does; of advice itself also on its templates."""
    depending = {}
    for figure in figures("quick"):
        lines = [*figure.table_fingerprint, *figure.drawing_fingerprint]
        of_adviser = {line.partition("=")[0] for line in lines if line.startswith("gcexp_adviser")}
        if of_adviser:
            depending[figure.target] = of_adviser
    assert {target.partition("_")[0] for target in depending} == {"codes", "stragglers"}
    readers = [target for target, names in depending.items() if "gcexp_adviser.logs.reading" in names]
    assert "stragglers_advice" in readers
    templates = "gcexp_adviser/remedies/templates"
    assert [target for target, names in depending.items() if templates in names] == ["stragglers_advice"]


# --- Data files


@pytest.mark.parametrize(
    ("name", "config", "stages"),
    [
        ("gcexp/codes/best.csv", {"code": {"_target_": "gcexp.codes.best.BestCode"}}, {"timeline", "replay"}),
        ("gcexp/report/templates", {}, READING),
    ],
)
def test_a_file_of_data_counts_where_it_is_read(name, config, stages):
    found = set()
    for stage in STAGES:
        if name in counting(stage_fingerprint(stage, config)):
            found.add(stage)
    assert found - {"curves", "timings"} == stages


# --- Imports


def _statements(node):
    """All that a syntax tree imports, but for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            assert not child.orelse
        elif isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        else:
            yield from _statements(child)


def _names(statement, package):
    """The dotted names of a statement."""
    if isinstance(statement, ast.Import):
        return {one.name for one in statement.names}
    place = resolve_name("." * statement.level + (statement.module or ""), package)
    return {place if one.name == "*" else f"{place}.{one.name}" for one in statement.names}


@pytest.mark.parametrize("top", ["gcexp", "gcexp_adviser", "gcexp_papers"])
def test_imports_are_what_the_syntax_tree_says(top):
    """Regular expressions find them faster, and must find the same."""
    different = {}
    for path in sorted((ROOT / top).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        package = module if is_package else module.rpartition(".")[0]
        tree = ast.parse(path.read_text())
        expected = set()
        for statement in _statements(tree):
            expected |= _names(statement, package)
        found = {name for _, name in bound_names(code_of(path), module, is_package)}
        called = set(_called(tree))
        if found - called != expected or not called <= found:
            different[module] = sorted(found ^ (expected | called))
    assert different == {}


def _called(tree):
    """Names in strings with which a tree calls for an import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = (
                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            )
            if function in ("import_module", "__import__"):
                yield node.args[0].value


# --- Names that have moved


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gcexp.benchmarking.remedies", "gcexp_adviser.benchmark.remedies"),
        ("gcexp.figures.remedies.map_of", "gcexp_adviser.maps.map_of"),
    ],
)
def test_an_earlier_name_of_a_function_ends_with_the_new_one(refused, old, new):
    refused((old, new), check_named, old, "plot.function")
    refused((old, new), declaration_of, old, {})
    check_named(new, "plot.function")
