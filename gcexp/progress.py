"""Progress bars of long calls from Python: shown on a terminal or in a notebook, and nowhere else."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any

AFTER = 0.5  # seconds: what is done by then needs no bar


def bar(total: int, what: str, unit: str, shown: bool = True, done: int = 0) -> Any:
    """A bar of tqdm, as a context manager with ``update(count)``: how many of a total are done, `done` of them before.

    In a notebook it is the notebook's own where ipywidgets is there, else one of text.
    """
    if not shown:
        return _Hidden()
    in_notebook = _is_kernel()
    if in_notebook and find_spec("ipywidgets"):
        from tqdm.notebook import tqdm
    else:
        from tqdm import tqdm
    hidden = None  # where there is no terminal
    if in_notebook:
        hidden = False
    return tqdm(total=total, initial=done, desc=what, unit=unit, delay=AFTER, disable=hidden)


def _is_kernel() -> bool:
    """Whether this process is a kernel of Jupyter."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    if get_shell is None:
        return False
    return "IPKernelApp" in getattr(get_shell(), "config", ())


class _Hidden(nullcontext):
    """A bar that is not shown. Creating tqdm's takes longer than a short simulation."""

    def __init__(self) -> None:
        super().__init__(self)

    def update(self, count: int = 1) -> None:
        """Do nothing."""
