"""The content of a file of times, without what packs it; recognised by its first bytes, not by its name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import IO

from gcexp.errors import DataError
from gcexp_adviser.logs.recipes import FRAMES, see
from gcexp_adviser.logs.without_times import refuse_without_times

MOST_BYTES = 2**30  # of a file, packed and unpacked
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}
_PICKLE = f"is a Python pickle, which may run code when it is read; {see(FRAMES)}"
_EXCEL = f"is an Excel workbook; save its sheet as CSV first, or {see(FRAMES)}"
#: What is not read, and what to do about it.
_OTHER = {
    b"\x28\xb5\x2f\xfd": "is packed with zstd; unpack it first (unzstd FILE)",
    b"\x04\x22\x4d\x18": "is packed with lz4; unpack it first (unlz4 FILE)",
    b"7z\xbc\xaf\x27\x1c": "is a 7z archive; unpack it first",
    b"\x89HDF": "is an HDF5 file; save its table as CSV or Parquet first",
    b"SQLite format 3": "is an SQLite database; save its table as CSV first",
    b"ARROW1": "is an Arrow file; save it as Parquet or CSV first",
    b"\xd0\xcf\x11\xe0": _EXCEL,
    b"%PDF": "is a PDF document and holds no table",
    b"\x80\x02": _PICKLE,
    b"\x80\x03": _PICKLE,
    b"\x80\x04": _PICKLE,
    b"\x80\x05": _PICKLE,
}
_TAR = slice(257, 262), b"ustar"  # where an archive of tar says that it is one
_OPENED: dict[str, Callable] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
#: What reading damaged archives raises.
DAMAGED = (
    *(OSError, EOFError, ValueError, NotImplementedError, RuntimeError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)


def content_of(path: Path, place: str) -> tuple[bytes, list[str]]:
    """The bytes of a file, unpacked if it is packed, and what is told of that.

    Raises
    ------
    DataError
        For a file that is damaged, encrypted, too large or of a form that is not read.
    """
    try:
        with path.open("rb") as file:
            data = _bounded(file, place)
    except OSError as error:
        raise DataError(f"{place}: cannot be read ({error.strerror or error})") from None
    packing = _packing(data)
    if not packing or _is_npz(data):
        _refuse_other(data, place)
        return data, []
    try:
        unpacked, told = _unpacked(data, packing, place)
    except DAMAGED as error:
        raise DataError(f"{place}: is packed with {packing} and damaged ({error}); copy it again") from None
    if _packing(unpacked):
        raise DataError(f"{place}: is packed twice; unpack it first")
    _refuse_other(unpacked, place)
    return unpacked, told


def _packing(data: bytes) -> str:
    """What a file is packed with; empty for none."""
    for magic, name in _PACKED.items():
        if data.startswith(magic):
            return name
    return ""


def _refuse_other(data: bytes, place: str) -> None:
    refuse_without_times(data, place)
    at, magic = _TAR
    if data[at] == magic:
        raise DataError(f"{place}: is a tar archive; unpack it, and name its files or their folder")
    for magic, sentence in _OTHER.items():
        if data.startswith(magic):
            raise DataError(f"{place}: {sentence}")


def _bounded(file: IO[bytes], place: str) -> bytes:
    """All bytes of a file; raise `DataError` for more than is read."""
    data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise DataError(
            f"{place}: holds more than {MOST_BYTES // 2**20} MiB, which is not read; keep fewer iterations"
        )
    return data


def _unpacked(data: bytes, packing: str, place: str) -> tuple[bytes, list[str]]:
    """The content, and what is told of it."""
    if packing == "zip":
        with zipfile.ZipFile(BytesIO(data)) as archive:
            member = _only_member(archive, place)
            with archive.open(member) as file:
                return _bounded(file, place), [f"unpacked {member.filename} from a zip archive"]
    with _OPENED[packing](BytesIO(data)) as file:
        return _bounded(file, place), [f"unpacked with {packing}"]


def _is_npz(data: bytes) -> bool:
    """Whether this is an archive of arrays of numpy's."""
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
    return bool(names) and all(name.endswith(".npy") for name in names)


def _only_member(archive: zipfile.ZipFile, place: str) -> zipfile.ZipInfo:
    """The one file of an archive; raise `DataError` if there is another number of them, or a key is needed."""
    members = []
    for member in archive.infolist():
        hidden = member.filename.startswith("__MACOSX/") or Path(member.filename).name.startswith(".")
        if not member.is_dir() and not hidden:
            members.append(member)
    names = [member.filename for member in members]
    if "xl/workbook.xml" in names:
        raise DataError(f"{place}: {_EXCEL}")
    if len(members) != 1:
        shown = f" ({', '.join(names[:3])}, ...)" if names else ""
        raise DataError(
            f"{place}: holds {len(members)} files{shown}, wanted is one; unpack it and name the files"
        )
    if members[0].flag_bits & 1:
        raise DataError(f"{place}: is encrypted; unpack it with its password first")
    return members[0]
