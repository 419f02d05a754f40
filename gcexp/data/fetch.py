"""Get raw files from a local folder, an earlier download, or public mirrors."""

from __future__ import annotations

import lzma
import os
import sys
import tarfile
import tempfile
import time
import zlib
from pathlib import Path

from gcexp.data.checksum import check_digest, sha256
from gcexp.data.sources import Archive, RawFile, Source
from gcexp.errors import DataError
from gcexp.files import writable, written

#: Environment variable that names a local folder with the raw files.
DATA_VARIABLE = "GCEXP_DATA"
#: Where downloads are kept.
RAW_DIR = Path("data/raw")
#: Seconds before the mirrors are asked again, after none of them delivered.
WAITS = (1.0, 4.0, 16.0)
_LATER = (408, 425, 429)  # answers of a server that may serve the file later


def fetch(source: Source, data_dir: str | Path | None = None, raw_dir: Path = RAW_DIR) -> list[Path]:
    """Paths of a data set's raw files, each with the right checksum.

    Parameters
    ----------
    source : Source
        The data set.
    data_dir : path, optional
        Local folder that holds ``<dataset>/<file>`` or ``<file>``; default ``$GCEXP_DATA``. Where one is given it
        must hold every file: nothing is downloaded.
    raw_dir : Path
        Downloads are kept in ``<raw_dir>/<dataset>/`` and used again.

    Returns
    -------
    list of Path
        One per file, in the order of ``source.files``; empty where no raw file is needed.

    Raises
    ------
    DataError
        If a file is not in the local folder, has the wrong checksum, or no mirror could deliver it.
    UserError
        If a download cannot be written.
    """
    if source.local:
        check_digest(source.local, source.files[0].sha256, source.files[0].size, "it has just changed: run again")
        return [source.local]
    folder, given_by = data_dir, "data_dir"
    if not folder:
        folder, given_by = os.environ.get(DATA_VARIABLE), f"${DATA_VARIABLE}"
    local = Path(folder).expanduser() if folder else None
    if source.archive:
        return _members(source, source.archive, local, given_by, Path(raw_dir) / source.name)
    if local:
        return [_from_folder(source, file, local, given_by) for file in source.files]
    return [_downloaded(file, Path(raw_dir) / source.name / file.name) for file in source.files]


def _from_folder(source: Source, file: RawFile, folder: Path, given_by: str) -> Path:
    places = [folder / source.name / file.name, folder / file.name]
    path = next((place for place in places if os.path.exists(place)), None)  # Path.exists can raise
    if path is None:
        raise DataError(
            f"{file.name} of {source.name} is not in the local folder given by {given_by}: looked for {places[0]} "
            f"and {places[1]}; put it there, or give no local folder to download it"
        )
    check_digest(path, file.sha256, file.size, "replace it with the published file")
    return path


def _members(
    source: Source, archive: Archive, local: Path | None, given_by: str | None, raw: Path
) -> list[Path]:
    """The members, each verified: where they lie in the local folder, else unpacked into `raw` from the archive."""
    names = [file.name for file in source.files]
    found = None
    if local:
        places = [local / source.name, local]
        places += [place / archive.folder for place in places]
        for place in places:
            if all(os.path.exists(place / name) for name in names):
                for file in source.files:
                    check_digest(place / file.name, file.sha256, file.size, "replace it with the published file")
                return [place / name for name in names]
        found = next((place / archive.name for place in places if os.path.exists(place / archive.name)), None)
        if found is None:
            raise DataError(
                f"neither {archive.name} nor all of {', '.join(names)} are in the local folder given by {given_by}: "
                f"looked in {', '.join(map(str, places))}; put them there, or give no local folder to download them"
            )
    kept = [raw / name for name in names]
    if not all(os.path.exists(path) for path in kept):
        _unpack(found or _downloaded(archive, raw / archive.name), source, kept)
    for file, path in zip(source.files, kept, strict=True):
        check_digest(path, file.sha256, file.size, "delete it and run again to unpack it")
    return kept


def _unpack(archive: Path, source: Source, kept: list[Path]) -> None:
    """Write the named members, of exactly the expected size, and nothing else that the archive holds."""
    wanted = {file.name: (file, path) for file, path in zip(source.files, kept, strict=True)}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if (asked := wanted.get(Path(member.name).name)) is None:
                    continue
                file, path = asked
                if not member.isreg() or member.size != file.size:
                    raise DataError(
                        f"{archive}: {member.name} should be a file of {file.size} bytes, found {member.size}; "
                        "replace it with the published file"
                    )
                content = tar.extractfile(member)
                assert content is not None, "a regular file has content"
                with written(path) as temporary:
                    temporary.write_bytes(content.read())
                    if (found := sha256(temporary)) != file.sha256:
                        raise DataError(
                            f"{archive}: {member.name} should have sha256 {file.sha256}, found {found}; "
                            "replace it with the published file"
                        )
                del wanted[file.name]
    except (OSError, EOFError, ValueError, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        first = str(error).partition("\n")[0]  # tarfile tells on further lines what each method says
        raise DataError(f"{archive}: is not a complete tar file ({first})") from error
    if wanted:
        raise DataError(f"{archive}: has no {', '.join(wanted)}; replace it with the published file")


def _downloaded(file: RawFile, path: Path) -> Path:
    if os.path.exists(path):
        check_digest(path, file.sha256, file.size, "delete it and run again to download it")
        return path
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
                    if not _may_pass(error):
                        left.remove(url)
            if not left or wait is None:
                break
            print(f"{path.name}: no mirror delivered it; trying again in {wait:g} s", file=sys.stderr)
            time.sleep(wait)
    raise DataError(
        f"{path.name} could not be downloaded from {' or '.join(failures.values())}; get it by other means and name "
        f"its folder with data_dir or ${DATA_VARIABLE}"
    )


def _may_pass(error: Exception) -> bool:
    """Whether the same mirror may deliver the right file a little later."""
    status = getattr(getattr(error, "response", None), "status_code", 0)
    return isinstance(error, OSError) and (not 400 <= status < 500 or status in _LATER)


def _from_mirror(url: str, file: RawFile, path: Path) -> None:
    """Write a file from one of its mirrors, see `RawFile.urls`.

    Raises
    ------
    OSError
        If the mirror does not deliver.
    ValueError
        If it delivers another file.
    """
    import pooch  # only a download needs it

    address, _, member = url.partition("#")
    if url.startswith("openml:"):
        _keep(_of_openml(url), file, path)
    elif member:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            archive = pooch.retrieve(address, known_hash=None, fname="archive", path=folder)
            _keep(_of_archive(Path(archive), member), file, path)
    else:  # under a temporary name, and renamed only when complete and of this checksum
        known, bar = f"sha256:{file.sha256}", sys.stderr.isatty()
        pooch.retrieve(url, known_hash=known, fname=path.name, path=path.parent, progressbar=bar)


def _of_archive(archive: Path, member: str) -> bytes:
    """Content of one member of a tar file."""
    try:
        with tarfile.open(archive) as tar:
            content = tar.extractfile(member)
            return content.read() if content else b""
    except (KeyError, EOFError, tarfile.TarError, zlib.error) as error:
        first = str(error).partition("\n")[0]  # as in `_unpack`
        raise ValueError(f"not a tar file with {member}: {first}") from error


def _of_openml(url: str) -> bytes:
    """A table of OpenML as the CSV file it was made of: label first, whole numbers, LF line ends."""
    from sklearn.datasets import fetch_openml

    from gcexp.data.readers import ACCESS_COLUMNS

    frame = fetch_openml(data_id=int(url.partition(":")[2]), as_frame=True, parser="liac-arff").frame
    rows = [frame[name].astype(int) for name in ("target", *ACCESS_COLUMNS[1:])]
    text = ",".join(ACCESS_COLUMNS) + "\n"
    text += "".join(",".join(map(str, row)) + "\n" for row in zip(*rows, strict=True))
    return text.encode("ascii")


def _keep(content: bytes, file: RawFile, path: Path) -> None:
    """Write what a mirror delivered; raise `ValueError` if that is not the expected file, byte for byte."""
    with written(path) as temporary:
        temporary.write_bytes(content)
        try:
            check_digest(temporary, file.sha256, file.size, "it is another file")
        except DataError as error:
            raise ValueError(str(error)) from error


def _reason(error: Exception) -> str:
    """Why a mirror failed, in a few words."""
    if getattr(error, "response", error) is None:  # of requests, which pooch brings: nobody answered
        return type(error).__name__
    return str(error).split(". ")[0].split(" for url: ")[0]
