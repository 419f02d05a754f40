"""The table behind a figure, from what its kind asks for: its runs, or its analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcexp.report.analysis_table import analysis_table
from gcexp.report.run_table import table_of_runs
from gcexp.run.trainings import StoredTrainings
from gcexp.run.verification import largest_errors

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.report.figure import Figure


def assemble(figure: Figure) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Table of a figure, and the largest errors that the replays of its trained runs found, by the runs' names.

    Trajectories are read: `Figure.inputs` must be there.
    """
    if figure.file.kind == "analysis":
        return analysis_table(figure), {}
    frame, reports = table_of_runs(figure, StoredTrainings())
    return frame, {run: largest_errors(report) for run, report in reports.items()}
