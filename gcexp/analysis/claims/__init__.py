"""What a paper says, as functions of its tables: each claim answers with a verdict.

A claim is a function in the paper's ``claims.py`` (or in a module of its package ``claims``). It takes the table of the
figure that it is about, or nothing, and it names the statements of ``statements.csv`` that it answers::

    @claim("fig4_order", figure="fig4", assumed=True)
    def the_cyclic_scheme_is_ahead(table):
        return before(table, "cyclic", ["CGC", "Forget"], level=0.9)

A claim may also return a verdict for each statement, as a dictionary by the statement's id. A claim may yield its
answers one by one: whether an instance holds (`all_instances`), verdicts (`every`), or pairs of a statement's id and
one of these.

`verdicts` compares numbers, `cells` reads them from a table, `paired` holds the sign test, the intervals and the rule
for "undecided", and `judging` asks a claim.
"""

from gcexp.analysis.claims.cells import as_number, below, number, selected, text
from gcexp.analysis.claims.judging import Claim, claim, claims_of, judge
from gcexp.analysis.claims.paired import before, ratio_within
from gcexp.analysis.claims.verdicts import (
    CONSISTENT,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    OUTCOMES,
    PARTLY,
    REPRODUCED,
    UNDECIDED,
    Undecided,
    Verdict,
    all_instances,
    because,
    consistent_at_best,
    equals,
    every,
    less,
    within,
)

__all__ = [
    "CONSISTENT",
    "NOT_REPRODUCED",
    "NOT_TESTABLE",
    "OUTCOMES",
    "PARTLY",
    "REPRODUCED",
    "UNDECIDED",
    "Claim",
    "Undecided",
    "Verdict",
    "all_instances",
    "as_number",
    "because",
    "before",
    "below",
    "claim",
    "claims_of",
    "consistent_at_best",
    "equals",
    "every",
    "judge",
    "less",
    "number",
    "ratio_within",
    "selected",
    "text",
    "within",
]
