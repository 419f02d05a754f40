"""Options without files, other names, and options that are seen as they are now."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from gcexp.command.list import phrases
from gcexp.command.main import main
from gcexp.errors import UserError
from gcexp.report.entries import run_of_keys
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.options import aliases, option_file, option_names, paper_folders, search_dirs
from gcexp.run.tokens import token
from tests.conftest import unload, write_files

GLOBAL = "# @package _global_\n"
CODE = "_target_: gcexp.codes.uncoded.Uncoded\nn: ${n}\n"
TIMES = "iteration,worker,time\n0,0,1.0\n0,1,2.0\n1,0,1.5\n1,1,1.0\n"


@pytest.fixture(autouse=True)
def mine(here):
    """A project of a person's own."""
    write_files(here, {"config/config.yaml": "", "conf/code/plain.yaml": f"# Mine.\n{CODE}"})
    return here


def test_a_code_is_a_scheme():
    """With the rule and the promise of its file, which are none of its class's keys."""
    plain = compose(["scheme=plain"])
    assert plain == compose(["code=plain"]) and "plain" in option_names("scheme")
    Path("conf/code/plain.yaml").write_text(f"{CODE}wait: decodable\nexact: true\nbenchmark: true\n")
    config = compose(["scheme=plain"])
    assert config["exact"] and config["benchmark"] and config["wait"] == compose(["wait=decodable"])["wait"]
    assert config["code"] == plain["code"] and config["code"].keys() == {"_target_", "n"}
    assert compose(["code=plain"]) == plain  # as a code it says nothing of the run
    assert compose(["scheme=plain", "wait=fastest"])["wait"] == plain["wait"]
    assert build(config, "code").n == 10


def test_a_clock_only_is_no_bound(capsys):
    """Lists and legends tell a scheme whose decoder is missing from a bound, and neither has gradients."""
    Path("conf/code/plain.yaml").write_text(f"{CODE}exact: true\ndecodes: false\n")
    assert main(["list", "schemes"]) == 0
    marked = [line for line in capsys.readouterr().out.splitlines() if line.endswith("]")]
    marks = {line.split()[0]: line.rpartition(" [")[2] for line in marked}
    assert marks == {"plain": "clock only]", "lb": "bound]", "capacity": "bound]", "work_floor": "bound]"}
    for keys, label, decodes in (
        ({"scheme": "plain"}, "A, clock only", False),
        ({"scheme": "uncoded", "decodes": False}, "A, clock only", False),
        ({"scheme": "uncoded", "wait": "capacity", "bound": True, "exact": False}, "A", False),
        ({"scheme": "cgc"}, "A", True),
    ):
        run = run_of_keys({"label": "A", "delay": "pareto", "iterations": 3, "seeds": 1, **keys})
        assert (run.label, run.decodes) == (label, decodes)
        assert run.clock().coefficients.any() == decodes == np.isfinite(run.summary().error[0])


def test_a_scheme_with_a_file_comes_first():
    write_files(Path(), {"conf/scheme/plain.yaml": f"{GLOBAL}defaults: [override /code: cyclic_mds]\nn: 7\n"})
    assert compose(["scheme=plain"]) == compose(["code=cyclic_mds", "n=7"])
    assert option_file("scheme", "plain") == Path("conf/scheme/plain.yaml").resolve()


def test_a_scheme_builds_on_one_without_a_file():
    write_files(Path(), {"conf/scheme/more.yaml": f"{GLOBAL}defaults: [cgc]\nn: 7\n"})
    assert compose(["scheme=more"]) == compose(["scheme=cgc", "n=7"])


def test_papers_names_are_other_names(capsys):
    for name, code in aliases("scheme").items():
        assert compose([f"scheme={name}"]) == compose([f"scheme={code}"])
        assert {name, code} & {*option_names("scheme")} == {name}, "one thing, one name"
    for name, trace in aliases("delay").items():
        assert compose([f"delay={name}"]) == compose([f"delay={trace}"])
    assert token("scheme", "frc", {}) == "frc"  # a path holds what was typed
    assert main(["list", "schemes"]) == 0
    told = capsys.readouterr().out
    assert "cgc (cyclic_repetition) " in told and "\nplain " in told
    write_files(Path(), {"conf/aliases.yaml": "scheme: {bare: plain, cgc: plain}\n"})
    assert compose(["scheme=bare"]) == compose(["scheme=plain"])
    assert "bare" in option_names("scheme") and "plain" not in option_names("scheme")
    assert compose(["scheme=cgc"])["exact"]  # ours comes first, as ever


def test_a_trace_is_a_delay_model():
    assert compose(["delay=pai_job1"])["delay"]["file"] == "data/traces/pai-job1.csv"
    additive = {
        name
        for name in option_names("delay")
        if compose([f"delay={name}"])["delay"].get("pricing") == "additive"
    }
    assert {"faas_aws_256mb", "faas_ibm_256mb_warm"} <= additive and "faas_gcp_256mb" not in additive
    write_files(Path(), {"data/traces/My-times.csv": TIMES})
    delay = compose(["delay=my_times", "delay.skip=1"])["delay"]
    assert delay == compose(["delay=trace", "delay.file=data/traces/My-times.csv", "delay.skip=1"])["delay"]
    assert "My-times.csv" in phrases("delay")["my_times"]
    assert main(["simulate", "delay=my_times", "scheme=uncoded", "n=2", "iterations=2", "seeds=1"]) == 0


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("exact: 1\n", ("plain.yaml", "exact")),
        ("wait: [fastest]\n", ("plain.yaml", "wait")),
        ("wait: fastet\n", ("plain.yaml", "'fastet'", "'fastest'")),
    ],
)
def test_mistakes_in_what_a_code_says_of_its_scheme(refused, text, names):
    Path("conf/code/plain.yaml").write_text(f"{CODE}{text}")
    refused(names, compose, ["scheme=plain"])


@pytest.mark.parametrize(("group", "key"), [("code", "exact"), ("code", "wait"), ("delay", "inputs")])
def test_a_class_has_no_parameter_that_would_never_reach_it(refused, group, key, mine, monkeypatch):
    base = {"code": "gcexp.codes.Uncoded", "delay": "gcexp.delays.Pareto"}[group]
    module, _, name = base.rpartition(".")
    text = f"from {module} import {name}\n\nclass Odd({name}):\n    def __init__(self, {key}=None): ...\n"
    write_files(Path(), {"odd_module.py": text, f"conf/{group}/odd.yaml": "_target_: odd_module.Odd\n"})
    unload("odd_module")
    monkeypatch.syspath_prepend(mine)
    refused(("odd_module.Odd", key), build, compose([f"{group}=odd"]), group)


def test_an_edit_within_a_moment_is_seen(mine, monkeypatch):
    """Of equal length, where the clock of the file system is coarse."""
    monkeypatch.setattr("gcexp.run.options._RECENT_NS", 10**12)
    now = time.time_ns()
    for shape in (1, 2):
        write_files(mine, {"conf/delay/slow.yaml": f"defaults: [pareto]\nshape: {shape}\n"})
        os.utime("conf/delay/slow.yaml", ns=(now, now))
        assert compose(["delay=slow"])["delay"]["shape"] == shape


def test_options_are_seen_as_they_are_now(mine):
    """Without a word: an edit, a new file, a new paper, another folder."""
    for shape in range(1, 9):
        write_files(mine, {"conf/delay/slow.yaml": f"defaults: [pareto]\nshape: {shape}\n"})
        assert compose(["delay=slow"])["delay"]["shape"] == shape
        write_files(mine, {f"conf/delay/slow{shape}.yaml": "defaults: [slow]\n"})
        assert compose([f"delay=slow{shape}"])["delay"]["shape"] == shape
    kept = Path("conf/delay/slow.yaml")
    os.utime(kept, (1, 1))  # as if it had been there for long
    assert compose(["delay=slow"])["delay"]["shape"] == 8
    kept.write_text("defaults: [pareto]\nshape: 9\n")
    assert compose(["delay=slow"])["delay"]["shape"] == 9
    kept.unlink()
    with pytest.raises(UserError):
        compose(["delay=slow"])
    (mine / "paper").mkdir()
    assert "paper" not in paper_folders()
    write_files(mine, {"paper/paper.yaml": "title: Mine\n", "paper/conf/code/theirs.yaml": CODE})
    assert "paper" in paper_folders() and search_dirs()[-1] == mine / "paper/conf"
    assert compose(["scheme=theirs"])["code"]["n"] == 10
    write_files(mine, {"other/code/elsewhere.yaml": CODE})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GCEXP_SEARCHPATH", "other")
        assert compose(["scheme=elsewhere"])["code"]["n"] == 10


def test_backups_that_the_waiting_rule_does_not_leave_out_are_refused(refused_command):
    told = ("loads.b=1", "s=2")
    refused_command(told, "simulate", "scheme=backup", "n=10", "s=2", "loads.b=1", "iterations=3", "seeds=1")
