#!/usr/bin/env bash
# MLflow: of equal values of a metric in one step and one millisecond a database keeps one, a folder of files keeps all,
# and MLflow's own migration from the folder to the database ends with an error.
#
# Times of workers have few digits and are often logged together, as one metric with a value for each worker: a batch has
# one time stamp. The database's key of a value is its name, time stamp, step, run and the value itself, so that workers
# that took equally long become one. The mean over workers, their number and every quantile are then wrong, without a
# word. Name a metric after its worker, or give each value a time stamp of its own. `mlflow migrate-filestore`, which
# MLflow recommends where it refuses to open a folder of files, does not carry such a folder over.
#
# Seen with mlflow 3.17.2: [0.25, 0.25, 0.25, 0.5] in the folder, [0.25, 0.5] in the database, IntegrityError in between.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder" OMP_NUM_THREADS=1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile mlflow==3.17.2
cat > "$folder/run.py" <<'PYTHON'
import os
import subprocess
import sys
import time
from importlib.metadata import version

os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # without it MLflow refuses a folder of files

from mlflow import MlflowClient
from mlflow.entities import Metric

TIMES = [0.25, 0.25, 0.25, 0.5]  # of four workers in one step


def kept(uri):
    """The values that a store gives back after one batch of them."""
    client = MlflowClient(tracking_uri=uri)
    run = client.create_run(client.create_experiment("workers")).info.run_id
    now = int(time.time() * 1000)
    client.log_batch(run, metrics=[Metric("time", value, now, step=0) for value in TIMES])
    return sorted(metric.value for metric in client.get_metric_history(run, "time"))


if __name__ == "__main__":
    print("mlflow", version("mlflow"))
    in_files = kept("file:files")
    in_database = kept("sqlite:///database.db")
    command = [sys.executable, "-m", "mlflow", "migrate-filestore", "--source", "files", "--target", "sqlite:///moved.db"]
    migration = subprocess.run(command, capture_output=True, text=True)
    error = "IntegrityError" if "IntegrityError" in migration.stderr else ""
    print(f"logged {TIMES}; the folder has {in_files}, the database {in_database}")
    print(f"migrate-filestore: exit code {migration.returncode} {error}")
    same = in_files == TIMES and in_database == [0.25, 0.5] and migration.returncode != 0 and error
    print("as described" if same else "CHANGED")
    sys.exit(not same)
PYTHON
cd "$folder"
venv/bin/python -W ignore run.py 2> errors.txt || { tail -5 errors.txt; exit 1; }
