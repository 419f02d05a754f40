"""Holds what a process has loaded and opened (`tests/loaded.py`) against what a fingerprint names."""

import os

from gcexp.run.closure import own_words_of
from gcexp.run.dependencies import TELLING
from gcexp.run.modules import LIBRARY, library_modules
from tests.conftest import ROOT


def counting(lines):
    """The modules, packages and data files of the library that the lines of a fingerprint name."""
    return {line.partition("=")[0] for line in lines if line.startswith(LIBRARY)}


def counted(module, counts):
    """Whether a module is among what counts, tells of a job only, or is a package that passes names on."""
    if module in counts or module in TELLING or module in LIBRARY:
        return True
    return library_modules()[module].name == "__init__.py" and not own_words_of(module)


def data_among(opened):
    """Files of the library that are no modules, as a fingerprint names them."""
    found = []
    for package in LIBRARY:
        for path in map(os.path.realpath, opened):
            if path.startswith(f"{ROOT / package}{os.sep}") and os.path.isfile(path):
                found.append(os.path.relpath(path, ROOT))
    return [name for name in found if not name.endswith((".py", ".pyc"))]
