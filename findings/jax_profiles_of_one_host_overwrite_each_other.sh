#!/usr/bin/env bash
# JAX: the profiles of two processes on one host that end in the same second are written to the same files.
#
# A profile is named after the second and the host, not after the process. Where several ranks of a host write to one
# folder, as they do where the code names it, all but one profile are lost, and it is not told which one is left. Each
# process needs a folder of its own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder" OMP_NUM_THREADS=1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile jax==0.10.2
cat > "$folder/run.py" <<'PYTHON'
import subprocess
import sys
import tempfile
from pathlib import Path

RANK = """
import pathlib, sys, time, jax, jax.numpy as jnp
folder, ready, rank = sys.argv[1:]
jax.profiler.start_trace(folder)
jnp.ones(10).sum().block_until_ready()
pathlib.Path(ready, rank).touch()
while len(list(pathlib.Path(ready).iterdir())) < 2:
    time.sleep(0.01)
time.sleep(1.1 - time.time() % 1)  # both end just after a second began
jax.profiler.stop_trace()
"""


def ends(same):
    print("as described" if same else "CHANGED")
    sys.exit(not same)


if __name__ == "__main__":
    import jax

    counts = []
    for _ in range(8):  # on a busy machine the two may end in different seconds
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as ready:
            command = [sys.executable, "-c", RANK, folder, ready]
            ranks = [subprocess.Popen([*command, str(rank)], stderr=subprocess.DEVNULL) for rank in range(2)]
            if any(rank.wait() for rank in ranks):
                sys.exit("a process failed")
            files = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*.xplane.pb"))
            counts.append(len(files))
            print(f"jax {jax.__version__}: two processes wrote {len(files)} profile(s)", *files)
        if counts[-1] == 1:
            break
    ends(min(counts) == 1)
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
