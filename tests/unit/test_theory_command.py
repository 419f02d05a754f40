"""``gcexp theory``: every closed form from the shell, and one sentence for every mistake."""

from __future__ import annotations

import inspect
import json
import re
import typing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml

from gcexp import schema
from gcexp.command import main, theory
from gcexp.errors import UserError

ROOT = Path(theory.__file__).parents[2]


def of_their_papers(lines):
    """Rows of a test that begin with the name of a formula; one of a paper is skipped where its folder was deleted."""
    found = []
    for line in lines:
        row = line if isinstance(line, tuple) else (line,)
        module = row[0].partition(".")[0].split()[0]
        in_library = (ROOT / "gcexp" / "theory" / f"{module}.py").is_file()
        marks = [] if in_library else [pytest.mark.paper(module)]
        found.append(pytest.param(*row, marks=marks, id=row[0][:60]))
    return found


def told(capsys, *arguments: str) -> str:
    assert main.main(["theory", *arguments]) == 0
    return capsys.readouterr().out.strip()


def test_lists_everything(capsys):
    listed = json.loads(told(capsys, "--json"))
    written = {
        f"{file.parent.name if file.stem == 'theory' else file.stem}.{name}"
        for file in [*ROOT.glob("gcexp/theory/*.py"), *ROOT.glob("gcexp_papers/*/theory.py")]
        for name in re.findall(r"^def ([a-z]\w*)", file.read_text(), flags=re.MULTILINE)
    }
    assert set(listed) == written and len(written) > 20
    assert listed["order_statistics.harmonic"].startswith("Harmonic number H_i")
    of_bounds = json.loads(told(capsys, "bounds", "--json"))
    assert of_bounds and all(name.startswith("bounds.") for name in of_bounds)
    module, shown = "", {}
    for line in told(capsys).splitlines()[:-2]:
        if line.startswith("  "):
            name, phrase = line.split(maxsplit=1)
            shown[f"{module}.{name}"] = phrase
        else:
            module = line.partition(":")[0]
    assert shown == listed, "one line for each, below its module"


@pytest.mark.paper("partial_recovery")
def test_a_name_alone_is_explained(capsys):
    lines = told(capsys, "partial_recovery.lower_bound").splitlines()
    assert lines[0] == "gcexp theory partial_recovery.lower_bound n= s= alpha="
    assert any("Theorem 1" in line for line in lines)


def test_every_annotation_is_understood():
    """A new function whose parameters are none of the known kinds would be out of reach."""
    for name, function in theory.functions().items():
        required = {
            key: object()
            for key, p in inspect.signature(function).parameters.items()
            if p.kind is not p.VAR_KEYWORD and p.annotation is not p.empty
        }
        for key in required:
            with pytest.raises(UserError, match=f"^{re.escape(name)}: {key} must be [^<]*, got <object"):
                schema.fitted(typing.get_type_hints(function)[key], object(), f"{name}: {key}")


#: Of every kind of argument and of answer one; whether formulas are right is asked by the golden tests.
GOLDEN = [
    ("partial_recovery.lower_bound n=15 s=9 alpha=2/3", "89/648"),
    ("partial_recovery.invisible_fraction replicas=[2,2,2] n=6 s=3", "1/5"),
    ("partial_recovery.naive n=7 s=4 alpha=5/7", {"k": 49, "m": 1, "load": "25/49"}),
    ("adaptive.optimal_costs d=4 w=12", ["1/4", "1/3", "1/2", "1"]),
    ("adaptive.superior c=[1/4,1/3,1/2,1] other=[1/2,1/2,1/2]", True),
    ("adaptive.average_time n=20 d=3 p=0.1 grouped=true", pytest.approx(10.6662, abs=5e-5)),
    ("order_statistics.pareto k=5 n=5 shape=1", "inf"),
    ("errors.frc_error n=12 redundancy=3 s=[2,3,8,12]", [0.0, 0.25, 0.5, 1.0]),
    ("classic_codes.graph_error k=3 edges=[[0,1],[1,2]]", pytest.approx(1 / 9)),
    (
        "partial_recovery.expected_times model=D n=20 alpha=0.75 samples=2000 shift=0.5 mean=2.0",
        [pytest.approx(312.881, abs=5e-4), pytest.approx(367.509, abs=5e-4)],
    ),
]


@pytest.mark.parametrize(("line", "expected"), of_their_papers(GOLDEN))
def test_golden_calls(capsys, line, expected):
    assert told(capsys, *line.split())
    assert json.loads(told(capsys, *line.split(), "--json")) == expected


@pytest.mark.paper("comm_efficient")
def test_a_number_that_is_not_there_is_null(capsys):
    line = "comm_efficient.expected_times n=2 t1=1 lambda1=1 t2=1 lambda2=1 --json"
    assert json.loads(told(capsys, *line.split()))[1][0] is None


def test_lists_the_papers_that_are_there_now(monkeypatch):
    with monkeypatch.context() as without:
        without.setattr(theory, "paper_folders", dict)
        ours = {*theory.functions()}
    added = {name.partition(".")[0] for name in {*theory.functions()} - ours}
    assert added == {at.name for at in theory.paper_folders().values() if (at / "theory.py").is_file()}


@pytest.mark.paper("partial_recovery", "dynamic_clustering")
def test_shown_readably(capsys):
    for line, shown in (
        ("partial_recovery.lower_bound n=15 s=9 alpha=2/3", "89/648 = 0.137345679012"),
        ("partial_recovery.naive n=7 s=4 alpha=5/7", "{k: 49, m: 1, load: 25/49}"),
    ):
        assert told(capsys, *line.split()) == shown
    rows = told(capsys, "partial_recovery.sweep", "n=12", "s=8", "alpha=0.9").splitlines()
    assert len(rows) == 5 and rows[1] == "- {x: 2, y: 7, k: 72, m: 42, load: 7/12, missed: 1/12}"
    assert (
        len(
            yaml.safe_load(told(capsys, "dynamic_clustering.recoverable_sets", "n=4", "clusters=2", "load=1"))
        )
        == 5
    )


VALUES = {
    **{"15": 15, "1e-3": 1e-3, "-2/3": Fraction(-2, 3), "inf": float("inf"), "null": None, "true": True},
    **{"[1, 2/4, -inf]": [1, Fraction(1, 2), -float("inf")], "[]": [], "[010, null]": ["010", None]},
    **{text: text for text in ("010", "pg-2-3", "[1,", "", "__import__", "(lambda: 1)()", "1 + 1", "-x")},
}


@pytest.mark.parametrize("text", VALUES)
def test_values(text):
    found = theory.parse(text)
    assert found == VALUES[text] and type(found) is type(VALUES[text])


@pytest.mark.paper("partial_recovery", "soft_bibd")
def test_fractions_stay_exact_where_the_function_takes_them():
    assert theory.evaluate("partial_recovery.exact", ["alpha=2/3"]) == Fraction(2, 3)
    assert theory.evaluate("partial_recovery.least_invisible", ["n=6", "s=3", "load=1/3"]) == Fraction(1, 5)
    floats = theory.evaluate("classic_codes.bernoulli_error", ["p=1/4", "m=3"])
    assert type(floats) is float and floats == pytest.approx(1)
    ragged = ["errors=[[0,1],[0,1/2,1]]", "partitions=[2,2]"]
    np.testing.assert_allclose(theory.evaluate("soft_bibd.direct_sum_errors", ragged), [0, 0.5, 0.75, 1])


BOUND = "partial_recovery.lower_bound"
MISTAKES = [
    ("partial_recovery.lower_bund n=15", "'partial_recovery.lower_bound'"),
    ("partial_recovery n=15", "'partial_recovery'"),
    (f"{BOUND} n=15 s=9 alfa=1/2", "'alpha'"),
    (f"{BOUND} n=15 s=9", "'alpha'"),
    (f"{BOUND} n=15 s=9 alpha=half", "'half'"),
    (f"{BOUND} n=15.5 s=9 alpha=1/2", "15.5"),
    (f"{BOUND} n=true s=9 alpha=1/2", "True"),
    (f"{BOUND} n=inf s=9 alpha=1/2", "inf"),
    (f"{BOUND} n=15 s=1/0 alpha=1/2", "1/0"),
    (f"{BOUND} n=15 s=9 s=8 alpha=1/2", "'s'"),
    (f"{BOUND} 15", "'15'"),
    (f"{BOUND} n=15 s=19 alpha=1/2", "0 <= s < n, got n=15, s=19"),
    (f"{BOUND} n=015 s=9 alpha=1/2", "'015'"),
    (f"{BOUND} n={5000 * '9'} s=9 alpha=1/2", "digits"),
    ("adaptive.group_length L=6 d=3 s=[0,x] w=12", "s: entry 2"),
    ("adaptive.first_epoch u=3 p=0.5 s_max=null", "s_max"),
    ("adaptive.decode_cost scheme=agd n=20 d=3 s=1 L=6", "'agc'"),
    ("adaptive.crossing one=1 other=2 low=0 high=1", "one "),
    ("partial_recovery.expected_times model=A n=20 alpha=0.7 samples=20 foo=1", "'foo'"),
    ("soft_bibd.direct_sum_errors errors=[[1,a]] partitions=[1]", "errors="),
    ("errors.bibd_error code=[1,2] s=1", "errors.bibd_error"),
]
#: A formula outside its domain is refused, not evaluated.
OUTSIDE = """
partial_recovery.cycle_unions n=1000000
partial_recovery.cycle_unions n=0
partial_recovery.most_stragglers n=5 y=0 alpha=1/2
partial_recovery.most_stragglers n=0 y=1 alpha=1/2
partial_recovery.convex_bound total=12 k=-1 n=5 s=2
partial_recovery.intermediate_misses n=10 s=4 x=-1 y=3
partial_recovery.rho n=5 s=-1 y=2
partial_recovery.t_design n=10 t=3 size=4 index=-1
adaptive.decode_size n=3 d=5 L=6 s=0
adaptive.rounds L=-6 d=3 s=0
adaptive.group_length L=6 d=3 s=1 w=12
adaptive.group_length L=6 d=3 s=[] w=12
adaptive.group_feasible d=3 s=[] q=6 w=12
adaptive.group_feasible d=3 s=[0] q=0 w=12
adaptive.feasible d=3 lengths=[0] w=12
adaptive.last_epoch sizes=[] p=0.1 s_max=1
adaptive.first_epoch u=100000 p=0.1 s_max=1
adaptive.adaptive_costs L=6 d=-1 w=12
adaptive.optimal_costs d=3 w=-1
adaptive.survivable n=-1 d=3
adaptive.survivable_bound n=20 d=-1
soft_bibd.direct_sum_errors errors=[] partitions=[]
errors.bibd_weight load=3 intersection=1 survivors=0
errors.design_error n=7 redundancy=-1 s=1
errors.spectral_bound n=7 k=7 redundancy=3 sigma2_squared=nan s=1
errors.soft_smallest_mu n=1 rho=0.5
soft_bibd.soft_paper_smallest_mu n=5 rho=1.5
dynamic_clustering.expected_time slow=[[0.5]] spare=0 load=1 alpha=0 mu_s=1 mu_f=inf
dynamic_clustering.order_statistic n=9 spare=1 load=2 alpha=1 mu=-1
dynamic_clustering.slow_probability p=-1 t=2 starts_slow=true
comm_efficient.ec2_like n=-1
comm_efficient.no_communication n=8 d=2 t1=-1 lambda1=1
comm_efficient.no_computation n=8 m=2 t2=1 lambda2=nan
comm_efficient.worker_cdf x=2 d=-1 m=1 t1=1 lambda1=1 t2=1 lambda2=1
order_statistics.shifted_exponential k=1 n=2 mean=-1
order_statistics.pareto k=1 n=2 shape=-1
""".split("\n")[1:-1]


@pytest.mark.parametrize(("line", "named"), of_their_papers(MISTAKES))
def test_mistakes(refused_command, line, named):
    refused_command(named, "theory", *line.split())


@pytest.mark.parametrize("line", of_their_papers(OUTSIDE))
def test_formulas_outside_their_domain(refused_command, line):
    """The sentence names the formula and the argument that is outside."""
    name, *given = line.split()
    sentence = refused_command(name, "theory", *line.split())
    assert any(argument.partition("=")[0] in sentence for argument in given)
