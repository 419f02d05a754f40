"""What of a job's wall time is progress, with checkpoints alone and with schemes: `goodput`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf, nan
from typing import TYPE_CHECKING, Any

from gcexp.errors import UserError, require, unknown
from gcexp.failures import Goodput, Lifetimes, read_faults
from gcexp.progress import bar
from gcexp.schema import fitted
from gcexp_adviser.goodput.break_even import BreakEven, break_even
from gcexp_adviser.goodput.conditions import Conditions
from gcexp_adviser.goodput.rows import Row, rows_of
from gcexp_adviser.goodput.words import conclusion, notes
from gcexp_adviser.goodput.workers import Log, Workers
from gcexp_adviser.logs.how import OF_A_LOG, how_of

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.delays import DelayModel
    from gcexp.traces.missing import Absent

COLUMNS = (
    "scheme",
    "rejoin",
    "step",
    "endured",
    "period",
    "goodput",
    "goodput_se",
    "progress",
    "slower_steps",
    "saving",
    "redo",
    "lost_work",
    "restart",
    "waiting",
    "used_share",
    "worker_hours",
)
_DOTTED = ("mtbf.worker", "rejoin.law")  # keys that are written with a dot, or in Python with an underscore
_OF_LIFETIMES = ("mtbf", "mtbf.worker", "rejoin", "rejoin.law", "shape", "domain", "spares", "repair")


def goodput(
    times: Any = None,
    schemes: str | dict | Iterable[str | dict] | None = None,
    *,
    mtbf: float | None = None,
    restart: float | None = None,
    save: float | None = None,
    faults: Any = None,
    rejoin: float | None = None,
    redo: float = 0.0,
    period: float | None = None,
    shape: float | None = None,
    domain: int | None = None,
    spares: int | None = None,
    repair: float | None = None,
    n: int | None = None,
    phi: float | None = None,
    delay: str | Mapping[str, Any] | DelayModel | None = None,
    seed: int = 0,
    progress: bool = True,
    absent: Absent | None = None,
    timeout: float | None = None,
    **keys: Any,
) -> pd.DataFrame:
    r"""Goodput of a job whose workers fail, in the long run: saved ideal time over wall time.

    The unit is a step of all workers without failures, all of whom are waited for; a scheme that also saves time on
    slow workers may have a goodput above 1. A dead worker never arrives on the clock: where the scheme's iteration
    ends all the same, the failure is endured, and else it is fatal. docs/failures.md has the rules and what they leave
    out. All times are in seconds.

    Parameters
    ----------
    times : int, path, DataFrame or array
        A number of equal workers, or recorded times as `gcexp.benchmark` takes them.
    schemes : str, dict or iterable of them, optional
        As in `gcexp.benchmark`; by default all of conf/benchmark.yaml. Checkpoints alone, respread and drop always
        stand before them.
    mtbf : float
        Mean time between failures in the whole job. Instead, ``mtbf.worker`` (``mtbf_worker``) is the mean lifetime of
        one worker, n times as long. With `domain`, the failures of domains count.
    restart, save : float
        Seconds of a restart after a fatal failure, and of a save.
    faults : path or DataFrame, optional
        Recorded faults instead of `mtbf`, with columns time, worker and event (down or up); or the name of a bundled
        record, ``stepfun-hbd``.
    rejoin : float, optional
        Seconds until a dead worker is replaced. Without it there are rows for never (infinity) and for at once (0).
        ``rejoin.law`` (``rejoin_law``) is ``constant`` or ``exponential``.
    redo : float
        Seconds that are lost at a failure that is endured.
    period : float, optional
        Wall time of work between two saves; by default the best one of each row.
    shape : float
        Weibull's shape of the lifetimes; 1 is the exponential law. With another one the first failure of fresh workers
        does not come after `mtbf` on the mean, but after n^(1 - 1/shape) of it.
    domain : int
        Workers that fail together: 0 to domain - 1, and so on.
    spares, repair : int and float, optional
        Machines beside those of the workers, and seconds until a broken one is a spare. Without, there are always
        enough.
    n : int, optional
        Workers; of recorded times only the first ones.
    phi : float
        Share of a worker's time that does not grow with its load; by default 0, which a note says.
    delay : str, mapping or DelayModel, optional
        A law from which the times of the n workers with their own shares are drawn, anew in each step.
    seed : int
        Of the lifetimes, and of the law.
    progress : bool
        Show a progress bar.
    absent, timeout : optional
        What missing rows are taken for, as in `gcexp.benchmark`.
    **keys
        Keys with a dot: ``mtbf.worker``, ``rejoin.law`` and ``delay.KEY``; and what is said of a log: ``columns``,
        ``unit``, ``decimal``, ``pattern``.

    Returns
    -------
    DataFrame
        One row for each scheme and value of `rejoin`. ``step`` is the mean step without failures over the ideal one,
        ``endured`` the mean number of failures up to and with the fatal one, infinite where none was fatal, and
        ``goodput_se`` the standard error of the goodput. The shares of wall time ``progress`` (the goodput itself),
        ``slower_steps`` (negative where steps are faster than ideal ones), ``saving``, ``redo``, ``lost_work``,
        ``restart`` and ``waiting`` (for machines) sum to 1. ``used_share`` is the share of the data that saved steps
        used, and ``worker_hours`` are paid for an hour of ideal progress.

        ``table.attrs`` has the ``sentence`` with the best exact scheme and the break-even, the ``break_evens`` by value
        of rejoin, the ``conditions`` in words, the labels of ``exact`` schemes, ``notes``, and who is ``left_out`` with
        the reason.

    Raises
    ------
    UserError
        For an unknown scheme or key, for values outside what they may be, and where `mtbf`, `restart` or `save` is
        missing: there are no defaults for them.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.goodput(24, ["FRC, d = 2"], mtbf=3600, restart=600, save=30, rejoin=0, period=900)
    >>> table[["scheme", "goodput"]].round(2).to_numpy().tolist()
    [['checkpoints alone', 0.73], ['respread', 0.97], ['drop', 0.97], ['FRC, d = 2', 0.48]]
    """
    of_keys, law, of_log = _keys(keys, delay)
    given = {
        "mtbf": mtbf,
        "rejoin": rejoin,
        "shape": shape,
        "domain": domain,
        "spares": spares,
        "repair": repair,
    }
    given = {name: value for name, value in (given | of_keys).items() if value is not None}
    _require_failures(given, faults)
    for name, value in (("restart", restart), ("save", save)):
        require(value is not None, f"{name} is missing: give its seconds, since no default fits every job")
    log = Log(how_of(of_log, goodput), absent, fitted(float | None, timeout, "timeout"))
    seed = fitted(int, seed, "seed")
    share = 0.0 if phi is None else fitted(float, phi, "phi")
    workers = Workers.of(times, fitted(int | None, n, "n"), share, law, seed, log)
    conditions = Conditions(
        failures=read_faults(faults, workers.n) if faults is not None else _lifetimes(given, workers.n, seed),
        restart=fitted(float, restart, "restart"),
        save=fitted(float, save, "save"),
        redo=fitted(float, redo, "redo"),
        ideal=workers.ideal,
        period=fitted(float | None, period, "period"),
    )
    if isinstance(schemes, str | dict):
        schemes = [schemes]
    rows, left_out = rows_of(schemes, workers)
    shown = fitted(bool, progress, "progress")
    frame = _table(rows, left_out, conditions, workers, _rejoins(given, faults), shown)
    decodable = [row.label for row in rows if row.decodable]
    frame.attrs["notes"] = (*workers.replay.notes, *notes(frame, decodable, phi is not None))
    return frame


def _keys(keys: Mapping[str, Any], delay: Any) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """The keys that are written with a dot, the law with its own, and what is said of a log."""
    found = {}
    law: dict[str, Any] = {}
    of_log = {}
    for key, value in keys.items():
        dotted = key.replace("_", ".", 1)
        if key.startswith("delay."):
            law[key] = value
        elif key in _DOTTED or dotted in _DOTTED:
            found[key if key in _DOTTED else dotted] = value
        elif key in OF_A_LOG:
            of_log[key] = value
        else:
            raise UserError(unknown("key", key, [*_DOTTED, *OF_A_LOG, *(goodput.__kwdefaults__ or ())]))
    if not law:
        return found, delay, of_log
    if not isinstance(delay, str):
        raise UserError(f"{next(iter(law))} belongs to a law by its name: give delay=NAME as well")
    return found, {"delay": delay} | law, of_log


def _require_failures(given: Mapping[str, Any], faults: Any) -> None:
    """Refuse no statement of how often workers fail, or more than one."""
    of_lifetimes = [name for name in _OF_LIFETIMES if name in given]
    if faults is not None:
        require(
            not of_lifetimes,
            f"faults say who is down when, so that there is no {' and no '.join(of_lifetimes)}: leave out one of them",
        )
        return
    require(
        not ("mtbf" in given and "mtbf.worker" in given),
        "mtbf and mtbf.worker say the same of the job and of one worker: give one of the two",
    )
    require(
        "mtbf" in given or "mtbf.worker" in given,
        "say how often workers fail, for which there is no default: mtbf= (of the job), mtbf.worker=, or faults=FILE",
    )


def _lifetimes(given: Mapping[str, Any], n: int, seed: int) -> Lifetimes:
    """The law of failures that was given; raise `ParameterError` for what makes no sense."""
    domain = fitted(int, given.get("domain", 1), "domain")
    for name in ("mtbf", "mtbf.worker"):
        value = fitted(float, given.get(name, 1.0), name)
        require(0 < value < inf, f"{name} is a time > 0 in seconds, got {value:g}")
    if "mtbf" in given:
        mean = given["mtbf"] * n / domain if domain > 0 else 1.0
    else:
        mean = given["mtbf.worker"]
    return Lifetimes(
        n=n,
        mean=float(mean),
        shape=fitted(float, given.get("shape", 1.0), "shape"),
        domain=domain,
        rejoin=fitted(float, given.get("rejoin", inf), "rejoin"),
        rejoin_law=given.get("rejoin.law", "constant"),
        spares=fitted(int | None, given.get("spares"), "spares"),
        repair=fitted(float | None, given.get("repair"), "repair"),
        seed=seed,
    )


def _rejoins(given: Mapping[str, Any], faults: Any) -> list[float]:
    """The values of rejoin that have rows: the given one, or never and at once; none is known of recorded faults."""
    if faults is not None:
        return [nan]
    if "rejoin" in given:
        return [float(given["rejoin"])]
    return [inf, 0.0]


def _table(
    rows: list[Row],
    left_out: dict[str, str],
    conditions: Conditions,
    workers: Workers,
    rejoins: list[float],
    progress: bool,
) -> pd.DataFrame:
    """The table of all rows, with what is said about it."""
    cells = []
    break_evens: dict[float, BreakEven | None] = {}
    with bar((len(rows) + 1) * len(rejoins), "goodput", "scheme", progress) as moving:
        for rejoin in rejoins:
            there = conditions
            if isinstance(conditions.failures, Lifetimes):
                there = replace(conditions, failures=replace(conditions.failures, rejoin=rejoin))
            found = []
            for row in rows:
                found.append(there.goodput(row.steps))
                moving.update()
            for row, one in zip(rows, found, strict=True):
                cells.append(_cells(row, one, rejoin, conditions))
            break_evens[rejoin] = break_even(rows, found, there)
            moving.update()
    import pandas as pd  # slow to import: not before a mistake is told

    frame = pd.DataFrame(cells, columns=list(COLUMNS))
    exact = tuple(row.label for row in rows if row.exact)
    frame.attrs |= {
        "workers": workers.words,
        "conditions": conditions,
        "exact": exact,
        "break_evens": break_evens,
        "left_out": left_out,
    }
    frame.attrs["sentence"] = conclusion(frame)
    return frame


def _cells(row: Row, found: Goodput, rejoin: float, conditions: Conditions) -> dict[str, Any]:
    """A row of the table."""
    from_law = found.progress * row.error
    return {
        "scheme": row.label,
        "rejoin": rejoin,
        "step": row.steps.alive.time / conditions.ideal,
        "endured": found.endured,
        "period": found.period,
        "goodput": found.progress,
        "goodput_se": (found.error**2 + from_law**2) ** 0.5,
        "progress": found.progress,
        "slower_steps": found.slower_steps,
        "saving": found.saving,
        "redo": found.redo,
        "lost_work": found.lost_work,
        "restart": found.restart,
        "waiting": found.waiting,
        "used_share": found.used_share,
        "worker_hours": found.worker_time,
    }
