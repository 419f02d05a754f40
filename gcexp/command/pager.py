"""Text for a terminal, which may be too long or too wide for it."""

from __future__ import annotations

import pydoc
import shutil
import sys


def paged(text: str, cut: bool = False) -> None:
    """Print, through the pager where it is longer than the terminal; `cut` its lines to the terminal's width."""
    if sys.stdout is None or not sys.stdout.isatty():  # it may be closed
        print(text)
        return
    width, height = shutil.get_terminal_size()
    if cut:
        short = (line if len(line) <= width else line[: width - 3] + "..." for line in text.splitlines())
        text = "\n".join(short)
    if text.count("\n") >= height:
        pydoc.pager(text)
    else:
        print(text)
