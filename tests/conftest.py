"""What every test may use."""

import sys

import pytest


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(("gcexp.run.", "gcexp.report.")):
            for function in list(vars(module).values()):
                if hasattr(function, "cache_clear"):
                    function.cache_clear()


@pytest.fixture
def forget():
    """Make this process know what a fresh one knows, now and after the test; call it for once more."""
    _forget()
    yield _forget
    _forget()


@pytest.fixture(scope="session")
def composed(tmp_path_factory):
    """A folder to be linked as .cache: what one test composed serves the others, since it is named by its options."""
    return tmp_path_factory.mktemp("cache")
