"""Figure files and command lines that nobody would write: a sentence or a result, never a trace, nothing executed.

Every case follows from its number alone; the first ones are the quick subset.
"""

import copy
import random
import time
from pathlib import Path

import pytest
import yaml

from gcexp.command.main import main
from gcexp.errors import UserError
from gcexp.report import figurefile

LONGEST = 20  # seconds of CPU: others may use the machine as well

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
TIMINGS = """
title: A figure
source: Fig. 1
kind: timings
common: {delay: markov, delay.p: 0.1, n: 8, iterations: 20, seeds: 0-2, code.clusters: 2, code.d: 2}
runs:
  - {label: "{scheme}", scheme: [gc, gc_sc]}
  - {label: GC-DC, scheme: gc_dc, columns.panel: a}
plot: {kind: panels, parts: [{kind: bars, by: label}]}
note: text
"""
ANALYSIS = """
title: A figure
source: Fig. 1
kind: analysis
analysis: {function: gcexp_papers.partial_recovery.numerics.intermediate_sweep, settings: [[12, 8, 0.9]], bounds: true}
plot: {kind: table, columns: [n, x]}
quick: {bounds: false}
"""
BASES = [yaml.safe_load(text) for text in (CURVES, TIMINGS, ANALYSIS)]
ODD = [
    *(None, True, False, 0, -1, 1, 2.5, -0.0, 10**9, 10**30, -(10**30), 1e308, float("inf"), float("nan")),
    *("", " ", "x", "0", "null", "é", "a b", "\n", "\t", "\0"),
    *"${n} ${ ${oc.env:HOME} {n} { %s ../x /etc/passwd a/b a+b@c ~ *".split(),
    *("x" * 300, "$(touch pwned)", "`touch pwned`; touch pwned"),
    *"os.system builtins.dict builtins.eval subprocess.Popen gcexp.nope gcexp.codes.Code cgc".split(),
    *([], {}, [[]], [None], [1, "x"], {"a": 1}, {1: 2}, {"a": {"b": [1, {"c": None}]}}, [[1], [2, [3]]]),
]
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
            other = chance.choice((ODD, ODD, LIKELY))
            inner[last] = copy.deepcopy(chance.choice(other))
        case "remove":
            del inner[last]
        case "add" if isinstance(inner, dict):
            inner[chance.choice(KEYS)] = copy.deepcopy(chance.choice(ODD))
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


@pytest.fixture
def figures(own_conf, add_paper):
    """Folder of the figures of a paper that has none, beside options."""
    add_paper(Path("paper"))
    return Path("paper/figures").resolve()


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*") if path.parts[0] != ".cache" and not path.is_dir()}


@pytest.mark.paper("partial_recovery")
@pytest.mark.parametrize(
    "numbers", [range(60), pytest.param(range(60, 600), marks=pytest.mark.slow)], ids=len
)
def test_figure_files(figures, numbers):
    path = figures / "target.yaml"
    before = files() | {"paper/figures/target.yaml"}
    refused = 0
    for number in numbers:
        path.write_text(figure_text(number))
        start = time.process_time()
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
        assert time.process_time() - start < LONGEST, f"figure {number}"
    assert files() == before
    assert len(numbers) < refused < 1.95 * len(numbers), "of two readings each, most are refused, not all"


# --- Command lines

OPTIONS = [
    *(f"scheme={name}" for name in "cgc frc forget gc_dc epsilon_brc soft_bibd cyclic_partial agc".split()),
    *(f"delay={name}" for name in "pareto markov shifted_exponential epochs".split()),
    *"wait=decodable wait=fastest code=uncoded code=expander placement=greedy task=linear_regression".split(),
]
SET = """n s code.n code.d code.m code.seed wait.q wait.s iterations seeds horizon overhead exact bound delay.scale
    delay.persistence delay.p code.clusters code.epsilon code._target_ delay._target_ data_dir scheme schem code.betta
    optimizer.learning_rate""".split()
VALUES = [
    *"0 1 2 3 5 6 7 10 12 -1 2.5 0.1 1e-3 1e400 .inf .nan true null x 0-2 3-1 [1,2] {a: 1} ${n} ${ 007 1_0".split(),
    *("", " ", "9" * 24, "../x", "$(touch pwned)", "a=b", "é", "\t", "'", '"', "[", "!!set {1}"),
    *("os.system", "builtins.dict", "gcexp.codes.uncoded.Uncoded", "x" * 500, "1,2", "--help", "-1-2"),
]
GOOD = ["n=12", "s=3", "seeds=0-1", "horizon=2", "overhead=0.1", "iterations=3", "delay=pareto"]
OUTPUTS = "out/c.npz out/d.npz out/a.npz out/deep/b.npz conf conf/run.yaml/x /dev/null /proc/x/y . ".split(
    " "
)
FILES = ["clock.npz", "nope.npz", "conf/run.yaml", "conf", "table.csv", "more.json", ""]
WORDS = "paper_small paper_smal cyclic schemes digits nope ../x partial_recovery.lower_bound ".split(" ")


def command_line(number: int) -> list[str]:
    """The arguments of a case."""
    chance = random.Random(f"command {number}")
    settings = chance.sample(OPTIONS, chance.randint(0, 2))
    settings += chance.sample(GOOD, chance.randint(0, 2))
    if chance.random() < 0.5:
        settings += [f"{chance.choice(SET)}={chance.choice(VALUES)}" for _ in range(chance.randint(1, 3))]
    word, out = chance.choice(WORDS), ["-o", chance.choice(OUTPUTS)]
    inputs = ["-i", chance.choice(FILES)]
    if not any(setting.startswith("iterations=") for setting in settings):
        settings.append("iterations=4")
    line = chance.choice(
        [
            ["show", *settings],
            ["simulate", *settings],
            ["job", "train", *settings, *out],
            ["job", "train", *settings, *out, "--verified", chance.choice(OUTPUTS)],
            ["list", word],
            ["theory", word, *(f"{chance.choice('nsdkx')}={chance.choice(VALUES)}" for _ in range(2))],
            ["job", "data", chance.choice(["digits", "digit", "", "../x"]), *out],
            ["job", "table", word, *out],
            ["job", "plot", word, *inputs, *out],
            ["compare", word],
            ["job", "page", word, *out],
            ["schema", chance.choice(["figure", "x"]), *out],
            ["publish"],
        ]
    )
    if chance.random() < 0.1:
        line.insert(chance.randrange(len(line) + 1), chance.choice([*VALUES, "--debug", "--nope", "-o"]))
    return [argument.replace("\0", "") for argument in line]


@pytest.mark.parametrize(
    "numbers", [range(40), pytest.param(range(40, 240), marks=pytest.mark.slow)], ids=len
)
def test_command_lines(figures, capsys, numbers):
    small = TIMINGS.replace("kind: panels, parts: [{kind: bars, by: label}]", "kind: bars")
    (figures / "small.yaml").write_text(small)
    Path("table.csv").write_text("label,run,seed,mean_iteration_time_s\nGC,a,0,1\n")
    Path("more.json").write_text("[1]")
    Path("clock.npz").write_bytes(b"no clock")
    before, codes = files(), set()
    for number in numbers:
        line = command_line(number)
        start = time.process_time()
        try:
            code = main(line)
        except SystemExit as stopped:  # argparse: --help, or its own sentence
            code = stopped.code
        except BaseException as error:
            raise AssertionError(f"command {number}: gcexp {line}") from error
        said = capsys.readouterr()
        codes.add(code)
        assert code in (0, 2), f"command {number}: gcexp {line}: {said.err}"
        assert "Traceback" not in said.err or "--debug" in line, f"command {number}: gcexp {line}"
        assert time.process_time() - start < LONGEST, f"command {number}: gcexp {line}"
        new = {path for path in files() - before if not path.startswith(("out/", "results/records/out/"))}
        assert not new, f"command {number}: gcexp {line} wrote {new}"
    assert codes == {0, 2}
    assert files() >= before
