"""`gcexp trace check` says of the workers what `gcexp fit` says, and tells what phi takes for granted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.command.main import main
from gcexp.errors import DataError, UserError
from gcexp.traces.places import located
from gcexp_adviser.diagnosis.check import report

TRACES = sorted(path.stem for path in Path(__file__).parents[2].glob("data/traces/*.csv"))


@pytest.mark.parametrize("name", TRACES)
def test_check_and_fit_agree_on_every_bundled_trace(name):
    told = report(name)
    try:
        sentences = gcexp.fit(name).sentences
    except UserError as error:
        sentences = [str(error)]
    assert all(sentence in told for sentence in sentences)


def test_the_worker_that_is_slowest_in_most_iterations_is_named():
    assert "worker 5 is the slowest in 97 % of the iterations" in report("pai-job2")
    assert "worker 5 has been 4.24 times slower since iteration 1872" in report("pai-job4")


def test_of_few_workers_nobody_is_called_slow():
    x = np.exp(0.1 * np.random.default_rng(0).standard_normal((100, 4)))
    x[:, 1] *= 3
    assert "worker 1 is slow" in report(x) and "nobody can be called slow" not in report(x)
    assert "nobody can be called slow" in report(x[:, :3]) and "worker 1 is slow" not in report(x[:, :3])


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_the_slow_worker_is_named_by_its_name(share):
    draw = np.random.default_rng(3)
    x = np.exp(0.1 * draw.standard_normal((200, 10)))
    assert "node3" not in report(_frame(x)).partition("workers: ")[2].partition("\n")[2]
    x[draw.random(200) < share, 3] *= 2
    assert "node3" in report(_frame(x)).partition("workers: ")[2].partition("\n")[2]


def _frame(x):
    iteration, worker = np.indices(x.shape).reshape(2, -1)
    names = [f"node{number}" for number in worker]
    return pd.DataFrame({"iteration": iteration, "worker": names, "time": x.ravel()})


def test_the_command_says_what_phi_takes_for_granted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(6)
    x = 1 + draw.exponential(size=(60, 4))
    iteration, worker = np.indices(x.shape).reshape(2, -1)
    times = pd.DataFrame({"iteration": iteration, "worker": worker, "time": x.ravel()})
    for table, named in (
        (times, ("delay.phi=0",)),
        (times[:80], ("20 iterations are too few",)),
        (times.assign(compute=times["time"] / 4), ("25%", "column compute")),
    ):
        table.to_csv("trace.csv", index=False)
        assert main(["trace", "check", "trace.csv"]) == 0
        said_of = capsys.readouterr().out
        assert all(part in said_of for part in named)


def test_a_file_one_letter_off_names_the_nearest_beside_it(tmp_path):
    (tmp_path / "measured.csv").write_text("iteration,worker,time\n0,0,1\n")
    with pytest.raises(DataError, match="did you mean 'measured'"):
        located(tmp_path / "meazured.csv")
