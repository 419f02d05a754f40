"""Many short jobs: a process that has imported everything once, and forks one child per command.

Why: most of a short job is the import of torch, pandas and matplotlib: 568 jobs, once the quick preset of all papers,
took 113 s with this on two cores and 272 s without. Jobs stay what they are, one command each with its own log, exit
code, provenance and bytes. A command is taken from the same user, interpreter, package and import-time environment
only, and is acknowledged; where no server is (any more) it runs as always. Whoever ends the command ends its fork.
`benchmark` sees the waiting command alone: what the work costs is `cpu_s` in the provenance, whose peak memory has the
shared imports in it. Linux only: elsewhere a fork of a process with loaded libraries is not safe.

Who hands a command over imports no more than stands at the top.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress

#: Environment variable with the name of the server; what a user sets stands (empty: no server).
VARIABLE = "GCEXP_WARM"
#: Fewer jobs than this are done before the server is ready.
FEWEST_JOBS = 8

_PRELOADED = (
    "pandas",
    "scipy.special",
    "gcexp.command.main",
    "gcexp.command.job.train",
    "gcexp.command.job.table",
    "gcexp.command.job.plot",
    "gcexp.timeline",
    "gcexp.schemes",
    "gcexp.delays",
    "gcexp.report.table",
    "gcexp.report.claims",
    "gcexp.figures.compose",
    "gcexp.figures.typeset",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "gcexp.tasks.mlp",
    "gcexp.tasks.training",
    "gcexp.run.verification",
)
#: What every command asks once, and a fork of ours need not: plug-ins, versions, whose modules were loaded here.
_KNOWN = (
    "gcexp.run.options.plugins",
    "gcexp.run.provenance.versions",
    "gcexp.run.provenance.packages",
    "gcexp.run.reads.library_versions",
)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: Beginnings of the environment variables that Python, numpy, torch and matplotlib read when they start.
_READ_AT_IMPORT = ("PYTHON", "LANG", "LC_", "MPL", "OMP_", "OPENBLAS_", "MKL_")
_BYTES = 8  # of the number that says how long a request is
_GRACE = 10.0  # seconds that an interrupted command has to remove what it has half written


def start(jobs: int) -> None:
    """Start a server for the commands that this process starts later; it ends when this process does.

    Parameters
    ----------
    jobs : int
        Commands to come; for a few of them no server is started.
    """
    if sys.platform != "linux" or jobs < FEWEST_JOBS or VARIABLE in os.environ:
        return
    import subprocess
    from uuid import uuid4

    name = f"gcexp-{uuid4().hex}"
    subprocess.Popen(
        # -P: jobs do not import from the folder that they work in either
        [sys.executable, "-P", "-m", "gcexp.command.forkserver", name, str(os.getpid())],
        env=os.environ | dict.fromkeys(_THREADS, "1"),  # as Snakemake sets them for a job
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # what goes wrong here shows in the jobs, which then run as always
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.environ[VARIABLE] = name


def forwarded(arguments: list[str]) -> int | None:
    """Exit code of a command that the server ran in our place; None where no server took it (yet, or any more)."""
    name = os.environ.get(VARIABLE)
    if not name or sys.platform != "linux" or None in (sys.stdin, sys.stdout, sys.stderr):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(_address(name))
            if not _same_user(connection):
                return None
            request = {
                "kind": _kind(),
                "arguments": list(arguments),
                "folder": os.getcwd(),
                "environment": dict(os.environ),
            }
            message = repr(request).encode("utf-8", "surrogateescape")
            socket.send_fds(connection, [len(message).to_bytes(_BYTES)], [0, 1, 2])
            connection.sendall(message)
            taken = connection.recv(1)
        except OSError:  # no server, or none any more
            return None
        if not taken:
            return None
        with suppress(OSError):
            if answer := connection.recv(1):
                return answer[0]
    print(f"gcexp: the process that ran '{' '.join(arguments)}' died", file=sys.stderr)
    return 1


def serve(name: str, parent: int) -> None:
    """Listen as long as process `parent` lives; each command runs in a fork of its own."""
    import gc
    import importlib

    kind, began = _kind(), time.time()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(_address(name))
        listening.listen(64)  # who comes early waits: its own imports would take as long, and slow these down
        for module in _PRELOADED:
            if os.getppid() != parent:
                return
            with suppress(ModuleNotFoundError):  # without the extra that brings it no job needs it
                importlib.import_module(module)
        for known in _KNOWN:
            module, _, function = known.rpartition(".")
            getattr(importlib.import_module(module), function)()
        with suppress(ModuleNotFoundError):
            _draw_once()
        listening.settimeout(0.5)
        gc.freeze()  # pages that are never written stay shared
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
        while os.getppid() == parent:
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            if _same_user(connection) and not _closed(connection) and os.fork() == 0:
                listening.close()
                _answer(connection, kind, began)
            connection.close()


def _draw_once() -> None:
    """Draw a small figure: every fork then knows the fonts, the grammar of formulas and the parts of the font tools."""
    from tempfile import TemporaryDirectory

    from pandas import DataFrame

    from gcexp.figures import draw, save

    frame = DataFrame({"x": [1, 10], "y": [1, 2], "line": "$x^2$"})
    figure = draw(frame, {"kind": "lines", "x": "x", "y": "y", "by": "line", "xscale": "log"})
    with TemporaryDirectory() as folder:
        save(figure, [f"{folder}/{name}" for name in ("drawn.pdf", "drawn.png")])


def _address(name: str) -> bytes:
    """Abstract address: no file, so nothing is left behind, and no temporary folder is needed."""
    return b"\0" + os.fsencode(name)


def _same_user(connection: socket.socket) -> bool:
    """Whether the process at the other end is ours; an abstract address is open to everybody on the machine."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[1] == os.geteuid()


def _closed(connection: socket.socket) -> bool:
    """Whether who connected has gone: it ended, or only asked whether somebody listens."""
    asked = select.poll()
    asked.register(connection, 0)
    return any(event & select.POLLHUP for _, event in asked.poll(0))


def _kind() -> list:
    """What imports depend on: the interpreter, the package, and a part of the environment."""
    read = {name: value for name, value in os.environ.items() if name.startswith(_READ_AT_IMPORT)}
    return [os.path.realpath(sys.prefix), os.path.realpath(__file__), read]


def _newest() -> float:
    """When a file of the package was last changed."""
    folders = os.walk(os.path.dirname(os.path.dirname(__file__)))
    files = (
        os.path.join(where, name) for where, _, names in folders for name in names if name.endswith(".py")
    )
    return max(os.stat(file).st_ctime for file in files)


def _answer(connection: socket.socket, kind: list, began: float) -> None:
    """Run one command as its own process would, send its exit code and end: a child never goes on as a server."""
    import threading
    import traceback
    from ast import literal_eval

    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        head, files, _, _ = socket.recv_fds(connection, _BYTES, 3)
        with connection.makefile("rb") as stream:
            request = literal_eval(stream.read(int.from_bytes(head)).decode("utf-8", "surrogateescape"))
        if request["kind"] != kind or _newest() > began:
            os._exit(0)  # not taken: it would not run here as in a process of its own
        for place, file in enumerate(files):
            os.dup2(file, place)
            os.close(file)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update({k: v for k, v in request["environment"].items() if k != VARIABLE})
        connection.sendall(b"\0")  # taken
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        code = _run(request["arguments"])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # done
    except BaseException:
        code = 1
        traceback.print_exc()
    finally:
        try:
            connection.sendall(bytes([code]))
        finally:
            os._exit(code)


def _run(arguments: list[str]) -> int:
    from gcexp.command.main import main

    sys.argv = ["gcexp", *arguments]
    try:
        return main(arguments)
    except SystemExit as error:  # what argparse does
        return error.code if isinstance(error.code, int) else 1
    finally:
        sys.stdout.flush()


def _end_with(connection: socket.socket) -> None:
    """Whoever ends the command that waits for us means us: first as Ctrl-C would, then without asking."""
    with suppress(OSError):
        connection.recv(1)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
