"""Data sets: where files come from, what is refused, and what a task gets."""

import dataclasses
import gzip
import hashlib
import io
import json
import multiprocessing
import os
import pickle
import re
import struct
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from gcexp.command import main
from gcexp.data import datasets, load, prepare, readers
from gcexp.data import fetch as fetching
from gcexp.data.fetch import WAITS, fetch
from gcexp.data.readers import ACCESS_COLUMNS, IMAGES, LABELS, read_idx
from gcexp.data.sources import MNIST, SOURCES, RawFile
from gcexp.errors import DataError, UserError
from tests.conftest import wait

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch):
    """Neither the user's data folder nor a proxy takes part in a test."""
    monkeypatch.delenv("GCEXP_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def waits(monkeypatch):
    """The seconds that were waited before a mirror was asked again, without waiting."""
    waited = []
    monkeypatch.setattr(fetching.time, "sleep", waited.append)
    return waited


def idx(array, magic):
    return struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.tobytes()


def zipped(raw):
    """The same bytes at every call: gzip would otherwise write the time of day."""
    return gzip.compress(raw, mtime=0)


def digest(content):
    return hashlib.sha256(content).hexdigest()


def source_of(contents, *mirrors, dataset="mnist"):
    """A data set, but made of these files."""
    files = [
        RawFile(name, len(content), digest(content), tuple(mirror + name for mirror in mirrors))
        for name, content in contents.items()
    ]
    return dataclasses.replace(SOURCES[dataset], files=tuple(files))


def write(folder, contents):
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def contents():
    """Four idx files of 20 and 5 images of 3 x 2, by name."""
    draw, found = np.random.default_rng(0), {}
    for split, N in (("train", 20), ("t10k", 5)):
        x, y = draw.integers(0, 256, (N, 3, 2), np.uint8), draw.integers(0, 10, N, np.uint8)
        found[f"{split}-images-idx3-ubyte.gz"] = zipped(idx(x, IMAGES))
        found[f"{split}-labels-idx1-ubyte.gz"] = zipped(idx(y, LABELS))
    return found


each_damage = pytest.mark.parametrize(
    "damaged",
    [lambda c: c[:-7], lambda c: c[:30] + bytes([c[30] ^ 1]) + c[31:], lambda c: b""],
    ids=["truncated", "flipped", "empty"],
)


def refused(act, *named):
    """One sentence that names what was found and what was expected."""
    with pytest.raises(DataError) as error:
        act()
    sentence = str(error.value)
    assert "\n" not in sentence and not [part for part in named if str(part) not in sentence]


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
    """Neither a download nor the file in raw_dir is taken in silence."""
    name = list(contents)[2]
    folder = write(tmp_path / "data", {n: c for n, c in contents.items() if n != name})
    monkeypatch.setenv("GCEXP_DATA", str(folder))
    write(tmp_path / "raw" / "mnist", contents)
    looked = (folder / "mnist" / name, folder / name)
    refused(lambda: fetch(source_of(contents), raw_dir=tmp_path / "raw"), name, "$GCEXP_DATA", *looked)


@pytest.mark.parametrize("where", ["data_dir", "raw_dir"])
@each_damage
def test_damaged_raw_file_is_told_with_both_checksums(tmp_path, contents, damaged, where):
    name, content = next(iter(contents.items()))
    bad = damaged(content)
    path = write(tmp_path / "mnist", contents | {name: bad}) / name
    output, source = tmp_path / "out.npz", source_of(contents)
    refused(lambda: prepare(source, output, **{where: tmp_path}), path, digest(content), digest(bad))
    assert not output.exists() and not output.with_suffix(".json").exists()
    assert path.read_bytes() == bad  # never replaced


def test_folder_in_place_of_a_file_is_a_sentence(tmp_path, contents):
    name = next(iter(contents))
    (tmp_path / name).mkdir()
    refused(lambda: fetch(source_of(contents), tmp_path), name)


# ---- download ----

TABLE = {"train.csv": b"ACTION,RESOURCE\n1,2\n"}
(CONTENT,) = TABLE.values()


@pytest.fixture
def server(web_server, monkeypatch, tmp_path):
    """Two mirrors, a and b, and a folder to download to."""
    monkeypatch.chdir(tmp_path)

    def serve(mirror, contents):
        web_server.pages |= {f"/{mirror}/{name}": page for name, page in contents.items()}

    web_server.serve, web_server.mirrors = serve, [f"{web_server.url}/{mirror}/" for mirror in "ab"]
    return web_server


def in_raw(dataset="amazon_access"):
    return sorted(path.name for path in Path("data/raw", dataset).iterdir())


def test_download_once(server, contents):
    server.serve("a", contents)
    source = source_of(contents, *server.mirrors)
    paths = fetch(source)
    assert [p.read_bytes() for p in paths] == list(contents.values()) and in_raw("mnist") == sorted(contents)
    assert fetch(source) == paths
    assert server.asked == [f"/a/{name}" for name in contents]


@pytest.mark.parametrize(
    "fault",
    [lambda c: 503, lambda c: c[::-1], lambda c: (c[:30], len(c), False), None],
    ids=["status", "wrong", "truncated", "nobody"],
)
def test_second_mirror_takes_over(server, contents, fault):
    server.serve("b", contents)
    first, second = server.mirrors
    if fault:
        server.serve("a", {name: fault(content) for name, content in contents.items()})
    paths = fetch(source_of(contents, first if fault else "http://127.0.0.1:9/", second))
    assert [p.read_bytes() for p in paths] == list(contents.values()) and in_raw("mnist") == sorted(contents)


def test_bad_mirrors_leave_no_file_and_one_sentence(server, waits):
    server.serve("a", {"train.csv": CONTENT[:-1]})  # complete as far as HTTP knows
    server.serve("b", {"train.csv": (CONTENT[:-1], len(CONTENT), False)})
    source = source_of(TABLE, *server.mirrors, dataset="amazon_access")
    urls = [mirror + "train.csv" for mirror in server.mirrors]
    shas = digest(CONTENT), digest(CONTENT[:-1])
    refused(lambda: fetch(source), "train.csv", *urls, "data_dir", "$GCEXP_DATA", *shas)
    assert in_raw() == []


def test_killed_download_is_never_used(server, contents):
    name, content = next(iter(contents.items()))
    server.serve("a", {name: (content[: len(content) // 2], len(content), True)})  # half of it, then nothing
    source = source_of({name: content}, server.mirrors[0])
    job = multiprocessing.get_context("fork").Process(target=fetch, args=[source])
    job.start()
    folder = Path("data/raw/mnist")
    wait(lambda: folder.exists() and any(folder.iterdir()), "half of a file")
    job.kill()
    job.join()
    assert any(folder.iterdir()) and not (folder / name).exists()
    server.serve("a", contents)
    assert [p.read_bytes() for p in fetch(source)] == [content]


def test_unwritable_raw_dir_is_a_sentence(server):
    server.serve("a", TABLE)
    Path("file").write_text("in the way")
    with pytest.raises(UserError, match="file"):
        fetch(source_of(TABLE, *server.mirrors), raw_dir=Path("file"))


@pytest.mark.parametrize("busy", [2, len(WAITS) + 1])
def test_a_mirror_that_is_busy_is_asked_again_until_the_last_wait(server, waits, busy):
    server.serve("a", {"train.csv": [*[503, 429, 503, 503][:busy], CONTENT]})
    source = source_of(TABLE, server.mirrors[0])
    if busy == 2:
        assert fetch(source)[0].read_bytes() == CONTENT
    else:
        refused(lambda: fetch(source), "503")
    assert waits == sorted(WAITS[:busy]) and len(server.asked) == 1 + len(waits)


@pytest.mark.parametrize("answer", [404, CONTENT[::-1]], ids=["not there", "another file"])
def test_what_will_not_change_is_not_asked_again(server, waits, answer):
    server.serve("a", {"train.csv": answer})
    refused(lambda: fetch(source_of(TABLE, server.mirrors[0], dataset="amazon_access")), "train.csv")
    assert (waits, len(server.asked), in_raw()) == ([], 1, [])


def tar_of(members, folder="amazon/", headers=()):
    """A tar file; a member given as text is a symbolic link to it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(folder + name)
            info.pax_headers = dict(headers)
            if isinstance(content, str):
                info.type, info.linkname, content = tarfile.SYMTYPE, content, b""
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("packed", "whole"),
    [
        (tar_of({"test.csv": b""} | TABLE), True),
        (b"no tar file", False),
        (tar_of({"test.csv": b""}), False),
        (tar_of({"train.csv": CONTENT[:-1]}), False),
    ],
    ids=["whole", "no tar file", "another file", "cut off"],
)
def test_a_copy_inside_a_tar_file(server, waits, packed, whole):
    server.pages["/amazon.tar.gz"] = packed
    packed_at = f"{server.url}/amazon.tar.gz#amazon/"
    source = source_of(TABLE, f"{server.url}/nothing/", packed_at, dataset="amazon_access")
    if whole:
        assert fetch(source)[0].read_bytes() == CONTENT
    else:
        refused(lambda: fetch(source), "amazon.tar.gz")
    assert waits == [] and in_raw() == ["train.csv"] * whole


def test_an_archive_without_a_checksum_ends_at_its_bound(server, waits, monkeypatch):
    """A mirror that sends on and on, and a member that grows beyond the file's size when it is unpacked."""
    larger = {"train.csv": CONTENT + bytes(10**6)}
    server.pages["/amazon.tar.gz"] = tar_of(larger)
    source = source_of(TABLE, f"{server.url}/amazon.tar.gz#amazon/", dataset="amazon_access")
    refused(lambda: fetch(source), str(len(CONTENT) + 10**6))
    monkeypatch.setattr("gcexp.data.fetch._MOST_OF_ARCHIVE", 100)
    refused(lambda: fetch(source), "sends more")
    assert in_raw() == []


def test_the_command_names_what_is_there(server, waits, monkeypatch, capsys):
    server.serve("a", {"train.csv": [503, CONTENT]})
    source = source_of(TABLE, server.mirrors[0], dataset="amazon_access")
    monkeypatch.setitem(SOURCES, "amazon_access", source)
    assert main.main(["data", "fetch", "digits", "amazon"]) == 0
    output = capsys.readouterr()
    assert "data/raw/amazon_access/train.csv" in output.out and digest(CONTENT) in output.out
    assert "nothing to fetch" in output.out and f"{WAITS[0]:g} s" in output.err
    assert main.main(["data", "fetch", "amazon_access"]) == 0
    assert len(server.asked) == 2  # the third time it is there


def test_a_wrong_name_is_told_before_any_download(server, capsys):
    assert main.main(["data", "fetch", "mnist", "cifar"]) == 2
    assert "cifar10" in capsys.readouterr().err and not Path("data").exists()


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
    refused(lambda: prepare(source_of(contents), tmp_path / "out.npz", tmp_path), 20, 19)


# ---- the table of access rights ----

HEADER = ",".join(ACCESS_COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ACTION\n1\n",
        f"{HEADER}\n1,2,3,4,5,6,7,8,9,x\n",
        f"{HEADER}\n2,2,3,4,5,6,7,8,9,0\n",
        f"a{HEADER}\n1,2,3,4,5,6,7,8,9,0\n",
    ],
)
def test_a_damaged_table_is_refused(tmp_path, text):
    (tmp_path / "train.csv").write_text(text)
    refused(lambda: readers.amazon_access([tmp_path / "train.csv"]), "train.csv")


def test_openml_rows_become_the_published_file(server, monkeypatch):
    """The table of OpenML is written as the CSV it was made of, and accepted only as that."""
    rows = np.arange(20).reshape(2, 10) % 2
    text = HEADER + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    frame = pd.DataFrame(rows.astype(str), columns=["target", *ACCESS_COLUMNS[1:]], dtype="category")
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: SimpleNamespace(frame=frame))
    for content in (text.replace("1", "3").encode(), text.encode()):
        file = RawFile("train.csv", len(content), digest(content), ("openml:4135",))
        source = dataclasses.replace(SOURCES["amazon_access"], files=(file,))
        if content == text.encode():
            assert fetch(source)[0].read_bytes() == content
        else:
            refused(lambda: fetch(source), "openml:4135")  # noqa: B023
            assert in_raw() == []


# ---- the archive of CIFAR-10 ----


def cifar_batch(seed, N=4) -> bytes:
    draw = np.random.default_rng(seed)
    content = {b"data": draw.integers(0, 256, (N, 3072)).astype(np.uint8), b"labels": list(range(N))}
    return pickle.dumps(content, protocol=4)


CIFAR = {file.name: cifar_batch(seed) for seed, file in enumerate(SOURCES["cifar10"].files)}
#: Each in an archive whose header tarfile cannot read.
SPARSE = [
    tar_of({"data_batch_1": b"data"}, "", {f"GNU.sparse.{key}": value})
    for key, value in (("map", "a,b"), ("size", "x"))
]


def cifar_from(tmp_path, archive=None, place="cifar-10-python.tar.gz"):
    """The data set from a local folder, with an archive in its place."""
    path = tmp_path / "data" / place
    if archive is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive)
    source = source_of(CIFAR, dataset="cifar10")
    prepare(source, tmp_path / "cifar10.npz", tmp_path / "data", tmp_path / "raw")
    return load(tmp_path / "cifar10.npz")


@pytest.mark.parametrize("folder", ["cifar10", "cifar10/cifar-10-batches-py", ".", "cifar-10-batches-py"])
def test_members_lie_in_a_folder(tmp_path, folder):
    write(tmp_path / "data" / folder, CIFAR)
    data = cifar_from(tmp_path)
    assert data.x_train.shape == (20, 3, 32, 32) and data.x_train.dtype == np.uint8
    assert data.y_train.tolist() == 5 * [0, 1, 2, 3] and data.y_train.dtype == np.int64
    expected = np.random.default_rng(5).integers(0, 256, (4, 3072)).astype(np.uint8)
    np.testing.assert_array_equal(data.x_test.reshape(4, -1), expected)
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize("inside", ["cifar-10-batches-py/", "", "../../elsewhere/"])
def test_members_come_out_of_any_archive_that_holds_them(tmp_path, inside):
    more = {"readme.html": b"<a>", **CIFAR, "batches.meta": b"names"}
    assert len(cifar_from(tmp_path, tar_of(more, inside), "cifar10/cifar-10-python.tar.gz").y_train) == 20
    written = sorted(path.name for path in (tmp_path / "raw").rglob("*") if path.is_file())
    assert written == sorted(CIFAR) and not (tmp_path / "elsewhere").exists()


def test_the_order_in_an_archive_does_not_enter(tmp_path):
    for name, members in (("a", CIFAR), ("b", dict(reversed(CIFAR.items())))):
        cifar_from(tmp_path / name, tar_of(members))
    for name in ("cifar10.npz", "cifar10.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("archive", "named"),
    [
        (None, ["cifar-10-python.tar.gz", "data_batch_1", "data_dir"]),
        *((content, ["tar"]) for content in (b"", b"no tar file", tar_of(CIFAR)[:9000], *SPARSE)),
        (tar_of({name: content for name, content in CIFAR.items() if name != "test_batch"}), ["test_batch"]),
        (tar_of(CIFAR | {"data_batch_3": CIFAR["data_batch_3"][:-1]}), ["data_batch_3"]),
        (tar_of(CIFAR | {"data_batch_3": CIFAR["data_batch_3"][:-1] + b"?"}), ["data_batch_3"]),
        (tar_of(CIFAR | {"test_batch": "/etc/passwd"}), ["test_batch"]),
    ],
)
def test_a_damaged_incomplete_or_altered_archive_is_refused(tmp_path, archive, named):
    refused(lambda: cifar_from(tmp_path, archive), *named)
    assert not (tmp_path / "cifar10.npz").exists()
    assert not any((tmp_path / "raw" / "cifar10" / name).exists() for name in named)


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
        cifar_batch(0)[:-100],
        b"",
        b"\x80\xff",
    ],
)
def test_a_pickle_runs_nothing(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch").write_bytes(content)
    refused(lambda: readers.read_cifar_batch(tmp_path / "batch"), "batch")
    assert not (tmp_path / "executed").exists()


# ---- prepared files ----


@pytest.fixture
def prepared(tmp_path, contents):
    write(tmp_path / "mnist", contents)
    prepare(source_of(contents), tmp_path / "out" / "mnist.npz", tmp_path)
    return tmp_path / "out" / "mnist.npz"


def test_prepared_and_loaded(prepared, contents, tmp_path):
    data = load(prepared)
    raw = gzip.decompress(contents["train-images-idx3-ubyte.gz"])[16:]
    x = np.frombuffer(raw, np.uint8).reshape(20, 6)
    np.testing.assert_array_equal(data.x_train, (x / 255).astype(np.float32))
    assert data.x_train.dtype == data.x_test.dtype == np.float32 and data.x_train.flags.c_contiguous
    assert data.y_train.dtype == data.y_test.dtype == np.int64
    assert (data.name, data.note, data.x_test.shape, data.y_test.shape) == ("mnist", "", (5, 6), (5,))
    assert sorted(p.name for p in prepared.parent.iterdir()) == ["mnist.json", "mnist.npz"]
    sidecar = prepared.with_suffix(".json").read_text()
    record = json.loads(sidecar)
    assert str(tmp_path) not in sidecar and record == record | {
        "dataset": "mnist",
        "note": "",
        "scale": 255,
        "classes": 10,
        "sha256": digest(prepared.read_bytes()),
        "bytes": prepared.stat().st_size,
        "shapes": {"x_train": [20, 6], "y_train": [20], "x_test": [5, 6], "y_test": [5]},
        "raw": {name: digest(content) for name, content in contents.items()},
    }


@each_damage
def test_damaged_prepared_file_is_told_with_both_checksums(prepared, damaged):
    good = prepared.read_bytes()
    bad = damaged(good)
    prepared.write_bytes(bad)
    refused(lambda: load(prepared), prepared, digest(good), digest(bad))


def test_sidecar_missing_or_damaged(prepared):
    sidecar = prepared.with_suffix(".json")
    whole = sidecar.read_text()
    for text in ("", whole[:40], "[]", "3", json.dumps({"sha256": "0"}), "\udcff"):
        sidecar.write_text(text, errors="surrogateescape")
        refused(lambda: load(prepared), "mnist.json")
    for missing in (sidecar, prepared):
        missing.unlink()
        refused(lambda: load(prepared), missing.name)


@pytest.mark.parametrize(
    "change",
    [{"scale": 17}, {"scale": "x"}, {"bytes": "many"}, {"sha256": 3}, {"classes": True}, {"note": "other"}],
    ids=str,
)
def test_an_edited_record_is_noticed(prepared, change):
    sidecar = prepared.with_suffix(".json")
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | change))
    refused(lambda: load(prepared), "mnist.json")


def test_interrupted_between_the_two_renames(prepared, contents, tmp_path, monkeypatch):
    """The new sidecar stands beside the old array file: refused, not taken for a pair."""
    others = {name: zipped(gzip.decompress(c)[:-1] + b"\0") for name, c in contents.items()}
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
    refused(lambda: load(prepared), "expected sha256")


# ---- the data sets ----


def test_names(tmp_path):
    with pytest.raises(UserError, match="'minst'.*'mnist'"):
        prepare("minst", tmp_path / "minst.npz")
    assert datasets() == ["access_rows", "amazon_access", "cifar10", "digits", "linear_mixture", "mnist"]
    with pytest.raises(UserError, match=".npz"):
        prepare("digits", tmp_path / "digits.json")


def test_digits(tmp_path, monkeypatch):
    monkeypatch.setenv("GCEXP_DATA", str(tmp_path / "nowhere"))  # has no say: no raw files
    prepare("digits", tmp_path / "digits.npz")
    with np.load(tmp_path / "digits.npz") as stored:
        assert {stored[name].dtype for name in stored} == {np.dtype(np.uint8)}
    data = load(tmp_path / "digits.npz")
    assert (data.x_train.shape, data.x_test.shape) == ((1497, 64), (300, 64))
    assert "scikit-learn" in data.note and np.bincount(data.y_test, minlength=10).min() > 15  # shuffled
    x, y = load_digits(return_X_y=True)
    parts = ((data.x_train, data.y_train), (data.x_test, data.y_test))
    found = np.concatenate([np.c_[16 * inputs, labels] for inputs, labels in parts])
    assert sorted(found.tolist()) == sorted(np.c_[x, y].tolist())


def assert_same_bytes(one, other):
    """Whether two prepared files, and their records, are equal; the clock does not enter."""
    for suffix in (".npz", ".json"):
        assert one.with_suffix(suffix).read_bytes() == other.with_suffix(suffix).read_bytes()
    with zipfile.ZipFile(one) as members:
        assert {member.date_time[0] for member in members.infolist()} == {1980}


def test_linear_mixture(tmp_path, monkeypatch, linear_mixture):
    """The law of the specification: y = x . w* for one w* of signs, and x shifted along +-w* by 1.5 / d."""
    monkeypatch.setenv("GCEXP_DATA", str(tmp_path / "nowhere"))  # has no say: no raw files
    record = prepare("linear_mixture", tmp_path / "linear_mixture.npz")
    assert (record["scale"], record["classes"], record["raw"], record["note"]) == (None, None, {}, "")
    assert_same_bytes(tmp_path / "linear_mixture.npz", linear_mixture)
    data = load(linear_mixture)
    assert (data.x_train.shape, data.x_test.shape) == ((2000, 1000), (400, 1000))
    assert {data.x_train.dtype, data.x_test.dtype} == {np.dtype(np.float32)}
    assert {data.y_train.dtype, data.y_test.dtype} == {np.dtype(np.float64)}
    N, d = 2400, 1000
    x = np.concatenate([data.x_train, data.x_test]).astype(np.float64)
    y = np.concatenate([data.y_train, data.y_test])
    model = np.linalg.solve(x.T @ x, x.T @ y)
    np.testing.assert_allclose(np.abs(model), 1, atol=1e-9)
    np.testing.assert_allclose(x @ np.rint(model), y, rtol=0, atol=1e-10)
    assert abs(x.mean()) < 4 / np.sqrt(N * d) and abs(x.var() - 1) < 4 * np.sqrt(2 / (N * d))
    # Along w* / sqrt(d) two Gaussians at +-1.5 / sqrt(d), so that the shift is too small to be seen in one sample.
    assert abs((y**2).mean() / d - 1 - 1.5**2 / d) < 4 * np.sqrt(2 / N)


def test_the_mixture_has_its_two_means(monkeypatch):
    """With a larger shift both halves of the mixture are seen, here of fewer samples."""
    for name, value in {"SHIFT": 1000.0, "TRAIN": 500, "TEST": 100}.items():
        monkeypatch.setattr(readers, f"MIXTURE_{name}", value)
    arrays = readers.mixture(np.random.default_rng(0))
    along = arrays["y_train"] / 1000  # N(b, 1 / d)
    assert np.abs(np.abs(along) - 1).max() < 5 / np.sqrt(1000)
    assert abs(np.sign(along).mean()) < 4 / np.sqrt(500)


def test_prepare_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        prepare("digits", tmp_path / name / "digits.npz")
    assert_same_bytes(tmp_path / "a/digits.npz", tmp_path / "b/digits.npz")


def test_published_files_have_two_addresses_and_their_checksums_are_listed():
    for one in SOURCES.values():
        for file in (one.archive,) if one.archive else one.files:
            assert len({url.split("/")[2] if "//" in url else url for url in file.urls}) >= 2, file.name
    readme = (ROOT / "data" / "README.md").read_text()
    listed = re.findall(r"^\| (\S+) \| (\d+) \| ([0-9a-f]{64}) \|$", readme, re.M)
    assert listed == [(f.name, str(f.size), f.sha256) for source in SOURCES.values() for f in source.files]
    assert re.findall(r"^## (\S+)$", readme, re.M) == list(SOURCES)
    for file in MNIST.files:
        assert all(url.removesuffix("/" + file.name) + "/" in readme for url in file.urls)


def test_real_mnist(tmp_path, published_data):
    output = tmp_path / "mnist.npz"
    prepare("mnist", output, published_data("mnist/train-images-idx3-ubyte.gz"))
    with np.load(output) as stored:
        assert (int(stored["x_train"].sum()), int(stored["x_test"].sum())) == (1567298545, 264923200)
    data = load(output)
    assert (data.x_train.shape, data.x_test.shape) == ((60000, 784), (10000, 784))
    assert np.bincount(data.y_train).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(data.y_test).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert data.x_train.min() == 0 and data.x_train.max() == 1


@pytest.mark.slow
def test_real_cifar10(tmp_path, published_data):
    record = prepare("cifar10", tmp_path / "cifar10.npz", published_data("cifar10"), tmp_path / "raw")
    assert record["sha256"] == "51933a1f9492cb70f51419b4d4b3f5e9685aa34feecf4fbf150c405e5d872bf2"
    data = load(tmp_path / "cifar10.npz")
    assert np.bincount(data.y_train).tolist() == 10 * [5000]
    assert np.bincount(data.y_test).tolist() == 10 * [1000]
