"""One scheme under one delay model, with or without a task, all its seeds: the unit of every job.

The path of a run is its overrides: a part of the path is a token, which is read back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from gcexp.errors import UserError
from gcexp.run import paths
from gcexp.run.compose import compose
from gcexp.run.options import read_value
from gcexp.schema import is_number, is_whole, quoted

# Of one run: a slip of the finger ends in a sentence, not in a full memory.
MOST_SEEDS, MOST_ITERATIONS = 100_000, 10**9
_LARGEST_SEED = 2**32 - 1
#: Parts of a run, and the group in which a token's bare keys live.
HOME = {"scheme": "code", "delay": "delay", "task": "task", "optimizer": "optimizer"}
PARTS = tuple(HOME)
_WRITTEN = re.compile(r"[A-Za-z0-9._\-/]+")


@dataclass(frozen=True)
class Run:
    """One scheme under one delay model, with or without a task, all its seeds: the unit of every job.

    `label` and `columns`, constant columns of its rows in a table, are the figure's and no part of the run itself.
    `seeds` is their name in file names: ``0-4``, or ``3`` for seed 3 alone.
    """

    label: str
    scheme: str | None
    delay: str | None
    task: str | None
    optimizer: str | None
    iterations: int
    horizon: float | None
    seeds: str
    columns: tuple[tuple[str, Any], ...] = ()

    @property
    def length(self) -> str:
        """``T600``, or ``T600-h0.8`` with a horizon."""
        return f"T{self.iterations}" + (f"-h{_spelled(self.horizon)}" if self.horizon else "")

    @property
    def id(self) -> str:
        """Name of the run in tables and in MLflow: the part of the path that all its files share."""
        parts = (self.task, self.optimizer, self.scheme, self.delay, self.length, f"seeds{self.seeds}")
        return "/".join(p for p in parts if p)

    @property
    def trajectory(self) -> str:
        """File of the trajectory; an exact one names no scheme, delay or horizon."""
        return self.file(paths.EXACT if self.exact else paths.APPROXIMATE)

    @property
    def verification(self) -> str | None:
        """File with the replay of an approximate training; None for an exact scheme, which tables replay."""
        return None if self.exact else self.file(paths.VERIFIED)

    def file(self, pattern: str) -> str:
        """A file of the run by its pattern in `gcexp.run.paths`."""
        return pattern.format(**vars(self), length=self.length)

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds themselves."""
        return seed_list(spelled_seeds(self.seeds))

    @property
    def inputs(self) -> list[str]:
        """Files that must exist before the run can stand in a table: none where nothing is trained."""
        if not self.task:
            return []
        return [self.trajectory, *([self.verification] if self.verification else [])]

    @property
    def replayed_on(self) -> list[str]:
        """Prepared data on which a table replays an exact scheme; none for any other run."""
        return [paths.DATA.format(dataset=self.config["task"]["dataset"])] if self.task and self.exact else []

    @cached_property
    def overrides(self) -> list[str]:
        """Hydra overrides of the whole run."""
        length = [f"iterations={self.iterations}", f"seeds={spelled_seeds(self.seeds)}"]
        length += [f"horizon={_spelled(self.horizon)}"] if self.horizon else []
        return [override for part in PARTS for override in self.overrides_of_part(part)] + length

    def overrides_of_part(self, part: str) -> list[str]:
        """Hydra overrides of scheme, delay, task or optimizer: the option, then the values set on it."""
        text = getattr(self, part)
        return overrides_of(part, text) if text else []

    @cached_property
    def config(self) -> dict:
        """Resolved config."""
        return composed(tuple(self.overrides))

    @property
    def exact(self) -> bool:
        """Whether the scheme declares that every coefficient is 1, so that it shares the exact trajectory."""
        return bool(self.config["exact"])


def _spelled(number: float) -> str:
    """Shortest text that is read back as the same number."""
    return repr(float(number)).removesuffix(".0")


@cache
def composed(overrides: tuple[str, ...]) -> dict:
    """Resolved config of some overrides, kept because many jobs share it: do not change it."""
    return compose(list(overrides))


def run_of_path(parts: dict[str, str], label: str = "") -> Run:
    """The run that a path's wildcards spell: scheme, delay, task, optimizer, length or iterations, seeds."""
    iterations, _, horizon = parts.get("length", f"T{parts.get('iterations')}")[1:].partition("-h")
    length = {"iterations": int(iterations), "horizon": float(horizon) if horizon else None}
    return Run(label, **{part: parts.get(part) for part in PARTS}, **length, seeds=parts["seeds"])  # type: ignore[arg-type]


def check_horizon(horizon: Any) -> float | None:
    """A horizon that is a simulated time, or None."""
    if horizon is not None and not (is_number(horizon) and 0 < horizon < float("inf")):
        raise UserError(f"horizon must be a simulated time > 0 or null, got {horizon!r}")
    return horizon


def check_count(key: str, value: Any, most: int = MOST_ITERATIONS) -> int:
    """An integer of at least 1."""
    if not is_whole(value) or value < 1:
        raise UserError(f"{key} must be an integer >= 1, got {value!r}")
    if value > most:
        raise UserError(f"{key} must be at most {most}, got {quoted(value)}")
    return value


def seed_list(seeds: object) -> tuple[int, ...]:
    """Seeds as a person names them, everywhere alike: how many, the first and the last, or a list without gaps.

    >>> seed_list(3), seed_list("2-4"), seed_list("3-3"), seed_list([3])
    ((0, 1, 2), (2, 3, 4), (3,), (3,))
    """
    if is_whole(seeds) and seeds >= 1:
        return tuple(range(check_count("seeds", seeds, MOST_SEEDS)))
    if isinstance(seeds, list | tuple | range):
        found = [*seeds[: MOST_SEEDS + 1]]
        if not found or not all(map(is_whole, found)) or found != [*range(found[0], found[0] + len(found))]:
            raise UserError(
                f"seeds must be consecutive whole numbers where they are listed, got {quoted(seeds)}"
            )
        return seed_list(f"{seeds[0]}-{seeds[-1]}")
    text = str(seeds)[:40] if isinstance(seeds, int | str) else ""
    span = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", text)
    first, last = map(int, span.groups()) if span else (0, -1)
    if last < first:
        alone = f"; seed {text} alone is {text}-{text}" if re.fullmatch("[0-9]{1,10}", text) else ""
        raise UserError(
            f"seeds must be a number of seeds >= 1 or a range such as 0-4, got {quoted(seeds)}{alone}"
        )
    if last > _LARGEST_SEED:
        raise UserError(f"seeds go up to {_LARGEST_SEED}, got {seeds!r}")
    if last - first >= MOST_SEEDS:
        raise UserError(f"seeds {seeds} are {last - first + 1} seeds (allowed: up to {MOST_SEEDS})")
    return tuple(range(first, last + 1))


def seed_range(seeds: object) -> str:
    """Name of some seeds in file names: the first and the last, or the only one."""
    found = seed_list(seeds)
    return f"{found[0]}-{found[-1]}" if len(found) > 1 else str(found[0])


def spelled_seeds(name: str) -> str:
    """What a person types for the seeds of a file name, where a number alone is one seed and not how many."""
    return name if "-" in name else f"{name}-{name}"


def token(group: str, option: str, values: dict[str, Any]) -> str:
    """Path element of an option and the values set on it; `overrides_of` is the inverse.

    A bare key lives in the group's home (``code`` for a scheme), a key with a leading dot is a shared one. In a value
    ``@`` stands for a slash; a comma makes a list, behind its element where that is the only one.

    >>> token("delay", "trace", {"delay.file": "times/a.csv", "delay.workers": [7, 8], "n": 2})
    'trace+.n@2+file@times@a.csv+workers@7,8'
    """
    parts = [option]
    for key in sorted(values):
        home, dot, rest = key.partition(".")
        short = f".{key}" if not dot else rest if home == HOME[group] and "." not in rest else key
        value = values[key]
        listed = isinstance(value, list)
        texts = [spelled(one) for one in (value if listed else [value])]
        text = ",".join(texts) + "," * (listed and len(texts) < 2)
        plain = all(map(_WRITTEN.fullmatch, texts))
        if not plain or repr(read_value(f"{key}={_typed(text)}")) != repr(value):
            raise UserError(
                f"{key}={quoted(value)} cannot stand in a file name; write an option file in conf/{group} instead"
            )
        parts.append(f"{short}@{text.replace('/', '@')}")
    return "+".join([parts[0], *sorted(parts[1:])])


def overrides_of(group: str, text: str) -> list[str]:
    """Hydra overrides of a token."""
    option, *rest = text.split("+")
    overrides = [f"{group}={option}"]
    for part in rest:
        key, _, value = part.partition("@")
        full = key[1:] if key.startswith(".") else key if "." in key else f"{HOME[group]}.{key}"
        overrides.append(f"{full}={_typed(value.replace('@', '/'))}")
    return overrides


def spelled(value: Any) -> str:
    """A plain value as it is typed."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _typed(text: str) -> str:
    """A value as an override spells it."""
    return f"[{text.removesuffix(',')}]" if "," in text else text
