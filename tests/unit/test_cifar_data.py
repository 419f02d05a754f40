"""CIFAR-10's archive and its pickles: repacked ones are read, damaged and hostile ones refused in one sentence."""

import dataclasses
import hashlib
import io
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest

from gcexp.data import load, prepare
from gcexp.data.readers import read_cifar_batch
from gcexp.data.sources import CIFAR10, RawFile
from gcexp.errors import DataError

NAMES = [file.name for file in CIFAR10.files]


def batch(seed, N=4) -> bytes:
    draw = np.random.default_rng(seed)
    content = {b"data": draw.integers(0, 256, (N, 3072)).astype(np.uint8), b"labels": list(range(N))}
    return pickle.dumps(content, protocol=4)


CONTENTS = {name: batch(i) for i, name in enumerate(NAMES)}
TINY = dataclasses.replace(
    CIFAR10, files=tuple(RawFile(n, len(c), hashlib.sha256(c).hexdigest(), ()) for n, c in CONTENTS.items())
)


#: Headers that tarfile cannot read.
SPARSE = ({"GNU.sparse.map": "a,b"}, {"GNU.sparse.size": "x"})


def archive(path: Path, members: dict[str, bytes | str], folder="cifar-10-batches-py/", pax=None) -> Path:
    """A tar file; a member given as text is a symbolic link to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(folder + name)
            info.pax_headers = pax or {}
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


def prepared(tmp_path):
    prepare(TINY, tmp_path / "cifar10.npz", tmp_path / "data", tmp_path / "raw")
    return load(tmp_path / "cifar10.npz")


@pytest.mark.parametrize("folder", ["cifar10", "cifar10/cifar-10-batches-py", ".", "cifar-10-batches-py"])
def test_members_lie_in_a_folder(tmp_path, folder):
    (tmp_path / "data" / folder).mkdir(parents=True)
    for name, content in CONTENTS.items():
        (tmp_path / "data" / folder / name).write_bytes(content)
    data = prepared(tmp_path)
    assert data.x_train.shape == (20, 3, 32, 32) and data.x_train.dtype == np.uint8
    assert data.y_train.tolist() == 5 * [0, 1, 2, 3] and data.y_train.dtype == np.int64
    expected = np.random.default_rng(5).integers(0, 256, (4, 3072)).astype(np.uint8)
    np.testing.assert_array_equal(data.x_test.reshape(4, -1), expected)
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize("inside", ["cifar-10-batches-py/", "", "../../elsewhere/"])
def test_members_come_out_of_any_archive_that_holds_them(tmp_path, inside):
    more = {"readme.html": b"<a>", **CONTENTS, "batches.meta": b"names"}
    archive(tmp_path / "data" / "cifar10" / "cifar-10-python.tar.gz", more, inside)
    assert len(prepared(tmp_path).y_train) == 20
    written = sorted(path.name for path in (tmp_path / "raw").rglob("*") if path.is_file())
    assert written == sorted(NAMES) and not (tmp_path / "elsewhere").exists()


def test_the_order_in_an_archive_does_not_enter(tmp_path):
    for name, members in (("a", CONTENTS), ("b", dict(reversed(CONTENTS.items())))):
        archive(tmp_path / name / "data" / "cifar-10-python.tar.gz", members)
        prepared(tmp_path / name)
    for name in ("cifar10.npz", "cifar10.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("data_batch_3", CONTENTS["data_batch_3"][:-1]),
        ("data_batch_3", CONTENTS["data_batch_3"][:-1] + b"?"),
        ("test_batch", "/etc/passwd"),
    ],
)
def test_an_altered_member_is_refused(tmp_path, member, content):
    archive(tmp_path / "data" / "cifar-10-python.tar.gz", CONTENTS | {member: content})
    with pytest.raises(DataError, match=member):
        prepared(tmp_path)
    assert not (tmp_path / "cifar10.npz").exists()
    assert not (tmp_path / "raw" / "cifar10" / member).exists()


def test_a_damaged_or_incomplete_archive_is_refused(tmp_path):
    path = tmp_path / "data" / "cifar-10-python.tar.gz"
    with pytest.raises(DataError, match=r"cifar-10-python.tar.gz.* data_batch_1, .*data_dir"):
        prepared(tmp_path)
    whole = archive(path, CONTENTS).read_bytes()
    headers = [archive(path, {NAMES[0]: b"data"}, pax=pax).read_bytes() for pax in SPARSE]
    for content in (b"", b"no tar file", whole[: len(whole) // 2], *headers):
        path.write_bytes(content)
        with pytest.raises(DataError, match="tar"):
            prepared(tmp_path)
    archive(path, {name: CONTENTS[name] for name in NAMES[:-1]})
    with pytest.raises(DataError, match="test_batch"):
        prepared(tmp_path)


class Hostile:
    def __reduce__(self):
        return (os.mkdir, ("executed",))


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Hostile()),
        pickle.dumps({b"data": Hostile(), b"labels": [1]}),
        b"cos\nsystem\n(S'mkdir executed'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        pickle.dumps([1, 2]),
        pickle.dumps({b"data": np.zeros((2, 5), np.uint8), b"labels": [1, 2]}, protocol=4),
        pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 300]}, protocol=4),
        pickle.dumps({b"labels": [1]}),
        batch(0)[:-100],
        b"",
        b"\x80\xff",
    ],
)
def test_a_pickle_runs_nothing(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(DataError, match="batch"):
        read_cifar_batch(tmp_path / "batch")
    assert not (tmp_path / "executed").exists()


@pytest.mark.slow
def test_real_cifar10(tmp_path, published_data):
    record = prepare("cifar10", tmp_path / "cifar10.npz", published_data("cifar10"), tmp_path / "raw")
    assert record["sha256"] == "51933a1f9492cb70f51419b4d4b3f5e9685aa34feecf4fbf150c405e5d872bf2"
    data = load(tmp_path / "cifar10.npz")
    assert np.bincount(data.y_train).tolist() == 10 * [5000]
    assert np.bincount(data.y_test).tolist() == 10 * [1000]
