"""The recipes of docs/logs.md read their examples, and sentences name recipes that are there."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gcexp.command.main import main
from gcexp_adviser.logs import recipes
from gcexp_adviser.logs.reading import trace_of

PAGE = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
RECIPES = dict(re.findall(r"^### ([^\n]*)\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
FILE = re.compile(r"<!-- file: (\S+) -->\n```\n(.*?)```", re.DOTALL)
PROGRAM = re.compile(r"```(python|bash)\n(.*?)```", re.DOTALL)
CASES = [(name, *program) for name, text in RECIPES.items() for program in PROGRAM.findall(text)]


@pytest.mark.parametrize(("name", "language", "program"), CASES)
def test_a_recipe_reads_its_example(name, language, program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, content in FILE.findall(RECIPES[name]):
        Path(file).write_text(content)
    pd.DataFrame({"step": [7, 7, 8, 8], "rank": [0, 1, 0, 1], "time": [0.3, 0.4, 0.5, 0.6]}).to_pickle(
        "frame.pkl"
    )
    if language == "python":
        exec(program, {})
        assert 3 <= program.count("\n") <= 12
    else:
        assert main(shlex.split(program)[1:]) == 0
    np.testing.assert_allclose(trace_of("table.csv").values["time"], [[0.3, 0.4], [0.5, 0.6]], rtol=1e-9)


def test_sentences_name_recipes_that_are_there():
    named = {value for name, value in vars(recipes).items() if name.isupper()}
    assert named and named <= set(RECIPES) and len(CASES) >= len(RECIPES)


def test_patterns_of_launchers_find_the_worker():
    (block,) = re.findall(r"<!-- launchers -->\n```\n(.*?)```", PAGE, re.DOTALL)
    found = []
    for line in block.splitlines():
        _, prefix, pattern = re.split(r"  {2,}", line)
        found.append(next(iter(re.search(pattern, f"{prefix} step 7").groupdict().values())))
    assert found == ["3", "3", "3", "train-worker-3", "worker-3", "41"]
