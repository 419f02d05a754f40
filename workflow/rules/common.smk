# What the rules share: every figure file is read and checked here, before the first job.
import os
import shlex
import sys

from gcexp.run import datasets, dependencies, provenance
from gcexp.report import figurefile
from gcexp.run.run import run_of_path
from gcexp.command import forkserver
from gcexp.errors import UserError, unknown


def stop(error):
    # After sys.exit Snakemake shows the sentence alone: no trace, no lock, exit code 2.
    print(f"gcexp: {error}", file=sys.stderr)
    sys.exit(2)


KEYS = ("preset", "data_dir", "tracking_uri")

try:
    for key in config:
        if key not in KEYS:
            raise UserError(unknown("--config key", key, KEYS))
    FIGURES = {figure.target: figure for figure in figurefile.figures(config["preset"])}
except UserError as error:
    stop(error)

PAPERS = sorted({figure.paper for figure in FIGURES.values()})


wildcard_constraints:
    **{part: r"[^/]+" for part in ("scheme", "delay", "task", "optimizer", "dataset")},
    preset="|".join(figurefile.PRESETS),
    target="|".join(FIGURES) or "none",
    iterations=r"\d+",
    length=r"T\d+(-h[0-9.e+-]+)?",
    seeds=r"\d+(-\d+)?",


onstart:
    # Jobs of the quick preset are shorter than their imports. Elsewhere `benchmark` shall see the job itself.
    if config["preset"] == "quick" and workflow.local_exec:
        forkserver.start(len(list(workflow.dag.needrun_jobs())))


def figure_of(wildcards):
    if wildcards.preset == config["preset"]:
        return FIGURES[wildcards.target]
    return figurefile.figure(wildcards.target, wildcards.preset)


def run_of(wildcards):
    # The path is the overrides: what a person would type for this job.
    return run_of_path(dict(wildcards.items()))


def overrides(wildcards):
    return " ".join(run_of(wildcards).overrides)


def tracked(wildcards, stage):
    return dependencies.tracked(stage, run_of(wildcards).config)


def prepared_files(wildcards):
    data = f"data/prepared/{run_of(wildcards).config['task']['dataset']}"
    return [f"{data}.npz", f"{data}.json"]


def prepared(trajectory):
    # Data are identified by content: files that were only touched retrain nothing, a record that changed does.
    def files(wildcards):
        arrays, record = prepared_files(wildcards)
        same = provenance.used_data(trajectory.format(**wildcards), record)
        return [ancient(arrays), ancient(record)] if same else [arrays, record]

    return files


def figures_of(preset):
    return FIGURES.values() if preset == config["preset"] else figurefile.figures(preset)


def statement_files(preset):
    papers = sorted({figure.paper for figure in figures_of(preset)})
    return [os.path.relpath(path) for path in map(figurefile.statement_file, papers) if path.is_file()]


def everything(preset):
    pages = [f"reports/{preset}/scorecard.json", f"reports/{preset}/index.html"]
    return [product for figure in figures_of(preset) for product in figure.products] + pages
