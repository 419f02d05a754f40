"""The JSON Schema of figure files: as it stands in docs/, and for every file that is there."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gcexp.report.figureschema import document, figure_schema
from gcexp.run.options import GROUPS, SHARED
from gcexp.run.yaml_values import read_yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "gcexp_papers").glob("*/figures/*.yaml"))


@pytest.fixture(scope="module")
def checked():
    Draft202012Validator.check_schema(schema := figure_schema())
    return Draft202012Validator(schema)


def test_the_schema_in_docs_is_current():
    assert (ROOT / "docs/figure.schema.json").read_text() == document(), (
        "run: gcexp schema figure -o docs/figure.schema.json"
    )


def test_the_editor_setting_of_the_clone_names_it():
    ((schema, files),) = json.loads((ROOT / ".vscode/settings.json").read_text())["yaml.schemas"].items()
    assert ROOT / schema == ROOT / "docs/figure.schema.json" and sorted(ROOT.glob(files)) == FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_every_figure_file_is_valid(checked, path):
    assert [f"{error.json_path}: {error.message}" for error in checked.iter_errors(read_yaml(path))] == []


def test_a_run_may_have_keys_of_every_group(checked):
    keys = [*SHARED, *GROUPS, *(f"{group}.key" for group in GROUPS[1:]), "columns.mine"]
    good = {"title": "A", "source": "B", "kind": "curves", "plot": {"kind": "lines"}}
    for key in keys:
        assert checked.is_valid(good | {"common": {key: 1}, "runs": [{key: [1, 2]}]}), key


@pytest.mark.parametrize(
    "changed",
    [
        {"titel": "x"},
        {"kind": "curve"},
        {"plot": {"kind": "linse"}},
        {"plot": {"kind": "lines", "xlimm": [0, 1]}},
        {"runs": [{"labell": "x"}]},
        {"claims": [{"id": "a"}]},
        {"level": "high"},
    ],
)
def test_mistakes_are_seen(checked, changed):
    good = {"title": "A", "source": "B", "kind": "curves", "plot": {"kind": "lines"}}
    assert checked.is_valid(good)
    assert not checked.is_valid(good | changed)


def test_the_page_on_figure_files_names_the_schema_as_a_new_project_does():
    root = Path(__file__).parents[2]
    template = root / "gcexp" / "command" / "template" / "mypaper" / "figures" / "first.yaml"
    first_line = template.read_text("utf-8").splitlines()[0]
    assert first_line.startswith("# yaml-language-server: ")
    assert first_line in (root / "docs" / "figure-file.md").read_text("utf-8").splitlines()
