"""Which data set has this name? One that the package knows, or one that an option file describes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.errors import UserError, unknown
from gcexp.files import read_json
from gcexp.run import paths
from gcexp.run.dependencies import stage_fingerprint
from gcexp.run.options import option_file, option_names
from gcexp.run.yaml_values import read_yaml

if TYPE_CHECKING:  # the dry run of a workflow asks only what a data set depends on
    from gcexp.data.described import Description
    from gcexp.data.sources import Source


def source_of(name: str) -> Source:
    """The data set of that name: one that the package knows, or one that an option file describes."""
    from gcexp.data.sources import SOURCES

    described = description_of(name)
    return SOURCES[name] if described is None else described.source(name)


def check_data_set(name: object) -> None:
    """Whether a data set is known, or well described and its file there, which is not read."""
    described = description_of(name)
    if described is not None:
        described.require_file()


def description_of(name: object) -> Description | None:
    """What an option file says of a data set; None of one that the package knows.

    Raises
    ------
    UserError
        For a name that nobody knows, and for a description that is wrong.
    """
    from gcexp.data import datasets
    from gcexp.data.described import Description
    from gcexp.data.sources import SOURCES
    from gcexp.schema import fill

    if not isinstance(name, str):
        raise UserError(f"task.dataset must be the name of a data set, got {name!r}")
    described = option_names("dataset")
    if name in SOURCES and name in described:
        raise UserError(
            f"{option_file('dataset', name)}: the package has a data set {name}; choose another name"
        )
    if name in SOURCES:
        return None
    if name not in described:
        raise UserError(unknown("data set", name, sorted({*datasets(), *described})))
    path = option_file("dataset", name)
    return fill(Description, read_yaml(path), str(path))


def has_labels(name: str) -> bool:
    """Whether the targets of a data set are classes and not real numbers; true for a name that nobody knows."""
    if name in option_names("dataset"):
        return read_yaml(option_file("dataset", name)).get("kind") != "real"
    from gcexp.data.sources import SOURCES

    return name not in SOURCES or SOURCES[name].classes is not None


def prepared_file(name: str, data_dir: str | None = None, home: bool = False) -> Path:
    """Array file of a data set as its option file and its raw file are now: prepared where it is missing or of others.

    With `home` it is kept among the user's caches where this folder has none of now. Projects may share a name, so the
    key is part of the file's.
    """
    from gcexp.data import prepare

    source = source_of(name)
    key = key_of(name, source)
    place = Path(paths.DATA.format(dataset=name))
    if home and not _is_of(place, key, source):
        import pooch

        place = Path(pooch.os_cache("gcexp")) / f"{name}-{key}.npz"
    if not _is_of(place, key, source):
        prepare(source, place, data_dir, key=key)
    return place


def fingerprint(name: str) -> list[str]:
    """What the prepared data depend on beside their raw files: code, and the values of the file that describes them."""
    described = {}
    if name in option_names("dataset"):
        described = {"dataset": read_yaml(option_file("dataset", name))}
    return stage_fingerprint("prepare", described)


def key_of(name: str, source: Source) -> str:
    """A name for all that decides the arrays of a data set."""
    raw = [file.sha256 for file in source.files]
    return hashlib.sha256(repr([*fingerprint(name), raw]).encode()).hexdigest()[:12]


def _is_of(place: Path, key: str, source: Source) -> bool:
    """Whether a prepared file is there and made of that; of a published data set one without a key is, too."""
    if not place.is_file():
        return False
    record = read_json(place.with_suffix(".json"))
    if not isinstance(record, dict):
        return False
    if "key" not in record:
        return not source.local
    return record["key"] == key
