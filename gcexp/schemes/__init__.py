"""Waiting rules and their composition with a code."""

from gcexp.schema import checked_fields
from gcexp.schemes.capacity import Capacity
from gcexp.schemes.deadlines import AdaptiveDeadline, PrefixDeadline, QuorumGrace
from gcexp.schemes.elimination import Span, Spanned
from gcexp.schemes.late import LATE
from gcexp.schemes.loads import Backup, Loads, Uneven
from gcexp.schemes.micro_batches import Covered, DropCompute
from gcexp.schemes.placement import Best, Given, Greedy, Hindsight, Home, Pairs, Placement, Zipper
from gcexp.schemes.reordering import Reordering
from gcexp.schemes.restart import Restart
from gcexp.schemes.scheme import Scheme
from gcexp.schemes.selective_repeat import SelectiveRepeat
from gcexp.schemes.stopping import Deadline, DecodableOrFastest, Recovered
from gcexp.schemes.waiting import Decodable, Fastest, Fewest, Lead, WaitingRule

__all__ = [
    "AdaptiveDeadline",
    "Backup",
    "Best",
    "Capacity",
    "Covered",
    "Deadline",
    "Decodable",
    "DecodableOrFastest",
    "DropCompute",
    "Fastest",
    "Fewest",
    "Given",
    "Greedy",
    "Hindsight",
    "Home",
    "LATE",
    "Lead",
    "Loads",
    "Pairs",
    "Placement",
    "PrefixDeadline",
    "QuorumGrace",
    "Recovered",
    "Reordering",
    "Restart",
    "Scheme",
    "SelectiveRepeat",
    "Span",
    "Spanned",
    "Uneven",
    "WaitingRule",
    "Zipper",
]

# Constructors called from Python report a wrong argument as option files do.
checked_fields(*(globals()[name] for name in __all__))
