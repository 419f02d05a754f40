"""Files of measured points: what comes back, what makes which point old, what damage costs, when a point is on disk."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from gcexp import submission
from gcexp.errors import DataError
from gcexp.files import used
from gcexp.run import point_files
from gcexp.run.point_files import Measured, PointFiles, PointWriter
from gcexp.run.records import collect_reads
from gcexp.submission import Point, measure_points


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with two files, and no measured points."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        Path(name).write_text("1\n")


def written(points):
    """Write points, each of one number, that read some files; how many files there are then."""
    writer = PointWriter()
    for name, (number, files) in points.items():
        with collect_reads() as seen:
            for file in files:
                used(file)
        writer.add(name, Measured({"x": np.array([number])}), seen)
    writer.write()
    return len(made())


def made():
    """The files of points."""
    return sorted(Path("results/sweep/point").glob("*"))


def found(*names):
    """The numbers of some points, None of those that are not current."""
    files = PointFiles.read()
    measured = [files.current(name) for name in names]
    return [None if one is None else one.columns["x"].item() for one in measured]


def test_points_come_back_bit_by_bit():
    columns = {
        "seed": np.arange(3),
        "time": np.array([0.1, np.nan, -0.0]),
        "name": np.array(["ab", "", "c"]),
        "table": np.ones((2, 3), ">i2").T,
    }
    report = {"passed": True, "decoded_error": 1e-15}
    writer = PointWriter()
    with collect_reads() as seen:
        writer.add("one", Measured(columns, report), seen)
        writer.add("other", Measured({"seed": np.empty(0)}), seen)
    assert not made()
    writer.write()
    files = PointFiles.read()
    one = files.current("one")
    assert one.report == report and list(one.columns) == list(columns)
    for name, values in columns.items():
        assert one.columns[name].dtype == values.dtype and one.columns[name].tobytes() == values.tobytes()
        assert one.columns[name].shape == values.shape
    assert files.current("other").columns["seed"].shape == (0,) and files.current("third") is None
    with pytest.raises(DataError, match="lacks a point"):
        files.latest("third")


def test_a_file_that_changes_makes_those_points_old_that_read_it():
    points = {
        "none": (1, []),
        "too": (2, []),
        "a": (3, ["a.csv"]),
        "both": (4, ["a.csv", "b.csv"]),
        "b": (5, ["b.csv"]),
    }
    assert written(points) == 4
    assert found(*points) == [1, 2, 3, 4, 5]
    Path("a.csv").write_text("2\n")
    assert found(*points) == [1, 2, None, None, 5]
    written({"a": (6, ["a.csv"]), "both": (7, ["a.csv", "b.csv"])})
    assert found(*points) == [1, 2, 6, 7, 5]
    Path("b.csv").unlink()
    assert found(*points) == [1, 2, 6, None, None]


def test_a_module_that_is_edited_after_an_earlier_point_loaded_it_makes_later_points_old(monkeypatch):
    monkeypatch.syspath_prepend(".")
    monkeypatch.setattr(point_files, "_SECONDS", 0)
    Path("edited.py").write_text("x = 1\n")
    writer = PointWriter()
    with collect_reads() as seen:
        module = importlib.import_module("edited")
    writer.add("first", Measured({"x": np.array([module.x])}), seen)
    assert found("first") == [1]
    Path("edited.py").write_text("x = 22\n")
    with collect_reads() as seen:
        writer.add("second", Measured({"x": np.array([module.x])}), seen)
    del sys.modules["edited"]
    assert found("first", "second") == [None, None]


def test_a_point_that_shares_a_training_is_younger_than_it(monkeypatch):
    monkeypatch.setattr(point_files, "is_current", lambda trained: Path(trained).exists())
    assert PointFiles.read().current("one", "b.csv") is None
    written({"one": (1, [])})
    assert PointFiles.read().current("one", "b.csv") is not None
    assert PointFiles.read().current("one", "gone.csv") is None
    (file,) = made()
    later = file.stat().st_mtime + 10
    point_files.os.utime("b.csv", (later, later))
    assert PointFiles.read().current("one", "b.csv") is None and found("one") == [1]


def test_damage_costs_the_points_that_it_hits():
    written({"one": (1, []), "two": (2, [])})
    (file,) = made()
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert found("one", "two") == [1, None]
    with pytest.raises(DataError, match="measures it again"):
        PointFiles.read().latest("two")
    for damaged in (whole[:30], b"", whole.replace(b'"begin": 8', b'"begin": 0')):
        file.write_bytes(damaged)
        assert found("one", "two") == [None, None]
    written({"two": (3, [])})
    file.write_bytes(whole)
    assert found("one", "two") == [1, 2], "the file that was written last counts"


def test_points_are_on_disk_after_some_seconds(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(point_files.time, "monotonic", lambda: now[0])
    writer = PointWriter()
    with collect_reads() as seen:
        for number, seconds in enumerate((0, 1, 4.9, 5, 7, 9.9, 12, 13)):
            now[0] = seconds
            writer.add(str(number), Measured({"x": np.array([number])}), seen)
    assert found(*"01234567") == [0, 1, 2, 3, 4, 5, 6, None]
    assert len(made()) == 2


def test_a_point_that_fails_does_not_end_the_others():
    point = "scheme=cgc n=6 delay=pareto iterations=3 seeds=1".split()
    points = [Point([*point, f"s={s}"], "", "seeds") for s in (1, 6, 2)]
    failed = []
    measure_points(points, lambda one, error: failed.append((one.name, str(error))))
    files = PointFiles.read()
    assert [files.current(one.name) is not None for one in points] == [True, False, True]
    ((name, sentence),) = failed
    assert name == points[1].name and "s=6" in sentence


def test_a_training_keeps_its_state_until_its_point_is_on_disk(monkeypatch):
    points = [Point([f"s={s}"], "", "seeds", train=True) for s in (1, 2)]

    def measure(point, codes, folders, checkpoint):
        checkpoint.path = Path(point.name)
        return Measured({"x": np.array([1])})

    forgotten = []

    def forget(checkpoint):
        forgotten.append((checkpoint.name, found(checkpoint.name)))

    monkeypatch.setattr(submission, "_measure", measure)
    monkeypatch.setattr(submission, "forget", forget)
    measure_points(points, None)
    assert forgotten == [(point.name, [1]) for point in points]
