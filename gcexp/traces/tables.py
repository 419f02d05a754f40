"""Tables as they were written: a frame of named columns from text, JSON, Parquet, or arrays and frames in memory."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO, StringIO
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import DataError, ExtraError, lacking
from gcexp.schema import quoted
from gcexp.traces.contents import DAMAGED, MOST_BYTES, text_of
from gcexp.traces.names import listed
from gcexp.traces.numbers import has_decimal_comma
from gcexp.traces.separators import UNNAMED, Layout, layout_of, pairs_of, whole_lines

if TYPE_CHECKING:
    import pandas as pd

_KEYS = ("iteration", "worker", "chunk")
_MATRIX = "took each row of the array for an iteration, and each column for a worker"
MOST_CELLS = 2**25  # iterations times workers, and times chunks
_BEGINS = 60  # letters of a line in a sentence


def _row(number: int) -> str:
    return f"row {number}"


@dataclass(frozen=True)
class Table:
    """A table as it was written.

    Attributes
    ----------
    place : str
        How sentences begin: ``trace mine.csv``.
    frame : DataFrame
        Its columns have distinct names. Cells are text where the source is text.
    place_of : callable
        Where a row stands, for sentences: ``line 3``.
    decisions : list of str
        What was taken for what.
    named : bool
        Whether the columns have names of their own, not only places.
    semicolons : bool
        Whether semicolons divide the cells, as where numbers have decimal commas.
    """

    place: str
    frame: pd.DataFrame
    place_of: Callable[[int], str] = _row
    decisions: list[str] = field(default_factory=list)
    named: bool = True
    semicolons: bool = False

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    @cached_property
    def decimal_commas(self) -> bool:
        """Whether a number in some cell has a decimal comma."""
        if not self.semicolons:
            return False
        return any(has_decimal_comma(self.frame[column]) for column in self.columns)


def table_of(data: bytes, place: str) -> Table:
    """The table in the content of a file, recognised by its first bytes."""
    if data.startswith(b"PAR1"):
        return _of_parquet(data, place)
    if data.startswith(b"\x93NUMPY"):
        return table_in_memory(_of_npy(BytesIO(data), len(data), place), place, [_MATRIX])
    if data.startswith(b"PK\x03\x04"):
        return _of_npz(data, place)
    text, told = text_of(data, place)
    begin = text.lstrip()[:1]
    if begin in ("{", "["):
        table = _of_json(text, place)
        if table is not None:
            return table
    return _of_text(text, place, told)


# --- text -------------------------------------------------------------------------------------------------------------


def _of_text(text: str, place: str, told: list[str]) -> Table:
    """The table in text whose lines have the same number of cells."""
    import pandas as pd

    text, cut = whole_lines(text)
    pairs, more = pairs_of(text)
    if pairs:
        return of_frame(pd.DataFrame(pairs), place, [*told, *cut, *more])
    layout = layout_of(text, place)
    # What is told of a cell shows it as it was written, and numbers of keys look alike however they are read.
    texts = {number: object for number, name in enumerate(layout.header) if name not in _KEYS}
    try:
        frame = pd.read_csv(
            StringIO(layout.body),
            sep=layout.separator,
            header=None,
            names=range(layout.width),
            index_col=False,
            dtype=texts,
            na_filter=False,
            low_memory=False,
            engine="c",
        )
    except (ValueError, csv.Error) as error:
        raise DataError(f"{place}: cannot be read ({' '.join(str(error).split())})") from None
    if frame.empty:
        raise DataError(f"{place} has a header and no rows")
    decisions = [*told, *cut, *layout.decisions]
    frame.columns = pd.Index(layout.header, dtype=object)
    empty = [name for name in frame if name.startswith(UNNAMED) and (frame[name] == "").all()]
    frame = frame.drop(columns=empty)
    return Table(
        place=place,
        frame=frame,
        place_of=_Lines(layout),
        decisions=decisions,
        named=layout.named,
        semicolons=layout.separator == ";",
    )


@dataclass(frozen=True)
class _Lines:
    """Where the rows of a text stand in it."""

    layout: Layout

    def __call__(self, number: int) -> str:
        lines = csv.reader(StringIO(self.layout.body), delimiter=self.layout.separator)
        row = -1
        for cells in lines:
            row += bool(cells)
            if row == number:
                return f"line {self.layout.first_line + lines.line_num - 1}"
        return f"row {number}"


# --- JSON -------------------------------------------------------------------------------------------------------------


def _of_json(text: str, place: str) -> Table | None:
    """The table in JSON: lines, a list of rows, or columns; None for text that only begins like JSON."""
    lines = text.splitlines()
    first = next(line for line in lines if line.strip())
    whole: Any = None
    try:
        whole = json.loads(text)
    except RecursionError:
        raise DataError(f"{place}: is JSON of too many levels") from None
    except ValueError as error:
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            if re.match(r"\s*\[\s*[^\s\[{\"]", first):
                return None  # a log whose lines begin with a time or a host in brackets
            raise DataError(
                f"{place}: is no JSON ({error}); a log that was cut off ends within its last row"
            ) from None
        whole, decisions = _json_lines(lines, place)
    else:
        decisions = ["read as JSON"]
        if (
            isinstance(whole, dict)
            and len(lines) == 1
            and not any(isinstance(v, list | dict) for v in whole.values())
        ):
            whole = [whole]  # one line
    return _of_parsed(whole, place, decisions)


def _json_lines(lines: list[str], place: str) -> tuple[list, list[str]]:
    """The rows in lines of JSON, without a last one that was cut off, and what is told."""
    rows: list[Any] = []
    decisions = ["read as lines of JSON"]
    last = max(number for number, line in enumerate(lines) if line.strip())
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            shown = quoted(line, _BEGINS)
            if number < last or len(rows) < 1:
                raise DataError(f"{place}: line {number + 1}, {shown}, is no JSON ({error})") from None
            decisions.append(f"left out the last line, {number + 1}: {shown} was cut off")
    return rows, decisions


def _of_parsed(whole: Any, place: str, decisions: list[str]) -> Table:
    """The table in what JSON holds."""
    import pandas as pd

    if isinstance(whole, dict) and "traceEvents" in whole:
        raise DataError(
            f"{place}: is the profiler trace of one rank; name the folder with those of all ranks: gcexp trace import "
            "FOLDER -o clean.csv"
        )
    if isinstance(whole, dict) and len(whole) == 1 and isinstance(next(iter(whole.values())), list):
        rows = next(iter(whole.values()))
        if rows and isinstance(rows[0], dict | list):
            whole = rows  # {"steps": [{...}, ...]}
    if isinstance(whole, list) and whole and all(isinstance(row, list) for row in whole):
        return table_in_memory(whole, place, [*decisions, _MATRIX])
    try:
        if isinstance(whole, list) and whole and all(isinstance(row, dict) for row in whole):
            frame = pd.DataFrame(_flat(whole))
        elif (
            isinstance(whole, dict)
            and whole
            and all(isinstance(cells, list | dict) for cells in whole.values())
        ):
            frame = pd.DataFrame(whole)
        else:
            raise ValueError("wanted are rows as objects, rows as lists of times, or columns as lists")
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{place}: is JSON, but no table ({error})") from None
    return of_frame(frame.reset_index(drop=True), place, decisions)


def _flat(rows: list[dict]) -> list[dict]:
    """Rows whose cells that are lists or objects become columns of their own: ``times`` becomes ``times 0``, ..."""
    flat = []
    for row in rows:
        cells: dict[str, Any] = {}
        for name, value in row.items():
            if isinstance(value, dict):
                parts = list(value.items())
            elif isinstance(value, list):
                parts = list(enumerate(value))
            else:
                cells[name] = value
                continue
            if len(parts) > MOST_CELLS // max(len(rows), 1):
                raise ValueError(f"{name} has {len(parts)} parts in a row")
            for part, cell in parts:
                cells[f"{name}.{part}"] = cell
        flat.append(cells)
    return flat


# --- Parquet and arrays -----------------------------------------------------------------------------------------------


def _of_parquet(data: bytes, place: str) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ExtraError(f"{place}: is a Parquet file; {lacking(error)}") from None
    try:
        file = pyarrow.parquet.ParquetFile(BytesIO(data))
        known = file.metadata
        size = sum(known.row_group(group).total_byte_size for group in range(known.num_row_groups))
        if known.num_rows * max(known.num_columns, 1) > 4 * MOST_CELLS or size > MOST_BYTES:
            raise DataError(
                f"{place}: has {known.num_rows} rows and {known.num_columns} columns; more than {4 * MOST_CELLS} cells "
                "are not read"
            )
        frame = file.read().to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        sentence = " ".join(str(error).split())
        raise DataError(f"{place}: is a Parquet file that cannot be read ({sentence})") from None
    return of_frame(frame, place, ["read as Parquet"])


def _of_npy(file: Any, size: int, place: str) -> np.ndarray:
    """An array of numpy's; its header is compared with the `size` in bytes before anything is read."""
    try:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise ValueError(f"version {version} of the format is unknown")
        shape, _, dtype = read_header(file)
        cells = 1
        for length in shape:
            cells *= length
        if cells * dtype.itemsize > min(size, MOST_BYTES):
            raise ValueError(f"its shape is {shape}, and it has {size} bytes")
        file.seek(0)
        return np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, TypeError, MemoryError, TokenError) as error:
        sentence = " ".join(str(error).split())
        raise DataError(f"{place}: is a numpy file that cannot be read ({sentence})") from None


def _of_npz(data: bytes, place: str) -> Table:
    import zipfile

    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            if len(members) != 1:
                raise DataError(
                    f"{place}: holds the arrays {', '.join(names)}; wanted is one of shape (iterations, workers): save "
                    "it alone with numpy.save"
                )
            if members[0].flag_bits & 1:
                raise DataError(f"{place}: is encrypted; unpack it with its password first")
            if members[0].file_size > MOST_BYTES:
                raise DataError(f"{place}: holds more than {MOST_BYTES // 2**20} MiB, which is not read")
            with archive.open(members[0]) as file:
                unpacked = file.read(MOST_BYTES + 1)
    except DAMAGED as error:
        raise DataError(f"{place}: is a numpy archive that cannot be read ({error})") from None
    table = table_in_memory(_of_npy(BytesIO(unpacked), len(unpacked), place), place, [_MATRIX])
    return Table(
        table.place,
        table.frame,
        decisions=[f"read the array {names[0]}", *table.decisions],
        named=table.named,
    )


def table_in_memory(source: Any, place: str, decisions: list[str] | None = None) -> Table:
    """The table of an array (iterations, workers), a structured array, or lists of lists; columns are 0, 1, ..."""
    import pandas as pd

    decisions = list(decisions or [])
    wanted = (
        "wanted is a file of times, a bundled trace's name, a frame with the columns iteration, worker and time, or an "
        "array of shape (iterations, workers)"
    )
    try:
        array = np.asarray(source)
    except (TypeError, ValueError):
        raise DataError(f"{place}: {wanted}, got {quoted(source)}") from None
    if array.dtype.names and array.ndim == 1:
        return of_frame(pd.DataFrame(array), place, decisions)
    try:
        if array.dtype.kind not in "fiub":
            array = array.astype(float)
        fits = array.ndim == 2 and array.size > 0
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise DataError(f"{place}: {wanted}, got {quoted(source)}")
    names = pd.Index([str(number) for number in range(array.shape[1])], dtype=object)
    return Table(place, pd.DataFrame(array, columns=names), decisions=decisions, named=False)


def framed(columns: Mapping) -> pd.DataFrame:
    """The frame of a mapping of names to columns; raise `DataError` for what is none."""
    import pandas as pd

    try:
        return pd.DataFrame(columns)
    except (ValueError, TypeError) as error:
        raise DataError(f"columns that are no table ({error}): {quoted(columns)}") from None


def of_frame(frame: pd.DataFrame, place: str, decisions: list[str] | None = None) -> Table:
    """The table of a frame, whose index is a column where it has a name."""
    import pandas as pd

    told = list(decisions or [])
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(f"{place}: its columns have several levels; flatten them first")
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if named and len(named) == frame.index.nlevels:
        frame = frame.reset_index()
        told.append(f"took the index for {' and '.join(str(name) for name in named)}")
    names = [str(name) for name in frame.columns]
    for name in names:
        count = names.count(name)
        if count > 1:
            raise DataError(f"{place} has {count} columns {quoted(name)}; it has {listed(names)}")
    if not len(frame) or not names:
        raise DataError(f"{place} has no rows")
    if frame.size > 4 * MOST_CELLS:
        raise DataError(f"{place} has {len(frame)} rows and {len(names)} columns; so many are not read")
    frame = frame.set_axis(pd.Index(names, dtype=object), axis=1).reset_index(drop=True)
    return Table(place, frame, decisions=told)
