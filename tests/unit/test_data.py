"""Data sets: where files come from, what is refused, and what a task gets."""

import dataclasses
import gzip
import hashlib
import json
import os
import re
import signal
import struct
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gcexp.data import datasets, load, prepare, readers
from gcexp.data.fetch import fetch
from gcexp.data.readers import IMAGES, LABELS, read_idx
from gcexp.data.sources import MNIST, SOURCES, RawFile
from gcexp.errors import DataError, UserError

ROOT = Path(__file__).resolve().parents[2]


def real_mnist():
    """The folder with the published files, if this machine has one."""
    for folder in (os.environ.get("GCEXP_DATA"), ROOT.parent / "shared" / "data"):
        if folder and all((Path(folder) / "mnist" / file.name).exists() for file in MNIST.files):
            return Path(folder)
    return None


REAL_MNIST = real_mnist()


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch):
    """Neither the user's data folder nor a proxy takes part in a test."""
    monkeypatch.delenv("GCEXP_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("gcexp.data.fetch.WAITS", ())  # test_data_fetch.py tries the waits


def idx(array, magic):
    return struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.tobytes()


def zipped(raw):
    """The same bytes at every call: gzip would otherwise write the time of day."""
    return gzip.compress(raw, mtime=0)


def tiny_contents():
    """Four idx files of 20 and 5 images of 3 x 2, by name."""
    draw = np.random.default_rng(0)
    contents = {}
    for split, N in (("train", 20), ("t10k", 5)):
        x, y = draw.integers(0, 256, (N, 3, 2), np.uint8), draw.integers(0, 10, N, np.uint8)
        contents[f"{split}-images-idx3-ubyte.gz"] = zipped(idx(x, IMAGES))
        contents[f"{split}-labels-idx1-ubyte.gz"] = zipped(idx(y, LABELS))
    return contents


def source_of(contents, mirrors=()):
    """The data set mnist, but made of these files."""
    files = [
        RawFile(name, len(content), hashlib.sha256(content).hexdigest(), tuple(m + name for m in mirrors))
        for name, content in contents.items()
    ]
    return dataclasses.replace(MNIST, files=tuple(files))


def write(folder, contents):
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def contents():
    return tiny_contents()


def damaged(content, how):
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    return {"truncated": content[:-7], "flipped": bytes(flipped), "empty": b""}[how]


# ---- local folder ----


@pytest.mark.parametrize("layout", ["mnist", "."])
@pytest.mark.parametrize("given", ["argument", "environment"])
def test_local_folder_in_both_layouts(tmp_path, monkeypatch, contents, layout, given):
    folder = write(tmp_path / "data" / layout, contents)
    by_argument = given == "argument"  # which wins over the environment
    monkeypatch.setenv("GCEXP_DATA", str(tmp_path / ("nowhere" if by_argument else "data")))
    paths = fetch(source_of(contents), tmp_path / "data" if by_argument else None)
    assert [p.resolve() for p in paths] == [(folder / name).resolve() for name in contents]


def test_missing_file_names_what_was_looked_for_where(tmp_path, monkeypatch, contents):
    name = list(contents)[2]
    folder = write(tmp_path / "data", {n: c for n, c in contents.items() if n != name})
    monkeypatch.setenv("GCEXP_DATA", str(folder))
    raw = write(tmp_path / "raw" / "mnist", contents)
    with pytest.raises(DataError) as error:  # neither a download nor the file in raw_dir is taken in silence
        fetch(source_of(contents), raw_dir=raw.parent)
    for part in (name, "$GCEXP_DATA", str(folder / "mnist" / name), str(folder / name)):
        assert part in str(error.value)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_damaged_raw_file_is_told_with_both_checksums(tmp_path, contents, damage, local):
    name, content = next(iter(contents.items()))
    bad = damaged(content, damage)
    folder = write(tmp_path / "mnist", contents | {name: bad})
    output = tmp_path / "out.npz"
    with pytest.raises(DataError) as error:
        where = {"data_dir": tmp_path} if local else {"raw_dir": tmp_path}
        prepare(source_of(contents), output, **where)
    sentence = str(error.value)
    for sha in (hashlib.sha256(content).hexdigest(), hashlib.sha256(bad).hexdigest()):
        assert sha in sentence
    assert str(folder / name) in sentence and "\n" not in sentence
    assert not output.exists() and not output.with_suffix(".json").exists()
    assert (folder / name).read_bytes() == bad  # never replaced


def test_folder_in_place_of_a_file_is_a_sentence(tmp_path, contents):
    name = next(iter(contents))
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match=name):
        fetch(source_of(contents), tmp_path)


# ---- download ----


@pytest.fixture
def mirrors(web_server):
    def serve(mirror, contents):
        web_server.pages |= {f"/{mirror}/{name}": page for name, page in contents.items()}

    web_server.serve = serve
    return web_server


def both(mirrors, contents):
    return source_of(contents, [f"{mirrors.url}/a/", f"{mirrors.url}/b/"])


def test_download_once(tmp_path, mirrors, contents):
    mirrors.serve("a", contents)
    source = both(mirrors, contents)
    paths = fetch(source, raw_dir=tmp_path)
    assert [p.read_bytes() for p in paths] == list(contents.values())
    assert sorted(p.name for p in (tmp_path / "mnist").iterdir()) == sorted(contents)
    assert fetch(source, raw_dir=tmp_path) == paths
    assert mirrors.asked == [f"/a/{name}" for name in contents]


@pytest.mark.parametrize("fault", ["status", "wrong", "truncated", "nobody"])
def test_second_mirror_takes_over(tmp_path, mirrors, contents, fault):
    mirrors.serve("b", contents)
    source = both(mirrors, contents)
    if fault == "nobody":
        source = source_of(contents, ["http://127.0.0.1:9/", f"{mirrors.url}/b/"])
    else:
        bad = {
            "status": lambda c: 503,
            "wrong": lambda c: c[::-1],
            "truncated": lambda c: (c[:30], len(c), False),
        }[fault]
        mirrors.serve("a", {name: bad(content) for name, content in contents.items()})
    paths = fetch(source, raw_dir=tmp_path)
    assert [p.read_bytes() for p in paths] == list(contents.values())
    assert len(list((tmp_path / "mnist").iterdir())) == len(contents)


def test_bad_mirrors_leave_no_file_and_one_sentence(tmp_path, mirrors, contents):
    name, content = next(iter(contents.items()))
    mirrors.serve("a", {name: content[:-1]})  # complete as far as HTTP knows
    mirrors.serve("b", {name: (content[:-1], len(content), False)})
    with pytest.raises(DataError) as error:
        fetch(both(mirrors, contents), raw_dir=tmp_path)
    sentence = str(error.value)
    shas = [hashlib.sha256(c).hexdigest() for c in (content, content[:-1])]
    urls = [f"{mirrors.url}/{mirror}/{name}" for mirror in "ab"]
    for part in (name, *urls, "data_dir", "$GCEXP_DATA", *shas):
        assert part in sentence
    assert list((tmp_path / "mnist").iterdir()) == []


def test_killed_download_is_never_used(tmp_path, mirrors, contents):
    name, content = next(iter(contents.items()))
    mirrors.serve("a", {name: (content[: len(content) // 2], len(content), True)})  # half of it, then nothing
    source = both(mirrors, contents)
    program = f"""
        from pathlib import Path
        from gcexp.data.fetch import fetch
        from gcexp.data.sources import RawFile, Source
        source = Source("mnist", ({source.files[0]!r},), None, 255, 10)
        fetch(source, raw_dir=Path({str(tmp_path)!r}))
    """
    job = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        folder, deadline = tmp_path / "mnist", time.monotonic() + 300
        while not (folder.exists() and any(folder.iterdir())):
            assert time.monotonic() < deadline and job.poll() is None
            time.sleep(0.01)
    finally:
        job.send_signal(signal.SIGKILL)
        job.wait()
    assert any(folder.iterdir()) and not (folder / name).exists()
    mirrors.serve("a", contents)
    assert [p.read_bytes() for p in fetch(source, raw_dir=tmp_path)] == list(contents.values())


def test_unwritable_raw_dir_is_a_sentence(tmp_path, mirrors, contents):
    mirrors.serve("a", contents)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="file"):
        fetch(both(mirrors, contents), raw_dir=tmp_path / "file")


# ---- idx files ----


GOOD = idx(np.zeros((4, 3, 2), np.uint8), IMAGES)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (zipped(GOOD)[:-9], "gzip"),
        (GOOD, "gzip"),
        (b"", "found 0|gzip"),
        (zipped(GOOD[:10]), "found 10"),
        (zipped(idx(np.zeros(24, np.uint8), LABELS)), "2051.* 2049"),
        (zipped(GOOD[:-1]), "found 23"),
        (zipped(GOOD + b"0"), "found 25"),
    ],
    ids=["cut", "not zipped", "empty", "short header", "labels", "byte missing", "byte too many"],
)
def test_damaged_idx_is_refused(tmp_path, content, named):
    (tmp_path / "x.gz").write_bytes(content)
    with pytest.raises(DataError, match=rf"x\.gz: .*({named})"):
        read_idx(tmp_path / "x.gz", IMAGES)


def test_images_and_labels_must_be_as_many(tmp_path, contents):
    contents["train-labels-idx1-ubyte.gz"] = zipped(idx(np.zeros(19, np.uint8), LABELS))
    write(tmp_path / "mnist", contents)
    with pytest.raises(DataError, match="20 .* 19"):
        prepare(source_of(contents), tmp_path / "out.npz", tmp_path)


# ---- prepared files ----


@pytest.fixture
def prepared(tmp_path, contents):
    write(tmp_path / "mnist", contents)
    prepare(source_of(contents), tmp_path / "out" / "mnist.npz", tmp_path)
    return tmp_path / "out" / "mnist.npz"


def test_prepared_and_loaded(prepared, contents):
    data = load(prepared)
    raw = gzip.decompress(contents["train-images-idx3-ubyte.gz"])[16:]
    x = np.frombuffer(raw, np.uint8).reshape(20, 6)
    np.testing.assert_array_equal(data.x_train, (x / 255).astype(np.float32))
    assert data.x_train.dtype == data.x_test.dtype == np.float32 and data.x_train.flags.c_contiguous
    assert data.y_train.dtype == data.y_test.dtype == np.int64
    assert (data.name, data.note, data.x_test.shape, data.y_test.shape) == ("mnist", "", (5, 6), (5,))
    assert sorted(p.name for p in prepared.parent.iterdir()) == ["mnist.json", "mnist.npz"]


def test_sidecar_says_what_the_file_is(prepared, contents, tmp_path):
    record = json.loads(prepared.with_suffix(".json").read_text())
    assert record["sha256"] == hashlib.sha256(prepared.read_bytes()).hexdigest()
    assert record["bytes"] == prepared.stat().st_size
    assert record["shapes"] == {"x_train": [20, 6], "y_train": [20], "x_test": [5, 6], "y_test": [5]}
    assert record["raw"] == {name: hashlib.sha256(c).hexdigest() for name, c in contents.items()}
    assert (record["dataset"], record["scale"], record["classes"], record["note"]) == ("mnist", 255, 10, "")
    assert str(tmp_path) not in prepared.with_suffix(".json").read_text()


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_damaged_prepared_file_is_told_with_both_checksums(prepared, damage):
    good = prepared.read_bytes()
    bad = damaged(good, damage)
    prepared.write_bytes(bad)
    with pytest.raises(DataError) as error:
        load(prepared)
    for part in (str(prepared), *(hashlib.sha256(content).hexdigest() for content in (good, bad))):
        assert part in str(error.value)


def test_sidecar_missing_or_damaged(prepared):
    sidecar = prepared.with_suffix(".json")
    whole = sidecar.read_text()
    for text in ("", whole[:40], "[]", "3", json.dumps({"sha256": "0"}), "\udcff"):
        sidecar.write_text(text, errors="surrogateescape")
        with pytest.raises(DataError, match="mnist.json"):
            load(prepared)
    for missing in (sidecar, prepared):
        missing.unlink()
        with pytest.raises(DataError, match=missing.name):
            load(prepared)


def test_interrupted_between_the_two_renames(prepared, tmp_path, monkeypatch):
    """The new sidecar stands beside the old array file: refused, not taken for a pair."""
    others = {name: zipped(gzip.decompress(c)[:-1] + b"\0") for name, c in tiny_contents().items()}
    write(tmp_path / "other", others)
    real = os.replace

    def replace(temporary, path):
        if Path(path).suffix == ".npz":
            raise KeyboardInterrupt
        real(temporary, path)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        prepare(source_of(others), prepared, tmp_path / "other")
    assert sorted(p.name for p in prepared.parent.iterdir()) == ["mnist.json", "mnist.npz"]
    with pytest.raises(DataError, match="expected sha256"):
        load(prepared)


def test_output_is_npz(tmp_path):
    with pytest.raises(UserError, match=".npz"):
        prepare("digits", tmp_path / "digits.json")


# ---- the data sets ----


def test_unknown_data_set_suggests_the_nearest(tmp_path):
    with pytest.raises(UserError, match="'minst'.*'mnist'"):
        prepare("minst", tmp_path / "minst.npz")
    assert datasets() == ["access_rows", "amazon_access", "cifar10", "digits", "linear_mixture", "mnist"]


def test_digits(tmp_path, monkeypatch):
    monkeypatch.setenv("GCEXP_DATA", str(tmp_path / "nowhere"))  # has no say: no raw files
    prepare("digits", tmp_path / "digits.npz")
    with np.load(tmp_path / "digits.npz") as stored:
        assert {name: stored[name].dtype for name in stored} == dict.fromkeys(
            ["x_train", "y_train", "x_test", "y_test"], np.uint8
        )
    data = load(tmp_path / "digits.npz")
    assert (data.x_train.shape, data.x_test.shape) == ((1497, 64), (300, 64))
    assert data.x_train.min() == 0 and data.x_train.max() == 1 and "scikit-learn" in data.note
    y = np.concatenate([data.y_train, data.y_test])
    assert np.bincount(y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(data.y_test, minlength=10).min() > 15  # shuffled

    from sklearn.datasets import load_digits

    bundled = load_digits()
    rows = set(zip(map(tuple, bundled.data.astype(int).tolist()), bundled.target.tolist(), strict=True))
    x = np.rint(16 * np.concatenate([data.x_train, data.x_test])).astype(int).tolist()
    assert set(zip(map(tuple, x), y.tolist(), strict=True)) == rows


def test_linear_mixture(tmp_path, monkeypatch):
    """The law of the specification: y = x . w* for one w* of signs, and x shifted along +-w* by 1.5 / d."""
    monkeypatch.setenv("GCEXP_DATA", str(tmp_path / "nowhere"))  # has no say: no raw files
    record = prepare("linear_mixture", tmp_path / "linear_mixture.npz")
    assert (record["scale"], record["classes"], record["raw"], record["note"]) == (None, None, {}, "")
    data = load(tmp_path / "linear_mixture.npz")
    assert (data.x_train.shape, data.x_test.shape) == ((2000, 1000), (400, 1000))
    assert (data.y_train.shape, data.y_test.shape) == ((2000,), (400,))
    assert {data.x_train.dtype, data.x_test.dtype} == {np.dtype(np.float32)}
    assert {data.y_train.dtype, data.y_test.dtype} == {np.dtype(np.float64)}
    with np.load(tmp_path / "linear_mixture.npz") as stored:  # nothing is scaled
        np.testing.assert_array_equal(stored["x_train"], data.x_train)
        np.testing.assert_array_equal(stored["y_test"], data.y_test)

    x, y = data.x_train.astype(np.float64), data.y_train
    model = np.linalg.solve(x.T @ x, x.T @ y)
    np.testing.assert_allclose(np.abs(model), 1, atol=1e-9)
    model = np.rint(model)
    for inputs, targets in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        np.testing.assert_allclose(inputs.astype(np.float64) @ model, targets, rtol=0, atol=1e-10)
    N, d = 2400, 1000
    x, y = np.concatenate([x, data.x_test]), np.concatenate([y, data.y_test])
    assert abs(x.mean()) < 4 / np.sqrt(N * d) and abs(x.var() - 1) < 4 * np.sqrt(2 / (N * d))
    # Along w* / sqrt(d) two Gaussians at +-1.5 / sqrt(d), so that the shift is too small to be seen in one sample.
    assert abs((y**2).mean() / d - 1 - 1.5**2 / d) < 4 * np.sqrt(2 / N)


def test_the_mixture_has_its_two_means(monkeypatch):
    """With a larger shift both halves of the mixture are seen."""
    monkeypatch.setattr(readers, "MIXTURE_SHIFT", 1000.0)
    arrays = readers.mixture(np.random.default_rng(0))
    along = arrays["y_train"] / 1000  # N(b, 1 / d)
    assert np.abs(np.abs(along) - 1).max() < 5 / np.sqrt(1000)
    assert abs(np.sign(along).mean()) < 4 / np.sqrt(2000)


@pytest.mark.parametrize("dataset", ["digits", "linear_mixture"])
def test_prepare_gives_the_same_bytes(tmp_path, dataset):
    for name in ("a", "b"):
        prepare(dataset, tmp_path / name / f"{dataset}.npz")
    for name in (f"{dataset}.npz", f"{dataset}.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with zipfile.ZipFile(tmp_path / "a" / f"{dataset}.npz") as members:  # the clock does not enter
        assert {member.date_time[0] for member in members.infolist()} == {1980}


def test_data_readme_lists_the_checksums_of_the_code():
    readme = (ROOT / "data" / "README.md").read_text()
    listed = re.findall(r"^\| (\S+) \| (\d+) \| ([0-9a-f]{64}) \|$", readme, re.M)
    assert listed == [(f.name, str(f.size), f.sha256) for source in SOURCES.values() for f in source.files]
    assert re.findall(r"^## (\S+)$", readme, re.M) == list(SOURCES)
    for file in MNIST.files:
        assert all(url.endswith("/" + file.name) for url in file.urls)
        assert all(url.removesuffix(file.name) in readme for url in file.urls)


@pytest.mark.skipif(REAL_MNIST is None, reason="MNIST is neither in $GCEXP_DATA nor in ../shared/data")
def test_real_mnist(tmp_path):
    output = tmp_path / "mnist.npz"
    prepare("mnist", output, REAL_MNIST)
    with np.load(output) as stored:
        assert (int(stored["x_train"].sum()), int(stored["x_test"].sum())) == (1567298545, 264923200)
    data = load(output)
    assert (data.x_train.shape, data.x_test.shape) == ((60000, 784), (10000, 784))
    assert np.bincount(data.y_train).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(data.y_test).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert data.x_train.min() == 0 and data.x_train.max() == 1
