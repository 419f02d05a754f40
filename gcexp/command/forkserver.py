"""One process that has imported everything, and forks a child for each command of a build with many short jobs.

Why: most of a short job is the import of torch, pandas and matplotlib. docs/design.md says what a build of the quick
preset takes with this and without. A job stays one command with its own log, exit code, provenance and bytes; where no
server answers, the command runs in its own process as always. Linux only: elsewhere a fork of a process with loaded
libraries is not safe. ``GCEXP_WARM=`` turns it off.

Who hands a command over imports no more than stands at the top.
"""

from __future__ import annotations

import marshal
import os
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
    *("pandas", "scipy.special", "torch", "matplotlib.backends.backend_agg"),
    *("matplotlib.backends.backend_pdf", "gcexp.command.main", "gcexp.run.measurement", "gcexp.report.jobs"),
    *("gcexp.report.figurefile", "gcexp.schemes", "gcexp.delays", "gcexp.tasks.mlp", "gcexp.tasks.training"),
    *("gcexp.run.verification", "gcexp.report.table", "gcexp.figures.compose", "gcexp.figures.typeset"),
)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_GRACE = 10.0  # seconds that an interrupted command has to remove what it has half written


def start(jobs: int) -> bool:
    """Start a server for so many commands that this process starts later, and say whether there is one: not for a few.

    It ends when this process does, whatever way that is.
    """
    if sys.platform != "linux" or jobs < FEWEST_JOBS or VARIABLE in os.environ:
        return False
    import atexit
    import subprocess
    from uuid import uuid4

    os.environ[VARIABLE] = name = f"gcexp-{uuid4().hex}"
    server = subprocess.Popen(
        # -P: jobs do not import from the folder that they work in either
        [sys.executable, "-P", "-m", "gcexp.command.forkserver", name],
        env=os.environ | dict.fromkeys(_THREADS, "1"),  # as Snakemake sets them for a job
        stdin=subprocess.PIPE,  # closed when this process ends
        stdout=subprocess.DEVNULL,  # what goes wrong here shows in the jobs, which then run as always
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    atexit.register(server.communicate)  # so that this process has waited for all CPU seconds of its jobs
    return True


def forwarded(arguments: list[str]) -> int | None:
    """Exit code of a command that the server ran in our place; None where no server took it (yet, or any more)."""
    name = os.environ.get(VARIABLE)
    if not name or None in (sys.stdin, sys.stdout, sys.stderr):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(_address(name))
            if not _same_user(connection):
                return None
            socket.send_fds(connection, [b"\0"], [0, 1, 2])
            connection.sendall(marshal.dumps((list(arguments), os.getcwd(), dict(os.environ))))
            if not connection.recv(1):  # it did not take the command
                return None
        except OSError:  # no server, or none any more
            return None
        with suppress(OSError):
            if answer := connection.recv(1):
                return answer[0]
    print(f"gcexp: the process that ran '{' '.join(arguments)}' died", file=sys.stderr)
    return 1


def serve(name: str) -> None:
    """Listen until standard input is closed; each command runs in a fork of its own."""
    import gc
    import importlib
    import select
    from socketserver import ForkingMixIn, UnixStreamServer

    class Server(ForkingMixIn, UnixStreamServer):
        request_queue_size = 64  # early clients wait: their own imports would take as long
        max_children = 10**6
        timeout = 0

        def verify_request(self, request, _):
            return _same_user(request)

        def finish_request(self, request, _):  # in the child
            self.socket.close()
            _answer(request)

    with Server(_address(name), None) as server:  # type: ignore[arg-type]  # no handler
        for module in _PRELOADED:
            with suppress(ModuleNotFoundError):  # without the extra that brings it no job needs it
                importlib.import_module(module)
        from gcexp.run.provenance import ask_once

        ask_once()
        gc.freeze()  # pages that are never written stay shared
        while sys.stdin not in select.select([server, sys.stdin], [], [], 1.0)[0]:
            server.handle_request()


def _address(name: str) -> bytes:
    """Abstract address: no file, so nothing is left behind, and no temporary folder is needed."""
    return b"\0" + os.fsencode(name)


def _same_user(connection: socket.socket) -> bool:
    """Whether the process at the other end is ours; an abstract address is open to everybody on the machine."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[1] == os.geteuid()


def _answer(connection: socket.socket) -> None:
    """Run one command as its own process would, send its exit code and end: a child never goes on as a server."""
    import signal
    import threading
    import traceback

    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for place, file in enumerate(socket.recv_fds(connection, 1, 3)[1]):
            os.dup2(file, place)
            os.close(file)
        with connection.makefile("rb") as stream:
            arguments, folder, environment = marshal.load(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update({key: value for key, value in environment.items() if key != VARIABLE})
        try:
            connection.sendall(b"\0")  # taken
        except OSError:  # who sent the command has ended: nobody waits for it
            os._exit(code)
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        code = _run(arguments)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # done
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            connection.sendall(bytes([code]))
        os._exit(code)


def _run(arguments: list[str]) -> int:
    from gcexp.command.main import main

    sys.argv = ["gcexp", *arguments]
    began = time.time()
    try:
        code = main(arguments)
        if code == 0 and arguments[0] == "job":
            _write_benchmark(arguments[arguments.index("-o") + 1], time.time() - began)
        return code
    except SystemExit as error:  # what argparse does
        return error.code if isinstance(error.code, int) else 1
    finally:
        sys.stdout.flush()


def _write_benchmark(output: str, seconds: float) -> None:
    """The costs of this process where Snakemake writes those of a job, which would measure the command that waits.

    What only Snakemake samples is NA. The memory is that of the process with all that the server has imported.
    """
    import resource
    from datetime import timedelta
    from pathlib import Path

    from gcexp.run import paths

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    row = {
        "s": f"{seconds:.4f}",
        "h:m:s": str(timedelta(seconds=int(seconds))),
        "max_rss": f"{used[0].ru_maxrss / 1024:.2f}",
        **dict.fromkeys(("max_vms", "max_uss", "max_pss", "io_in", "io_out"), "NA"),
        "mean_load": f"{100 * cpu / seconds:.2f}",
        "cpu_time": f"{cpu:.2f}",
    }
    place = Path(paths.benchmark(output))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\t".join(row) + "\n" + "\t".join(row.values()) + "\n")


def _end_with(connection: socket.socket) -> None:
    """Whoever ends the command that waits for us means us: first as Ctrl-C would, then without asking."""
    import signal

    with suppress(OSError):
        connection.recv(1)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1])
