"""Prepare raw files as one array file with a checksum."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from gcexp.data.checksum import checksum, sha256
from gcexp.data.fetch import RAW_DIR, fetch
from gcexp.data.sources import Source, find_source
from gcexp.errors import require
from gcexp.files import written


def prepare(
    dataset: str | Source,
    output: str | Path,
    data_dir: str | Path | None = None,
    raw_dir: Path = RAW_DIR,
    key: str | None = None,
) -> dict:
    """Write a data set's arrays to `output`, and their description to a sidecar ``.json`` file beside it.

    The same raw files always give the same bytes. Arrays are stored as published or generated; `load`
    scales them where the data set has a scale.

    Parameters
    ----------
    dataset : str or Source
        A name from `datasets()`.
    output : path
        Array file to write, ``.npz`` with x_train (N, features), y_train (N,), x_test (N', features), y_test (N',).
    data_dir : path, optional
        Local folder with the raw files; default ``$GCEXP_DATA``, else earlier downloads, else the public mirrors.
    raw_dir : Path
        Where downloads are kept.
    key : str, optional
        What the arrays are made from, to be kept in the sidecar: who finds another one there prepares again.

    Returns
    -------
    dict
        Content of the sidecar: dataset, sha256 and bytes of the array file, shapes, raw files and their sha256, scale,
        classes, note, and the checksum of the rest.
    """
    source = dataset
    if not isinstance(source, Source):
        source = find_source(source)
    output = Path(output)
    require(output.suffix == ".npz", f"{output}: the name of a prepared file must end in .npz")
    arrays = source.read(fetch(source, data_dir, raw_dir))
    # The inner rename comes first: an interrupted run leaves at worst a sidecar whose array file is missing or has
    # another checksum, never an array file that nothing vouches for.
    with written(output) as npz:
        with open(npz, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)  # numpy dates every member 1980
        record = {
            "dataset": source.name,
            "sha256": sha256(npz),
            "bytes": npz.stat().st_size,
            "shapes": {name: list(array.shape) for name, array in arrays.items()},
            "raw": {file.name: file.sha256 for file in source.files},
            "scale": source.scale,
            # Of a described data set they are counted; a published one may have a class that no row shows.
            "classes": source.classes and max(source.classes, int(arrays["y_train"].max()) + 1),
            "note": source.note,
        }
        record["checksum"] = checksum(record)
        if key is not None:
            record["key"] = key
        with written(output.with_suffix(".json")) as sidecar:
            sidecar.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record
