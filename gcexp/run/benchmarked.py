"""Which schemes does a benchmark hold side by side? Those of conf/benchmark.yaml, named ones, and who joins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from gcexp.errors import UserError, unknown
from gcexp.run.dependencies import STAGES, values
from gcexp.run.options import conf_dir, option_file, options
from gcexp.run.run import Run
from gcexp.run.scheme import Codes
from gcexp.run.tokens import spelled
from gcexp.run.yaml_values import read_yaml
from gcexp.schema import fill, fitted

#: Kinds of remedies, in the order in which they are shown; schemes of a person's own come last.
Group = Literal["bounds", "rebalance", "exact", "drop", "local", "own"]
SHOWN: tuple[str, ...] = get_args(Group)


@dataclass(frozen=True)
class Entry:
    """A scheme of a benchmark: its name, one of the groups `SHOWN`, and the keys that are set on a run.

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
        given = {"s": 1} | self.keys | dict.fromkeys(self.half, n // 2) | {"n": n}
        overrides = [f"{key}={spelled(value)}" for key, value in given.items()]
        run = Run.of(overrides, trains=False, checked=False, label=self.label, codes=codes)
        if run.config["bound"]:
            return run
        played = {"late": late} if chunks is None else {"late": late, "chunks": chunks}
        return replace(run, config=run.config | played)


def entries(named: Iterable[str | dict] | None = None) -> list[Entry]:
    """The schemes of a benchmark: all of conf/benchmark.yaml and who joins by itself, or those that are named.

    Named are labels of conf/benchmark.yaml, options of the group scheme, or mappings as they stand in that file.

    >>> [entry.label for entry in entries(["FRC, d = 2", "bgc", {"scheme": "cgc", "s": 3}])]
    ['FRC, d = 2', 'bgc', 'cgc s=3']
    """
    place = "conf/benchmark.yaml"
    listed = fitted(list[dict], read_yaml(conf_dir() / "benchmark.yaml").get("schemes", []), place)
    known = {entry.label: entry for entry in (_entry(keys, place) for keys in listed)}
    if named is None:
        said = {
            name: read_yaml(option_file("scheme", name)).get("benchmark", False) for name in options("scheme")
        }
        own = [name for name, joins in said.items() if fitted(bool, joins, f"{name}: benchmark")]
        return [*known.values(), *(Entry(name, "own", {"scheme": name}) for name in own)]
    found = []
    for one in named:
        if isinstance(one, dict):
            found.append(_entry(one, "schemes"))
        elif one in known:
            found.append(known[one])
        elif one in options("scheme"):
            found.append(Entry(one, "own", {"scheme": one}))
        else:
            raise UserError(unknown("scheme", one, [*known, *options("scheme")]))
    labels = [entry.label for entry in found]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise UserError(f"schemes: {twice[0]!r} stands twice; give one of them another label")
    return found


def _entry(keys: dict, place: str) -> Entry:
    """An entry as it is written."""
    if not isinstance(keys.get("scheme"), str):
        raise UserError(f"{place}: an entry names a scheme, got {keys}")
    of_entry = {name: keys[name] for name in ("label", "group", "half", "local_steps") if name in keys}
    more = [f"{key}={value}" for key, value in keys.items() if key not in ("scheme", *of_entry)]
    named = {"label": " ".join([keys["scheme"], *more]), "group": "own"}
    own = {key: value for key, value in keys.items() if key not in of_entry}
    return fill(Entry, named | of_entry | {"keys": own}, place)


def decided_by(named: Iterable[str | dict] | None) -> list[str]:
    """What the clocks of these schemes depend on, beside the times and the library: the values of their options."""
    keys, found = [key for key in STAGES["timeline"].keys if key != "delay"], []
    for entry in entries(named):
        config = entry.run(10).config
        said = [line for key in keys for line in values(config.get(key), key)]
        found += [f"{entry.label}: {line}" for line in (*said, str(entry))]
    return found
