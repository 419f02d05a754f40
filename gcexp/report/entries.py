"""Which runs do the entries of a figure file stand for? Swept values, and stand-ins of a preset."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gcexp.errors import ExtraError, UserError, require_known, unknown
from gcexp.report.figure import FigureFile
from gcexp.report.placeholders import fill_in
from gcexp.run.compose import compose
from gcexp.run.option_checks import sentence_with_group
from gcexp.run.options import SHARED, Folders, option_file, search_path
from gcexp.run.run import Run
from gcexp.run.scheme import Codes
from gcexp.run.seeds import check_count, check_horizon, seed_range, spell_number, spell_seeds
from gcexp.run.tokens import PARTS, overrides_of, part_of, token
from gcexp.run.yaml_values import read_yaml
from gcexp.schema import fitted

#: What a legend says of a run that declares ``decodes: false``, unless its label does.
CLOCK_ONLY = "clock only"
RUN_KEYS = ("label", "iterations", "horizon", "seeds")


def runs_of(
    file: FigureFile, instead: dict[str, dict], checked: bool = True, codes: Codes | None = None
) -> Iterator[Run]:
    """The runs of a figure file, a swept entry once for each value; `instead` is of `substitutes`.

    `codes` are those of several figures, which often share them.
    """
    codes = codes or Codes()
    folders = search_path()
    entry_of: dict[str, int] = {}
    seen: set[tuple] = set()
    for number, entry in enumerate(file.runs):
        for keys in _expand_entry(file.common | entry, file.quick):
            keys = _substitute(keys, instead)
            run = run_of_keys(keys, checked=checked, codes=codes, folders=folders)
            row_key = (run.label, run.id, run.columns)
            first_entry = entry_of.setdefault(run.label, number)
            in_two_entries = first_entry != number and file.kind != "timings"
            if in_two_entries or row_key in seen:
                raise UserError(
                    f"label {run.label!r} stands twice; let it name a swept value, as in {{code.d}}"
                )
            seen.add(row_key)
            yield run


def _expand_entry(entry: dict, quick: dict) -> Iterator[dict]:
    """The keys of every run of an entry: each mapping under `each` in turn, and every value of a list."""
    common = dict(entry)
    mappings = common.pop("each", [{}])
    for own in fitted(list[dict], mappings, "each"):
        merged = common | own | quick
        lists = {}
        for key, values in merged.items():
            if isinstance(values, list):
                lists[key] = values
        for key, values in lists.items():
            if not values:
                raise UserError(f"{key}: the list of values to sweep is empty")
        for combination in itertools.product(*lists.values()):
            yield merged | dict(zip(lists, combination, strict=True))


def _substitute(keys: dict, instead: dict[str, dict]) -> dict:
    """The keys of a run with the options that a preset puts in the place of others."""
    found = dict(keys)
    for part, substitute_of in instead.items():
        option = keys.get(part)
        if isinstance(option, str):
            found[part] = substitute_of.get(option, option)
    return found


def run_of_keys(
    keys: dict[str, Any], *, checked: bool = True, codes: Codes | None = None, folders: Folders | None = None
) -> Run:
    """One run of its keys, as they stand in a figure file; `checked`, `codes` and `folders` as of `Run.of`."""
    keys = {str(key): value for key, value in keys.items()}
    _require_keys(keys)
    overrides = _overrides_of_keys(keys)
    trains = any(text.startswith("task=") for text in overrides)
    run = Run.of(overrides, trains=trains, checked=False, codes=codes, folders=folders)
    _ = run.id  # keys whose values can stand in no file name are refused
    columns = _own_columns(keys, run)
    run = replace(run, label=_label(keys, run), columns=columns)
    if checked:
        _check(run)
    return run


def _own_columns(keys: dict[str, Any], run: Run) -> tuple[tuple[str, Any], ...]:
    """Name and value of each column of the figure's own, ``columns.NAME`` among the keys."""
    columns = []
    for key, value in keys.items():
        if key.startswith("columns."):
            fitted(str | int | float | bool | None, value, key)
            name = key.removeprefix("columns.")
            columns.append((name, fill_in(value, run.config, key)))
    return tuple(columns)


def _label(keys: dict[str, Any], run: Run) -> str:
    """The label of a run, which says so where the run can only be timed."""
    label = str(fill_in(str(keys["label"]), run.config, "label"))
    only_timed = not run.decodes and not run.config["bound"]
    if only_timed and CLOCK_ONLY not in label:
        return f"{label}, {CLOCK_ONLY}"
    return label


def _require_keys(keys: dict[str, Any]) -> None:
    """Refuse a run without a name or a part, and parts that are no options."""
    lacking = [key for key in ("label", "scheme", "delay", "iterations", "seeds") if key not in keys]
    if lacking:
        raise UserError(f"a run lacks {', '.join(lacking)} (given: {', '.join(keys)})")
    if not isinstance(keys["label"], str | int | float) or keys["label"] == "":
        raise UserError(f"label must be text, got {keys['label']!r}")
    for part in PARTS:
        if part in ("scheme", "delay") or keys.get(part) is not None:
            option = fitted(str, keys[part], part)
            if not option.isidentifier():  # any other unknown name is refused where it is composed
                option_file(part, option)


def _overrides_of_keys(keys: dict[str, Any]) -> list[str]:
    """Hydra overrides of a run of a figure file, in the order of its path."""
    options = {part: keys[part] for part in PARTS if keys.get(part)}
    if "task" in options:
        options.setdefault("optimizer", "gradient_descent")
    values: dict[str, dict[str, Any]] = {part: {} for part in options}
    for key, value in keys.items():
        if key in RUN_KEYS or key in PARTS or key.startswith("columns."):
            continue
        part = part_of(key)
        if part not in PARTS:
            raise UserError(_no_key_of_a_run(key, options))
        if part in values:
            values[part][key] = value
    overrides = []
    for part, option in options.items():
        overrides += overrides_of(part, token(part, option, values[part]))
    overrides.append(f"iterations={check_count('iterations', keys['iterations'])}")
    overrides.append(f"seeds={spell_seeds(seed_range(keys['seeds']))}")
    horizon = check_horizon(keys.get("horizon"))
    if horizon is not None:
        overrides.append(f"horizon={spell_number(horizon)}")
    return overrides


def _no_key_of_a_run(key: str, options: dict[str, Any]) -> str:
    """The sentence about a key that no run of these options has."""
    config = compose([f"{part}={option}" for part, option in options.items()])
    known = [*RUN_KEYS, *PARTS, *SHARED, "code.KEY", "delay.KEY", "columns.NAME"]
    return sentence_with_group(config, key) or unknown("run key", key, known)


def _check(run: Run) -> None:
    """Build the parts of a run; what an absent extra would build, the job that needs it will."""
    try:
        run.check()
    except ExtraError:
        return
    except UserError as error:
        sentence = str(error)
        if not sentence.startswith(f"{run.label}: "):
            sentence = f"run {run.label!r}: {sentence}"
        raise type(error)(sentence) from None
    run.release()


def substitutes(preset: str) -> dict[str, dict]:
    """What a preset puts in the place of options, by group; a project adds to ours."""
    place = f"conf/preset/{preset}.yaml"
    found: dict[str, dict[str, str]] = {}
    folders = search_path()
    for folder in folders:
        path = Path(folder, "preset", f"{preset}.yaml")
        if not path.is_file():
            continue
        given = fitted(dict[str, dict[str, str]], read_yaml(path), place)
        for group, replaced in given.items():
            found[group] = found.get(group, {}) | replaced
    for part, replaced in found.items():
        require_known("group", part, PARTS, place)
        for option in replaced.values():
            option_file(part, option, folders)
    return found
