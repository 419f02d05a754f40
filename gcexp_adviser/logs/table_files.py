"""The table in what a file holds: Parquet, arrays of numpy's, rows of text, or lines of cells."""

from __future__ import annotations

from io import BytesIO
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import DataError, ExtraError, lacking
from gcexp_adviser.logs.cells import table_of_cells
from gcexp_adviser.logs.contents import DAMAGED, MOST_BYTES, NPY, PARQUET, TEXT, Content
from gcexp_adviser.logs.separators import layout_of, words_are_refused
from gcexp_adviser.logs.tables import MATRIX, MOST_CELLS, Table, of_read
from gcexp_adviser.logs.text_rows import rows_in

if TYPE_CHECKING:
    import pandas as pd


def table_of(content: Content, pattern: str) -> Table:
    """The table in what a file holds; a pattern reads the lines of text.

    Raises
    ------
    DataError
        For what is no table; the sentence says what to type or names a recipe.
    """
    if content.form != TEXT:
        read, told = _stored(content.data, content.form, content.place)
    else:
        rows = rows_in(content, pattern)
        if rows is None:
            with words_are_refused(content):
                layout = layout_of(content)
                return table_of_cells(layout)
        read, told = rows
    return of_read(read, content.place, [*content.told, *told])


# --- what is no text --------------------------------------------------------------------------------------------------


def _stored(data: bytes, form: str, place: str) -> tuple[pd.DataFrame | np.ndarray, list[str]]:
    """The frame or the array in a file that is no text, and what is told of it."""
    if form == PARQUET:
        return _of_parquet(data, place), ["took the file for Parquet"]
    if form == NPY:
        array = _of_npy(BytesIO(data), len(data), place)
        if array.ndim == 1 and not array.dtype.names:  # of one worker
            array = array[:, None]
        return array, [MATRIX]
    name, array = _of_npz(data, place)
    return array, [f"took the array {name}", MATRIX]


def _of_parquet(data: bytes, place: str) -> pd.DataFrame:
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
        return file.read().to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        sentence = " ".join(str(error).split())
        raise DataError(f"{place}: is a Parquet file that cannot be read ({sentence})") from None


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
        if dtype.hasobject:
            raise DataError(
                f"{place}: holds an array of Python objects, which may run code when they are read; save its numbers, "
                "as by numpy.save(FILE, array.astype(float))"
            )
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


def _of_npz(data: bytes, place: str) -> tuple[str, np.ndarray]:
    """The only array of an archive, and its name."""
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
    return names[0], _of_npy(BytesIO(unpacked), len(unpacked), place)
