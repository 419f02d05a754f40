"""Commands that installed packages add by the entry point ``gcexp.commands``.

An entry point has the name of the command and names a module with `add(parser)` and `run(arguments)`, as the modules of
this room have them. The first line of its docstring is what ``gcexp --help`` says of the command. A command of this
room cannot be replaced.
"""

from __future__ import annotations

import ast
import importlib
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType

from gcexp.errors import UserError
from gcexp.run.modules import source


@cache
def plugged() -> dict[str, str]:
    """Module of each command that a package adds, by the command's name."""
    return {point.name: point.value for point in entry_points(group="gcexp.commands")}


def phrase_of(command: str) -> str:
    """What a command does, from the text of its module, which is not imported; empty where the module is not there."""
    file = source(plugged()[command])
    if file is None:
        return ""
    said = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return said.partition("\n")[0].removeprefix(f"``gcexp {command}``: ").rstrip(".")


def module_of(command: str) -> ModuleType:
    """The module of a command that a package adds; raise `UserError` where the package is gone."""
    name = plugged()[command]
    package, _, _ = name.partition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise UserError(f"gcexp {command} is a command of {package}, which is not there") from None
