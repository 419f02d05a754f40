r"""The error that s stragglers cause: random, worst-case or given sets, with any decoding.

The error of a set is the normalised squared error ||c - 1||^2 / k of the decoded gradient sum_i c_i g_i. A worst case
is found exactly where it can be: by the code's guarantee, the closed form of a design, or by enumeration (what cannot
differ is counted once: independent blocks add up, copies of a worker go together, a code whose symmetry maps every
worker to every other has one of them pinned), or by branch and bound where that is asked for. Else it is a bracket: an
error that some set has, and a bound that none exceeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.composite import always_optimal
from gcexp.decoding_error.decodings import DECODINGS, OWN, equal_weight, errors_of
from gcexp.decoding_error.many_sets import error_over_sets, random_errors, recorded_times
from gcexp.decoding_error.part_curve import Limits
from gcexp.decoding_error.promise import bears
from gcexp.decoding_error.results import RandomError, SetError, WorstError
from gcexp.decoding_error.straggler_sets import drawn_by_worker, recorded, without
from gcexp.decoding_error.worst_case import worst_errors
from gcexp.decoding_error.worst_decoded import worst_decoded
from gcexp.errors import require, require_known
from gcexp.schema import fitted

__all__ = [
    "KINDS",
    "MAX_SEARCHED",
    "MAX_SETS",
    "RandomError",
    "SetError",
    "WorstError",
    "bears",
    "equal_weight",
    "error",
    "errors_of",
]

KINDS = ("by_worker", "random", "recorded", "set", "worst")
MAX_SETS = 2_000_000  # survivor sets that are enumerated for each s, after symmetry
MAX_SEARCHED = 60_000_000  # the same for a search by branch and bound: all sets of six of 60


def error(
    code: Code,
    s: int | Sequence[int],
    kind: str = "worst",
    decoding: str = "optimal",
    *,
    stragglers: Iterable[int] | None = None,
    p: float | Sequence[float] | None = None,
    trace: str | None = None,
    trials: int = 2000,
    seed: int = 0,
    steps: int = 10,
    max_sets: int = MAX_SETS,
    max_searched: int = 0,
    progress: bool = False,
):
    r"""Normalised squared error of a code with s stragglers.

    Parameters
    ----------
    code : Code
        With optimal decoding: one block, one real message per worker; else any.
    s : int or sequence of int
        Stragglers. Many at once cost little more than one.
    kind : {"worst", "random", "by_worker", "recorded", "set"}
        Over all sets of s stragglers; over `trials` uniformly random ones, the same for every code with n workers and
        the same seed; over `trials` sets that worker w joins with probability p_w (s is then not asked for); over the s
        slowest of the first n workers in each iteration of a `trace`; of the set `stragglers` (s is then its size).
    decoding : {"optimal", "one_step", "constant", "iterative", "own", "closed_form"}
        Smallest ||c - 1||; equal weights k n / (m sum B) on the m survivors, for which c is 1 on average; the equal
        weights that are optimal for a design, l / (l + lambda (m - 1)), or lead to Theorem 5 for a product of two;
        `steps` of gradient descent from zero; what the code itself does (`Code.decode`), under two names. Beyond the s
        stragglers that they are built for this is least squares for clustered codes, cyclic repetition and
        Reed-Solomon codes. With ``own`` drawn and recorded sets also give the mean coefficient of each partition.
    stragglers : iterable of int
        For kind ``set``.
    p : float or sequence of float
        For kind ``by_worker``: of all workers alike, or one number for each.
    trace : str
        For kind ``recorded``: a CSV file, or a bundled trace by its name.
    trials, seed : int
        Random sets, and the seed of these and of the search for bad ones.
    steps : int
        Of the iterative decoding.
    max_sets : int
        Most sets that are enumerated for each s.
    max_searched : int
        Most sets among which the worst is searched for by branch and bound instead: all of 60 million take about two
        seconds, the 390 million of seven of 60 workers 3 to 20. For optimal decoding, with three stragglers to half the
        workers. It ends in a bracket where 100 000 sets had to be decoded, after some 20 seconds: so with far fewer
        partitions than workers, where most sets lose nothing.
    progress : bool
        Show a progress bar of that search on a terminal.

    Returns
    -------
    WorstError, RandomError or SetError
        A list of them for a sequence s.

    Raises
    ------
    ParameterError
        Unless 0 <= s <= n and both limits are >= 0; for an unknown kind or decoding, or one that the code lacks.

    References
    ----------
    Sakorikar, Wang: Soft BIBD and product gradient codes, arXiv 2105.05231, equation (4), Lemmas 3, 5, 8, 10.

    Examples
    --------
    >>> from gcexp.codes.repetition import FractionalRepetition
    >>> error(FractionalRepetition(n=12, d=3), 4)
    WorstError(s=4, lower=0.25, upper=0.25, how='closed form', stragglers=(0, 1, 2, 3))
    >>> from gcexp.codes.block_design import BlockDesign
    >>> [round(e.upper, 4) for e in error(BlockDesign(n=16, design="bent-2"), [4, 8, 12])]
    [0.0357, 0.1, 0.25]
    """
    fitted(Code, code, "code")
    require_known("kind", fitted(str, kind, "kind"), KINDS)
    require_known("decoding", fitted(str, decoding, "decoding"), DECODINGS)
    for name, value, its_kind in (("p", p, "by_worker"), ("trace", trace, "recorded")):
        require((value is None) == (kind != its_kind), f"{name} is for kind={its_kind}, which needs it")
    if kind == "by_worker":
        require(
            isinstance(s, Iterable) and not list(s), f"with kind=by_worker p decides who straggles, not s={s}"
        )
        responses = drawn_by_worker(code.n, p, trials, seed)
        mean_stragglers = float((~responses).sum(1).mean())
        return error_over_sets(code, mean_stragglers, responses, decoding, steps)
    if kind == "set":
        return _error_of_set(code, s, stragglers, decoding, steps)
    sizes = _numbers_of_stragglers(code, s)
    for name, most in (("max_sets", max_sets), ("max_searched", max_searched)):
        require(most >= 0, f"{name} must be a number of sets >= 0, got {most}")
    errors: Sequence[RandomError | WorstError]
    if kind == "recorded":
        times = recorded_times(fitted(str, trace, "trace"), code.n)
        errors = [error_over_sets(code, size, recorded(times, size), decoding, steps) for size in sizes]
    elif kind == "random":
        errors = random_errors(code, sizes, decoding, trials, seed, steps)
    elif decoding == "optimal" or (decoding in OWN and always_optimal(code)):
        errors = worst_errors(code, sizes, seed, Limits(max_sets, max_searched, progress))
    else:
        errors = worst_decoded(code, sizes, decoding, seed, steps, max_sets)
    return errors if isinstance(s, Iterable) else errors[0]


def _error_of_set(
    code: Code, s: int | Sequence[int], stragglers: Iterable[int] | None, decoding: str, steps: int
) -> SetError:
    """Error of the set `stragglers`; s is its size, or an empty sequence."""
    require(stragglers is not None, "kind=set needs stragglers, such as stragglers=[0,3]")
    responses = without(code.n, stragglers)
    silent = tuple(np.flatnonzero(~responses[0]).tolist())
    sizes = [s] if isinstance(s, (int, np.integer)) else list(s)
    require(sizes in ([], [len(silent)]), f"stragglers names {len(silent)} workers, but s={s}")
    return SetError(len(silent), float(errors_of(code, responses, decoding, steps)[0]), silent)


def _numbers_of_stragglers(code: Code, s: int | Sequence[int]) -> list[int]:
    """The numbers of stragglers that are asked for, each from 0 to n."""
    several = isinstance(s, Iterable) and not isinstance(s, str)
    sizes = fitted(list[int], list(s) if several else [s], "s")  # type: ignore[arg-type]
    outside = [size for size in sizes if not 0 <= size <= code.n]
    require(
        bool(sizes) and not outside,
        f"the number of stragglers needs 0 <= s <= n, got n={code.n}, s={outside[0] if outside else sizes}",
    )
    return sizes
