"""A process for tests that has imported what Snakemake and its jobs import, and forks a child for every command.

Importing is most of a dry run and of a short job. The server imports what a command of that kind needs when the first
one is asked for, since many tests only plan. It reads nothing of a project; a child takes folder, environment and files
of whoever asks, before the command's own entry point runs. Tests that kill, and projects with library code of their
own, start Snakemake and its jobs as a person does.

    python tests/warm.py serve FOLDER        in which it puts its socket and bin/; until its standard input ends
    python tests/warm.py ask FOLDER ...      a command of gcexp: what bin/gcexp calls, which Snakemake finds first
"""

import functools
import importlib
import json
import os
import select
import socket
import sys

PLANNING = """
jsonschema rich._emoji_codes scipy.sparse smart_open
snakemake.cli snakemake.dag snakemake.storage snakemake.workflow snakemake_logger_plugin_rich.handler
gcexp.codes.accuracy gcexp.command.progress gcexp.command.snakemake_inside gcexp.data.described gcexp.delays
gcexp.report.end_message gcexp.report.request gcexp.run.measurement gcexp.schemes gcexp.timeline
"""
TRAINING = (
    "pandas scipy.sparse.csgraph torch gcexp.report.jobs gcexp.tasks.mlp gcexp.tasks.training gcexp.timeline"
)
DRAWING = """
matplotlib.backends.backend_agg matplotlib.backends.backend_pdf pandas gcexp.figures.compose gcexp.report.jobs
gcexp.report.page
"""
IMPORTED = {
    "snakemake": PLANNING,
    "job train": TRAINING,
    "job table": TRAINING,
    "job plot": DRAWING,
    "job page": DRAWING,
}
SCRIPT = '#!/bin/sh\nexec "{python}" {arguments} "$@"\n'


def ask(home: str, command: list[str], folder: str, environment: dict[str, str], files: list[int]) -> int:
    """The exit code of a command in a child of the server, with these files as its standard ones."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(f"{home}/socket")
        socket.send_fds(asking, [b"."], files)
        asking.sendall(json.dumps([command, folder, environment]).encode())
        asking.shutdown(socket.SHUT_WR)
        answer = asking.recv(8)
    return int(answer) if answer else 1  # a child that was killed gives none


def serve(home: str) -> None:
    """Fork for every connection, until standard input has ended and no child is left to send jobs."""
    os.mkdir(f"{home}/bin")
    arguments = f'-IS "{os.path.abspath(__file__)}" ask "{home}"'
    for name, given in (("gcexp", arguments), ("python", "")):
        with open(f"{home}/bin/{name}", "w") as script:
            script.write(SCRIPT.format(python=sys.executable, arguments=given))
        os.chmod(f"{home}/bin/{name}", 0o755)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{home}/socket")
        listening.listen(64)
        print("ready", flush=True)
        watched, children = [listening, sys.stdin], set()
        while sys.stdin in watched or children:
            ready, _, _ = select.select(watched, [], [], 0.1 if children else None)
            if sys.stdin in ready:
                watched.remove(sys.stdin)
            if listening in ready:
                connection, _ = listening.accept()
                _, files, _, _ = socket.recv_fds(connection, 1, 3)
                with connection.makefile() as said:
                    command, folder, environment = json.load(said)
                _import_for(command)
                child = os.fork()
                if child == 0:
                    listening.close()
                    _become(home, connection, files, command, folder, environment)
                connection.close()
                for descriptor in files:
                    os.close(descriptor)
                children.add(child)
            children -= {child for child in children if os.waitpid(child, os.WNOHANG)[0]}


def _import_for(command: list[str]) -> None:
    """Import what a command of this kind does, and nothing that depends on a folder; the first one takes long."""
    kind = "snakemake" if command[0] == "snakemake" else " ".join(command[1:3])
    for name in IMPORTED.get(kind, "").split():
        importlib.import_module(name)
    if kind == "snakemake":
        _read_for_plans()


@functools.cache
def _read_for_plans() -> None:
    """Read the library's sources, and ask every plug-in of Snakemake for its options."""
    import snakemake.cli

    from gcexp.run.dependencies import STAGES, stage_fingerprint

    for stage in STAGES:
        stage_fingerprint(stage)
    snakemake.cli.get_argument_parser()


def _become(
    home: str,
    connection: socket.socket,
    files: list[int],
    command: list[str],
    folder: str,
    environment: dict[str, str],
) -> None:
    """Be the command; never returns."""
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for descriptor, file in enumerate(files):
            os.dup2(file, descriptor)
        sys.stdin = open(0)
        sys.argv[:] = command
        sys.orig_argv[:] = command
        sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
        import sitecustomize  # noqa: F401

        if command[0] == "snakemake":
            import snakemake.cli

            sys.executable = f"{home}/bin/python"  # whose folder the workflow puts first on the path
            snakemake.cli.main(command[1:])
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
        connection.sendall(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    verb, home, *given = sys.argv[1:]
    if verb == "serve":
        serve(home)
    else:
        sys.exit(ask(home, ["gcexp", *given], os.getcwd(), dict(os.environ), [0, 1, 2]))
