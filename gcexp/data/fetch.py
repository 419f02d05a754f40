"""Get raw files from a local folder, an earlier download, or public mirrors."""

from __future__ import annotations

import hashlib
import lzma
import os
import sys
import tarfile
import tempfile
import time
import zlib
from pathlib import Path
from typing import IO

from gcexp.data.checksum import check_digest
from gcexp.data.sources import RawFile, Source
from gcexp.errors import DataError
from gcexp.files import writable, written

#: Environment variable that names a local folder with the raw files.
DATA_VARIABLE = "GCEXP_DATA"
#: Where downloads are kept.
RAW_DIR = Path("data/raw")
#: Seconds before the mirrors are asked again, after none of them delivered.
WAITS = (1.0, 4.0, 16.0)
_LATER = (408, 425, 429)  # answers of a server that may serve the file later
_MOST_OF_ARCHIVE = 2**28  # bytes of a mirror's archive that has no checksum; files in it have a few MiB
_REPLACE = "replace it with the published file"


def fetch(source: Source, data_dir: str | Path | None = None, raw_dir: Path = RAW_DIR) -> list[Path]:
    """Paths of a data set's raw files, each with the right checksum, in the order of ``source.files``.

    A local folder, `data_dir` or else ``$GCEXP_DATA``, must hold every file as ``<dataset>/<file>`` or ``<file>``:
    nothing is downloaded then. Downloads are kept in ``<raw_dir>/<dataset>/`` and used again.
    """
    raw = Path(raw_dir) / source.name
    if source.local:
        return [_checked(source.local, source.files[0], "it has just changed: run again")]
    if data_dir:
        return _from_folder(source, Path(data_dir), "data_dir", raw)
    folder = os.environ.get(DATA_VARIABLE)
    if folder:
        return _from_folder(source, Path(folder), f"${DATA_VARIABLE}", raw)
    if source.archive is None:
        return [_downloaded(file, raw / file.name) for file in source.files]
    if not _all_there(source, raw):
        archive = _downloaded(source.archive, raw / source.archive.name)
        _unpack(archive, source, raw)
    return _unpacked(source, raw)


def _from_folder(source: Source, folder: Path, given_by: str, raw: Path) -> list[Path]:
    """The raw files of a local folder; where it has only their archive, those that are unpacked from it to `raw`."""
    local = folder.expanduser()
    places = [local / source.name, local]
    if source.folder:
        places += [place / source.folder for place in places]
    found = {file.name: _first(places, file.name) for file in source.files}
    archive = None
    if source.archive and None in found.values():
        archive = _first(places, source.archive.name)
    if archive is not None:
        if not _all_there(source, raw):
            _unpack(archive, source, raw)
        return _unpacked(source, raw)
    paths = []
    for file in source.files:
        path = found[file.name]
        if path is None:
            raise DataError(_missing(source, file.name, places, given_by))
        paths.append(_checked(path, file, _REPLACE))
    return paths


def _first(places: list[Path], name: str) -> Path | None:
    """The file of that name in the first of some places that has it."""
    for place in places:
        if os.path.exists(place / name):  # Path.exists can raise
            return place / name
    return None


def _all_there(source: Source, folder: Path) -> bool:
    return all(os.path.exists(folder / file.name) for file in source.files)


def _unpacked(source: Source, folder: Path) -> list[Path]:
    """The files that were unpacked to a folder, checked."""
    remedy = "delete it and run again to unpack it"
    return [_checked(folder / file.name, file, remedy) for file in source.files]


def _missing(source: Source, name: str, places: list[Path], given_by: str) -> str:
    """Sentence for a file that no place in a local folder has."""
    wanted = name
    if source.archive:
        names = ", ".join(file.name for file in source.files)
        wanted = f"{source.archive.name}, or all of {names},"
    looked = " and ".join(str(place / name) for place in places)
    return (
        f"{wanted} of {source.name} is not in the local folder given by {given_by}: looked for {looked}; put it there, "
        "or give no local folder to download it"
    )


def _checked(path: Path, file: RawFile, remedy: str) -> Path:
    check_digest(path, file.sha256, file.size, remedy)
    return path


def _unpack(archive: Path, source: Source, folder: Path) -> None:
    """Write the named members, of exactly the expected size, and nothing else that the archive holds."""
    wanted = {file.name: file for file in source.files}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                file = wanted.pop(Path(member.name).name, None)
                if file is None:
                    continue
                content = b""
                if member.isreg() and member.size == file.size:
                    content = _content_of(tar, member)
                if hashlib.sha256(content).hexdigest() != file.sha256:
                    raise DataError(
                        f"{archive}: {member.name} should be a file of {file.size} bytes with sha256 {file.sha256}, "
                        f"found another one of {member.size}; {_REPLACE}"
                    )
                with written(folder / file.name) as temporary:
                    temporary.write_bytes(content)
    except (OSError, EOFError, ValueError, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        first = str(error).partition("\n")[0]  # tarfile tells on further lines what each method says
        raise DataError(f"{archive}: is not a complete tar file ({first})") from error
    if wanted:
        raise DataError(f"{archive}: has no {', '.join(wanted)}; {_REPLACE}")


def _content_of(tar: tarfile.TarFile, member: tarfile.TarInfo | str) -> bytes:
    """What a member of a tar file holds; nothing where it is no file."""
    stream = tar.extractfile(member)
    if stream is None:
        return b""
    return stream.read()


def _downloaded(file: RawFile, path: Path) -> Path:
    if os.path.exists(path):
        return _checked(path, file, "delete it and run again to download it")
    import pooch  # noqa: F401 # where the extra is lacking this is told before a folder is made

    failures: dict[str, str] = {}
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        left = list(file.urls)
        for wait in (*WAITS, None):
            for url in tuple(left):
                try:
                    _from_mirror(url, file, path)
                    return path
                except (OSError, ValueError) as error:  # OSError: all that requests raises
                    failures[url] = f"{url} ({_reason(error)})"
                    if not _may_deliver_later(error):
                        left.remove(url)
            if not left or wait is None:
                break
            print(f"{path.name}: no mirror delivered it; trying again in {wait:g} s", file=sys.stderr)
            time.sleep(wait)
    raise DataError(
        f"{path.name} could not be downloaded from {' or '.join(failures.values())}; get it by other means and name "
        f"its folder with data_dir or ${DATA_VARIABLE}"
    )


def _may_deliver_later(error: Exception) -> bool:
    """Whether a mirror that failed with this error may have the published file later."""
    if not isinstance(error, OSError):  # it delivered another file
        return False
    status = getattr(getattr(error, "response", None), "status_code", 0)
    is_refused = 400 <= status < 500
    return not is_refused or status in _LATER


def _from_mirror(url: str, file: RawFile, path: Path) -> None:
    """Write a file from one of its mirrors; an OSError where that does not deliver, a ValueError for another file."""
    import pooch  # only a download needs it

    address, _, member = url.partition("#")
    if not member and not url.startswith("openml:"):
        # Under a temporary name, and renamed only when complete and of this checksum.
        pooch.retrieve(
            url,
            known_hash=f"sha256:{file.sha256}",
            fname=path.name,
            path=path.parent,
            progressbar=sys.stderr.isatty(),
        )
        return
    if member:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            archive = pooch.retrieve(
                address, known_hash=None, fname="archive", path=folder, downloader=_download_some
            )
            content = _of_archive(Path(archive), member, file.size)
    else:
        content = _of_openml(url)
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        size = f"{len(content)} bytes, expected {file.size}"
        raise ValueError(f"expected sha256 {file.sha256}, found {found} ({size})")
    with written(path) as temporary:
        temporary.write_bytes(content)


class _Bounded:
    """A file that takes so many bytes and no more: what a mirror sends without a checksum may never end."""

    def __init__(self, file: IO[bytes], most: int):
        self._file = file
        self._left = most

    def write(self, content: bytes) -> int:
        """Write it; a ValueError where that is too much."""
        self._left -= len(content)
        if self._left < 0:
            raise ValueError(f"sends more than {_MOST_OF_ARCHIVE >> 20} MiB")
        return self._file.write(content)

    def flush(self) -> None:
        self._file.flush()


def _download_some(url: str, path: str, mirrors: object) -> None:
    """Download an archive that has no checksum, as `pooch.retrieve` asks for it, up to a size."""
    import pooch

    with open(path, "wb") as file:
        pooch.HTTPDownloader()(url, _Bounded(file, _MOST_OF_ARCHIVE), mirrors)


def _of_archive(archive: Path, member: str, size: int) -> bytes:
    """Content of one member of a tar file, of the expected size."""
    try:
        with tarfile.open(archive) as tar:
            found = tar.getmember(member)
            if found.size != size:
                raise ValueError(f"{member} has {found.size} bytes, expected {size}")
            return _content_of(tar, found)
    except (KeyError, EOFError, tarfile.TarError, zlib.error) as error:
        first = str(error).partition("\n")[0]  # as in `_unpack`
        raise ValueError(f"not a tar file with {member}: {first}") from error


def _of_openml(url: str) -> bytes:
    """A table of OpenML as the CSV file it was made of: label first, whole numbers, LF line ends."""
    from sklearn.datasets import fetch_openml

    from gcexp.data.readers import ACCESS_COLUMNS

    frame = fetch_openml(data_id=int(url.partition(":")[2]), as_frame=True, parser="liac-arff").frame
    rows = frame[["target", *ACCESS_COLUMNS[1:]]].astype(int)
    return rows.to_csv(index=False, header=ACCESS_COLUMNS, lineterminator="\n").encode("ascii")


def _reason(error: Exception) -> str:
    """Why a mirror failed, in a few words."""
    if getattr(error, "response", error) is None:  # of requests, which pooch brings: nobody answered
        return type(error).__name__
    return str(error).split(". ")[0].split(" for url: ")[0]
