"""Commands that a warm process runs are the same commands: bytes, exit codes, sentences, kills."""

import marshal
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pandas as pd
import psutil
import pytest
from snakemake.benchmark import BenchmarkRecord

from gcexp.command import forkserver
from tests.conftest import LONG, ONE_THREAD, assert_same_arrays, wait

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "gcexp.command.entry")
ENDLESS = ("job", "train", "task=digits_mlp", "iterations=1000000", "seeds=1", "-o", "t.npz")
RUN = ("scheme=forget", "n=6", "s=2", "delay=pareto", "seeds=0-1")


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if k not in (forkserver.VARIABLE, "PYTHONUNBUFFERED")}
    return kept | ONE_THREAD | {"PYTHONPATH": str(ROOT)} | more


def gcexp(folder, *arguments, **more):
    """A command that has ended."""
    keys = {"cwd": folder, "env": environment(**more), "capture_output": True, "text": True}
    return subprocess.run([*COMMAND, *arguments], timeout=LONG, **keys)


def begun(folder, *arguments, command=COMMAND, **more):
    """A command that works."""
    keys = {"cwd": folder, "env": environment(**more), "stderr": -1, "text": True}
    return subprocess.Popen([*command, *arguments], **keys)


def listens(name):
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(b"\0" + name.encode()) == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that `start` brought up for a process, and the variable that names it; it ends with that process."""
    temporary = tmp_path_factory.mktemp("temporary")
    code = "import os; from gcexp.command import forkserver; forkserver.start(99); "
    code += "print(os.environ[forkserver.VARIABLE]); input()"
    variables = {k: v for k, v in environment(TMPDIR=str(temporary)).items() if k not in ONE_THREAD}
    keys = {"env": variables, "cwd": tmp_path_factory.mktemp("warm"), "text": True}
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, **keys)
    name = parent.stdout.readline().strip()
    (server,) = psutil.Process(parent.pid).children()
    wait(lambda: listens(name), "server")
    yield server, {forkserver.VARIABLE: name}
    parent.kill()
    parent.communicate()
    wait(lambda: not server.is_running(), "end of the server with its parent")
    assert not list(temporary.iterdir())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Make a folder one to train in."""
    data = tmp_path_factory.mktemp("prepared")
    assert gcexp(data, "job", "data", "digits", "-o", "data/prepared/digits.npz").returncode == 0

    def made(folder):
        for part in ("conf", "Snakefile"):
            (folder / part).symlink_to(ROOT / part)
        shutil.copytree(data / "data", folder / "data")
        return folder

    return made


@pytest.mark.paper("dynamic_clustering")
def test_the_same_bytes_as_in_a_process_of_its_own(server, prepared, tmp_path):
    made = {}
    for name, more in (("cold", {}), ("warm", server[1])):
        folder = tmp_path / name
        folder.mkdir()
        prepared(folder)
        for stage in (
            ("train", *RUN, "iterations=40", "-o", "made/t.npz", "--verified", "made/v.json"),
            ("table", "dynamic_clustering_fig1", "-o", "made/table.csv"),
        ):
            done = gcexp(folder, "job", *stage, **more)
            assert (done.returncode, done.stderr) == (0, ""), stage
        made[name] = {p.name: p for p in (folder / "made").iterdir() if "provenance" not in p.name}
        assert '"command": "gcexp job train scheme=forget' in (folder / "made/t.provenance.json").read_text()
    assert set(made["cold"]) == set(made["warm"]) >= {"t.npz", "v.json", "table.csv"}
    for name, path in made["cold"].items():
        if path.suffix == ".npz":
            assert_same_arrays(path, made["warm"][name])
        else:
            assert path.read_bytes() == made["warm"][name].read_bytes(), name
    costs = [pd.read_csv(tmp_path / f"warm/benchmarks-raw/{name}.tsv", sep="\t") for name in ("t", "table")]
    assert all(0 < cost["cpu_time"][0] < 60 and cost["s"][0] > 0 for cost in costs)
    assert {*costs[0]} == {*BenchmarkRecord.get_header()}


def scripted(folder, text):
    """Variables under which ``code=scripted`` runs a script, in the process that the command runs in."""
    option = folder / "options/code/scripted.yaml"
    option.parent.mkdir(parents=True)
    option.write_text(f"_target_: runpy.run_path\npath_name: {folder}/script.py\n")
    (folder / "script.py").write_text(text)
    return {"GCEXP_SEARCHPATH": str(folder / "options")}


def test_commands_run_in_forks_of_the_server(server, tmp_path):
    more = scripted(tmp_path, "import os, pathlib\npathlib.Path('parent').write_text(str(os.getppid()))\n")
    for variables, expected in ((server[1], server[0].pid), ({}, os.getpid())):
        gcexp(tmp_path, "show", "code=scripted", **variables, **more)
        assert int((tmp_path / "parent").read_text()) == expected


@pytest.mark.parametrize("arguments", [("show", "scheme=cyclc"), ("timelin",), ("--version",)])
def test_exit_codes_and_sentences(server, tmp_path, arguments):
    cold, hot = gcexp(ROOT, *arguments), gcexp(ROOT, *arguments, **server[1])
    assert (hot.returncode, hot.stdout, hot.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert hot.returncode == (0 if arguments == ("--version",) else 2)


@pytest.fixture
def training(server, prepared, tmp_path):
    """A client whose training has begun and will not end."""
    client = begun(prepared(tmp_path), *ENDLESS, **server[1])
    wait((tmp_path / "results/checkpoints/t.npz.lock").exists, "training")
    yield client
    client.kill()  # what fails in between shall not wait for it
    client.wait()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_ended_ends(server, training, tmp_path, how):
    process, variable = server
    assert (children := process.children)()
    training.send_signal(how)
    _, said = training.communicate(timeout=LONG)
    assert training.returncode == (130 if how == signal.SIGINT else -how)
    assert all(line.startswith("gcexp: ") for line in said.splitlines())
    wait(lambda: not children(), "end of the training")
    assert not [*tmp_path.rglob(".t.*"), *tmp_path.glob("t.npz")]
    assert listens(variable[forkserver.VARIABLE])


HALF = """
import time
from gcexp.files import written
with written('half.npz') as half:
    half.touch()
    time.sleep(3600)
"""


def test_an_interrupted_command_removes_what_it_has_half_written(server, tmp_path):
    client = begun(tmp_path, "show", "code=scripted", **server[1], **scripted(tmp_path, HALF))
    wait(lambda: list(tmp_path.glob(".half*")), "half-written file")
    client.send_signal(signal.SIGINT)
    client.communicate(timeout=LONG)
    wait(lambda: not list(tmp_path.glob(".half*")), "end of it")


def test_a_command_that_dies_is_told(server, training):
    for child in server[0].children():
        child.kill()
    _, said = training.communicate(timeout=LONG)
    assert training.returncode == 1 and said.splitlines()[-1].startswith("gcexp: ")
    assert "seeds=1 -o t.npz" in said


def test_a_command_whose_sender_has_ended_does_not_run(server, tmp_path):
    read, write = os.pipe()
    process, variable = server
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(b"\0" + variable[forkserver.VARIABLE].encode())
        process.suspend()
        socket.send_fds(connection, [b"\0"], [write] * 3)
        connection.sendall(marshal.dumps((["list", "tasks"], str(tmp_path), environment())))
    os.close(write)
    process.resume()
    with open(read, "rb") as said:
        assert said.read() == b""


@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-"])
def test_closed_streams(server, closed):
    shell = ["bash", "-c", f'exec "$@" {closed}', "bash", *COMMAND, "list", "tasks"]
    done = subprocess.run(shell, cwd=ROOT, env=environment(**server[1]), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert listens(server[1][forkserver.VARIABLE])


def test_lost_output_is_no_success(server):
    with open("/dev/full", "w") as full:
        command = [*COMMAND, "list", "tasks"]
        done = subprocess.run(command, cwd=ROOT, env=environment(**server[1]), stdout=full, stderr=-1)
    assert done.returncode != 0 and b"No space left" in done.stderr
    assert listens(server[1][forkserver.VARIABLE])


def test_a_server_has_one_thread_and_no_terminal(server):
    """Whatever the user has set; that it ends with its parent is seen when the last of these tests has ended."""
    assert server[0].environ().items() >= ONE_THREAD.items()
    places = [os.readlink(f"/proc/{server[0].pid}/fd/{file}") for file in (0, 1, 2)]
    assert places[0].startswith("pipe:") and places[1:] == ["/dev/null"] * 2


@pytest.fixture
def deaf(monkeypatch):
    """A socket that listens under the name that the variable gives; nobody waits on it for ever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(LONG)
    name = f"gcexp-test-{uuid4().hex}"
    monkeypatch.setenv(forkserver.VARIABLE, name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(b"\0" + name.encode())
        listening.listen()
        yield listening
    socket.setdefaulttimeout(before)


@pytest.mark.parametrize("last", ["accepts nothing", "takes nothing"])
def test_a_server_that_ends_before_it_takes_a_command(deaf, tmp_path, last):
    code = "from gcexp.command import forkserver; assert forkserver.forwarded(['list']) is None"
    variable = {forkserver.VARIABLE: os.environ[forkserver.VARIABLE]}
    client = begun(tmp_path, command=(sys.executable, "-c", code), **variable)
    if last == "takes nothing":
        deaf.accept()[0].close()
    else:
        assert select.select([deaf], [], [], LONG)[0]  # it has connected
        deaf.close()
    assert client.wait(LONG) == 0


def test_a_server_of_another_user_is_told_nothing(deaf, monkeypatch):
    monkeypatch.setattr(forkserver.os, "geteuid", lambda: -1)
    assert forkserver.forwarded(["list"]) is None
    assert deaf.accept()[0].recv(1) == b""


@pytest.mark.parametrize(
    ("jobs", "given"), [(forkserver.FEWEST_JOBS - 1, None), (99, ""), (99, "/tmp/another")]
)
def test_no_server_for_few_jobs_or_where_the_user_says_so(monkeypatch, jobs, given):
    monkeypatch.delenv(forkserver.VARIABLE, raising=False)
    if given is not None:
        monkeypatch.setenv(forkserver.VARIABLE, given)
    monkeypatch.setattr(subprocess, "Popen", lambda *command, **more: pytest.fail("started a server"))
    assert not forkserver.start(jobs) and os.environ.get(forkserver.VARIABLE) == given


BUILD = """
import atexit, psutil, resource, subprocess, sys
from gcexp.command import forkserver
atexit.register(lambda: print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - own))
assert forkserver.start(99)
(server,) = psutil.Process().children()
subprocess.run([*sys.argv[1:]])
own = sum(server.cpu_times()[:2])
"""


def test_a_build_has_waited_for_the_cpu_seconds_of_its_jobs(tmp_path):
    """What the shell's `time` says of Snakemake is what its jobs took, not only what the server itself did."""
    more = scripted(tmp_path, "import time\nwhile time.process_time() < 2:\n    pass\n")
    command = [sys.executable, "-c", BUILD, *COMMAND, "show", "code=scripted"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(**more), capture_output=True, text=True)
    assert float(done.stdout.split()[-1]) > 1.8, done.stderr
