"""Waiting rules and their composition with a code."""

from gcexp.schemes.elimination import Span, Spanned
from gcexp.schemes.late import LATE
from gcexp.schemes.placement import Best, Given, Greedy, Home, Pairs, Placement
from gcexp.schemes.restart import Restart
from gcexp.schemes.scheme import Scheme
from gcexp.schemes.stopping import Deadline, DecodableOrFastest, Recovered
from gcexp.schemes.waiting import Decodable, Fastest, Fewest, WaitingRule

__all__ = [
    "LATE",
    "Best",
    "Deadline",
    "Decodable",
    "DecodableOrFastest",
    "Fastest",
    "Fewest",
    "Given",
    "Greedy",
    "Home",
    "Pairs",
    "Placement",
    "Recovered",
    "Restart",
    "Scheme",
    "Span",
    "Spanned",
    "WaitingRule",
]
