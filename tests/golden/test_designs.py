"""Block designs of `gcexp.designs.block_designs` against the lists of the literature, and small finite fields."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from gcexp.codes.block_design import BlockDesign
from gcexp.designs.block_designs import (
    CONSTRUCTIONS,
    Design,
    difference_set,
    find_bibd,
    hilbert_symbol,
    named_design,
    pg,
    why_impossible,
)
from gcexp.designs.finite_fields import field, is_prime_power
from gcexp.errors import ParameterError
from tests.conftest import refusals

# --- finite fields ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [q for q in range(2, 33) if is_prime_power(q)])
def test_field_axioms(q):
    F, a = field(q), np.arange(q)
    for table, neutral in ((F.add, 0), (F.mul, 1)):
        np.testing.assert_array_equal(table[neutral], a)
        np.testing.assert_array_equal(table, table.T)
        np.testing.assert_array_equal(table[table], table[a[:, None, None], table])  # (a b) c = a (b c)
    np.testing.assert_array_equal(F.mul[a[:, None, None], F.add], F.add[F.mul[:, :, None], F.mul[:, None]])
    np.testing.assert_array_equal(np.sort(F.mul[1:, 1:], axis=1), np.tile(a[1:], (q - 1, 1)))  # inverses
    np.testing.assert_array_equal(F.add[F.sub, a], np.tile(a[:, None], q))
    assert len(F.powers(2)) == (q - 1) // (2 if q % 2 else 1)


# --- check 1: constructions and their parameters ------------------------------------------------------------

NAMED = {
    "pg(2,2)": (7, 7, 3, 3, 1),
    "pg(2,3)": (13, 13, 4, 4, 1),
    "pg(2,16)": (273, 273, 17, 17, 1),
    "pg(3,3)": (40, 40, 13, 13, 4),
    "pg(5,2)": (63, 63, 31, 31, 15),
    "ag_dual(3,3)": (27, 39, 13, 9, 4),
    "paley(7)": (7, 7, 3, 3, 1),
    "paley(27)": (27, 27, 13, 13, 6),
    "paley2(9)": (9, 18, 8, 4, 3),
    "paley2(13)": (13, 26, 12, 6, 5),
    "bent(2)": (16, 16, 6, 6, 2),
    "bent(3)": (64, 64, 28, 28, 12),
    "quartic(37)": (37, 37, 9, 9, 2),
    "quartic(109)": (109, 109, 28, 28, 7),
    "twin(5)": (35, 35, 17, 17, 8),
    "twin(11)": (143, 143, 71, 71, 35),
    "cyclic_ds(40,13,4)": (40, 40, 13, 13, 4),
    "sts(25)": (25, 100, 12, 3, 1),
    "complete(5,3)": (5, 10, 6, 3, 3),
    "complement(bent(2))": (16, 16, 10, 10, 6),
    "stack(bent(2),3)": (16, 48, 18, 6, 6),
    "stack(complement(ag_dual(2,3)),2)": (9, 24, 16, 6, 10),
}


@pytest.mark.parametrize(("name", "params"), NAMED.items(), ids=NAMED)
def test_constructions(name, params):
    design = named_design(name)
    assert design.params == params
    A = design.incidence.astype(int)
    n, k, l, r, shared = params
    np.testing.assert_array_equal(A.T @ A, (l - shared) * np.eye(n, dtype=int) + shared)
    assert (A.sum(1) == r).all() and A.shape == (k, n)
    dashed = name.replace("(", "-").replace(")", "").replace(",", "-")
    np.testing.assert_array_equal(named_design(dashed).incidence, design.incidence)


def test_every_construction_is_checked():
    assert {name.partition("(")[0] for name in NAMED} == set(CONSTRUCTIONS)


def test_triple_systems_and_geometries_of_every_size():
    for v in (v for v in range(7, 64) if v % 6 in (1, 3)):
        assert named_design(f"sts-{v}").params == (v, v * (v - 1) // 6, (v - 1) // 2, 3, 1)
    for q in filter(is_prime_power, range(2, 10)):
        assert named_design(f"pg-2-{q}").params == (q * q + q + 1, q * q + q + 1, q + 1, q + 1, 1)
        assert named_design(f"ag_dual-2-{q}").params == (q * q, q * q + q, q + 1, q, 1)


def test_what_has_no_multiplier_is_not_searched():
    assert difference_set(25, 9, 3) is None  # exists as a design; no prime divides 6 and not 25


def test_a_matrix_that_is_no_design_is_refused():
    A = pg(2, 2).incidence
    loads, redundancies, intersections = (
        np.eye(3)[[0, 0, 1, 2]],
        np.vstack([A, np.ones(7)]),
        np.eye(4) + np.eye(4)[[1, 2, 3, 0]],
    )
    for wrong in (2 * A, loads, redundancies, intersections):
        with pytest.raises(ParameterError):
            Design(wrong)


# --- existence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "named"),
    [
        *(((n, n, l, l, shared), "Bruck, Ryser and Chowla")
          for n, l, shared in [(22, 7, 2), (29, 8, 2), (43, 7, 1), (53, 13, 3), (67, 12, 2)]),
        ((16, 8, 3, 6, 1), "Fisher"),
        ((16, 17, 6, 6, 2), "n l = k r"),
        ((5, 5, 1, 1, 0), "1 < r < n"),
    ],
)  # fmt: skip
def test_parameters_of_no_design(params, named):
    assert named in why_impossible(*params)


def test_what_exists_or_is_not_known_passes():
    for params in (*NAMED.values(), (111, 111, 11, 11, 1)):
        assert why_impossible(*params) is None


def test_hilbert_symbols():
    """Product formula, and a search for a solution where all symbols are 1 (Legendre: there is a small one)."""
    y, z = np.mgrid[0:40, 0:40]
    for a, b in product((-6, -3, -2, -1, 2, 3, 5, 6, 7), repeat=2):
        symbols = [hilbert_symbol(a, b, p) for p in (None, 2, 3, 5, 7)]
        assert np.prod(symbols) == 1
        squares = a * y**2 + b * z**2
        solved = (squares >= 0) & (np.sqrt(squares.clip(0)).round() ** 2 == squares) & ((y > 0) | (z > 0))
        assert solved.any() == (min(symbols) == 1), (a, b)


# --- what is within reach -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 6, 7, 9, 10, 13, 15, 16, 21, 25, 31])
def test_find_bibd_lists_designs(n):
    found = find_bibd(n, 60)
    assert len({entry[1:] for entry in found}) == len(found)
    for entry in found:
        assert named_design(entry.design).params == entry[1:]
        assert entry.k <= 60 and why_impossible(*entry[1:]) is None


def test_find_bibd_finds_them():
    reached = {found[1:] for found in find_bibd(16, 48, (0.2, 0.5))}
    assert {(16, 16, 6, 6, 2), (16, 32, 12, 6, 4), (16, 48, 18, 6, 6), (16, 20, 5, 4, 1)} <= reached
    assert (16, 24, 9, 6, 3) not in reached and (16, 40, 15, 6, 5) not in reached  # not constructed
    assert {found[1:] for found in find_bibd(37, 37)} >= {(37, 37, 9, 9, 2), (37, 37, 28, 28, 21)}
    assert {found[1:] for found in find_bibd(9, comb(9, 4))} >= {(9, 12, 4, 3, 1), (9, 18, 8, 4, 3)}
    biplanes = [(4, 3), (7, 4), (11, 5), (16, 6), (37, 9)]
    assert all((n, n, l, l, 2) in {found[1:] for found in find_bibd(n, n)} for n, l in biplanes)


# --- what is refused ----------------------------------------------------------------------------------------


test_refuses = refusals(
    (lambda: named_design("pg(2,6)"), "dim=2, q=6"),
    (lambda: named_design("pg(1,3)"), "dim=1"),
    (lambda: named_design("paley(13)"), "3 mod 4"),
    (lambda: named_design("paley2(7)"), "1 mod 4"),
    (lambda: named_design("bent(1)"), "t"),
    (lambda: named_design("quartic(17)"), "p=17"),
    (lambda: named_design("quartic(5)"), "p > 5"),
    (lambda: named_design("twin(7)"), "p=7"),
    (lambda: named_design("cyclic_ds(22,7,2)"), "Bruck, Ryser and Chowla"),
    (lambda: named_design("cyclic_ds(10,4,1)"), "lambda"),
    (lambda: named_design("cyclic_ds(16,6,2)"), r"\(16, 6, 2\)"),
    (lambda: named_design("sts(8)"), "mod 6"),
    (lambda: named_design("complete(4,5)"), "n"),
    (lambda: named_design("complete(40,20)"), "137846528820"),
    (lambda: named_design("pg(9,5)"), r"1e\+07"),
    (lambda: named_design("complement(complete(4,4))"), "empty"),
    (lambda: named_design("stack(pg(2,2),0)"), "copies"),
    (lambda: named_design("biplane(56)"), "'biplane'"),
    (lambda: named_design("pq(2,2)"), "'pg'"),
    (lambda: named_design("pg(2)"), "dim, q"),
    (lambda: named_design("pg(2,2,2)"), "2"),
    (lambda: named_design("complement"), "design"),
    (lambda: named_design(""), "design"),
    (lambda: field(6), "q=6"),
    (lambda: field(1), "q=1"),
    (lambda: field(521), "512"),
    (lambda: BlockDesign(10, "pg-2-3"), "pg-2-3.*n=10.*complete-10-9"),
)
