"""Which runs do the entries of a figure file stand for? Swept values, and stand-ins of a preset."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gcexp.errors import UserError, require_known, unknown
from gcexp.report.figure import FigureFile
from gcexp.report.placeholders import filled
from gcexp.run.compose import compose, of_a_group
from gcexp.run.options import SHARED, option_file, options, read_yaml, search_dirs
from gcexp.run.run import PARTS, Run, check_count, check_horizon, seed_range, token
from gcexp.run.scheme import require_trainable
from gcexp.schema import fitted

RUN_KEYS = ("label", "iterations", "horizon", "seeds")


def runs_of(file: FigureFile, instead: dict[str, dict]) -> Iterator[Run]:
    """The runs of a figure file, a swept entry once for each value; `instead` is of `substitutes`."""
    entry_of: dict[str, int] = {}
    seen: set[tuple] = set()
    for number, entry in enumerate(file.runs):
        for keys in _swept(file.common | entry, file.quick):
            for part, replaced in instead.items():
                if isinstance(keys.get(part), str):
                    keys[part] = replaced.get(keys[part], keys[part])
            run = run_of_keys(keys)
            first = entry_of.setdefault(run.label, number)
            if (file.kind != "timings" and first != number) or (run.label, run.id, run.columns) in seen:
                raise UserError(
                    f"label {run.label!r} stands twice; let it name a swept value, as in {{code.d}}"
                )
            seen.add((run.label, run.id, run.columns))
            yield run


def _swept(entry: dict, quick: dict) -> Iterator[dict]:
    """The keys of every run of an entry: each mapping under `each` in turn, and every value of a list."""
    for one in fitted(list[dict], entry.get("each", [{}]), "each"):
        merged = {k: v for k, v in entry.items() if k != "each"} | one | quick
        swept = [k for k, v in merged.items() if isinstance(v, list)]
        if empty := [k for k in swept if not merged[k]]:
            raise UserError(f"{empty[0]}: the list of values to sweep is empty")
        for chosen in itertools.product(*(merged[k] for k in swept)):
            yield merged | dict(zip(swept, chosen, strict=True))


def run_of_keys(keys: dict[str, Any]) -> Run:
    """One run of its keys, as they stand in a figure file."""
    keys = {str(key): value for key, value in keys.items()}
    own = {k.removeprefix("columns."): keys.pop(k) for k in list(keys) if k.startswith("columns.")}
    lacking = [k for k in ("label", "scheme", "delay", "iterations", "seeds") if k not in keys]
    if lacking:
        raise UserError(f"a run lacks {', '.join(lacking)} (given: {', '.join(keys)})")
    if not isinstance(keys["label"], str | int | float) or keys["label"] == "":
        raise UserError(f"label must be text, got {keys['label']!r}")
    for part in PARTS:
        if part in ("scheme", "delay") or keys.get(part) is not None:
            require_known(part, keys[part], options(part))
    values: dict[str, dict] = {part: {} for part in PARTS}
    for key, value in keys.items():
        if key in RUN_KEYS or key in PARTS:
            continue
        group = key.partition(".")[0]
        owner = "scheme" if group in ("code", "wait", "placement", "loads") or key in SHARED else group
        if owner not in values:
            config = compose([f"{part}={keys[part]}" for part in PARTS if keys.get(part)])
            known = [*RUN_KEYS, *PARTS, *SHARED, "code.KEY", "delay.KEY", "columns.NAME"]
            raise UserError(of_a_group(config, key) or unknown("run key", key, known))
        values[owner][key] = value
    tokens = {part: token(part, keys[part], values[part]) if keys.get(part) else None for part in PARTS}
    if tokens["task"] and not tokens["optimizer"]:
        tokens["optimizer"] = token("optimizer", "gradient_descent", values["optimizer"])
    run = Run(
        "",
        tokens["scheme"],
        tokens["delay"],
        tokens["task"],
        tokens["optimizer"],
        iterations=check_count("iterations", keys["iterations"]),
        seeds=seed_range(keys["seeds"]),
        horizon=check_horizon(keys.get("horizon")),
    )
    if run.task:
        require_trainable(run.config)
    for name, value in own.items():
        fitted(str | int | float | bool | None, value, f"columns.{name}")
    columns = tuple((name, filled(value, run.config, f"columns.{name}")) for name, value in own.items())
    return replace(run, label=str(filled(str(keys["label"]), run.config, "label")), columns=columns)


def substitutes(preset: str) -> dict[str, dict]:
    """What a preset puts in the place of options, by group; a project adds to ours."""
    place = f"conf/preset/{preset}.yaml"
    found: dict[str, dict[str, str]] = {}
    for path in (folder / "preset" / f"{preset}.yaml" for folder in search_dirs()):
        given = fitted(dict[str, dict[str, str]], read_yaml(path), place) if path.is_file() else {}
        for group, replaced in given.items():
            found[group] = found.get(group, {}) | replaced
    for part, replaced in found.items():
        require_known("group", part, PARTS, place)
        for option in replaced.values():
            option_file(part, option)
    return found
