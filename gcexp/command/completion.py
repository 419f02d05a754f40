"""``gcexp completion``: a script for bash, zsh or fish, which asks ``gcexp completion words`` what may stand next."""

from __future__ import annotations

import itertools
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gcexp.errors import UserError
from gcexp.run.compose import compose
from gcexp.run.options import GROUPS, option_names, paper_folders

SHELLS = ("bash", "zsh", "fish")


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "shell", choices=[*SHELLS, "words"], help="words: what may stand in place of the last word"
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="for words, behind --: what was typed after gcexp"
    )


def run(arguments) -> None:
    """Print a shell's script, or the words that may stand next."""
    if arguments.shell in SHELLS:
        print(script(arguments.shell))
        return
    for word in words(arguments.words):
        print(word)


def script(shell: str) -> str:
    """What a shell reads to complete words of ``gcexp``: a file of ``shells/``."""
    return (Path(__file__).parent / f"shells/gcexp.{shell}").read_text("utf-8")


def words(typed: list[str]) -> list[str]:
    """What may stand in place of the last of the words that were typed after ``gcexp``; none where files may."""
    *before, current = typed or [""]
    found = _all_words(before, current)
    return sorted({word for word in found if word.startswith(current)})


def _all_words(before: list[str], current: str) -> Iterable[str]:
    """Words that may stand behind those before, however the current one begins."""
    from gcexp.command.job import VERBS
    from gcexp.command.main import COMMANDS, module_of
    from gcexp.command.plugged import plugged

    if not before:
        return [*COMMANDS, *plugged(), "job"]
    command, *given = before
    if command == "job":
        return VERBS if not given else ()
    if command not in COMMANDS and command not in plugged():
        return ()
    parser = ArgumentParser()
    module_of(command).add(parser)
    arguments = parser._actions  # argparse has no public list of them
    if current.startswith("-"):
        return itertools.chain.from_iterable(argument.option_strings for argument in arguments)
    places = [argument for argument in arguments if not argument.option_strings]
    if not places:
        return ()
    words_before = [word for word in given if not word.startswith("-")]
    last = len(places) - 1  # which may take several words
    place = places[min(len(words_before), last)]
    return _words_of(place, given, current)


def _words_of(argument, before: list[str], current: str) -> Iterable[str]:
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
            return option_names("scheme")
        case "papers":
            return _papers()
        case "target":
            return _targets()
        case "targets":
            return [*_targets(), *_papers()]
    return ()


def _overrides(before: list[str], current: str) -> Iterable[str]:
    """Keys of a run, those of a group's option once the group's name and a point stand there; values of a group."""
    key, equals, value = current.partition("=")
    if equals:
        _, _, last_value = value.rpartition(",")
        start = current.removesuffix(last_value)
        return [f"{start}{name}" for name in _values(key)]
    config = _compose_words(before)
    group, point, _ = key.partition(".")
    if not point:
        return [f"{name}=" for name in {*config, *GROUPS}]
    option = config.get(group)
    if not isinstance(option, dict):
        return ()
    return [f"{group}.{name}=" for name in option if not name.startswith("_")]


def _compose_words(before: list[str]) -> dict[str, Any]:
    """The run of the overrides that stand there, but for keys with several values."""
    overrides = [word for word in before if "=" in word and "," not in word]
    try:
        return compose(overrides)
    except UserError:  # what stands there is not finished, or wrong: told when it runs
        return compose([])


def _values(key: str) -> list[str]:
    """Names that a key may have as its value, where it takes names."""
    if key in GROUPS:
        return option_names(key)
    if key == "task.dataset":
        return _datasets()
    return []


def _datasets() -> list[str]:
    from gcexp.data import datasets

    return [*datasets(), *option_names("dataset")]


def _targets() -> list[str]:
    from gcexp.report.targets import target_files

    return list(target_files())


def _papers() -> list[str]:
    return [folder.name for folder in paper_folders().values()]
