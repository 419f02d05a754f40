"""Dry runs: what the real figure files plan, and what an edit repeats."""

import os
import re
import shutil
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest
import yaml

from gcexp.command import snakemake_inside
from gcexp.report.targets import paper_of
from tests.conftest import write_files

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).resolve().parents[2]


# --- The real figure files


def test_every_target_can_be_planned(real):
    files = sorted((real / "gcexp_papers").glob("*/figures/*.yaml"))
    targets = [*map(target_of, files)]
    papers = sorted(set(map(paper_of, files)))
    jobs = real.planned(*targets, *papers, "all", "quick")
    assert jobs["draw"] + jobs.get("typeset", 0) >= len(targets)
    assert jobs["all"] == jobs["quick"] == 1
    assert all(jobs[name] == 1 for name in [*targets, *papers])


def test_a_target_of_each_kind_can_be_planned_as_published(real):
    """Rules know the kind of a figure, not the figure; unit tests read every file under both presets."""
    files = sorted((real / "gcexp_papers").glob("*/figures/*.yaml"))
    of_kind = {yaml.safe_load(path.read_text())["kind"]: target_of(path) for path in files}
    jobs = real.planned(*of_kind.values(), "--config", "preset=paper")
    assert jobs["table"] == len(of_kind)
    assert all(jobs[name] == 1 for name in of_kind.values())


def target_of(path):
    return f"{paper_of(path)}_{path.stem}"


def test_a_target_asked_for_by_name_reads_its_own_file_alone(fresh):
    other = fresh / "small/figures/other.yaml"
    other.write_text((fresh / fresh.figure).read_text().replace("scheme: cgc}", "scheme: cyclc}"))
    assert fresh.planned("small_three", "-R", "table")["draw"] == 1
    for asked in ("", "small_three -R small_other", "small_three all"):
        code, output = fresh.snakemake("-n", *asked.split())
        assert code == 2 and "small/figures/other.yaml: unknown scheme 'cyclc'" in output, asked


def test_the_runs_behind_a_figure_a_paper_and_all_are_imported_by_name(project):
    parts = {"mlflow_small_three": 1, "mlflow_small": 1, "tracking_part": 2}
    assert project.planned("mlflow_small_three", "mlflow_small") == parts
    assert project.planned("mlflow") == {"mlflow": 1, "tracking": 1}
    logged = {"small_three": 1, "figure_page": 1, "tracking_part": 1, "all": 1, "tracking": 1}
    assert project.planned("small_three", "all", "--config", "mlflow=true") == logged
    code, output = project.snakemake("-n", "mlflow_small_tree")
    assert code == 2 and "'mlflow_small_three'" in output


def test_a_cluster_resumes_and_repeats_as_a_desk_does(fresh):
    """A profile is read in place of the default one, not beside it."""
    read = lambda path: yaml.safe_load((fresh / "profiles" / path).read_text())  # noqa: E731
    desk, planned = read("default/config.v9+.yaml"), fresh.planned()
    for profile in ("slurm", "cluster_generic"):
        keys = ("rerun-incomplete", "show-failed-logs", "rerun-triggers")
        own = read(f"{profile}/config.yaml")
        assert {key: own[key] for key in keys} == {key: desk[key] for key in keys}
        assert fresh.planned("--workflow-profile", f"profiles/{profile}") == planned


def test_lint_has_no_advice(fresh):
    code, output = fresh.snakemake("--lint")
    assert code == 0 and "your workflow is in a good condition" in output, output


def test_every_rule_has_log_message_and_resources():
    text = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    _, *rules = re.split(r"^(?:rule|use rule \w+ as) (\w+)(?: with)?:", text, flags=re.M)
    bodies = dict(zip(rules[::2], rules[1::2], strict=True))
    for name in ("data", "train", "train_exact", "table", "draw", "page"):
        given = {*re.findall(r"^    (\w+):", bodies[name], re.M)}
        assert given >= {"log", "message", "resources"}, name


def test_a_failure_shows_the_command_that_repeats_it(fresh):
    code, output = fresh.snakemake("-j1", "data/prepared/mnist.npz", "--config", "data_dir=/their data")
    assert code != 0
    assert "failed: preparing mnist" in output and "is not in the local folder given by data_dir" in output
    assert "repeat it: gcexp job data mnist --data-dir '/their data' -o data/prepared/mnist.npz" in output


def test_a_name_is_never_a_command(fresh):
    clock = "results/trajectory/digits_mlp/gradient_descent/cgc/pareto;touch X/T3/seeds0.npz"
    for target in ("data/prepared/$(touch X).npz", clock):
        code, output = fresh.snakemake("-j1", target)
        assert code != 0 and not list(fresh.folder.rglob("X")), output


def test_a_target_that_nobody_makes_is_one_sentence(fresh):
    code, output = fresh.snakemake("-j1", "small_thre")
    assert code == 2 and "'small_thre'" in output and "'small_three'" in output, output
    assert "Traceback" not in output and "Exception" not in output


# --- What an edit repeats


FIGURE = "small/figures/three.yaml"
DRAWN = {"draw": 1, "page": 1, "all": 1}
REPORT = {"table": 1} | DRAWN


def remarks(project):
    """Comments, times, messages and spellings of a command decide nothing."""
    options = (project / "conf").rglob("*.yaml")
    for path in [*options, project / FIGURE, project / "conf/style/paper.mplstyle"]:
        lines = path.read_text().splitlines(keepends=True)
        at = 1 if "@package" in lines[0] else 0
        path.write_text("".join([*lines[:at], "# a remark\n", *lines[at:]]))
    rules = project / "workflow/rules/train.smk"
    text = rules.read_text().replace("training {wildcards.task}, exact", "exact training of {wildcards.task}")
    rules.write_text(text.replace(" gcexp job ", " gcexp  job "))  # params, inputs and times count
    for path in project.files("data", "workflow", "profiles").values():
        os.utime(path)
    os.utime(project / "Snakefile")


def edit(path, old, new):
    return lambda project: project.edit(path, old, new)


def add(run):
    return edit(FIGURE, "plot:", f"  - {run}\nplot:")


PAGE = {"page": 1, "all": 1}
STYLE, PARETO = "conf/style/paper.mplstyle", "conf/delay/pareto.yaml"
PARTIAL, REPETITION = "conf/code/cyclic_partial_recovery.yaml", "conf/code/cyclic_repetition.yaml"
EDITS = {
    "remarks and times": (remarks, {}),
    "plot": (edit(FIGURE, "kind: lines", "kind: lines, xlim: [0, 1]"), DRAWN),
    "style": (edit(STYLE, "lines.linewidth", "axes.titlesize: 7\nlines.linewidth"), DRAWN),
    "source": (edit(FIGURE, "source: Fig. 1", "source: Fig. 2"), PAGE),
    "what it shows": (edit(FIGURE, "source: Fig. 1", "source: Fig. 1\nshows: Three lines."), PAGE),
    "label": (edit(FIGURE, '"cyclic, β', '"arcs, β'), REPORT),
    "default of an approximate scheme": (edit(PARTIAL, ": max_disjoint", ": exact"), {"train": 1} | REPORT),
    "default of an exact scheme": (edit(REPETITION, "seed: 0", "seed: 1"), REPORT),
    "a paper on the page": (edit("small/paper.yaml", "title: A paper", "title: The paper"), PAGE),
    "new exact scheme": (add("{label: naive, scheme: uncoded}"), REPORT),
    "new approximate scheme": (add("{label: more, scheme: forget, s: 3}"), {"train": 1} | REPORT),
    "value of the task": (
        edit("conf/task/digits_mlp.yaml", "hidden: 25", "hidden: 20"),
        {"train_exact": 1, "train": 2} | REPORT,
    ),
    "default of the delay model": (edit(PARETO, "shape: 1.2", "shape: 1.3"), {"train": 2} | REPORT),
    "a lost drawing": (lambda p: (p / "reports/quick/figures/small_three.pdf").unlink(), DRAWN),
    "a lost table": (lambda p: (p / "reports/quick/data/small_three.csv").unlink(), REPORT),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_repeats_what_depends_on_it(project, name):
    change, expected = EDITS[name]
    change(project)
    assert project.planned() == expected


def test_an_edit_of_the_code_reaches_the_published_bytes(project):
    """An expression of the table's code remakes the table alone; a text in a code remakes the runs that use the code.

    Of that nothing is trained again: the checkpoint belongs to the same coefficients.
    """

    def learned():
        states = project.files("results/checkpoints/results")
        return {name: path.stat().st_mtime_ns for name, path in states.items() if name.endswith(".npz")}

    shutil.copytree(project.code / "gcexp", project / "gcexp")  # it uses a package of its own
    project.code = project.folder
    table = project / "reports/quick/data/small_three.csv"
    before, trained = pd.read_csv(table), learned()
    expression = '"simulated_time_s": time_after[s, iteration]'
    project.edit(
        "gcexp/run/result_columns.py", expression, expression.replace("time_after", "2 * time_after")
    )
    project.edit("gcexp/codes/block_design.py", 'limit = "n k', 'limit = "nearly n k')  # of no run here
    project.edit("gcexp/codes/partial_recovery.py", '"disjoint arcs, earl', '"free arcs, earl')
    assert project.build("-j2", "reports/quick/data/small_three.csv") == {"train": 1, "table": 1}
    before["simulated_time_s"] *= 2
    pd.testing.assert_frame_equal(pd.read_csv(table), before, rtol=1e-8)  # of nine digits
    assert learned() == trained and len(trained) == 3


def test_snakemakes_inside_is_asked_in_one_module_and_was_tried_with_this_version():
    found = version("snakemake")
    assert found.startswith(f"{snakemake_inside.TRIED}."), f"run tests/workflow with {found}, then set TRIED"
    rules = "".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    assert not re.search(r"workflow\.(?!yaml)\w|snakemake\.cli", rules)


ANALYSIS = """\
title: A table of {name}
source: mine
kind: analysis
analysis: {{function: .{name}.table}}
plot: {{kind: table}}
"""


def write_analysis(project, name, more=""):
    """A figure that is the table which a function of the paper returns."""
    function = "import pandas as pd\n\n\ndef table():\n    return pd.DataFrame({'x': [1]})\n"
    files = {f"small/figures/{name}.yaml": ANALYSIS.format(name=name) + more, f"small/{name}.py": function}
    write_files(project.folder, files)


def test_studies_are_made_when_they_are_asked_for(project):
    """Plain snakemake makes what stands in a paper, `everything` more; each figure and paper stays a target."""
    write_analysis(project, "ours", "study: true\n")
    assert project.planned("all", "small") == {}
    mine = {"table": 1, "typeset": 1}
    assert project.planned("small_ours") == mine | {"figure_page": 1, "small_ours": 1}
    assert project.build("-j1", "everything") == mine | {"page": 1, "everything": 1}
    assert "A table of ours" in (project / "reports/quick/small.html").read_text()
    assert project.planned("all", "everything") == {}
    project.edit("small/paper.yaml", "title: A paper", "title: A paper\nstudy: true")
    assert "table" not in project.planned("small")  # of a collection of studies all are its own


def test_an_edit_for_one_target_does_not_remake_another(project):
    """However they were planned together: each job writes down what it read itself."""
    for name in "ab":
        write_analysis(project, name)
    assert project.build("-j1", "small_a", "small_b")
    project.edit("small/b.py", "[1]", "[2]")
    planned = project.planned("small_a", "small_b")
    assert (planned["table"], planned["typeset"]) == (1, 1), planned
    assert project.planned("small_a") == {}


def test_snakemake_needs_no_activated_environment(fresh):
    """Jobs start with the interpreter that plans, never with whatever gcexp is on the path."""
    other = fresh / ".guard" / "gcexp"
    other.write_text("#!/bin/sh\nexit 7\n")
    other.chmod(0o755)
    fresh.variables |= {"PATH": f"{other.parent}:/usr/bin:/bin"}
    assert fresh.build("-j1", "data/prepared/digits.npz")
