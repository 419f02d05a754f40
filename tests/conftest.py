"""What every test may use: a process that forgets, and a small project to work in."""

import contextlib
import fcntl
import functools
import gc
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

import numpy as np
import psutil
import pytest

import gcexp.report
import gcexp.run
from gcexp.errors import ParameterError, UserError
from gcexp.run import records
from tests.warm import Child, collect_garbage_seldom

collect_garbage_seldom()  # also of what is collected to be tested

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PARTS = (
    *("Snakefile", "workflow", "profiles", "conf", "config", "gcexp_papers"),
    *("Makefile", "requirements.lock", "pyproject.toml"),
)

FIGURE = """\
title: Three runs
source: Fig. 1
kind: curves
common: {task: digits_mlp, delay: pareto, n: 6, s: 2, iterations: 30, seeds: 2}
runs:
  - {label: CGC, scheme: cgc}
  - {label: "cyclic, β = {code.beta}", scheme: cyclic_partial, code.beta: 4}
  - {label: "Forget-{s}", scheme: forget}
plot: {kind: lines, x: simulated_time_s, y: test_accuracy}
"""

# scripts, not to be imported for doctests
collect_ignore = ["distributed/ranks.py", "faults", "warm.py"]
# What a test cannot make untrue: what is known of installed packages, of a text, and of a file by its times and size.
LASTING = (
    *("plugins", "plugged", "version_of", "syntax_tree", "_content_of_file"),
    *("_is_own_outside", "_load", "_in_text", "_aliases_in"),
)

# Loaded by every Python that a test starts: the quick preset must do without a network.
GUARD = """\
import socket

def refuse(self, address, *more):
    if self.family != socket.AF_UNIX and address[0] != "127.0.0.1":
        raise RuntimeError(f"a test reached for the network: {address}")
    return connect(self, address, *more)

connect, socket.socket.connect = socket.socket.connect, refuse
"""


WARM_PROCESSES = "GCEXP_WARM_PROCESSES"  # names the folder of the server that forks commands
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


LONG = 3000  # seconds, after which something hangs: ten times what a slow machine with much else to do takes
MAY_SKIP_WHEN_BUSY = 2  # tests of real ranks in tests/distributed; more of them would be less of a suite
_BUSY = "void on a machine that is busy now: "


def skip_where_busy(found):
    """Skip a test whose real ranks were held up by other processes; what was found tells by how much."""
    pytest.skip(_BUSY + found)


def wait(condition, what, seconds=LONG):
    """What a condition answers, as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"after {seconds} s still no {what}"
        time.sleep(0.02)
    return found


def at_work(project, word=""):
    """Processes that work in the folder, all of them or those with a word in their command."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cwd() == str(project.folder) and (not word or word in process.cmdline()):
                found.append(process)
    return found


def write_files(folder, files):
    """Files with a text each, by path."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def unload(*packages):
    """Import some packages of a test anew when they are asked for again."""
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]
    importlib.invalidate_caches()


def commit(folder):
    """The commit of all that lies in a folder."""
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q", "--template="], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *arguments], check=True)
    return subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()


def assert_same_arrays(one, other):
    """Whether two npz files hold the same arrays, bit by bit."""
    with np.load(one) as one, np.load(other) as other:
        assert one.files == other.files
        assert [name for name in one.files if one[name].tobytes() != other[name].tobytes()] == []


def new_paper(folder):
    """Make a folder a paper without figures."""
    (folder / "figures").mkdir(parents=True)
    write_files(folder, {"paper.yaml": "title: A paper\n", "__init__.py": ""})


def jobs_of(output):
    """Jobs by rule, from what Snakemake says first."""
    if "Nothing to be done" in output:
        return {}
    table = re.split(r"^ *total +\d+ *$", output.split("Job stats")[1], flags=re.M)[0]
    counts = re.findall(r"^ *(\w[\w ]*?) +(\d+) *$", table, re.M)
    return {rule.replace(" ", "_"): int(count) for rule, count in counts}


class Begun:
    """A command in a folder that was started and goes on; what it prints as a table may go to a file of its own."""

    def __init__(self, project, command, table):
        self.output = tempfile.TemporaryFile("w+")
        self.printed = open(project / table, "w") if table else self.output
        home, folder = os.environ[WARM_PROCESSES], str(project.folder)
        with open(os.devnull) as nothing:
            files = [nothing.fileno(), self.printed.fileno(), self.output.fileno()]
            self.child = Child(home, [*command], folder, project.environment, files)

    def ended(self):
        """Exit code and output."""
        with self.output, self.printed:
            code = self.child.wait()
            self.output.seek(0)
            return code, self.output.read()


class Project:
    """A folder to work in."""

    figure = "small/figures/three.yaml"

    def __init__(self, folder: Path, code: Path = ROOT, **variables: str):
        self.folder, self.code, self.variables = Path(folder), code, variables

    def __truediv__(self, path):
        return self.folder / path

    @property
    def environment(self):
        ours = ("GCEXP_", "MLFLOW_", "SNAKEMAKE_", "MAKE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        python = os.pathsep.join([str(self / ".guard"), str(self.code)])
        wide = "400"  # or the logger breaks lines
        return kept | ONE_THREAD | {"COLUMNS": wide, "PATH": path, "PYTHONPATH": python} | self.variables

    def guarded(self):
        """The folder, where no process of ours reaches for the network."""
        (self / ".guard").mkdir()
        (self / ".guard" / "sitecustomize.py").write_text(GUARD)
        return self

    def start(self, *command, output=subprocess.PIPE):
        """A process in the folder, in a group of its own, with both outputs in one."""
        keys = {"stdout": output, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, **keys)

    def run(self, *command, timeout=LONG):
        """Exit code and output."""
        with self.start(*command) as process:
            try:
                output, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, output

    def begin(self, *command, table=None):
        """Start Snakemake, gcexp, pytest or a script, as a fork of a process that has what they import; see `ended`."""
        return Begun(self, command, table)

    def snakemake(self, *arguments):
        """Exit code and output of Snakemake; it is a fork, as its jobs are."""
        return self.begin("snakemake", *arguments).ended()

    def gcexp(self, *arguments):
        return self.run(str(BIN / "gcexp"), *arguments)

    def make(self, *arguments, output=subprocess.PIPE):
        """Start a recipe of the Makefile, with this interpreter's folder as its virtual environment."""
        (self / ".venv").mkdir(exist_ok=True)
        for part in ("bin", "lib", "pyvenv.cfg"):
            if not (self / ".venv" / part).is_symlink():
                (self / ".venv" / part).symlink_to(BIN.parent / part)
        (self / ".venv" / ".installed").write_text(f"{self.folder}\n")
        return self.start("make", *arguments, output=output)

    def build(self, *arguments):
        """Jobs that a run of Snakemake made, by rule."""
        code, output = self.snakemake(*arguments)
        assert code == 0, output
        return jobs_of(output)

    def planned(self, *targets):
        """Jobs of a dry run, by rule."""
        return self.build("-n", *targets)

    def edit(self, path, old, new):
        text = (self / path).read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        (self / path).write_text(text.replace(old, new))

    def copy(self, folder):
        """The same folder elsewhere, times and Snakemake's records included."""
        subprocess.run(["cp", "-a", self.folder, folder], check=True)
        return Project(folder, self.code)

    def files(self, *folders):
        """Every file under the folders, by path."""
        return {
            path.relative_to(self.folder).as_posix(): path
            for folder in folders
            for path in sorted((self / folder).rglob("*"))
            if path.is_file()
        }


def real_project(folder, *without):
    """Workflow, options and papers as they are, but for what a test does without."""
    folder.mkdir(parents=True)
    for name in (name for name in PARTS if name not in without):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / name)
    return Project(folder).guarded()


def small_project(folder):
    """Workflow and options, with one small figure."""
    project = real_project(folder, "gcexp_papers")
    new_paper(project / "small")
    (project / project.figure).write_text(FIGURE)
    project.edit("conf/style/paper.mplstyle", "savefig.dpi:            300", "savefig.dpi: 30")
    return project


@pytest.fixture(scope="session")
def clone():
    """For tests of files that only a clone has: the source distribution leaves them out, or git has to list them."""
    if not ((ROOT / ".ci").is_dir() and (ROOT / ".git").exists()):
        pytest.skip("needs files of the clone that the source distribution leaves out")


@pytest.fixture
def here(tmp_path, monkeypatch, forget):
    """An empty working folder, where the installed options are used and nothing is remembered."""
    monkeypatch.chdir(tmp_path)
    for name in ("GCEXP_CONF", "GCEXP_SEARCHPATH", "GCEXP_DATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def own_conf(here):
    """A copy of conf/ in the working folder, which a test may edit."""
    return shutil.copytree(ROOT / "conf", here / "conf", dirs_exist_ok=True)


@pytest.fixture
def paper(here):
    """A paper without figures, in a project whose folder is the working folder."""
    for name in ("conf", "config"):
        (here / name).mkdir()
    (here / "config/config.yaml").touch()
    new_paper(here / "paper")
    return here / "paper"


def assert_named(names, said):
    """Whether a sentence has one name, or several."""
    assert [name for name in ([names] if isinstance(names, str) else names) if name not in said] == []


@pytest.fixture(scope="session")
def refused():
    """Make a call that must end in one sentence with some names, and give back that sentence."""

    def sentence(names, function, *given, error=UserError):
        with pytest.raises(error) as caught:
            function(*given)
        said = str(caught.value)
        assert_named(names, said)
        assert "\n" not in said and len(said) < 600
        return said

    return sentence


def refusals(*rows, error=ParameterError):
    """A test that calls are refused, one for each row: a call, and the pattern of what its sentence has to name."""

    @pytest.mark.parametrize(("call", "named"), rows)
    def refuses(call, named):
        with pytest.raises(error, match=named):
            call()

    return refuses


@pytest.fixture
def refused_command(capsys):
    """The same of a command, which exits with 2 and prints nothing else."""

    def sentence(names, *command):
        from gcexp.command.main import main

        capsys.readouterr()
        try:
            code = main([*command])
        except SystemExit as stopped:  # wrong arguments
            code = stopped.code
        out, said = capsys.readouterr()
        assert (code, out, said.count("\n"), said[:7]) == (2, "", 1, "gcexp: "), said
        assert_named(names, said)
        return said

    return sentence


@pytest.fixture(autouse=True)
def same_path(monkeypatch):
    """A command that is run here puts the folder of a project on the path: for this test alone."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture(scope="session", autouse=True)
def jobs_without_tests():
    """A record lists what a job has loaded, and no job has loaded our tests: two hundred modules to look for."""
    with pytest.MonkeyPatch.context() as patch:

        def own_modules(found=records.own_modules):
            return {name: path for name, path in found().items() if not name.startswith("tests.")}

        patch.setattr(records, "own_modules", own_modules)
        yield


@pytest.fixture
def hold():
    """Make every check; those that fail are shown together, each with its name and trace."""

    def made(checks):
        failed = []
        for check in checks:
            try:
                check()
            except Exception as error:
                error.add_note(str(check))
                failed.append(error)
        if failed:
            raise ExceptionGroup(f"broken: {', '.join(error.__notes__[-1] for error in failed)}", failed)

    return made


@functools.cache
def _remembering(module: types.ModuleType) -> list:
    """Functions of a module that remember what they answered."""
    functions = vars(module).items()
    return [one for known, one in functions if hasattr(one, "cache_clear") and known not in LASTING]


def _forget() -> None:
    for package in (gcexp.run, gcexp.report):
        for module in vars(package).values():
            if isinstance(module, types.ModuleType):
                for function in _remembering(module):
                    function.cache_clear()


@pytest.fixture
def forget():
    """Make this process know what a fresh one knows, now and after the test; call it for once more."""
    _forget()
    yield _forget
    _forget()


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Folder that all workers of one test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def once(shared):
    """Fill a folder, which all workers of one test run share, by the first that asks for it; only to be looked at."""

    def made(name, fill):
        folder = shared / name
        with open(shared / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / f"{name}.done").exists():
                assert not folder.exists(), f"making {name} failed in another worker"
                folder.mkdir()
                fill(folder)
                (shared / f"{name}.done").touch()
        return folder

    return made


@pytest.fixture(scope="session")
def empty_store(once):
    """A new MLflow store, which takes seconds to make; only to be copied."""

    def make(folder):
        from gcexp.report import mlflow_store

        mlflow_store.Store(f"sqlite:///{folder}/empty.db")

    return once("store", make) / "empty.db"


@pytest.fixture(scope="session")
def linear_mixture(once):
    """The prepared data set of this name, which takes a fifth of a second to generate; only to be read."""

    def make(folder):
        from gcexp.data import prepare

        prepare("linear_mixture", folder / "linear_mixture.npz")

    return once("linear_mixture", make) / "linear_mixture.npz"


@pytest.fixture(scope="session")
def published_figure():
    """A published figure by its target, read once; that it can be built is checked where its table is made."""
    from gcexp.report import figurefile

    return functools.cache(functools.partial(figurefile.figure, preset="paper", checks=False))


@pytest.fixture(scope="session")
def built(shared):
    """The small project, built once with two jobs at a time; only to be copied and looked at.

    What the build said stands in ``done``.
    """
    with open(shared / "built.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = shared / "built"
        if (folder / "done").exists():
            return Project(folder)
        assert not folder.exists(), "building failed in another worker"
        project = small_project(folder)
        (folder / ".gitignore").write_text((ROOT / ".gitignore").read_text() + "/.guard/\n/done\n/.venv\n")
        commit(folder)
        # Into one pack: half of the files of each copy would be objects of git.
        subprocess.run(["git", "-C", str(folder), "gc", "--quiet"], check=True)
        code, output = project.snakemake("-j2")
        assert code == 0, output
        (folder / "done").write_text(output)
        return project


@pytest.fixture
def project(built, tmp_path):
    """A copy of the built project, to be edited."""
    return built.copy(tmp_path / "project")


@pytest.fixture
def fresh(tmp_path):
    """The small project, nothing built."""
    return small_project(tmp_path / "project")


@pytest.fixture
def real(tmp_path):
    """The real figure files, nothing built."""
    return real_project(tmp_path / "project")


def pytest_configure(config):
    """Let what a test run starts hear Ctrl-C, and start the server that forks commands, one for all workers."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell started the test run in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["LANGUAGE"] = "C"  # or argparse looks for translations in 250 places for each command
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.add_cleanup(_start_warm_processes())


def _start_warm_processes():
    """Start tests/warm.py, which imports nothing before it is asked; give back what ends it."""
    folder = tempfile.mkdtemp(prefix="gcexp-warm-")  # a short name, as sockets need it
    command = [sys.executable, "-P", str(ROOT / "tests/warm.py"), "serve", folder]
    variables = os.environ | ONE_THREAD | {"PYTHONPATH": str(ROOT), "TORCH_CPP_LOG_LEVEL": "ERROR"}
    server = subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout.readline() == "ready\n"
    os.environ[WARM_PROCESSES] = folder  # workers inherit it

    def end():
        server.stdin.close()
        server.wait(LONG)
        shutil.rmtree(folder)

    return end


def pytest_collection_finish():
    """Let the garbage collector look no more at what was imported and collected: it stays until the end."""
    gc.freeze()


def pytest_sessionfinish(session):
    """A suite in which more tests skip themselves than may, because the machine is busy, has not passed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a worker of xdist, which reports to the first process
        return
    skipped = [report for report in reporter.stats.get("skipped", []) if _BUSY in str(report.longrepr)]
    if len(skipped) > MAY_SKIP_WHEN_BUSY:
        reporter.write_line(f"{len(skipped)} tests were void, {MAY_SKIP_WHEN_BUSY} may be", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Of .ci/run: the seconds since it began."""
    if began := os.environ.get("GCEXP_CI_BEGAN"):
        terminalreporter.write_line(f"set-up, lint and tests took {time.time() - float(began):.0f} s")


def pytest_runtest_setup(item):
    """A paper may be deleted with its folder; what looks at its figures goes with it."""
    for mark in item.iter_markers("paper"):
        for name in mark.args:
            if not (ROOT / "gcexp_papers" / name).is_dir():
                pytest.skip(f"the paper {name} is not here")


@pytest.hookimpl(tryfirst=True)  # before --random-order
def pytest_collection_modifyitems(items):
    """What takes long comes first: processes that have nothing to do steal tests from the others (--dist worksteal)."""
    long = ("slow", "workflow")  # marks of tests that `make check` leaves out
    items.sort(key=lambda item: (not any(map(item.get_closest_marker, long)), item.path))
