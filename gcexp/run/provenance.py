"""Where a result came from: config, versions, commit, command and cost, beside the result."""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gcexp.files import written

_PACKAGES = (
    "gcexp",
    "numpy",
    "scipy",
    "torch",
    "scikit-learn",
    "pandas",
    "matplotlib",
    "snakemake",
    "hydra-core",
)


def provenance_file(output: Path | str) -> Path:
    """File beside `output` that tells where it came from."""
    output = Path(output)
    return output.with_name(f"{output.stem}.provenance.json")


@contextmanager
def recorded(output: Path | str, config: dict, **more) -> Iterator[dict]:
    """Write the provenance of `output` when the block ends well; the yielded dict takes further facts.

    The peak memory is that of the process: where the fork server ran the command,
    with all that it had imported.
    """
    wall, cpu, facts = time.time(), time.process_time(), dict(more)
    yield facts
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = {
        "config": config,
        "command": " ".join(["gcexp", *sys.argv[1:]]),
        "wall_s": round(time.time() - wall, 3),
        "cpu_s": round(time.process_time() - cpu, 3),
        "peak_memory_mib": peak_kib // 1024,
        "python": platform.python_version(),
        "versions": _versions(),
        **_commit(),
        **facts,
    }
    with written(provenance_file(output)) as temporary:
        temporary.write_text(json.dumps(record, indent=1, default=str) + "\n")


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> dict:
    def git(*arguments: str) -> str | None:
        try:
            ran = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
        return ran.stdout.strip()

    status = git("status", "--porcelain", "--untracked-files=no")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if status is None else bool(status)}


def finished_provenance(path: str | Path) -> dict:
    """Provenance of a finished file, empty where it has none."""
    file = provenance_file(path)
    return json.loads(file.read_text()) if file.is_file() else {}
