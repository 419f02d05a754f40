"""Which schemes a table of goodputs holds, and what each of them does where workers are dead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gcexp.codes import Uncoded
from gcexp.errors import ParameterError, UserError
from gcexp.failures import Present, Respread, Steps
from gcexp.run.benchmark_schemes import Entry, entries
from gcexp.run.run import Run
from gcexp.schemes import Fastest, Scheme
from gcexp_adviser.benchmark import load_of
from gcexp_adviser.goodput.workers import Workers

ALONE, RESPREAD, DROP = "checkpoints alone", "respread", "drop"
_UNCODED = {"scheme": "uncoded"}  # the keys of waiting for all, which is called checkpoints alone here


@dataclass(frozen=True)
class Row:
    """A scheme of the table.

    Attributes
    ----------
    label : str
    steps : Steps
    exact : bool
        Whether every step uses all data.
    redundant : bool
        Whether a worker computes more than its share of the data while nobody is dead.
    error : float
        Relative standard error of a step, where times are drawn.
    decodable : bool
        Whether it waits until it can decode because no waiting rule was named.
    """

    label: str
    steps: Steps
    exact: bool
    redundant: bool
    error: float
    decodable: bool = False


def rows_of(named: Iterable[str | dict] | None, workers: Workers) -> tuple[list[Row], dict[str, str]]:
    """The rows of the named schemes, by default the benchmark's, behind three that need no code; and who is left out.

    Raises
    ------
    UserError
        For an unknown scheme, with the nearest one.
    """
    listed = entries(named)
    rows = []
    left_out = {}
    for label, make in ((ALONE, _alone), (RESPREAD, _respread), (DROP, _drop)):
        try:
            rows.append(_row(label, make(workers.n), workers, exact=label != DROP))
        except ParameterError as error:
            left_out[label] = str(error)
    for entry in listed:
        if entry.keys == _UNCODED and not entry.local_steps:
            continue
        try:
            rows.append(_row_of_entry(entry, workers))
        except ParameterError as error:
            left_out[entry.label] = str(error)
        except UserError as error:
            raise UserError(f"{entry.label}: {error}") from None
    return rows, left_out


def _alone(n: int) -> Scheme:
    return Scheme(Uncoded(n), Fastest(q=n))


def _respread(n: int) -> Scheme:
    return Scheme(Uncoded(n), Fastest(q=n), loads=Respread())


def _drop(n: int) -> Scheme:
    return Scheme(Uncoded(n), Present())


def _row_of_entry(entry: Entry, workers: Workers) -> Row:
    """The row of a scheme; raise `ParameterError` for one that cannot be asked."""
    run, scheme = workers.scheme_of(entry)
    decodable = _is_open(entry, run, scheme)
    if decodable:
        run, scheme = workers.scheme_of(replace(entry, keys=entry.keys | {"wait": "decodable"}))
    if scheme.bound:
        raise ParameterError("a bound gives durations only, from which nothing is decoded")
    for part in (scheme.loads, scheme.placement):
        if getattr(part, "hindsight", False):
            raise ParameterError("it knows the times of a step beforehand")
    row = _row(entry.label, scheme, workers, bool(run.exact), entry.local_steps)
    return replace(row, decodable=decodable)


def _is_open(entry: Entry, run: Run, scheme: Scheme) -> bool:
    """Whether a person named an exact scheme without a waiting rule.

    On the clock it would wait for the s workers for which its code is built and no others. Where workers fail, what is
    meant is that it goes on as long as it can decode.
    """
    names_no_rule = entry.group == "own" and "wait" not in entry.keys
    return names_no_rule and bool(run.exact) and isinstance(scheme.wait, Fastest)


def _row(label: str, scheme: Scheme, workers: Workers, exact: bool, local_steps: int = 0) -> Row:
    """The row of a scheme; rounds of local steps are no exact steps, though they use all data."""
    steps = workers.steps(scheme, exact or getattr(scheme.loads, "fresh", False), max(1, local_steps))
    redundant = scheme.loads is None and load_of(scheme) > 1 + 1e-9
    _ = steps.alive  # says what the times do not allow
    return Row(label, steps, exact and local_steps == 0, redundant, workers.relative_error(steps))
