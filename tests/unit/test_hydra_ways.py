"""What a user of Hydra expects: `--cfg job`, `--config-dir`, `pkg://gcexp.conf`, and completion in a shell."""

import contextlib
import functools
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gcexp.command import completion, main
from gcexp.run.compose import compose
from gcexp.run.options import option_names

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def elsewhere(here):
    """All of these tests work in an empty folder."""


def test_cfg_job_prints_the_run_and_runs_nothing(capsys):
    given = ["scheme=cyclic_partial", "code.beta=4", "n=6", "delay.shape=3e-1"]
    assert main.main(["run", *given, "--cfg", "job"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == compose(given)
    assert not Path("results").exists()


@pytest.mark.parametrize("given", [["scheme=cgcc"], ["scheme=cgc,frc"], ["nn=3"]])
def test_cfg_job_refuses_what_the_run_refuses(refused_command, given):
    refused_command(given[0].partition("=")[0], "run", *given, "--cfg", "job")


def test_a_sweep_with_a_space_names_the_word_that_is_no_override(refused_command):
    refused_command("'scheme=cgc,'", "run", "-m", "scheme=cgc,", "frc")


def test_a_key_that_is_given_as_an_option_and_an_option_as_a_key(refused_command):
    refused_command(("phi=VALUE", "gcexp advise --help"), "advise", "pai-job1", "--phi", "0.5")
    for words in (["phi=0,0.5"], ["cgc", "phi=0,0.5"]):
        refused_command("--phi 0 0.5", "benchmark", "pai-job1", *words)


@pytest.mark.parametrize("verb", [["run", "--cfg", "job"], ["show"], ["simulate"], ["error"]])
def test_config_dir_adds_options(verb, refused_command):
    Path("mine/code").mkdir(parents=True)
    Path("mine/code/twice.yaml").write_text("defaults: [fractional_repetition]\nd: 2\n")
    assert "twice" not in option_names("code")
    assert main.main([*verb, "code=twice", "n=6", "--config-dir", "mine"]) == 0
    refused_command("nowhere", *verb, "code=twice", "--config-dir", "nowhere")


def test_a_searchpath_that_names_our_options(forget):
    Path("conf").mkdir()
    run = (ROOT / "conf/run.yaml").read_text() + "\nhydra: {searchpath: ['pkg://gcexp.conf']}\n"
    Path("conf/run.yaml").write_text(run)
    forget()
    assert {"cgc", "frc"} <= set(option_names("scheme"))
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


LAST_WORDS = {
    "bash": '{script}COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; _gcexp; printf "%s\\n" "${{COMPREPLY[@]}}"',
    "fish": "{script}complete -C {line!r}",
}
WITHOUT = {"bash": "--norc", "fish": "--no-config"}


def offered(shell, line):
    """What bash or fish offers for the last word of a line."""
    script = LAST_WORDS[shell].format(script=completion.script(shell), line=line)
    return subprocess.check_output([shell, WITHOUT[shell], "-c", script], text=True).split()


def in_zsh(line):
    """The last word of a line in zsh after Tab, typed in a terminal; Ctrl-G writes the line down."""
    Path("script").write_text(
        f"autoload -Uz compinit; compinit -u -D\n{completion.script('zsh')}"
        "told() { print -r -- $BUFFER > line; exit }; zle -N told; bindkey '^G' told; bindkey '^I' complete-word"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("zsh", ["zsh", "-f", "-i"])
    os.write(terminal, b"source script; print RE''ADY\n")
    said = b""
    while b"READY" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, f"{line}\t\x07".encode())
    with contextlib.suppress(OSError):  # the terminal ends with the shell
        while os.read(terminal, 1000):
            pass
    os.waitpid(child, 0)
    return Path("line").read_text().split()[-1:]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_completes(shell, monkeypatch):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    completed = in_zsh if shell == "zsh" else functools.partial(offered, shell)
    assert completed("gcexp simul") == ["simulate"]
    begun = "" if shell == "bash" else "scheme="  # bash begins a new word there
    assert completed("gcexp run scheme=cgc_r") == [f"{begun}cgc_restart"]
    assert completed("gcexp run -m code=graph code.n") == ["code.n="]
    Path("x.csv").touch()  # files where gcexp offers nothing, which bash does by itself
    assert completed("gcexp trace check x") == ([] if shell == "bash" else ["x.csv"])
