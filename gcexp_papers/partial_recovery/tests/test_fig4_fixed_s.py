"""Fig. 4, panel 1 of the partial-recovery paper: checks 14 and 17 on the runs of the figure files."""

from __future__ import annotations

import pytest

from gcexp.data import prepare
from gcexp.report import figurefile
from gcexp.report.claims import check
from gcexp.report.table import assemble
from gcexp.run.stages import length_of, run_training, run_verification, simulated


@pytest.mark.slow
def test_mean_times_and_fractions_are_the_expected_ones(tmp_path, monkeypatch):
    figure = figurefile.figure("partial_recovery_fig4_fixed_s_timing", "paper")
    assert all(run.config["delay"]["persistence"] == 1 for run in figure.runs)
    assert min(run.iterations * len(run.seed_list) for run in figure.runs) >= 4000
    monkeypatch.chdir(tmp_path)
    entries = check(figure.file.claims, assemble(figure)[0], figure.paper, figure.name)
    assert len(entries) == 35
    assert [entry["id"] for entry in entries if entry["outcome"] != "holds"] == []


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    prepare("digits", folder / "data/prepared/digits.npz")
    return folder


@pytest.mark.parametrize(
    "label", [run.label for run in figurefile.figure("partial_recovery_fig4_fixed_s", "quick").runs]
)
def test_the_true_path_gives_the_masked_gradient(label, digits, tmp_path, monkeypatch):
    """Check 17: encode, drop, decode in float64 against the weighted pass, for every scheme of the figure."""
    (run,) = [
        run for run in figurefile.figure("partial_recovery_fig4_fixed_s", "quick").runs if run.label == label
    ]
    config = run.config | {"iterations": 3, "horizon": None, "seeds": "0-1"}
    config["task"] = config["task"] | {"verify_every": 1}
    monkeypatch.chdir(digits)
    timeline = simulated(config, length_of(config))
    trajectory = run_training(config, tmp_path / "trajectory.npz", None if config["exact"] else timeline)
    found = run_verification(config, timeline, trajectory, tmp_path / "v.json")
    assert found["passed"] and len(found["checks"]) == 6
    assert found["decoded_error"] < 1e-9 and found["weighted_error"] < 1e-5
