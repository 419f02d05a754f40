"""What do YAML files and overrides say? The one place where the library reads YAML."""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gcexp.errors import UserError
from gcexp.schema import quoted, typed

_MOST_VALUES = 100_000  # of one file or override
# A colon behind a key of a mapping: Hydra's grammar needs no space behind it, and YAML does.
_CLOSE_COLON = re.compile(r"([{,]\s*\w+):(?=\S)")
_PLAIN = (dict, list, str, int, float, type(None))


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader with the meaning that OmegaConf, and so Hydra, gives to option files.

    Two things are added: a number may have an exponent without a point or a sign (``1e-3``, ``2E3``), and a date is
    text. A key that is given twice is refused.
    """

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            written = (key.tag, str(key.value))
            if written in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value!r} stands twice", key.start_mark
                )
            seen.add(written)
        return super().construct_mapping(node, deep)


_resolvers_without_dates = {}
for _first, _resolvers in _Loader.yaml_implicit_resolvers.items():
    _kept = []
    for _tag, _pattern in _resolvers:
        if _tag != "tag:yaml.org,2002:timestamp":
            _kept.append((_tag, _pattern))
    _resolvers_without_dates[_first] = _kept
_Loader.yaml_implicit_resolvers = _resolvers_without_dates
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?[0-9]+(_[0-9]+)*(\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


class _OverrideLoader(_Loader):
    """The loader of the values of overrides, where Hydra has a grammar of its own: a word without quotes is `typed`."""


def _word(_loader: _OverrideLoader, node: yaml.ScalarNode) -> Any:
    """What a word without quotes means."""
    if not node.value:
        return None
    return typed(node.value)


_OverrideLoader.yaml_implicit_resolvers = {}
_OverrideLoader.add_implicit_resolver("!word", re.compile(""), None)
_OverrideLoader.add_constructor("!word", _word)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file as a dictionary; a mistake becomes a sentence with file and line.

    What it says counts for a result by its values, and not as a file.
    """
    return copy.deepcopy(mapping_in(path, read_text(path)))


def read_text(path: Path) -> str:
    """The text of a YAML file."""
    try:
        return Path(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise _not_valid(path, error) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def mapping_in(path: Path | str, text: str) -> dict[str, Any]:
    """The mapping that the text of a file is; not to be changed."""
    try:
        found = _load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _not_valid(path, error) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UserError(f"{path}: expected keys and values, got a {type(found).__name__}")
    return found


def read_value(override: str) -> Any:
    """Value of ``KEY=VALUE`` as Hydra reads it.

    A word is read by `gcexp.schema.typed`. Lists and mappings are spelled as in YAML, with such words in them.

    >>> [read_value(override) for override in ("n=12", "d=1e-3", "workers=[7, inf, 010]", "d=", "p={3:2.0}")]
    [12, 0.001, [7, inf, '010'], None, {3: 2.0}]
    """
    text = override.partition("=")[2]
    if not text:
        return None
    if text.startswith("{") and not {"'", '"'} & {*text}:
        text = _CLOSE_COLON.sub(r"\1: ", text)
    try:
        return copy.deepcopy(_load(text, _OverrideLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = _problem(error)
        raise UserError(f"{quoted(override)} has a value that is not valid YAML ({problem})") from None


@cache  # a plan and a sweep read the same few option files and values thousands of times
def _load(text: str, loader: type[_Loader]) -> Any:
    found = yaml.load(text, Loader=loader)
    _require_plain(found)
    return found


def _require_plain(found: Any) -> None:
    """Refuse what is no plain data, and what aliases spread to more values than anyone writes, or put within itself."""
    values = [found]
    for count, value in enumerate(values):  # which grows as it is gone through
        if count > _MOST_VALUES:
            raise ValueError(f"its aliases spread it to more than {_MOST_VALUES} values")
        if not isinstance(value, _PLAIN):
            raise ValueError(f"{quoted(value)} is no plain value")
        if isinstance(value, dict):
            values += value.keys()
            values += value.values()
        elif isinstance(value, list):
            values += value


def _not_valid(path: Path | str, error: Exception) -> UserError:
    place = f"{path}:"
    mark = getattr(error, "problem_mark", None)
    if mark:
        place += f" line {mark.line + 1}:"
    return UserError(f"{place} not valid YAML ({_problem(error)})")


def _problem(error: Exception) -> str:
    """What the reader of YAML complains about, in its words."""
    sentence = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return sentence or type(error).__name__
