"""A user's data set: a table or arrays in a file, described by an option file instead of code."""

from __future__ import annotations

import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from gcexp.data.checksum import sha256
from gcexp.data.sources import RawFile, Source
from gcexp.errors import DataError, require
from gcexp.files import used
from gcexp.schema import quoted
from gcexp.seeding import rng

if TYPE_CHECKING:
    import pandas as pd

_SPLIT = ("x_train", "y_train", "x_test", "y_test")


@dataclass(frozen=True)
class Description:
    """What a file holds: the values of an option file ``conf/dataset/<name>.yaml``.

    Parameters
    ----------
    path : str
        An ``.npz`` or ``.csv`` file; a relative path starts in the working folder.
    target : str
        Array of an npz file, or column of a CSV file with a header line, that is to be learned.
    features : str or list of str or None
        Array of an npz file (default ``x``), or columns of a CSV file (default: all but the target). An npz file with
        x_train, y_train, x_test and y_test needs neither: it is split already.
    kind : {"labels", "real"}, optional
        Labels may be any numbers or texts: the classes are their sorted values. Real targets are float64. Left out:
        labels, but decimal numbers are refused.
    categorical : bool
        Features are whole numbers that name something: kept as int32, for tasks that encode them. Else float32 (or
        uint8 as stored).
    standardize : bool
        Features less their mean, over their standard deviation, both of the training part; constant ones become 0.
    test : float or int
        Share of the rows for testing (below 1), or their number.
    seed : int
        Rows are shuffled with it before the split.
    sha256 : str or None
        Expected checksum of the file.
    note : str
        Named on figures.
    """

    path: str
    target: str = "y"
    features: str | tuple[str, ...] | None = None
    kind: Literal["labels", "real"] | None = None
    categorical: bool = False
    standardize: bool = False
    test: float = 0.2
    seed: int = 0
    sha256: str | None = None
    note: str = ""

    def __post_init__(self):
        require(
            Path(self.path).suffix in (".npz", ".csv"),
            f"path must name an .npz or .csv file, got {self.path!r}",
        )
        require(
            0 < self.test < math.inf, f"test must be a share or a number of rows above 0, got {self.test}"
        )
        require(
            not (self.standardize and self.categorical),
            "standardize: true and categorical: true exclude each other, since categories have no mean",
        )
        require(
            self.test < 1 or self.test == int(self.test),
            f"test must be a share below 1 or a whole number of rows, got {self.test}",
        )
        if isinstance(self.features, tuple):
            require(bool(self.features), "features must name a column, got an empty list")
            for column in self.features:
                twice = self.features.count(column) > 1
                require(not twice, f"features must name each column once, got {column!r} twice")
        is_feature = self.target == self.features
        if isinstance(self.features, tuple):
            is_feature = self.target in self.features
        require(not is_feature, f"target must not be one of the features, got {self.target!r} as both")
        require(self.seed >= 0, f"seed must be an integer >= 0, got {self.seed}")

    @property
    def file(self) -> Path:
        """The file that holds the data."""
        return Path(self.path).expanduser()

    def require_file(self) -> None:
        """Raise `DataError` unless the file is there; it is not read."""
        if not self.file.is_file():
            raise DataError(f"{self.file}: cannot be read (there is no such file)")

    def source(self, name: str) -> Source:
        """The data set of that name."""
        path = self.file
        used(path)
        found = sha256(path)
        if self.sha256 not in (None, found):
            raise DataError(f"{path}: expected sha256 {self.sha256}, found {found}")
        file = RawFile(path.name, path.stat().st_size, found)
        classes = None if self.kind == "real" else 1
        return Source(
            name, files=(file,), read=partial(_read, self), classes=classes, note=self.note, local=path
        )


def _read(described: Description, files: list[Path]) -> dict[str, np.ndarray]:
    """Arrays of the file, split."""
    path = files[0]
    try:
        if path.suffix == ".csv":
            all_features, all_targets = _table(described, path)
        else:
            all_features, all_targets = _arrays(described, path)
    except _UNREADABLE as error:
        raise DataError(f"{path}: cannot be read as {path.suffix} ({error})") from error
    _check_shapes(all_features, all_targets, path)
    x = [_features(described, part, path) for part in all_features]
    y = _targets(described, all_targets, path)
    if len(x) == 1:
        train, test = _split_rows(described, len(y[0]), path)
        x = [x[0][train], x[0][test]]
        y = [y[0][train], y[0][test]]
    if described.standardize:
        x = _standardized(*x)
    for part in x:
        _finite(part, "features in single precision", path)
    return dict(zip(_SPLIT, (x[0], y[0], x[1], y[1]), strict=True))


#: What pandas, numpy and zipfile raise for a file that they cannot read. Of an npz file: RuntimeError where it is
#: encrypted, NotImplementedError for a compression that is not known, the last two for a header that is no Python.
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    NotImplementedError,
    SyntaxError,
    tokenize.TokenError,
)


def _table(described: Description, path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    import pandas as pd

    table = pd.read_csv(path)
    if described.features is None:
        columns = [column for column in table if column != described.target]
    elif isinstance(described.features, str):
        columns = [described.features]
    else:
        columns = list(described.features)
    _require_names(path, "column", [described.target, *columns], table.columns)
    for column in columns:
        _check_numbers(table[column], "features", path)
    targets = table[described.target]
    if described.kind == "real":
        _check_numbers(targets, "real targets", path)
    elif targets.isna().any():
        line = _line(targets.isna())
        raise DataError(f"{path}: line {line}: the label in the column {described.target!r} is missing")
    return [table[columns].to_numpy()], [targets.to_numpy()]


def _check_numbers(column: pd.Series, what: str, path: Path) -> None:
    """Refuse a column with a cell that is no finite number; the sentence names the column and the first such line."""
    import pandas as pd

    if column.dtype.kind == "b":
        return
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(float)
    wrong = ~np.isfinite(numbers)
    if not wrong.any():
        return
    cell = column[wrong].iloc[0]
    found = "an empty cell" if pd.isna(cell) else quoted(cell)
    place = f"line {_line(wrong)}, column {column.name!r}"
    raise DataError(f"{path}: {place}: {what} are finite numbers, found {found}")


def _line(wrong: np.ndarray | pd.Series) -> int:
    """Line of a CSV file, counted from 1 with its header, of the first row that is wrong."""
    return int(np.argmax(np.asarray(wrong))) + 2


def _arrays(described: Description, path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    stored = np.load(path, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError("it holds one array and no archive of arrays; write it with numpy.savez")
    with stored:
        if all(name in stored for name in _SPLIT):
            x = [_member(stored, "x_train"), _member(stored, "x_test")]
            y = [_member(stored, "y_train"), _member(stored, "y_test")]
            return x, y
        if described.features is not None and not isinstance(described.features, str):
            raise ValueError("features names one array of an npz file")
        features = described.features or "x"
        wanted = [described.target, features]
        is_split = any(name.lower() in _SPLIT for name in stored.files)
        if is_split and not set(wanted) <= set(stored.files):
            wanted = list(_SPLIT)
        _require_names(path, "array", wanted, stored.files)
        return [_member(stored, features)], [_member(stored, described.target)]


def _member(stored: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    """An array of an npz file, of which numpy gives the bytes where they are no array."""
    found = stored[name]
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{name} is no array")
    return found


def _require_names(path: Path, what: str, wanted: Sequence[str], found: Sequence[str]) -> None:
    """Refuse a file without one of the wanted arrays or columns."""
    missing = [name for name in wanted if name not in found]
    if missing:
        raise DataError(f"{path}: has no {what} {', '.join(missing)}; it has {', '.join(map(str, found))}")


def _check_shapes(x: list[np.ndarray], y: list[np.ndarray], path: Path) -> None:
    """Whether there is a target for every row of features, and both parts of a split file have the same features."""
    for features, targets in zip(x, y, strict=True):
        are_rows = features.ndim >= 2 and targets.ndim == 1 and len(features) == len(targets)
        if not are_rows or features.size == 0:
            raise DataError(
                f"{path}: features (N, ...) and targets (N,) are wanted, got shapes {features.shape} and"
                f" {targets.shape}"
            )
    shapes = [features.shape[1:] for features in x]
    if shapes[0] != shapes[-1]:
        raise DataError(
            f"{path}: training and test rows must have the same features, got {shapes[0]} and {shapes[-1]}"
        )


def _split_rows(described: Description, N: int, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Which of N rows are for training, and which for testing."""
    test = round(described.test * N) if described.test < 1 else int(described.test)
    if not 1 <= test < N:
        raise DataError(f"{path}: test={described.test} of {N} rows leaves none for training or for testing")
    order = rng(described.seed, "data_order").permutation(N)
    return order[: N - test], order[N - test :]


def _finite(x: np.ndarray, what: str, path: Path) -> None:
    if x.dtype.kind not in "iufb":
        raise DataError(f"{path}: {what} are finite numbers, found an array of {x.dtype}")
    wrong = np.argwhere(~np.isfinite(x))
    if len(wrong) == 0:
        return
    row, *feature = map(int, wrong[0])
    place = f"row {row}"
    if feature:
        place += f", feature {', '.join(map(str, feature))}"
    raise DataError(f"{path}: {place}: {what} are finite numbers, found {x[row, *feature]}")


def _features(described: Description, x: np.ndarray, path: Path) -> np.ndarray:
    _finite(x, "features", path)
    if described.categorical:
        if (x != np.floor(x)).any() or np.abs(x).max(initial=0) >= 2**31:
            raise DataError(f"{path}: categorical features are whole numbers below 2^31")
        return x.astype(np.int32)
    if described.standardize:
        return x.astype(np.float64)
    if x.dtype == np.uint8:
        return np.ascontiguousarray(x)
    with np.errstate(over="ignore"):  # what becomes infinite is refused
        return np.ascontiguousarray(x.astype(np.float32))


def _standardized(train: np.ndarray, test: np.ndarray) -> list[np.ndarray]:
    """Both parts with mean 0 and standard deviation 1 in the training part, in double precision until the end."""
    mean = train.mean(0)
    std = train.std(0)
    std = np.where(std > 1e-12 * np.abs(mean), std, np.inf)  # else it is constant
    return [np.ascontiguousarray((part - mean) / std, dtype=np.float32) for part in (train, test)]


#: Kinds of arrays that targets may have: numbers, and texts.
_NUMBERS, _TEXTS = "iufb", "USO"


def _targets(described: Description, parts: list[np.ndarray], path: Path) -> list[np.ndarray]:
    _check_kinds(parts, path)
    joined = np.concatenate(parts)
    if described.kind is None and joined.dtype.kind == "f":
        many = len(np.unique(joined))
        raise DataError(
            f"{path}: the target {described.target!r} holds decimal numbers, {many} different ones: give kind: real to "
            "learn the numbers, or kind: labels to learn each as a class"
        )
    if described.kind == "real":
        _finite(joined, "real targets", path)
        return [part.astype(np.float64) for part in parts]
    if _is_missing(joined).any():
        raise DataError(f"{path}: a label is missing")
    if joined.dtype.kind == "O":
        parts = [part.astype(str) for part in parts]
        joined = joined.astype(str)
    classes = np.unique(joined)
    return [np.searchsorted(classes, part).astype(np.int64) for part in parts]


def _check_kinds(parts: list[np.ndarray], path: Path) -> None:
    """Refuse targets that are neither numbers nor texts, and one part of numbers beside one of texts."""
    kinds = []
    for part in parts:
        if part.dtype.kind in _NUMBERS:
            kinds.append("numbers")
        elif part.dtype.kind in _TEXTS:
            kinds.append("texts")
        else:
            raise DataError(f"{path}: targets are numbers or texts, found {part.dtype}")
    if len(set(kinds)) > 1:
        raise DataError(
            f"{path}: targets are numbers or texts, found texts in one part and numbers in the other"
        )


def _is_missing(labels: np.ndarray) -> np.ndarray:
    """Which labels are missing: as pandas reads an empty cell, not a number, among texts too."""
    if labels.dtype.kind == "f":
        return ~np.isfinite(labels)
    if labels.dtype.kind == "O":
        return labels != labels
    return np.zeros(len(labels), dtype=bool)
