"""Figure files and command lines that nobody would write: a sentence or a result, never a trace, nothing executed.

Every case follows from its number alone; the first ones are the quick subset.
"""

import copy
import random
from pathlib import Path

import pytest
import yaml

from benchmarks import fuzz
from gcexp.errors import UserError
from gcexp.report import figurefile
from tests.conftest import new_paper

CURVES = """
title: A figure
source: Fig. 1
kind: curves
level: 0.5
common: {task: digits_mlp, delay: pareto, n: 6, s: 2, iterations: 30, seeds: 2}
runs:
  - {label: CGC, scheme: cgc}
  - {label: "β = {code.beta}", scheme: cyclic_partial, code.beta: [4, 6]}
plot: {kind: lines, xlim: [0, 1], yscale: log}
quick: {iterations: 5}
"""
ANALYSIS = """
title: A figure
source: Fig. 1
kind: analysis
analysis: {function: gcexp_papers.partial_recovery.numerics.intermediate_sweep, settings: [[12, 8, 0.9]], bounds: true}
plot: {kind: table, columns: [n, x]}
quick: {bounds: false}
"""
TIMINGS = fuzz.PROJECT["paper/figures/small.yaml"].replace(
    "kind: bars, by: label", "kind: panels, parts: [{kind: bars, by: label}]"
)
BASES = [yaml.safe_load(text) for text in (CURVES, TIMINGS, ANALYSIS)]
LIKELY = [1, 2, 3, 4, 6, 0.5, "some text", True, "cgc", "gc", "pareto", [2, 4], [4], "0-2", "GC"]
KEYS = [
    *"n s label scheme delay code.n code.d code._target_ wait.q task.hidden horizon overhead kind function".split(),
    *"each columns.x level of where parts x optimizer seeds iterations placement._target_ delay.scale data_dir".split(),
    *("exact", "", ".", "a.b.c", "_target_"),
]


def places(node, path=()):
    """Where a value can be changed."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(node, chance: random.Random):
    """The mapping with a value replaced, removed, added or doubled somewhere."""
    node = copy.deepcopy(node)
    *path, last = chance.choice(list(places(node)))
    inner = node
    for key in path:
        inner = inner[key]
    match chance.choice(("replace", "replace", "remove", "add", "double")):
        case "replace":
            other = chance.choice((fuzz.PLAIN, fuzz.PLAIN, LIKELY))
            inner[last] = copy.deepcopy(chance.choice(other))
        case "remove":
            del inner[last]
        case "add" if isinstance(inner, dict):
            inner[chance.choice(KEYS)] = copy.deepcopy(chance.choice(fuzz.PLAIN))
        case _:
            inner[last] = [inner[last], copy.deepcopy(inner[last])]
    return node


def figure_text(number: int) -> str:
    """The figure file of a case: one to three changes of its values, now and then of its letters."""
    chance = random.Random(f"figure {number}")
    node = chance.choice(BASES)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        node = changed(node, chance)
    text = yaml.safe_dump(node, allow_unicode=True, sort_keys=False)
    if chance.random() < 0.25:
        for _ in range(chance.randint(1, 4)):
            at, letter = chance.randrange(len(text)), chance.choice("\t\n:[]{}&*!|>%@`\"'#-, 0é\x07")
            text = text[:at] + letter + text[at + chance.randrange(3) :]
    if chance.random() < 0.02:
        text = text.replace("title:", "title: !!python/object/apply:os.system ['touch pwned'] #", 1)
    return text


@pytest.mark.paper("partial_recovery")
@pytest.mark.parametrize(
    "numbers", [range(60), pytest.param(range(60, 360), marks=pytest.mark.slow)], ids=len
)
def test_figure_files(own_conf, numbers):
    new_paper(Path("paper"))
    path = Path("paper/figures/target.yaml").resolve()
    before = fuzz.files() | {"paper/figures/target.yaml"}
    refused = 0
    for number in numbers:
        path.write_text(figure_text(number))
        for preset in figurefile.PRESETS:
            try:
                found = figurefile.read_figure(path, preset)
                assert [found.inputs, found.products, found.note]
                assert [found.drawing_fingerprint, found.table_fingerprint]
            except UserError as error:
                refused += 1
                assert 0 < len(str(error)) < 2000 and "\n" not in str(error), f"figure {number}: {error}"
            except Exception as error:
                raise AssertionError(f"figure {number}: {figure_text(number)}") from error
    assert fuzz.files() == before
    assert len(numbers) < refused < 1.95 * len(numbers), "of two readings each, most are refused, not all"


@pytest.mark.parametrize("count", [40, pytest.param(150, marks=pytest.mark.slow)])
def test_command_lines_and_calls(here, capsys, count):
    """The first cases of the benchmark, of which some work and most are refused."""
    code = fuzz.main(["--commands", str(count), "--calls", str(count)])
    said = capsys.readouterr().out
    assert code == 0, said
    ends = dict(line.rsplit(" ", 1) for line in said.splitlines())
    assert {"command: exit 0", "command: exit 2", "call: sentence"} <= set(ends)
