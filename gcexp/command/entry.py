"""Where ``gcexp`` begins: a command is handed to the fork server where there is one, else it runs here.

Next to nothing is imported before that: many jobs of the quick preset are shorter than the imports of `main`.
"""

import os
import sys


def main() -> int:
    """Exit code of the command on the command line: see `gcexp.command.main.main`."""
    if os.environ.get("GCEXP_WARM"):
        from gcexp.command.forkserver import forwarded

        try:
            code = forwarded(sys.argv[1:])
        except KeyboardInterrupt:
            print("gcexp: interrupted", file=sys.stderr)
            return 130
        if code is not None:
            return code
    from gcexp.command import lazy
    from gcexp.command.main import main

    lazy.install()
    return main()


if __name__ == "__main__":
    sys.exit(main())
