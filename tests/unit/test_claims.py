"""Every predicate where it must hold and where it must not, and every sentence for a claim that is written wrong."""

import json
import math

import pandas as pd
import pytest

from gcexp.errors import UserError
from gcexp.report.claims import INPUTS, check, show, time_to, validate

ABOUT = {"id": "c", "source": "Sec. VII", "statement": "a before b", "inputs": "assumed"}


def curves(**times):
    """Labels to the times at which each seed reaches 0.9; None: never."""
    rows = []
    for label, seeds in times.items():
        for seed, time in enumerate(seeds):
            rows.append((label, seed, 0, 0.0, 0.9 if time == 0 else 0.1))
            rows.append((label, seed, 1, time or 5.0, 0.9 if time is not None else 0.5))
            rows.append(
                (label, seed, 2, 10.0, 0.8 if time is not None else 0.5)
            )  # falls back: first passage counts
    return pd.DataFrame(rows, columns=["label", "seed", "iteration", "simulated_time_s", "test_accuracy"])


TABLE = pd.DataFrame(
    {
        "label": ["a", "a", "b", "b"],
        "seed": [0, 1, 0, 1],
        "n": [12, 12, 15, 15],
        "p": [0.1, 0.1, 0.3, 0.3],
        "load": [4.0, 6.0, 8.0, math.nan],
        "word": ["1/7", "2/7", "x", "y"],
        "ok": [True, True, True, False],
    }
)


def outcome(frame, **predicate):
    (entry,) = check([ABOUT | predicate], frame, "paper", "fig")
    json.dumps(entry, allow_nan=False)
    assert list(entry) == [
        *("paper", "target", "id", "source", "statement", "outcome", "inputs"),
        *("measured", "expected", "tolerance", "reason"),
    ]
    assert (entry["outcome"] == "reproduced") == (entry["reason"] == "")
    return entry


def ratio(**keys):
    return {"level": 0.9, "numerator": "b", "denominator": "a"} | keys


# paired_ratio


@pytest.mark.parametrize(
    ("bounds", "holds"),
    [
        ({"above": 1.0, "at_most": 1.4}, True),
        ({"above": 1.25}, False),
        ({"at_least": 1.25}, True),
        ({"at_most": 1.25}, True),
        ({"below": 1.25}, False),
        ({"at_least": 1.2, "below": 1.3}, True),
        ({"above": 1.3}, False),
    ],
)
def test_paired_ratio_bounds(bounds, holds):
    frame = curves(
        a=[4.0, 2.0, 1.0], b=[5.0, 1.0, 1.5]
    )  # ratios 1.25, 0.5, 1.5; unpaired medians would give 0.75
    entry = outcome(frame, paired_ratio=ratio(**bounds))
    assert (entry["outcome"] == "reproduced") is holds
    assert entry["measured"] == 1.25


def test_paired_ratio_uses_shared_seeds_only():
    frame = curves(a=[1.0, 1.0], b=[2.0, 2.0, 50.0, 50.0, 50.0])
    entry = outcome(frame, paired_ratio=ratio(at_most=2))
    assert entry["outcome"] == "reproduced" and entry["expected"] == "<= 2"


def test_too_few_seeds():
    entry = outcome(curves(a=[1.0, 1.0], b=[2.0] * 5), paired_ratio=ratio(above=1, seeds=3))
    assert entry["outcome"] == "not reproduced" and entry["measured"] is None
    assert entry["reason"] == "undecided: b and a share 2 seeds, fewer than 3"
    assert outcome(curves(a=[1.0] * 3, b=[2.0] * 5), paired_ratio=ratio(above=1, seeds=3))["reason"] == ""


def test_no_shared_seed():
    frame = curves(a=[1.0], b=[2.0])
    frame.loc[frame["label"] == "b", "seed"] = 7
    assert "share 0 seeds" in outcome(frame, paired_ratio=ratio(above=0))["reason"]


def test_never_reached_levels():
    never_b = outcome(curves(a=[1.0, 1.0, 1.0], b=[None, None, 1.5]), paired_ratio=ratio(above=1))
    assert never_b["outcome"] == "reproduced" and never_b["measured"] == "inf"
    assert outcome(curves(a=[1.0], b=[None]), paired_ratio=ratio(at_most=99))["outcome"] == "not reproduced"
    never_a = outcome(curves(a=[None], b=[1.0]), paired_ratio=ratio(above=1))
    assert never_a["outcome"] == "not reproduced" and never_a["measured"] == 0
    one_seed = outcome(curves(a=[1.0, 1.0, None], b=[2.0, 2.0, None]), paired_ratio=ratio(above=1))
    assert one_seed["reason"] == "undecided: in 1 of 3 seeds neither b nor a reaches test_accuracy 0.9"


def test_both_at_the_start():
    entry = outcome(curves(a=[0], b=[0]), paired_ratio=ratio(at_most=1))
    assert entry["reason"] == "undecided: in 1 of 1 seeds time_to of b and a has no ratio"


def test_level_is_reached_at_equality():
    assert (
        outcome(curves(a=[1.0], b=[2.0]), paired_ratio=ratio(at_least=2, at_most=2))["outcome"]
        == "reproduced"
    )
    higher = ratio(level=0.9000001, above=0)
    assert "neither" in outcome(curves(a=[1.0], b=[2.0]), paired_ratio=higher)["reason"]


def falls(frame):
    """The same curves of a loss: 1 - score, so that 0.1 is reached where 0.9 was."""
    return frame.assign(loss=1 - frame["test_accuracy"]).drop(columns="test_accuracy")


def test_a_falling_score_reaches_a_level_from_above():
    frame = falls(curves(a=[4.0, 2.0, 1.0], b=[5.0, 1.0, 1.5]))
    keys = {"y": "loss", "level": 0.1000001, "falling": True}
    entry = outcome(frame, paired_ratio=ratio(above=1, **keys))
    assert (
        entry["outcome"] == "reproduced" and entry["measured"] == 1.25
    )  # as the rising score of the same curves
    rising = outcome(frame, paired_ratio=ratio(above=1, y="loss", level=0.1000001))
    assert "has no ratio" in rising["reason"]  # taken for a rising score, the loss is there at time 0
    entry = outcome(falls(curves(a=[1.0], b=[None])), ordering={"first": "a", "then": "b"} | keys)
    assert entry["outcome"] == "reproduced" and entry["measured"] == {"b / a": "inf"}
    entry = outcome(falls(curves(a=[1.0], b=[2.0])), ordering={"first": "b", "then": "a"} | keys)
    assert entry["outcome"] == "not reproduced" and entry["measured"] == {"a / b": 0.5}


def test_a_falling_score_reaches_its_level_at_equality():
    frame = pd.DataFrame(
        {"iteration": [0, 1, 2], "simulated_time_s": [0.0, 3.0, 4.0], "loss": [0.5, 0.25, 0.125]}
    )
    assert time_to(frame, "loss", 0.25, falling=True) == 3 and time_to(frame, "loss", 0.25) == 0
    assert time_to(frame, "loss", 0.2, falling=True) == 4 and math.isinf(
        time_to(frame, "loss", 0.1, falling=True)
    )
    last = frame.sample(frac=1, random_state=0)  # rows in any order
    assert time_to(last, "loss", 0.3, falling=True) == 3


def test_paired_ratio_of_a_column():
    frame = pd.DataFrame({"label": list("aabb"), "seed": [0, 1, 0, 1], "time": [1.0, 2.0, 1.5, 3.0]})
    keys = {"of": "value", "y": "time", "numerator": "b", "denominator": "a"}
    assert outcome(frame, paired_ratio=keys | {"at_least": 1.5, "at_most": 1.5})["outcome"] == "reproduced"
    final = {"of": "value", "y": "test_accuracy", "numerator": "b", "denominator": "a", "below": 1}
    assert (
        outcome(curves(a=[1.0], b=[None]), paired_ratio=final)["measured"] == 0.625
    )  # the last row, 0.5 / 0.8


# ordering


def test_ordering_of_every_pair():
    frame = curves(a=[1.0, 1.0], b=[2.0, 2.0], c=[3.0, 3.0])
    entry = outcome(frame, ordering={"level": 0.9, "first": "a", "then": ["b", "c"]})
    assert entry["outcome"] == "reproduced" and entry["measured"] == {"b / a": 2.0, "c / a": 3.0}
    assert (
        outcome(frame, ordering={"level": 0.9, "first": ["a", "b"], "then": "c"})["outcome"] == "reproduced"
    )
    entry = outcome(frame, ordering={"level": 0.9, "first": ["a", "c"], "then": "b"})
    assert entry["outcome"] == "not reproduced"
    assert entry["reason"] == "measured b / a: 2, b / c: 0.666667, expected > 1"


def test_a_tie_is_no_order():
    entry = outcome(curves(a=[1.0], b=[1.0]), ordering={"level": 0.9, "first": "a", "then": "b"})
    assert entry["outcome"] == "not reproduced"


def test_ordering_undecided_and_too_few_seeds():
    frame = curves(a=[None], b=[None], c=[1.0])
    entry = outcome(frame, ordering={"level": 0.9, "first": "c", "then": ["a", "b"]})
    assert entry["outcome"] == "reproduced" and entry["measured"] == {"a / c": "inf", "b / c": "inf"}
    entry = outcome(frame, ordering={"level": 0.9, "first": "a", "then": ["b", "c"]})
    assert entry["measured"] == {"b / a": None, "c / a": 0} and "neither b nor a" in entry["reason"]
    entry = outcome(frame, ordering={"level": 0.9, "first": "c", "then": "a", "seeds": 5})
    assert "share 1 seeds, fewer than 5" in entry["reason"]


# value


def at(column="load", **keys):
    return {"where": {"label": "a", "seed": 0}, "column": column} | keys


@pytest.mark.parametrize(
    ("keys", "holds"),
    [
        (at(expected=4), True),
        (at(expected=4.0001), False),
        (at(expected=4.5, tolerance=0.5), True),
        (at(expected=4.5, tolerance=0.49), False),
        (at(expected=5, tolerance=0.2, relative=True), True),
        (at(expected=5, tolerance=0.19, relative=True), False),
        (at(expected=math.inf), False),
        (at(where={"label": "a"}, statistic="mean", expected=5), True),
        (at(where={"label": "a"}, statistic="median", expected=5), True),
        (at(where={"label": "a"}, statistic="max", expected=6), True),
        (at(where={"label": "a"}, statistic="min", expected=6), False),
        (at(where={"n": 15, "seed": 0}, expected=8), True),
        (at(where={"p": 0.3, "seed": 0}, expected=8), True),
        (at(where={"label": ["a", "b"], "seed": 0}, statistic="max", expected=8), True),
        (at(where={"label": "b"}, statistic="max", expected=8), False),  # a cell is missing
        (at("word", expected="1/7"), True),
        (at("word", expected="1/8"), False),
        (at("ok", where={"label": "a"}, statistic="min", expected=True), True),
        (at("ok", where={"label": "b"}, statistic="min", expected=True), False),
        (at(where={"ok": False}, column="n", expected=15), True),
    ],
)
def test_value(keys, holds):
    assert (outcome(TABLE, value=keys)["outcome"] == "reproduced") is holds


@pytest.mark.parametrize(
    ("keys", "holds", "tolerance"),
    [
        ({"expected": 8, "sd": 1.5}, True, 4.5 / math.sqrt(2)),  # of two rows with mean 5
        ({"expected": 8, "sd": 1.4}, False, 4.2 / math.sqrt(2)),
        ({"expected": 8, "sd": 1.4, "tolerance": 0.1}, True, 0.1 + 4.2 / math.sqrt(2)),
        (
            {"expected": 8, "sd": 2.8, "where": {"label": ["a", "b"], "n": [12, 15], "ok": True}},
            True,
            8.4 / math.sqrt(3),
        ),
    ],
)
def test_a_mean_may_be_three_standard_errors_away(keys, holds, tolerance):
    entry = outcome(TABLE, value=at(**({"where": {"label": "a"}, "statistic": "mean"} | keys)))
    assert (entry["outcome"] == "reproduced") is holds
    assert entry["tolerance"] == pytest.approx(tolerance)


def test_value_at_nine_digits():
    """A third is written 0.333333333, and is still a third; float subtraction does not move the ends."""
    frame = pd.DataFrame({"x": [0.333333333], "y": [0.4]})
    assert outcome(frame, value={"where": {}, "column": "x", "expected": 1 / 3})["outcome"] == "reproduced"
    assert (
        outcome(frame, value={"where": {}, "column": "x", "expected": 0.33333334})["outcome"]
        == "not reproduced"
    )
    assert (
        outcome(frame, value={"where": {}, "column": "y", "expected": 0.3, "tolerance": 0.1})["outcome"]
        == "reproduced"
    )


def test_value_entry():
    entry = outcome(TABLE, value=at(expected=5, tolerance=0.1, relative=True))
    assert (entry["measured"], entry["expected"], entry["tolerance"]) == (4.0, 5.0, "10 %")
    assert entry["reason"] == "measured 4, expected 5 ± 10 %"


# compare


@pytest.mark.parametrize(
    ("relation", "factor", "holds"),
    [("<", 1, True), ("<=", 1, True), (">", 1, False), (">=", 1, False)]
    + [("<", 0.5, False), ("<=", 0.5, True), (">", 0.5, False), (">=", 0.5, True)],
)
def test_compare(relation, factor, holds):
    sides = {"left": at(), "right": at(where={"label": "b", "seed": 0})}  # 4 and 8
    entry = outcome(TABLE, compare=sides | {"relation": relation, "factor": factor})
    assert (entry["outcome"] == "reproduced") is holds
    assert entry["measured"] == {"left": 4.0, "right": 8.0}
    assert entry["expected"] == f"left {relation} {'0.5 * ' if factor != 1 else ''}right"


# Reasons


def test_given_reason_only_where_it_explains():
    known = {"reason": "the paper's Table VI says otherwise"}
    (entry,) = check([ABOUT | known | {"value": at(expected=9)}], TABLE, "p", "t")
    assert entry["reason"] == known["reason"]
    (entry,) = check([ABOUT | known | {"value": at(expected=4)}], TABLE, "p", "t")
    assert entry["reason"] == ""
    claim = ABOUT | known | {"paired_ratio": ratio(above=1, seeds=9)}
    (entry,) = check([claim], curves(a=[1.0], b=[2.0]), "p", "t")
    assert entry["reason"].startswith("undecided: b and a share 1 seeds")


def test_show():
    assert show({"a": 1.0, "b": None}) == "a: 1, b: –" and show("inf") == "inf" and show(1e-9) == "1e-09"


# Sentences

GOOD = {"value": at(expected=4)}
LABELS = ["a", "b", "cyclic, beta = 15"]


def test_good_claims_pass():
    claims = [
        ABOUT | GOOD,
        ABOUT | {"id": "d", "paired_ratio": ratio(above=1, at_most=1.4, seeds=5)},
        ABOUT
        | {"id": "e", "reason": "known", "ordering": {"level": 0.9, "first": "a", "then": ["b", LABELS[2]]}},
        ABOUT | {"id": "f", "compare": {"left": at(), "right": at(statistic="mean"), "relation": "<"}},
    ]
    validate(claims, LABELS, "claims")
    validate([], LABELS)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("text", r"^file: number 1: wants keys and values, got 'text'$"),
        (GOOD, "^file: number 1: 'id' is missing or no text$"),
        ({k: v for k, v in ABOUT.items() if k != "inputs"} | GOOD, "^file: 'c': 'inputs' is missing"),
        (ABOUT | {"source": " "} | GOOD, "'source' is missing"),
        (ABOUT | {"statement": 3} | GOOD, "'statement' is missing"),
        (ABOUT | {"inputs": "asumed"} | GOOD, r"unknown inputs 'asumed'; did you mean 'assumed'\?"),
        (ABOUT | {"reason": 3} | GOOD, "reason wants text, got 3"),
        (ABOUT, "wants exactly one of paired_ratio, ordering, value, within, compare, got none"),
        (ABOUT | GOOD | {"ordering": {}}, "exactly one of .*, got value, ordering"),
        (ABOUT | {"paired_ration": {}}, r"unknown predicate 'paired_ration'; did you mean 'paired_ratio'\?"),
        (ABOUT | {"value": 4}, r"'c': value: wants keys \(where, column, .*\), got 4"),
        (ABOUT | {"value": at(expects=4)}, r"value: unknown key 'expects'; did you mean 'expected'\?"),
        (ABOUT | {"value": at()}, "value: 'expected' is missing"),
        (ABOUT | {"value": at(expected=[4])}, r"expected wants number or true or false or text, got \[4\]"),
        (ABOUT | {"value": at(expected=4, tolerance=-1)}, "tolerance wants at least 0, got -1"),
        (ABOUT | {"value": at(expected=0, tolerance=0.1, relative=True)}, "relative tolerance around 0"),
        (ABOUT | {"value": at(expected=4, statistic="mean", sd=-1)}, "sd wants at least 0, got -1"),
        (
            ABOUT | {"value": at(expected=4, statistic="median", sd=1)},
            "sd is given with `statistic: mean` only",
        ),
        (
            ABOUT | {"value": at(expected=4, statistic="mean", tolerance=0.1, relative=True, sd=1)},
            "sd is added to a tolerance that is not relative",
        ),
        (ABOUT | {"value": at(expected="x", tolerance=0.1)}, "text has no tolerance and no statistic"),
        (ABOUT | {"value": at(expected=4, statistic="average")}, "statistic: unknown choice 'average'"),
        (ABOUT | {"value": at(expected=4, where={"label": "A"})}, "value: unknown label 'A'"),
        (ABOUT | {"value": at(expected=4, where="a")}, "where wants mapping, got 'a'"),
        (
            ABOUT | {"paired_ratio": ratio()},
            r"no bound is given \(allowed: above, at_least, at_most, below\)",
        ),
        (ABOUT | {"paired_ratio": ratio(above=1, at_least=1)}, "one lower bound"),
        (ABOUT | {"paired_ratio": ratio(below=1, at_most=1)}, "one upper bound"),
        (ABOUT | {"paired_ratio": ratio(above=1, level=None)}, "level is given with"),
        (ABOUT | {"paired_ratio": ratio(above=1, of="value")}, "level is given with"),
        (
            ABOUT | {"paired_ratio": ratio(above=1, of="value", level=None, falling=True)},
            "falling is given with `of: time_to` only",
        ),
        (ABOUT | {"paired_ratio": ratio(above=1, falling=1)}, "falling wants true or false, got 1"),
        (
            ABOUT | {"paired_ratio": ratio(above=1, of="timeto")},
            r"unknown choice 'timeto'; did you mean 'time_to'\?",
        ),
        (ABOUT | {"paired_ratio": ratio(above=1, seeds=0)}, "seeds wants at least 1, got 0"),
        (ABOUT | {"paired_ratio": ratio(above=1, seeds=2.5)}, "seeds wants whole number, got 2.5"),
        (ABOUT | {"paired_ratio": ratio(above="1")}, "above wants number or nothing, got '1'"),
        (ABOUT | {"paired_ratio": ratio(above=1, numerator="a")}, "numerator and denominator are both 'a'"),
        (
            ABOUT | {"paired_ratio": ratio(above=1, numerator="cyclic, beta = 16")},
            r"paired_ratio: unknown label 'cyclic, beta = 16'; did you mean 'cyclic, beta = 15'\?",
        ),
        (ABOUT | {"ordering": {"level": 1, "first": "a", "then": []}}, "at least one label each"),
        (ABOUT | {"ordering": {"level": 1, "first": "a", "then": ["b", "a"]}}, "in both first and then: a"),
        (ABOUT | {"ordering": {"level": 1, "first": "a", "then": "z"}}, "ordering: unknown label 'z'"),
        (
            ABOUT | {"compare": {"left": at(), "right": at(), "relation": "=="}},
            "relation: unknown choice '=='",
        ),
        (
            ABOUT | {"compare": {"left": at(), "right": {"column": "x"}, "relation": "<"}},
            "right: 'where' is missing",
        ),
        (
            ABOUT | {"compare": {"left": at(where={"label": "z"}), "right": at(), "relation": "<"}},
            "compare: unknown label 'z'",
        ),
    ],
)
def test_sentences(claim, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        validate([claim], LABELS, "file")
    assert str(caught.value).startswith("file: ") and "\n" not in str(caught.value)


def test_more_sentences():
    with pytest.raises(UserError, match="^file: 'c': stands twice"):
        validate([ABOUT | GOOD, ABOUT | GOOD], None, "file")
    with pytest.raises(UserError, match="wants a list of claims"):
        validate({"c": GOOD}, None, "file")
    validate(
        [ABOUT | {"value": at(expected=4, where={"label": "whatever"})}], None
    )  # only the table will tell
    assert INPUTS == ("paper", "assumed", "calibrated")


@pytest.mark.parametrize(
    ("predicate", "sentence"),
    [
        ({"value": at("laod", expected=4)}, r"^claims: 'c': unknown column 'laod'; did you mean 'load'\?"),
        ({"value": at(where={"lable": "a"}, expected=4)}, r"unknown column 'lable'; did you mean 'label'\?"),
        (
            {"value": at(where={"label": "c"}, expected=4)},
            r"unknown label in the table 'c' \(allowed: a, b\)",
        ),
        ({"value": at(where={"n": 13}, expected=4)}, r"unknown n in the table '13'"),
        ({"value": at(where={"label": "a", "n": 15}, expected=4)}, "no row has label = a, n = 15"),
        (
            {"value": at(where={"label": "a"}, expected=4)},
            r"2 rows have label = a; say which statistic \(mean, ",
        ),
        ({"value": at(where={}, expected=4)}, "4 rows have the whole table; say which"),
        ({"value": at("word", expected=4)}, "column 'word' holds text there, as '1/7', not numbers"),
        ({"paired_ratio": ratio(above=1)}, "unknown column 'iteration'"),
        (
            {"paired_ratio": {"of": "value", "y": "load", "numerator": "z", "denominator": "a", "above": 1}},
            r"unknown label 'z' \(allowed: a, b\)",
        ),
    ],
)
def test_sentences_when_the_table_is_there(predicate, sentence):
    with pytest.raises(UserError, match=sentence):
        check([ABOUT | predicate], TABLE, "p", "t")


def test_a_predicate_is_one_dataclass_and_one_function():
    from dataclasses import dataclass

    from gcexp.report import claims

    @dataclass(frozen=True)
    class Rows:
        at_least: int

    try:

        @claims.predicate("rows", Rows)
        def rows(spec, frame):
            return claims.Verdict(len(frame) >= spec.at_least, len(frame), spec.at_least)

        validate([ABOUT | {"rows": {"at_least": 3}}], LABELS)
        assert outcome(TABLE, rows={"at_least": 3})["outcome"] == "reproduced"
        with pytest.raises(UserError, match="rows: at_least wants whole number, got 'x'"):
            validate([ABOUT | {"rows": {"at_least": "x"}}], LABELS)
    finally:
        claims._PREDICATES.pop("rows", None)
