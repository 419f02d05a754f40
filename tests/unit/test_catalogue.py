"""The table of all codes holds every code, its sources are real entries, and every option has a phrase."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import gcexp.codes
from gcexp.codes.bernoulli import BernoulliCode
from gcexp.codes.soft_bibd import SoftBIBD
from gcexp.codes.stochastic import StochasticGradientCode
from gcexp.command import main
from gcexp.command.list import LISTED, phrases
from gcexp.report.targets import target_files
from gcexp.run.options import GROUPS, option_names

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone_here(here, monkeypatch):
    """Only the options of the clone."""
    monkeypatch.chdir(ROOT)


def catalogue() -> tuple[str, tuple[str, ...]]:
    """The page as it would be written now, and the header of its table."""
    made = runpy.run_path(str(ROOT / "docs/codes.py"))
    return made["document"](), made["HEADER"]


def rows(page: str) -> dict[str, list[str]]:
    """Cells by option; codes without one by class."""
    lines = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in page.splitlines() if line.startswith("| ")]
    found = {}
    for cells in lines:
        cells = [re.sub(r"\\(.)", r"\1", cell) for cell in cells]
        if cells[0] not in ("option", "class", "---"):
            found[cells[0]] = cells
    return found


def test_every_option_is_listed_with_a_phrase(clone_here, capsys, refused_command):
    assert main.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split(maxsplit=1) for line in lines if line.startswith("  ")]
    assert len(listed) > 100 and all(len(parts) == 2 for parts in listed), listed
    assert [line.rstrip(":") for line in lines if not line.startswith("  ")] == list(LISTED)
    names = [parts[0] for parts in listed]
    assert {"greedy", "mnist", *target_files()} <= set(names)
    for group in GROUPS:
        told = phrases(group)
        assert set(told) <= set(names)
        assert not (cut := [name for name, phrase in told.items() if not phrase.endswith(".")]), cut
    refused_command(("'cods'", "'codes'"), "list", "cods")
    assert main.main(["list", "waits"]) == 0
    told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert set(told) == set(option_names("wait")) and "every quorum" in told["decodable"]


def test_every_code_has_its_row(clone_here):
    page, header = catalogue()
    assert (ROOT / "docs/codes.md").read_text() == page, "write it anew: python docs/codes.py > docs/codes.md"
    found = rows(page)
    composed = {"DirectSum", "Kronecker"}
    assert set(found) == set(option_names("code")) | composed
    public = {name for name in gcexp.codes.__all__ if getattr(vars(gcexp.codes)[name], "examples", ())}
    assert public <= {cells[1] for cells in found.values()} | composed
    for option, cells in found.items():
        assert len(cells) == len(header) - (option in composed)
        assert all(cell not in ("", "-") for cell in cells), option


@pytest.mark.parametrize(
    ("family", "given", "mean"),
    [
        (BernoulliCode, {"n": 12, "d": 3, "k": 9}, 3),
        (SoftBIBD, {"n": 12, "k": 10, "d": 3.5}, 3.5),
        (StochasticGradientCode, {"n": 12, "d": 3, "p": 0.4, "k": 8}, 8 * 3 / 12),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_mean_loads_are_those_of_the_page(family, given, mean):
    assert "mean load" in family.error_bound
    loads = [family(**given, seed=seed).load.mean() for seed in range(200)]
    assert np.mean(loads) == pytest.approx(mean, rel=0.03)


def test_bibliography():
    text = (ROOT / "docs" / "references.bib").read_text()
    entries = re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}", text, flags=re.MULTILINE | re.DOTALL)
    keys = [key for _, key, _ in entries]
    assert len(keys) == len(set(keys)) == text.count("@") and len(keys) >= 13
    for kind, key, fields in entries:
        named = dict(re.findall(r"^  (\w+) += \{(.+)\},$", fields, flags=re.MULTILINE))
        assert {"author", "title", "year"} <= set(named), key
        assert len(named) == fields.count("\n"), key
        assert named["year"] in key and text.count("{") == text.count("}")
        place = {"inproceedings": "booktitle", "article": "journal", "misc": "eprint"}
        assert place[kind] in named, key
