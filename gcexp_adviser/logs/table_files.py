"""The table in a file: text, JSON, Parquet or arrays of numpy's, recognised by their first bytes."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from gcexp.errors import DataError, ExtraError, lacking
from gcexp_adviser.logs.contents import DAMAGED, MOST_BYTES, content_of
from gcexp_adviser.logs.tables import MATRIX, MOST_CELLS, PARQUET, Table, of_array, of_frame
from gcexp_adviser.logs.text_tables import of_text


def table_of_file(path: Path, pattern: str = "") -> Table:
    """The table in a file, recognised by its first bytes; a pattern says that it is text."""
    place = f"trace {path.name}"
    data, told = content_of(path, place)
    table = _table_in(data, place, pattern)
    return replace(table, decisions=[*told, *table.decisions])


def _table_in(data: bytes, place: str, pattern: str) -> Table:
    """The table in the content of a file."""
    if pattern:
        return of_text(data, place, pattern)
    if data.startswith(b"PAR1"):
        return _of_parquet(data, place)
    if data.startswith(b"\x93NUMPY"):
        array = _of_npy(BytesIO(data), len(data), place)
        if array.ndim == 1 and not array.dtype.names:  # of one worker
            array = array[:, None]
        return of_array(array, place, [MATRIX])
    if data.startswith(b"PK\x03\x04"):
        return _of_npz(data, place)
    return of_text(data, place)


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
    return of_frame(frame, place, [PARQUET])


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
    array = _of_npy(BytesIO(unpacked), len(unpacked), place)
    return of_array(array, place, [f"took the array {names[0]}", MATRIX])
