"""A process that has imported Snakemake and read the code of the stages, and forks one child per start of Snakemake.

Importing it and its plug-ins and parsing the modules that a plan depends on is most of a dry run. A child starts from
what does not depend on folder, options or environment; those are set before Snakemake's own entry point runs. Tests
that edit the code or kill processes start Snakemake as a person does.
"""

import atexit
import json
import os
import signal
import sys


def serve() -> None:
    """Requests as JSON, one a line; the answer is the exit code."""
    import jsonschema  # noqa: F401
    import smart_open  # noqa: F401
    import snakemake.cli
    import snakemake.dag
    import snakemake.workflow
    import snakemake_logger_plugin_rich.handler  # noqa: F401

    import gcexp.command.forkserver
    import gcexp.command.progress
    import gcexp.delays
    import gcexp.report.audit
    import gcexp.report.end_message
    import gcexp.schemes  # noqa: F401
    from gcexp.run.dependencies import STAGES, tracked

    for stage in STAGES:
        tracked(stage)
    snakemake.cli.get_argument_parser()  # asks every plug-in for its options
    print("ready", flush=True)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            _answer(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _answer(arguments: list[str], folder: str, environment: dict, output: str, seconds: int) -> None:
    """Become the command; never returns."""
    import snakemake.cli

    code = 1
    try:
        os.setsid()
        signal.alarm(seconds)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for descriptor, path in ((0, os.devnull), (1, output)):
            os.dup2(os.open(path, os.O_RDWR), descriptor)
        os.dup2(1, 2)
        sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
        sys.argv[:] = ["snakemake", *arguments]
        import sitecustomize  # noqa: F401

        snakemake.cli.main(arguments)
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()  # what the workflow says last
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
