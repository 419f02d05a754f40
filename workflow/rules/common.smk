# What the rules share: every figure file that is asked for is read and checked here, before the first job.
import atexit
import functools
import gc
import os
import sys
from dataclasses import replace
from pathlib import Path

from snakemake.utils import validate
from threadpoolctl import threadpool_limits

gc.disable()  # a plan leaves 5 MB of cycles; to look for them takes 1 CPU-s of 4
threadpool_limits(1)  # small systems of equations on several threads cost a plan 2 to 12 CPU-s

from gcexp.command import forkserver, progress, snakemake_inside
from gcexp.errors import UserError, no_python, unknown
from gcexp.files import bundled, remove_half_written
from gcexp.report import audit, end_message, figurefile
from gcexp.report.figure import RenderOptions
from gcexp.report.paper import papers_fingerprint
from gcexp.run import datasets, dependencies, paths, records
from gcexp.run.options import read_yaml
from gcexp.run.run import run_of_path

snakemake_inside.use_this_interpreter()
TARGETS, MENTIONED = snakemake_inside.asked(workflow)
# Figures and papers, whether they are made or imported into MLflow.
NAMED = [target.removeprefix("mlflow_") for target in TARGETS]


def stop(error):
    # After sys.exit Snakemake shows the sentence alone: no trace, no lock, exit code 2.
    print(f"gcexp: {error}", file=sys.stderr)
    sys.exit(2)


@functools.cache
def by_target(preset):
    return {figure.target: replace(figure, render=RENDER_OPTIONS) for figure in figures_to_plan(preset)}


def figures_to_plan(preset):
    # A job that another Snakemake started needs the figures that it makes; all were checked before it was submitted.
    jobs = snakemake_inside.handed_jobs(workflow)
    if jobs and not any(name in ("page", "tracking", "tracking_part") for name, _ in jobs):
        made = {wildcards["target"] for _, wildcards in jobs if "target" in wildcards}
        return [figurefile.figure(target, preset) for target in sorted(made)]
    # A figure or a paper is asked for by its name, and a file is named by its figure.
    asked = {*NAMED, *MENTIONED, *(Path(target).stem for target in TARGETS)}
    files = figurefile.target_files()
    named = {target for target, path in files.items() if target in asked or figurefile.is_asked(path, asked)}
    if not NAMED or not {*NAMED} <= {*files, *map(figurefile.paper_of, files.values())}:
        named |= {*figurefile.page_files(config["published"], studies="everything" in TARGETS)}
    return figurefile.named_figures([target for target in files if target in named], preset)


# What config/config.yaml of this folder and `--config key=value` may set, and the defaults.
if Path("config/config.yaml").is_file():

    configfile: "config/config.yaml"


try:
    DEFAULTS = read_yaml(bundled("config/config.yaml"))
    for key in config:
        if key not in DEFAULTS:
            raise UserError(unknown("--config key", key, DEFAULTS))
    config.update(DEFAULTS | config)
    for key, default in DEFAULTS.items():
        if isinstance(default, bool):  # Snakemake hands `true` over as text
            config[key] = {"true": True, "false": False}.get(str(config[key]).lower(), config[key])
    RENDER_OPTIONS = RenderOptions.of(config, "plot_")
    FIGURES = by_target(config["preset"])
    if config != DEFAULTS and snakemake_inside.is_first(workflow):  # to import jsonschema takes 0.15 CPU-s
        validate(config, "../schemas/config.schema.yaml")
except UserError as error:
    stop(error)
except WorkflowError as error:  # of `validate`
    wrong = error.__context__
    stop(f"--config {'.'.join(map(str, wrong.path))}: {wrong.message}")
except SyntaxError as error:  # in a module of a person's own
    stop(no_python(error))

PAPERS = sorted({figure.paper for figure in FIGURES.values()})
DRAWN = [figure.target for figure in FIGURES.values() if not figure.is_table]
TYPESET = [figure.target for figure in FIGURES.values() if figure.is_table]


wildcard_constraints:
    **dict.fromkeys(("scheme", "delay", "task", "optimizer", "dataset"), paths.NAME),
    preset="|".join(figurefile.PRESETS),
    target="|".join(FIGURES) or "none",
    iterations=r"\d+",
    length=r"T\d+(-h[0-9.e+-]+)?",
    seeds=r"\d+(-\d+)?",


# What nobody makes is told with the nearest name, in a sentence. (Snakemake knows the targets only later.)
PART = None  # figures that were asked for, None: everything
files = figurefile.target_files()
known = {*files, *map(figurefile.paper_of, files.values())}
known |= {f"mlflow_{name}" for name in known} | {*figurefile.RULES}
for asked in TARGETS:
    if "/" not in asked and asked not in known and not Path(asked).exists():
        stop(unknown("target", asked, known))
if TARGETS and not {*TARGETS} & {*figurefile.RULES, paths.PAGE.format(preset=config["preset"])}:
    PART = [figure for figure in FIGURES.values() if {figure.target, figure.paper} & {*NAMED}]


onstart:
    gc.enable()
    remove_half_written(*paths.WRITTEN)  # of jobs that were killed
    jobs = snakemake_inside.planned_jobs(workflow)
    progress.watch(logger, jobs)
    # Jobs of the quick preset are shorter than their imports.
    if config["preset"] == "quick" and snakemake_inside.runs_here(workflow) and forkserver.start(jobs):
        snakemake_inside.leave_benchmarks(workflow)


def figure_of(wildcards):
    return by_target(wildcards.preset)[wildcards.target]


def labels_of(wildcards):
    # Snakemake's report takes {0,1} for a wildcard and knows no escape: a word joiner, which is not seen, parts them.
    return {"figure": figure_of(wildcards).file.title.replace("{", "{\u2060")}


def run_of(wildcards):
    # The path is the overrides: what a person would type for this job.
    return run_of_path(dict(wildcards.items()))


def overrides(wildcards):
    return list(run_of(wildcards).overrides)


def fingerprint_of_run(wildcards, *stages):
    return run_of(wildcards).fingerprint(*stages)


def described_data(wildcards):
    # Arrays are identified by their record: Snakemake compares the content of so small a file, not its time.
    dataset = run_of(wildcards).dataset
    return [ancient(paths.DATA.format(dataset=dataset)), paths.DATA_RECORD.format(dataset=dataset)]


def shown_files(preset):
    # The page shows what this plan makes, and the studies that were made before.
    files = figurefile.page_files(config["published"], studies=True)
    planned = by_target(preset)
    return {
        target: path
        for target, path in files.items()
        if target in planned or figurefile.made_files(target, preset)
    }


def shown_products(preset):
    # Everything of figures in this plan; of studies that were made before what is there.
    made = (file for target in shown_files(preset) for file in figurefile.made_files(target, preset))
    planned = (product for figure in by_target(preset).values() for product in figure.products)
    return list(dict.fromkeys([*planned, *made]))


def own_figures(paper):
    # Figures and tables that stand in the paper; of a collection of studies all of them.
    mine = [figure for figure in FIGURES.values() if figure.paper == paper]
    return [figure for figure in mine if not figure.file.study] or mine


def index_and_lost(preset):
    # The page stands for all that is made. What was lost since is named beside it: Snakemake would not look for it.
    page = paths.PAGE.format(preset=preset)
    products = (product for figure in by_target(preset).values() for product in figure.products)
    lost = [product for product in products if os.path.exists(page) and not os.path.exists(product)]
    return [page, *lost, *([paths.IMPORTED.format(preset=preset)] if config["mlflow"] else [])]


def figures_of_part(part, preset):
    # A figure, or the own figures of a paper.
    return [by_target(preset)[part]] if part in by_target(preset) else own_figures(part)


def imported_part(part):
    # With `--config mlflow=true` what is made is imported too.
    with_runs = any(figure.runs for figure in figures_of_part(part, config["preset"]))
    return (
        [paths.IMPORTED_PART.format(preset=config["preset"], part=part)]
        if config["mlflow"] and with_runs
        else []
    )
