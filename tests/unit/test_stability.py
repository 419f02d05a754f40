"""docs/stability.md names what is public: all of it is there, and nothing public is left out."""

import dataclasses
import importlib
import json
import re
import tomllib
from argparse import ArgumentParser
from pathlib import Path

import jsonschema
import pytest
import yaml

import gcexp
from gcexp.command.main import COMMANDS, module_of
from gcexp.command.plugged import plugged
from gcexp.data import datasets
from gcexp.report.paper import Paper
from gcexp.run.options import GROUPS, option_file, option_names
from gcexp.run.result_columns import CURVE, TIMED
from gcexp_adviser.logs.reading import trace_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/stability.md").read_text("utf-8")
# Rooms whose ``__all__`` is public.
WHOLE = ("codes", "schemes", "delays", "tasks", "data", "figures", "distributed")
SOME = {"gcexp.testing", "gcexp.seeding", "gcexp.errors"}


def listed(heading):
    """Names of a section's table, by what stands in its first column."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", section, re.M)[2:]
    found = {first.strip("`"): re.findall(r"`([^`]+)`", names) for first, names in rows}
    assert found and all(len(names) == len(set(names)) for names in found.values())
    return found


def test_commands_and_their_options():
    found = listed("Commands")
    assert sorted(found) == sorted([*COMMANDS, *plugged()])
    for command, named in found.items():
        parser = ArgumentParser(add_help=False)
        module_of(command).add(parser)
        options_of = [one.option_strings[-1] for one in parser._actions if one.option_strings]
        assert sorted(named) == sorted(options_of), command


def test_names_of_python():
    found = listed("Python")
    assert set(found) == {"gcexp", *(f"gcexp.{room}" for room in WHOLE), *SOME}
    for module, names in found.items():
        imported = importlib.import_module(module)
        if module != "gcexp.distributed":  # whose names are loaded when used, since they need torch
            assert all(hasattr(imported, name) for name in names), module
        if module not in SOME:
            assert sorted(names) == sorted(imported.__all__), module
    errors = [
        one for one in vars(gcexp.errors).values() if isinstance(one, type) and issubclass(one, Exception)
    ]
    assert sorted(found["gcexp.errors"]) == sorted(one.__name__ for one in errors)


def test_options(monkeypatch):
    monkeypatch.delenv("GCEXP_SEARCHPATH", raising=False)
    found = listed("Options")
    assert set(found) == {*GROUPS, "dataset"}
    for group in GROUPS:  # those of a paper or of a plug-in are not promised here
        ours = [
            name for name in option_names(group) if option_file(group, name).resolve().is_relative_to(ROOT)
        ]
        assert found[group] == ours, group
    assert found["dataset"] == datasets()


def test_keys():
    found = listed("Keys")
    conf = ROOT / "conf"
    assert set(found["a run"]) == set(yaml.safe_load((conf / "run.yaml").read_text())) - {"defaults"}
    of_workflow = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    assert set(found["snakemake --config"]) == set(of_workflow)
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    jsonschema.validate(of_workflow, schema)
    assert set(schema["properties"]) == set(of_workflow)
    schema = json.loads((ROOT / "docs/figure.schema.json").read_text())
    assert set(found["a figure file"]) == set(schema["properties"])
    assert set(found["paper.yaml"]) == {one.name for one in dataclasses.fields(Paper)} - {"bibtex"}
    text = "".join(path.read_text() for path in (ROOT / "gcexp").rglob("*.py"))
    assert all(f'"{name}"' in text for name in found["the environment"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "gcexp.plugins" in text and "pkg://gcexp.conf" in PAGE and project["project"]["scripts"]["gcexp"]


def test_columns(tmp_path):
    found = listed("Files")
    for rows, columns in TIMED.items():
        assert found[f"a table of clocks with `rows={rows}`".strip("`")] == list(columns)
    assert found["a table of trainings"] == list(CURVE)
    (tmp_path / "t.csv").write_text(
        ",".join(found["times of workers, for `delay=trace"]) + "\n0,0,1.0\n0,1,2.0\n"
    )
    assert trace_of(tmp_path / "t.csv") is not None


@pytest.mark.skipif(not (ROOT / "CITATION.cff").is_file(), reason="CITATION.cff is not in this folder")
def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {gcexp.__version__, project["version"], citation["version"]} == {gcexp.__version__}
    assert f"## [{gcexp.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
