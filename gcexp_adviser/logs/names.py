"""What the columns of a log are: names of iterations, workers and times as people write them, with their units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

#: Names that say beyond doubt what a column is, without a unit, in lower case and with underscores.
SYNONYMS = {
    "iteration": frozenset(
        "iteration iter step global_step train_step training_iteration batch epoch round server_round".split()
    ),
    "worker": frozenset(
        """
        worker rank global_rank local_rank node host hostname machine process replica client pod gpu
        """.split()
    ),
    "time": frozenset(
        """
        time duration elapsed elapsed_time latency took runtime step_time iteration_time iter_time batch_time
        epoch_time round_time train_time training_time fit_time step_duration iteration_duration
        time_per_step time_per_iteration time_per_iter time_per_it time_per_batch
        per_step per_iteration per_iter per_it per_batch
        """.split()
    ),
    "start": frozenset("start start_time started begin start_ts".split()),
    "end": frozenset("end end_time ended stop stop_time finish finished end_ts".split()),
    "compute": frozenset(("compute", "compute_time")),
    "load": frozenset(("load",)),
    "chunk": frozenset(("chunk", "microbatch", "micro_batch")),
}
#: Endings of names of what is counted or called by a name: ``step_id``, ``rank_no``, ``node_name``.
_COUNTED = ("_id", "_idx", "_index", "_name", "_no", "_num", "_number")
STAMP = "timestamp"  # how the date at the beginning of a line is called
_STAMPS = frozenset((STAMP, "time_stamp", "datetime", "date", "ts", "asctime"))
_CALLED_TIME = re.compile(r"time|duration|elapsed|latency|seconds|wall")
_RUNS = ("job", "run", "session", "attempt", "restart", "trial", "experiment", "exp", "project")
_SIZES = re.compile(
    r"(\w+_)?(batch_?size|bs|data_?size|dataset_?size|shard_size|seq_?len|sequence_length)"
    r"|((n|num|number_of|local|train)_?)?(examples|samples|tokens|images|sequences)"
)
_RATES = re.compile(
    r"_per_(s|sec|second|min|minute|h|hour)(_|$)|(^|_)(throughput|ips|fps|tps|qps|hz|speed|g?flops|tflops)(_|$)"
)
#: What may stand before the number of a worker; what else stands there belongs to its name.
_NUMBERED = ("", "w", "worker", "r", "rank", "p", "proc", "process")

#: How many seconds a unit has, as a quotient of whole numbers: a division is rounded once.
UNITS = {"s": (1, 1), "ms": (1, 10**3), "us": (1, 10**6), "ns": (1, 10**9), "min": (60, 1), "h": (3600, 1)}
SECONDS = {unit: times / parts for unit, (times, parts) in UNITS.items()}
_SPELLED = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "ms": ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"),
    "us": ("us", "usec", "usecs", "micros", "microsecond", "microseconds"),
    "ns": ("ns", "nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
}
UNIT_OF = {}
for _unit, _words in _SPELLED.items():
    UNIT_OF.update(dict.fromkeys(_words, _unit))
_LEAST = "min"  # stands beside max and mean in names of columns, where it is no unit

_SHOWN, _LETTERS = 8, 30  # names of columns in a sentence, and letters of one
NOT_USED = "none"  # what a role is given that no column has
COLUMNS_EXAMPLE = "columns=iteration:STEP,worker:HOST,time:MS_PER_STEP"
_WORKERS_COLUMN = re.compile(r"(?P<worker>[a-z_]*?)_?\d+(?:_(?P<time>[a-z_]+))?")


@dataclass(frozen=True)
class Name:
    """The name of a column, without its unit; ``base`` is in lower case with underscores."""

    written: str
    base: str
    unit: str  # one of UNITS, or empty

    @property
    def typed(self) -> str:
        """As it is typed in ``columns=``."""
        return typed(self.written)

    @property
    def is_stamp(self) -> bool:
        """Whether such a column says when a row was written."""
        return self.base in _STAMPS

    @property
    def is_unit(self) -> bool:
        """Whether the cells of such a column may be units of times."""
        return self.base in ("unit", "units", "time_unit", "time_units")

    @property
    def says_time(self) -> bool:
        """Whether a name says a time, or its unit.

        >>> [name_of(written).says_time for written in ("data_time", "forward (ms)", "loss")]
        [True, True, False]
        """
        return bool(self.unit or _CALLED_TIME.search(self.base))

    @property
    def is_rate(self) -> bool:
        """Whether such a column says how much there is in a second.

        >>> [name_of(written).is_rate for written in ("it/s", "rank*_throughput", "tokens_per_sec", "s/it")]
        [True, True, True, False]
        """
        return bool(_RATES.search(self.base))

    @property
    def is_percent_of_compute(self) -> bool:
        """Whether such a column says what share of a time is computing: ``compute_pct``, ``compute %``."""
        return self.base.startswith("compute") and self.base.endswith(
            ("_pct", "_percent", "_%", "_percentage")
        )

    @property
    def is_run(self) -> bool:
        """Whether such a column may tell runs apart.

        >>> [name_of(written).is_run for written in ("slurm_job_id", "run_name", "step")]
        [True, True, False]
        """
        base = self.base.removeprefix("slurm_")
        for ending in ("_id", "_index", "_number", "_name", "id"):
            base = base.removesuffix(ending)
        return base in _RUNS

    @property
    def is_size(self) -> bool:
        """Whether such a column says how much data a worker had in a step.

        >>> [name_of(written).is_size for written in ("micro_batch_size", "n_tokens", "bs", "tokens/s")]
        [True, True, True, False]
        """
        return bool(_SIZES.fullmatch(self.base))

    @property
    def group(self) -> str:
        """What the columns of workers have in common with one of this name; empty for a column that is no worker's.

        >>> [
        ...     name_of(written).group
        ...     for written in ("rank0", "node_7 (ms)", "rank0_step_time", "3", "loss0", "t.1")
        ... ]
        ['rank', 'node', 'rank_step_time', '*', '', '']
        """
        if not re.fullmatch(r"[\w -]+([(\[]\w+[)\]])?", self.written.strip()):
            return ""
        found = _WORKERS_COLUMN.fullmatch(self.base)
        if not found:
            return ""
        worker = found["worker"].strip("_")
        if not worker and not found["time"]:
            return "*"
        if worker not in SYNONYMS["worker"] and worker != "w":
            return ""
        if not found["time"]:
            return worker
        return f"{worker}_{found['time']}" if found["time"] in SYNONYMS["time"] else ""

    @property
    def without_unit(self) -> str:
        """The name without the unit of its times in brackets, as that of a worker.

        >>> name_of("GPU 5 [ms]").without_unit, name_of("node (old)").without_unit
        ('GPU 5', 'node (old)')
        """
        bare = re.sub(r"\s*[(\[]\w+[)\]]\s*$", "", self.written)
        return bare if self.unit and bare else self.written.strip()

    def fits(self, role: str) -> bool:
        """Whether a column of this name is that beyond doubt."""
        known = SYNONYMS[role]
        if role == "time":
            is_of_step = self.base in SYNONYMS["iteration"] or not self.base
            return self.base in known or (is_of_step and bool(self.unit))
        if role in ("start", "end", "compute"):
            return self.base in known
        return not self.unit and _without_counted(self.base) in known


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

    @cached_property
    def written(self) -> list[str]:
        """The names as they were written."""
        return [name.written for name in self.items]

    def fitting(self, role: str) -> list[str]:
        """Columns that are that, by their names."""
        return self.where(lambda name: name.fits(role))

    def has(self, *roles: str) -> bool:
        """Whether some column is one of these."""
        return any(self.fitting(role) for role in roles)

    def where(self, holds: Callable[[Name], bool]) -> list[str]:
        """Columns of whose names something holds."""
        return [name.written for name in self.items if holds(name)]

    def without(self, columns: Iterable[str]) -> Names:
        """The names without those of some columns."""
        left_out = set(columns)
        return Names(tuple(name for name in self.items if name.written not in left_out))

    @cached_property
    def of_workers(self) -> list[str]:
        """Columns that are those of workers, as ``rank0`` and ``rank1``; none if there are several such groups."""
        groups: dict[str, list[str]] = {}
        for name in self.items:
            if name.group:
                groups.setdefault(name.group, []).append(name.written)
        several = [group for group in groups.values() if len(group) > 1]
        return several[0] if len(several) == 1 else []

    @cached_property
    def numbered(self) -> tuple[Name, list[str]]:
        """The first columns that differ in a number only, and a pattern that fits them; nothing where there are none.

        >>> pattern, columns = names_of(["step", "run-0 - time", "run-1 - time", "time_max"]).numbered
        >>> pattern.written, columns
        ('run-* - time', ['run-0 - time', 'run-1 - time'])
        """
        groups: dict[str, list[str]] = {}
        for column in self.written:
            if re.search(r"\d", column):
                groups.setdefault(re.sub(r"\d+", "*", column), []).append(column)
        for pattern, group in groups.items():
            if len(group) > 1:
                return name_of(pattern), group
        return name_of(""), []

    @cached_property
    def workers(self) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Numbers of the workers that columns or files are named after, and no names; or places, and their names.

        >>> names_of(["rank_1", "rank_0"]).workers, names_of(["node7 [ms]", "node8 [ms]"]).workers
        (((1, 0), ()), ((0, 1), ('node7', 'node8')))
        """
        numbers = []
        for name in self.items:
            found = re.fullmatch(r"([a-z]*)_?(\d{1,18})", name.base)
            if found and found[1] in _NUMBERED:
                numbers.append(int(found[2]))
        if len(set(numbers)) == len(self.items):
            return tuple(numbers), ()
        return tuple(range(len(self.items))), tuple(name.without_unit for name in self.items)


def names_of(columns: Iterable[object]) -> Names:
    """What the names of columns say."""
    return Names(tuple(map(name_of, columns)))


def _without_counted(base: str) -> str:
    """A name without an ending that says that it counts or is a name."""
    for ending in _COUNTED:
        if base.endswith(ending):
            return base.removesuffix(ending)
    return base


def name_of(written: object) -> Name:
    """What a column's name says.

    A rate, as ``tokens/s``, has no unit of time. Nor has a lone letter, as ``s``, which may be a worker's name or a
    number of stragglers.

    Examples
    --------
    >>> name_of("Step time (ms)"), name_of("ms_per_step").base, name_of("hostId").base
    (Name(written='Step time (ms)', base='step_time', unit='ms'), 'per_step', 'host_id')
    >>> [
    ...     name_of(name).unit
    ...     for name in ("duration_s", "time in us", "ms/step", "ms", "steps/s", "time_min", "s")
    ... ]
    ['s', 'us', 'ms', 'ms', '', '', '']
    """
    text = str(written).strip().replace("µ", "u").replace("μ", "u")  # noqa: RUF001  # both signs for micro
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text.replace("/", " per ")).lower()
    words = re.findall(r"[a-z0-9]+|%", spaced)
    unit = ""
    if len(words) > 1 and words[0] in UNIT_OF and words[1] == "per":
        unit = UNIT_OF[words.pop(0)]
    elif len(text) > 1 and _ends_with_unit(words):
        unit = UNIT_OF[words.pop()]
        if words and words[-1] == "in":
            words.pop()
    return Name(str(written), "_".join(words), unit)


def _ends_with_unit(words: list[str]) -> bool:
    """Whether the last word of a name is the unit of its times."""
    return bool(words) and words[-1] in UNIT_OF and words[-1] != _LEAST and words[-2:-1] != ["per"]


def typed(column: str) -> str:
    """A column's name as it is typed in ``columns=``; quoted where a shell would divide it."""
    if re.search(r"[ ()\[\]&;|<>*?$\"{}]", column):
        return f"'{column}'"
    return column


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


def workers_in_words(labels: Sequence[str], workers: Sequence[int]) -> str:
    """Some of the workers by label, as a sentence goes on.

    >>> workers_in_words(("a", "b", "c"), [1]), workers_in_words(("a", "b", "c"), [0, 2])
    ('worker b', 'workers a, c')
    """
    named = [labels[worker] for worker in workers]
    return f"worker {named[0]}" if len(named) == 1 else f"workers {listed(named)}"
