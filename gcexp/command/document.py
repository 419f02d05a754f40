"""A page that is made from the program: printed, or written where a file is named."""

from __future__ import annotations

from pathlib import Path

from gcexp.files import written


def give(text: str, output: Path | None) -> None:
    """Print a page, or write it."""
    if output is None:
        print(text, end="")
    else:
        with written(output) as temporary:
            temporary.write_text(text)
