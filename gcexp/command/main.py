"""The ``gcexp`` command: what a person types, and what every rule calls."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: parallelism comes from jobs

import argparse
import json
import shlex
import sys
import tempfile
import time
import traceback
from dataclasses import replace
from functools import cache
from pathlib import Path

from gcexp import __version__
from gcexp.errors import Defect, UserError, lacking, no_python
from gcexp.files import refuse_special


def main(argv: list[str] | None = None) -> int:
    """Run a command: exit code 0, 2 after one sentence for a user's mistake, 1 for a defect of ours, 130 after Ctrl-C.

    The trace of a defect is kept in logs/; ``--debug`` shows every trace, that of a user's mistake too.
    """
    given = sys.argv[1:] if argv is None else argv
    if Path("conf/workflow.yaml").is_file() and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a project of one's own: its package lies beside its conf/
    try:
        arguments = parser().parse_args(given)
        _check_outputs(arguments)
        return arguments.do(arguments) or 0
    except KeyboardInterrupt:
        print("gcexp: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if "--debug" in given:
            traceback.print_exc()
        if isinstance(error, UserError):
            print(f"gcexp: {error}", file=sys.stderr)
            return 2
        if isinstance(error, SyntaxError) and not _ours(error.filename):
            print(f"gcexp: {no_python(error)}", file=sys.stderr)
            return 2
        if sentence := lacking(error):
            print(f"gcexp: {sentence}", file=sys.stderr)
            return 2
        if isinstance(error, MemoryError):
            print(f"gcexp: the run does not fit into memory ({error or 'nothing left'})", file=sys.stderr)
            return 2
        sentence = " ".join(str(error).split()) or type(error).__name__
        if not isinstance(error, Defect):
            sentence = f"{type(error).__name__}: {sentence}"
        print(
            f"gcexp: {sentence} (a defect of gcexp, not of what you gave: please report it with "
            f"{_kept_trace(given)})",
            file=sys.stderr,
        )
        return 1
    return 0


def _ours(file: str | None) -> bool:
    """Whether a module is the package's own, and its fault ours."""
    return file is None or Path(__file__).resolve().parents[1] in Path(file).resolve().parents


def _kept_trace(given: list[str]) -> str:
    """Where the trace of the exception being handled, and the command, were written."""
    text = f"{shlex.join(['gcexp', *given])}\ngcexp {__version__}, Python {sys.version}\n\n{traceback.format_exc()}"
    name = f"defect-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (Path("logs"), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        except OSError:
            continue
        return str(folder / name)
    traceback.print_exc()
    return "the trace above"


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse a place where no file can stand before any work."""
    named = [*(_listed(getattr(arguments, "output", None))), *(_listed(getattr(arguments, "verified", None)))]
    for path in named:
        if arguments.do is not do_run:
            refuse_special(path)
        elif path.exists() and not path.is_dir():
            raise UserError(f"{path}: the results of a run need a folder, and this is none")


def _listed(value) -> list:
    return value if isinstance(value, list) else [] if value is None else [value]


@cache
def parser() -> argparse.ArgumentParser:
    """All commands with their help."""
    top = argparse.ArgumentParser(
        prog="gcexp", description="Gradient coding experiments on one simulated clock."
    )
    top.add_argument("--version", action="version", version=f"gcexp {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, do, text: str, overrides: bool = False) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(do=do)
        added.add_argument("--debug", action="store_true", help="show the trace of every error")
        if overrides:
            added.add_argument(
                "overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides: scheme=cgc n=30"
            )
        return added

    listing = command("list", do_list, "names of everything that has one, each with a phrase")
    listing.add_argument(
        "kind",
        nargs="?",
        help="only codes, schemes, waits, placements, delays, tasks, optimizers, datasets, papers or targets",
    )
    show = command(
        "show", do_show, "what a scheme or code is: loads, messages, guarantee, small matrices", True
    )
    show.add_argument("--json", action="store_true", help="machine-readable")
    compare = command("compare", do_compare, "the schemes of a figure, the fastest first, from its table")
    compare.add_argument("target", help="such as partial_recovery_fig4_fixed_s")
    compare.add_argument("--preset", default="quick", help="quick or paper (default: quick)")
    compare.add_argument(
        "--level", type=float, help="score whose first passage counts (default: the figure's)"
    )
    compare.add_argument(
        "--format", choices=("text", "csv", "markdown"), default="text", help="(default: text)"
    )
    verified = command(
        "verify", do_verify, "compare fresh tables with the published ones; exit code 1 if one differs"
    )
    verified.add_argument(
        "targets", nargs="*", metavar="TARGET", help="figures (default: all that were made)"
    )
    verified.add_argument("--preset", help="quick or paper (default: both)")
    planned = command(
        "plan", do_plan, "jobs, CPU hours, memory and disk of what is still to be made: preset=paper [TARGET]"
    )
    planned.add_argument(
        "targets", nargs="*", metavar="TARGET", help="preset=quick or paper, figures, papers"
    )
    error = command(
        "error",
        do_error,
        "error of a code at worst, at random or for given stragglers: code=frc s=0..8 kind=worst",
        True,
    )
    error.add_argument("--json", action="store_true", help="machine-readable")
    theory = command(
        "theory",
        do_theory,
        "a closed form of the literature; NAME alone explains it; without NAME, or for a module, lists what there is",
    )
    theory.add_argument("name", nargs="?", metavar="NAME", help="such as partial_recovery.lower_bound")
    theory.add_argument(
        "arguments", nargs="*", metavar="KEY=VALUE", help="n=15 alpha=2/3 lengths=[3,4] shape=inf"
    )
    theory.add_argument("--json", action="store_true", help="machine-readable")
    init = command("init", do_init, "a folder for a project of your own: options, figures, code, Snakefile")
    init.add_argument("name", help="of the folder and of its package, such as mypaper")
    trace = command("trace", do_trace, "check a CSV of workers' times for delay=trace, and say what it holds")
    trace.add_argument("what", choices=["check"])
    trace.add_argument("file", metavar="FILE", help="CSV with the columns iteration, worker, time")
    catalogue = command("catalogue", do_catalogue, "the table of all codes (docs/codes.md)")
    catalogue.add_argument("-o", "--output", type=Path, help="file to write (default: standard output)")
    catalogue.add_argument(
        "--accuracy",
        action="store_true",
        help="measure how exactly the codes that solve equations decode (docs/codes-accuracy.md), in a minute",
    )
    schema = command(
        "schema", do_schema, "JSON Schema of the figure file, for editors (docs/figure.schema.json)"
    )
    schema.add_argument("kind", choices=("figure",))
    schema.add_argument("-o", "--output", type=Path, help="file to write (default: standard output)")
    run = command(
        "run", do_run, "one run without Snakemake: timeline, training, verification, summary, plot", True
    )
    run.add_argument(
        "-o", "--output", type=Path, help="folder for the results (default: results/run/<run id>)"
    )
    run.add_argument(
        "-m", "--multirun", action="store_true", help="every combination of scheme=cgc,frc s=2,5; one table"
    )
    run.add_argument("-j", "--jobs", type=int, default=1, help="with -m: processes side by side (default: 1)")
    run.add_argument(
        "--level", type=float, help="score whose first passage is told (default: halfway to a perfect one)"
    )
    simulated = command("simulate", do_simulate, "the clock of one scheme as a table, without training", True)
    simulated.add_argument(
        "--rows",
        default="seeds",
        help="seeds, running or iterations: one row for each (default: seeds)",
    )
    for added in (run, simulated):
        added.add_argument(
            "--format",
            choices=("text", "csv", "markdown"),
            default="text",
            help="of the table (default: text)",
        )

    data = command("data", do_data, "prepare a data set (a rule calls this)")
    data.add_argument("dataset")
    data.add_argument("--data-dir", help="folder with the raw files (default: $GCEXP_DATA, else download)")
    timeline = command("timeline", do_timeline, "simulate the clock of one scheme (a rule calls this)", True)
    train = command(
        "train", do_train, "train with a timeline's coefficients, or exactly (a rule calls this)", True
    )
    train.add_argument("--timeline", type=Path, help="coefficients; without it every coefficient is 1")
    train.add_argument(
        "--verified", type=Path, help="replay as well, and write what it finds here (with --timeline)"
    )
    replay = command(
        "replay", do_replay, "replay encode, drop, decode on saved parameters (a rule calls this)", True
    )
    replay.add_argument("--timeline", type=Path, required=True)
    replay.add_argument("--trajectory", type=Path, required=True)
    for added in (data, timeline, train, replay):
        added.add_argument("-o", "--output", type=Path, required=True)

    table = command("table", do_table, "make a figure's table (a rule calls this)")
    plot = command("plot", do_plot, "draw a figure from its table (a rule calls this)")
    plot.add_argument("--claims", type=Path, help="check the figure's claims as well, and write them here")
    plot.add_argument("--no-title", action="store_true", help="for a paper, where the caption says it")
    claims = command("claims", do_claims, "check a figure's claims against its table")
    for added in (table, plot, claims):
        added.add_argument("target")
    scorecard = command("scorecard", do_scorecard, "collect checked claims (a rule calls this)")
    page = command("page", do_page, "write the static report page (a rule calls this)")
    track = command("track", do_track, "import finished runs into MLflow (a rule calls this)")
    track.add_argument(
        "--uri", help="tracking URI (default: $MLFLOW_TRACKING_URI, else results/mlflow/mlflow.db)"
    )
    for added in (table, plot, claims, page, track):
        added.add_argument("--preset", default="quick", help="quick or paper (default: quick)")
    for added, count in ((plot, None), (claims, None), (scorecard, "+"), (page, None)):
        added.add_argument("-i", "--input", type=Path, nargs=count, required=True)
    for added, count in (
        (table, None),
        (plot, "+"),
        (claims, None),
        (scorecard, "+"),
        (page, None),
        (track, None),
    ):
        added.add_argument("-o", "--output", type=Path, nargs=count, required=True)
    command("publish", do_publish, "copy reports/paper to reports/published, to be committed")
    return top


def do_list(arguments) -> None:
    """Print names, each with a phrase."""
    from gcexp.command.catalogue import LISTED, listed

    if arguments.kind:
        _paged("\n".join(_columns(listed(arguments.kind), "")), cut=True)
    else:
        lines = (line for kind in LISTED for line in (f"{kind}:", *_columns(listed(kind), "  ")))
        _paged("\n".join(lines), cut=True)


def _columns(found: dict[str, str], indent: str) -> list[str]:
    width = max(map(len, found), default=0)
    return [f"{indent}{name:{width}}  {phrase}".rstrip() for name, phrase in found.items()]


def do_show(arguments) -> None:
    """Describe a scheme."""
    from gcexp.command.show import as_text, description
    from gcexp.run.compose import compose

    found = description(compose(arguments.overrides))
    print(json.dumps(found, indent=1) if arguments.json else as_text(found))


def do_compare(arguments) -> None:
    """Compare the schemes of a figure."""
    from gcexp.figures.tables import read_table
    from gcexp.report.comparison import as_text, comparison, refuse_without_runs, told_apart
    from gcexp.report.figurefile import figure
    from gcexp.report.published import table_of

    shown = figure(arguments.target, arguments.preset)
    refuse_without_runs(shown)
    found = comparison(shown, read_table(table_of(shown)), arguments.level)
    print(as_text(told_apart(found, shown), arguments.format), end="")


def do_verify(arguments) -> int:
    """Compare fresh tables with the published ones."""
    from gcexp.report.agreement import DIFFERS, as_text, verify

    found = verify(arguments.targets, arguments.preset)
    print(as_text(found))
    return int(any(one.outcome == DIFFERS for one in found))


def do_plan(arguments) -> None:
    """Preview the cost of a preset."""
    from gcexp.report.plan import as_text, plan
    from gcexp.run.options import read_value

    presets = [text for text in arguments.targets if text.startswith("preset=")]
    other = [text for text in arguments.targets if "=" in text and text not in presets[:1]]
    if other:
        raise UserError(f"one preset=NAME and names of targets are taken, got {other[0]}")
    preset = str(read_value(presets[0])) if presets else "quick"
    print(as_text(plan(preset, [text for text in arguments.targets if text not in presets]), preset))


def do_error(arguments) -> None:
    """Errors of a code."""
    from gcexp.command.error import as_text, errors

    found = errors(arguments.overrides)
    print(json.dumps(found, indent=1) if arguments.json else as_text(found))


def do_init(arguments) -> None:
    """Make a project."""
    from gcexp.command.init import init

    print(init(arguments.name))


def do_catalogue(arguments) -> None:
    """Print or write the table of all codes, or of what was measured on those that solve equations."""
    from gcexp.command.catalogue import accuracy, document
    from gcexp.files import written

    page = accuracy() if arguments.accuracy else document()
    if arguments.output is None:
        print(page, end="")
    else:
        with written(arguments.output) as temporary:
            temporary.write_text(page)


def do_schema(arguments) -> None:
    """Print or write the schema of figure files."""
    from gcexp.files import written
    from gcexp.report.figureschema import document

    if arguments.output is None:
        print(document(), end="")
    else:
        with written(arguments.output) as temporary:
            temporary.write_text(document())


def do_theory(arguments) -> None:
    """Evaluate a closed form."""
    from gcexp.command import theory

    name = arguments.name
    if not arguments.arguments and (found := theory.listing(name)):
        _paged(
            json.dumps(found, indent=1) if arguments.json else theory.as_lines(found), cut=not arguments.json
        )
    elif not arguments.arguments and theory.needs_arguments(name):
        _paged(theory.explained(name))
    else:
        found = theory.evaluate(name, arguments.arguments)
        print(json.dumps(theory.plain(found)) if arguments.json else theory.as_text(found))


def do_trace(arguments) -> None:
    """What a trace holds, or its first fault."""
    from gcexp.delays.trace_file import report

    print(report(arguments.file))


def _paged(text: str, cut: bool = False) -> None:
    """Print, through the pager where it is longer than the terminal; `cut` its lines to the terminal's width."""
    import pydoc
    import shutil

    if sys.stdout is None or not sys.stdout.isatty():  # it may be closed
        print(text)
        return
    width, height = shutil.get_terminal_size()
    if cut:
        short = (line if len(line) <= width else line[: width - 3] + "..." for line in text.splitlines())
        text = "\n".join(short)
    if text.count("\n") >= height:
        pydoc.pager(text)
    else:
        print(text)


def do_simulate(arguments) -> None:
    """Print a clock."""
    from gcexp.command.multirun import simulated

    print(simulated(arguments.overrides, arguments.rows, arguments.format), end="")


def do_run(arguments) -> None:
    """One run, start to end, or every combination of several."""
    if arguments.multirun:
        if arguments.level is not None:
            raise UserError(f"--level is of one run, not of a table with -m; got {arguments.level:g}")
        from gcexp.command.multirun import multirun

        print(multirun(arguments.overrides, arguments.jobs, arguments.format), end="")
        return
    from gcexp.command.single_run import run

    run(arguments.overrides, arguments.output, arguments.level)


def do_data(arguments) -> None:
    """Prepare a data set."""
    from gcexp.data import prepare
    from gcexp.run.datasets import source_of

    prepare(source_of(arguments.dataset), arguments.output, arguments.data_dir or None)


def do_timeline(arguments) -> None:
    """Simulate."""
    from gcexp.run.compose import compose
    from gcexp.run.stages import run_timeline

    run_timeline(compose(arguments.overrides), arguments.output)


def do_train(arguments) -> None:
    """Train."""
    from gcexp.run.compose import compose
    from gcexp.run.stages import run_training, run_verification

    if arguments.verified and not arguments.timeline:
        raise UserError("--verified replays a timeline, so it needs --timeline; got none")
    if arguments.verified == arguments.output:
        raise UserError(f"--verified and --output are both {arguments.output}; give two files")
    config = compose(arguments.overrides)
    run_training(config, arguments.output, arguments.timeline)
    if arguments.verified:  # in the same job: most of a short one is the import of torch
        run_verification(config, arguments.timeline, arguments.output, arguments.verified)


def do_replay(arguments) -> None:
    """Replay the true path."""
    from gcexp.run.compose import compose
    from gcexp.run.stages import run_verification

    run_verification(compose(arguments.overrides), arguments.timeline, arguments.trajectory, arguments.output)


def do_table(arguments) -> None:
    """Make a table."""
    from gcexp.report.figurefile import figure
    from gcexp.report.stages import make_table

    make_table(figure(arguments.target, arguments.preset), arguments.output)


def do_plot(arguments) -> None:
    """Draw, and check the claims where a file for them is named."""
    from gcexp.report.figurefile import figure
    from gcexp.report.stages import check_claims, make_drawing

    wanted = replace(figure(arguments.target, arguments.preset), titled=not arguments.no_title)
    make_drawing(wanted, arguments.input, arguments.output)
    if arguments.claims:  # in the same job, which has the table already
        check_claims(wanted, arguments.input, arguments.claims)


def do_claims(arguments) -> None:
    """Check claims."""
    from gcexp.report.figurefile import figure
    from gcexp.report.stages import check_claims

    check_claims(figure(arguments.target, arguments.preset), arguments.input, arguments.output)


def do_scorecard(arguments) -> None:
    """Collect the scorecard."""
    from gcexp.report.figurefile import statements
    from gcexp.report.scorecard import answered, collect, write_json, write_markdown

    claims = collect(arguments.input)
    entries = answered(claims, {claim["paper"]: statements(claim["paper"]) for claim in claims}) + claims
    for path in arguments.output:
        (write_json if path.suffix == ".json" else write_markdown)(entries, path)


def do_page(arguments) -> None:
    """Write the report page."""
    from gcexp.report.figurefile import figures
    from gcexp.report.stages import write_page

    write_page(arguments.preset, figures(arguments.preset), arguments.input, arguments.output)


def do_track(arguments) -> None:
    """Import into MLflow."""
    from gcexp.report.figurefile import figures
    from gcexp.report.tracking import track

    track(figures(arguments.preset), arguments.output, arguments.uri)


def do_publish(arguments) -> None:
    """Copy the paper preset's reports."""
    from gcexp.report.publish import publish

    print(publish())


if __name__ == "__main__":
    sys.exit(main())
