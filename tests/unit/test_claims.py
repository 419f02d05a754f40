"""Claims: verdicts from numbers and from paired curves, and the outcome of a statement."""

import dataclasses
import importlib

import numpy as np
import pandas as pd
import pytest

from gcexp.analysis.claims import (
    Claim,
    Undecided,
    Verdict,
    all_instances,
    because,
    before,
    claim,
    every,
    judge,
    less,
    number,
    ratio_within,
    selected,
    within,
)
from gcexp.errors import DataError, Defect, ParameterError
from gcexp.report.audit import Evidence, changed_outcomes, outcomes
from gcexp.report.fitted import FittedInput, claim_reads, read_fitted_inputs, require_marks
from gcexp.report.printed import read_printed_numbers
from gcexp.report.statements import Statement, read_statements

TABLE = pd.DataFrame({"scheme": ["a", "b", "b"], "n": [1, 2, 3], "time": [1.0, 2.0, np.nan]})


def curves(times: dict[str, list[float]], last: float = 10.0) -> pd.DataFrame:
    """Each label's seeds reach 0.9 at the given times, and are evaluated at 0, then, and at the end."""
    rows = [
        {"label": label, "seed": seed, "iteration": i, "simulated_time_s": t, "test_accuracy": score}
        for label, reached in times.items()
        for seed, time in enumerate(reached)
        for i, (t, score) in enumerate([(0.0, 0.1), (min(time, last - 1), 0.9 if time < last else 0.5)])
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("slow", "outcome"),
    [
        ([2, 2, 2, 2, 2], "reproduced"),
        ([2, 2, 2, 2, 0.5], "undecided"),
        ([0.5, 0.5, 0.5, 0.5, 0.5], "not reproduced"),
        ([99, 99, 99, 99, 99], "reproduced"),  # the slow scheme never reaches the level in the winner's time
    ],
)
def test_five_seeds_that_agree_decide(slow, outcome):
    table = curves({"fast": [1.0] * 5, "slow": slow})
    assert before(table, "fast", "slow", level=0.9).outcome == outcome


FOUR, NOBODY = curves({"a": [1] * 4, "b": [2] * 4}), curves({"a": [99] * 5, "b": [99] * 5})
LACKING = curves({"a": [1] * 5, "b": [2] * 5}).assign(test_accuracy=np.nan)


@pytest.mark.parametrize(
    "table", [FOUR, NOBODY, LACKING], ids=["four seeds", "nobody reaches it", "no score"]
)
def test_what_the_curves_cannot_say_is_undecided(table):
    assert before(table, "a", "b", level=0.9).outcome == "undecided"
    with pytest.raises(Undecided):
        ratio_within(table, "b", "a", level=0.9, above=1)


@pytest.mark.parametrize(
    ("bounds", "outcome"),
    [
        ({"above": 1, "at_most": 1.3}, "reproduced"),
        ({"at_most": 1.2}, "undecided"),
        ({"above": 1.5}, "not reproduced"),
    ],
)
def test_a_ratio_lies_within_bounds_with_its_whole_interval(refused, bounds, outcome):
    table = curves({"a": [1.0] * 5, "b": [1.1, 1.2, 1.3, 1.2, 1.2]})
    assert ratio_within(table, "b", "a", level=0.9, **bounds).outcome == outcome
    refused("bound", lambda: ratio_within(table, "b", "a", level=0.9), error=ParameterError)


def test_values_of_one_row_a_seed_are_compared_without_a_level(refused):
    rows = {"label": ["a"] * 5 + ["b"] * 5, "seed": [*range(5)] * 2, "t": [1.0] * 5 + [2.0] * 5}
    table = pd.DataFrame(rows)
    assert before(table, "a", {"label": "b"}, y="t").outcome == "reproduced"
    refused("b", lambda: before(pd.concat([table, table]), "a", "b", y="t"))


def test_a_number_is_asked_for_exactly(refused):
    assert number(TABLE, "n", {"scheme": "b"}, "max", rows=2) == 3
    for wrong in ({"scheme": "b"}, {"n": 3}):
        with pytest.raises(Undecided):
            number(TABLE, "time", wrong)
    for column, where in (("tme", {}), ("n", {"scheme": "c"}), ("scheme", {"n": 1})):
        refused((), number, TABLE, column, where)
    refused((), selected, TABLE, {"scheme": "a", "n": 2})


def test_ends_of_bounds_ties_and_several_verdicts():
    assert [within(1, above=1).outcome, within(1, at_least=1).outcome] == ["not reproduced", "reproduced"]
    assert [less(1, 1).outcome, less(1, 1, or_equal=True).outcome] == ["not reproduced", "reproduced"]
    assert less(1, 1.001, resolution=0.01).outcome == "undecided"
    verdicts = [Verdict(word) for word in ("reproduced", "undecided", "not reproduced")]
    assert [every(*verdicts[:count]).outcome for count in (1, 2, 3)] == [one.outcome for one in verdicts]


def test_a_claim_without_instances_or_about_another_statement_is_a_defect():
    with pytest.raises(Defect):
        all_instances([])

    @claim("a", "b")
    def about_one():
        return {"a": Verdict("reproduced")}

    with pytest.raises(Defect, match="about_one"):
        judge(about_one, {})


def statement(**more) -> Statement:
    about = {"where": "I", "kind": "theorem", "statement": "x", "conditions": "", "target": "", "main": ""}
    return Statement(**{"id": "a", "checkable": "no (by definition): so it is"} | about | more)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ([], "not testable here"),
        (["reproduced"], "reproduced"),
        (["reproduced", "undecided"], "undecided"),
        (["reproduced", "not reproduced"], "partly"),
        (["undecided", "not reproduced"], "not reproduced"),
        (["reproduced", "consistent"], "consistent"),
        (["consistent", "undecided"], "undecided"),
        (["consistent", "not reproduced"], "partly"),
    ],
)
def test_a_statement_is_judged_by_all_that_answers_it(found, outcome):
    verdicts = [{"a": Verdict(one, "0.3")} for one in found]
    answers = [
        Evidence(
            f"f{i}",
            verdict,
            (),
            Claim(("a",), assumed=i == 0, fitted=("delays",)),
            ("The delays were fitted.",),
        )
        for i, verdict in enumerate(verdicts)
    ]
    (row,) = outcomes("p", [statement()], answers)
    assert (row.outcome, row.assumed) == (outcome, "yes" if found else "")
    assert bool(row.reason) == (outcome != "reproduced")
    other = dataclasses.replace(row, outcome="partly" if outcome != "partly" else "undecided")
    assert (
        changed_outcomes([row], [other])
        and not changed_outcomes([row], [row])
        and not changed_outcomes([row], [])
    )


def test_fitted_inputs_find_a_statement_consistent_at_best():
    for time, outcome in ((1.0, "consistent"), (3.0, "not reproduced")):

        @claim("a", fitted="delays")
        def fitted(time=time):
            return because(within(time, below=2), f"It takes {time:.1f} s.")

        found = Evidence("fitted", judge(fitted, {}), (), fitted.claim, ("The delays were fitted to it.",))
        (row,) = outcomes("p", [statement()], [found])
        assert row.outcome == outcome
        assert ("fitted to it" in row.reason) == (outcome == "consistent") and f"{time} s" in row.reason


def test_a_bar_that_was_set_afterwards_is_told_and_leaves_the_outcome():
    @claim("a", post_hoc="The bar is 2 s.")
    def quick():
        return within(1.0, below=2)

    (row,) = outcomes("p", [statement()], [Evidence("quick", judge(quick, {}), (), quick.claim)])
    assert (row.outcome, row.post_hoc) == ("reproduced", "yes") and "The bar is 2 s." in row.reason


def reads_directly():
    return PAPER.MATRIX.sum()


def reads_through_a_function():
    return [PAPER._place(slow) for slow in ()]


def reads_nothing():
    return 1


PAPER = importlib.import_module("gcexp_papers.dynamic_clustering.numerics")
MATRIX = FittedInput("matrix", "It was chosen.", ("a",), ("fig2",), ("numerics.MATRIX", "numerics.ALLOWED"))


@pytest.mark.parametrize(
    ("function", "figure", "reads"),
    [
        (reads_directly, (), True),
        (reads_through_a_function, (), True),
        (reads_nothing, "fig2", True),
        (reads_nothing, "fig3", False),
    ],
)
def test_a_claim_that_reads_a_fitted_input_must_say_so(refused, function, figure, reads):
    inputs = {"matrix": MATRIX}

    def check(*answered, **marks):
        declared = claim(*answered, figure=figure, **marks)(function)
        found = claim_reads(declared, "gcexp_papers.dynamic_clustering")
        require_marks("claim x", declared.claim, answered, found, inputs)

    check("a", fitted="matrix")
    check("b")  # to which it was not fitted
    if reads:
        refused("matrix", check, "a")
    else:
        check("a")
    refused("matrix", lambda: check("a", fitted="matrx"))


INPUTS = "id,what,fitted_to,figures,names\n"


def test_a_damaged_list_of_fitted_inputs_is_refused(refused, tmp_path):
    file = tmp_path / "fitted_inputs.csv"
    assert read_fitted_inputs(file, ["a"], ["fig2"]) == {}
    file.write_text(f"{INPUTS}m,Chosen.,a,fig2,numerics.MATRIX\n")
    assert read_fitted_inputs(file, ["a"], ["fig2"])["m"].fitted_to == ("a",)
    for row, named in (("m,Chosen.,b,,", "statement"), ("m,Chosen.,a,fig3,", "figure")):
        file.write_text(f"{INPUTS}{row}\n")
        refused(named, read_fitted_inputs, file, ["a"], ["fig2"])
    for row in ("m,,a,,", "m,Chosen.,,,", ",Chosen.,a,,", "m,Chosen.,a,,\nm,Chosen.,a,,"):
        file.write_text(f"{INPUTS}{row}\n")
        refused((), read_fitted_inputs, file, ["a"], ["fig2"], error=DataError)
    refused(
        "MATRX",
        claim_reads(claim("a")(reads_nothing), "gcexp_papers.dynamic_clustering"),
        dataclasses.replace(MATRIX, names=("numerics.MATRX",)),
    )


def test_what_to_know_of_a_statement_stands_beside_a_reproduced_one_as_well():
    told = because(Verdict("reproduced"), "58 sets are lost.")
    (row,) = outcomes("p", [statement()], [Evidence("f", {"a": told}, (), Claim(("a",)))])
    assert (row.outcome, row.reason) == ("reproduced", "58 sets are lost.")


def test_a_statement_that_is_not_reproduced_wants_a_reason(refused):
    refused("not testable here", outcomes, "p", [statement(checkable="no")], [])


HEADER = "scheme,column,expected,tolerance,source,assumed,answers,reason\n"


def test_printed_numbers_are_read_and_compared(tmp_path):
    file = tmp_path / "fig1.expected.csv"
    file.write_text(HEADER + "a,time,1,,Table 1,,a b,\n,n,2,0.5,Table 1,yes,,\nb,scheme,b,,Table 1,,,\n")
    one, two, three = read_printed_numbers(file)
    assert (one.where, one.answers, two.assumed) == ({"scheme": "a"}, "a b", "yes")
    judged = [each.judge(TABLE).outcome for each in (one, two, three)]
    assert judged == ["reproduced", "undecided", "undecided"]
    assert read_printed_numbers(tmp_path / "none.csv") == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("column,expected\n", "tolerance"),
        (f"{HEADER}a,,1,,,,,\n", "column"),
        (f"{HEADER}a,n,1,x,,,,\n", "tolerance"),
        (f"{HEADER}a,n,1,,,maybe,,\n", "assumed"),
        (f"{HEADER}a,n,1,,,,,\na,n,1,,,,,\n", "twice"),
        (f"{HEADER}a,n\n", "cells"),
    ],
)
def test_a_file_of_printed_numbers_is_refused_with_its_line(refused, tmp_path, text, named):
    file = tmp_path / "fig1.expected.csv"
    file.write_text(text)
    refused(named, read_printed_numbers, file)


STATED = "id,where,kind,statement,conditions,target,checkable,main\n"


def test_a_damaged_list_of_statements_is_refused(refused, tmp_path):
    file = tmp_path / "statements.csv"
    file.write_text(f"{STATED}a,I,theorem,x,,,yes,\n")
    assert read_statements(file)["a"].where == "I"
    for rows in ("a,I,theorem,x,,,perhaps,\n", "a,I,theorem,x,,,yes,no\n", "a,I,t,x,,,yes,\n" * 2):
        file.write_text(STATED + rows)
        refused((), read_statements, file, error=DataError)
    file.write_text("id,where\n")
    refused((), read_statements, file, error=DataError)
