"""Many short jobs: a process that has imported everything once, and forks one child per command.

Most of a short job is the import of torch, pandas and matplotlib. Snakemake's jobs stay what they are, one command each
with its own log and exit code; where a server is there, the command is handed to it, and where none is (any more), the
command runs as always. Linux only: elsewhere a fork of a process with loaded libraries is not safe.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence

#: Environment variable with the socket of the server; what a user sets stands (empty: no server).
VARIABLE = "GCEXP_WARM"
#: Fewer jobs than this are done before the server is ready.
FEWEST_JOBS = 8

_PRELOADED = (
    "pandas",
    "scipy.special",
    "gcexp.cli",
    "gcexp.jobs",
    "gcexp.timeline",
    "gcexp.schemes",
    "gcexp.delays",
    "gcexp.assemble",
    "gcexp.claims",
    "gcexp.figures.compose",
    "gcexp.figures.typeset",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "gcexp.tasks.mlp",
    "gcexp.training",
    "gcexp.verification",
)
_LONGEST = 100  # bytes of a socket's path, which the system limits to 107
_BYTES = 8  # of the number that says how long a request is


def start(jobs: int) -> None:
    """Start a server for the commands that this process starts later; it ends when this process does.

    Parameters
    ----------
    jobs : int
        Commands to come; for a few of them no server is started.
    """
    if sys.platform != "linux" or jobs < FEWEST_JOBS or VARIABLE in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="gcexp-")  # for this user alone
    path = os.path.join(folder, "socket")
    if len(os.fsencode(path)) > _LONGEST:
        os.rmdir(folder)
        return
    command = [sys.executable, "-m", "gcexp.warm", path, str(os.getpid())]
    subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    os.environ[VARIABLE] = path


def forwarded(arguments: Sequence[str]) -> int | None:
    """Exit code of a command that the server ran in our place; None where no server listens (yet, or any more)."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            return None
        request = {"arguments": list(arguments), "folder": os.getcwd(), "environment": dict(os.environ)}
        message = json.dumps(request).encode()
        socket.send_fds(connection, [len(message).to_bytes(_BYTES)], [0, 1, 2])
        connection.sendall(message)
        answer = connection.recv(1)
    if not answer:
        print(f"gcexp: the process that ran '{' '.join(arguments)}' died", file=sys.stderr)
    return answer[0] if answer else 1


def serve(path: str, parent: int) -> None:
    """Listen at `path` as long as process `parent` lives; each command runs in a fork of its own."""
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            for name in _PRELOADED:
                importlib.import_module(name)
            listening.bind(path)
            listening.listen(64)
            listening.settimeout(0.5)
            gc.freeze()  # pages that are never written stay shared
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
            while os.getppid() == parent:
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                if os.fork() == 0:
                    listening.close()
                    _answer(connection)
                connection.close()
        finally:
            shutil.rmtree(os.path.dirname(path))


def _answer(connection: socket.socket) -> None:
    """Run one command as its own process would, send its exit code and end."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        head, files, _, _ = socket.recv_fds(connection, _BYTES, 3)
        length = int.from_bytes(head)
        with connection.makefile("rb") as stream:
            request = json.loads(stream.read(length))
        for place, file in enumerate(files):
            os.dup2(file, place)
            os.close(file)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update({k: v for k, v in request["environment"].items() if k != VARIABLE})
        sys.argv = ["gcexp", *request["arguments"]]
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        code = importlib.import_module("gcexp.cli").main(request["arguments"])
    except SystemExit as error:  # what argparse does
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        connection.sendall(bytes([code]))
        os._exit(code)


def _end_with(connection: socket.socket) -> None:
    """Whoever kills the command that waits for us means us."""
    connection.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
