"""What the library warns of, as commands say it: a sentence each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print what the library warns of inside, each as one sentence; other libraries' warnings stay as they are."""
    with warnings.catch_warnings(record=True) as caught:
        yield
    for warning in caught:
        if warning.category is UserWarning:
            print(f"gcexp: {warning.message}", file=sys.stderr)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
