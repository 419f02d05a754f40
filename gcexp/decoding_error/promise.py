"""What a code promises of its error, whoever straggles."""

from __future__ import annotations

from gcexp.codes.base import Code


def bears(code: Code) -> int:
    """Most stragglers with which the code's promise holds whoever they are; n without quorums."""
    slack = [code.n]
    for quorum in code.quorums:
        sent = code.messages[list(quorum.workers)]
        slack_of_options = [int((sent >= r).sum()) - q for r, q in quorum.need]
        slack.append(max(slack_of_options, default=-1))
    return min(slack)


def promised_bound(code: Code, s: int, otherwise: float = 1.0) -> float:
    """Upper bound on the error with s stragglers from the code's promise; `otherwise` where it promises nothing."""
    if code.promise == "indicator" and s <= bears(code):
        return 1 - code.recovers / code.k
    return otherwise
