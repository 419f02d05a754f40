"""The codes of the library side by side: the tables behind the targets."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from gcexp.codes import FractionalRepetition
from gcexp.errors import ParameterError, UserError
from gcexp.report.figurefile import figure
from gcexp.run.build import with_makers
from gcexp_papers.codes import numerics, recent, recent_drawing

pytestmark = pytest.mark.slow


def groups_of(name: str) -> list[dict]:
    """Groups of constructions of a figure."""
    return with_makers(figure(f"codes_{name}", "quick").arguments)["groups"]


def test_comparison_of_sixteen_workers():
    """Exact worst cases; equal density; the design is the best at worst from s = r on, not on average."""
    sixteen = groups_of("comparison")[0] | {"n": [16], "density": [0.25]}
    frame = numerics.comparison([sixteen], trials=200, draws=1, points=8)
    of = frame.pivot(index=["quantity", "s"], columns="label", values="value")
    worst = of.loc["lower"]
    mean = of.loc["mean"]
    np.testing.assert_allclose(worst, of.loc["upper"], atol=1e-12)
    others = worst.drop(columns="block design").min(axis=1)
    assert (worst.loc[4:14, "block design"] < others.loc[4:14]).all()
    assert worst.loc[2, "block design"] > others.loc[2]
    assert mean.loc[8, "fractional repetition"] < mean.loc[8, "block design"]
    wrong = [{"label": "x", "of": [lambda seed: FractionalRepetition(n=16, d=2)]}]
    with pytest.raises(ParameterError, match=r"x has n=16 and density 0.125, its group n=16 and 0.25"):
        numerics.comparison([sixteen | {"codes": wrong}], trials=2, draws=1, points=2)


def test_parameters_of_known_codes():
    """(n - r) / (r (n - 1)) for a design, that of the worse factor for a product, 1 for blocks that share nothing."""
    sixteen = groups_of("parameters")[0] | {"n": [16], "density": [0.25]}
    found = numerics.parameters([sixteen]).set_index("label")
    gamma = found["gamma"]
    known = gamma[["block design", "product of designs", "fractional repetition"]]
    assert known.tolist() == pytest.approx([1 / 5, 1 / 3, 1]) and gamma.idxmin() == "block design"
    np.testing.assert_allclose(found["spectral_gap"], 1 - np.sqrt(gamma), atol=1e-9)


def test_stability_sees_rounding_and_refusals():
    repetition, cyclic, mds = "fractional repetition", "cyclic repetition", "cyclic MDS, complex"
    names = [repetition, cyclic, mds, "communication-efficient, float64"]
    some = [
        group | {"codes": [one for one in group["codes"] if one["label"] in names]}
        for group in groups_of("stability")
    ]
    frame = numerics.stability(some, most_slow=20, sets=4, length=6, sizes=[10, 20, 60])
    assert set(frame["label"]) == set(names) and set(frame["n"].dropna()) == {10, 20, 60}
    errors = frame[frame["what"] == "error"].set_index(["label", "n", "precision", "gradients"])
    value = errors["value"]
    status = errors["status"]
    for name in names[
        :3
    ]:  # single precision is about 1e9 times worse, adversarial gradients never better by far
        assert value[name, 20, "float32", "Gaussian"] > 1e4 * value[name, 20, "float64", "Gaussian"]
    double = value.xs((60, "float64"), level=("n", "precision"))
    assert double[cyclic, "adversarial"] > double[cyclic, "Gaussian"]
    assert double[repetition, "Gaussian"] < 1e-14 and np.isnan(double[mds, "Gaussian"])
    assert status[mds, 60, "float64", "Gaussian"].startswith("refused: ")
    usable = frame[frame["what"] == "usable"].set_index(["label", "precision", "gradients"])["value"]
    assert usable[mds, "float64", "adversarial"] == 20
    assert usable[repetition, "float32", "adversarial"] == 60


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"s": [1]}, "x: one s and one code for each n, got 2 n, 1 s and 2 codes"),
        ({"of": lambda: FractionalRepetition(n=6, d=2)}, "got 2 n, 2 s and 1 codes"),
        ({"n": [6, 12]}, "n=12"),
        ({"sizes": [6, 7]}, "sizes are among the n of the groups, [6, 8], got 7"),
    ],
)
def test_a_construction_has_one_code_for_each_size(changed, sentence):
    of = [partial(FractionalRepetition, n=n, d=2) for n in (6, 8)]
    given = {"n": [6, 8], "s": [1, 1], "of": of} | changed
    groups = [{"n": given["n"], "s": given["s"], "codes": [{"label": "x", "of": given["of"]}]}]
    with pytest.raises(UserError, match=re.escape(sentence)):
        numerics.stability(groups, most_slow=8, sets=2, length=2, sizes=given.get("sizes"))


def test_slow_constructions_end_before_the_others():
    of = [partial(FractionalRepetition, n=n, d=2) for n in (6, 8)]
    both = [{"label": "quick", "of": of}, {"label": "slow", "slow": True, "of": of}]
    frame = numerics.stability([{"n": [6, 8], "s": [1, 1], "codes": both}], most_slow=6, sets=2, length=2)
    tried = frame[frame["what"] == "error"].groupby("label")["n"].agg(set)
    assert dict(tried) == {"quick": {6, 8}, "slow": {6}}


def test_an_error_stands_beside_each_time():
    """The row of a code with an error has two points, and behind it the median error and its range."""
    frame = pd.DataFrame(
        {
            "scheme": ["FRC", "FRC", "OAGC", "OAGC"],
            "seed": [0, 1, 0, 1],
            "ratio": [0.4, 0.5, 0.3, 0.3],
            "ratio_per_used": [0.4, 0.5, 0.6, 0.8],
            "error": [0.0, 0.0, 1.0, 3.0],
            "bound": [0.2, 0.2, 0.2, 0.2],
        }
    )
    axes = Figure().add_subplot()
    recent_drawing.draw(axes, frame)
    assert [text.get_text() for text in axes.texts] == ["exact", "2 (1–3)", "error"]
    places = [line.get_xdata() for line in axes.lines]
    assert [0.3] in [list(place) for place in places] and [0.6, 0.8] in [list(place) for place in places]


def test_every_seed_draws_other_times_and_a_trace_has_one():
    arguments = figure("codes_recent", "quick").arguments
    schemes = [one for one in arguments["schemes"] if one["label"] in ("wait for all", "SGC")]
    given = arguments | {"iterations": 100, "draws": 2, "schemes": schemes, "phi": [1.0]}
    found = recent.comparison(**given)
    assert found.groupby("delays")["seed"].nunique().to_dict() == {"alike": 2, "unequal": 2, "PAI 4": 1}
    errors = found[found["scheme"] == "SGC"].groupby("delays")["error"]
    assert errors.nunique().to_dict() == {"alike": 2, "unequal": 2, "PAI 4": 1}


def test_recent_codes_learn_their_probabilities_from_the_times_before_the_run():
    arguments = figure("codes_recent", "quick").arguments
    delays = [one for one in arguments["delays"] if one["name"] == "unequal"]
    schemes = [one for one in arguments["schemes"] if one["label"] in ("SGC", "OAGC, corner", "FRC, d = 2")]
    given = arguments | {"iterations": 2000, "draws": 1, "delays": delays, "schemes": schemes, "phi": [1.0]}
    found = recent.comparison(**given).set_index("scheme")
    assert found.loc["OAGC, corner", "bias"] < 0.01 < found.loc["SGC", "bias"]
    assert found.loc["FRC, d = 2", "error"] == 0
    assert (found["bound"] <= found["ratio"]).all()
