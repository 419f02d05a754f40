r"""The error that s stragglers cause: random, worst-case or given sets, with any decoding.

The error of a set is the normalised squared error ||c - 1||^2 / k of the decoded gradient sum_i c_i g_i. A worst case
is found exactly where it can be: by the code's guarantee, the closed form of a design, or by enumeration (what cannot
differ is counted once: independent blocks add up, copies of a worker go together, a code whose symmetry maps every
worker to every other has one of them pinned), or by branch and bound where that is asked for. Else it is a bracket: an
error that some set has, and a bound that none exceeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code
from gcexp.codes.composite import Kronecker, always_optimal
from gcexp.codes.iterative import iterate
from gcexp.codes.soft_bibd import SoftBIBD
from gcexp.decoding_error.adversary import bad_sets, path
from gcexp.decoding_error.straggler_sets import (
    all_sets,
    drawn_by_worker,
    random_sets,
    recorded,
    runs,
    without,
)
from gcexp.decoding_error.subset_errors import Rows, rows, search_worst, worst_of_size
from gcexp.delays.trace import Trace
from gcexp.errors import ParameterError, require, require_known
from gcexp.progress import bar
from gcexp.schema import fitted
from gcexp.seeding import rng
from gcexp.theory.errors import Parameters, bibd_error, bibd_weight, product_gram

KINDS = ("by_worker", "random", "recorded", "set", "worst")
DECODINGS = ("closed_form", "constant", "iterative", "one_step", "optimal", "own")
_OWN = ("closed_form", "own")  # two names for what the code itself does
MAX_SETS = 2_000_000  # survivor sets that are enumerated for each s, after symmetry
MAX_SEARCHED = 60_000_000  # the same for a search by branch and bound: all sets of six of 60
_DECODED = 100_000  # with a decoding that no elimination shares
_SAME = 1e-12
_TABLE = 20  # workers up to which all 2^n errors are held
_NUMBERS = 2**22


@dataclass(frozen=True)
class RandomError:
    """Errors of drawn or recorded sets of stragglers: mean, its standard error, and the largest met.

    Attributes
    ----------
    s : int or float
        Stragglers; their mean number where each worker straggles with a probability of its own.
    mean, stderr, largest : float
    trials : int
        Number of sets.
    coefficients : tuple of float, optional
        With the code's own decoder, the mean coefficient of each partition: the bias is what it differs from 1.
    coefficients_stderr : float, optional
        Largest standard error of these means.
    """

    s: float
    mean: float
    stderr: float
    largest: float
    trials: int
    coefficients: tuple[float, ...] | None = None
    coefficients_stderr: float | None = None


@dataclass(frozen=True)
class SetError:
    """Error of one set."""

    s: int
    error: float
    stragglers: tuple[int, ...]


@dataclass(frozen=True)
class WorstError:
    """The worst case lies between `lower`, the error of `stragglers`, and `upper`; they are equal where it is exact.

    `how` says where it comes from: ``guarantee``, ``closed form``, ``enumeration`` or ``bracket``.
    """

    s: int
    lower: float
    upper: float
    how: str
    stragglers: tuple[int, ...]

    @property
    def exact(self) -> bool:
        """Whether the worst case is known."""
        return self.lower == self.upper


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
        `steps` of gradient descent from zero; what the code itself does (`Code.decode`), under two names. With ``own``
        drawn and recorded sets also give the mean coefficient of each partition.
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
        return _over_sets(code, float((~responses).sum(1).mean()), responses, decoding, steps)
    if kind == "set":
        require(stragglers is not None, "kind=set needs stragglers, such as stragglers=[0,3]")
        responses = without(code.n, stragglers)
        silent = tuple(np.flatnonzero(~responses[0]).tolist())
        given = [s] if isinstance(s, (int, np.integer)) else list(s)
        require(given in ([], [len(silent)]), f"stragglers names {len(silent)} workers, but s={s}")
        return SetError(len(silent), float(errors_of(code, responses, decoding, steps)[0]), silent)
    several = isinstance(s, Iterable) and not isinstance(s, str)
    many = fitted(list[int], list(s) if several else [s], "s")  # type: ignore[arg-type]
    wrong = [one for one in many if not 0 <= one <= code.n]
    require(
        bool(many) and not wrong,
        f"the number of stragglers needs 0 <= s <= n, got n={code.n}, s={wrong[0] if wrong else many}",
    )
    for name, most in (("max_sets", max_sets), ("max_searched", max_searched)):
        require(most >= 0, f"{name} must be a number of sets >= 0, got {most}")
    if kind == "recorded":
        times = _recorded_times(fitted(str, trace, "trace"), code.n)
        found = [_over_sets(code, one, recorded(times, one), decoding, steps) for one in many]
    elif kind == "random":
        found = _random(code, many, decoding, trials, seed, steps)
    elif decoding == "optimal" or (decoding in _OWN and always_optimal(code)):
        found = _worst(code, many, seed, _Limits(max_sets, max_searched, progress))
    else:
        found = _worst_decoded(code, many, decoding, seed, steps, min(max_sets, _DECODED))
    return found if isinstance(s, Iterable) else found[0]


# --- Decodings ---------------------------------------------------------------------------------------------------


def errors_of(code: Code, responses, decoding: str = "optimal", steps: int = 10) -> np.ndarray:
    """Error of each survivor set, (U,), for boolean responses (U, n); sets may differ in size."""
    responses = np.atleast_2d(responses) > 0
    if decoding == "optimal":
        return rows(code).errors(responses)
    parts = _in_parts(code, responses)
    if decoding in ("one_step", "constant"):
        B = rows(code).B
        weight = np.append(0, equal_weight(code, np.arange(1, code.n + 1), decoding))
        return np.concatenate([((weight[p.sum(1), None] * (p @ B) - 1) ** 2).mean(1) for p in parts])
    if decoding == "iterative":
        return np.concatenate([iterate(code, p * code.messages, steps).bound[:, -1] for p in parts])
    return np.concatenate([((c - 1) ** 2).mean(1) for c in _own_coefficients(code, parts)])


def _in_parts(code: Code, responses: np.ndarray) -> list[np.ndarray]:
    """Survivor sets in pieces that are decoded together."""
    step = max(1, _NUMBERS // code.encoding.shape[0] // code.encoding.shape[1])
    return [responses[u : u + step] for u in range(0, len(responses), step)]


def _own_coefficients(code: Code, parts: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """What the code itself decodes, (U, k) for each of some arrays of survivors (U, n)."""
    for part in parts:
        yield code.decode(part * code.messages, partial=True).coefficients


def equal_weight(code: Code, survivors: np.ndarray, decoding: str) -> np.ndarray:
    """Weight of each of m >= 1 survivors, (M,) like m.

    Raises
    ------
    ParameterError
        For ``constant`` unless the code is a design, a product of two, or a Soft BIBD.
    """
    if decoding == "one_step":
        total = float(rows(code).B.sum())
        require(total > 0, f"one_step decoding needs a positive sum of the encoding, got {total:g}")
        return code.k * code.n / (total * survivors)
    if isinstance(code, SoftBIBD):
        return bibd_weight(code.d, code.shared, survivors)
    design = _design(_plain(code))
    if design is not None:
        return bibd_weight(design.load, design.intersection, survivors)
    factors = _factors(code)
    if factors is None:
        raise ParameterError(f"constant decoding is for designs, their products and Soft BIBDs, got {code!r}")
    a, b = factors
    return a.load * b.load * survivors / product_gram(a, b, survivors)


def _factors(code: Code | None) -> tuple[Parameters, Parameters] | None:
    """Parameters of two designs if the code is their product."""
    if not isinstance(code, Kronecker):
        return None
    a, b = (_design(_plain(part)) for part in (code.a, code.b))
    return (a, b) if a and b else None


def _design(rows: Rows) -> Parameters | None:
    """Parameters of messages with constant load and constant intersection below it (Lemma 5), in units of the load."""
    if rows.n == 0 or not _flat(rows.h) or not _flat(rows.G.diagonal()):
        return None
    apart = rows.G[~np.eye(rows.n, dtype=bool)]
    load, square = float(rows.h[0]), float(rows.G[0, 0])
    shared = float(apart[0]) if len(apart) else 0.0
    # 0/1 messages have ||row||^2 = load; others are scaled by load / ||row||^2, which no optimal error sees.
    if load <= 0 or not _flat(apart) or not 0 <= shared < square * (1 - 1e-9):
        return None
    scale = load / square
    redundancy = load * scale * rows.n / rows.k
    return Parameters(rows.n, rows.k, load * scale, redundancy, shared * scale * scale)


def _flat(values: np.ndarray) -> bool:
    return len(values) == 0 or bool(np.ptp(values) <= _SAME * np.abs(values).max())


# --- Random stragglers -------------------------------------------------------------------------------------------


def _random(code, many, decoding, trials, seed, steps) -> list[RandomError]:
    if decoding == "optimal":
        mine = rows(code)
        if code.n <= _TABLE and 2**code.n <= 32 * trials * len(many):
            _ = mine.table  # all sets at once are cheaper
        measure = mine.errors
    else:

        def measure(responses):
            return errors_of(code, responses, decoding, steps)

    found = []
    for s in many:
        sets = random_sets(code.n, s, trials, seed)
        if decoding == "own":
            found.append(_over_sets(code, s, sets, decoding, steps))
        else:
            found.append(_random_error(s, measure(sets)))
    return found


def _over_sets(code: Code, s: float, responses: np.ndarray, decoding: str, steps: int) -> RandomError:
    """Errors of some survivor sets (U, n), and with the code's own decoder the mean coefficients."""
    if decoding != "own":
        return _random_error(s, errors_of(code, responses, decoding, steps))
    c = np.concatenate(list(_own_coefficients(code, _in_parts(code, responses))))
    found = _random_error(s, ((c - 1) ** 2).mean(1))
    spread = float(c.std(axis=0, ddof=1).max()) if len(c) > 1 else float("nan")
    return replace(found, coefficients=tuple(c.mean(0).tolist()), coefficients_stderr=spread / len(c) ** 0.5)


def _random_error(s: float, errors: np.ndarray) -> RandomError:
    """Mean and spread of the errors of some sets."""
    trials = len(errors)
    spread = float(errors.std(ddof=1)) if trials > 1 else float("nan")  # one set tells nothing of it
    return RandomError(s, float(errors.mean()), spread / trials**0.5, float(errors.max()), trials)


def _recorded_times(trace: str, n: int) -> np.ndarray:
    """Times of the first n workers in every iteration of a trace, (iterations, n)."""
    model = Trace(trace)
    iterations = len(model.played_rows(model.recorded()))
    return model.draw((0,), iterations, n).arrival(1 / n, 0)[0]


# --- Worst case, optimal decoding --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Part:
    """Workers and partitions that share nothing with the others: one message for each class of copies."""

    rows: Rows
    classes: tuple[np.ndarray, ...]

    @property
    def weight(self) -> np.ndarray:
        """Workers in each class."""
        return np.array([len(members) for members in self.classes], dtype=int)


@dataclass(frozen=True)
class _Curve:
    """Bracket of a part for 0, 1, ... lost workers: errors times k, the classes that survive, and where from."""

    lower: np.ndarray
    upper: np.ndarray
    responses: np.ndarray
    exact: np.ndarray
    closed: bool = False


def bears(code: Code) -> int:
    """Most stragglers with which the code's promise holds whoever they are; n without quorums."""
    slack = [code.n]
    for quorum in code.quorums:
        sent = code.messages[list(quorum.workers)]
        slack.append(max((int((sent >= r).sum()) - q for r, q in quorum.need), default=-1))
    return min(slack)


def _promised(code: Code, s: int, else_bound: float = 1.0) -> float:
    """Upper bound on the error with s stragglers from the code's promise, or the other one if there is none."""
    if code.promise == "indicator" and s <= bears(code):
        return 1 - code.recovers / code.k
    return else_bound


@dataclass(frozen=True)
class _Limits:
    """Sets that are enumerated and searched at most, and whether a bar is shown."""

    enumerated: int
    searched: int = 0
    progress: bool = False


def _worst(code: Code, many: list[int], seed: int, limits: _Limits) -> list[WorstError]:
    found: dict[int, WorstError] = {}
    for s in many:
        if _promised(code, s) == 0:
            found[s] = WorstError(s, 0.0, 0.0, "guarantee", tuple(range(s)))
    asked = sorted({s for s in many if s not in found})
    if not asked:
        return [found[s] for s in many]
    mine = rows(code)
    parts = _parts(mine)
    single = len(parts) == 1
    curves, known = [], {}
    for part in parts:
        key = (part.rows.B.tobytes(), part.rows.k, part.weight.tobytes())
        if key not in known:
            wanted = asked if single else range(min(max(asked), int(part.weight.sum())) + 1)
            given = _product_sets(code, asked, part) if single else []
            known[key] = _curve(
                part, list(wanted), rng(seed, "monte_carlo", code.n, 0, 1), limits, given, code
            )
        curves.append(known[key])
    for s, (low, high, exact, silent) in _together(parts, curves, asked, code).items():
        high = min(high, _promised(code, s))
        if exact or high - low <= _SAME:
            high = low
        if all(curve.closed for curve in curves):
            how = "closed form"
        else:
            how = "enumeration" if exact else "bracket"
        found[s] = WorstError(s, low, max(low, high), how, silent)
    return [found[s] for s in many]


def _parts(mine: Rows) -> list[_Part]:
    """Connected components of workers and partitions, copies of a message merged (multiples of it are copies)."""
    n, k = mine.n, mine.k
    links = sparse.coo_array(mine.B != 0)
    graph = sparse.coo_array(
        (np.ones(links.nnz), (links.coords[0], n + links.coords[1])), shape=(n + k, n + k)
    )
    _, label = sparse.csgraph.connected_components(graph, directed=False)
    parts = []
    for one in np.unique(label):
        workers, partitions = np.flatnonzero(label[:n] == one), np.flatnonzero(label[n:] == one)
        B = mine.B[np.ix_(workers, partitions)]
        first = np.ones(len(B))
        if B.size:
            first = B[np.arange(len(B)), (B != 0).argmax(1)]
        direction = (B / np.where(first != 0, first, 1)[:, None]).round(12)
        _, place, which = np.unique(direction, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(place)  # classes by their first worker
        classes = tuple(workers[which.ravel() == c] for c in order)
        parts.append(_Part(Rows(B[np.sort(place)]), classes))
    return parts


def _curve(part: _Part, wanted: list[int], random, limits: _Limits, given, code: Code) -> _Curve:
    """Worst cases of one part when its lost workers number at most w, for each w in wanted; NaN for the others."""
    weight, rows = part.weight, part.rows
    total, classes, k = int(weight.sum()), len(weight), rows.k
    every = np.ones(total + 1, dtype=bool)
    if not classes or not k:  # a partition that nobody holds, a worker without partitions
        value = np.full(total + 1, float(k))
        responses = np.arange(total, -1, -1)[:, None] > np.zeros(classes)
        return _Curve(value, value, responses, every, closed=True)
    equal = bool((weight == weight[0]).all())
    design = _design(rows) if equal else None
    if design is not None:
        lost = np.arange(total + 1) // weight[0]
        value = k * bibd_error(design, lost)
        value[value < _SAME * k] = 0
        return _Curve(value, value, np.arange(classes) >= lost[:, None], every, closed=True)
    # Copies of a message go together where all classes have as many; else they are messages that depend on each other.
    single = rows if equal else Rows(np.repeat(rows.B, weight, axis=0))

    def heard(left: np.ndarray) -> np.ndarray:
        """Classes of which one worker survives at least."""
        if equal:
            return left
        return np.logical_or.reduceat(left, weight.cumsum() - weight)

    lower, upper = np.full(total + 1, np.nan), np.full(total + 1, np.nan)
    responses, exact = np.zeros((total + 1, classes), dtype=bool), ~every
    searched: dict[int, tuple[int, int]] = {}
    if classes <= _TABLE and 2**classes <= limits.enumerated:
        lost = np.full(1, total)
        for counted in weight:  # class c is bit c: sets without it first, then those with it
            lost = np.concatenate([lost, lost - counted])
        for w in np.unique(lost):
            sets = np.flatnonzero(lost == w)
            top = sets[rows.table[sets].argmax()]
            lower[w], responses[w] = rows.table[top], top >> np.arange(classes) & 1
        for w in range(1, total + 1):
            # A weight that no set has, or that a smaller set of classes does worse with.
            if not lower[w] >= lower[w - 1]:
                lower[w], responses[w] = lower[w - 1], responses[w - 1]
        exact[:] = True
    else:
        pinned = _transitive(single)
        for w in wanted:
            gone = w * single.n // total
            count: float = comb(single.n, gone)
            if pinned:
                count *= min(gone, single.n - gone) / single.n
            if count <= limits.searched and 3 <= gone <= single.n / 2:
                searched[w] = gone, round(count)
            elif count <= limits.enumerated:
                lower[w], left = worst_of_size(single, gone, pinned)
                responses[w] = heard(left)
                exact[w] = True
    lower[lower < _SAME] = 0
    upper[exact] = lower[exact]
    for w, (gone, count) in searched.items():
        *_, (greedy, _) = path(rows, weight, w, random)
        known = float(rows.errors(greedy[None])[0])
        with suppress(np.linalg.LinAlgError), bar(count, f"s = {w}", "set", limits.progress) as moving:
            found = search_worst(single, gone, known, pinned, moving.update)
            if found:
                worst, left = found
                lower[w], responses[w] = worst, heard(left)
            else:
                lower[w], responses[w] = known, greedy
            upper[w], exact[w] = lower[w], True
    rest = [w for w in wanted if not exact[w]]
    if rest:
        lower[rest], responses[rest] = bad_sets(rows, weight, rest, random, given)
        most_classes = [int((np.sort(weight).cumsum() <= w).sum()) for w in rest]
        upper[rest] = upper_bounds(rows, most_classes, code)
    # The error does not decrease when one more worker is lost.
    upper[wanted] = np.minimum.accumulate(upper[wanted][::-1])[::-1]
    for before, w in zip(wanted, wanted[1:], strict=False):
        if lower[before] > lower[w]:
            lower[w], responses[w] = lower[before], responses[before]
    return _Curve(lower * k, upper * k, responses, exact)


def _transitive(rows: Rows) -> bool:
    """Whether shifts (of all workers, or in a two-way table of them) map every worker to every other."""
    n, G, h = rows.n, rows.G, rows.h
    if n < 2 or not (_flat(h) and _flat(G.diagonal())):
        return False
    for b in range(1, n + 1):
        if n % b:
            continue
        table = np.arange(n).reshape(n // b, b)
        moves = [np.roll(table, 1, axis).ravel() for axis in (0, 1) if table.shape[axis] > 1]
        if all(np.abs(G[np.ix_(p, p)] - G).max() <= _SAME * np.abs(G).max() for p in moves):
            return True
    return False


def _together(parts, curves, asked, code) -> dict[int, tuple]:
    """Lower and upper end, whether exact, and the stragglers, split over the parts in the worst way (Lemma 8)."""
    if len(parts) == 1:
        lower, upper = curves[0].lower, curves[0].upper
        splits, exact = {s: [s] for s in asked}, curves[0].exact
    else:
        lower, choices = _split([curve.lower for curve in curves], max(asked))
        upper, _ = _split([curve.upper for curve in curves], max(asked))
        splits = {s: _traced(choices, s) for s in asked}
        exact = np.ones(max(asked) + 1, dtype=bool)
        for s in range(len(exact)):
            exact[s] = all(curve.exact[: s + 1].all() for curve in curves)
    found = {}
    for s in asked:
        lost = np.zeros(code.n, dtype=bool)
        for part, curve, share in zip(parts, curves, splits[s], strict=True):
            for members, kept in zip(part.classes, curve.responses[share], strict=True):
                lost[members] |= not kept
        lost[np.flatnonzero(~lost)[: s - lost.sum()]] = True  # who is left over changes nothing
        silent = tuple(np.flatnonzero(lost).tolist())
        found[s] = (float(lower[s] / code.k), float(upper[s] / code.k), bool(exact[s]), silent)
    return found


def _split(curves: list[np.ndarray], most: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Largest sums for 0, ..., most stragglers, and how many of them each part gets."""
    best, choices = np.zeros(1), []
    for curve in curves:
        last = min(most, len(best) + len(curve) - 2)
        sums = np.full((last + 1, len(curve)), -np.inf)
        for share in range(len(curve)):
            rest = best[: max(0, last + 1 - share)]
            sums[share : share + len(rest), share] = rest + curve[share]
        choices.append(sums.argmax(1))
        best = sums.max(1)
    return best, choices


def _traced(choices: list[np.ndarray], s: int) -> list[int]:
    shares = []
    for choice in reversed(choices):
        shares.append(int(choice[s]))
        s -= shares[-1]
    return shares[::-1]


def _product_sets(code: Code, asked: list[int], part: _Part) -> list[np.ndarray]:
    """Survivors F1 x F2 of a product, for each pair of sizes into which n - s survivors fit (Theorem 6).

    F_i is what a greedy adversary leaves of the factor; workers of F1 x F2 beyond n - s are lost as well.
    """
    if not isinstance(code, Kronecker) or len(part.classes) != code.n:
        return []
    orders = []  # first lost, ..., last lost
    for factor in (code.a, code.b):
        mine = rows(factor)
        losses = path(mine, np.ones(mine.n, dtype=int), mine.n, np.random.default_rng(0))
        ranks = np.array([responses for responses, _ in losses]).sum(0)
        orders.append(np.argsort(ranks, kind="stable"))
    found, (n1, n2) = [], (code.a.n, code.b.n)
    for left in sorted({code.n - s for s in asked} - {0}):
        for m1 in range(1, n1 + 1):
            m2 = -(-left // m1)
            if m2 <= n2:
                responses = np.zeros((n1, n2), dtype=bool)
                responses[np.ix_(orders[0][n1 - m1 :], orders[1][n2 - m2 :])] = True
                responses.flat[np.flatnonzero(responses)[left:]] = False
                found.append(responses.ravel())
    return found


# --- Upper bounds ------------------------------------------------------------------------------------------------


def upper_bounds(rows: Rows, lost: Sequence[int], code: Code | None = None) -> list[float]:
    r"""Bounds on the error with optimal decoding after losing so many messages: the best of a few equal weights.

    With weights a D_jj on m survivors, 1_F their indicator: k e <= k - 2 a x + a^2 y with x = 1_F^T D h and
    y = 1_F^T D G D 1_F, so e <= 1 - x^2 / (k y). x is at least the sum of the m smallest D_jj h_j. y is at most

    * lambda_2 m + (lambda_1 - lambda_2) V^2, where lambda are eigenvalues of D G D and V bounds |v . 1_F| for the first
      eigenvector v: the spectral bound, x / (1 + x) with x = sigma_2^2 n s / (k r^2 m) for a biregular code;
    * the sum of the m largest row sums of D G D over a worker and its m - 1 closest partners;
    * for a product of two designs and D = 1, the tight form of Lemma 10.

    D is 1, 1/h, or the best weights when nobody straggles, where these are positive. Where the rows are the messages of
    `code`, a product is known as one.

    Examples
    --------
    >>> from gcexp.codes.expander import RandomRegularCode
    >>> code = RandomRegularCode(n=40, d=4)
    >>> sigma = np.linalg.svd(code.encoding.toarray(), compute_uv=False)
    >>> x = sigma[1] ** 2 * 10 / 30
    >>> bool(abs(upper_bounds(rows(code), [10])[0] - x / (1 + x)) < 1e-9)
    True
    """
    n = rows.n
    factors = _factors(code) if code is not None and code.n == n else None
    bounds = np.ones((3, len(lost)))
    for number, D in enumerate(_scales(rows)):
        h, G = np.sort(D * rows.h), D[:, None] * rows.G * D
        gram = _Quadratic(G)
        for i, m in enumerate(n - np.asarray(lost)):
            x = float(h[:m].sum())
            if m <= 0 or x <= 0:
                continue
            y = gram.bound(m)
            if number == 0 and factors:
                y = min(y, float(product_gram(*factors, m, tight=True)))
            bounds[number, i] = 1 - x * x / (rows.k * y)
    return bounds.min(0).clip(0).tolist()


class _Quadratic:
    """Bounds on 1_F^T G 1_F over all sets F of m workers."""

    def __init__(self, G: np.ndarray):
        values, vectors = np.linalg.eigh(G)
        self.first, self.second = float(values[-1]), 0.0
        if len(values) > 1:
            self.second = max(float(values[-2]), 0.0)
        self.v = np.sort(vectors[:, -1])
        off = np.sort(np.where(np.eye(len(G), dtype=bool), -np.inf, G), axis=1)[:, :0:-1]
        self.partners = G.diagonal()[:, None] + np.pad(off.cumsum(1), ((0, 0), (1, 0)))

    def bound(self, m: int) -> float:
        V = min(m, max(self.v[-m:].sum() ** 2, self.v[:m].sum() ** 2))
        spectral = self.second * m + (self.first - self.second) * V
        return min(float(spectral), float(np.sort(self.partners[:, m - 1])[-m:].sum()))


def _plain(code: Code) -> Rows:
    """Messages of a plain-sum code; none for others, whose loads are in other units."""
    found = rows(code)
    if np.isin(found.B, (0, 1)).all():
        return found
    return Rows(np.zeros((0, 0)))


def _scales(rows: Rows) -> list[np.ndarray]:
    found = [np.ones(rows.n)]
    if (rows.h > 0).all():
        found.append(1 / rows.h)
    best = np.linalg.lstsq(rows.G, rows.h, rcond=1e-10)[0]
    if (best > 1e-9).all():
        found.append(best)
    return found


# --- Worst case, other decodings ---------------------------------------------------------------------------------


def _worst_decoded(code, many, decoding, seed, steps, max_sets) -> list[WorstError]:
    """By decoding every set, else the worst of likely ones and what decoding and promise rule out."""
    found = []
    for s in many:
        exact = comb(code.n, s) <= max_sets
        sets = all_sets(code.n, s) if exact else [_likely(code, s, seed)]
        low, worst_set = -1.0, np.ones(code.n, dtype=bool)
        for responses in sets:
            errors = errors_of(code, responses, decoding, steps)
            if errors.max() > low:
                low, worst_set = float(errors.max()), responses[errors.argmax()]
        high = low if exact else max(low, _decoded_bound(code, s, decoding))
        if high - low <= _SAME:
            high = low
        stragglers = tuple(np.flatnonzero(~worst_set).tolist())
        if exact:
            how = "enumeration"
        else:
            how = "guarantee" if high == low else "bracket"
        found.append(WorstError(s, low, high, how, stragglers))
    return found


def _likely(code: Code, s: int, seed: int) -> np.ndarray:
    """Survivor sets among which a bad one may be: consecutive stragglers, holders of each partition, random ones."""
    sets = [runs(code.n, s), random_sets(code.n, s, 200, seed)]
    held = np.unique(code.assignment.T, axis=0)
    order = rng(seed, "monte_carlo", code.n, s, 1).permutation(code.n)
    groups = []
    for first in held[held.sum(1) <= s][:200]:
        lost = first.copy()
        for other in held[np.argsort((held & ~first).sum(1), kind="stable")]:
            if (lost | other).sum() <= s:
                lost |= other
        lost[order[~lost[order]][: s - lost.sum()]] = True
        groups.append(~lost)
    return np.concatenate([*sets, np.array(groups, dtype=bool).reshape(-1, code.n)])


def _decoded_bound(code: Code, s: int, decoding: str) -> float:
    """Upper bound on the error of any s stragglers; infinite where nothing is known."""
    if decoding == "iterative":
        return 1.0
    if decoding in _OWN:
        return _promised(code, s, np.inf)
    mine, m = rows(code), code.n - s
    weight = float(equal_weight(code, np.array([m]), decoding)[0])
    x, y = float(np.sort(mine.h)[:m].sum()), _Quadratic(mine.G).bound(m)
    return 1 + (weight * weight * y - 2 * weight * x) / code.k
