"""``gcexp data``: fetch the raw files of data sets before jobs run on nodes that have no network."""

from __future__ import annotations

from gcexp.data.fetch import RAW_DIR, fetch
from gcexp.errors import UserError
from gcexp.run.datasets import source_of


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("action", choices=["fetch"], help="download what is missing and check every file")
    parser.add_argument(
        "names", nargs="+", metavar="DATASET", help="as in gcexp list datasets: mnist cifar10 amazon"
    )
    parser.add_argument("--data-dir", help="take the raw files from this folder (default: $GCEXP_DATA)")
    parser.set_defaults(rest="names")


def run(arguments) -> None:
    """Fetch the raw files, and name every file that is there and has its checksum."""
    sources = [_source(name) for name in arguments.names]  # a wrong name is told before any download
    for source in sources:
        found = fetch(source, arguments.data_dir or None, RAW_DIR)
        for path, file in zip(found, source.files, strict=True):
            print(f"{source.name}: {path}, {file.size} bytes, sha256 {file.sha256}")
        if not source.files:
            print(f"{source.name}: nothing to fetch, a package brings the data or they are generated")


def _source(name: str):
    """The data set of a name, of which what follows an underscore may be left out: ``amazon`` for ``amazon_access``."""
    try:
        return source_of(name)
    except UserError:
        from gcexp.data import datasets

        longer = [known for known in datasets() if known.startswith(f"{name}_")]
        if len(longer) != 1:
            raise
        return source_of(longer[0])
