"""Which schemes does a benchmark hold side by side? Those of conf/benchmark.yaml, named ones, and who joins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gcexp.errors import UserError, unknown
from gcexp.run.dependencies import STAGES, lines_of_values
from gcexp.run.options import conf_dir, option_file, option_names, search_path
from gcexp.run.run import Run
from gcexp.run.scheme import Codes
from gcexp.run.tokens import spell
from gcexp.run.yaml_values import read_yaml
from gcexp.schema import fill, fitted

#: Kinds of remedies, in the order in which they are shown; schemes of a person's own come last.
Group = Literal["bounds", "rebalance", "exact", "drop", "local", "own"]


@dataclass(frozen=True)
class Entry:
    """A scheme of a benchmark: its name, its `Group`, and the keys that are set on a run.

    Keys in `half` are n // 2. `local_steps` is the number of steps of a round, where the delay model is one of rounds.
    """

    label: str
    group: Group
    keys: dict[str, Any] = field(default_factory=dict)
    half: tuple[str, ...] = ()
    local_steps: int = 0

    def run(self, n: int, late: str = "stop", chunks: int | None = None, codes: Codes | None = None) -> Run:
        """The run for n workers, with any delay model; a bound is computed with workers that stop at once.

        Its scheme is built when it is asked for, from codes that several runs may share.
        """
        keys = {"s": 1} | self.keys
        for key in self.half:
            keys[key] = n // 2
        keys["n"] = n
        overrides = [f"{key}={spell(value)}" for key, value in keys.items()]
        run = Run.of(overrides, trains=False, checked=False, label=self.label, codes=codes)
        if run.config["bound"]:
            return run
        config = run.config | {"late": late}
        if chunks is not None:
            config["chunks"] = chunks
        return replace(run, config=config)


def entries(named: Iterable[str | dict] | None = None) -> list[Entry]:
    """The schemes of a benchmark: all of conf/benchmark.yaml and who joins by itself, or those that are named.

    Named are labels of conf/benchmark.yaml, options of the group scheme, or mappings as they stand in that file.

    >>> [entry.label for entry in entries(["FRC, d = 2", "bgc", {"scheme": "cgc", "s": 3}])]
    ['FRC, d = 2', 'bgc', 'cgc s=3']
    """
    known = _entries_of_file()
    if named is None:
        return [*known.values(), *_joining_schemes()]
    found: dict[str, Entry] = {}
    for one in named:
        entry = _named_entry(one, known)
        if entry.label in found:
            raise UserError(f"schemes: {entry.label!r} stands twice; give one of them another label")
        found[entry.label] = entry
    return list(found.values())


def is_named(name: str) -> bool:
    """Whether a scheme is called so, by a label of conf/benchmark.yaml or by its option.

    >>> is_named("bgc"), is_named("bgc.csv")
    (True, False)
    """
    return name in _entries_of_file() or name in option_names("scheme")


def _entries_of_file() -> dict[str, Entry]:
    """The entries of conf/benchmark.yaml by their labels."""
    place = "conf/benchmark.yaml"
    written = read_yaml(conf_dir() / "benchmark.yaml").get("schemes", [])
    found = {}
    for keys in fitted(list[dict], written, place):
        entry = _entry(keys, place)
        found[entry.label] = entry
    return found


def _joining_schemes() -> list[Entry]:
    """The schemes whose option files say ``benchmark: true``."""
    found = []
    folders = search_path()
    for name in option_names("scheme", folders):
        option = read_yaml(option_file("scheme", name, folders))
        joins = fitted(bool, option.get("benchmark", False), f"{name}: benchmark")
        if joins:
            found.append(_own_entry(name))
    return found


def _named_entry(name: str | dict, known: dict[str, Entry]) -> Entry:
    """The entry that a person names: by a label of the file, by an option, or by its keys."""
    if isinstance(name, dict):
        return _entry(name, "schemes")
    if name in known:
        return known[name]
    schemes = option_names("scheme")
    if name not in schemes:
        raise UserError(unknown("scheme", name, [*known, *schemes]))
    return _own_entry(name)


def _own_entry(scheme: str) -> Entry:
    """A scheme of a person's own, with the values of its option."""
    return Entry(scheme, "own", {"scheme": scheme})


def _entry(keys: dict, place: str) -> Entry:
    """An entry as it is written; its label is what it sets, unless it has one."""
    if not isinstance(keys.get("scheme"), str):
        raise UserError(f"{place}: an entry names a scheme, got {keys}")
    about_entry = {}
    of_run = {}
    for key, value in keys.items():
        if key in ("label", "group", "half", "local_steps"):
            about_entry[key] = value
        else:
            of_run[key] = value
    words = [keys["scheme"]]
    words += [f"{key}={value}" for key, value in of_run.items() if key != "scheme"]
    defaults = {"label": " ".join(words), "group": "own"}
    return fill(Entry, defaults | about_entry | {"keys": of_run}, place)


def played_schemes(named: Iterable[str | dict] | None) -> list[tuple[Entry, dict]]:
    """These schemes, each with its composed run."""
    return [(entry, entry.run(10).config) for entry in entries(named)]


def schemes_fingerprint(played: Iterable[tuple[Entry, dict]]) -> list[str]:
    """What the clocks of some schemes depend on, beside the times and the library: the values of their options."""
    found = []
    for entry, config in played:
        lines = []
        for key in STAGES["timeline"].keys:
            if key != "delay":
                lines += lines_of_values(config.get(key), key)
        lines.append(str(entry))
        found += [f"{entry.label}: {line}" for line in lines]
    return found
