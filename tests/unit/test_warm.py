"""Commands that a warm process runs are the same commands: bytes, exit codes, sentences, kills."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from gcexp import warm

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "gcexp.cli")
RUN = ("scheme=forget", "n=6", "s=2", "delay=pareto", "seeds=0-1")


def environment(**more):
    return {k: v for k, v in os.environ.items() if k != warm.VARIABLE} | {"PYTHONPATH": str(ROOT)} | more


def gcexp(folder, *arguments, **more):
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
    )


def wait(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"after {seconds} s still no {what}"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server in a process that this one owns, and the variable that names its socket."""
    folder = tmp_path_factory.mktemp("warm")
    path = folder / "s" / "socket"
    path.parent.mkdir()
    command = [sys.executable, "-m", "gcexp.warm", str(path), str(os.getpid())]
    process = subprocess.Popen(command, env=environment(), cwd=folder)
    wait(path.exists, "server")
    yield process, {warm.VARIABLE: str(path)}
    process.kill()
    process.wait()


def prepared(folder):
    for part in ("conf", "Snakefile"):
        (folder / part).symlink_to(ROOT / part)
    assert gcexp(folder, "data", "digits", "-o", "data/prepared/digits.npz").returncode == 0
    return folder


def test_the_same_bytes_as_in_a_process_of_its_own(server, tmp_path):
    _, variable = server
    made = {}
    for name, more in (("cold", {}), ("warm", variable)):
        folder = tmp_path / name
        folder.mkdir()
        prepared(folder)
        stages = (
            ("timeline", *RUN, "iterations=40", "-o", "clock.npz"),
            (
                "train",
                *RUN,
                "iterations=40",
                "--timeline",
                "clock.npz",
                "-o",
                "t.npz",
                "--verified",
                "v.json",
            ),
            ("table", "partial_recovery_table1", "-o", "table.csv"),
            ("plot", "partial_recovery_table1", "-i", "table.csv", "-o", "table.pdf", "table.png"),
        )
        for stage in stages:
            done = gcexp(folder, *stage, **more)
            assert (done.returncode, done.stderr) == (0, ""), stage
        made[name] = {p.name: p for p in folder.iterdir() if p.is_file() and "provenance" not in p.name}
        assert '"command": "gcexp timeline scheme=forget' in (folder / "clock.provenance.json").read_text()
    assert set(made["cold"]) == set(made["warm"]) >= {"t.npz", "v.json", "table.csv", "table.png"}
    for name, path in made["cold"].items():
        if path.suffix == ".npz":
            with np.load(path) as one, np.load(made["warm"][name]) as other:
                assert all(one[key].tobytes() == other[key].tobytes() for key in one.files), name
        else:
            assert path.read_bytes() == made["warm"][name].read_bytes(), name


def test_commands_run_in_forks_of_the_server(server, tmp_path):
    process, variable = server
    found = []
    with subprocess.Popen(
        [*COMMAND, "list", "codes"], cwd=ROOT, env=environment(**variable), stdout=-1
    ) as client:
        while client.poll() is None:
            found += psutil.Process(process.pid).children()
        assert "cyclic_repetition" in client.stdout.read().decode()
    assert found and client.returncode == 0


@pytest.mark.parametrize("arguments", [("show", "scheme=cyclc"), ("timelin",), ("--version",)])
def test_exit_codes_and_sentences(server, tmp_path, arguments):
    cold, hot = gcexp(ROOT, *arguments), gcexp(ROOT, *arguments, **server[1])
    assert (hot.returncode, hot.stdout, hot.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert hot.returncode == (0 if arguments == ("--version",) else 2)


def test_a_killed_command_dies(server, tmp_path):
    process, variable = server
    prepared(tmp_path)
    endless = ("train", "task=digits_mlp", "iterations=1000000", "seeds=0", "-o", "t.npz")
    client = subprocess.Popen([*COMMAND, *endless], cwd=tmp_path, env=environment(**variable))
    children = psutil.Process(process.pid).children
    wait((tmp_path / "results/checkpoints/t.npz.lock").exists, "training")
    assert children()
    client.send_signal(signal.SIGKILL)
    client.wait()
    wait(lambda: not children(), "end of the training", 10)
    assert not (tmp_path / "t.npz").exists()


def test_a_command_that_dies_is_told(server, tmp_path):
    process, variable = server
    prepared(tmp_path)
    endless = ("train", "task=digits_mlp", "iterations=1000000", "seeds=0", "-o", "t.npz")
    with subprocess.Popen(
        [*COMMAND, *endless], cwd=tmp_path, env=environment(**variable), stderr=-1, text=True
    ) as client:
        wait((tmp_path / "results/checkpoints/t.npz.lock").exists, "training")
        psutil.Process(process.pid).children()[0].kill()
        assert client.wait(10) == 1
        assert client.stderr.read().endswith("seeds=0 -o t.npz' died\n")


def test_a_server_ends_with_its_parent(tmp_path):
    code = "import os; from gcexp import warm; warm.start(99); print(os.environ[warm.VARIABLE]); input()"
    python = subprocess.Popen([sys.executable, "-c", code], env=environment(), stdin=-1, stdout=-1, text=True)
    path = Path(python.stdout.readline().strip())
    wait(path.exists, "server")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    python.kill()
    python.communicate()
    wait(lambda: not path.parent.exists(), "end of the server", 10)


def test_without_a_server_commands_run_as_always(tmp_path):
    assert gcexp(ROOT, "list", "codes", **{warm.VARIABLE: str(tmp_path / "gone")}).returncode == 0


@pytest.mark.parametrize(("jobs", "given"), [(warm.FEWEST_JOBS - 1, None), (99, ""), (99, "/tmp/another")])
def test_no_server_for_few_jobs_or_where_the_user_says_so(monkeypatch, jobs, given):
    monkeypatch.delenv(warm.VARIABLE, raising=False)
    if given is not None:
        monkeypatch.setenv(warm.VARIABLE, given)
    monkeypatch.setattr(warm.subprocess, "Popen", lambda *command, **more: pytest.fail("started a server"))
    warm.start(jobs)
    assert os.environ.get(warm.VARIABLE) == given


def test_a_socket_with_too_long_a_path_is_not_tried(monkeypatch, tmp_path):
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.delenv(warm.VARIABLE, raising=False)
    monkeypatch.setattr(warm.tempfile, "tempdir", str(long))
    monkeypatch.setattr(warm.subprocess, "Popen", lambda *command, **more: pytest.fail("started a server"))
    warm.start(99)
    assert not list(long.iterdir()) and warm.VARIABLE not in os.environ
