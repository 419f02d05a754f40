"""The guard of exact codes: what rounding spoils is refused before a run, with another code that decodes."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import gcexp
from gcexp.codes import (
    Adaptive,
    BlockDesign,
    CommunicationEfficient,
    CyclicMDS,
    CyclicRepetition,
    DirectSum,
    FractionalRepetition,
    GeneralCommunicationEfficient,
    Kronecker,
    ReedSolomon,
    Uncoded,
)
from gcexp.codes import accuracy as guard
from gcexp.codes.base import Code
from gcexp.codes.linear import pinv, svd
from gcexp.command import main
from gcexp.errors import DecodingError, ParameterError
from gcexp.schema import typed

PAGE = Path(__file__).parents[2] / "docs" / "codes-accuracy.md"

#: Every one was accepted, and its decode raised for some sets of stragglers.
SPOILED = {
    "complex polynomial": (partial(CyclicMDS, 60, 30), "CyclicRepetition"),
    "real polynomial": (partial(CyclicMDS, 101, 20, "real"), "CyclicRepetition"),
    "cyclic supports": (partial(ReedSolomon, 52, 29, mask="cyclic"), "CyclicRepetition"),
    "one block": (partial(CommunicationEfficient, 50, 30, 1), "GeneralCommunicationEfficient"),
    "three blocks": (partial(CommunicationEfficient, 41, 13, 3), "GeneralCommunicationEfficient"),
    "rounds": (partial(Adaptive, 14, 4, search_seeds=3), "rounds=d"),
    "one of two parts": (lambda: DirectSum([Uncoded(3), ReedSolomon(52, 29, mask="cyclic")]), "parts"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_what_rounding_spoils_is_refused(case):
    make, instead = SPOILED[case]
    with pytest.raises(ParameterError, match=rf"accuracy.*take .*{instead}"):
        guard.require_accurate(make())


@pytest.mark.parametrize(
    "make",
    [
        partial(CyclicRepetition, 80, 40),
        partial(GeneralCommunicationEfficient, 50, 32, 2, tries=2),
        partial(Adaptive, 14, 4, rounds=4),
        partial(CommunicationEfficient, 20, 10, 5),
    ],
)
def test_what_is_named_instead_decodes(make):
    guard.require_accurate(make())


FAMILIES = [one for one in vars(gcexp.codes).values() if getattr(one, "examples", ())]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_example_is_accurate(family):
    for example in family.examples:
        code = family(**example)
        guard.require_accurate(code)
        if guard.is_solved(code):
            for kind in guard.KINDS:
                responses = guard.patterns(code, kind)
                assert len(responses) and code.met(responses).all()
                assert guard.residuals(code, kind) == pytest.approx(decoded_off(code, responses), abs=1e-12)


def decoded_off(code: Code, responses: np.ndarray) -> float:
    """The residual again, by an encoded identity for every pattern on its own."""
    weights = code.weights(responses).reshape(len(responses), code.blocks, -1)
    found = (weights @ code.encoding.toarray()).real
    whole = np.kron(np.ones(code.k), np.eye(code.blocks))
    return abs(found - (np.rint(found) if code.recovers < code.k else whole)).max()


def test_codes_that_solve_nothing_and_large_ones_are_not_tried(monkeypatch):
    monkeypatch.setattr(guard, "residuals", lambda *_: pytest.fail("tried"))
    large = CyclicRepetition(401, 1)
    for code in (Uncoded(500), FractionalRepetition(400, 4), BlockDesign(7, "pg-2-2"), large):
        guard.require_accurate(code)


def test_a_run_is_refused_before_it_starts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    length = {"delay": "pareto", "iterations": 3, "seeds": 1}
    given = {"scheme": "cyclic_mds", "n": 60}
    for call in (
        lambda: gcexp.simulate(s=30, **given, **length),
        lambda: gcexp.sweep({"s": [2, 30]}, impossible="raise", **given, **length),
        lambda: gcexp.simulate(code=CyclicMDS(60, 30), s=30, **length),
    ):
        with pytest.raises(ParameterError, match="take CyclicRepetition"):
            call()
    typed = [f"{key}={value}" for key, value in {**given, **length, "s": 30}.items()]
    assert main.main(["run", *typed, "task=digits_mlp"]) == 2
    assert "take CyclicRepetition" in capsys.readouterr().err
    with pytest.raises(DecodingError, match="take CyclicRepetition"):  # a decode by itself says it too
        CyclicMDS(60, 30).decode(np.arange(60)[None] >= 30)


def test_the_page_is_what_is_measured():
    """Some of its cells again, within two orders of magnitude."""
    lines = [re.sub(r"\\(.)", r"\1", line) for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = {row[0]: row[1:] for row in (line[2:-2].split(" | ") for line in lines)}
    for name, row in cells.items():
        family, given = re.fullmatch(r"(\w+)\((.*)\)", name).groups() if "(" in name else ("", "")
        keys = {key: typed(value.strip("'")) for key, value in re.findall(r"(\w+)=([^,]+)", given)}
        if keys.get("n") == 20 and len(row) == 4:
            for s, cell in zip((2, 5, 10, 16), row, strict=True):
                if cell != "-":
                    unsaid = {"d": None} if family == "CommunicationEfficient" else {}
                    same(cell, getattr(gcexp.codes, family)(**unsaid, **keys, s=s))
    refused = [name for name, row in cells.items() if any(cell.startswith("refused") for cell in row)]
    assert {"ReedSolomon(n=100)", "Adaptive(n=13, d=4)", "CommunicationEfficient(n=50, m=2)"} <= set(refused)
    assert not any(name.startswith("CyclicRepetition") for name in refused)


def same(cell: str, code: Code) -> None:
    for told, kind in zip(re.findall(r"\S*\d", cell), guard.KINDS, strict=True):
        measured = max(guard.residuals(code, kind), 1e-15)
        assert 0.01 < max(float(told), 1e-15) / measured < 100, (cell, code, kind)


# --- what crashed -----------------------------------------------------------------------------------------------


PRODUCT, CYCLIC = (
    Kronecker(FractionalRepetition(4, 2), BlockDesign(3, "complete-3-2")),
    CyclicRepetition(3, 1),
)


@pytest.mark.parametrize(
    "code", [Kronecker(PRODUCT, CYCLIC), Kronecker(CYCLIC, PRODUCT)], ids=["left", "right"]
)
def test_a_product_of_three_factors_without_product_sets(code):
    responses = (np.random.default_rng(0).random((6, code.n)) < 0.7).astype(int)  # none is a product set
    best = np.array([np.linalg.pinv(row[:, None] * code.encoding.toarray()).sum(0) for row in responses])
    expected = ((best @ code.encoding.toarray() - 1) ** 2).mean(1)
    assert code.decode(responses).error == pytest.approx(expected, abs=1e-9)


def test_singular_values_where_the_fast_driver_gives_up(monkeypatch):
    A = np.random.default_rng(0).standard_normal((3, 4, 6)) + 0.0
    want_svd, want_pinv = np.linalg.svd(A), np.linalg.pinv(A)
    want = CyclicRepetition(12, 4, "gaussian").decode([[1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]])

    def gives_up(*_args, **_keys):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", gives_up)
    monkeypatch.setattr(np.linalg, "pinv", gives_up)
    U, size, V = svd(A)
    assert size == pytest.approx(want_svd[1]) and np.allclose(U @ (size[..., None] * V[:, :4]), A)
    assert svd(A[0])[0].shape == (4, 4) and svd(A[0], full_matrices=False)[2].shape == (4, 6)
    assert np.allclose(pinv(A, 1e-10), want_pinv)
    code = CyclicRepetition(12, 4, "gaussian")  # at (200, 50) some drivers gave up
    responses = np.array([[1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1], [1] + [0] * 11])
    assert (code.decode(responses[:1]).coefficients == want.coefficients).all()
    code.weights(responses[1:])  # below the quorum: the pseudoinverse
    with pytest.raises(np.linalg.LinAlgError):
        svd(np.full((2, 2), np.nan))
