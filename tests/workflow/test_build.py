"""What a build leaves behind; that a second one has the same bytes is tried in test_kills.py."""

import json
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from gcexp.run.dependencies import STAGES, stage_fingerprint

ROOT = Path(__file__).resolve().parents[2]

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


# Loaded by every job of a project: it tells which of our modules it has loaded.
LOADED = """
import atexit, json, sys

def tell():
    with open("loaded.json", "w") as told:
        json.dump([name for name in sys.modules if name.startswith("gcexp.")], told)

atexit.register(tell)
"""
RUN = "n=6 s=2 delay=pareto iterations=30 seeds=0-1"
TASK = "task=digits_mlp optimizer=gradient_descent"
#: The stages of a job, and its command.
JOBS = {
    ("prepare",): "data digits -o a.npz",
    ("timeline", "trajectory", "replay"): f"train scheme=forget {TASK} {RUN} -o d.npz --verified d.json",
    ("curves",): "table small_three -o f.csv",
    ("draw",): "plot small_three -i reports/quick/data/small_three.csv -o g.pdf",
    ("page",): "page small_three -o reports/quick/index.html",
}
#: What brings options, files and records to a stage and decides nothing of its result.
CARRYING = """
build compose contents datasets dependencies measurement module_text modules option_checks option_files
options own_checkpoint paths provenance records run scheme seeds tokens yaml_values
"""
CARRIERS = {
    *"command errors.py files.py progress.py schema.py".split(),
    *(f"run/{name}.py" for name in CARRYING.split()),
}
#: What reads and checks figure files, which count by their values; that rows decide tables is tried in test_records.py.
READERS = {
    *"report/columns.py report/entries.py report/figure.py report/figurefile.py report/jobs.py".split(),
    *"report/figurechecks.py report/paper.py report/placeholders.py report/statements.py report/targets.py".split(),
    *"run/benchmark_schemes.py run/declarations.py run/result_columns.py figures/plots.py figures/rows.py".split(),
    *"figures/stylefiles.py extras.py".split(),
}
#: A training runs modules of `gcexp.tasks` that its stamp names, on data and coefficients that count by their content.
TRAINS = {*"codes designs data schemes theory timeline seeding.py extras.py".split()}


def _folders_of(place):
    """The folders in which a module lies, as they stand in rooms."""
    return [str(folder) for folder in Path(place).parents]


def test_a_stage_loads_only_its_rooms(project, tmp_path):
    """Whatever else could change a result without making it again."""
    project.code = tmp_path / "elsewhere"
    project.code.symlink_to(ROOT)  # so that a job forgets what tests have imported
    (project / ".guard" / "sitecustomize.py").write_text(LOADED)
    trained = ["gcexp.tasks.mlp.MultilayerPerceptron", "gcexp.tasks.optimizers.GradientDescent"]
    learns = stage_fingerprint("trajectory", {"task": [{"_target_": name} for name in trained]})
    names = [line.partition("=")[0] for line in learns if line.startswith("gcexp.")]
    stamped = [name.replace(".", "/")[len("gcexp/") :] + ".py" for name in names]
    beyond = {}
    for stages, command in JOBS.items():
        code, output = project.begin("gcexp", "job", *command.split()).ended()
        assert code == 0, output
        modules = json.loads((project / "loaded.json").read_text())
        assert "gcexp.command.job" in modules
        rooms = {room for stage in stages for room in STAGES[stage].rooms} | CARRIERS
        if "trajectory" in stages:
            rooms |= TRAINS | {*stamped, "tasks/checkpoint.py"}
        if {"curves", "draw", "page"} & {*stages}:
            rooms |= READERS
        places = {name.removeprefix("gcexp.").replace(".", "/") for name in modules}
        files = {place for place in places if not (ROOT / "gcexp" / place).is_dir()}
        beyond[stages] = {name for name in files if not {name + ".py", *_folders_of(name)} & rooms}
    assert beyond == dict.fromkeys(JOBS, set())
