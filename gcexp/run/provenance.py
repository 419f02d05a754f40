"""Where a result came from: config, versions, commit, command and cost, beside the result."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from gcexp.errors import DataError, UserError
from gcexp.files import read_json, written
from gcexp.run.dependencies import dotted_names
from gcexp.run.module_text import leads_to_own_module
from gcexp.run.records import version_of, versions_of

#: Distributions whose versions stand in every provenance.
_LIBRARIES = "gcexp numpy scipy torch scikit-learn pandas matplotlib snakemake hydra-core".split()


def provenance_file(output: Path | str) -> Path:
    """File beside `output` that tells where it came from."""
    output = Path(output)
    return output.with_name(f"{output.name.removesuffix('.gz').rpartition('.')[0]}.provenance.json")


@contextmanager
def write_provenance(output: Path | str, config: dict, **more) -> Iterator[dict]:
    """Write the provenance of `output` when the block ends well; the yielded dict takes further facts."""
    wall_start = time.time()
    cpu_start = time.process_time()
    facts = dict(more)
    yield facts
    if Path(output).is_file():
        facts["sha256"] = _sha256(output)
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = {
        "config": config,
        "command": " ".join(["gcexp", *sys.argv[1:]]),
        "wall_s": round(time.time() - wall_start, 3),
        "cpu_s": round(time.process_time() - cpu_start, 3),
        "peak_memory_mib": peak_kib // 1024,
        "python": platform.python_version(),
        "versions": versions(),
        **_commit(os.getcwd()),
        "packages": packages(dotted_names(config)),
        **facts,
    }
    with written(provenance_file(output)) as temporary:
        temporary.write_text(json.dumps(record, indent=1, default=str) + "\n")


def versions() -> dict[str, str]:
    """Versions of what decides a result, by package."""
    return versions_of(_LIBRARIES)


@cache
def _commit(folder: str | Path) -> dict:
    """Commit of a folder, and whether files in it differ from that commit; None where git does not know it."""
    command = ["git", "-C", str(folder), "status", "--porcelain=v2", "--branch"]
    # Untracked modules of a package run like the others. In the working folder untracked files are results.
    if str(folder) == os.getcwd():
        command.append("--untracked-files=no")
    else:
        command += ["--", str(folder)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return {"commit": None, "dirty": None}
    commit = "(initial)"
    is_dirty = False
    for line in ran.stdout.splitlines():
        if line.startswith("# branch.oid "):
            commit = line.split()[-1]
        if not line.startswith("# "):
            is_dirty = True
    if commit == "(initial)":
        return {"commit": None, "dirty": None}
    return {"commit": commit, "dirty": is_dirty}


def packages(dotted_names: Iterable[str] = ()) -> dict[str, dict]:
    """Version, commit, dirtiness (None where git does not know it) and content of this package and of a person's own.

    `dotted_names` are those of classes and functions. Foreign libraries stand among the versions instead.
    """
    names = {"gcexp"}
    for target in dotted_names:
        if leads_to_own_module(target):
            names.add(target.partition(".")[0])
    return {name: _package(name) for name in sorted(names)}


@cache
def _package(name: str) -> dict:
    """What is known about one package, or about a module outside of any package."""
    about: dict[str, Any] = {}
    version = version_of(name)
    if version:
        about["version"] = version
    spec = importlib.util.find_spec(name)
    assert spec is not None, name
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            digest.update(_line_of(file, folder))
    if not folders:
        module = Path(spec.origin or "")
        folder = module.parent
        digest.update(_line_of(module, folder))
    about |= _commit(folder)
    about["sha256"] = digest.hexdigest()
    return about


def _line_of(file: Path, folder: Path) -> bytes:
    """Name and content of a file in the digest of its package."""
    name = file.relative_to(folder).as_posix()
    return f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode()


def check_unchanged(path: str | Path) -> None:
    """Refuse a file that was edited after it was made; one without provenance is nobody's but the user's."""
    made = read_provenance(path).get("sha256")
    if made is not None and made != _sha256(path):
        raise DataError(
            f"{path} was changed after it was made: delete it and run again, or give the edited copy a name of its own"
        )


def _sha256(path: str | Path) -> str:
    is_packed = Path(path).suffix == ".gz"
    with gzip.open(path) if is_packed else open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_provenance(path: str | Path) -> dict:
    """Provenance of a finished file, empty where it has none."""
    file = provenance_file(path)
    if not file.is_file():
        return {}
    record = read_json(file)
    if not isinstance(record, dict):
        raise UserError(
            f"{file} is not a valid provenance file; delete it and rerun the job that creates {path}"
        )
    return record
