"""A process for tests that has imported what Snakemake and its jobs import, and forks a child for every command.

Importing is most of a dry run and of a short job. The server imports what a command of that kind needs when the first
one is asked for, since many tests only plan. It reads nothing of a project; a child takes folder, environment and files
of whoever asks, before the command's own entry point runs. Where a project has library code of its own, the child
forgets ours first.

    python tests/warm.py serve FOLDER        in which it puts its sockets and bin/; until its standard input ends
    python tests/warm.py ask FOLDER ...      a command: what bin/gcexp, bin/snakemake and `bin/python -m snakemake` call
"""

import functools
import gc
import importlib
import io
import json
import os
import runpy
import select
import socket
import sys
import weakref

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLANNING = """
graphlib jsonschema packaging.version rich._emoji_codes scipy.sparse smart_open threadpoolctl
snakemake.cli snakemake.dag snakemake.storage snakemake.workflow snakemake_logger_plugin_rich.handler
gcexp.codes.accuracy gcexp.command.failure gcexp.command.progress gcexp.command.snakemake_inside gcexp.data.described
gcexp.delays gcexp.report.end_message gcexp.report.plan gcexp.report.request gcexp.run.measurement gcexp.schemes
gcexp.timeline
"""
#: Classes of what most tests plan, whose sources every plan reads.
PLANNED = {
    "task": "gcexp.tasks.mlp.MultilayerPerceptron",
    "optimizer": "gcexp.tasks.optimizers.GradientDescent",
    "delay": "gcexp.delays.distributions.Pareto",
}
TRAINING = """
multiprocessing.synchronize pandas.io.formats.csvs pyarrow.pandas_compat scipy.sparse.csgraph torch
gcexp.command.job gcexp.command.main gcexp.report.jobs gcexp.report.table gcexp.run.verification gcexp.tasks.mlp
gcexp.tasks.training gcexp.timeline
"""
DRAWING = """
fontTools.subset fontTools.ttLib.tables.O_S_2f_2 fontTools.ttLib.tables._h_h_e_a
matplotlib.backends.backend_agg matplotlib.backends.backend_pdf matplotlib.style pandas PIL.JpegImagePlugin
pyarrow.pandas_compat
gcexp.analysis.claims gcexp.command.job gcexp.command.main gcexp.figures.compose gcexp.report.jobs gcexp.report.page
"""
# What every rank would import again: DDP the first line, compiling the others.
RANKS = """
torch torch._dynamo.utils torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks gcexp.distributed
torch._functorch.aot_autograd torch._dynamo.backends.debugging torch._dynamo.repro.after_dynamo torch._dynamo.testing
torch.distributed.tensor.experimental torch.fx.experimental.validator
"""
IMPORTED = {
    "snakemake": PLANNING,
    "script": RANKS,
    "job train": TRAINING,
    "job table": TRAINING,
    "publish": DRAWING,
    "pytest": f"pytest hypothesis networkx scipy.stats {DRAWING}",
    "job plot": DRAWING,
    "job page": DRAWING,
}
SERVERS = ("plans", "jobs")
COMMAND = """\
#!/bin/sh
exec {ask} "$(basename "$0")" "$@"
"""
PYTHON = """\
#!/bin/sh
if [ "$1 $2" = "-m snakemake" ]; then shift 2; exec {ask} snakemake "$@"; fi
exec "{python}" "$@"
"""


def collect_garbage_seldom() -> None:
    """Look for garbage after a hundred times as many new objects: a test makes many, and its process ends soon."""
    gc.set_threshold(100_000, 20, 100)


class Child:
    """A command in a child of the server, with these files as its standard ones.

    The child is in a group of processes of its own, or in that of whoever asks: what ends such a group ends it too.
    """

    def __init__(
        self,
        home: str,
        command: list[str],
        folder: str,
        environment: dict[str, str],
        files: list[int],
        group: int = 0,
    ):
        self._asking = socket.socket(socket.AF_UNIX)
        self._asking.connect(f"{home}/{_server_of(command)}")
        socket.send_fds(self._asking, [b"."], files)
        self._asking.sendall(json.dumps([command, folder, environment, group]).encode())
        self._asking.shutdown(socket.SHUT_WR)
        self._answers = self._asking.makefile()
        self.pid = int(self._answers.readline())

    def wait(self) -> int:
        """Its exit code."""
        code = self._answers.readline()
        self._answers.close()
        self._asking.close()
        return int(code) if code else 1  # a child that was killed gives none


def serve(home: str) -> None:
    """Fork for every connection, until standard input has ended and no child is left to send jobs.

    There are two servers, since a fork takes longer the more its server has imported: plans do without what jobs need.
    """
    os.mkdir(f"{home}/bin")
    asking = f'"{sys.executable}" -IS "{os.path.abspath(__file__)}" ask "{home}"'
    for name, text in (("gcexp", COMMAND), ("snakemake", COMMAND), ("python", PYTHON)):
        with open(f"{home}/bin/{name}", "w") as script:
            script.write(text.format(ask=asking, python=sys.executable))
        os.chmod(f"{home}/bin/{name}", 0o755)
    collect_garbage_seldom()  # nor do children, which inherit it
    listening = {}
    for name in SERVERS:
        listening[name] = socket.socket(socket.AF_UNIX)
        listening[name].bind(f"{home}/{name}")
        listening[name].listen(64)
    plans_ended, plans_go_on = socket.socketpair()
    print("ready", flush=True)
    for_jobs = os.fork()
    if for_jobs == 0:
        listening["plans"].close()
        plans_go_on.close()
        _fork_for_connections(home, listening["jobs"], until=plans_ended)
        os._exit(0)
    listening["jobs"].close()
    plans_ended.close()
    _fork_for_connections(home, listening["plans"], until=sys.stdin, own=plans_go_on)
    plans_go_on.close()
    os.waitpid(for_jobs, 0)


def _fork_for_connections(
    home: str,
    listening: socket.socket,
    until: io.TextIOBase | socket.socket,
    own: socket.socket | None = None,
) -> None:
    """Fork for every connection until a file has ended and no child is left; children close what is the server's."""
    watched, children = [listening, until], set()
    while until in watched or children:
        ready, _, _ = select.select(watched, [], [], 0.1 if children else None)
        if until in ready:
            watched.remove(until)
        if listening in ready:
            connection, _ = listening.accept()
            _, files, _, _ = socket.recv_fds(connection, 1, 3)
            with connection.makefile() as said:
                command, folder, environment, group = json.load(said)
            _import_for(command)
            child = os.fork()
            if child == 0:
                listening.close()
                if own is not None:
                    own.close()
                _become(home, connection, files, command, folder, environment, group)
            connection.close()
            for descriptor in files:
                os.close(descriptor)
            children.add(child)
        children -= {child for child in children if os.waitpid(child, os.WNOHANG)[0]}


def _server_of(command: list[str]) -> str:
    """The server that forks a command."""
    return "plans" if _kind(command) == "snakemake" else "jobs"


def _kind(command: list[str]) -> str:
    """What is asked for: Snakemake, pytest, a script of Python, or a command of gcexp."""
    if command[0] in ("snakemake", "pytest"):
        return command[0]
    if command[0].endswith(".py"):
        return "script"
    return " ".join(command[1:3])


def _import_for(command: list[str]) -> None:
    """Import what a command of this kind does, and nothing that depends on a folder; the first one takes long."""
    kind = _kind(command)
    for name in IMPORTED.get(kind, "").split():
        importlib.import_module(name)
    if kind == "snakemake":
        _read_for_plans()
    gc.freeze()  # a full collection of what was imported takes each child 0.1 s, and copies all of it
    _end_in_the_server_alone()


@functools.cache
def _read_for_plans() -> None:
    """Read the library's sources and what is installed, and ask every plug-in of Snakemake for its options."""
    import snakemake.cli

    from gcexp.run.dependencies import STAGES, stage_fingerprint
    from gcexp.run.modules import plugins
    from gcexp.run.trainable import require_trainable

    parts = {part: {"_target_": target} for part, target in PLANNED.items()}
    for stage in STAGES:
        stage_fingerprint(stage, parts)
    require_trainable(parts | {"bound": False, "exact": False})
    plugins()
    snakemake.cli.get_argument_parser()


def _end_in_the_server_alone() -> None:
    """Let no child run finalizers of what was imported: torch has 134, which would take each child 0.03 s."""
    for finalizer in list(weakref.finalize._registry):
        finalizer.atexit = False


def _enter(group: int) -> None:
    """Be in this group of processes; in a new one if it is 0 or belongs to another session."""
    try:
        os.setpgid(0, group)
    except PermissionError:
        os.setpgid(0, 0)


def _forget_our_code() -> None:
    """Import the library anew, from where the project has it."""
    for name in [
        name for name in sys.modules if name.partition(".")[0] in ("gcexp", "gcexp_adviser", "gcexp_papers")
    ]:
        del sys.modules[name]


def _become(
    home: str,
    connection: socket.socket,
    files: list[int],
    command: list[str],
    folder: str,
    environment: dict[str, str],
    group: int,
) -> None:
    """Be the command; never returns."""
    code = 1
    try:
        _enter(group)
        connection.sendall(f"{os.getpid()}\n".encode())
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for descriptor, file in enumerate(files):
            os.dup2(file, descriptor)
        sys.stdin = open(0)
        sys.argv[:] = command
        sys.orig_argv[:] = command
        sys.executable = f"{home}/bin/python"  # whose folder the workflow puts first on the path
        places = environment["PYTHONPATH"].split(os.pathsep)
        sys.path[:0] = places
        if ROOT not in places:
            _forget_our_code()
        import sitecustomize  # noqa: F401

        if _kind(command) == "snakemake":
            import snakemake.cli

            snakemake.cli.main(command[1:])
        elif _kind(command) == "pytest":
            import pytest

            code = pytest.main(command[1:])
        elif _kind(command) == "script":
            runpy.run_path(command[0], run_name="__main__")
            code = 0
        else:
            import gcexp.command.main

            code = gcexp.command.main.main(command[1:])
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        import atexit

        atexit._run_exitfuncs()  # what the workflow says last
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(f"{code}\n".encode())
        os._exit(code)


if __name__ == "__main__":
    verb, home, *given = sys.argv[1:]
    if verb == "serve":
        serve(home)
    else:
        sys.exit(Child(home, given, os.getcwd(), dict(os.environ), [0, 1, 2], os.getpgrp()).wait())
