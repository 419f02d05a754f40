# What the rules share: every figure file that is asked for is read and checked here, before the first job.
import atexit
import sys
from pathlib import Path

from snakemake.utils import validate
from threadpoolctl import threadpool_limits

threadpool_limits(1)  # small systems of equations on several threads cost a plan 2 to 12 CPU-s

from gcexp.command import failure, progress, snakemake_inside
from gcexp.errors import UserError
from gcexp.files import remove_half_written
from gcexp.report import end_message, figurefile, imported
from gcexp.report.plan import table_cost
from gcexp.report.paper import papers_fingerprint
from gcexp.report.request import Request, complete_settings, default_settings
from gcexp.report.targets import target_files
from gcexp.run import costs, datasets, dependencies, paths, records
from gcexp.run.yaml_values import read_yaml
from gcexp.run.run import run_of_path

snakemake_inside.use_this_interpreter()


def stop(sentence, code=2):
    # After sys.exit Snakemake shows the sentence alone: no trace, no lock.
    print(f"gcexp: {sentence}", file=sys.stderr)
    sys.exit(code)


# What config/config.yaml of this folder and `--config key=value` may set, and the defaults.
if Path("config/config.yaml").is_file():
    try:
        read_yaml(Path("config/config.yaml"))
    except UserError as error:
        stop(error)

    configfile: "config/config.yaml"


try:
    config.update(complete_settings(config))
    targets, mentioned = snakemake_inside.names_on_command_line(workflow)
    REQUEST = Request(config, targets, mentioned, snakemake_inside.handed_jobs(workflow))
    REQUEST.check()
    FIGURES = REQUEST.figures(config["preset"])
    if config != default_settings() and snakemake_inside.is_first(workflow):
        validate(config, "../schemas/config.schema.yaml")
except UserError as error:
    stop(error)
except WorkflowError as error:  # of `validate`
    wrong = error.__context__
    stop(f"--config {'.'.join(map(str, wrong.path))}: {wrong.message}")
except Exception as error:  # in a module of a person's own, say: with the sentence and exit code of gcexp
    stop(*failure.describe_failure(error, sys.argv))

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


onstart:
    remove_half_written(*paths.WRITTEN)  # of jobs that were killed
    snakemake_inside.outlast_controller(workflow)
    progress.watch(logger, snakemake_inside.planned_jobs(workflow))


def figure_of(wildcards):
    return REQUEST.figures(wildcards.preset)[wildcards.target]


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


def asked_by_training(rule):
    # Memory and time by the same rates as `gcexp plan`.
    return snakemake_inside.asked_resources(workflow, rule, lambda w: costs.training_cost(run_of(w)))


def asked_by_table():
    # An hour at least, since analyses have no rates; the drawing and a page, ten minutes each, share its submission.
    cost_of = lambda w: table_cost(figure_of(w))
    return snakemake_inside.asked_resources(workflow, "table", cost_of, least=(2000, 60), beside=20)


def described_data(wildcards):
    # Arrays are identified by their record: Snakemake compares the content of so small a file, not its time.
    dataset = run_of(wildcards).dataset
    return [ancient(paths.DATA.format(dataset=dataset)), paths.DATA_RECORD.format(dataset=dataset)]


def fingerprint_of_page(wildcards):
    files = REQUEST.shown_files(wildcards.preset).values()
    return fingerprint_of_pages(files, REQUEST.shown_papers(wildcards.preset))


def fingerprint_of_pages(files, papers):
    # What pages say of figures and papers.
    shown = [dependencies.digest_of(read_yaml(path)) for path in files]
    return [*dependencies.stage_fingerprint("page"), *shown, *papers_fingerprint(papers)]
