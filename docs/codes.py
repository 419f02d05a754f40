"""One table of all codes: ``python docs/codes.py > docs/codes.md``.

What an instance can tell is derived from one; the rest stands on the class: `formulas`, `error_bound`, `decoding`,
`limit` and `source` of `gcexp.codes.base.Code`.
"""

from fractions import Fraction

import gcexp.codes
from gcexp.command.show import guarantee
from gcexp.figures.markdown import grid
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.options import option_names

#: Where the options refer to the run: the numbers of the table hold here.
DEFAULTS = {"n": 10, "s": 4}
HEADER = (
    "option",
    "class",
    "k",
    "load",
    "messages",
    "communication",
    "kind",
    "guarantee",
    "decoder, cost of one pattern",
    "limit",
    "source",
)
_NONE = "-"
_TOP = """\
# Codes

All codes of `gcexp`, by the name of their option (`gcexp show code=NAME`). Do not edit: this page is written by
`python docs/codes.py > docs/codes.md`.

Formulas are in the options' own parameters (`conf/code/NAME.yaml`), and every `= value` and guarantee is that of the
option's defaults with {defaults}. `comb` is the binomial coefficient.

* *k*: partitions. *load*: most partitions that a worker computes. *messages*: most messages that a worker sends.
* *communication*: messages x their length, in gradients; a complex number counts as two reals. Codes that decode from
  a worker's first messages are charged for all of them here.
* *kind*: *exact*, the full sum where the guarantee holds; *partial*, the sum of some partitions; *approximate*,
  coefficients other than 0 and 1. More than one where it depends on the parameters.
* *error*: ||c - 1||^2 / k for the decoded vector sum_i c_i g_i; *s* stragglers, *m* workers heard.
* *decoder, cost of one pattern*: for one set of messages heard, beside the certificate W B = c, which costs as much as
  the encoding has entries. Equal patterns are decoded once.
* *limit*: where the decode is no longer accurate (numbers are residuals), or no longer fits; what was measured
  stands in [How exactly codes decode](codes-accuracy.md).
* *source*: keys in [references.bib](references.bib).

"""
_PYTHON_ONLY = """
Codes made of codes have no option of their own: they are composed in Python or by nesting `_target_`. Their numbers
are those of the first of the class's `examples`.

"""


def document() -> str:
    """The page."""
    given = [f"{key}={number}" for key, number in DEFAULTS.items()]
    rows = []
    for option in option_names("code"):
        composed = compose([f"code={option}", *given])
        rows.append(_row(option, build(composed, "code")))
    built = {type_name for _, type_name, *_ in rows}
    others = [
        _row(_NONE, family(**family.examples[0]))
        for name, family in sorted(vars(gcexp.codes).items())
        if getattr(family, "examples", ()) and name not in built
    ]
    top = _TOP.format(defaults=" and ".join(f"`{pair}`" for pair in given))
    return top + grid(HEADER, rows) + _PYTHON_ONLY + grid(HEADER[1:], [row[1:] for row in others])


def _row(option: str, code) -> list[str]:
    family, said = type(code), type(code).formulas
    has = {
        "k": code.k,
        "load": int(code.load.max()),
        "messages": int(code.messages.max()),
        "length": code.length,
    }
    messages = said.get("messages", str(has["messages"]))
    length = said.get("length", _fraction(has["length"]))
    if "1" in (messages, length):
        communication = length if messages == "1" else messages
    else:
        communication = " x ".join(f"({part})" if " " in part else part for part in (messages, length))
    promised = guarantee(code) + (f"; {family.error_bound}" if family.error_bound else "")
    return [
        option,
        family.__name__,
        _equal(said.get("k", ""), has["k"]),
        _equal(said["load"], has["load"]) if "load" in said else _range(code.load),
        _equal(said.get("messages", ""), has["messages"]),
        _equal(communication, _fraction(has["messages"] * has["length"])),
        " or ".join(_kinds(code)),
        promised,
        family.decoding or _NONE,
        family.limit or _NONE,
        ", ".join(family.source) or _NONE,
    ]


def _kinds(code) -> list[str]:
    """What the decoded coefficients are, in this code and in its family's examples."""
    codes = (code, *(type(code)(**example) for example in type(code).examples))
    found = {"approximate" if one.promise != "indicator" else one.recovers == one.k for one in codes}
    names = {True: "exact", False: "partial", "approximate": "approximate"}
    return [name for kind, name in names.items() if kind in found]


def _equal(formula: str, number) -> str:
    return f"{formula} = {number}" if formula and formula != str(number) else str(number)


def _range(loads) -> str:
    low, high = int(loads.min()), int(loads.max())
    return str(low) if low == high else f"{low} to {high}"


def _fraction(number: float) -> str:
    return str(Fraction(number).limit_denominator(10**6))


if __name__ == "__main__":
    print(document(), end="")
