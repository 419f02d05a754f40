"""`gcexp data fetch`: mirrors are asked again after a wait, a second copy may lie in a tar file, all is checked."""

import dataclasses
import hashlib
import io
import tarfile

import pytest

from gcexp.command import main
from gcexp.data import fetch as fetching
from gcexp.data.sources import SOURCES, RawFile
from gcexp.errors import DataError

CONTENT = b"ACTION,RESOURCE\n1,2\n"


@pytest.fixture
def server(web_server, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return web_server


@pytest.fixture
def waits(monkeypatch):
    """The seconds that were waited, without waiting."""
    waited = []
    monkeypatch.setattr(fetching.time, "sleep", waited.append)
    return waited


def source(*urls):
    file = RawFile("train.csv", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), urls)
    return dataclasses.replace(SOURCES["amazon_access"], files=(file,))


def tar_of(**members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(f"amazon/{name}.csv")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def test_a_mirror_that_is_busy_is_asked_again(server, waits):
    server.pages["/train.csv"] = [503, 429, CONTENT]
    (path,) = fetching.fetch(source(f"{server.url}/train.csv"))
    assert path.read_bytes() == CONTENT
    assert waits == list(fetching.WAITS[:2])


def test_it_gives_up_after_the_last_wait(server, waits):
    server.pages["/train.csv"] = [503]
    with pytest.raises(DataError, match="503"):
        fetching.fetch(source(f"{server.url}/train.csv"))
    assert waits == list(fetching.WAITS) and sorted(waits) == waits
    assert len(server.asked) == 1 + len(waits)


@pytest.mark.parametrize("answer", [404, CONTENT[::-1]], ids=["not there", "another file"])
def test_what_will_not_change_is_not_asked_again(server, waits, answer):
    server.pages["/train.csv"] = [answer]
    with pytest.raises(DataError, match=r"train\.csv could not be downloaded"):
        fetching.fetch(source(f"{server.url}/train.csv"))
    assert (waits, len(server.asked)) == ([], 1)
    assert list(fetching.Path("data/raw/amazon_access").iterdir()) == []


def test_a_copy_inside_a_tar_file(server, waits):
    server.pages["/amazon.tar.gz"] = [tar_of(test=b"", train=CONTENT)]
    (path,) = fetching.fetch(source(f"{server.url}/nothing", f"{server.url}/amazon.tar.gz#amazon/train.csv"))
    assert path.read_bytes() == CONTENT
    assert [one.name for one in path.parent.iterdir()] == ["train.csv"]


@pytest.mark.parametrize(
    "packed",
    [b"no tar file", tar_of(test=b""), tar_of(train=CONTENT[:-1])],
    ids=["no tar file", "another file", "cut off"],
)
def test_another_tar_file_is_refused(server, waits, packed):
    server.pages["/amazon.tar.gz"] = [packed]
    with pytest.raises(DataError, match="amazon.tar.gz"):
        fetching.fetch(source(f"{server.url}/amazon.tar.gz#amazon/train.csv"))
    assert waits == [] and list(fetching.Path("data/raw/amazon_access").iterdir()) == []


def test_every_published_file_has_a_second_address():
    for one in SOURCES.values():
        for file in (one.archive,) if one.archive else one.files:
            assert len({url.split("/")[2] if "//" in url else url for url in file.urls}) >= 2, file.name


def test_the_command_names_what_is_there(server, waits, monkeypatch, capsys):
    server.pages["/train.csv"] = [503, CONTENT]
    monkeypatch.setitem(SOURCES, "amazon_access", source(f"{server.url}/train.csv"))
    assert main.main(["data", "fetch", "digits", "amazon"]) == 0
    output = capsys.readouterr()
    assert "data/raw/amazon_access/train.csv" in output.out
    assert hashlib.sha256(CONTENT).hexdigest() in output.out and "nothing to fetch" in output.out
    assert f"{fetching.WAITS[0]:g} s" in output.err
    assert main.main(["data", "fetch", "amazon_access"]) == 0
    assert len(server.asked) == 2  # the third time it is there


def test_a_wrong_name_is_told_before_any_download(server, capsys):
    assert main.main(["data", "fetch", "mnist", "cifar"]) == 2
    assert "cifar10" in capsys.readouterr().err and not fetching.Path("data").exists()
