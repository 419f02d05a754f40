"""``python -m gcexp`` is the command ``gcexp``."""

import sys

from gcexp.command.main import main

if __name__ == "__main__":
    sys.exit(main())
