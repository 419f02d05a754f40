"""Statements compared with instances: none is true for want of one."""

import pytest

from gcexp.errors import ParameterError
from gcexp_papers.partial_recovery import numerics, statements


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda: statements.statements(9, 0, 12), "definition_linear_condition"),
        (lambda: numerics.counted(0, 3, 3, 3, 3, 4, 3), "sets_of_workers"),
    ],
)
def test_nothing_holds_for_want_of_an_instance(made, name):
    with pytest.raises(ParameterError, match=f"^{name}: there is no instance to try$"):
        made()
