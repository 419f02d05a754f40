"""Data sets described by option files, and records of prepared data that were damaged or edited."""

import io
import json
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest

from gcexp import figures
from gcexp.command.main import main
from gcexp.data import load, prepare
from gcexp.data.described import Description
from gcexp.errors import DataError, ParameterError, UserError
from gcexp.experiments import simulate, sweep, train
from gcexp.run.datasets import prepared_file as prepared_as_now
from gcexp.run.datasets import source_of


@pytest.fixture
def table(tmp_path):
    draw = np.random.default_rng(0)
    x = draw.standard_normal((50, 3)).round(6)
    y = np.array(["cat", "dog", "bird"])[draw.integers(0, 3, 50)]
    path = tmp_path / "mine.csv"
    lines = ["a,b,c,animal", *(",".join([*map(str, row), label]) for row, label in zip(x, y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path, x, y


def prepared(tmp_path, arrays=None, **values):
    """Data prepared from a description: of some arrays, or of the file that it names."""
    if arrays:
        np.savez(tmp_path / "a.npz", **arrays)
        values = {"path": str(tmp_path / "a.npz")} | values
    prepare(Description(**values).source("mine"), tmp_path / "p.npz")
    return load(tmp_path / "p.npz")


def test_a_table_with_labels(tmp_path, table):
    path, x, y = table
    data = prepared(tmp_path, path=str(path), target="animal", note="my pets")
    assert data.x_train.shape == (40, 3) and data.x_train.dtype == np.float32
    assert data.y_train.dtype == np.int64
    assert data.name == "mine" and data.note == "my pets"
    rows = {tuple(np.float32(row)): label for row, label in zip(x, y, strict=True)}
    found = np.concatenate([data.x_train, data.x_test]), np.concatenate([data.y_train, data.y_test])
    names = np.array(["bird", "cat", "dog"])
    assert {tuple(row): names[label] for row, label in zip(*found, strict=True)} == rows
    assert json.loads((tmp_path / "p.json").read_text())["classes"] == 3
    few = prepared(tmp_path, path=str(path), target="animal", features=["c", "a"], test=7, seed=3)
    assert few.x_train.shape == (43, 2) and few.x_test.shape == (7, 2)


def test_arrays_and_real_targets(tmp_path):
    x, y = np.arange(24.0).reshape(6, 2, 2), np.linspace(-1, 1, 6)
    images, given = {"images": x, "value": y}, {"features": "images", "target": "value", "kind": "real"}
    data = prepared(tmp_path, images, **given, test=2)
    assert data.x_train.shape == (4, 2, 2) and data.y_train.dtype == np.float64
    np.testing.assert_allclose(data.x_train[:, 0, 0], 10 * (data.y_train + 1))  # rows stay with their targets
    assert prepared(tmp_path, images, **given, categorical=True).x_train.dtype == np.int32
    parts = {"x_train": x[:4], "y_train": [3, 1, 3, 1], "x_test": x[4:], "y_test": [5, 3]}
    split = prepared(tmp_path, parts)
    np.testing.assert_array_equal(split.x_train, x[:4])
    assert split.y_train.tolist() == [1, 0, 1, 0] and split.y_test.tolist() == [2, 1]


def test_decimal_targets_are_not_made_classes_unasked(tmp_path):
    """A regression on 214 different numbers became a classification of 214 classes."""
    x, y = np.zeros((428, 2)), np.arange(214.0).repeat(2)
    with pytest.raises(DataError, match="214 .*kind: real .*kind: labels"):
        prepared(tmp_path, {"x": x, "y": y})
    assert prepared(tmp_path, {"x": x, "y": y}, kind="labels").y_train.dtype == np.int64
    assert prepared(tmp_path, {"x": x, "y": y.astype(int)}).y_train.dtype == np.int64


def test_features_are_standardized_by_the_training_part(tmp_path):
    draw = np.random.default_rng(0)
    x = np.c_[1e9 + draw.standard_normal(50), 1e-3 * draw.standard_normal(50), np.full(50, 0.1)]
    arrays = {"x": x, "y": draw.integers(0, 2, 50)}
    plain, data = prepared(tmp_path, arrays), prepared(tmp_path, arrays, standardize=True)
    assert data.x_train.dtype == data.x_test.dtype == np.float32
    np.testing.assert_allclose(data.x_train[:, :2].mean(0, dtype=float), 0, atol=1e-6)
    np.testing.assert_allclose(data.x_train[:, :2].std(0, dtype=float), 1, atol=1e-6)
    assert abs(data.x_test[:, :2].std(0) - 1).min() > 1e-3  # not fitted on the test part
    assert not data.x_train[:, 2].any() and not data.x_test[:, 2].any()
    np.testing.assert_array_equal(plain.x_train[:, 1].argsort(), data.x_train[:, 1].argsort())
    with pytest.raises(ParameterError, match="standardize.*categorical"):
        prepared(tmp_path, arrays, standardize=True, categorical=True)


def described(folder, monkeypatch, name="mine", **values):
    """An option file on the search path."""
    (folder / "conf" / "dataset").mkdir(parents=True, exist_ok=True)
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())
    (folder / "conf" / "dataset" / f"{name}.yaml").write_text(text)
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(folder / "conf"))


def test_an_option_file_is_all_it_takes(tmp_path, monkeypatch, table):
    described(tmp_path, monkeypatch, path=str(table[0]), target="animal")
    assert source_of("mine").name == "mine" and source_of("digits").name == "digits"
    assert main(["job", "data", "mine", "-o", str(tmp_path / "mine.npz")]) in (0, None)
    assert load(tmp_path / "mine.npz").x_train.shape == (40, 3)
    with pytest.raises(UserError, match="'mime'.*'mine'"):
        source_of("mime")


def test_data_are_prepared_again_where_file_or_description_changed(tmp_path, monkeypatch, table):
    mine = {"path": str(table[0]), "target": "animal"}
    described(tmp_path, monkeypatch, **mine)
    monkeypatch.chdir(tmp_path)
    place = prepared_as_now("mine")
    made = place.stat().st_mtime_ns
    assert prepared_as_now("mine") == place and place.stat().st_mtime_ns == made  # once
    first = load(place)
    table[0].write_text(table[0].read_text().replace("cat", "zebra"))  # the last of the classes now
    assert load(prepared_as_now("mine")).y_train.tolist() != first.y_train.tolist()
    described(tmp_path, monkeypatch, **mine, test=0.5)
    assert len(load(prepared_as_now("mine")).y_test) == 25
    record = json.loads(place.with_suffix(".json").read_text())
    del record["key"]  # as of an earlier release: of one's own nobody knows what it was made from
    place.with_suffix(".json").write_text(json.dumps(record))
    described(tmp_path, monkeypatch, **mine, test=0.2)
    assert len(load(prepared_as_now("mine")).y_test) == 10


def test_projects_that_share_a_name_share_no_data(tmp_path, monkeypatch, table):
    """Python keeps prepared data in one's home: each project, and each edit, has its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    found = []
    for folder, animal in (("a", "cat"), ("b", "zebra"), ("a", "ant")):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        (tmp_path / folder / "mine.csv").write_text(table[0].read_text().replace("cat", animal))
        described(tmp_path / folder, monkeypatch, path="mine.csv", target="animal")
        found.append(load(prepared_as_now("mine", home=True)).y_train.tolist())
    assert found[0] != found[1] != found[2] != found[0]
    assert not list(tmp_path.glob("[ab]/data"))


KEYS = {"scheme": "uncoded", "n": 4, "task": "digits_mlp", "iterations": 2, "seeds": 1, "progress": False}


def test_edited_data_and_options_are_seen(tmp_path, monkeypatch, table):
    """From Python and by `gcexp run`, which learns the same from the same data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for name in ("draw", "save"):  # a drawing takes longer than all the rest
        monkeypatch.setattr(figures, name, lambda *_: None)
    monkeypatch.chdir(tmp_path)
    described(tmp_path, monkeypatch, path=str(table[0]), target="animal")

    def by_command():
        overrides = [f"{key}={value}" for key, value in KEYS.items() if key != "progress"]
        assert main(["run", *overrides, "task.dataset=mine", "-o", "run"]) == 0
        return pd.read_csv("run/curve.csv")

    calls = (
        lambda: train(**KEYS, **{"task.dataset": "mine"}, verify=False),
        lambda: sweep({"task.dataset": ["mine"]}, **KEYS),
        by_command,
    )

    def found():
        losses = [call()["test_loss"].tolist() for call in calls]
        assert losses[2] == pytest.approx(losses[0], rel=1e-6)
        return losses

    before = found()
    assert found() == before
    described(tmp_path, monkeypatch, path=str(table[0]), target="animal", test=0.4)
    options = found()
    assert all(new != old for new, old in zip(options, before, strict=True))
    lines = table[0].read_text().splitlines()
    table[0].write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    assert all(new != old for new, old in zip(found(), options, strict=True))


def test_an_option_edited_in_a_living_notebook_is_seen(tmp_path, monkeypatch):
    (tmp_path / "delay").mkdir()
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(tmp_path))
    times = []
    for shift in (1.0, 5.0):
        option = f"_target_: gcexp.delays.ShiftedExponential\nshift: {shift}\nmean: 1.0\n"
        (tmp_path / "delay" / "mine.yaml").write_text(option)
        found = simulate(scheme="uncoded", n=4, delay="mine", iterations=3, seeds=1, progress=False)
        times += found["mean_iteration_time_s"].tolist()
    assert times[0] != times[1]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"target": "colour"}, "mine.csv: .*colour.* a, b, c, animal"),
        ({"target": "a"}, "features"),
        ({"target": "animal", "features": ["a", "d"]}, "column d"),
        ({"target": "animal", "kind": "real"}, "real"),
        ({"target": "animal", "test": 50}, "test=50"),
        ({"target": "animal", "categorical": True}, "categorical"),
        ({"target": "animal", "sha256": "00"}, "sha256 00"),
    ],
    ids=range(7),
)
def test_what_the_file_does_not_hold_is_refused(tmp_path, table, values, sentence):
    with pytest.raises(DataError, match=sentence):
        prepared(tmp_path, path=str(table[0]), **values)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 no zip", b"a,b\n1\n2,3,4\n", b"\xff\xfe"], ids=range(4)
)
@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_damaged_files_are_refused(tmp_path, content, suffix):
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(content)
    with pytest.raises(DataError, match="bad"):
        prepared(tmp_path, path=str(path), target="y")


def archive(path, members, changed=()):
    """An npz file of these members, as bytes; some two-byte fields of its headers hold other numbers."""
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    raw = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = raw.find(mark)
        while start >= 0:
            for offset, number in changed:
                struct.pack_into("<H", raw, start + place + offset, number)
            start = raw.find(mark, start + 4)
    path.write_bytes(raw)


def stored(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


X, Y = np.arange(24.0).reshape(6, 4), np.array([0, 1, 0, 1, 0, 1])
FLAGS, METHOD = 0, 2
HEADER = b"\x93NUMPY\x01\x00\x10\x00{'descr': 'nope'}"
#: Members beside y, fields of headers, and what the sentence names.
ARCHIVES = {
    "encrypted": ({"x.npy": stored(X)}, [(FLAGS, 1)], "encrypted"),
    "of an unknown compression": ({"x.npy": stored(X)}, [(METHOD, 99)], "compression"),
    "compressed and damaged": ({"x.npy": stored(X)}, [(METHOD, 8)], "cannot be read"),
    "a text": ({"x.npy": b"hello"}, [], "x is no array"),
    "a text without a suffix": ({"x": b"hello"}, [], "x is no array"),
    "an empty member": ({"x.npy": b""}, [], "x is no array"),
    "a damaged header": ({"x.npy": HEADER}, [], "cannot be read"),
    "one number": ({"x.npy": stored(np.array(3.0))}, [], r"shapes \(\)"),
    "no columns": ({"x.npy": stored(X[:, :0])}, [], "6, 0"),
    "no rows": ({"x.npy": stored(X[:0]), "y.npy": stored(Y[:0])}, [], "0, 4"),
    "too large a number": ({"x.npy": stored(X * 1e300)}, [], "single precision"),
    "dates": ({"x.npy": stored(X), "y.npy": stored(Y.astype("datetime64[s]"))}, [], "datetime64"),
    "records": ({"x.npy": stored(X), "y.npy": stored(np.zeros(6, [("a", int)]))}, [], "targets"),
    "complex": ({"x.npy": stored(X), "y.npy": stored(Y + 1j)}, [], "complex"),
    "a split that is called otherwise": ({"X_train.npy": stored(X)}, [], "no array x_train, y_train, x_test"),
}
PARTS = ("x_train", "y_train", "x_test", "y_test")
SPLITS = {
    "other features": ((X, Y, X[:, :3], Y), r"\(4,\) and \(3,\)"),
    "texts and numbers": ((X, Y, X, Y.astype(str)), "texts in one part"),
    "nothing to test": ((X, Y, X[:0], Y[:0]), "0, 4"),
}


@pytest.mark.parametrize("members, changed, named", ARCHIVES.values(), ids=ARCHIVES)
def test_what_an_archive_may_hold_instead_of_arrays(tmp_path, members, changed, named):
    archive(tmp_path / "bad.npz", {"y.npy": stored(Y)} | members, changed)
    with pytest.raises(DataError, match=rf"bad\.npz: .*{named}"):
        prepared(tmp_path, path=str(tmp_path / "bad.npz"))


@pytest.mark.parametrize("arrays, named", SPLITS.values(), ids=SPLITS)
def test_a_split_file_has_two_parts_of_one_kind(tmp_path, arrays, named):
    with pytest.raises(DataError, match=rf"a\.npz: .*{named}"):
        prepared(tmp_path, dict(zip(PARTS, arrays, strict=True)))


def test_one_array_is_no_archive(tmp_path):
    (tmp_path / "one.npz").write_bytes(stored(X))
    with pytest.raises(DataError, match="one.npz.*savez"):
        prepared(tmp_path, path=str(tmp_path / "one.npz"))


def test_an_empty_cell_is_no_class(tmp_path):
    """It became the class 'nan' where the other labels are texts."""
    (tmp_path / "a.csv").write_text("a,y\n1,\n3,x\n5,z\n7,x\n9,x\n")
    with pytest.raises(DataError, match="a.csv: line 2: .*'y' is missing"):
        prepared(tmp_path, path=str(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("cell", "named"),
    [("", "an empty cell"), ("tall", "'tall'"), ("inf", "inf")],
    ids=["empty", "text", "inf"],
)
def test_a_cell_that_is_no_number_is_named_by_line_and_column(tmp_path, cell, named):
    (tmp_path / "a.csv").write_text(f"a,b,y\n1,1,x\n3,{cell},x\n5,1,z\n7,1,x\n9,2,x\n")
    with pytest.raises(DataError, match=f"a.csv: line 3, column 'b': .*{named}"):
        prepared(tmp_path, path=str(tmp_path / "a.csv"))


def test_hostile_arrays_run_nothing(tmp_path, monkeypatch):
    class Hostile:
        def __reduce__(self):
            return (open, ("executed", "w"))

    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="a.npz"):
        prepared(tmp_path, {"x": np.array([[Hostile()]], dtype=object), "y": np.zeros(1)})
    assert not (tmp_path / "executed").exists()


def test_descriptions_are_checked(tmp_path, monkeypatch, table):
    with pytest.raises(ParameterError, match=r"\.npz.*\.csv"):
        Description("data.pkl")
    for wrong, named in (
        ({"features": ()}, "features"),
        ({"features": ("a", "b", "a")}, "'a' twice"),
        ({"features": ("a", "y")}, "target.*'y'"),
        ({"features": "y"}, "target.*'y'"),
        ({"test": 1.5}, "1.5"),
        ({"test": np.inf}, "inf"),
    ):
        with pytest.raises(ParameterError, match=named):
            Description("data.csv", **wrong)
    with pytest.raises(DataError, match="nowhere.csv"):
        Description("nowhere.csv").source("x")
    described(tmp_path, monkeypatch, path=str(table[0]), traget="animal")
    with pytest.raises(UserError, match="'traget'.*'target'"):
        source_of("mine")
    described(tmp_path, monkeypatch, "digits", path=str(table[0]))
    with pytest.raises(UserError, match="digits"):
        source_of("digits")
