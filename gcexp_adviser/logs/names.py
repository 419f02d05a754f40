"""What the columns of a log are: names of iterations, workers and times as people write them, with their units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gcexp.errors import ParameterError, require_known, unknown

#: Names of what a column may be, without a unit, in lower case and with underscores.
SYNONYMS = {
    "iteration": frozenset(
        """
        iteration iter it step batch epoch round minibatch mini_batch superstep update num_updates
        global_step train_step training_step current_step global_iteration train_iter global_batch
        training_iteration server_round comm_round communication_round
        """.split()
    ),
    "worker": frozenset(
        """
        worker rank node host replica process proc machine server client device gpu executor task pod instance
        pod_name container container_name peer learner trainer actor party participant pid cid ip ip_address hostname
        nodename node_name host_name nodelist node_list global_rank local_rank mpi_rank mpirank node_rank worker_rank
        process_rank gpu_rank dp_rank data_parallel_rank
        """.split()
    ),
    "time": frozenset(
        """
        time duration dur elapsed latency runtime run_time walltime wall_time wall_clock wallclock took time_taken
        total_time elapsed_time time_elapsed iteration_time iter_time step_time batch_time epoch_time round_time
        worker_time client_time task_time training_time train_time fit_time execution_time exec_time
        processing_time completion_time response_time compute_and_send step_duration iteration_duration
        step_latency iteration_latency time_per_step time_per_iteration time_per_iter time_per_batch
        dt t_step t_iter t_batch
        time_this_iter time_this_iteration elapsed_time_per_iteration per_step per_iteration per_iter per_it per_batch
        """.split()
    ),
    "start": frozenset(
        """
        start begin started began start_time begin_time starttime t_start time_start start_ts ts_start
        start_timestamp begin_timestamp start_at started_at launch_time launched_at t0 tic
        """.split()
    ),
    "end": frozenset(
        """
        end stop finish finished ended end_time stop_time finish_time endtime t_end time_end end_ts ts_end
        end_timestamp end_at ended_at finished_at t1 toc
        """.split()
    ),
    "compute": frozenset("compute compute_time computation computation_time comp_time".split()),
    "load": frozenset("load relative_load".split()),
    "chunk": frozenset("chunk microbatch micro_batch".split()),
}
#: Endings of names of numbers that count: ``step_id``, ``rank_no``.
_COUNTED = ("_id", "_idx", "_index", "_no", "_num", "_number", "_nr")
_STAMPS = frozenset("timestamp datetime date ts time_stamp logged_at created created_at utc clock".split())
#: Names that are those of times where a unit stands in them: ``total_ms``.
_TIMES_WITH_UNIT = SYNONYMS["iteration"] | frozenset(("", "t", "total", "wall", "real"))
#: Words of the names of a worker's column in a wide table, as in ``rank0_step_time``.
_WORKER_WORDS = SYNONYMS["worker"] | frozenset(
    "w r p n wk workers ranks nodes hosts mpi global local".split()
)
_TIME_WORDS = frozenset("t time times duration durations elapsed latency latencies took runtime".split())
_TIMERS = _TIME_WORDS | frozenset(("timer", "timers", "timing", "timings"))
#: Words of what differs in a number and is no worker's: scores, parts of a model, quantiles, repetitions.
_NO_WORKERS = (
    frozenset(
        """
    loss losses acc accuracy error err top layer lr param grad gradient norm score metric reward weight bias prob logit
    quantile percentile pct q pc block stage bucket head expert class level size bytes mem memory util temp power flops
    cpu load disk net
    tokens token samples throughput rate bandwidth run trial seed fold repeat rep exp experiment feature f x y z col
    column var unnamed train val valid test eval phase timer count total sum mean std min max
    """.split()
    )
    | SYNONYMS["iteration"]
)
_QUANTILE = re.compile(r"p(?:0|1|5|10|25|50|75|90|95|98|99|999|100)")
_BESIDE_TIME = SYNONYMS["iteration"] | frozenset(("per", "id"))

#: How many seconds a unit has, as a quotient of whole numbers: a division is rounded once.
UNITS = {"s": (1, 1), "ms": (1, 10**3), "us": (1, 10**6), "ns": (1, 10**9), "min": (60, 1), "h": (3600, 1)}
_SPELLED = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "ms": ("ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds"),
    "us": ("us", "usec", "usecs", "micro", "micros", "microsecond", "microseconds"),
    "ns": ("ns", "nsec", "nsecs", "nano", "nanos", "nanosecond", "nanoseconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
}
_UNIT_OF = {}
for _unit, _words in _SPELLED.items():
    _UNIT_OF.update(dict.fromkeys(_words, _unit))

#: What ``columns=`` may name: columns of a long table, or all columns of workers of a wide one, by a pattern.
_ROLES = (*SYNONYMS, "workers")
_SHOWN, _LETTERS = 8, 30  # names of columns in a sentence, and letters of one
BRACKETS = "brackets"  # the name of a number that stands alone in brackets, as [3] before a line
LABEL = "label"  # that of a number that begins a line, as 3: of srun --label
NOT_USED = "none"  # what a role is given that no column has
COLUMNS_EXAMPLE = "columns=iteration:STEP,worker:HOST,time:MS_PER_STEP"


@dataclass(frozen=True)
class Name:
    """The name of a column, without its unit; ``base`` is in lower case with underscores."""

    written: str
    base: str
    unit: str  # one of UNITS, or empty

    @property
    def is_stamp(self) -> bool:
        """Whether such a column says when a row was written."""
        return self.base in _STAMPS

    @property
    def is_of_worker(self) -> bool:
        """Whether a numbered column of this name is surely that of a worker's times: ``rank0``, ``step_time_3``."""
        words = set(re.findall(r"[a-z]+", self.base))
        if not words:
            return True
        return words <= _WORKER_WORDS | _TIME_WORDS | _BESIDE_TIME and bool(
            words & (_WORKER_WORDS | _TIME_WORDS)
        )

    @property
    def is_rate_of_iterations(self) -> bool:
        """Whether such a column says how many iterations there are in a second: ``steps_per_sec``, ``it/s``."""
        what, per, unit = self.base.rpartition("_per_")
        return bool(per) and _UNIT_OF.get(unit) == "s" and what.rstrip("s") in SYNONYMS["iteration"]

    @property
    def ends_with_time(self) -> bool:
        """Whether such a column may be a time by its last word alone: ``train_step_time``, ``forward_time``."""
        is_other = self.fits("start") or self.fits("end")
        return self.base.endswith("_time") and not is_other

    @property
    def is_quantile(self) -> bool:
        """Whether such a column has a quantile of the times of all workers: ``p50``, ``step_time_p99``."""
        return bool(_QUANTILE.fullmatch(self.base.rpartition("_")[2]))

    @property
    def may_be_of_host(self) -> bool:
        """Whether a numbered column of this name may be that of a host: ``dgx01``, but not ``loss0``."""
        is_host = re.fullmatch(r"[\w.:-]*\d[\w.:-]*", self.written.strip())
        words = set(re.findall(r"[a-z]+", self.base))
        return bool(is_host) and bool(words) and not _NO_WORKERS & words

    @property
    def timers(self) -> str:
        """The mapping of workers to times that a column comes from: ``timers.forward`` of ``timers.forward.0``."""
        mapping, _, key = self.written.rpartition(".")
        if not re.fullmatch(r"[A-Za-z_]*\d+", key) or _NO_WORKERS & set(re.findall(r"[a-z]+", key.lower())):
            return ""
        is_timed = bool(self.unit) or bool(_TIMERS & set(re.findall(r"[a-z]+", mapping.lower())))
        return mapping if is_timed else ""

    def fits(self, role: str) -> bool:
        """Whether a column of this name may be that."""
        known = SYNONYMS[role]
        if self.base in known and (role in ("time", "start", "end", "compute") or not self.unit):
            return True
        if role == "time":
            return bool(self.unit) and self.base in _TIMES_WITH_UNIT
        if role in ("iteration", "worker", "chunk") and not self.unit:
            return _without_counted(self.base) in known
        return False


@dataclass(frozen=True)
class Names:
    """The names of a table's columns, in their order.

    Examples
    --------
    >>> names = names_of(["step", "rank", "node", "time_ms"])
    >>> names.fitting("worker"), names.has("time"), names.without(["step"]).written
    (['rank', 'node'], True, ['rank', 'node', 'time_ms'])
    """

    items: tuple[Name, ...]

    @property
    def written(self) -> list[str]:
        """The names as they were written."""
        return [name.written for name in self.items]

    def fitting(self, role: str) -> list[str]:
        """Columns that may be that, by their names."""
        return self.where(lambda name: name.fits(role))

    def has(self, *roles: str) -> bool:
        """Whether some column may be one of these."""
        return any(self.fitting(role) for role in roles)

    def where(self, holds: Callable[[Name], bool]) -> list[str]:
        """Columns of whose names something holds."""
        return [name.written for name in self.items if holds(name)]

    def without(self, columns: Iterable[str]) -> Names:
        """The names without those of some columns."""
        left_out = set(columns)
        return Names(tuple(name for name in self.items if name.written not in left_out))


def names_of(columns: Iterable[object]) -> Names:
    """What the names of columns say."""
    return Names(tuple(map(name_of, columns)))


def _without_counted(base: str) -> str:
    """A name without an ending that says that it counts."""
    for ending in _COUNTED:
        if base.endswith(ending):
            return base.removesuffix(ending)
    return base


def name_of(written: object) -> Name:
    """What a column's name says.

    Of ``perf/step_time`` and ``metrics.step_time`` the last part counts. A rate, as ``tokens/s``, has no unit of time.

    Examples
    --------
    >>> (
    ...     name_of("Step time (ms)"),
    ...     name_of("duration_s").unit,
    ...     name_of("ms_per_step").base,
    ...     name_of("hostId").base,
    ...     name_of("times_ms.0").unit,
    ...     name_of("steps/s").unit,
    ... )
    (Name(written='Step time (ms)', base='step_time', unit='ms'), 's', 'per_step', 'host_id', 'ms', '')
    """
    text = str(written).strip().replace("µ", "u").replace("μ", "u")  # noqa: RUF001  # both signs for micro
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()
    words = _last_part(spaced)
    if len(words) > 1 and words[-2] == "per" and words[-1] in _UNIT_OF:
        return Name(str(written), "_".join(words), "")
    unit = ""
    if words and words[-1] in _UNIT_OF:
        unit = _UNIT_OF[words.pop()]
        if words and words[-1] == "in":
            words.pop()
    elif len(words) > 1 and words[0] in _UNIT_OF and words[1] == "per":
        unit = _UNIT_OF[words.pop(0)]
    elif len(words) > 2 and words[-2] in _UNIT_OF and re.fullmatch(r"[a-z]*\d+", words[-1]):
        unit = _UNIT_OF[words.pop(-2)]
    return Name(str(written), "_".join(words), unit)


def _last_part(text: str) -> list[str]:
    """The words of a name, without those of the group that it belongs to where the rest is known; ``ms/it`` is a rate.

    >>> (
    ...     _last_part("perf/step_time"),
    ...     _last_part("metrics.rank"),
    ...     _last_part("tokens/step"),
    ...     _last_part("ms/it"),
    ... )
    (['step', 'time'], ['rank'], ['tokens', 'step'], ['ms', 'per', 'it'])
    """
    words = re.findall(r"[a-z0-9]+", text)
    if "%" in text:
        return words
    before, slash, last = text.rpartition("/")
    first = re.findall(r"[a-z0-9]+", before)
    behind = re.findall(r"[a-z0-9]+", last)
    if slash and first and behind:
        if first[-1] in _UNIT_OF or behind[0] in _UNIT_OF:
            return [*first, "per", *behind]
        is_known = "_".join(behind) in SYNONYMS["time"] or behind[-1] in _UNIT_OF
        return behind if is_known else words
    behind = re.findall(r"[a-z0-9]+", text.rpartition(".")[2])
    if behind and not all(word.isdecimal() for word in behind):  # of times.0 all words count
        return behind
    return words


def listed(columns: Iterable[str]) -> str:
    """Names of columns in a sentence: the first of many, and cut where they are long.

    >>> listed(["step", "rank"]), listed(map(str, range(20)))
    ('step, rank', '0, 1, 2, 3, 4, 5, 6, 7, ...')
    """
    shown: list[str] = []
    for column in columns:
        if len(shown) == _SHOWN:
            shown.append("...")
            break
        name = " ".join(str(column).split())
        if len(name) > _LETTERS:
            name = f"{name[:_LETTERS]}..."
        shown.append(name)
    return ", ".join(shown)


def is_unit(word: str) -> bool:
    """Whether a word is a unit of time, as people write it.

    >>> is_unit("ms"), is_unit("Seconds"), is_unit("samples/s")
    (True, True, False)
    """
    return word.strip().lower() in _UNIT_OF


def unit_named(given: str) -> str:
    """The unit that a person named, one of `UNITS`; raise `ParameterError` for an unknown one."""
    require_known("unit", _UNIT_OF.get(given.strip().lower(), given), UNITS)
    return _UNIT_OF[given.strip().lower()]


def roles_given(columns: str | Mapping[str, object] | None) -> dict[str, str]:
    """What ``columns=`` says, as a mapping of roles to columns.

    Examples
    --------
    >>> roles_given("iteration:step, worker:host"), roles_given({"time": "ms_per_step"})
    ({'iteration': 'step', 'worker': 'host'}, {'time': 'ms_per_step'})
    """
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        parts = [f"{role}:{column}" for role, column in columns.items()]
    else:
        parts = str(columns).split(",")
    found: dict[str, str] = {}
    for part in parts:
        role, _, column = part.partition(":")
        role = role.strip()
        column = column.strip()
        if not column:
            raise ParameterError(
                f"columns={columns}: {part!r} is no ROLE:COLUMN; an example is {COLUMNS_EXAMPLE}"
            )
        require_known("role in columns=", role, _ROLES)
        if role in found:
            raise ParameterError(f"columns={columns}: {role} is given twice")
        found[role] = column
    return found


def column_given(column: str, names: Iterable[str], place: str) -> str:
    """The column that a person named, exactly or but for case and spaces around; raise `ParameterError` if none."""
    names = list(names)
    if column in names:
        return column
    near = [name for name in names if name.strip().casefold() == column.strip().casefold()]
    if len(near) == 1:
        return near[0]
    raise ParameterError(
        f"{place}: columns= names a column that is not there: {unknown('column', column, names)}"
    )
