"""What a file holds, without what packs it: recognised by its first bytes, not by its name; and what is no log."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import IO

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.recipes import FLIGHT, FRAMES, see

MOST_BYTES = 2**30  # of a file, packed and unpacked
TEXT, PARQUET, NPY, NPZ = "text", "Parquet", "npy", "npz"
#: What is no text; a zip archive that is not unpacked holds arrays.
_STORED = {b"PAR1": PARQUET, b"\x93NUMPY": NPY, b"PK\x03\x04": NPZ}
_HEAD = 2**16  # bytes by which it is seen what a file is
_TRIED = 60  # first lines by which it is seen what a text is
_BEGINS = 40  # letters of a line in a sentence
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
_INSTEAD = "print a line for each step and rank, or record the steps (docs/real-runs.md)"
_FLIGHT = (
    "is a dump of torch's flight recorder, which says when collectives were launched and not what a rank took before; "
    + see(FLIGHT)
)
_SCORES = (
    "is a report of scores, which compare ranks over many steps: they are no times, and their steps are not known; "
    + _INSTEAD
)
_TOTALS = (
    "is a profiler's table of totals over all steps of one rank, in which single steps cannot be told apart; "
    + _INSTEAD
)
_XLA = (
    "is a profile of JAX or another program of XLA, whose events do not say what a worker took before it waited for "
    "others; print a line for each step and process (docs/logs.md)"
)
#: What the first bytes match, and what the file is.
_TOOLS = {
    rb"\x80[\x02-\x05].*(pg_config|collective_seq_id)": _FLIGHT,
    rb'\s*\{.*"(collective_seq_id|comm_lib_version|nccl_comm_state)"': _FLIGHT,
    rb'\s*\{[^{}\[\]]*"schema"\s*:\s*"[^"]*chakra': (
        "is a Chakra execution trace, which holds the operations of one rank and what they depend on, without their "
        "times; name a folder with the profiler traces of all ranks"
    ),
    rb'\s*\{[^\[]*"highres-ticks".*"/(host|device):': _XLA,
    rb"\n.{1,12}\x12.{1,2}/(host|device):": _XLA,
    rb":W&B": (
        "is an offline file of Weights & Biases, which only its own tools read: upload it by wandb sync, and export "
        "the times of all ranks as CSV"
    ),
    rb"\s*\w+ Profiler Report\s": _TOTALS,
    rb"\s*-{5}[-\s]*Name +Self CPU %": _TOTALS,
    rb'\s*\{\s*"(gpu|section)_\w+_perf_scores"': _SCORES,
}
_PATTERNS = [(re.compile(pattern, re.DOTALL), sentence) for pattern, sentence in _TOOLS.items()]
_SCORE = re.compile(
    rb"Rank=\d+ (Node=\S+ )?Score=[\d.]+\s*$|(Best|Worst) performing \d|GPU (relative|individual) perf"
)


@dataclass(frozen=True)
class Content:
    """What a file holds, without what packs it.

    Attributes
    ----------
    place : str
        How sentences begin: ``trace mine.csv``.
    form : str
        ``text``, ``Parquet``, ``npy`` or ``npz``.
    data : bytes
        Of text in UTF-8.
    lines : bytes
        Of text its lines, which end with newlines, without a last one that no newline ends.
    told : list of str
        What is told of its packing and its encoding.
    cut : list of str
        What is told of the last line, where `lines` is without it.
    """

    place: str
    form: str
    data: bytes
    lines: bytes = b""
    told: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)

    @cached_property
    def first_lines(self) -> list[str]:
        """The first lines of text that are not empty, by which it is seen what a text is."""
        lines = self.lines[:_HEAD].decode(errors="replace").split("\n", 2 * _TRIED)
        return [line for line in lines[: 2 * _TRIED] if line.strip()][:_TRIED]


def content_of(path: Path, is_text: bool) -> Content:
    """What a file holds; `is_text` where a person said so.

    Raises
    ------
    DataError
        For a file that is damaged, encrypted, too large or of a form that is not read.
    """
    place = f"trace {path.name}"
    data, told = _bytes_of(path, place)
    if not is_text:
        for magic, form in _STORED.items():
            if data.startswith(magic):
                return Content(place, form, data, told=told)
    data, encoding = _in_utf8(data, place)
    lines, cut = _whole_lines(data)
    return Content(place, TEXT, data, lines, [*told, *encoding], cut)


# --- bytes ------------------------------------------------------------------------------------------------------------


def _bytes_of(path: Path, place: str) -> tuple[bytes, list[str]]:
    """The bytes of a file, unpacked if it is packed, and what is told of that."""
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
    told = told_of(data)
    if told:
        raise DataError(f"{place}: {told}")
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


# --- what holds no times ----------------------------------------------------------------------------------------------


def told_of(head: bytes) -> str:
    r"""What is told of a file with these first bytes; nothing where it may hold times.

    Examples
    --------
    >>> told_of(b"FIT Profiler Report\n\n---").split(",")[0], told_of(b"step,rank,time\n")
    ("is a profiler's table of totals over all steps of one rank", '')
    """
    head = head[:_HEAD]
    for pattern, sentence in _PATTERNS:
        if pattern.match(head):
            return sentence
    lines = [line for line in head.splitlines() if line.strip()]
    scores = [line for line in lines if _SCORE.search(line)]
    return _SCORES if 2 * len(scores) > len(lines) else ""


# --- text -------------------------------------------------------------------------------------------------------------


def _in_utf8(data: bytes, place: str) -> tuple[bytes, list[str]]:
    """The text of a file in UTF-8, and what is told of its encoding; raise `DataError` for other bytes."""
    told = []
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            data = data.decode("utf-16").encode()
            told = ["took its text for UTF-16"]
        data = data.removeprefix(codecs.BOM_UTF8)
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place}: is no text in {error.encoding} (byte {error.start}); a table in another encoding is made UTF-8 "
            "by iconv -f latin1 -t utf-8 FILE > NEW"
        ) from None
    if b"\0" in data:
        raise DataError(
            f"{place}: is no text, for it holds zero bytes; a table in UTF-16 needs its byte order mark"
        )
    return data, told


def _whole_lines(data: bytes) -> tuple[bytes, list[str]]:
    """The text, its lines ending with newlines, without a last line that no newline ends, and what is told of that."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    end = data.rfind(b"\n") + 1
    last = data[end:]
    if not end or not last.strip() or last.startswith(b"#"):
        return data, []
    number = data.count(b"\n") + 1
    told = (
        f"left out line {number}, {quoted(last.decode(), _BEGINS)}: no newline ends it, so it may have "
        "been cut off; where it is whole, end the file with a newline"
    )
    return data[:end], [told]
