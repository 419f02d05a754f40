"""Statements compared with instances: none is true for want of one."""

import pytest

from gcexp.errors import ParameterError
from gcexp_papers.dynamic_clustering import statements


def test_nothing_holds_for_want_of_an_instance():
    with pytest.raises(ParameterError, match="^gc_any_threshold_codewords: there is no instance to try$"):
        statements.statements(gc_up_to=1, draws=1, seed=0)
