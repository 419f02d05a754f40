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
from types import ModuleType
from typing import NoReturn

from gcexp import __version__
from gcexp.command import job, plugged
from gcexp.command.arguments import add_search_folder
from gcexp.command.failure import describe_failure
from gcexp.command.init import refuse_shadows
from gcexp.command.job import VERBS
from gcexp.errors import unknown
from gcexp.run.records import write_record

#: A module of this room each, with `add(parser)` and `run(arguments)`; only the one that is asked for is imported.
#: Other packages add commands of their own (`gcexp.command.plugged`).
COMMANDS = {
    "list": "names of everything that has one, each with a phrase",
    "show": "what a scheme or code is: loads, messages, guarantee, small matrices",
    "run": "one run without Snakemake: timeline, training, verification, summary, plot",
    "simulate": "the clock of one scheme as a table, without training",
    "error": "error of a code, at worst, random or given stragglers: code=cyclic_repetition n=10 s=0..4 kind=worst",
    "theory": "a closed form of the literature; NAME alone explains it; a module, or none, lists what there is",
    "compare": "the schemes of a figure, the fastest first, from its table",
    "audit": "judge what the papers state on the published tables; exit code 1 if an outcome changed",
    "verify": "compare fresh tables with the published ones; exit code 1 if one differs",
    "plan": "jobs, CPU hours, memory and disk of what is still to be made: preset=paper [TARGET]",
    "data": "fetch the raw files of data sets before jobs run without a network: fetch mnist cifar10 amazon",
    "init": "a folder for a project of your own: options, figures, code, Snakefile",
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
        return _run(given)
    except KeyboardInterrupt:
        print("gcexp: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in given:
            traceback.print_exc()
        sentence, code = describe_failure(error, ["gcexp", *given])
        print(f"gcexp: {sentence}", file=sys.stderr)
        return code


def _run(given: Sequence[str]) -> int:
    """The exit code of a command that ends well."""
    _find_modules_of_a_project()
    arguments = _read(given)
    folder = getattr(arguments, "config_dir", None)
    if folder:
        add_search_folder(folder)
    if given[:1] != ["job"]:
        return arguments.do(arguments) or 0
    first_output = arguments.output
    if isinstance(arguments.output, list):
        first_output = arguments.output[0]
    with write_record(first_output):  # what a rule calls writes down what it reads
        return arguments.do(arguments) or 0


def _find_modules_of_a_project() -> None:
    """In the folder of a project its modules, which lie beside its conf/, are found."""
    conf = Path("conf")
    settings = Path("config/config.yaml")
    is_project = (conf / "run.yaml").is_file() or (conf.is_dir() and settings.is_file())
    if not is_project:
        return
    refuse_shadows()
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _read(given: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; those of a list may stand before and behind its options."""
    reader = parser(given)
    arguments, more = reader.parse_known_args(given)
    if not more:
        return arguments
    name_of_list = getattr(arguments, "rest", None)
    strange = [word for word in more if word.startswith("-")]
    if name_of_list is None or strange:
        told = f"unrecognized arguments: {' '.join(more)}"
        if name_of_list is not None and strange[0].startswith("--"):
            key = strange[0].lstrip("-").partition("=")[0].replace("-", "_")
            told += f"; if {key} is a key, it is given as {key}=VALUE"
        reader.exit(2, f"gcexp: {told}; gcexp {given[0]} --help says what there is\n")
    words = getattr(arguments, name_of_list)
    setattr(arguments, name_of_list, [*words, *more])
    return arguments


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, as all else does."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"gcexp: {message}; {self.prog} --help says what there is\n")


def parser(given: Sequence[str] = ()) -> argparse.ArgumentParser:
    """What reads `given`: all commands with their phrases, and the arguments of the one that stands there."""
    top = _Parser(prog="gcexp", description="Gradient coding experiments on one simulated clock.")
    top.add_argument("--version", action="version", version=f"gcexp {__version__}")
    command, verb, *_ = [*given, "", ""]
    phrases = COMMANDS | {"job": f"what rules of the workflow call: {', '.join(VERBS)}"}
    if command not in phrases:
        phrases |= _phrases_of_plugged(command)
    commands = _below(top, "COMMAND", phrases)
    if command == "job":
        verbs = _below(commands["job"], "VERB", VERBS)
        if verb in VERBS:
            _fill(verbs[verb], partial(job.add, verb=verb), getattr(job, verb))
    elif command in commands:
        module = module_of(command)
        _fill(commands[command], module.add, module.run)
    elif command and not command.startswith("-"):
        top.error(unknown("command", command, [*phrases, *(f"job {verb}" for verb in VERBS)]))
    return top


def module_of(command: str) -> ModuleType:
    """The module of a command, imported."""
    if command in COMMANDS:
        return importlib.import_module(f"gcexp.command.{command}")
    return plugged.module_of(command)


def _phrases_of_plugged(command: str) -> dict[str, str]:
    """What is said of the command if a package adds it, and else of all that packages add."""
    names = [command] if command in plugged.plugged() else sorted(plugged.plugged())
    return {name: plugged.phrase_of(name) for name in names}


def _below(
    top: argparse.ArgumentParser, kind: str, phrases: dict[str, str]
) -> dict[str, argparse.ArgumentParser]:
    """An empty parser for each name."""
    below = top.add_subparsers(metavar=kind, required=True)
    found = {}
    for name, phrase in phrases.items():
        found[name] = below.add_parser(name, help=phrase, description=phrase)
    return found


def _fill(parser: argparse.ArgumentParser, add: Callable, do: Callable) -> None:
    """The arguments of the command that is asked for."""
    parser.add_argument("--debug", action="store_true", help="show the trace of every error")
    parser.set_defaults(do=do)
    add(parser)


if __name__ == "__main__":
    sys.exit(main())
