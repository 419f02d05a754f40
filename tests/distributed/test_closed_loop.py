"""The example that records, predicts, runs and compares."""

import re
from pathlib import Path

import pytest

from gcexp_adviser.logs.reading import trace_of
from tests.conftest import Project, skip_where_busy, write_files

ROOT = Path(__file__).resolve().parents[2]
# It leaves its folder, where the test looks at what ranks have recorded.
KEPT = """
import contextlib, tempfile
tempfile.TemporaryDirectory = lambda: contextlib.nullcontext("kept")
"""


@pytest.mark.slow
def test_the_example_records_predicts_and_measures(tmp_path):
    """How near both are depends on the machine: test_same_phi.py holds the prediction against recorded numbers."""
    example = ROOT / "examples" / "closed_loop.py"
    assert len(example.read_text().splitlines()) <= 110
    project = Project(tmp_path).guarded()
    write_files(tmp_path, {".guard/sitecustomize.py": KEPT, "kept/empty": ""})
    code, said = project.begin(str(example)).ended()
    last = (said.splitlines() or [""])[-1]
    line = r"coded/uncoded: predicted ([\d.]+), measured ([\d.]+), within 10 %: (yes|no|void: .+)"
    found = re.fullmatch(line, last)
    assert found, said
    predicted, measured, verdict = float(found[1]), float(found[2]), found[3]
    assert code == {"yes": 0, "no": 1}.get(verdict, 3)
    assert 0 < predicted and 0 < measured
    if verdict == "yes":
        assert predicted / measured == pytest.approx(1, abs=0.105)  # of rounded numbers
    recorded = trace_of(tmp_path / "kept/uncoded.csv").values
    assert recorded["time"].shape[1] == 4 and {*recorded["load"].flat} == {0.5, 1.0}
    # No machine sleeps shorter than it is told: (FIXED + SHARE * load) * slowness of the example.
    assert (recorded["time"] >= (0.02 + 0.03 * recorded["load"]) * 0.9).all()
    if verdict != "yes":
        skip_where_busy(last)
