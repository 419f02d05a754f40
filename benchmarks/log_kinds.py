"""Kinds of logs, each in a wrong and a right variant; `benchmarks.log_rows` says what each is and why.

Each function takes a generator of random numbers, whether the log is the wrong variant, and the folder to write into.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.log_clusters import (
    Cluster,
    Row,
    Style,
    Truth,
    cluster,
    in_unit,
    noise,
    rows,
    style,
    waiting,
    write_log,
    write_rows,
)

ASKED = ("ask", "refuse", "doubt")
READ_OR_ASKED = ("value", *ASKED)
SEVERAL_RUNS = r"\bruns?\b|session|\bjobs?\b|attempt"
KEEPS_LAST = r"keep the last|drop_duplicates"

Kind = Callable[[np.random.Generator, bool, Path], Truth]


def gapless(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Stamps of start and end; wrong: each row begins where the one before ended, so rows hold the waiting."""
    known = cluster(rng)
    look = style(rng)
    first, last = str(rng.choice(["start end", "start_time end_time"])).split()
    overhead = known.level * rng.uniform(0.05, 0.3)
    begin = 1.7e9 + overhead + np.concatenate([[0], np.cumsum(known.times.max(axis=1) + overhead)])
    starts = begin[:-1, None] + known.level * rng.exponential(0.02, known.shape)
    ends = np.round(begin[:-1, None] + known.times, 6)
    if wrong:
        before = np.vstack([np.full(known.shape[1], begin[0]), ends[:-1]])
        starts = before + rng.uniform(0, 2e-5, known.shape)
    else:
        ends = np.round(starts, 6) + known.times
    table = []
    for step in range(known.shape[0]):
        for worker, name in enumerate(known.names):
            stamps = {first: f"{starts[step, worker]:.6f}", last: f"{ends[step, worker]:.6f}"}
            table.append({look.step: str(step), look.worker: name, **stamps})
    write_log(folder, table, look)
    if not wrong:
        return Truth("start and end of each computation, with a pause between two of them", known)
    return Truth(
        "each row begins where the one before ended and so holds the waiting for the slowest",
        known,
        ASKED,
        r"wait|tile|gap|barrier|stamp|the row before",
        waiting=(float(np.diff(begin).mean()),),
    )


def cumulative(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: the time since the start, since one worker's restart, or since the epoch's start; right: drift."""
    known = cluster(rng)
    look = replace(style(rng), time=str(rng.choice(["time", "elapsed", "time_s", "time_ms"])))
    iterations, workers = known.shape
    if not wrong:
        growth = 1 + rng.uniform(0, 0.4) * np.linspace(0, 1, iterations)[:, None]
        known = known.with_times(known.times * growth)
        write_log(folder, rows(known, look), look)
        return Truth("durations, which may grow slowly over the run", known)
    counter = np.cumsum(known.times, axis=0)
    resets = 0
    form = rng.choice(["whole run", "one restart", "epochs"])
    if form == "one restart":
        worker, at = int(rng.integers(workers)), int(rng.uniform(0.3, 0.7) * iterations)
        counter[at:, worker] -= counter[at - 1, worker]
        resets = 1
    if form == "epochs":
        length = int(rng.integers(10, 21))
        resets = (iterations - 1) // length
        for start in range(length, iterations, length):
            counter[start:] -= counter[start - 1]
    write_log(folder, rows(known.with_times(counter), look), look)
    return Truth(
        f"each worker's time since its start ({form}): durations are differences of rows",
        known,
        READ_OR_ASKED,
        "cumulat|counter|differen|grow",
        iterations=(iterations - resets - 1, iterations),
    )


def barrier(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Times and compute times; wrong: the time was stamped after the barrier, with jitter of .2 to 4 %."""
    computing = cluster(rng, must_be_slow=True)
    look = style(rng)
    own = computing.level * rng.uniform(0.1, 1)
    times = computing.times + own * noise(rng, "lognormal", computing.shape)
    if wrong:
        round_ends = computing.times.max(axis=1, keepdims=True) + own
        times = round_ends * (1 + rng.uniform(0.002, 0.04) * rng.normal(size=computing.shape))
        times = np.maximum(times, 1.001 * computing.times)
    known = computing.with_times(times)
    table = _with_compute(known, computing, look, "compute", look.time)
    write_log(folder, table, look)
    if not wrong:
        return Truth(
            "compute and the worker's own communication",
            known,
            phi=_phi(known, computing),
            compute=computing.times,
        )
    return Truth(
        "time is stamped after the barrier, compute before it; the worker that computes longest is the slow one",
        computing,
        READ_OR_ASKED,
        r"barrier|all-reduce|stamped after|hold the waiting|compute differ",
        waiting=(waiting(known.times), waiting(computing.times)),
        same_verdict=False,
    )


def _phi(known: Cluster, computing: Cluster) -> float:
    """Share of the time that does not grow with the load, one for all workers: the slow one has a smaller one."""
    return float(1 - computing.times.mean() / known.times.mean())


def _with_compute(known: Cluster, computing: Cluster, look: Style, column: str, unit: str) -> list[Row]:
    """Rows with a column of compute times, in the unit of a column of `TIME_COLUMNS`."""
    cells = np.array([in_unit(seconds, unit) for seconds in computing.times.ravel()])
    return rows(known, look, {column: cells.reshape(known.shape)})


def compute_unit(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: compute is in another unit than the time, or in percent of it."""
    computing = cluster(rng)
    share = rng.uniform(0.15, 0.9)
    other = computing.level * (1 / share - 1)
    known = computing.with_times(computing.times + other * noise(rng, "lognormal", computing.shape))
    look = style(rng)
    form = str(rng.choice(["ms and s", "s and ms", "percent, named", "percent"])) if wrong else "same unit"
    look = replace(look, time={"ms and s": "time_ms", "s and ms": "time_s"}.get(form, look.time))
    if "percent" in form:
        column = "compute_pct" if "named" in form else "compute"
        percent = np.char.mod("%.3f", 100 * computing.times / known.times)
        table = rows(known, look, {column: percent})
    else:
        unit = {"ms and s": "time_s", "s and ms": "time_ms"}.get(form, look.time)
        table = _with_compute(known, computing, look, "compute", unit)
    write_log(folder, table, look)
    return Truth(
        f"time and compute in: {form}",
        known,
        READ_OR_ASKED if wrong else ("value",),
        r"compute.*(unit|percent|%|share|longer|larger|smaller|not (a )?time)|percent",
        phi=_phi(known, computing),
        compute=computing.times,
    )


#: A column that says which rows count: its word in rows that count, its word in others, and where those are.
FLAGS = {
    "is_warmup": ("0", "1", "first"),
    "warmup": ("false", "true", "first"),
    "stage": ("steady", "warmup", "first"),
    "phase": ("train", "eval", "every tenth"),
    "split": ("train", "val", "every tenth"),
    "mode": ("train", "validate", "every tenth"),
    "kind": ("step", "checkpoint", "every tenth"),
    "valid": ("1", "0", "anywhere"),
}


def uncounted(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: a column says that some rows do not count; right: it is constant, or says another thing of workers."""
    known = cluster(rng)
    look = style(rng)
    iterations, workers = known.shape
    column = str(rng.choice(list(FLAGS)))
    counts, other, place = FLAGS[column]
    if not wrong:
        values = np.full(known.shape, counts)
        if rng.random() < 0.5:
            column = str(rng.choice(["zone", "rack", "switch"]))
            values = np.broadcast_to(rng.choice(["a", "b"], workers), known.shape)
        write_log(folder, rows(known, look, {column: values}), look)
        return Truth("all rows count", known)
    bad = np.zeros(iterations, dtype=bool)
    if place == "first":
        bad[: int(rng.integers(4, 9))] = True
    elif place == "every tenth":
        bad[9::10] = True
    else:
        bad[rng.choice(iterations, max(3, iterations // 20), replace=False)] = True
    times = known.times.copy()
    times[bad, int(rng.integers(workers))] *= rng.uniform(10, 40)
    marks = np.where(bad[:, None], other, counts)
    write_log(folder, rows(known.with_times(times), look, {column: marks}), look)
    return Truth(
        f"rows with {column} = {other} do not count",
        known.with_times(known.times[~bad]),
        READ_OR_ASKED,
        rf"\b{column}\b|do not count|left out.*{other}",
    )


def asynchronous(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: each step is one worker's update, and nobody waits; right: steps of all, in the order of finishing."""
    known = cluster(rng)
    look = replace(style(rng, by_worker=False), first=0)
    if not wrong:
        order = (
            np.argsort(known.times, axis=1).argsort(axis=1)
            + known.shape[1] * np.arange(known.shape[0])[:, None]
        )
        table = rows(known, look, {"row": order})
        table.sort(key=lambda row: int(row["row"]))
        write_log(folder, table, look)
        return Truth("all workers in each step; rows stand in the order of finishing", known)
    ends = np.cumsum(known.times, axis=0)
    most = min(400, known.times.size // 2)
    updates = np.argsort(ends, axis=None)[:most]
    table = []
    for number, update in enumerate(updates):
        step, worker = np.unravel_index(update, known.shape)
        time = in_unit(known.times[step, worker], look.time)
        table.append({look.step: str(number), look.worker: known.names[worker], look.time: time})
    write_log(folder, table, look)
    return Truth(
        "asynchronous: each step is the update of one worker", known, ASKED, r"asynchron|one worker in each"
    )


def sampled(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: as many workers in each step, but not the same ones; right: all, or a few lost rows."""
    known = cluster(rng)
    look = style(rng)
    times = known.times.copy()
    iterations, workers = known.shape
    if not wrong:
        for step in rng.choice(iterations, int(rng.choice([0, 3])), replace=False):
            times[step, rng.choice(workers, int(rng.integers(1, 3)), replace=False)] = np.nan
        known = known.with_times(times)
        write_log(folder, rows(known, look), look)
        return Truth("all workers in each step, but for at most six lost rows", known)
    asked = int(rng.integers(max(2, workers // 3), workers))
    form = rng.choice(["clients are sampled", "the fastest are kept"])
    drawn = rng.random(known.shape)
    is_there = _first(times if form == "the fastest are kept" else drawn, asked)
    if not is_there.any(axis=0).all():  # a worker that is never among the fastest is not in the log
        form, is_there = "clients are sampled", _first(drawn, asked)
    times[~is_there] = np.nan
    known = known.with_times(times)
    write_log(folder, rows(known, look), look)
    words = r"sampl|were asked|selected|chosen|keeps the fastest|not the same (ones|workers)|participat"
    return Truth(f"{asked} of {workers} workers in each step: {form}", known, ASKED, words)


def _first(numbers: np.ndarray, count: int) -> np.ndarray:
    """Which entries of each row (R, N) are among its smallest ones."""
    return numbers.argsort(axis=1).argsort(axis=1) < count


def lost_line(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Times alone, a file per rank; wrong: one file lacks lines; right: none, or a column says the step."""
    known = cluster(rng, common=0.4)
    iterations, workers = known.shape
    times = known.times.copy()
    lost = int(rng.integers(1, 4))
    at = int(rng.uniform(0.1, 0.6) * iterations)
    with_steps = not wrong and rng.random() < 0.5
    if wrong or with_steps:
        times[at : at + lost, int(rng.integers(workers))] = np.nan
    known = replace(known.with_times(times), names=tuple(map(str, range(workers))))
    if with_steps:
        look = Style("step", "rank", "time", ",", by_worker=True, first=0)
        write_log(folder, rows(known, look), look)
        return Truth("a file per rank with a column step; one file lacks lines", known)
    for worker in range(workers):
        lines = [in_unit(time, "time") for time in times[:, worker] if not np.isnan(time)]
        ending = str(rng.choice(["\n", "\n\n"]))
        (folder / f"rank{worker}.txt").write_text("\n".join(lines) + ending)
    if not wrong:
        return Truth("a file per rank, one time per line", known)
    words = r"align|shift|lines? (is|are) (lost|missing)|lost line|unequal|which line"
    return Truth(f"one file lacks {lost} lines; nobody can know which", known, READ_OR_ASKED, words)


def joins_late(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: some workers have no rows before some step; right: they have, at the end of the file."""
    known = cluster(rng)
    look = style(rng)
    iterations, workers = known.shape
    joining = np.arange(workers) >= workers - int(rng.integers(1, workers // 2 + 1))
    start = int(rng.uniform(0.25, 0.6) * iterations)
    if not wrong:
        table = rows(known, look)
        late = set(np.array(known.names)[joining])
        table.sort(key=lambda row: row[look.worker] in late)
        write_log(folder, table, look)
        return Truth("all workers from the first step on; some stand at the end of the file", known)
    times = known.times.copy()
    times[:start, joining] = np.nan
    partial = known.with_times(times)
    write_log(folder, rows(partial, look), look)
    complete = known.with_times(times[start:])
    return Truth(
        f"{joining.sum()} of {workers} workers join after {start} iterations",
        complete,
        READ_OR_ASKED,
        r"\bjoin|came later|\bbegins? (with|at|in) (step|iteration|round)",
        waiting=(waiting(times), waiting(complete.times)),
        iterations=(iterations - start, iterations),
        same_verdict=False,
    )


def cadence(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: some ranks log only every second to tenth step; right: all ranks log only these."""
    known = cluster(rng)
    look = style(rng)
    iterations, workers = known.shape
    every = int(rng.choice([number for number in (2, 3, 5, 10) if number * 20 <= iterations]))
    kept = np.arange(iterations) % every == 0
    rare = np.arange(workers) < int(rng.integers(1, workers))
    times = known.times.copy()
    times[~kept, :] = np.where(rare, np.nan, times[~kept, :]) if wrong else np.nan
    write_log(folder, rows(known.with_times(times), look), look)
    common = known.with_times(known.times[kept])
    if not wrong:
        return Truth(f"all ranks log every {every} steps", common)
    mechanism = f"{rare.sum()} of {workers} ranks log every {every} steps, the others all"
    return Truth(
        mechanism,
        common,
        READ_OR_ASKED,
        r"cadence|\bevery \w+ (step|iteration|round)|common (step|iter|round)",
    )


def rotated(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """A log per rank; wrong: it was rotated, and its older rows are in files .log.1 and .log.2."""
    known = cluster(rng)
    look = style(rng, by_worker=True)
    iterations, workers = known.shape
    parts = int(rng.integers(2, 4)) if wrong else 1
    known = replace(known, names=tuple(map(str, range(workers))))
    borders = np.linspace(0, iterations, parts + 1).astype(int)
    pattern = "rank{}.log" if wrong else str(rng.choice(["rank{}.log", "rank.{}.log"]))
    for worker in range(workers):
        own = [row for row in rows(known, look) if row[look.worker] == str(worker)]
        own = [{name: text for name, text in row.items() if name != look.worker} for row in own]
        for part in range(parts):
            age = parts - 1 - part
            name = pattern.format(worker) + (f".{age}" if age else "")
            write_rows(folder / name, own[borders[part] : borders[part + 1]], look.separator)
    if not wrong:
        return Truth("a log per rank", known)
    return Truth(f"a log per rank, rotated {parts - 1} times", known, READ_OR_ASKED, r"rotat|\.log\.\d")


def sizes(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """A column of sizes; wrong: times grow with it and it differs by worker; right: it is the same for all."""
    known = cluster(rng)
    look = style(rng)
    iterations, workers = known.shape
    column = str(rng.choice(["num_examples", "batch_size", "tokens"]))
    size = np.full((iterations, workers), int(rng.choice([32, 64, 256, 1000])))
    if not wrong:
        if rng.random() < 0.5:
            size = size + rng.integers(0, 4, (iterations, 1))
        write_log(folder, rows(known, look, {column: size}), look)
        return Truth("all workers have the same amount of data", known)
    if known.slow is None:
        size[:, rng.choice(workers, max(1, workers // 4), replace=False)] *= 2
    else:
        size[:, np.arange(workers) != known.slow] = np.round(size[0, 0] * known.factor)
    if column == "tokens":
        size = np.round(size * rng.uniform(0.97, 1.03, size.shape)).astype(int)
    per_example = known.with_times(known.times)
    logged = known.with_times(known.times * size / np.median(size))
    write_log(folder, rows(logged, look, {column: size}), look)
    return Truth(
        "workers have different amounts of data; speed is the time per example",
        per_example,
        READ_OR_ASKED,
        rf"per (example|token|sample|batch)|unequal data|{column}.*differ|differ.*{column}|amounts? of data",
        waiting=(waiting(logged.times), waiting(per_example.times)),
        same_verdict=False,
    )


def counts(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Whole numbers; wrong: the same in each cell, or counts, or bytes; right: milliseconds."""
    known = cluster(rng)
    look = replace(style(rng, by_worker=False), time="time")
    iterations, workers = known.shape
    if not wrong:
        known = known.with_times(np.round(known.times, 3))
        whole = np.char.mod("%d", np.round(known.times * 1000).astype(int))
        if rng.random() < 0.5:
            table = [
                {look.step: str(step)} | dict(zip(known.names, row, strict=True))
                for step, row in enumerate(whole)
            ]
        else:
            table = [
                {look.step: row[look.step], look.worker: row[look.worker], "time_ms": str(cell)}
                for row, cell in zip(rows(known, look), whole.ravel(), strict=True)
            ]
        write_log(folder, table, replace(look, separator=look.separator or ","))
        thousand = waiting(known.times) * 1000
        return Truth("whole milliseconds", known, waiting=(waiting(known.times), thousand))
    form = str(rng.choice(["equal cells", "equal cells, wide", "bytes", "counts"]))
    cells = np.full(known.shape, int(rng.choice([1, 30, 60, 128])))
    if form == "bytes":
        cells = 4096 * rng.integers(200, 300, known.shape)
    if form == "counts":
        cells = rng.poisson(int(rng.choice([20, 200])), known.shape)
    column = {"bytes": "bytes_sent", "counts": "num_batches"}.get(form, "time")
    table = [{look.step: str(step)} for step in range(iterations)]
    if "equal cells" != form:
        head = "" if "cells" in form else f"{column}_"
        for row, values in zip(table, cells, strict=True):
            row.update({f"{head}{name}": str(value) for name, value in zip(known.names, values, strict=True)})
    else:
        table = rows(known, look)
        for row in table:
            row["time"] = str(cells[0, 0])
    write_log(folder, table, replace(look, separator=look.separator or ","))
    return Truth(f"no times: {form}", known, ASKED, r"no times|equal|counts|bytes|whole numbers")


def server(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: one of the workers is the server, which waits for all others; right: all are called server."""
    known = cluster(rng)
    look = style(rng)
    workers = known.shape[1]
    if not wrong:
        known = replace(known, names=tuple(f"server{worker}" for worker in range(workers)))
        write_log(folder, rows(known, look), look)
        return Truth("all workers are called server", known)
    known = replace(known, names=tuple(f"worker{worker}" for worker in range(workers)))
    name = str(rng.choice(["server", "master", "coordinator", "aggregator"]))
    round_times = known.times.max(axis=1, keepdims=True) + known.level * rng.uniform(0.05, 0.3)
    both = replace(known.with_times(np.hstack([known.times, round_times])), names=(*known.names, name))
    write_log(folder, rows(both, look), look)
    words = rf"{name}.*(wait|no worker|not a worker|left out|gathers)|is {name} a worker"
    return Truth(f"{name} is no worker: its rows are the rounds", known, READ_OR_ASKED, words)


def long_ids(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Whole numbers as names; wrong: of 18 to 20 digits, some of which differ in the last three only."""
    known = cluster(rng)
    look = replace(style(rng, by_worker=False), worker=str(rng.choice(["client_id", "client", "worker_id"])))
    digits = (18, 21) if wrong else (9, 13)
    names: list[str] = []
    while len(names) < known.shape[1]:
        name = str(rng.integers(1, 10)) + "".join(map(str, rng.integers(0, 10, rng.integers(*digits) - 1)))
        if names and wrong and rng.random() < 0.4:
            name = names[-1][:-3] + f"{rng.integers(1000):03d}"
        if name not in names:
            names.append(name)
    known = replace(known, names=tuple(names))
    write_log(folder, rows(known, look), look)
    return Truth(f"ids of {digits[0]} to {digits[1] - 1} digits", known)


def _sessions(rng: np.random.Generator, number: int, *, same_workers: bool) -> list[Cluster]:
    """Runs of one size, each with speeds and a slow worker of its own."""
    first = cluster(rng)
    workers = first.shape[1]
    runs = [first]
    while len(runs) < number:
        times = first.level * noise(rng, first.law, (int(rng.integers(40, 120)), workers))
        slow = int(rng.integers(workers))
        times[:, slow] *= rng.uniform(1.3, 3)
        names = (
            first.names
            if same_workers
            else tuple(f"node{len(runs)}{worker:02d}" for worker in range(workers))
        )
        runs.append(replace(first.with_times(times), slow=slow, names=names))
    return runs


def _several(runs: list[Cluster], mechanism: str) -> Truth:
    """The truth of a log with several runs: none of them is meant until somebody says which."""
    truth = Truth(mechanism, runs[-1], ASKED, SEVERAL_RUNS, KEEPS_LAST)
    return replace(truth, runs=len(runs))


def step_falls(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: sessions in one file, each from the first step on; right: one run, flushed in blocks of steps."""
    runs = _sessions(rng, int(rng.integers(2, 4)), same_workers=True)
    look = style(rng)
    if wrong:
        write_log(folder, [row for run in runs for row in rows(run, look)], look)
        return _several(runs, "sessions after one another in one file, each counting from its first step")
    known = runs[0]
    block = int(rng.integers(2, 11))
    table = rows(known, look)
    order = {name: number for number, name in enumerate(known.names)}
    table.sort(key=lambda row: ((int(row[look.step]) - look.first) // block, order[row[look.worker]]))
    write_log(folder, table, look)
    return Truth(f"one run, whose workers write their rows in blocks of {block} steps", known)


def other_workers(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: from some row on all workers are others, whether steps begin again or go on; right: odd names."""
    runs = _sessions(rng, 2, same_workers=False)
    look = style(rng, by_worker=False)
    if wrong:
        goes_on = bool(rng.random() < 0.5)
        later = replace(look, first=look.first + (runs[0].shape[0] if goes_on else 0))
        write_log(folder, rows(runs[0], look) + rows(runs[1], later), look)
        return _several(runs, f"two jobs of different workers; steps {'go on' if goes_on else 'begin again'}")
    letters = np.array(list("abcdefghijkmnpqrstuvwxyz"))
    names = tuple("".join(rng.choice(letters, 8)) for _ in runs[0].names)
    known = replace(runs[0], names=names)
    write_log(folder, rows(known, look), look)
    return Truth("one job whose workers have names of random letters", known)


def _write_run(folder: Path, run: Cluster, look: Style) -> None:
    """One run with a file per rank, named rank0, rank1, ..."""
    names = tuple(map(str, range(run.shape[1])))
    write_log(folder, rows(replace(run, names=names), look), replace(look, by_worker=True))


def attempts(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Folders of a launcher; wrong: each counts from the first step; right: the steps go on, so it is one run."""
    runs = _sessions(rng, 2, same_workers=True)
    look = style(rng)
    if wrong:
        for number, run in enumerate(runs):
            _write_run(folder / f"attempt_{number}", run, look)
        return _several(runs, "folders attempt_0 and attempt_1, each counting from the first step")
    known = replace(runs[0], names=tuple(map(str, range(runs[0].shape[1]))))
    half = known.shape[0] // 2
    _write_run(folder / "attempt_0", known.with_times(known.times[:half]), look)
    _write_run(
        folder / "attempt_1", known.with_times(known.times[half:]), replace(look, first=look.first + half)
    )
    return Truth("folders attempt_0 and attempt_1 of one job whose steps go on", known)


def file_numbers(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Files slurm-JOB_RANK.out; wrong: of two jobs; right: of one."""
    runs = _sessions(rng, 2 if wrong else 1, same_workers=True)
    look = style(rng, by_worker=True)
    job = int(rng.integers(1000, 9000))
    for number, run in enumerate(runs):
        table = rows(run, look)
        for worker, name in enumerate(run.names):
            own = [row for row in table if row[look.worker] == name]
            own = [{column: text for column, text in row.items() if column != look.worker} for row in own]
            write_rows(folder / f"slurm-{job + number}_{worker}.out", own, look.separator)
    if wrong:
        return _several(runs, "files slurm-JOB_RANK.out of two jobs")
    known = replace(runs[0], names=tuple(map(str, range(runs[0].shape[1]))))
    return Truth("files slurm-JOB_RANK.out of one job", known)


def run_column(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """A column job, run, session or attempt; wrong: of several runs; right: of one, or of attempts that go on."""
    runs = _sessions(rng, int(rng.integers(2, 4)), same_workers=bool(rng.random() < 0.5))
    look = style(rng, by_worker=False)
    column = str(rng.choice(["job", "run", "session", "attempt"]))
    if wrong:
        table = []
        for number, run in enumerate(runs):
            table += rows(run, look, {column: np.array(number)})
        if rng.random() < 0.5:
            table.sort(key=lambda row: int(row[look.step]))
        write_log(folder, table, look)
        return _several(runs, f"the column {column} tells several runs apart")
    known = runs[0]
    number = np.zeros((known.shape[0], 1), dtype=int)
    if column == "attempt":
        number[known.shape[0] // 2 :] = 1
    write_log(folder, rows(known, look, {column: number}), look)
    return Truth(f"one run with a column {column}", known)


def checkpoint(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """Wrong: the run went back to a step in the middle and repeats it; right: it was continued at a high step."""
    known = cluster(rng)
    look = style(rng)
    if not wrong:
        look = replace(look, first=int(rng.integers(100, 9000)))
        write_log(folder, rows(known, look), look)
        return Truth("one run, continued from a checkpoint without a step twice", known)
    iterations = known.shape[0]
    failed = int(rng.uniform(0.5, 0.9) * iterations)
    back = failed - int(rng.integers(3, failed // 2))
    lost = known.with_times(known.level * noise(rng, known.law, (failed - back, known.shape[1])))
    table = rows(known.with_times(np.vstack([known.times[:back], lost.times])), look)
    later = replace(look, first=look.first + back)
    table += rows(known.with_times(known.times[back:]), later)
    write_log(folder, table, look)
    words = r"checkpoint|went back|stands? twice|repeat"
    return Truth(f"went back from step {failed} to {back}; the last rows count", known, READ_OR_ASKED, words)


def local_ranks(rng: np.random.Generator, wrong: bool, folder: Path) -> Truth:
    """A file per node; wrong: ranks are counted on each node; right: over all nodes."""
    known = cluster(rng)
    look = style(rng, by_worker=False)
    nodes = int(rng.integers(2, min(4, known.shape[1] // 2) + 1))
    each = known.shape[1] // nodes
    kept = nodes * each
    slow = None if known.slow is None else known.slow % kept
    times = known.times[:, :kept].copy()
    if known.slow is not None and known.slow >= kept:
        times[:, slow] *= known.factor
    ranks = [divmod(rank, each) for rank in range(kept)]
    names = tuple(f"node{node}/{local}" for node, local in ranks) if wrong else tuple(map(str, range(kept)))
    known = replace(known.with_times(times), names=names, slow=slow)
    look = replace(look, worker="local_rank" if wrong else "rank")
    for node in range(nodes):
        own = slice(node * each, (node + 1) * each)
        labels = tuple(map(str, range(each))) if wrong else names[own]
        part = replace(known.with_times(times[:, own]), names=labels)
        ending = "csv" if look.separator else "jsonl"
        write_rows(folder / f"node{node}.{ending}", rows(part, look), look.separator)
    if not wrong:
        return Truth(f"{nodes} nodes of {each} ranks, counted over all", known)
    truth = Truth(
        f"{nodes} nodes of {each} local ranks", known, READ_OR_ASKED, r"local_rank|file and|node.*rank"
    )
    return replace(truth, misleading=KEEPS_LAST)


#: The order gives each kind its number among the seeds: append only.
KINDS: dict[str, Kind] = {
    kind.__name__: kind
    for kind in (
        gapless,
        cumulative,
        barrier,
        compute_unit,
        uncounted,
        asynchronous,
        sampled,
        lost_line,
        joins_late,
        cadence,
        rotated,
        sizes,
        counts,
        server,
        long_ids,
        step_falls,
        other_workers,
        attempts,
        file_numbers,
        run_column,
        checkpoint,
        local_ranks,
    )
}
