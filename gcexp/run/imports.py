"""Which names does a module import, and which modules do its strings name? Read from its code, and nothing is imported.

Asked of some two hundred modules by each plan, of code that is there already without comments and docstrings
(`gcexp.run.contents.code_of`). Regular expressions take a fourteenth of the time of syntax trees (0.1 in place of 1.3
CPU-s for all modules of the library and the papers), and a test holds what they find against these trees.
"""

from __future__ import annotations

import re
from importlib.util import resolve_name

#: What only type checkers read.
_FOR_TYPES = re.compile(r"^([ \t]*)if (?:typing\.)?TYPE_CHECKING:.*\n(?:\1[ \t].*\n?)*", re.MULTILINE)
#: One statement: where from, or nothing, and the names behind ``import``, which stand in brackets or end with the line.
_STATEMENT = re.compile(
    r"(?:^|[:;])[ \t]*(?:from[ \t]+([.\w]+)[ \t]+)?import\b[ \t]*(\([^)]*\)|(?:[^;\n\\]|\\\n)+)", re.MULTILINE
)
_CALL = re.compile(r"\b(?:import_module|__import__)\(\s*(?:(?:name=)?[\"']([\w.]+)[\"'])?")


def imported_names(code: str, module: str, is_package: bool) -> list[str]:
    r"""Dotted names of all that a module imports, also inside of functions, but nothing for type checkers alone.

    A name behind ``from`` may be a module or stand in one. Of ``import *`` and plain imports it is the module's.

    >>> code = "import os, a.b as c\nfrom .near import (\n    one as two,\n    three,\n)\n"
    >>> imported_names(code, "mine.job", is_package=False)
    ['os', 'a.b', 'mine.near.one', 'mine.near.three']
    """
    return [name for _, name in bound_names(code, module, is_package)]


def bound_names(code: str, module: str, is_package: bool) -> list[tuple[str, str]]:
    """The same names, each behind the one by which the module calls it: empty for plain imports and ``import *``."""
    package = module if is_package else module.rpartition(".")[0]
    found = []
    text = _FOR_TYPES.sub("", code)
    for statement in _STATEMENT.finditer(text):
        if _is_in_a_string(text, statement.start()):
            continue
        origin, names = statement.groups()
        for one in names.strip("() \t").replace("\\\n", " ").split(","):
            words = one.split()
            if not words:
                continue
            if not origin:
                found.append(("", words[0]))
                continue
            try:
                place = resolve_name(origin, package)
            except ImportError:  # beyond the outermost package
                continue
            if words[0] == "*":
                found.append(("", place))
            else:
                found.append((words[-1], f"{place}.{words[0]}"))
    return found + [("", name) for name in _called_names(code) if name]


def _is_in_a_string(code: str, place: int) -> bool:
    r"""Whether a quote is open at a place of a line.

    >>> imported_names("say('one; import two'); import three", "mine.job", is_package=False)
    ['three']
    """
    before = code[code.rfind("\n", 0, place) + 1 : place]
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1


def computes_imports(code: str) -> bool:
    """Whether a module imports what no string of it names."""
    return not all(_called_names(code))


def _called_names(code: str) -> list[str]:
    """What calls import: a name for each, empty where it is put together."""
    if "import_module" not in code and "__import__" not in code:  # nearly always, and a search takes long
        return []
    return _CALL.findall(code)


def strings_with(code: str, packages: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Dotted names in strings that begin with one of these packages, and whether more follows that is put in.

    >>> strings_with('x = "lab.a.B"; y = f"lab.a.{x}"; z = "laboratory.a"', ("lab",))
    [('lab.a.B', False), ('lab.a', True)]
    """
    names = "|".join(map(re.escape, packages))
    found = re.findall(rf"[\"']((?:{names})(?:\.\w+)*)(\.\{{|\.[\"']|(?!\w))", code)
    return [(name, bool(rest)) for name, rest in found]


def words_in_strings(code: str) -> set[str]:
    """Strings that are a dotted name and nothing else."""
    return set(re.findall(r"[\"']([A-Za-z_][\w.]*)[\"']", code))
