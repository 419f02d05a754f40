"""The benchmarks' registry, table and command; nothing is timed here."""

import importlib
import importlib.util
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # the command sets them
        monkeypatch.setenv(name, "1")
    return importlib.import_module("benchmarks")


@pytest.fixture
def measure(package):
    return importlib.import_module("benchmarks.measure")


@pytest.fixture
def command(package):
    return importlib.import_module("benchmarks.__main__")


@pytest.fixture
def fake(package, measure, monkeypatch):
    """One registered benchmark that measures nothing."""
    rows = [
        measure.Row("B0", "sum", 0.002, "ours / floor <= 2", True, "10 ms", 0.010, 0.001, "error 0", 0.0016),
        measure.Row("B0", "wait, wall", 2.5, "< 2 s", False, peer="1.5 s elsewhere"),
    ]
    module = types.ModuleType("fake_benchmark")
    module.run = lambda: rows
    monkeypatch.setitem(sys.modules, "fake_benchmark", module)
    monkeypatch.setitem(package.REGISTRY, "B0", "fake_benchmark")
    return rows


@pytest.fixture(autouse=True)
def _no_work(measure, monkeypatch):
    """The fixed piece of work takes half a second."""
    monkeypatch.setattr(measure, "median_cpu", lambda *calls, repeats=7: [0.5] * len(calls))


def test_every_benchmark_can_be_run(package):
    for module in package.REGISTRY.values():
        assert callable(importlib.import_module(module).run)


def test_every_registered_module_says_what_it_measures(package):
    for id, name in package.REGISTRY.items():
        found = importlib.util.find_spec(name)
        source = Path(found.origin).read_text(encoding="utf-8")
        assert source.startswith(f'"""{id}: ') or f" {id}: " in source.split("\n\n")[0], name
        assert "def run() -> list[Row]:" in source, name
    assert set(package.SLOW) < set(package.REGISTRY)


def test_table(fake, measure):
    lines = measure.table(fake).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == list(measure.HEADER)
    assert cells[2] == "B0,sum,10 ms,2 ms (error 0),5,1 ms,2.00,ours / floor <= 2,yes,1.25,-".split(",")
    # A peer's number without the same work in the same unit gives no ratio.
    assert cells[3] == "B0;wait, wall;1.5 s elsewhere;2.5 s;-;-;-;< 2 s;no;-;-".split(";")
    assert len({len(line) for line in lines}) == 1


def test_command_prints_and_writes(fake, command, measure, tmp_path, capsys):
    assert command.main(["b0", "--json", str(tmp_path / "rows.json")]) == 0
    printed = capsys.readouterr().out
    assert (
        "| sum " in printed and "| 500 ms * |" in printed and printed.endswith(f"\n\n{measure.CALIBRATED}\n")
    )
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["over_floor"] for row in rows] == [2.0, 5.0]
    assert [row["calibrated"] for row in rows] == [False, True]
    assert [row["speedup"] for row in rows] == [5.0, None]
    assert [row["over_limit"] for row in rows] == [pytest.approx(1.25), None]


def test_the_command_fails_where_cpu_seconds_are_over_twice_a_bar(fake, command, measure, capsys):
    assert command.main(["b0"]) == 0
    fake.append(measure.Row("B0", "product", 0.0021, "< 1 ms", False, limit=0.001))
    assert command.main(["b0"]) == 1
    assert capsys.readouterr().err.endswith("benchmarks: B0, product: 2.1 times its bar\n")


@pytest.mark.parametrize("mebibytes", [199, 201])
def test_the_command_fails_where_memory_is_over_its_bar(fake, command, measure, capsys, mebibytes):
    fake.append(measure.Row("B0", "keep", 0.0015, "<= 200 MiB", limit=0.001, memory=(mebibytes, 200)))
    assert command.main(["b0"]) == (mebibytes > 200)
    said = capsys.readouterr()
    assert f"| {mebibytes / 200:.2f} " in said.out
    assert said.err.endswith("benchmarks: B0, keep: 1.00 times its memory\n") == (mebibytes > 200)


def test_b14_and_b17_do_what_they_say(package, monkeypatch):
    clock = importlib.import_module(package.REGISTRY["B14"])
    for scheme, _, _ in clock.CASES.values():
        assert clock.run_clock(scheme, clock.ShiftedExponential(), (0,), 3).duration.shape == (1, 3)
    sweep = importlib.import_module(package.REGISTRY["B17"])
    assert len(sweep.points()) == 1000 and {scheme.code.n for scheme in sweep.points()} == {*sweep.GRID["n"]}


def test_registry_is_in_order(package):
    assert list(package.REGISTRY) == sorted(package.REGISTRY, key=lambda id: int(id[1:]))


def test_b2_compares_both_decoders_on_the_same_patterns(package, monkeypatch):
    module = importlib.import_module(package.REGISTRY["B2"])
    monkeypatch.setattr(module, "GRAPHS", 2)
    monkeypatch.setattr(module, "PATTERNS", 5)
    responses = module.patterns()
    assert responses.shape == (5, 5, 50)
    assert (50 - responses.sum(-1)).tolist() == [5 * [s] for s in module.STRAGGLERS]
    one_step, optimal = module.study()
    assert (optimal < one_step).all() and (module.study(("optimal",)) == optimal).all()


def test_b6_knows_the_answer(package):
    module = importlib.import_module(package.REGISTRY["B6"])
    rows = np.array([[1.0, 1, 0], [2, 2, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]])
    assert module.from_scratch(rows, np.array([3.0, 1, 2, 5, 4])) == 4
    assert module.from_scratch(rows, np.arange(5.0)) == 3


def test_b7_measures_the_decoded_sum(package):
    module = importlib.import_module(package.REGISTRY["B7"])
    responses = module.straggling(5, [(0,), (3,)])
    assert responses.tolist() == [[0, 1, 1, 1, 1], [1, 1, 1, 0, 1]]
    gradients = np.random.default_rng(0).standard_normal((5, 7))  # 2 does not divide 7
    code = module.CommunicationEfficient(5, 3, 2)
    assert module.worst_error(code, gradients, responses) < 1e-13

    class Off(module.CommunicationEfficient):
        def combine(self, sent, weights):
            return 1.5 * super().combine(sent, weights)

    assert module.worst_error(Off(5, 3, 2), gradients, responses) == pytest.approx(0.5)


def test_unknown_id_is_one_sentence(command, capsys):
    assert command.main(["B11x"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("benchmarks: unknown benchmark 'B11X'; did you mean 'B1")
    assert said.err.count("\n") == 1 and not said.out


def test_slow_ones_only_when_named(package, command):
    assert not set(command.chosen([])) & set(package.SLOW)
    assert command.chosen(["b12"]) == ["B12"]
    assert command.chosen(["B5", "B1"]) == ["B1", "B5"]
    assert command.chosen([], everything=True) == list(package.REGISTRY)


def test_median_interleaves_after_a_warm_up(measure, monkeypatch):
    monkeypatch.undo()
    called = []
    assert len(measure.median_cpu(lambda: called.append("a"), lambda: called.append("b"), repeats=5)) == 2
    assert called == ["a", "b"] * 6
