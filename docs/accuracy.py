"""How exactly codes decode, measured in a minute: ``python docs/accuracy.py > docs/codes-accuracy.md``."""

import gcexp.codes
from gcexp.codes.accuracy import KINDS, MOST_RESIDUAL, MOST_WORKERS, residuals
from gcexp.codes.base import RESIDUAL_BOUND
from gcexp.errors import ParameterError
from gcexp.figures.markdown import grid

_NONE = "-"
#: Parameters with which codes that solve equations are tried: with an n of their own, or for many n and s.
TRIED: dict[type, tuple[dict, ...]] = {
    gcexp.codes.Adaptive: (
        *({"n": n, "d": 3} for n in (8, 20, 40)),
        *({"n": n, "d": 4} for n in (8, 12, 13, 14)),
        {"n": 20, "d": 4, "rounds": 4},
        {"n": 5, "d": 5},
        {"n": 20, "d": 5, "rounds": 5},
    ),
    gcexp.codes.Clustered: (
        {"n": 40, "clusters": 2, "d": 4},
        {"n": 400, "clusters": 20, "d": 5},
        {"n": 400, "clusters": 2, "d": 50},
    ),
    gcexp.codes.CommunicationEfficient: ({"d": None, "m": 1}, {"d": None, "m": 2}, {"d": None, "m": 3}),
    gcexp.codes.CyclicMDS: ({},),
    gcexp.codes.CyclicRepetition: ({}, {"construction": "gaussian"}),
    gcexp.codes.GeneralCommunicationEfficient: (
        {"n": 20, "d": 10, "m": 5},
        {"n": 50, "d": 32, "m": 2},
        {"n": 41, "d": 13, "m": 3},
    ),
    gcexp.codes.ReedSolomon: ({}, {"mask": "cyclic"}),
}
_ACCURACY = """\
# How exactly codes decode

Codes that solve equations lose digits to rounding, and more for some stragglers than for others. Do not edit: this page
is measured by `python docs/accuracy.py > docs/codes-accuracy.md`.

Each cell is the largest residual, the largest entry of W B - 1 (x) I, over sets of stragglers of one kind, to an order
of magnitude: {kinds}. For n workers there are n sets of a kind, 5000 / n from n = 70 on, or fewer where they repeat.
Other machines round differently, by a factor of ten or so.

*refused*: above {bound:.0e} for one of the kinds, so that a run ends before it starts, with a sentence that names
another code; a decode raises above {most:.0e}. Codes of more than {workers} workers are not tried; codes whose messages
are plain sums solve nothing and are exact at any size.

"""
_SIZES, _SHARES = (20, 50, 100, 200, 400), (0.1, 0.25, 0.5, 0.8)


def accuracy() -> str:
    """The page of measured residuals."""
    shares = [(family, given) for family, tried in TRIED.items() for given in tried if "n" not in given]
    single = [(family, given) for family, tried in TRIED.items() for given in tried if "n" in given]
    swept = [
        [
            _spelled(family, given | {"n": n}),
            *(_residuals(family, given | {"n": n, "s": int(n * share)}) for share in _SHARES),
        ]
        for family, given in shares
        for n in _SIZES
    ]
    own = [[_spelled(family, given), _residuals(family, given)] for family, given in single]
    kinds = " / ".join(KINDS)
    top = _ACCURACY.format(kinds=kinds, bound=MOST_RESIDUAL, most=RESIDUAL_BOUND, workers=MOST_WORKERS)
    swept = [row for row in swept if set(row[1:]) != {_NONE}]
    head = ["code", *(f"s = {share:g} n" for share in _SHARES)]
    return top + grid(head, swept) + "\n" + grid(["code", kinds], own)


def _spelled(family: type, given: dict) -> str:
    values = (f"{key}={value}" for key, value in sorted(given.items(), key=lambda pair: pair[0] != "n"))
    return f"{family.__name__}({', '.join(value for value in values if not value.endswith('=None'))})"


def _residuals(family: type, given: dict) -> str:
    """Largest residuals of the kinds of sets; a dash where there is no such code."""
    try:
        code = family(**given)
    except ParameterError:
        return _NONE
    found = [residuals(code, kind) for kind in KINDS]
    cell = " / ".join("0" if worst == 0 else f"{worst:.0e}" for worst in found)
    return cell if max(found) <= MOST_RESIDUAL else f"refused: {cell}"


if __name__ == "__main__":
    print(accuracy(), end="")
