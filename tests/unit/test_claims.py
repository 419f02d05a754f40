"""Every predicate where it must hold and where it must not, and every sentence for a claim that is written wrong."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gcexp.errors import UserError
from gcexp.figures.rows import time_to
from gcexp.report.claims import FIELDS, INPUTS, KINDS, check, show, validate
from gcexp.report.entries import claims_of
from gcexp.report.expected import expected_claims
from gcexp.report.figure import FigureFile
from gcexp.report.predicates import as_number, sign_interval

ROOT = Path(__file__).resolve().parents[2]
ABOUT = {"id": "c", "kind": "companion", "source": "Sec. VII", "statement": "a before b", "inputs": "assumed"}


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
    assert tuple(entry) == FIELDS
    assert (entry["outcome"] == "holds") == (entry["reason"] == "")
    return entry


def ratio(**keys):
    return {"level": 0.9, "seeds": 5, "numerator": "b", "denominator": "a"} | keys


# paired_ratio: at five seeds the interval of the median are the two extremes


@pytest.mark.parametrize(
    ("bounds", "wanted"),
    [
        ({"above": 1.0, "at_most": 1.5}, "holds"),
        ({"above": 1.1}, "undecided"),
        ({"at_least": 1.1}, "holds"),
        ({"at_most": 1.4}, "holds"),
        ({"below": 1.4}, "undecided"),
        ({"at_least": 1.2, "below": 1.3}, "undecided"),
        ({"above": 1.4}, "does not hold"),
        ({"at_least": 1.41}, "does not hold"),
        ({"at_most": 1.09}, "does not hold"),
        ({"below": 1.1}, "does not hold"),
        ({"above": 2, "below": 3}, "does not hold"),
        ({"above": 0.5, "below": 0.8}, "does not hold"),
    ],
)
def test_paired_ratio_bounds(bounds, wanted):
    frame = curves(a=[4.0, 2.0, 1.0, 2.0, 3.0], b=[5.0, 2.2, 1.2, 2.8, 3.9])  # 1.25, 1.1, 1.2, 1.4, 1.3
    entry = outcome(frame, paired_ratio=ratio(**bounds))
    assert entry["outcome"] == wanted
    assert entry["measured"] == pytest.approx({"median": 1.25, "low": 1.1, "high": 1.4})
    assert ("does not decide" in entry["reason"]) == (wanted == "undecided")


def test_the_interval_is_that_of_the_sign_test():
    """P(Bin(n, 1/2) < k) <= 1/32 for the k-th smallest, and not for the next."""
    for count in (*range(1, 30), 400):
        numbers = np.arange(count, dtype=float)
        low, high = sign_interval(numbers, numbers)
        k = int(low) + 1 if math.isfinite(low) else 0
        assert high == (count - k if k else math.inf)
        assert stats.binom.cdf(k - 1, count, 0.5) <= 1 / 32 + 1e-12 < stats.binom.cdf(k, count, 0.5) + 2e-12
    assert sign_interval(np.arange(4.0), np.arange(4.0)) == (-math.inf, math.inf)


def test_paired_ratio_uses_shared_seeds_only():
    frame = curves(a=[1.0] * 5, b=[2.0] * 5 + [50.0] * 9)
    entry = outcome(frame, paired_ratio=ratio(at_most=2))
    assert entry["outcome"] == "holds" and entry["expected"] == "<= 2"


def test_too_few_seeds():
    entry = outcome(curves(a=[1.0] * 5, b=[2.0] * 10), paired_ratio=ratio(above=1, seeds=6))
    assert entry["outcome"] == "undecided" and entry["measured"] is None and entry["expected"] == "> 1"
    assert entry["reason"] == "b and a share 5 seeds, fewer than 6"
    assert outcome(curves(a=[1.0] * 6, b=[2.0] * 10), paired_ratio=ratio(above=1, seeds=6))["reason"] == ""


def test_no_shared_seed():
    frame = curves(a=[1.0], b=[2.0])
    frame.loc[frame["label"] == "b", "seed"] = 7
    assert "share 0 seeds" in outcome(frame, paired_ratio=ratio(above=0))["reason"]


def test_a_level_never_reached_counts_as_after_the_last_time():
    """The curves last until 10 s: who never arrives is at least 10 / 2.5 = 4 times as slow."""
    five = [2.5] * 5
    frame = curves(a=five, b=[None] * 5)
    entry = outcome(frame, paired_ratio=ratio(above=1))
    assert entry["outcome"] == "holds"
    assert entry["measured"] == {"median": "4 or more", "low": 4.0, "high": "inf"}
    assert outcome(frame, paired_ratio=ratio(at_least=4.1))["outcome"] == "undecided"
    assert outcome(frame, paired_ratio=ratio(at_most=3.9))["outcome"] == "does not hold"
    assert outcome(frame, paired_ratio=ratio(at_most=99))["outcome"] == "undecided"
    never_a = outcome(curves(a=[None] * 5, b=five), paired_ratio=ratio(above=1))
    assert never_a["outcome"] == "does not hold" and never_a["measured"]["high"] == 0.25
    one_seed = outcome(curves(a=[1.0] * 4 + [None], b=[2.0] * 4 + [None]), paired_ratio=ratio(above=1))
    assert one_seed["reason"] == "in 1 of 5 seeds neither b nor a reaches test_accuracy 0.9"


def test_a_run_cut_off_before_the_winner_says_nothing():
    frame = curves(a=[2.5] * 5, b=[None] * 5)
    cut = frame[(frame["label"] == "a") | (frame["iteration"] == 0)]
    entry = outcome(cut, paired_ratio=ratio(above=1))
    assert entry["outcome"] == "undecided" and entry["measured"]["low"] == 0
    late = frame.assign(simulated_time_s=frame["simulated_time_s"].where(frame["label"] == "a", 2.0))
    assert outcome(late, paired_ratio=ratio(above=1))["outcome"] == "undecided"


@pytest.mark.parametrize("damage", ["score", "time", "hole", "start"])
def test_a_damaged_curve_says_nothing(damage):
    frame = curves(a=[1.0] * 5, b=[2.0] * 5)
    mine = (frame["label"] == "b") & (frame["seed"] == 3)
    if damage == "score":
        frame.loc[mine & (frame["iteration"] == 2), "test_accuracy"] = math.nan
    elif damage == "time":
        frame.loc[mine & (frame["iteration"] == 2), "simulated_time_s"] = math.inf
    else:
        frame = frame[~(mine & (frame["iteration"] == (1 if damage == "hole" else 0)))]
    entry = outcome(frame, paired_ratio=ratio(above=1))
    assert entry["outcome"] == "undecided"
    assert ("not finite" if damage in ("score", "time") else "hole") in entry["reason"]


def test_both_at_the_start():
    entry = outcome(curves(a=[0] * 5, b=[0] * 5), paired_ratio=ratio(at_most=1))
    assert entry["reason"] == "time_to of b or a is not positive, so that there is no ratio"


def test_level_is_reached_at_equality():
    frame = curves(a=[1.0] * 5, b=[2.0] * 5)
    assert outcome(frame, paired_ratio=ratio(at_least=2, at_most=2))["outcome"] == "holds"
    assert "neither" in outcome(frame, paired_ratio=ratio(level=0.9000001, above=0))["reason"]


def falls(frame):
    """The same curves of a loss: 1 - score, so that 0.1 is reached where 0.9 was."""
    return frame.assign(loss=1 - frame["test_accuracy"]).drop(columns="test_accuracy")


def test_a_falling_score_reaches_a_level_from_above():
    frame = falls(curves(a=[4.0] * 5, b=[5.0] * 5))
    keys = {"y": "loss", "level": 0.1000001, "falling": True, "seeds": 5}
    entry = outcome(frame, paired_ratio=ratio(above=1, **keys))
    assert entry["outcome"] == "holds" and entry["measured"]["median"] == 1.25  # as the rising score
    rising = outcome(frame, paired_ratio=ratio(above=1, y="loss", level=0.1000001))
    assert "no ratio" in rising["reason"]  # taken for a rising score, the loss is there at time 0
    entry = outcome(falls(curves(a=[1.0] * 5, b=[None] * 5)), ordering={"first": "a", "then": "b"} | keys)
    assert entry["outcome"] == "holds" and entry["measured"]["b / a"]["low"] == 10
    entry = outcome(falls(curves(a=[1.0] * 5, b=[2.0] * 5)), ordering={"first": "b", "then": "a"} | keys)
    assert entry["outcome"] == "does not hold" and entry["measured"]["a / b"]["median"] == 0.5


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


def test_ratios_take_the_first_passage_of_every_seed():
    rng = np.random.default_rng(0)
    rows = []
    for label, step in (("a", 1.0), ("b", 1.3)):
        for seed in range(7):
            score = np.r_[0.1, np.clip(rng.normal(0.85, 0.05, 30), 0, 1), 0.95]
            times = np.r_[0, rng.uniform(0.5, 1.5, 31).cumsum() * step]
            rows += [(label, seed, i, t, x) for i, (t, x) in enumerate(zip(times, score, strict=True))]
    frame = pd.DataFrame(rows, columns=["label", "seed", "iteration", "simulated_time_s", "test_accuracy"])
    reference = [
        time_to(frame.query("label == 'b' and seed == @s"), "test_accuracy", 0.9)
        / time_to(frame.query("label == 'a' and seed == @s"), "test_accuracy", 0.9)
        for s in range(7)
    ]
    measured = outcome(frame.sample(frac=1, random_state=1), paired_ratio=ratio(above=0))["measured"]
    wanted = {"median": np.median(reference), "low": min(reference), "high": max(reference)}
    assert measured == pytest.approx(wanted)


def test_paired_ratio_of_a_column():
    rows = {"label": ["a"] * 5 + ["b"] * 5, "seed": [*range(5)] * 2, "time": [1.0] * 5 + [1.5] * 5}
    frame = pd.DataFrame(rows)
    keys = {"of": "value", "y": "time", "seeds": 5, "numerator": "b", "denominator": "a"}
    assert outcome(frame, paired_ratio=keys | {"at_least": 1.5, "at_most": 1.5})["outcome"] == "holds"
    sides = {"numerator": {"scheme": "y", "n": 4}, "denominator": {"scheme": "x", "n": 4}}
    tidy = frame.assign(scheme=frame["label"].map({"a": "x", "b": "y"}), n=4).drop(columns="label")
    entry = outcome(tidy, paired_ratio=keys | sides | {"above": 1})
    assert entry["outcome"] == "holds"
    frame.loc[2, "time"] = math.nan
    assert "time of a is missing" in outcome(frame, paired_ratio=keys | {"above": 1})["reason"]
    with pytest.raises(UserError, match="several rows of b have one seed"):
        outcome(pd.concat([frame, frame]), paired_ratio=keys | {"above": 1})


# ordering


def test_ordering_of_every_pair():
    frame = curves(a=[1.0] * 5, b=[2.0] * 5, c=[3.0] * 5)
    entry = outcome(frame, ordering={"seeds": 5, "level": 0.9, "first": "a", "then": ["b", "c"]})
    assert entry["outcome"] == "holds"
    assert {pair: found["median"] for pair, found in entry["measured"].items()} == {"b / a": 2, "c / a": 3}
    both = outcome(frame, ordering={"seeds": 5, "level": 0.9, "first": ["a", "b"], "then": "c"})
    assert both["outcome"] == "holds"
    entry = outcome(frame, ordering={"seeds": 5, "level": 0.9, "first": ["a", "c"], "then": "b"})
    assert entry["outcome"] == "does not hold"
    assert (
        entry["reason"] == "measured b / a: 2 (2 to 2), b / c: 0.666667 (0.666667 to 0.666667), expected > 1"
    )


def test_ordering_of_sides_chosen_by_columns():
    frame = curves(a=[1.0] * 5, b=[2.0] * 5).assign(load=1)
    frame = pd.concat([frame, curves(a=[3.0] * 5, b=[2.5] * 5).assign(load=2)])
    sides = {(label, load): {"label": label, "load": load} for label in "ab" for load in (1, 2)}
    keys = {"seeds": 5, "level": 0.9}
    entry = outcome(frame, ordering=keys | {"first": sides["a", 1], "then": [sides["b", 1], sides["b", 2]]})
    assert entry["outcome"] == "holds"
    assert {pair: found["median"] for pair, found in entry["measured"].items()} == {
        "b, 1 / a, 1": 2,
        "b, 2 / a, 1": 2.5,
    }
    entry = outcome(frame, ordering=keys | {"first": [sides["a", 2]], "then": sides["b", 2]})
    assert entry["outcome"] == "does not hold"
    with pytest.raises(UserError, match="both first and then: a, 1"):
        outcome(frame, ordering=keys | {"first": sides["a", 1], "then": [sides["a", 1]]})


def test_a_tie_is_no_order():
    entry = outcome(
        curves(a=[1.0] * 5, b=[1.0] * 5), ordering={"seeds": 5, "level": 0.9, "first": "a", "then": "b"}
    )
    assert entry["outcome"] == "does not hold"


def test_ordering_undecided_and_too_few_seeds():
    frame = curves(a=[None] * 5, b=[None] * 5, c=[1.0] * 5)
    entry = outcome(frame, ordering={"seeds": 5, "level": 0.9, "first": "c", "then": ["a", "b"]})
    assert entry["outcome"] == "holds"
    entry = outcome(frame, ordering={"seeds": 5, "level": 0.9, "first": "a", "then": ["b", "c"]})
    assert entry["outcome"] == "does not hold" and entry["measured"]["b / a"] is None
    entry = outcome(frame, ordering={"seeds": 5, "level": 0.9, "first": "a", "then": "b"})
    assert entry["outcome"] == "undecided" and "neither b nor a" in entry["reason"]
    entry = outcome(frame, ordering={"level": 0.9, "first": "c", "then": "a", "seeds": 6})
    assert "share 5 seeds, fewer than 6" in entry["reason"]


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
        (at(expected=math.inf), False),
        (at(where={"label": "a"}, statistic="mean", rows=2, expected=5), True),
        (at(where={"label": "a"}, statistic="median", rows=2, expected=5), True),
        (at(where={"label": "a"}, statistic="max", rows=2, expected=6), True),
        (at(where={"label": "a"}, statistic="min", rows=2, expected=6), False),
        (at(where={"n": 15, "seed": 0}, expected=8), True),
        (at(where={"p": 0.3, "seed": 0}, expected=8), True),
        (at(where={"label": ["a", "b"], "seed": 0}, statistic="max", rows=2, expected=8), True),
        (at("word", expected="1/7"), True),
        (at("word", expected="1/8"), False),
        (at("ok", where={"label": "a"}, statistic="min", rows=2, expected=True), True),
        (at("word", expected=1 / 7), True),
        (at("word", expected=0.14), False),
        (at("ok", where={"label": "b"}, statistic="min", rows=2, expected=True), False),
        (at(where={"ok": False}, column="n", expected=15), True),
    ],
)
def test_value(keys, holds):
    assert (outcome(TABLE, value=keys)["outcome"] == "holds") is holds


def test_value_at_nine_digits():
    """A third is written 0.333333333, and is still a third; float subtraction does not move the ends."""
    frame = pd.DataFrame({"x": [0.333333333], "y": [0.4]})
    assert outcome(frame, value={"where": {}, "column": "x", "expected": 1 / 3})["outcome"] == "holds"
    assert (
        outcome(frame, value={"where": {}, "column": "x", "expected": 0.33333334})["outcome"]
        == "does not hold"
    )
    assert (
        outcome(frame, value={"where": {}, "column": "y", "expected": 0.3, "tolerance": 0.1})["outcome"]
        == "holds"
    )


def test_value_entry():
    entry = outcome(TABLE, value=at(expected=5, tolerance=0.1))
    assert (entry["measured"], entry["expected"], entry["tolerance"]) == (4.0, 5.0, 0.1)
    assert entry["reason"] == "measured 4, expected 5 ± 0.1"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (
            at(where={"label": "b"}, statistic="max", expected=8, rows=2),
            "load is missing or not finite in 1 rows",
        ),
        (at(where={"label": "a"}, statistic="mean", expected=5, rows=3), "2 rows have label = a, not 3"),
        (at(where={"label": "a"}, statistic="mean", expected=5, rows=4), "2 rows have label = a, not 4"),
        (at(where={"seed": 0}, statistic="min", expected=4, rows=3), "2 rows have seed = 0, not 3"),
    ],
)
def test_missing_numbers_and_rows_decide_nothing(keys, reason):
    entry = outcome(TABLE, value=keys)
    assert (entry["outcome"], entry["reason"]) == ("undecided", reason)
    bounds = {k: v for k, v in keys.items() if k != "expected"} | {"above": -1e9}
    assert outcome(TABLE, within=bounds)["outcome"] == "undecided"
    side = {k: v for k, v in keys.items() if k != "expected"}
    both = {"left": at(), "right": side}
    assert outcome(TABLE, compare=both | {"relation": "<"})["outcome"] == "undecided"


def test_an_infinite_number_decides_nothing():
    frame = TABLE.assign(load=[4.0, 6.0, math.inf, 8.0])
    assert outcome(frame, within=at(where={"label": "b", "seed": 0}, above=1))["outcome"] == "undecided"
    sides = {"left": at(), "right": at(where={"label": "b", "seed": 0})}
    assert outcome(frame, compare=sides | {"relation": "<"})["outcome"] == "undecided"


# Expected numbers

COLUMNS = "label,n,column,expected,tolerance,kind,source,inputs,answers,reason,statistic,rows\n"
NUMBERS = """a,,load,5,0,number,Table 1,paper,,,mean,2
a,12,load,8,1,number,Table 1,assumed,,the table is misprinted,max,2
,15,p,3/10,,statement,Table 2,paper,x y,,min,2
b,15,word,x,,companion,ours,assumed,,,,
"""


def read_expected(tmp_path, text):
    (tmp_path / "fig.expected.csv").write_text(text)
    return expected_claims(tmp_path / "fig.expected.csv")


def test_expected_numbers_are_claims(tmp_path):
    claims = read_expected(tmp_path, COLUMNS + NUMBERS)
    frame = TABLE.assign(word=["1/7", "1/7", "x", "x"])
    entries = check(claims, frame, "paper", "fig")
    assert [(e["id"], e["outcome"], e["measured"]) for e in entries] == [
        ("mean load: label = a", "holds", 5),
        ("max load: label = a, n = 12", "does not hold", 6),
        ("min p: n = 15", "holds", 0.3),
        ("word: label = b, n = 15", "undecided", None),
    ]
    assert entries[0]["statement"] == "mean load is 5 where label = a"
    assert entries[1]["reason"] == "the table is misprinted" and entries[1]["tolerance"] == 1
    assert entries[2]["answers"] == ["x", "y"] and entries[2]["kind"] == "statement"
    assert expected_claims(tmp_path / "none.expected.csv") == []


@pytest.mark.parametrize(
    ("own", "outcome"), [("5.004", "holds"), ("4.996", "holds"), ("5.006", "does not hold")]
)
def test_our_own_number_stands_beside_an_independent_one(tmp_path, own, outcome):
    header, first = COLUMNS.replace("\n", ",own\n"), NUMBERS.splitlines()[0].replace(",5,0,", ",5.2,0.3,")
    claims = read_expected(tmp_path, f"{header}{first},{own}\n{NUMBERS.splitlines()[1]},\n")
    independent, ours, _ = check(claims, TABLE, "paper", "fig")
    assert (independent["outcome"], independent["kind"]) == ("holds", "number")
    assert (ours["id"], ours["outcome"], ours["kind"]) == ("own mean load: label = a", outcome, "companion")
    assert ours["statement"] == f"mean load is, of our own, {own} where label = a"
    with pytest.raises(UserError, match="line 2: own wants a number, got 'x'"):
        read_expected(tmp_path, f"{header}{first},x\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("column,expected\n", "lacks the columns tolerance, kind"),
        (COLUMNS.replace("label", "n") + NUMBERS, "a column stands twice"),
        (COLUMNS + "a,12\n", "line 2: wants 12 cells"),
        (COLUMNS + NUMBERS.replace("load", "", 1), "line 2: column is empty"),
        (COLUMNS + NUMBERS.replace(",5,", ",,", 1), "line 2: expected is empty"),
        (COLUMNS + NUMBERS.replace(",5,0,", ",5,x,", 1), "line 2: tolerance wants a number, got 'x'"),
        (COLUMNS + NUMBERS.replace(",5,0,", ",5,010,", 1), "line 2: tolerance wants a number, got '010'"),
        (COLUMNS + NUMBERS.replace("mean,2", "mean,two", 1), "line 2: rows wants a whole number, got 'two'"),
        (
            COLUMNS + NUMBERS.splitlines()[0] + "\n" + NUMBERS,
            "line 3: states 'mean load: label = a' a second time",
        ),
    ],
)
def test_sentences_about_expected_numbers(tmp_path, text, sentence):
    with pytest.raises(UserError, match="fig.expected.csv: ") as caught:
        read_expected(tmp_path, text)
    assert sentence in str(caught.value)


@pytest.mark.paper("partial_recovery")
def test_expected_numbers_belong_to_the_figure(tmp_path, monkeypatch):
    """They follow the figure file's claims, are checked anew when edited, and answer the paper's statements."""
    from gcexp.report import figurefile

    for name in ("conf", "gcexp_papers/partial_recovery"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.setenv("GCEXP_CONF", str(tmp_path / "conf"))
    path = tmp_path / "gcexp_papers/partial_recovery/figures/table4.yaml"
    before = figurefile.read_figure(path, "paper")
    header = "scheme,column,expected,tolerance,kind,source,inputs,answers,reason\n"
    file = path.with_name("table4.expected.csv")
    file.write_text(header + "naive,messages,1,0,statement,Table 4,assumed,theorem1,\n")
    after = figurefile.read_figure(path, "paper")
    assert after.file.claims[-1]["id"] == "messages: scheme = naive"
    assert after.tracked_claims != before.tracked_claims and after.tracked_table == before.tracked_table
    file.write_text(file.read_text().replace("theorem1,", "theorm1,"))
    with pytest.raises(UserError, match="unknown statement 'theorm1'; did you mean 'theorem1'"):
        figurefile.read_figure(path, "paper")


# compare


@pytest.mark.parametrize(
    ("relation", "factor", "holds"),
    [("<", 1, True), ("<=", 1, True), (">", 1, False), (">=", 1, False)]
    + [("<", 0.5, False), ("<=", 0.5, True), (">", 0.5, False), (">=", 0.5, True)],
)
def test_compare(relation, factor, holds):
    sides = {"left": at(), "right": at(where={"label": "b", "seed": 0})}  # 4 and 8
    entry = outcome(TABLE, compare=sides | {"relation": relation, "factor": factor})
    assert (entry["outcome"] == "holds") is holds
    assert entry["measured"] == {"left": 4.0, "right": 8.0}
    assert entry["expected"] == f"left {relation} {'0.5 * ' if factor != 1 else ''}right"


# Reasons


def test_a_difference_below_what_is_printed_is_a_tie():
    sides = {"left": at(where={"label": "a", "seed": 0}), "right": at(where={"label": "a", "seed": 1})}
    told = outcome(TABLE, compare=sides | {"relation": ">", "resolution": 2.5})
    assert told["outcome"] == "undecided" and told["reason"] == "4 and 6 differ by less than 2.5: a tie"
    assert outcome(TABLE, compare=sides | {"relation": ">", "resolution": 2.0})["outcome"] == "does not hold"


def test_grade_seeds_and_what_is_one_check():
    """Runs of five seeds are built, fewer are one run; an analysis says its grade itself."""
    told = {"value": at(expected=4, where={"label": "a", "seed": 0})}
    more = {"within": at("p", where={"label": "a", "seed": 0}, above=0)}

    def judged(predicate, seeds, **about):
        (entry,) = check([ABOUT | predicate | about], TABLE, "paper", "fig", seeds)
        return entry

    assert [judged(told, seeds)["grade"] for seeds in (5, 4, None)] == ["built", "one run", ""]
    assert judged(told, 5, grade="formula")["grade"] == "formula" and judged(told, 4)["seeds"] == 4
    flag = {"date": "2026-11-21", "what": "level"}
    assert judged(told, 5, calibrated=flag)["calibrated"] == "2026-11-21: level"
    assert judged(told, None)["check"] == judged(more, None)["check"] != judged(told, 5)["check"]
    assert judged(told, 5)["check"] != judged(more, 5)["check"]
    assert judged(told, 5)["contradicts"] is None and judged(told, 5, contradicts=[])["contradicts"] == []


def test_each_says_a_claim_once_for_every_mapping():
    """Expanded, it is the list that one would have written."""
    told = {
        "id": "{when}_first",
        "statement": "a before b; first passage of {said}",
        "ordering": {"level": "{level}", "first": "a", "then": ["b", "{last}"], "seeds": 5},
        "each": [
            {
                "when": "late",
                "said": "92 %",
                "level": 0.92,
                "last": "c",
                "kind": "statement",
                "answers": ["x"],
            },
            {"when": "early", "said": "the level drawn", "level": None, "last": "d"},
        ],
    }
    common = {"source": "Fig. 4", "inputs": "assumed", "kind": "companion", "grade": "built"}
    ordering = {"first": "a", "then": ["b", "c"], "seeds": 5}
    late = {"id": "late_first", "statement": "a before b; first passage of 92 %"}
    assert claims_of(FigureFile("", "", "curves", claims=[told], claim=common)) == [
        common | late | {"kind": "statement", "answers": ["x"], "ordering": {"level": 0.92} | ordering},
        common
        | {"id": "early_first", "statement": "a before b; first passage of the level drawn"}
        | {"ordering": ordering | {"then": ["b", "d"]}},
    ]
    drops = FigureFile("", "", "curves", claims=[{"id": "c", "grade": None, "text": "{brace}"}], claim=common)
    assert claims_of(drops) == [
        {k: v for k, v in common.items() if k != "grade"} | {"id": "c", "text": "{brace}"}
    ]
    with pytest.raises(UserError, match=r"number 1: .*unknown key 'whne'; did you mean 'when'"):
        claims_of(FigureFile("", "", "curves", claims=[told | {"id": "{whne}"}]))
    with pytest.raises(UserError, match="number 1: each is a list of mappings"):
        claims_of(FigureFile("", "", "curves", claims=[told | {"each": {"when": "late"}}]))


def test_given_reason_only_where_it_explains():
    known = {"reason": "the paper's Table VI says otherwise"}
    (entry,) = check([ABOUT | known | {"value": at(expected=9)}], TABLE, "p", "t")
    assert entry["reason"] == known["reason"]
    (entry,) = check([ABOUT | known | {"value": at(expected=4)}], TABLE, "p", "t")
    assert entry["reason"] == ""
    claim = ABOUT | known | {"paired_ratio": ratio(above=1, seeds=9)}
    (entry,) = check([claim], curves(a=[1.0], b=[2.0]), "p", "t")
    assert entry["reason"].startswith("b and a share 1 seeds")


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
        | {
            "id": "e",
            "reason": "known",
            "ordering": {"seeds": 5, "level": 0.9, "first": "a", "then": ["b", LABELS[2]]},
        },
        ABOUT | {"id": "f", "compare": {"left": at(), "right": at(), "relation": "<"}},
    ]
    validate(claims, LABELS, "claims")
    validate([], LABELS)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("text", r"^file: number 1: wants keys and values, got 'text'$"),
        (GOOD, "^file: number 1: 'id' is missing or no text$"),
        ({k: v for k, v in ABOUT.items() if k != "inputs"} | GOOD, "^file: 'c': 'inputs' is missing"),
        (ABOUT | {"kind": "companon"} | GOOD, r"unknown kind 'companon'; did you mean 'companion'\?"),
        (ABOUT | {"kind": "statement"} | GOOD, "a claim of kind statement names under answers"),
        (ABOUT | {"answers": ["x"]} | GOOD, "a companion is ours and answers no statement"),
        (
            ABOUT | {"kind": "number", "answers": "x"} | GOOD,
            "answers wants a list of statements' ids, got 'x'",
        ),
        (ABOUT | {"kind": "number", "answers": ["x", "x"]} | GOOD, "answers names a statement twice"),
        (ABOUT | {"grade": "bult"} | GOOD, r"unknown grade 'bult'; did you mean 'built'\?"),
        (ABOUT | {"kind": "number", "contradicts": []} | GOOD, "contradicts is a key of companions"),
        (ABOUT | {"contradicts": "x"} | GOOD, "contradicts wants a list of statements' ids, got 'x'"),
        (ABOUT | {"rests_on": "x"} | GOOD, "rests_on wants a list of objects, module:object, got 'x'"),
        (ABOUT | {"calibrated": {"what": "level"}} | GOOD, "calibrated: 'date' is missing"),
        (
            ABOUT | {"calibrated": {"date": "22.11.2026", "what": "level"}} | GOOD,
            "calibrated: date wants YYYY-MM-DD, got '22.11.2026'",
        ),
        (ABOUT | {"value": at(expected=4, rows=2)}, r"2 rows want a statistic \(mean, "),
        (ABOUT | {"value": at(expected=4, rows=0)}, "rows wants at least 1, got 0"),
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
        (
            ABOUT | {"paired_ratio": ratio(above=1, seeds=0)},
            "seeds wants at least 5, the fewest that decide, got 0",
        ),
        (ABOUT | {"paired_ratio": ratio(above=1, seeds=2.5)}, "seeds wants whole number, got 2.5"),
        (ABOUT | {"paired_ratio": ratio(above="1")}, "above wants number or nothing, got '1'"),
        (ABOUT | {"paired_ratio": ratio(above=1, numerator="a")}, "numerator and denominator are both 'a'"),
        (
            ABOUT | {"paired_ratio": ratio(above=1, numerator="cyclic, beta = 16")},
            r"paired_ratio: unknown label 'cyclic, beta = 16'; did you mean 'cyclic, beta = 15'\?",
        ),
        (ABOUT | {"ordering": {"seeds": 5, "level": 1, "first": "a", "then": []}}, "at least one label each"),
        (
            ABOUT | {"ordering": {"seeds": 5, "level": 1, "first": "a", "then": ["b", "a"]}},
            "in both first and then: a",
        ),
        (
            ABOUT | {"ordering": {"seeds": 5, "level": 1, "first": "a", "then": "z"}},
            "ordering: unknown label 'z'",
        ),
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
    assert INPUTS == ("paper", "assumed")
    assert KINDS == ("statement", "number", "companion")


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
            {"value": at("word", where={"label": "b", "seed": 0}, expected=4)},
            "column 'word' holds text there, as 'x', not numbers",
        ),
        ({"paired_ratio": ratio(above=1)}, "unknown column 'iteration'"),
        (
            {
                "paired_ratio": {
                    "of": "value",
                    "y": "load",
                    "seeds": 5,
                    "numerator": "z",
                    "denominator": "a",
                    "above": 1,
                }
            },
            r"unknown label in the table 'z' \(allowed: a, b\)",
        ),
    ],
)
def test_sentences_when_the_table_is_there(predicate, sentence):
    with pytest.raises(UserError, match=sentence):
        check([ABOUT | predicate], TABLE, "p", "t")


def test_a_predicate_is_one_dataclass_and_one_function():
    from dataclasses import dataclass

    from gcexp.report import predicates

    @dataclass(frozen=True)
    class Rows:
        at_least: int

    try:

        @predicates.predicate("rows", Rows)
        def rows(spec, frame):
            outcome = predicates.HOLDS if len(frame) >= spec.at_least else predicates.FAILS
            return predicates.Verdict(outcome, len(frame), spec.at_least)

        validate([ABOUT | {"rows": {"at_least": 3}}], LABELS)
        assert outcome(TABLE, rows={"at_least": 3})["outcome"] == "holds"
        with pytest.raises(UserError, match="rows: at_least wants whole number, got 'x'"):
            validate([ABOUT | {"rows": {"at_least": "x"}}], LABELS)
    finally:
        predicates._PREDICATES.pop("rows", None)


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        *[
            ("3/8", 0.375),
            (" 1e-3 ", 0.001),
            (2, 2.0),
            ("inf", float("inf")),
            (np.int64(3), 3.0),
            (True, 1.0),
        ],
        *[
            ("010", None),
            ("cyclic", None),
            ("true", None),
            ("null", None),
            (None, None),
            ("1/0", None),
            ("", None),
        ],
        (f"{10**400}/1", None),
    ],
)
def test_cells_are_numbers_where_a_person_typed_one(cell, number):
    assert as_number(cell) == number


def test_a_claim_about_values_that_a_smaller_preset_lacks_is_undecided():
    frame = pd.DataFrame({"label": ["a", "b"], "scale": [1.0, 1.0], "load": [4.0, 5.0]})
    claim = {"id": "x", "kind": "number", "source": "s", "statement": "t", "inputs": "paper"}
    claim |= {"value": {"where": {"label": "a", "scale": 3.0}, "column": "load", "expected": 4}}
    with pytest.raises(UserError, match="unknown scale in the table"):
        check([claim], frame, "paper", "target")
    (entry,) = check([claim], frame, "paper", "target", reduced=True)
    assert entry["outcome"] == "undecided" and "fewer rows" in entry["reason"]
