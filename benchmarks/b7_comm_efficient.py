"""B7: the polynomial code of Ye and Abbe, gradients of 10000 encoded by all workers and decoded.

Work at n=10, d=4, s=2, m=2: `encode` of (10, 10000) standard normal gradients for all workers; then the answer of one
pattern with 2 stragglers, its decode weights and `combine`. A new pattern's weights are computed in exact rationals, a
known one's are looked up; both are lines, over all 45 patterns, divided by 45. Building the code is not measured.

The error is the largest, over patterns of exactly s stragglers (all 45; 100 random ones at n=24), of
norm(decoded - sum) / norm(sum), and has a line for each code whose bar asks for it: the paper's theta (`theta_order`
alternating, exact coefficients) and the well-conditioned V (`GeneralCommunicationEfficient`), at n=24, d=6, m=3, s=3.
Floor: one product of numpy's with as many numbers: the dense encoding and the gradients, or a pattern's weights and the
messages. Peer: a Python loop per block; its errors are for its own order of the points in floating point.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.measure import Row, median_cpu
from gcexp.codes import Code, CommunicationEfficient, GeneralCommunicationEfficient

LENGTH, PATTERNS = 10000, 100
PEER_ERROR = "error 2e-6"


def straggling(n: int, sets: list) -> np.ndarray:
    """Patterns (U, n) in which each set of workers is silent."""
    responses = np.ones((len(sets), n), dtype=np.int64)
    np.put_along_axis(responses, np.array(sets), 0, axis=1)
    return responses


def worst_error(code: Code, gradients: np.ndarray, responses: np.ndarray) -> float:
    """Largest relative error of the decoded sum over patterns."""
    sent, total = code.encode(gradients), gradients.sum(0)
    length = gradients.shape[1]
    answers = [code.combine(sent, weights)[:length] for weights in code.decode(responses).weights]
    return max(float(np.linalg.norm(answer - total) / np.linalg.norm(total)) for answer in answers)


def accurate(code: Code, name: str, responses: np.ndarray, limit: float, peer: str = "-") -> Row:
    """Line of a code whose bar is an error; its time is one encode."""
    gradients = np.random.default_rng(0).standard_normal((code.k, LENGTH))
    error = worst_error(code, gradients, responses)
    B, blocks = (
        code.encoding.toarray(),
        np.resize(gradients, (code.k * code.blocks, -(-LENGTH // code.blocks))),
    )
    product, ours = median_cpu(lambda: B @ blocks, lambda: code.encode(gradients), repeats=5)
    return Row(
        *("B7", f"n=24 d=6 m=3: encode, {name}", ours, f"error < {limit:.0e}"),
        met=error < limit,
        peer=peer,
        floor=product,
        note=f"error {error:.0e}",
    )


def run() -> list[Row]:
    """Three lines for the times at n=10, two for the errors at n=24."""
    given = {"n": 10, "d": 4, "m": 2, "s": 2}
    code, gradients = CommunicationEfficient(**given), np.random.default_rng(0).standard_normal((10, LENGTH))
    responses = straggling(10, list(combinations(range(10), 2)))
    sent, error = code.encode(gradients), worst_error(code, gradients, responses)
    fresh = iter([CommunicationEfficient(**given) for _ in range(8)])  # a code of its own has no weights yet

    def decode(decoder: Code) -> None:
        for weights in decoder.weights(responses):
            decoder.combine(sent, weights)

    B, blocks = code.encoding.toarray(), gradients.reshape(code.k * code.blocks, -1)
    weights = code.weights(responses)
    product, products, encoded, new, known = median_cpu(
        lambda: B @ blocks,
        lambda: [one @ sent for one in weights],
        lambda: code.encode(gradients),
        lambda: decode(next(fresh)),
        lambda: decode(code),
    )
    heard, floor = len(responses), products / len(responses)
    assert error < 1e-10, f"the decoded sum is off by {error:.0e}"
    draw = np.random.default_rng(1)
    many = straggling(24, [draw.choice(24, 3, replace=False) for _ in range(PATTERNS)])
    work, peer = f"n=10 d=4 s=2 m=2 l={LENGTH}: ", "28 ms, error 1.5e-13"
    told = f"error {error:.0e}"
    return [
        Row(
            *("B7", work + "encode all workers", encoded, "< 5 ms", encoded < 5e-3, "246 ms", 0.246, product),
            limit=5e-3,
        ),
        Row("B7", work + "decode, new pattern", new / heard, "-", None, peer, 0.028, floor, told),
        Row("B7", work + "decode, known pattern", known / heard, "-", None, peer, 0.028, floor, told),
        accurate(CommunicationEfficient(24, 6, 3), "paper's theta", many, 1e-8, PEER_ERROR),
        accurate(GeneralCommunicationEfficient(24, 6, 3), "well-conditioned V", many, 1e-10, PEER_ERROR),
    ]
