"""Does your code, waiting rule, delay model or task keep its contract? The checks that gcexp's own ones pass.

In a test file of yours, one test for each subject and check::

    from functools import partial

    from gcexp.codes import CyclicRepetition
    from gcexp.schemes import Scheme
    from gcexp.testing import parametrize_with_checks
    from mylab import Laplace, Mirror, Patience


    @parametrize_with_checks(
        codes=[partial(Mirror, n=4), partial(Mirror, n=6)],
        waits=[Scheme(CyclicRepetition(n=5, s=2), Patience(3))],
        delays=[Laplace(mean=2.0)],
    )
    def test_contract(check):
        check()

Without pytest, ``for check in checks(codes=[...]): check()`` raises an `AssertionError` that says what is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gcexp.codes import Code
from gcexp.delays import DelayModel
from gcexp.schemes import Scheme
from gcexp.testing.check import Check
from gcexp.testing.codes import CodeContract
from gcexp.testing.delays import DelayContract
from gcexp.testing.tasks import TaskContract
from gcexp.testing.waits import WaitContract

if TYPE_CHECKING:
    from gcexp.data import Dataset

__all__ = [
    "Check",
    "CodeContract",
    "DelayContract",
    "TaskContract",
    "WaitContract",
    "checks",
    "parametrize_with_checks",
]


def checks(
    *,
    codes: Iterable[Callable[..., Code]] = (),
    waits: Iterable[Scheme | tuple[Scheme, DelayModel]] = (),
    delays: Iterable[DelayModel | tuple[DelayModel, int]] = (),
    tasks: Iterable[tuple[Any, Dataset, int]] = (),
) -> Iterator[Check]:
    """Every check of every subject.

    Parameters
    ----------
    codes : iterable of callables
        What builds a code: a class that takes nothing, or ``partial(Mirror, n=4)``.
    waits : iterable of Scheme, or (Scheme, delay model)
        A waiting rule with a code that it can use, and where it needs one, a delay model.
    delays : iterable of delay models, or (delay model, n)
        `n` is a number of workers that it can be drawn for, at least 2; default 10.
    tasks : iterable of (task, Dataset, k)
        Data that the task can be bound to, cut into k partitions.

    Yields
    ------
    Check

    Examples
    --------
    >>> from functools import partial
    >>> from gcexp.codes import Uncoded
    >>> found = list(checks(codes=[partial(Uncoded, n=3)]))
    >>> print(found[0])
    Uncoded(n=3)-has_shapes_that_fit
    >>> for check in found:
    ...     check()
    """
    kinds: tuple[tuple[type, Iterable], ...] = (
        (CodeContract, codes),
        (WaitContract, waits),
        (DelayContract, delays),
        (TaskContract, tasks),
    )
    for contract, subjects in kinds:
        for subject in subjects:
            case = contract(*subject) if isinstance(subject, tuple) else contract(subject)
            for name in vars(contract):
                if name.startswith("check_"):
                    yield Check(case.name, name.removeprefix("check_"), getattr(case, name))


def parametrize_with_checks(**subjects: Iterable):
    """Decorator: a test with the argument `check`, once for every check of every subject; see `checks`."""
    import pytest

    return pytest.mark.parametrize("check", list(checks(**subjects)), ids=str)
