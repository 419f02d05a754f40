"""The benchmarks' registry, table and command, and what they compare with; nothing is timed here."""

import sys

import numpy as np
import pytest

import benchmarks
from benchmarks import __main__ as command
from benchmarks import measure, peers, workflow
from gcexp.codes import CommunicationEfficient

PEER = {"peer": "10 ms", "peer_seconds": 0.01}
ROWS = [
    measure.Row("B0", "sum", 0.002, "<= 1.6 ms", 0.0016, (150, 200), floor=0.001, **PEER),
    measure.Row("B0", "wait, wall", 2.5, "< 2 s", holds=False, peer="1.5 s elsewhere", note="3 jobs"),
    measure.Row("B0", "no bar", 2.5),
]


@pytest.fixture
def rows(monkeypatch):
    """Rows of one registered benchmark that measures nothing."""
    found = list(ROWS)
    monkeypatch.setitem(benchmarks.MODULES, "B0", "peers")
    monkeypatch.setattr(peers, "b0", lambda: found, raising=False)
    return found


@pytest.mark.parametrize("id", benchmarks.MODULES)
def test_every_benchmark_says_what_it_measures(id):
    assert command.function(id).__doc__.startswith(f"{id}: ")


def test_table():
    lines = measure.table(ROWS).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == list(measure.HEADER)
    assert cells[2] == "B0;sum;10 ms;2 ms (150 MiB);5;1 ms;2;<= 1.6 ms;no;1.25".split(";")
    # A peer's number without the same work in the same unit gives no ratio.
    assert cells[3] == "B0;wait, wall;1.5 s elsewhere;2.5 s (3 jobs);-;-;-;< 2 s;no;-".split(";")
    assert cells[4][-2:] == ["-", "-"]


def test_the_command_prints_a_table(rows, capsys):
    assert command.main(["b0"]) == 0
    assert "| sum " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bar", "code"),
    [
        ({"ours": 0.0019, "limit": 0.001}, 0),
        ({"ours": 0.0021, "limit": 0.001}, 1),
        ({"ours": 0.0001, "memory": (199, 200)}, 0),
        ({"ours": 0.0001, "memory": (201, 200)}, 1),
    ],
)
def test_the_command_fails_far_over_a_bar(rows, capsys, bar, code):
    rows.append(measure.Row("B0", "product", bar=" ", **bar))
    assert command.main(["b0"]) == code
    assert ("B0, product" in capsys.readouterr().err) == bool(code)


def test_an_unknown_id_is_refused(capsys):
    assert command.main(["B11x"]) == 2
    assert "'B11X'" in (told := capsys.readouterr().err) and "B11" in told


def test_slow_ones_only_when_named(monkeypatch, capsys):
    def measured(*arguments):
        called.clear()
        assert command.main([*arguments]) == 0
        return called

    called = []
    monkeypatch.setattr(command, "function", lambda id: lambda: called.append(id) or [])
    assert set(measured()) == set(benchmarks.MODULES) - set(benchmarks.SLOW)
    assert measured("b12", "B1") == ["B1", "B12"]
    assert measured("--all") == list(benchmarks.MODULES)


def test_median_interleaves_after_a_warm_up():
    called = []
    assert len(measure.median_cpu(lambda: called.append("a"), lambda: called.append("b"), repeats=5)) == 2
    assert called == ["a", "b"] * 6


def test_a_process_is_measured_with_what_it_starts(refused, tmp_path):
    """Its own work and a child's; an exit code other than the one wanted is a mistake."""
    work = "import subprocess, sys, time\nwhile time.process_time() < .2: pass\nprint(len(sys.argv))\n"
    work += "sys.argv[1:] and subprocess.run([sys.executable, sys.argv[0]])"
    (tmp_path / "work.py").write_text(work)
    spent = measure.process(sys.executable, "work.py", "again", folder=tmp_path)
    assert 0.2 <= spent.cpu and 1 < spent.memory < 500 and spent.output.startswith("2")
    refused("3", measure.process, sys.executable, "-c", "raise SystemExit(3)")


def test_jobs_are_those_that_snakemake_lists():
    told = "Job stats:\njob      count\n-----  -------\ntable       3\ntotal      12\n\nbuilding\n"
    assert workflow.jobs(told) == 12 and workflow.jobs("Nothing to be done") == 0


def test_peers_are_given_the_right_answer():
    rows = np.array([[1.0, 1, 0], [2, 2, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]])
    assert peers.first_of_full_rank(rows, np.array([3.0, 1, 2, 5, 4])) == 4
    assert peers.first_of_full_rank(rows, np.arange(5.0)) == 3
    assert (peers.mean_errors("optimal") < peers.mean_errors("one_step")).all()
    responses = peers.patterns_without(5, [(0,), (3,)])
    assert responses.tolist() == [[0, 1, 1, 1, 1], [1, 1, 1, 0, 1]]

    class Off(CommunicationEfficient):
        def combine(self, sent, weights):
            return 1.5 * super().combine(sent, weights)

    gradients = np.random.default_rng(0).standard_normal((5, 7))  # 2 does not divide 7
    assert peers.worst_error(CommunicationEfficient(5, 3, 2), gradients, responses) < 1e-13
    assert peers.worst_error(Off(5, 3, 2), gradients, responses) == pytest.approx(0.5)
