# What the rules share: every figure file that is asked for is read and checked here, before the first job.
import atexit
import functools
import gc
import os
import sys
from dataclasses import replace
from pathlib import Path

from gcexp.command import bytecode, snakemake_inside

bytecode.mend()  # before more of our modules are read
snakemake_inside.collect_later()
snakemake_inside.one_thread()

from gcexp.command import forkserver, progress, unlock
from gcexp.errors import UserError, no_python, unknown
from gcexp.report import audit, end_message, figure_view, figurefile
from gcexp.report.figure import Look
from gcexp.run import datasets, dependencies, paths, reads
from gcexp.run.options import conf_dir, read_yaml
from gcexp.run.run import run_of_path


def stop(error):
    # After sys.exit Snakemake shows the sentence alone: no trace, no lock, exit code 2.
    print(f"gcexp: {error}", file=sys.stderr)
    sys.exit(2)


ALIVE = unlock.hold()  # where nobody else does, the lock of a Snakemake that was killed goes
ASKED = snakemake_inside.asked(workflow)
TARGETS = ASKED.targets


def warm_up(jobs):
    # Jobs of the quick preset are shorter than their imports. Elsewhere `benchmark` shall see the job itself.
    if config["preset"] == "quick":
        forkserver.start(jobs)


@functools.cache
def by_target(preset):
    return {figure.target: replace(figure, look=LOOK) for figure in figures_to_plan(preset)}


def figures_to_plan(preset):
    # A job that another Snakemake started needs the figures that it makes; all were checked before it was submitted.
    jobs = snakemake_inside.handed_jobs(workflow)
    if jobs and not any(name in ("page", "tracking") for name, _ in jobs):
        made = {wildcards["target"] for _, wildcards in jobs if "target" in wildcards}
        return [figurefile.figure(target, preset) for target in sorted(made)]
    if (asked := asked_by_name()) is not None:
        return figurefile.read_figures(asked.values(), preset)
    stems = (Path(target).stem for target in TARGETS)  # a file is named by its figure
    asked = {*TARGETS, *ASKED.mentioned, *stems}
    files = figurefile.page_files(PUBLISHED) | {
        target: path
        for target, path in figurefile.target_files().items()
        if asked & {target, figurefile.paper_of(path)}
    }
    return figurefile.read_figures(files.values(), preset)


def asked_by_name():
    # Figures and papers asked for by name are all that is read; None: everything is.
    files = figurefile.target_files()
    if not TARGETS or not {*TARGETS} <= {*files, *map(figurefile.paper_of, files.values())}:
        return None
    asked = {*TARGETS, *ASKED.mentioned}
    return {target: path for target, path in files.items() if asked & {target, figurefile.paper_of(path)}}


def missing_tables(preset):
    # Of the figures that are asked for by name, or of all where nothing is named.
    asked = asked_by_name() if TARGETS else figurefile.page_files(PUBLISHED)
    return sum(not Path(paths.TABLE.format(preset=preset, target=target)).exists() for target in asked or ())


# What `--config key=value` may set, with its defaults.
try:
    DEFAULTS = read_yaml(conf_dir() / "workflow.yaml")
    for key in config:
        if key not in DEFAULTS:
            raise UserError(unknown("--config key", key, DEFAULTS))
    config.update(DEFAULTS | config)
    LOOK = Look.of(config, "plot_")
    PUBLISHED = {"true": True, "false": False}.get(str(config["published"]).lower())
    if PUBLISHED is None:
        raise UserError(f"--config published wants true or false, got {config['published']!r}")
    REMAKE = tuple(str(config["remake"]).replace(",", " ").split())
    if ASKED.here:
        unlock.tidy()
        # While Snakemake plans, which takes one core; each figure that has no table yet is two jobs or more.
        warm_up(2 * missing_tables(config["preset"]))
    FIGURES = by_target(config["preset"])
except UserError as error:
    stop(error)
except SyntaxError as error:  # in a module of one's own
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
known = {*files, *map(figurefile.paper_of, files.values()), *figurefile.RULES}
for asked in TARGETS:
    if "/" not in asked and asked not in known and not Path(asked).exists():
        stop(unknown("target", asked, known))
if TARGETS and not {*TARGETS} & {*figurefile.RULES, paths.PAGE.format(preset=config["preset"])}:
    PART = [figure for figure in FIGURES.values() if {figure.target, figure.paper} & {*TARGETS}]


onstart:
    gc.enable()
    jobs = snakemake_inside.planned_jobs(workflow)
    progress.watch(logger, jobs)
    if snakemake_inside.start_jobs_at_once(workflow):
        warm_up(jobs)


def figure_of(wildcards):
    return by_target(wildcards.preset)[wildcards.target]


def labels_of(wildcards):
    # Snakemake's report takes {0,1} for a wildcard and knows no escape: a word joiner, which is not seen, parts them.
    return {"figure": figure_of(wildcards).file.title.replace("{", "{\u2060")}


def run_of(wildcards):
    # The path is the overrides: what a person would type for this job.
    return run_of_path(dict(wildcards.items()))


def overrides(wildcards):
    return run_of(wildcards).overrides


def tracked(wildcards, stage):
    return dependencies.tracked(stage, run_of(wildcards).config)


def prepared_files(wildcards):
    dataset = run_of(wildcards).config["task"]["dataset"]
    return [pattern.format(dataset=dataset) for pattern in (paths.DATA, paths.DATA_RECORD)]


def reads_of(pattern):
    # What its job read, as it is now: told to the job, and where it changes the job runs again.
    return lambda wildcards: reads.state(pattern.format(**wildcards), REMAKE)


def described_data(wildcards):
    # Arrays are identified by their record: Snakemake compares the content of so small a file, not its time.
    arrays, record = prepared_files(wildcards)
    return [ancient(arrays), record]


def figures_of(preset):
    return by_target(preset).values()


def index_and_lost(preset):
    # The page stands for all that is made. What was lost since is named beside it: Snakemake would not look for it.
    page = paths.PAGE.format(preset=preset)
    products = (product for figure in figures_of(preset) for product in figure.products)
    return [page, *(product for product in products if os.path.exists(page) and not os.path.exists(product))]
