"""Generated logs follow from their seed, hold what their truth says, and are judged by what the reader says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import log_rows
from benchmarks.log_clusters import TIME_COLUMNS
from benchmarks.log_kinds import KINDS
from benchmarks.log_rows import VARIANTS, judged, main, write

INDICES = range(4)


def truth_of(place: Path) -> dict:
    return json.loads((place / "truth.json").read_text())


def table_of(place: Path) -> pd.DataFrame:
    """All rows of a log in one table with the columns step, worker and time (in seconds), read without gcexp."""
    parts = []
    for path in sorted((place / "log").iterdir()):
        if path.suffix == ".jsonl":
            part = pd.read_json(path, lines=True)
        else:
            part = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else None, engine="python")
        parts.append(part.assign(file=path.stem))
    table = pd.concat(parts, ignore_index=True)
    for name in [*table.columns]:
        if name in ("step", "iteration", "round", "iter"):
            table["step"] = table[name]
        if name in ("worker", "rank", "client", "host", "worker_id"):
            table["worker"] = table[name]
        if name in TIME_COLUMNS:
            table["time"] = table[name] / TIME_COLUMNS[name]
    if "worker" not in table:
        table["worker"] = table["file"]
    return table


def longest(table: pd.DataFrame) -> float:
    return float(table.groupby("step")["time"].max().mean())


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_bytes(tmp_path, kind):
    for variant in VARIANTS:
        one = content(write(tmp_path / "one", kind, variant, 0, seed=1))
        assert one == content(write(tmp_path / "again", kind, variant, 0, seed=1))
        assert one != content(write(tmp_path / "other", kind, variant, 0, seed=2))
        assert "truth.json" in one
        assert not any("truth" in name for name in one if name.startswith("log"))


@pytest.mark.parametrize("kind", KINDS)
def test_right_logs_need_no_more_than_a_value(tmp_path, kind):
    truth = truth_of(write(tmp_path, kind, "right", 0, seed=1))
    assert truth["acceptable"] == ["value"]
    assert truth["runs"] == 1
    assert np.shape(truth["times"]) == (truth["iterations"][0], truth["workers"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_whoever_reads_the_true_times_has_the_right_value(tmp_path, kind, variant):
    truth = truth_of(write(tmp_path, kind, variant, 1, seed=1))
    if "value" not in truth["acceptable"]:
        return
    advice = log_rows.gcexp.advise(log_rows._true_times(truth))
    assert log_rows._difference(advice, advice, truth) == ""


@pytest.mark.parametrize("index", INDICES)
def test_gapless_rows_begin_where_the_last_ended(tmp_path, index):
    place = write(tmp_path, "gapless", "wrong", index, seed=1)
    table = table_of(place)
    start, end = (name for name in table.columns if name.startswith(("start", "end")))
    for _, own in table.groupby("worker"):
        assert own[start].to_numpy()[1:] == pytest.approx(own[end].to_numpy()[:-1], abs=3e-5, rel=0)
    rounds = np.diff(table.groupby("step")[end].max())
    assert rounds.mean() == pytest.approx(truth_of(place)["waiting"][0], rel=0.03)  # but for the first round


@pytest.mark.parametrize("index", INDICES)
def test_the_right_log_of_stamps_has_pauses(tmp_path, index):
    place = write(tmp_path, "gapless", "right", index, seed=1)
    table = table_of(place)
    start, end = (name for name in table.columns if name.startswith(("start", "end")))
    table["time"] = table[end] - table[start]
    assert longest(table) == pytest.approx(truth_of(place)["waiting"][0], rel=1e-4)
    assert (
        table.groupby("step")[start].min().to_numpy()[1:] > table.groupby("step")[end].max().to_numpy()[:-1]
    ).all()


@pytest.mark.parametrize("index", INDICES)
def test_differences_of_cumulative_times_are_the_truth(tmp_path, index):
    place = write(tmp_path, "cumulative", "wrong", index, seed=1)
    table = table_of(place)
    before = table.groupby("worker")["time"].shift(fill_value=0.0)
    table["time"] = np.where(
        before > table["time"], table["time"], table["time"] - before
    )  # also after a reset
    assert longest(table) == pytest.approx(truth_of(place)["waiting"][0], rel=1e-4)


@pytest.mark.parametrize("index", INDICES)
def test_as_many_clients_in_each_step_but_others(tmp_path, index):
    place = write(tmp_path, "sampled", "wrong", index, seed=1)
    table = table_of(place)
    there = table.groupby("step")["worker"].agg(frozenset)
    assert there.map(len).nunique() == 1
    assert there.nunique() > 1
    assert table["worker"].nunique() == truth_of(place)["workers"]
    assert longest(table) == pytest.approx(truth_of(place)["waiting"][0], rel=1e-4)


def test_a_right_log_is_a_value_and_a_false_truth_is_silent(tmp_path):
    place = write(tmp_path, "uncounted", "right", 0, seed=1)
    assert judged(place).result == "value"
    truth = truth_of(place)
    (place / "truth.json").write_text(json.dumps(truth | {"waiting": [2 * truth["waiting"][0]]}))
    assert judged(place).result == "silent"


def test_what_a_doubt_a_question_and_a_refusal_count_as(monkeypatch, tmp_path):
    place = write(tmp_path, "gapless", "wrong", 0, seed=1)

    def says(sentence):
        def advise(source):
            raise log_rows.UserError(sentence)

        monkeypatch.setattr(log_rows.gcexp, "advise", advise)
        return judged(place).result

    assert says("rows hold the waiting; say columns=time:NAME") == "ask"
    assert says("rows hold the waiting") == "refuse"
    assert says("no such file") == "unrelated"
    monkeypatch.setattr(
        log_rows.gcexp, "advise", lambda source: "log: 40 iterations of 5 workers.\nDo nothing."
    )
    assert judged(place).result == "silent"
    monkeypatch.setattr(
        log_rows.gcexp, "advise", lambda source: "Doubtful: rows may hold the waiting.\nDo nothing."
    )
    assert judged(place).result == "doubt"
    place = write(tmp_path, "step_falls", "wrong", 0, seed=1)
    assert says("this run went back: keep the last row of each") == "misled"
    place = write(tmp_path, "step_falls", "right", 0, seed=1)
    assert says("two runs: say run=2") == "needless"


def test_the_command_writes_and_judges(tmp_path, capsys):
    options = [str(tmp_path), "--kind", "attempts"]
    assert main(["write", *options, "--count", "2"]) == 0
    assert main(["judge", *options, "--show", "1"]) in (0, 1)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[:3] == ["kind", "variant", "logs"]
    assert [line.split()[:3] for line in printed[1:3]] == [
        ["attempts", "wrong", "2"],
        ["attempts", "right", "2"],
    ]
