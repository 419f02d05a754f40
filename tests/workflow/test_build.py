"""What a build leaves behind; that a second one has the same bytes is tried in test_kills.py."""

import json
import re
import shutil
import subprocess
import textwrap

import pandas as pd
import pytest

from gcexp.report.figurefile import figure
from gcexp.run.closure import closure_of
from gcexp.run.contents import code_of
from gcexp.run.dependencies import stage_fingerprint
from gcexp.run.imports import imported_names
from gcexp.run.modules import library_modules
from gcexp.run.run import Run
from tests.closures import counted, counting, data_among
from tests.conftest import ROOT, Project

pytestmark = pytest.mark.workflow


def test_products(built):
    made = {name.removeprefix("reports/quick/"): path for name, path in built.files("reports").items()}
    assert {"data/small_three.csv", "index.html", "small.html"} <= {*made}
    assert all(path.stat().st_size > 0 for path in made.values())
    assert made["figures/small_three.pdf"].read_bytes().startswith(b"%PDF")
    assert made["figures/small_three.png"].read_bytes().startswith(b"\x89PNG")
    page = made["small.html"].read_text()
    assert "Three runs" in page and "small_three.png" in page
    table = pd.read_csv(made["data/small_three.csv"])  # has every run, seed and iteration
    assert len(table) == 3 * 2 * 31 and "Forget-2" in {*table["label"]}
    trained = [path for path in built.files("results/trajectory") if path.endswith(".npz")]
    assert sum("/exact/" in path for path in trained) == 1 and not any("cgc" in path for path in trained)
    assert {n: p.read_text() for n, p in built.files("logs").items() if p.stat().st_size} == {}
    assert built.planned() == {}


def test_the_terminal_ends_with_what_was_made(built):
    said = (built / "done").read_text()
    jobs = re.findall(r"^\[ *(\d+)/(\d+)\] \d+:\d\d left  \S", said, re.M)
    assert jobs and [int(done) for done, _ in jobs] == list(range(1, int(jobs[0][1]) + 1))
    assert "reports/quick/index.html" in "".join(said.rstrip().splitlines()[-6:])


def test_snakemake_reports_a_title_with_braces(project):
    project.edit(project.figure, "title: Three runs", 'title: "Three runs of {0,1}"')
    code, output = project.snakemake("--report", "report.html")
    assert code == 0, output
    assert "Three runs of {\\u20600,1}" in (project / "report.html").read_text()


def test_nothing_is_left_lying_about(built):
    everywhere = built.files("results", "reports", "data", "logs", ".cache")
    assert not [path for path in everywhere if path.rpartition("/")[2].startswith(".")]  # temporary names
    known = "Snakefile workflow profiles conf config small Makefile requirements.lock pyproject.toml".split()
    made = (".snakemake", ".cache", "results", "reports", "data", "logs")
    assert {p.name for p in built.folder.iterdir()} <= {*known, *made, ".git", ".gitignore", ".guard", "done"}
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=built.folder, capture_output=True, text=True
    )
    assert status.stdout == "", "a rule wrote a file that git would commit"


def test_provenance_stands_beside_every_result(built):
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=built.folder, capture_output=True, text=True)
    made = built.files("results/trajectory")
    results = [p for n, p in made.items() if n.endswith((".npz", ".json")) and "provenance" not in n]
    assert len(results) == 3 + 2
    prepared = json.loads((built / "data/prepared/digits.json").read_text())
    for path in [*results, built / "reports/quick/data/small_three.csv"]:
        record = json.loads(path.with_name(f"{path.stem}.provenance.json").read_text())
        assert record["config"], path
        assert set(record["versions"]) >= {"gcexp", "numpy", "scipy", "torch"}
        assert record["commit"] == head.stdout.strip() and record["dirty"] is False
        assert record["command"].startswith("gcexp ") and record["wall_s"] >= 0 and record["cpu_s"] >= 0
        assert record["peak_memory_mib"] > 10
        if path.suffix == ".npz":
            assert record["data"]["sha256"] == prepared["sha256"]
            assert record["config"]["task"]["dataset"] == "digits"


def test_every_run_was_replayed(built):
    """An approximate training by its job, an exact scheme by the table, whose provenance says what was found."""
    found = [json.loads(p.read_text()) for n, p in built.files("results").items() if "verified.json" in n]
    assert len(found) == 2 and all(one["passed"] for one in found)
    table = json.loads((built / "reports/quick/data/small_three.provenance.json").read_text())
    assert len(table["replays"]) == 3
    for seeds in table["replays"].values():
        assert set(seeds) == {"0", "1"} and all(one["decoded_error"] < 1e-6 for one in seeds.values())


RUN = "n=6 s=2 delay=pareto iterations=30 seeds=0-1"
TASK = "task=digits_mlp optimizer=gradient_descent"
TRAIN = f"scheme=forget {TASK} {RUN}"
FIGURES = {
    "three": None,
    "clocks": """
        title: Clocks
        source: none
        kind: timings
        common: {n: 6, s: 2, iterations: 30, seeds: 2}
        runs:
          - {label: CGC, scheme: cgc, delay: pareto}
          - {label: replayed, scheme: uncoded, delay: pai_job1}
        plot: {kind: table, columns: [label, mean_iteration_time_s]}
        """,
    "own": """
        title: An own function
        source: none
        kind: analysis
        analysis: {function: .own.loads, n: 6}
        plot: {kind: table, columns: [name, load]}
        """,
    "played": """
        title: A benchmark
        source: none
        kind: analysis
        analysis:
          function: gcexp_adviser.benchmark.remedies
          traces: [{file: pai-job1, name: PAI 1}]
          phi: [0.5]
          schemes: [uncoded, "FRC, d = 2"]
        plot: {kind: table}
        """,
}
OWN = """
from gcexp.analysis.declared import columns

@columns("name", "load")
def loads(n):
    from small.helper import codes
    for code in codes(n):
        yield type(code).__name__, float(code.load.mean())
"""
HELPER = """
def codes(n):
    from gcexp.codes import CyclicRepetition as Cyclic, Uncoded
    return Uncoded(n=n), Cyclic(n=n, s=1)
"""
#: A job of each stage by its command; the stages of one without a figure.
JOBS = {
    "data digits -o a.npz": ("prepare",),
    f"train {TRAIN} -o d.npz --verified d.json": ("timeline", "trajectory", "replay"),
    "table small_three -o f.csv": (),
    "table small_clocks -o c.csv": (),
    "table small_own -o o.csv": (),
    "table small_played -o p.csv": (),
    "plot small_three -i f.csv -o g.pdf": (),
    "plot small_clocks -i c.csv -o g.md g.tex": (),
    "page small_three -o reports/quick/index.html": ("page",),
    "track small_three -o imported.json": ("tracking",),
}


def _what_counts(command, stages):
    """The modules and files that a job's fingerprint names."""
    lines = []
    if command.startswith("train"):
        lines = Run.of(TRAIN.split(), checked=False).fingerprint(*stages)
    elif stages:
        (stage,) = stages
        lines = stage_fingerprint(stage)
        if stage == "tracking":  # it checks the runs of its figure
            lines += figure("small_three", "quick").table_fingerprint
    else:
        verb, target, *_ = command.split()
        one = figure(target, "quick")
        lines = one.table_fingerprint if verb == "table" else one.drawing_fingerprint
    return counting(lines)


def _called_by_commands():
    """The modules to which `gcexp job` leads, and those of commands."""
    code = code_of(library_modules()["gcexp.command.job"])
    names = set()
    for name in imported_names(code, "gcexp.command.job", is_package=False):
        if name.startswith("gcexp.") and not name.startswith("gcexp.command."):
            names.add(name)
    commands = [name for name in library_modules() if name.startswith("gcexp.command.")]
    return closure_of(frozenset(names), frozenset()).modules.union(commands)


def test_what_a_job_loads_and_opens_lies_in_its_closure(project, tmp_path, monkeypatch, forget):
    """Whatever else could change a result without making it again.

    The command calls what computes, and what it imports beside that reads options and figure files, which count by
    their values. What only a name in them leads to, such as the class of a code, computes. That entries need no more
    than their closure is tried without a command (`tests/unit/test_closure.py`). Jobs are forks of a process that has
    what they import of others; they find the library in another place, so that they import all of it themselves.
    """
    for name, text in FIGURES.items():
        if text is not None:
            (project / f"small/figures/{name}.yaml").write_text(textwrap.dedent(text))
    (project / "small/own.py").write_text(OWN)
    (project / "small/helper.py").write_text(HELPER)
    shutil.copy(ROOT / "tests/loaded.py", project / ".guard" / "sitecustomize.py")
    monkeypatch.chdir(project.folder)
    monkeypatch.syspath_prepend(project.folder)
    (tmp_path / "library").symlink_to(ROOT)
    working = Project(project.folder, tmp_path / "library")
    calling = _called_by_commands()
    beyond = {}
    for command, stages in JOBS.items():
        code, output = working.begin("gcexp", "job", *command.split()).ended()
        assert code == 0, output
        loaded, opened = json.loads((project / "told.json").read_text())
        assert "gcexp.command.job" in loaded
        counts = _what_counts(command, stages)
        beyond[command] = [name for name in loaded if not (name in calling or counted(name, counts))]
        beyond[command] += [name for name in data_among(opened) if not name.startswith(tuple(counts))]
    assert beyond == dict.fromkeys(JOBS, [])
