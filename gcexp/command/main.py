"""The ``gcexp`` command: what a person types, and what every rule calls."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: parallelism comes from jobs

import argparse
import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

from gcexp import __version__
from gcexp.command import job
from gcexp.command.arguments import add_options
from gcexp.command.failure import said
from gcexp.command.job import VERBS
from gcexp.errors import unknown

#: A module of this room each, with `add(parser)` and `run(arguments)`; only the one that is asked for is imported.
COMMANDS = {
    "list": "names of everything that has one, each with a phrase",
    "show": "what a scheme or code is: loads, messages, guarantee, small matrices",
    "run": "one run without Snakemake: timeline, training, verification, summary, plot",
    "simulate": "the clock of one scheme as a table, without training",
    "advise": "what to set on a cluster whose times were recorded: code, rebalance, or nothing; timeouts and quorums",
    "fit": "what makes the workers of a recorded trace slow, how sure that is, and a delay model that replays it",
    "benchmark": "where redundancy pays on a CSV of workers' times, and where it cannot: a map",
    "error": "error of a code, at worst, random or given stragglers: code=cyclic_repetition n=10 s=0..4 kind=worst",
    "theory": "a closed form of the literature; NAME alone explains it; a module, or none, lists what there is",
    "compare": "the schemes of a figure, the fastest first, from its table",
    "audit": "judge what the papers state on the published tables; exit code 1 if an outcome changed",
    "verify": "compare fresh tables with the published ones; exit code 1 if one differs",
    "plan": "jobs, CPU hours, memory and disk of what is still to be made: preset=paper [TARGET]",
    "data": "fetch the raw files of data sets before jobs run without a network: fetch mnist cifar10 amazon",
    "init": "a folder for a project of your own: options, figures, code, Snakefile",
    "trace": "check a CSV of workers' times for delay=trace, and say what it holds",
    "completion": "a script that completes words in a shell: bash, zsh or fish",
    "schema": "JSON Schema of the figure file, for editors (docs/figure.schema.json)",
    "publish": "copy reports/paper to reports/published, to be committed",
}


def main(argv: list[str] | None = None) -> int:
    """Run a command: exit code 0, 2 after one sentence for a user's mistake, 1 for a defect of ours, 130 after Ctrl-C.

    The trace of a defect is kept in logs/; ``--debug`` shows every trace, that of a user's mistake too.
    """
    given = sys.argv[1:] if argv is None else argv
    try:
        conf, told = Path("conf"), Path("config/config.yaml")
        if (conf / "run.yaml").is_file() or (conf.is_dir() and told.is_file()):
            from gcexp.command.init import refuse_shadows

            refuse_shadows()
            if str(Path.cwd()) not in sys.path:  # modules of a project lie beside its conf/
                sys.path.insert(0, str(Path.cwd()))
        arguments = _read(given)
        if folder := getattr(arguments, "config_dir", None):
            add_options(folder)
        if given[:1] != ["job"]:
            return arguments.do(arguments) or 0
        from gcexp.run.records import recorded

        first = arguments.output[0] if isinstance(arguments.output, list) else arguments.output
        with recorded(first):  # what a rule calls writes down what it reads
            return arguments.do(arguments) or 0
    except KeyboardInterrupt:
        print("gcexp: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in given:
            traceback.print_exc()
        sentence, code = said(error, ["gcexp", *given])
        print(f"gcexp: {sentence}", file=sys.stderr)
        return code


def _read(given: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; those of a list may stand before and behind its options."""
    reader = parser(given)
    arguments, more = reader.parse_known_args(given)
    rest = getattr(arguments, "rest", None)
    if more and rest and not any(word.startswith("-") for word in more):
        setattr(arguments, rest, [*getattr(arguments, rest), *more])
    elif more:
        reader.error(f"unrecognized arguments: {' '.join(more)}")
    return arguments


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, as all else does."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"gcexp: {message}; {self.prog} --help says what there is\n")


def parser(given: Sequence[str] = ()) -> argparse.ArgumentParser:
    """What reads `given`: all commands with their phrases, and the arguments of the one that stands there."""
    top = _Parser(prog="gcexp", description="Gradient coding experiments on one simulated clock.")
    top.add_argument("--version", action="version", version=f"gcexp {__version__}")
    phrases = COMMANDS | {"job": f"what rules of the workflow call: {', '.join(VERBS)}"}
    commands = _below(top, "COMMAND", phrases)
    verbs = _below(commands["job"], "VERB", VERBS)
    first, second = (*given, "", "")[:2]
    if first == "job":
        if second in VERBS:
            _fill(verbs[second], partial(job.add, verb=second), getattr(job, second))
    elif first in COMMANDS:
        module = importlib.import_module(f"gcexp.command.{first}")
        _fill(commands[first], module.add, module.run)
    elif first and not first.startswith("-"):
        top.error(unknown("command", first, [*phrases, *(f"job {verb}" for verb in VERBS)]))
    return top


def _below(
    top: argparse.ArgumentParser, kind: str, phrases: dict[str, str]
) -> dict[str, argparse.ArgumentParser]:
    """An empty parser for each name."""
    below = top.add_subparsers(metavar=kind, required=True)
    return {name: below.add_parser(name, help=text, description=text) for name, text in phrases.items()}


def _fill(parser: argparse.ArgumentParser, add: Callable, do: Callable) -> None:
    """The arguments of the command that is asked for."""
    parser.add_argument("--debug", action="store_true", help="show the trace of every error")
    parser.set_defaults(do=do)
    add(parser)


if __name__ == "__main__":
    sys.exit(main())
