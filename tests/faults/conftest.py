"""Builds with faults are no tests of pytest: `make test-faults` runs them."""

collect_ignore_glob = ["*.py"]
