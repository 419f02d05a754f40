"""What a user of Hydra expects: `--cfg job`, `--config-dir`, `pkg://gcexp.conf`, and completion in a shell."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from gcexp.command import completion, main
from gcexp.run.compose import compose
from gcexp.run.options import options

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_searchpath(monkeypatch, tmp_path, forget):
    monkeypatch.setenv("GCEXP_SEARCHPATH", "")
    monkeypatch.chdir(tmp_path)


def test_cfg_job_prints_the_run_and_runs_nothing(capsys):
    given = ["scheme=cyclic_partial", "code.beta=4", "n=6", "delay.shape=3e-1"]
    assert main.main(["run", *given, "--cfg", "job"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == compose(given)
    assert not Path("results").exists()


@pytest.mark.parametrize("given", [["scheme=cgcc"], ["scheme=cgc,frc"], ["nn=3"]])
def test_cfg_job_refuses_what_the_run_refuses(given, capsys):
    assert main.main(["run", *given, "--cfg", "job"]) == 2
    output = capsys.readouterr()
    assert output.out == "" and given[0].partition("=")[0] in output.err


@pytest.mark.parametrize("verb", [["run", "--cfg", "job"], ["show"], ["simulate"], ["error"]])
def test_config_dir_adds_options(verb, capsys):
    Path("mine/delay").mkdir(parents=True)
    Path("mine/delay/slow.yaml").write_text("defaults: [pareto]\nscale: 7.0\n")
    assert "slow" not in options("delay")
    assert main.main([*verb, "code=uncoded", "delay=slow", "n=6", "--config-dir", "mine"]) == 0
    assert main.main([*verb, "delay=slow", "--config-dir", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_searchpath_that_names_our_options(monkeypatch, forget):
    Path("conf").mkdir()
    Path("conf/run.yaml").write_text(
        (ROOT / "conf/run.yaml").read_text() + "\nhydra: {searchpath: ['pkg://gcexp.conf']}\n"
    )
    forget()
    assert {"cgc", "frc"} <= set(options("scheme"))
    assert compose(["scheme=cgc", "n=5", "s=1"])["code"]["n"] == 5


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["li"], ["list"]),
        (["list", "da"], ["datasets"]),
        (["job", "tra"], ["track", "train"]),
        (["run", "--cf"], ["--cfg"]),
        (["run", "sche"], ["scheme="]),
        (["run", "scheme=gc_sc"], ["scheme=gc_sc"]),
        (["run", "-m", "scheme=cgc,gc_sc"], ["scheme=cgc,gc_sc"]),
        (["run", "code=cyclic_partial_recovery", "code.be"], ["code.beta="]),
        (["run", "scheme=nobody", "optimi"], ["optimizer="]),
        (["run", "task=torch", "task.dataset=cif"], ["task.dataset=cifar10"]),
        (["data", "fetch", "amaz"], ["amazon_access"]),
        (["nothing", "x"], []),
        (["trace", "check", "x"], []),
    ],
)
def test_words(typed, expected):
    assert completion.words(typed) == expected


def completed(line):
    """What bash offers for the last word of a line."""
    script = completion.SCRIPTS["bash"] + (
        f"COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; _gcexp; "
        'for word in "${COMPREPLY[@]}"; do echo "$word"; done'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=os.environ | {"PATH": f"{Path(main.sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes():
    assert completed("gcexp simul") == ["simulate"]
    assert completed("gcexp run scheme=cgc_r") == ["cgc_restart"]  # bash has "scheme=" already
    assert completed("gcexp data ") == ["fetch"]
    assert completed("gcexp trace check x") == []


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    done = subprocess.run(
        [shell, "-n"], input=completion.SCRIPTS[shell], text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
