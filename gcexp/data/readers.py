"""Read the raw files of a data set: one function per data set, from paths to unscaled arrays.

Each returns x_train (N, features), y_train (N,), x_test (N', features) and y_test (N',): published values as uint8,
generated ones as floats. A data set without raw files is generated, or brought by a package, from an empty list.
"""

from __future__ import annotations

import gzip
import math
import pickle
import struct
import zlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy._core import multiarray

from gcexp.errors import DataError
from gcexp.seeding import rng

#: First four bytes of an idx file of unsigned bytes with one and with three dimensions.
LABELS, IMAGES = 2049, 2051
DIGITS_TRAIN = 1497
#: Of the linear mixture: training and test samples, features, and d times the size of the shift along w*.
MIXTURE_TRAIN, MIXTURE_TEST, MIXTURE_FEATURES, MIXTURE_SHIFT = 2000, 400, 1000, 1.5


def read_idx(path: Path, magic: int) -> np.ndarray:
    """Array of a gzip-compressed idx file of unsigned bytes; `magic`, `LABELS` or `IMAGES`, is its first four bytes."""
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:  # gzip's own error is an OSError
        raise DataError(f"{path}: is not a complete gzip file ({error})") from error
    dimensions = magic % 256
    header = 4 * (1 + dimensions)
    if len(content) < header:
        raise DataError(f"{path}: an idx header has {header} bytes, found {len(content)}")
    found, *shape = struct.unpack_from(f">{1 + dimensions}I", content)
    if found != magic:
        raise DataError(f"{path}: expected idx magic {magic}, found {found}")
    if len(content) - header != math.prod(shape):
        size = " x ".join(map(str, shape))
        raise DataError(f"{path}: the header says {size} bytes, found {len(content) - header}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def mnist(files: list[Path]) -> dict[str, np.ndarray]:
    """MNIST: handwritten digits, 28 x 28, 60000 for training and 10000 for testing, from four idx files.

    They are the train images, train labels, test images and test labels, in this order.
    """
    arrays = {}
    for split, (images, labels) in (("train", files[:2]), ("test", files[2:])):
        x = read_idx(images, IMAGES)
        y = read_idx(labels, LABELS)
        if len(x) != len(y):
            raise DataError(f"{images} holds {len(x)} images, but {labels} holds {len(y)} labels")
        arrays[f"x_{split}"] = x.reshape(len(x), math.prod(x.shape[1:]))
        arrays[f"y_{split}"] = y
    if arrays["x_train"].shape[1] != arrays["x_test"].shape[1]:
        raise DataError(f"the images of {files[0]} and {files[2]} have different sizes")
    return arrays


class _ArrayUnpickler(pickle.Unpickler):
    """Reads plain containers and numpy arrays, and calls nothing else that a pickle may name."""

    _ALLOWED = {
        ("numpy.core.multiarray", "_reconstruct"): multiarray._reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): multiarray._reconstruct,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
    }

    def find_class(self, module: str, name: str):
        """The few names that an array needs."""
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no array needs")
        return self._ALLOWED[module, name]


def read_cifar_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 3, 32, 32) and labels (N,) of a python batch of CIFAR-10, both uint8."""
    try:
        with open(path, "rb") as file:
            batch = _ArrayUnpickler(file, encoding="bytes").load()
        y = np.asarray(batch[b"labels"], np.uint8)
        x = np.asarray(batch[b"data"], np.uint8).reshape(len(y), 3, 32, 32)
    except Exception as error:  # a damaged pickle raises almost anything
        raise DataError(f"{path}: is not a batch of CIFAR-10 images ({error})") from error
    return x, y


def cifar10(files: list[Path]) -> dict[str, np.ndarray]:
    """CIFAR-10: colour images, 32 x 32, 50000 for training and 10000 for testing, from five batches and one."""
    batches = [read_cifar_batch(path) for path in files]
    x_train = np.concatenate([x for x, _ in batches[:-1]])
    y_train = np.concatenate([y for _, y in batches[:-1]])
    x_test, y_test = batches[-1]
    return {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test}


ACCESS_COLUMNS = (
    "ACTION RESOURCE MGR_ID ROLE_ROLLUP_1 ROLE_ROLLUP_2 ROLE_DEPTNAME ROLE_TITLE ROLE_FAMILY_DESC ROLE_FAMILY ROLE_CODE"
).split()
#: Of the generated access rows: rows, chance of access, and the number of values of each column in the real ones.
ACCESS_ROWS = 3000
ACCESS_MEAN = 0.942
ACCESS_VALUES = (7518, 4243, 128, 177, 449, 343, 2358, 67, 343)


def amazon_access(files: list[Path]) -> dict[str, np.ndarray]:
    """Amazon Employee Access: 32769 labelled rows of nine categorical columns, which the task splits for testing."""
    try:
        header, *lines = files[0].read_text(encoding="ascii").splitlines() or [""]
        rows = np.loadtxt(lines or ["0"], delimiter=",", dtype=np.int32, ndmin=2)
    except (OSError, ValueError) as error:
        raise DataError(f"{files[0]}: is not a table of whole numbers ({error})") from error
    shaped = header.split(",") == ACCESS_COLUMNS and rows.shape[1] == len(ACCESS_COLUMNS)
    if not shaped or not np.isin(rows[:, 0], (0, 1)).all():
        raise DataError(f"{files[0]}: expected the columns {', '.join(ACCESS_COLUMNS)}, the first one 0 or 1")
    return _split(np.ascontiguousarray(rows[:, 1:]), rows[:, 0].astype(np.uint8), len(rows))


def access_rows(files: list[Path]) -> dict[str, np.ndarray]:
    """Generated rows like those of Amazon Employee Access.

    Column j takes the value v in 0..c_j-1 with probability proportional to 1/(v+1), on its own; the logit of access is
    b + sum_j a_j[x_j] with a_j[v] ~ N(0, 2^2), and b such that the mean probability is 0.942.
    """
    draw = rng(0, "rows")
    columns = []
    logit = np.zeros(ACCESS_ROWS)
    for c in ACCESS_VALUES:
        odds = np.cumsum(1 / np.arange(1.0, c + 1))
        values = np.searchsorted(odds, draw.random(ACCESS_ROWS) * odds[-1], side="right")
        columns.append(values)
        logit += draw.normal(0, 2, c)[values]
    low, high = -100.0, 100.0  # between them lies b
    for _ in range(60):
        middle = (low + high) / 2
        mean = np.mean(1 / (1 + np.exp(-logit - middle)))
        if mean > ACCESS_MEAN:
            high = middle
        else:
            low = middle
    granted = draw.random(ACCESS_ROWS) < 1 / (1 + np.exp(-logit - low))
    rows = np.stack(columns, axis=1).astype(np.int32)
    return _split(rows, granted.astype(np.uint8), ACCESS_ROWS)


def _split(x: np.ndarray, y: np.ndarray, train: int) -> dict[str, np.ndarray]:
    """The first rows for training, the others for testing."""
    return {"x_train": x[:train], "y_train": y[:train], "x_test": x[train:], "y_test": y[train:]}


def digits(files: list[Path]) -> dict[str, np.ndarray]:
    """The 1797 images of 8 x 8 that come with scikit-learn, shuffled once, 1497 of them for training."""
    found = find_spec("sklearn")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
    # The file alone: to import the package takes a second.
    table = np.loadtxt(Path(found.origin).parent / "datasets/data/digits.csv.gz", delimiter=",")
    table = table.astype(np.uint8)[rng(0, "data_order").permutation(len(table))]
    return _split(table[:, :-1], table[:, -1], DIGITS_TRAIN)


def linear_mixture(files: list[Path]) -> dict[str, np.ndarray]:
    """Linear regression on a mixture of two Gaussians, generated once; see `mixture`."""
    return mixture(rng(0, "data"))


def mixture(draw: np.random.Generator) -> dict[str, np.ndarray]:
    """Samples x = N(0, I) + b (1.5 / d) w* with targets y = x . w*, without noise, for d = 1000.

    The signs b = +-1 are fair coins, as are the entries +-1 of the true model w*, which train and test share. x is
    rounded to float32 before y (float64) is computed, so that w* fits the stored numbers.

    References
    ----------
    Buyukates et al., arXiv 2011.01922; sizes and mixture are assumed, after a reference that the paper names.
    """
    N = MIXTURE_TRAIN + MIXTURE_TEST
    d = MIXTURE_FEATURES
    model = draw.choice([-1.0, 1.0], d)
    signs = draw.choice([-1.0, 1.0], (N, 1))
    shifts = signs * (MIXTURE_SHIFT / d) * model
    x = (draw.standard_normal((N, d)) + shifts).astype(np.float32)
    # fsum rounds once: the same bytes whatever order of summation a matrix product would choose on a machine.
    y = np.array([math.fsum(row) for row in (x * model).tolist()])
    return _split(x, y, MIXTURE_TRAIN)
