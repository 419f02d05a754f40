"""``gcexp completion``: a script for bash, zsh or fish, which asks ``gcexp completion words`` what may stand next."""

from __future__ import annotations

import importlib
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path

from gcexp.errors import UserError
from gcexp.run.compose import compose
from gcexp.run.options import GROUPS, options, papers

SHELLS = ("bash", "zsh", "fish")


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument(
        "shell", choices=[*SHELLS, "words"], help="words: what may stand in place of the last word"
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="for words, behind --: what was typed after gcexp"
    )


def run(arguments) -> None:
    """Print a shell's script, or the words that may stand next."""
    lines = [script(arguments.shell)] if arguments.shell in SHELLS else words(arguments.words)
    for line in lines:
        print(line)


def script(shell: str) -> str:
    """What a shell reads to complete words of ``gcexp``: a file of ``shells/``."""
    return (Path(__file__).parent / f"shells/gcexp.{shell}").read_text("utf-8")


def words(typed: list[str]) -> list[str]:
    """What may stand in place of the last of the words that were typed after ``gcexp``; none where files may."""
    from gcexp.command.job import VERBS
    from gcexp.command.main import COMMANDS

    *before, current = typed or [""]
    if not before:
        found: Iterable[str] = [*COMMANDS, "job"]
    elif before[0] == "job":
        found = VERBS if len(before) == 1 else ()
    elif before[0] in COMMANDS:
        parser = ArgumentParser()
        importlib.import_module(f"gcexp.command.{before[0]}").add(parser)
        arguments = parser._actions  # argparse has no public list of them
        places = [one for one in arguments if not one.option_strings]
        given = sum(not word.startswith("-") for word in before[1:])
        if current.startswith("-"):
            found = (option for one in arguments for option in one.option_strings)
        else:
            found = _of(places[min(given, len(places) - 1)], before[1:], current) if places else ()
    else:
        found = ()
    return sorted({word for word in found if word.startswith(current)})


def _of(argument, before: list[str], current: str) -> Iterable[str]:
    """What an argument that is no option may be: its choices, or the names that its own name stands for."""
    if argument.choices:
        return argument.choices
    match argument.dest:
        case "overrides":
            return _overrides(before, current)
        case "kind":
            from gcexp.command.list import LISTED

            return LISTED
        case "names":
            return _datasets()
        case "schemes":
            return options("scheme")
        case "papers":
            return _papers()
        case "target" | "targets":
            from gcexp.report.figurefile import target_files

            return [*target_files(), *(_papers() if argument.dest == "targets" else ())]
    return ()


def _overrides(before: list[str], current: str) -> Iterable[str]:
    """Keys of a run, those of a group's option once the group's name and a point stand there; values of a group."""
    key, equals, value = current.partition("=")
    if equals:
        start = current.removesuffix(value.rpartition(",")[2])  # behind the values that stand there already
        names = options(key) if key in GROUPS else _datasets() if key == "task.dataset" else []
        return (f"{start}{name}" for name in names)
    try:
        config = compose([word for word in before if "=" in word and "," not in word])
    except UserError:  # what stands there is not finished, or wrong: told when it runs
        config = compose([])
    group, point, _ = key.partition(".")
    if point:
        inner = config.get(group)
        return (f"{group}.{name}=" for name in (inner if isinstance(inner, dict) else ()) if name[0] != "_")
    return (f"{name}=" for name in {*config, *GROUPS})


def _datasets() -> list[str]:
    from gcexp.data import datasets

    return [*datasets(), *options("dataset")]


def _papers() -> list[str]:
    return [folder.name for folder in papers().values()]
