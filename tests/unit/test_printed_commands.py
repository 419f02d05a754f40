"""Every command that advise, trace check and trace import print is tried: it ends with exit code 0."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gcexp.command.main import main

ROOT = Path(__file__).resolve().parents[2]
TRACES = sorted(path.stem for path in (ROOT / "data" / "traces").glob("*.csv"))
ROWS, WORKERS = 48, 4


def times(seed=0, rows=ROWS, n=WORKERS, slow=1.6):
    x = np.exp(0.1 * np.random.default_rng(seed).standard_normal((rows, n)))
    x[:, 1] *= slow
    return x.round(5)


def long(x, **names):
    """Rows of times, NaN left out, with other names of columns where they are given."""
    row, worker = np.nonzero(~np.isnan(x))
    table = pd.DataFrame({"iteration": row, "worker": worker, "time": x[row, worker]})
    return table.rename(columns=names)


def with_gaps(share=0.1, seed=1):
    x = times()
    return np.where(np.random.default_rng(seed).random(x.shape) < share, np.nan, x)


def timed_out():
    x = times()
    return np.where(x > np.quantile(x, 0.9), np.nan, x)


def sampled():
    x = times(n=8)
    x[np.random.default_rng(1).random(x.shape).argsort(axis=1) >= 4] = np.nan
    return x


def gone():
    x = times()
    x[30:, 2] = np.nan
    return x


def csv(table, name="log.csv"):
    table.to_csv(name, index=False)
    return [name]


def files_of_ranks():
    Path("ranks").mkdir()
    for worker, column in enumerate(times().T):
        pd.DataFrame({"step": range(ROWS), "time_s": column}).to_csv(f"ranks/rank{worker}.csv", index=False)
    return ["ranks"]


def several_files():
    files_of_ranks()
    return [f"ranks/rank{worker}.csv" for worker in range(WORKERS)]


def lines_of_json():
    long(times()).to_json("log.jsonl", orient="records", lines=True)
    return ["log.jsonl"]


def numpy_array():
    np.save("times.npy", times())
    return ["times.npy"]


def with_loads():
    x = times(rows=80)
    table = long(x)
    table["load"] = np.where(table["iteration"] % 4 == 0, 0.5, 1.0)
    table["time"] *= 0.3 + 0.7 * table["load"]
    return table


#: What is typed behind a command: files that are made, and what is said of them.
LOGS = {
    "clean": lambda: csv(long(times())),
    "name with a space": lambda: csv(long(times()), "node 6's.csv"),
    "other names": lambda: csv(long(times(), iteration="step", worker="rank", time="step_time_ms")),
    "columns": lambda: [
        *csv(long(times(), iteration="a", worker="b", time="c")),
        "columns=iteration:a,worker:b,time:c",
    ],
    "hosts": lambda: csv(long(times()).assign(worker=lambda table: "node" + table["worker"].astype(str))),
    "wide": lambda: csv(pd.DataFrame(times(), columns=[f"rank{worker}" for worker in range(WORKERS)])),
    "tabs": lambda: long(times()).to_csv("log.tsv", index=False, sep="\t") or ["log.tsv"],
    "unit": lambda: [*csv(long(times())), "unit=ms"],
    "gaps": lambda: csv(long(with_gaps())),
    "gaps, late": lambda: [*csv(long(with_gaps())), "absent=late", "timeout=9"],
    "gaps, left out": lambda: [*csv(long(with_gaps())), "absent=skip"],
    "timed out": lambda: csv(long(timed_out())),
    "sampled": lambda: [*csv(long(sampled())), "absent=sampled"],
    "fastest kept": lambda: [*csv(long(sampled())), "absent=late"],
    "gone": lambda: csv(long(gone())),
    "loads": lambda: csv(with_loads()),
    "compute": lambda: csv(long(times()).assign(compute=lambda table: 0.7 * table["time"])),
    "files of ranks": files_of_ranks,
    "several files": several_files,
    "lines of JSON": lines_of_json,
    "array": numpy_array,
    "nothing to do": lambda: csv(long(times(slow=1.0))),
    "after the barrier": lambda: csv(long(times().max(1, keepdims=True) * np.exp(times(2) / 1e3))),
    "one worker": lambda: csv(long(times(n=2)[:, :1])),
    "three iterations": lambda: csv(long(times(rows=3))),
}


def commands_in(text):
    """The commands at the ends of lines, as words."""
    found = []
    for line in text.splitlines():
        shown = re.search(r": (gcexp [a-z].*)$", line)
        if shown:
            found += [shlex.split(command) for command in shown[1].split(" or ")]
    return found


def cheaper(command):
    """A benchmark of one scheme at one phi in place of all, and the clock of a run: what is read is the same."""
    if command[1] == "benchmark":
        return [*command, "wait for all", "--phi", "0"]
    if command[1] == "run":
        return ["gcexp", "simulate", *command[2:], "iterations=20", "seeds=1"]
    return command


@pytest.fixture
def tried(here, capsys):
    """Run a command, and all that it prints, once each."""

    def run(*command, code=0):
        seen = []
        waiting = [[*command]]
        while waiting:
            words = waiting.pop(0)
            if words in seen:
                continue
            capsys.readouterr()
            found = main(cheaper(["gcexp", *words])[1:])
            out, said = capsys.readouterr()
            assert found == (0 if seen else code), (words, said)
            seen.append(words)
            waiting += [one[1:] for one in commands_in(out)]
        return seen

    return run


@pytest.mark.parametrize("log", LOGS)
def test_commands_that_are_printed_of_a_log_answer(log, tried):
    refused = log in ("after the barrier", "one worker", "three iterations")
    words = LOGS[log]()
    keys = [word for word in words if "=" in word]
    tried("advise", *words, "phi=0.5", code=2 if refused else 0)
    tried("fit", *words, code=2 if log == "after the barrier" else 0)
    tried("trace", "check", *words)
    imported = tried("trace", "import", *words, "-o", "imported.csv")
    assert refused == (len(imported) == 1), (imported, keys)


@pytest.mark.parametrize("name", TRACES)
def test_commands_that_are_printed_of_a_bundled_trace_answer(name, tried):
    persistent = not name.startswith("faas")
    assert (len(tried("trace", "check", name)) > 1) == persistent
    tried("fit", name, code=0 if persistent else 2)


def test_an_advised_scheme_runs_as_it_is_printed(own_conf, tried):
    csv(long(times(), iteration="step", worker="rank", time="step_time_ms"))
    seen = tried("advise", "log.csv", "phi=0.5", "--write", "conf/scheme/advised.yaml")
    assert [words[0] for words in seen].count("run") == 1 and ["trace", "import"] in [
        words[:2] for words in seen
    ]
