"""Where every file lies that a rule or a command makes: these patterns stand here and nowhere else.

Rules fill in the names by what is asked for, a run and a figure by what they are.
"""

from __future__ import annotations

#: A part of a path that says what is run: letters, digits and a few signs, nothing that a shell reads.
NAME = r"[A-Za-z0-9_.@+,-]+"

DATA = "data/prepared/{dataset}.npz"
DATA_RECORD = "data/prepared/{dataset}.json"
#: Every coefficient is 1: no scheme, delay model or horizon is in it.
EXACT = "results/trajectory/{task}/{optimizer}/exact/T{iterations}/seeds{seeds}.npz"
APPROXIMATE = "results/trajectory/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.npz"
#: The replay of an approximate scheme, by the job that trained it.
VERIFIED = "results/trajectory/{task}/{optimizer}/{scheme}/{delay}/{length}/seeds{seeds}.verified.json"

#: States of trainings.
CHECKPOINTS = "results/checkpoints"
#: What a sweep that was interrupted goes on from: states of its trainings, clocks that took time. Deleted at its end.
SWEPT = f"{CHECKPOINTS}/sweep/{{point}}.npz"
#: A sweep that is submitted: its plan, files of measured points, and trainings that points share.
SWEEP_PLAN = "results/sweep/plan/{name}.json"
SWEEP_POINT = "results/sweep/point/{name}.columns"
SWEEP_TRAINING = "results/sweep/training/{task}/{name}.npz"
#: Written at the end of a job that measures several points, without and with trainings of their own.
SWEEP_POINTS = "results/sweep/points/{name}.json"
SWEEP_TRAINED_POINTS = "results/sweep/trained_points/{task}/{name}.json"
#: What a job read, by its first file.
RECORD = "results/records/{output}.json"
#: Results of ``gcexp run``, a folder for each.
RUNS = "results/run"

REPORT = "reports/{preset}"
TABLE = f"{REPORT}/data/{{target}}.csv"
DRAWN = (f"{REPORT}/figures/{{target}}.pdf", f"{REPORT}/figures/{{target}}.png")
TYPESET = (f"{REPORT}/tables/{{target}}.md", f"{REPORT}/tables/{{target}}.tex")
PAGE = f"{REPORT}/index.html"
#: A page with one figure alone.
FIGURE_PAGE = f"{REPORT}/{{target}}.html"
#: What was committed of the paper preset: the same folders.
PUBLISHED = REPORT.format(preset="published")
#: What was imported into MLflow: of everything, and of one figure or one paper.
IMPORTED = "results/mlflow/{preset}.imported"
IMPORTED_PART = "results/mlflow/{preset}/{part}.imported"
TRACKED = "results/mlflow/mlflow.db"
#: Where jobs write.
WRITTEN = ("results", "reports", "data/prepared")


def log(pattern: str) -> str:
    """Log file of the rule whose first file is `pattern`.

    >>> log(TABLE), log(DATA)
    ('logs/{preset}/data/{target}.log', 'logs/prepared/{dataset}.log')
    """
    return f"logs/{_inside(pattern)}.log"


def _inside(pattern: str) -> str:
    return pattern.partition("/")[2].rpartition(".")[0]
