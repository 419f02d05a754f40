"""One-hot encoding of categorical rows: one column per value of each column and of each pair of columns."""

from __future__ import annotations

from itertools import combinations

import numpy as np

#: Pairs of the nine columns of Amazon Employee Access that say nothing new: ROLE_ROLLUP_1 with ROLE_ROLLUP_2 and
#: ROLE_TITLE with ROLE_FAMILY, as the published recipe leaves them out.
LEFT_OUT = ((2, 3), (5, 7))


def one_hot_pairs(
    rows: np.ndarray, left_out: tuple[tuple[int, int], ...] = LEFT_OUT
) -> tuple[np.ndarray, int]:
    """Columns (N, q) of the ones in the one-hot encoding of degree 2, int32 and increasing, and the number of columns.

    They are, in order, the values of each categorical column of `rows` (N, columns), the pairs of values that occur
    together in two columns, for each pair of columns that is not left out, and one constant. The rows are *all* rows,
    training and test: a value counts where it occurs. So does the public code of rashisht1/gradient_coding
    (arrange_real_data.py), used with the same data in other papers; Ye and Abbe (ICML 2018) say only that interaction
    terms were encoded.

    Examples
    --------
    >>> ones, l = one_hot_pairs(np.array([[7, 1], [8, 1], [7, 2]]), left_out=())
    >>> ones.tolist(), l
    ([[0, 2, 4, 7], [1, 2, 6, 7], [0, 3, 5, 7]], 8)
    """
    N, columns = rows.shape
    labels = np.empty((N, columns), dtype=np.int64)
    sizes = []
    for j in range(columns):
        values, labels[:, j] = np.unique(rows[:, j], return_inverse=True)
        sizes.append(len(values))
    pairs = [pair for pair in combinations(range(columns), 2) if pair not in left_out]
    ones = np.empty((N, columns + len(pairs) + 1), dtype=np.int32)
    ones[:, :columns] = labels + np.cumsum([0, *sizes[:-1]])
    l = sum(sizes)
    for position, (a, b) in enumerate(pairs, start=columns):
        # A bitmap instead of a sort: which of the possible pairs occur, and how many before each of them.
        joint = labels[:, a] * sizes[b] + labels[:, b]
        if sizes[a] * sizes[b] <= 64 * N:
            occurs = np.zeros(sizes[a] * sizes[b], dtype=np.int32)
            occurs[joint] = 1
            before = np.cumsum(occurs, dtype=np.int32)
            ones[:, position] = before[joint] - 1 + l
            l += int(before[-1])
        else:
            values, place = np.unique(joint, return_inverse=True)
            ones[:, position] = place + l
            l += len(values)
    ones[:, -1] = l
    return ones, l + 1
