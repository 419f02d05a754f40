"""Two kinds of errors: a user's mistake (a sentence, exit code 2) and a defect of ours (a trace, exit code 1)."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

#: Packages that an extra of this one brings, by the name under which they are imported.
EXTRAS = {
    "learn": ("pooch", "sklearn", "torch"),
    "tables": ("pyarrow",),
    "workflow": ("matplotlib", "mlflow", "pydantic", "snakemake"),
}
_MOST_LETTERS = 400  # a longer list helps nobody


class UserError(Exception):
    """A mistake in what a person gave; the command line prints the sentence and exits with 2."""


class ParameterError(UserError, ValueError):
    """A parameter outside the region in which the mathematics holds."""


class DataError(UserError):
    """A data file is missing, damaged, or does not match its checksum."""


class ExtraError(UserError):
    """The request needs a package of an extra that is not installed."""


class RankError(UserError, SystemExit):
    """Ranks cannot train together, since one has not come or was given something else.

    Where nobody catches it, it ends a process with exit code 2, as every command does for a user's mistake.
    """

    def __init__(self, sentence: str):
        super().__init__(sentence)
        self.code = 2


class Defect(Exception):
    """A promise of the program does not hold. It should be reported, so its trace is kept."""


class DecodingError(Defect, ArithmeticError):
    """A decoder did not give what its code promises for the heard workers.

    Parameters
    ----------
    sentence : str
    code : Code, optional
        The code, whose class may be a project's own.
    """

    def __init__(self, sentence: str, code: object = None):
        super().__init__(sentence)
        self.code = code


class VerificationError(Defect):
    """The replay of encode, drop and decode does not give what training used.

    Parameters
    ----------
    sentence : str
    *parts : Code and Task, optional
        What was replayed; the class of each may be a project's own.
    """

    def __init__(self, sentence: str, *parts: object):
        super().__init__(sentence)
        self.parts = parts


def require(condition: bool, sentence: str) -> None:
    """Raise `ParameterError` with `sentence` unless `condition` holds."""
    if not condition:
        raise ParameterError(sentence)


def require_known(kind: str, given: object, allowed: Iterable[str], place: str = "") -> None:
    """Raise `ParameterError` unless `given` is one of the names `allowed`; `place` says where it was given."""
    names = tuple(allowed)
    if given in names:
        return
    sentence = unknown(kind, given, names)
    if place:
        sentence = f"{place}: {sentence}"
    raise ParameterError(sentence)


def unknown(kind: str, given: object, allowed: Iterable[str]) -> str:
    """Message for an unknown name, with the nearest known one.

    Examples
    --------
    >>> unknown("scheme", "fcr", ["frc", "cyclic"])
    "unknown scheme 'fcr'; did you mean 'frc'? (allowed: cyclic, frc)"
    >>> unknown("key", "N", ["k", "n"])
    "unknown key 'N'; did you mean 'n'? (allowed: k, n)"
    >>> unknown("key", "code.sead", ["code.n", "code.seed"])
    "unknown key 'code.sead'; did you mean 'code.seed'? (allowed: code.n, code.seed)"
    """
    names = sorted(map(str, allowed))
    sentence = f"unknown {kind} {str(given)!r}"
    near = _nearest(str(given), names)
    if near is not None:
        sentence += f"; did you mean {near!r}?"
    return f"{sentence} (allowed: {_listed(names)})"


def _nearest(given: str, names: list[str]) -> str | None:
    """The name that was probably meant; None where no name is near."""
    group = ""
    if all("." in name for name in names):  # or code.beta were near to code.seed
        group = given.rpartition(".")[0] + "."
    name_of = {name.removeprefix(group): name for name in names}
    asked = given.removeprefix(group)
    for short in name_of:
        if short.casefold() == asked.casefold():  # N, where n is wanted
            return name_of[short]
    for short in difflib.get_close_matches(asked, name_of, n=1, cutoff=0.5):
        return name_of[short]
    return None


def _listed(names: list[str]) -> str:
    """Names with commas, up to so many letters, and how many there are where some are left out."""
    ends = itertools.accumulate(len(name) + 2 for name in names)
    shown = [name for name, end in zip(names, ends, strict=True) if end < _MOST_LETTERS]
    words = ", ".join(shown) or "none"
    if len(shown) < len(names):
        words += f", ... {len(names)} in all"
    return words


def no_python(error: SyntaxError) -> str:
    """Message for a module that is not valid Python.

    Examples
    --------
    >>> no_python(SyntaxError("'(' was never closed", ("own.py", 3, 8, "beta = (1", None, None)))
    "own.py, line 3: '(' was never closed (beta = (1)"
    """
    sentence = f"{error.filename}, line {error.lineno}: {error.msg}"
    if error.text and error.text.strip():
        sentence += f" ({error.text.strip()})"
    return sentence


def lacking(error: BaseException) -> str | None:
    """Message for a package that is missing because its extra was not installed, else None.

    Examples
    --------
    >>> lacking(ModuleNotFoundError("No module named 'torch'", name="torch.func"))
    "torch is not installed; it comes with the extra learn: pip install 'gcexp[learn]'"
    >>> lacking(ModuleNotFoundError("No module named 'mylab'", name="mylab"))
    """
    if not isinstance(error, ModuleNotFoundError):
        return None
    package = str(error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages:
            return (
                f"{package} is not installed; it comes with the extra {extra}: pip install 'gcexp[{extra}]'"
            )
    return None
