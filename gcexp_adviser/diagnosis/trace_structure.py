"""The lasting structure of a trace in words (slow workers, common slowdowns, bursts, drift), and a barrier test."""

from __future__ import annotations

import numpy as np

LEAST_ROWS = 40  # of fewer chance alone gives correlations near 1 among many pairs
_BEYOND_CHANCE = 6.0  # standard deviations: among the 10^5 pairs of 450 workers chance gives 5
_RARE = 1e-6  # probability by chance, before the number of places is counted
_SELDOM = 1e-4  # the same for one worker among few
_BLOCKS, _TREND = 10, 8.0  # parts of a run that are compared, and the t value above which a trend is one
_EQUAL, _NEARLY_EQUAL = 0.006, 0.03  # scatter of the times of one iteration, in logarithms
_MOST_NAMED = 6  # groups or stretches


def structure(times: np.ndarray, workers: tuple[int, ...], names: tuple | None = None) -> list[str]:
    """Sentences on the structure of a trace (R, N); none for effects that chance alone would explain.

    They tell of slow workers by how far their times are above the median of an iteration, throughout or at times; of
    groups of workers by the rank correlation of their times over the iterations, against its spread for independent
    workers that are as persistent as these; of bursts by how often a slow iteration of a worker (half as long again as
    its median and three deviations above it) follows another, and by how many workers are slow at once, against the
    binomial law; of drift by the means of ten parts of the run.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> rack = np.repeat(1 + draw.exponential(size=(200, 2)), 3, axis=1)
    >>> structure(rack * (1 + 0.01 * draw.random((200, 6))), tuple(range(6)))
    ['racks: workers move together in 2 groups (0-2; 3-5): correlation 1.00 inside, -0.08 between']
    """
    logs = np.log(times)
    names = workers if names is None else names
    return [*_slow_workers(logs, names), *_racks(logs, workers), *_bursts(logs), *_drift(logs)]


def barrier(times: np.ndarray) -> tuple[str, str]:
    """Whether times look as if they had been stamped after a barrier, so that every worker has the slowest one's time.

    The answer is a verdict and a sentence about it; both are empty if the times look right.

    Within a row the logarithms of the times scatter by s (the median over rows of their standard deviation), and the
    logarithms of the row medians by V. Honest workers differ from each other at least as much as iterations do. Times
    are ``equalised`` where s <= .006 and V >= max(2 s, .005), for three workers or more: no scheme can be priced from
    them. They are ``doubtful`` where s <= .03, and two times of an iteration have a correlation of at least .9.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> honest = np.exp(0.1 * draw.standard_normal((100, 6)))
    >>> after = honest.max(1, keepdims=True) * np.exp(0.001 * draw.standard_normal((100, 6)))
    >>> barrier(honest), barrier(after)[0]
    (('', ''), 'equalised')
    """
    T, n = times.shape
    if n < 3 or T < 2:
        return "", ""
    logs = np.log(times)
    within = float(np.median(logs.std(axis=1, ddof=1)))
    across = float(np.median(logs, axis=1).std())
    if within <= _EQUAL and across >= max(2 * within, 0.005):
        return "equalised", (
            f"the times of all workers agree to {within:.2%} within an iteration while iterations differ by "
            f"{across:.1%}: they look as if they were stamped after the barrier, where everybody has waited for the "
            "slowest; stamp them before the all-reduce"
        )
    rows = logs.mean(1)
    between = n * rows.var(ddof=1)
    rest = ((logs - rows[:, None]) ** 2).sum() / (T * (n - 1))
    alike = (between - rest) / (between + (n - 1) * rest) if between + rest > 0 else 0.0
    if within <= _NEARLY_EQUAL and alike >= 0.9:
        return "doubtful", (
            "the times of all workers are nearly equal within each iteration: they may have been stamped after the "
            "barrier"
        )
    return "", ""


def _slow_workers(logs: np.ndarray, names: tuple) -> list[str]:
    """Workers that are lastingly slower than all others, and workers that are at times slower than usual."""
    if logs.shape[1] < 4:
        return []
    own = logs - np.median(logs, axis=1, keepdims=True)
    return [*_slow_throughout(own, names), *_slow_at_times(own, names)]


def _slow_throughout(own: np.ndarray, names: tuple) -> list[str]:
    """Workers whose level is far above the others', by logarithms above the median of each iteration (R, N)."""
    level = np.median(own, axis=0)
    middle = np.median(level)
    spread = 1.4826 * np.median(np.abs(level - middle))
    parts = np.array([np.median(part, axis=0) for part in np.array_split(own, _BLOCKS)])
    error = np.sqrt(parts.var(axis=0, ddof=1).mean() / _BLOCKS)
    far = max(np.log(1.1), 3 * spread, _TREND * error)
    sentences = []
    for w in np.argsort(-level, kind="stable")[: _most_slow(own)]:
        if level[w] - middle > far:
            factor = np.exp(level[w] - middle)
            sentences.append(
                f"slow worker: {names[w]} takes {factor:.2f} times as long as the middle of the others, throughout"
            )
    return sentences


def _slow_at_times(own: np.ndarray, names: tuple) -> list[str]:
    """Workers that are slower than usual in more spells than chance explains, by the same logarithms."""
    from scipy.stats import binom

    R, N = own.shape
    level = np.median(own, axis=0)
    noise = 1.4826 * np.median(np.abs(own - level))
    slow = own - level > max(np.log(1.3), 3 * noise)
    spells = slow[0] + (slow[1:] & ~slow[:-1]).sum(0)  # iterations of one spell are no evidence of their own
    sentences = []
    for w in np.argsort(-spells, kind="stable")[: _most_slow(own)]:
        rate = (spells.sum() - spells[w] + 1) / (R * (N - 1))
        by_chance = binom.sf(spells[w] - 1, R, rate)
        share = slow[:, w].mean()
        if spells[w] and by_chance < _SELDOM / N and share < 0.5:
            size = np.exp(np.median((own - level)[slow[:, w], w]))
            share_of_others = (slow.sum() - slow[:, w].sum()) / (R * (N - 1))
            sentences.append(
                f"slow worker: {names[w]} takes {size:.2f} times its usual time in {share:.0%} of the "
                f"iterations; the others are as slow in {share_of_others:.1%} of theirs on average"
            )
    return sentences


def _most_slow(own: np.ndarray) -> int:
    """Most workers that are called slow."""
    return max(1, own.shape[1] // 4)


def _racks(logs: np.ndarray, workers: tuple[int, ...]) -> list[str]:
    """Groups of workers that are slow in the same iterations, or all of them."""
    from scipy.sparse.csgraph import connected_components
    from scipy.stats import rankdata

    moving = np.flatnonzero(np.ptp(logs, axis=0) > 0)
    if len(moving) < 2:
        return []
    ranks = rankdata(logs[:, moving], axis=0)
    ranks = (ranks - ranks.mean(0)) / ranks.std(0)
    pairs = ~np.eye(len(moving), dtype=bool)
    alike = ranks.T @ ranks / len(ranks)
    chance = _BEYOND_CHANCE * np.sqrt(_variance_by_chance(ranks))
    levels = [max(0.5, chance)]
    scale = np.arctanh(np.clip(alike[pairs], -0.999, 0.999))  # where all correlations scatter alike
    if np.ptp(scale) > 2 * chance:  # all may share something, and some of them more
        levels.append(float(np.tanh((scale.min() + scale.max()) / 2)))
    for level in levels:
        _, group = connected_components(alike > level, directed=False)
        if group.any():
            break
    every_group = [np.flatnonzero(group == number) for number in range(group.max() + 1)]
    large_groups = [members for members in every_group if len(members) > 1]
    if not large_groups:
        return []
    same = (group[:, None] == group) & pairs
    inside = np.median(alike[same])
    if len(large_groups) == 1 and len(large_groups[0]) == len(moving):
        return [f"all workers move together: correlation {inside:.2f}"]
    between = np.median(alike[(group[:, None] != group) & pairs])
    spans = []
    for members in large_groups[:_MOST_NAMED]:
        numbers = [workers[i] for i in moving[members]]
        spans.append(_spans(numbers))
    named = "; ".join(spans)
    more = "; ..." if len(large_groups) > _MOST_NAMED else ""
    groups = "a group" if len(large_groups) == 1 else f"{len(large_groups)} groups"
    return [
        f"racks: workers move together in {groups} ({named}{more}): correlation {inside:.2f} inside, "
        f"{between:.2f} between".replace("-0.00", "0.00")
    ]


def _variance_by_chance(ranks: np.ndarray) -> float:
    """Of the correlation of two independent workers: (1 + 2 sum_k rho(k)^2) / R, with the rho(k)^2 of these."""
    R = len(ranks)
    total = 1.0
    for k in range(1, R // 4):
        lagged = (ranks[:-k] * ranks[k:]).mean(0)
        square = float((lagged**2).mean()) - 1 / R
        if square <= 1 / R:
            break
        total += 2 * square
    return total / R


def _bursts(logs: np.ndarray) -> list[str]:
    """Workers that stay slow for a while, and iterations in which over half of them are slow."""
    from scipy.stats import binom, poisson

    middle = np.median(logs, axis=0)
    spread = 1.4826 * np.median(np.abs(logs - middle), axis=0)
    slow = logs > middle + np.maximum(np.log(1.5), 3 * spread)
    R, N = slow.shape
    sentences = []
    often = slow.sum(0)
    share = often.sum() / slow.size
    following = int((slow[1:] & slow[:-1]).sum())
    expected = float((often * (often - 1) / R).sum())
    if following >= 10 and poisson.sf(following - 1, 2 * expected) < _RARE:
        spells = int(slow[0].sum() + (slow[1:] & ~slow[:-1]).sum())
        sentences.append(
            f"bursts: once slow, a worker stays slow for {often.sum() / spells:.1f} iterations on average, "
            f"by chance {1 / (1 - share):.1f}"
        )
    slow_at_once = slow.sum(1)
    by_chance = binom.sf(slow_at_once - 1, N, share)
    iterations = np.flatnonzero((slow_at_once > N / 2) & (by_chance < _RARE / R)).tolist()
    if iterations:
        spans = _spans(iterations, _MOST_NAMED)
        sentences.append(
            f"bursts: over half of the workers are slow at once in {len(iterations)} of {R} iterations ({spans})"
        )
    return sentences


def _drift(logs: np.ndarray) -> list[str]:
    """Times that grow or fall over the run, along a line or in a step in its middle."""
    parts = np.array([part.mean() for part in np.array_split(logs.mean(1), _BLOCKS)])
    place = np.arange(_BLOCKS) - (_BLOCKS - 1) / 2
    for shape in (place, np.sign(place)):  # a slope; a step in the middle
        slope = parts @ shape / (shape @ shape)
        rest = parts - parts.mean() - slope * shape
        error = np.sqrt(rest @ rest / (_BLOCKS - 2) / (shape @ shape))
        change = np.exp(parts[-1] - parts[0]) - 1
        if abs(slope) > _TREND * error and abs(change) >= 0.05:
            word = "longer" if change > 0 else "shorter"
            return [
                f"drift: times are {abs(change):.0%} {word} in the last tenth of the iterations than in the first"
            ]
    return []


def _spans(numbers: list[int], most: int = 10) -> str:
    """Write integers as ranges.

    Examples
    --------
    >>> _spans([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    spans = []
    for first, last in runs[:most]:
        spans.append(f"{first}-{last}" if last > first else f"{first}")
    if len(runs) > most:
        spans.append("...")
    return ", ".join(spans)
