"""Which settings does every option have? A page of all options of all groups, made of their files and constructors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from gcexp.command.catalogue import LISTED, listed
from gcexp.figures.markdown import grid
from gcexp.run.build import locate
from gcexp.run.options import GROUPS, option_file, read_yaml
from gcexp.schema import wanted

HEADER = ("setting", "default", "wants", "meaning")
CHOICES = ("chooses", "value")
_TOP = """\
# All options

Every option of every group, as `gcexp list` names them, with what may be set: `delay=pareto delay.shape=1.5` on the
command line, `delay.shape: 1.5` in a figure file. A default in `${...}` is the value that the whole run shares. What a
setting wants is what its constructor checks; anything else is refused in one sentence. A scheme has no settings of its
own: it chooses options of other groups, whose settings may be set beside it (`scheme=frc code.d=3`).

"""


def document() -> str:
    """The page, in Markdown.

    Examples
    --------
    >>> headings = [line for line in document().splitlines() if line.startswith("## ")]
    >>> headings[:4], len(headings)
    (['## Schemes', '## Codes', '## Waits', '## Placements'], 9)
    """
    parts = [_TOP]
    kinds = {kind if kind in GROUPS else kind.removesuffix("s"): kind for kind in LISTED}
    for group in GROUPS:
        parts.append(f"## {kinds[group].capitalize()}\n\n")
        for name, phrase in listed(kinds[group]).items():
            parts.append(f"### {name}\n\n{phrase}\n\n")
            rows = list(choices(name)) if group == "scheme" else list(settings(group, name))
            parts.append(grid(CHOICES if group == "scheme" else HEADER, rows) + "\n" if rows else "")
    parts.append("## Data sets\n\n")
    parts.append(grid(("name", "what it is"), list(listed("datasets").items())))
    return "".join(parts)


def settings(group: str, option: str) -> Iterator[tuple[str, str, str, str]]:
    """Settings of one option: its key, default, what it wants and what it means.

    Examples
    --------
    >>> for row in settings("wait", "fastest"):
    ...     print(row)
    ('wait.s', '${s}', 'whole number or nothing', 'Workers ignored; give this or `q`.')
    ('wait.q', 'null', 'whole number or nothing', 'Workers waited for.')
    """
    path = option_file(group, option)
    given = read_yaml(path)
    said = dict(re.findall(r"^(\w+):.*?\s#\s(.+)$", path.read_text("utf-8"), flags=re.MULTILINE))
    built = locate(given["_target_"], f"{group}._target_") if "_target_" in given else None
    meant = {} if built is None else described(built)
    for key, value in given.items():
        if not key.startswith("_"):
            wants = wanted(built, key) if built else ""
            yield f"{group}.{key}", _written(value), wants, said.get(key, meant.get(key, ""))


def choices(scheme: str) -> Iterator[tuple[str, str]]:
    """What a scheme chooses from other groups, and what it sets there.

    Examples
    --------
    >>> list(choices("gc_dc"))[:3]
    [('code', 'clustered'), ('wait', 'decodable'), ('placement', 'greedy')]
    """
    given = read_yaml(option_file("scheme", scheme))
    for entry in given.pop("defaults", []):
        if isinstance(entry, Mapping):
            yield from ((key.rpartition("/")[2], _written(value)) for key, value in entry.items())
    for key, value in given.items():
        inner = (
            {f"{key}.{name}": set_to for name, set_to in value.items()} if isinstance(value, Mapping) else {}
        )
        yield from ((name, _written(set_to)) for name, set_to in (inner or {key: value}).items())


def _written(value: Any) -> str:
    """A value on one line, as YAML has it."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip("'")


def described(built: Callable) -> dict[str, str]:
    """What the docstring says about each parameter, on one line.

    Examples
    --------
    >>> from gcexp.schemes.waiting import Fastest
    >>> described(Fastest)
    {'q': 'Workers waited for.', 's': 'Workers ignored; give this or `q`.'}
    """
    found: dict[str, str] = {}
    text = inspect.getdoc(built) or ""
    for section in re.findall(
        r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", text, re.M | re.S
    ):
        for names, about in re.findall(
            r"^(\w[^\n:]*?)(?: *:[^\n]*)?\n((?:[ ]+[^\n]*\n?|\n)*)", section, re.M
        ):
            for name in re.split(r",\s*", names):
                found[name.lstrip("*")] = " ".join(about.split()).replace("``", "`")
    return found
