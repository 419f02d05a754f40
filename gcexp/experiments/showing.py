"""The first iteration of a run as a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gcexp.run.given import Given
from gcexp.run.run import Run
from gcexp.schema import fitted

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from gcexp.codes import Code
    from gcexp.schemes.scheme import Scheme


def show(*overrides: str, seed: int = 0, **keys: Any) -> Figure:
    """Draw the first iteration of a seed: a strip per worker, the stop, and the messages that are decoded with.

    Parameters
    ----------
    *overrides : str
        Hydra overrides, as on the command line: ``"code.beta=15"``.
    seed : int
        Whose draws are shown.
    **keys
        The same as keyword arguments, as in `gcexp.simulate`: ``scheme="cgc", n=8, s=2, delay="pareto"``.

    Returns
    -------
    matplotlib.figure.Figure
        Times in simulated seconds; workers by their seat in the code.

    Raises
    ------
    UserError
        For an unknown key or option, and for a value outside what the mathematics allows.

    Examples
    --------
    >>> import gcexp
    >>> figure = gcexp.show(scheme="cgc", n=6, s=2, delay="pareto")
    >>> [axes.get_title() for axes in figure.axes]
    ['who is heard', 'what is decoded with']
    """
    from gcexp.figures import gantt, style
    from gcexp.timeline import first_iteration, in_times_of

    given = Given.of(overrides, keys)
    seed = fitted(int, seed, "seed")
    run = Run.of(given.overrides, given.objects, trains=False)
    scheme = in_times_of(run.scheme_of(seed), run.delay_model)
    code = scheme.code
    iteration = first_iteration(scheme, run.delay_model.draw((seed,), 1, code.n))
    responses = scheme.counted(iteration.responses[None])[0]
    heard = f"{int((responses > 0).sum())} of {code.n} workers heard"
    decoded = _decoded_in_words(scheme, iteration.responses)
    title = f"{type(code).__name__}, n = {code.n}: stop at {iteration.stop:.3g} s, {heard}, {decoded}"
    note = f"First iteration of seed {seed} on the simulated clock. Upright marks are messages that have arrived."
    with style.applied():
        return gantt.strips(
            iteration.computed,
            iteration.arrived,
            iteration.stop,
            responses,
            _partitions_in_messages(code),
            code.k,
            title,
            note,
        )


def _decoded_in_words(scheme: Scheme, responses: np.ndarray) -> str:
    """What is decoded from the responses (n,) of an iteration."""
    if scheme.bound:
        return "a bound: nothing is decoded"
    if not scheme.decodes:
        return "a clock only: nothing is decoded yet"
    coefficients = scheme.decoder.decode(responses[None], partial=True).coefficients[0]
    return f"{int((coefficients == 1).sum())} of {scheme.code.k} partitions decoded"


def _partitions_in_messages(code: Code) -> list[list[np.ndarray]]:
    """The partitions in each message, by worker and in the order of its messages."""
    rows = code.encoding.tocsr()
    of_workers: list[list[np.ndarray]] = [[] for _ in range(code.n)]
    for row, owner in enumerate(code.owner):
        columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        of_workers[owner].append(columns // code.blocks)
    return of_workers
