"""Configuration: composition, checks, tokens, what counts as a change."""

import functools
import json
import math
import re
import shutil
import string
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import pytest
import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from gcexp.codes import Code, CyclicRepetition
from gcexp.errors import ParameterError, UserError
from gcexp.run.build import build, is_redrawn, with_makers, with_seed
from gcexp.run.compose import compose
from gcexp.run.options import GROUPS, aliases, conf_dir, option_names
from gcexp.run.run import Run
from gcexp.run.scheme import build_scheme
from gcexp.run.tokens import HOME, overrides_of, token
from gcexp.run.yaml_values import mapping_in, read_value, read_yaml
from gcexp.schema import arguments, typed
from tests.conftest import ROOT, unload, write_files

GLOBAL = "# @package _global_\n"
#: In the file of a code what it says of the scheme of its name.
SAID_OF_SCHEME = re.compile(r"^(wait|exact): *(\w+).*\n", re.M)


@pytest.fixture(autouse=True)
def elsewhere(here):
    """All of these tests work in an empty folder."""


@pytest.fixture
def option(own_conf):
    """Write an option file."""
    return lambda name, text: (own_conf / f"{name}.yaml").write_text(text)


def written_out(conf, place):
    """A copy of conf/ for Hydra: a file for each code and trace that needs none here, without the keys of ours."""
    shutil.copytree(conf, place)
    aliases = yaml.safe_load((place / "aliases.yaml").read_text())
    for path in list((place / "code").glob("*.yaml")):
        text = path.read_text()
        said = dict(SAID_OF_SCHEME.findall(text))
        path.write_text(SAID_OF_SCHEME.sub("", text))
        chosen = [{"override /code": path.stem}]
        if "wait" in said:
            chosen.append({"override /wait": said["wait"]})
        scheme = {"defaults": chosen}
        if "exact" in said:
            scheme["exact"] = said["exact"] == "true"
        for name in [path.stem, *(name for name, of in aliases["scheme"].items() if of == path.stem)]:
            if not (place / f"scheme/{name}.yaml").exists():
                (place / f"scheme/{name}.yaml").write_text(GLOBAL + yaml.safe_dump(scheme))
    for trace, about in json.loads((ROOT / "data/traces/index.json").read_text()).items():
        delay = {"defaults": ["trace"], "file": f"data/traces/{about['file']}"}
        delay |= {"pricing": about["pricing"]} if "pricing" in about else {}
        option = trace.replace("-", "_").lower()
        for name in [option, *(name for name, of in aliases["delay"].items() if of == option)]:
            (place / f"delay/{name}.yaml").write_text(yaml.safe_dump(delay))
    return place


@pytest.fixture(scope="module")
def for_hydra(tmp_path_factory):
    """Write a folder of options out once."""
    return functools.cache(lambda conf: written_out(conf, tmp_path_factory.mktemp("hydra") / "conf"))


@pytest.fixture
def through_hydra(for_hydra):
    """Compose the same run by Hydra alone."""

    def composed(overrides):
        with initialize_config_dir(str(for_hydra(conf_dir())), version_base="1.3"):
            return OmegaConf.to_container(hydra_compose("run", overrides=list(overrides)), resolve=True)

    return composed


@pytest.fixture
def composes_as_in_hydra(through_hydra):
    """Whether values and their types are the same."""

    def same(overrides):
        ours, theirs = compose(overrides), through_hydra(overrides)
        return json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)

    return same


# --- Composition


def test_all_option_files_are_read_as_omegaconf_reads_them():
    for path in conf_dir().rglob("*.yaml"):
        assert repr(read_yaml(path)) == repr(OmegaConf.to_container(OmegaConf.load(path))), path


def differently_made(group):
    """Options that build on others, refer to a key, or say something of a scheme, as none before in their group.

    Schemes are made differently where more than the values differ.
    """
    chosen, known = [], set()
    for path in sorted((conf_dir() / group).glob("*.yaml")):
        text = re.sub(r" *#.*", "", path.read_text())
        if group == "scheme":
            traits = {re.sub(r"(?<=: )\w+", "", text)}
        else:
            said_of_scheme = tuple(key for key, _ in SAID_OF_SCHEME.findall(text))
            traits = {said_of_scheme, *re.findall(r"defaults: .*|\w+: \S*\$\{.+\}", text)}
        if traits - known:
            chosen.append(path.stem)
        known |= traits
    return chosen


def differently_priced_traces():
    """A trace that says how its times are priced, and one that does not."""
    found = {}
    for name, about in json.loads((ROOT / "data/traces/index.json").read_text()).items():
        found.setdefault("pricing" in about, name.replace("-", "_").lower())
    return [*found.values()]


@pytest.mark.slow
def test_all_options_compose_as_in_hydra(composes_as_in_hydra):
    """Each option that is made as none before it, as many groups at a time as can be.

    Of the names for which a paper has another one, the first of each group is tried: all are read in one way.
    """
    alone = {group: differently_made(group) for group in ("wait", "placement", "loads")}
    alone["code"] = option_names("code")[:1]
    beside_schemes = {
        "scheme": [*differently_made("scheme"), *differently_made("code"), next(iter(aliases("scheme")))],
        "delay": [*differently_made("delay"), *differently_priced_traces(), next(iter(aliases("delay")))],
        "task": option_names("task"),
        "optimizer": option_names("optimizer"),
    }
    for groups in (alone, beside_schemes):
        for together in zip_longest(*groups.values()):
            chosen = zip(groups, together, strict=True)
            assert composes_as_in_hydra([f"{group}={option}" for group, option in chosen if option]), together


@pytest.mark.parametrize(
    "overrides",
    [
        "",
        "scheme=gc_dc n=8 code.clusters=2 delay=markov delay.p=0.1 task=mnist_mlp data_dir='7' overhead=1.",
        # the more special choice wins
        "scheme=cgc code=fractional_repetition delay=shifted_exponential delay.mean=1e-3 seeds=3 horizon=.5 n=${s}",
        "scheme=cyclic_repetition n=30 s=19 wait.s=3 delay=bytedance_ar_dp delay.phi=0.5",
        "scheme=agc code=uncoded",  # the rule and the promise of the scheme's own code
        "scheme=gc wait=fastest s=null wait.q=3 exact=true",  # which builds on a scheme that is a code's
    ],
)
def test_composes_as_in_hydra(overrides, composes_as_in_hydra):
    assert composes_as_in_hydra(overrides.split())


def hydra_reads(text):
    return OverridesParser.create().parse_override(f"data_dir={text}").value()


WORDS = """
5 -3 +3 0.5 .5 1. -.5e1 1e-3 1E5 2e+05 1_000 1__0 true True null Null abc a-b a.b 0-1 3-7 T600 [1,2] 010 -00 010.5
01e3 0x1F 0b11 1:30 yes no on Off none inf -inf INF nan 1e400 2/3 '7' [010,inf,'7',null]
"""


def test_values_are_read_as_hydra_reads_them():
    for text in [*WORDS.split(), "{a: [1, b.c]}"]:
        assert repr(read_value(f"data_dir={text}")) == repr(hydra_reads(text))
    infinities = {".inf": math.inf, "-.inf": -math.inf, "Infinity": math.inf, "[Infinity]": [math.inf]}
    assert {text: read_value(f"data_dir={text}") for text in infinities} == infinities  # as YAML and JSON do


@settings(deadline=None, max_examples=60)
@given(st.text("+-01._eEinfatrulx", min_size=1, max_size=6))
def test_words_are_typed_as_hydra_types_them(text):
    more = text.lower().lstrip("+-") in (".inf", ".nan", "infinity")  # what YAML and JSON mean by them
    assert more or repr(typed(text)) == repr(hydra_reads(text))


@pytest.mark.slow
def test_option_files_that_speak_of_each_other_compose_as_in_hydra(option, through_hydra):
    option("scheme/held", f"{GLOBAL}defaults:\n  - override /wait: decodable\ndelay:\n  persistence: 7\n")
    option("delay/slow", f"{GLOBAL}overhead: 2.0\ndelay:\n  _target_: x.Y\n  persistence: 3\n")
    option(
        "delay/named",
        "_target_: x.Y\nname: at-${n}-${late}\nparts: ['${n}', 2]\nscale: 1e-3\nlarge: 1e5\nsince: 2020-01-01\n",
    )
    option("delay/one", "defaults: [pareto, _self_]\nscale: 7.0\n")
    option("delay/two", "defaults: [_self_, one]\nscale: 8.0\nmore: ${.scale}\n")
    option("scheme/mine", f"{GLOBAL}defaults:\n  - cgc\n  - override /delay: one\nn: 7\n")
    option("scheme/first", f"{GLOBAL}defaults:\n  - override /wait: decodable\n")
    option(
        "scheme/second", f"{GLOBAL}defaults:\n  - override /wait: recovered\n  - override /code: uncoded\n"
    )
    option("scheme/both", f"{GLOBAL}defaults: [first, second]\n")
    option("scheme/above", f"{GLOBAL}defaults: [_self_, cgc, override /wait: spanned]\n")
    option("scheme/lost", f"{GLOBAL}defaults:\n  - override /wait: fastest\nlost: 3\nwait:\n  s: ${{lost}}\n")
    for overrides in (
        ["scheme=held"],
        ["scheme=held", "delay=markov", "delay.p=1"],
        ["scheme=mine"],
        ["scheme=both", "delay=slow"],
        ["scheme=above", "delay=named"],
        ["scheme=lost", "lost=2", "delay=one"],
        ["delay=two", "delay.more=1"],
    ):
        assert compose(overrides) == through_hydra(overrides)
    with pytest.raises(UserError, match=r"\$\{.scale\}"):  # relative ones are Hydra's alone
        compose(["delay=two"])


def test_what_an_option_lists_under_inputs_reaches_no_class(option, refused):
    """Composed as any key; it is left out when the class is built, and only there where the option file has it."""
    option(
        "delay/below", "_target_: gcexp.delays.Trace\nfile: times.csv\ninputs: ['${delay.file}', raw/*.csv]\n"
    )
    option("delay/mine", "defaults: [below]\nphi: 0.5\n")
    config = compose(["delay=mine", "delay.file=other.csv"])
    assert config["delay"]["inputs"] == ["other.csv", "raw/*.csv"]
    assert build(config, "delay").file == "other.csv"
    config["delay"]["inputs"] = "other.csv"
    assert build(config, "delay").file == "other.csv"
    for wrong in (3, [1], {"a": "b"}):
        config["delay"]["inputs"] = wrong
        refused("delay.inputs", build, config, "delay")
    inside = {"_target_": "gcexp.delays.Trace", "file": "times.csv", "inputs": "times.csv"}
    refused("inputs", build, {"delay": {"_target_": "gcexp.delays.LocalSteps", "inner": inside}}, "delay")
    option("scheme/mine", f"{GLOBAL}inputs: [notes]\n")
    refused(("scheme/mine.yaml", "inputs"), compose, ["scheme=mine"])


def test_a_composed_run_may_be_changed_without_harm():
    compose(["scheme=cgc"])["code"]["n"] = "changed"
    assert compose(["scheme=cgc"])["code"]["n"] == 10


OVERRIDES = {
    "scheme=cgcc": ("'cgcc'", "'cgc'"),
    "scheme=": "''",
    "schem=cgc": ("'schem'", "'scheme'"),
    "scheme=cyclic_partial beta=4": ("'beta'", "'code.beta'"),
    "scheme=cgc beta=4": ("code.beta", "cyclic_partial_recovery"),
    "scheme=cgc N=10": ("'N'", "'n'"),
    "scheme=../code/uncoded": "'../code/uncoded'",
    "n=10 n=20": ("n=10", "n=20"),
    "scheme=frc n=3 scheme=cgc": ("scheme=frc", "scheme=cgc"),
    "scheme=cgc code.sead=3": ("'code.sead'", "'code.seed'"),
    "scheme=cgc code.beta=3": ("'code.beta'", "code.construction, code.n, code.s", "cyclic_two_message"),
    "code.n.deep=3": "code.n",
    "n": "KEY=VALUE",
    "=3": "KEY=VALUE",
    "n=${nope}": "${nope}",
    "n=${n}": "${n}",
    "n=${s} s=${n}": "${",
    "data_dir=a-${nope}": "${nope}",
    "n=&a[*a]": "n=&a[*a]",
    "n=!!python/object/apply:os.getcwd[]": "n=!!python",
    "n=" + "[" * 5000: "n=[[",
    "n=" + "9" * 5000: "n=999",
    "n=${oc.env:HOME}": "${oc.env:HOME}",
    "n=${": "${",
}


@pytest.mark.parametrize("overrides", OVERRIDES, ids=lambda text: text[:40])
def test_mistakes_in_overrides_are_sentences(refused, overrides):
    refused(OVERRIDES[overrides], compose, overrides.split())


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        (["seed=3"], ("'seed'", "'seeds'")),
        (["cgc"], ("'cgc'", "scheme=cgc")),
        (
            ["task=torch", "+task.module.hidden=3"],
            ("+task.module.hidden", "conf/task/NAME.yaml", "task=NAME"),
        ),
        (["scheme=frc", "n=4"], ("n=4", "s: 0, 1, 3")),
        (["delay=trace"], ("delay.file", "delay=pai_job1")),
    ],
)
def test_mistakes_name_their_cure(refused, overrides, names):
    refused(names, lambda: Run.of(overrides, trains=False))


def test_a_module_that_is_built_already_is_refused(refused):
    """It is called like what builds one, and that ended as a defect."""
    config = compose(["task=torch", "task.module._partial_=false"])
    refused(("task.module", "Linear", "_partial_: true"), build, config, "task")


def test_a_log_in_place_of_a_delay_model_is_told_how_to_be_replayed(here, refused):
    (here / "mine.csv").touch()
    refused("delay=trace delay.file=mine.csv", compose, ["delay=mine.csv"])


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("delay/mine", "_target_: x.Y\n\tscale: 1\n", ("delay/mine.yaml", "line 2")),
        ("delay/mine", "defaults: 5\n", ("delay/mine.yaml", "defaults", "5")),
        ("delay/mine", "defaults:\n  - mine\n", "mine -> mine"),
        ("delay/mine", "_target_: x.Y\nscale: ${\n", ("delay.scale", "'${'")),
        ("delay/mine", "_target_: x.Y\nscale: ${nope}\n", "${nope}"),
        ("scheme/mine", f"{GLOBAL}defaults:\n  - mine\n", "mine -> mine"),
        ("scheme/mine", f"{GLOBAL}defaults:\n  - override /code: nope\n", ("scheme/mine.yaml", "nope")),
        ("scheme/mine", f"{GLOBAL}lat: finish\n", ("mine.yaml", "'lat'", "'late'")),
        ("scheme/mine", "exact: true\n", ("mine.yaml", GLOBAL.strip())),
        ("code/cyclic_repetition", "_target_: x.Y\n\tn: 1\n", ("code/cyclic_repetition.yaml", "line 2")),
    ],
)
def test_mistakes_in_option_files_are_sentences(refused, option, file, text, names):
    option(file, text)
    group = file.partition("/")[0]
    refused(names, compose, ["scheme=cgc" if group == "code" else f"{group}=mine"])


@pytest.mark.parametrize("named", ["/nonexistent", "conf/scheme"])
def test_a_conf_that_is_none_is_refused(refused, named, monkeypatch):
    monkeypatch.setenv("GCEXP_CONF", named)
    refused(("GCEXP_CONF", named), compose, [])


# --- YAML files

#: Nine levels of nine aliases each: a minute of work from a few lines.
NEST = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a: 1\nb: 2\na: 3\n", ("line 3", "'a'")),
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", ("line 5", "'c'")),
        ("runs:\n  - {a: 1, a: 2}\n", ("line 2", "'a'")),
        ("a: 1\nb: [1, 2\nc: 3\n", "line 3"),
        ("a: 1\n\tb: 2\n", "line 2"),
        ("- a\n- b\n", "list"),
        ("only text\n", "str"),
        ("? [a, b]\n: 3\n", "line 1"),
        (NEST, "aliases"),
        (b"a: \xff\xfe\n", ()),
        (None, ()),
    ],
)
def test_mistakes_in_yaml_name_file_and_line(refused, here, text, names):
    path = here / "figure.yaml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert str(path) in refused(names, read_yaml, path)


def test_yaml_that_is_read(here):
    for text, value in (
        ("a: &a {x: 1}\nb: [*a, *a]\n", {"a": {"x": 1}, "b": [{"x": 1}, {"x": 1}]}),
        ("# nothing\n", {}),
        ("weights: {1: 1e-3, 2: -2E3, 3: .5, 4: 5.}\n", {"weights": {1: 0.001, 2: -2000, 3: 0.5, 4: 5}}),
    ):
        (here / "a.yaml").write_text(text)
        assert read_yaml(here / "a.yaml") == value


@settings(deadline=None, max_examples=100)
@given(st.one_of(st.sampled_from(WORDS.split()), st.text("+-01._eE:xnyosf", min_size=1, max_size=6)))
def test_words_in_files_are_read_as_omegaconf_reads_them(text):
    try:
        wanted = OmegaConf.to_container(OmegaConf.create(f"a: {text}"))
    except (yaml.YAMLError, ValueError):
        with pytest.raises((yaml.YAMLError, UserError)):
            mapping_in(Path("a.yaml"), f"a: {text}")
    else:
        assert repr(mapping_in(Path("a.yaml"), f"a: {text}")) == repr(wanted)


# --- Building objects


class Sample:
    """Every kind of hint."""

    def __init__(
        self,
        count: int,
        rate: float = 1.0,
        flag: bool = False,
        maybe: float | None = None,
        either: int | str = 0,
        choice: Literal["a", "b"] = "a",
        pair: tuple[int, int] = (0, 0),
        table: dict | None = None,
        anything=None,
    ):
        pass


#: Values of each argument that fit, and those that do not.
VALUES_OF = {
    "count": ([0, -3, 10**20], [1.0, "1", True, None]),
    "rate": ([1, 1.5, math.inf], ["1", True, None]),
    "flag": ([True, False], [0, 1, "true", None]),
    "maybe": ([None, 1, 0.5], ["x", True]),
    "either": ([1, "x"], [1.5, None, True]),
    "choice": (["a", "b"], ["c", None, 1]),
    "pair": ([(1, 2), [1, 2]], ["ab", 3, None]),
    "table": ([None, {}, {"a": 1}], [[1], "x"]),
    "anything": ([None, object(), [1]], []),
}


@pytest.mark.parametrize("name", VALUES_OF)
def test_arguments_that_fit_and_that_do_not(refused, name):
    fitting, others = VALUES_OF[name]
    for value in fitting:
        assert arguments(Sample, {"count": 1} | {name: value}, "sample")[name] in (value, (1, 2))
    for value in others:
        refused((f"sample: {name}", str(value)), arguments, Sample, {"count": 1} | {name: value}, "sample")


def nested(sets: dict[str, list[int]], pairs: list[tuple[str, float]] = (), of: Code | None = None): ...


@pytest.mark.parametrize(
    ("function", "values", "names"),
    [
        (Sample, {"coumt": 1}, ("'coumt'", "'count'")),
        (Sample, {"rate": 1}, ("'count'", "count, rate, ")),
        (Sample, 3, ("count, rate, ", "3")),
        (dict, {"rate": 1}, "dict"),
        (nested, {"sets": {"a": [1, "x"]}}, ("sets: a: entry 2", "'x'")),
        (nested, {"sets": {1: [1]}}, ("sets", "1")),
        (nested, {"sets": [1]}, ("sets", "mapping", "[1]")),
        (nested, {"sets": {}, "pairs": [["a", 1], ["b"]]}, ("pairs: entry 2", "['b']")),
        (nested, {"sets": {}, "pairs": "ab"}, ("pairs", "list", "'ab'")),
        (nested, {"sets": {}, "of": 3}, ("of", "Code", "3")),
    ],
)
def test_arguments_that_are_refused_are_named(refused, function, values, names):
    assert refused(names, arguments, function, values, "given").startswith(("given", "dict"))


class Unfinished(Code):
    def __init__(self):
        self.n = 3


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("gcexp.codes.cyclic.CyclicRepetitio", "'CyclicRepetition'"),
        ("gcexp.codes.cylic.CyclicRepetition", "gcexp.codes.cylic"),
        ("CyclicRepetition", "CyclicRepetition"),
        ("gcexp.codes.cyclic.np", "gcexp.codes.cyclic.np"),  # nothing to call
        (7, "7"),
        ("builtins.dict", ("code._target_", "builtins.dict", "Code")),
        ("gcexp.delays.distributions.Pareto", ("Pareto", "Code")),
        (f"{__name__}.Unfinished", ("Unfinished", "super().__init__")),
    ],
)
def test_targets_that_cannot_be_built(refused, target, names):
    assert refused(names, build, {"code": {"_target_": target}}, "code").startswith("code")


@pytest.mark.parametrize(
    ("overrides", "key", "names"),
    [
        (["delay.data_time=1/3"], "delay", ("data_time", "'1/3'", "0.333333333333")),
        (["scheme=cgc", "n=010"], "code", ("code.n", "'010'")),
        (["scheme=cgc", "wait.q=none"], "wait", ("wait.q", "'none'", "null")),
    ],
)
def test_what_is_no_number_in_a_run_is_told_with_how_to_write_it(refused, overrides, key, names):
    refused(names, build, compose(overrides), key)


def test_build(refused):
    assert build({"code": None}, "code") is None
    refused("_target_", build, {"code": {"n": 3}}, "code")
    names = ("0 <= s < n", "n=10, s=12", "CyclicRepetition")
    refused(names, build_scheme, compose(["scheme=cgc", "s=12"]), error=ParameterError)


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        (["scheme=t_design", "n=5"], ("TDesign", "10 workers", "n=5")),
        (["scheme=t_design", "n=12", "delay=pai_job1"], ("TDesign", "10 workers", "n=12")),
        (["scheme=cgc", "n=12", "code.n=8"], ("CyclicRepetition", "8 workers", "n=12")),
        (["scheme=uneven_shards", "n=12"], ("UnevenShards", "10 workers", "n=12")),
        (["scheme=cgc", "n=12", "s=4", "code.s=2"], ("CyclicRepetition", "s=2", "s=4", "wait.s")),
        (["scheme=frc", "n=12", "s=3", "code.s=2"], ("FractionalRepetition", "s=2", "s=3")),
        (["scheme=uncoded", "n=ten", "code.n=8"], ("n", "'ten'")),
    ],
)
def test_numbers_that_are_stated_twice_must_agree(refused, overrides, names):
    """A run was called one of 30 workers whose code had 10."""
    refused(names, lambda: Run.of(overrides, trains=False))


def test_a_code_from_python_says_its_numbers_itself(refused):
    code = CyclicRepetition(n=8, s=2)
    run = Run.of(["iterations=3"], {"code": code}, trains=False)
    assert run.config["n"] == 8 and run.scheme.wait.s == 2
    assert Run.of(["n=8", "s=2"], {"code": code}, trains=False).scheme.code is code
    refused(("CyclicRepetition", "8 workers", "n=12"), Run.of, ["n=12"], {"code": code})
    refused(("CyclicRepetition", "s=2", "s=3"), Run.of, ["s=3"], {"code": code})
    waits = Run.of(["wait.s=3"], {"code": code}, trains=False).scheme.wait
    assert waits.s == 3


def test_a_redrawn_code_takes_the_seed():
    for overrides, drawn in ((["scheme=epsilon_brc", "n=12", "s=4"], True), (["scheme=cgc"], False)):
        config = compose(overrides)
        assert is_redrawn(config) == drawn
        assert build_scheme(config, 3).code.seed == (3 if drawn else 0)
    parts = [{"_target_": f"gcexp.codes.{name}"} for name in ("Uncoded", "BatchRaptor")]
    inner = with_seed({"_target_": "gcexp.codes.DirectSum", "parts": parts}, 3)["parts"]
    assert "seed" not in inner[0] and inner[1]["seed"] == 3431425808  # published results have this one
    raptor = with_makers({"_target_": "gcexp.codes.BatchRaptor", "n": 6, "s": 2, "epsilon": 0.1})
    assert (raptor().seed, raptor(4).seed) == (0, 4)


# --- Tokens


LIKE_NUMBERS = "true null 1 1.0 1e3 0x10 010 1_0 - . on no 2020-01-01".split()
VALUES = st.one_of(
    *(st.integers(), st.floats(allow_nan=False), st.booleans(), st.none(), st.text(max_size=5)),
    *(st.from_regex(r"\A\w{1,6}\Z", alphabet=string.ascii_letters + string.digits + "_"),),
    *(st.sampled_from(LIKE_NUMBERS), st.lists(st.integers(), max_size=2)),
)
WORD = st.text(string.ascii_lowercase, min_size=1, max_size=5)
KEY = st.one_of(WORD, st.builds("{}.{}".format, st.sampled_from(GROUPS), WORD))


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.sampled_from(list(HOME)), WORD, st.dictionaries(KEY, VALUES))
def test_overrides_of_is_the_inverse_of_token(group, option, values):
    try:
        text = token(group, option, values)
    except UserError:
        return
    assert not set(text) & set("/=~ '\"$\\\n*?"), "not safe in a path, a shell or a wildcard"
    assert text == token(group, option, dict(reversed(values.items())))
    first, *rest = overrides_of(group, text)
    assert first == f"{group}={option}"
    read = {o.partition("=")[0]: read_value(o) for o in rest}
    # A value that would come back as another one has no spelling.
    assert {k: (type(v), v) for k, v in read.items()} == {k: (type(v), v) for k, v in values.items()}


@pytest.mark.parametrize(
    ("group", "option", "values", "text"),
    [
        ("scheme", "frc", {"code.d": 1, "s": 0, "wait.q": 11}, "frc+.s@0+d@1+wait.q@11"),
        ("scheme", "frc", {"code.flag": True, "code.x": None}, "frc+flag@true+x@null"),
        ("task", "mlp", {"task.rate": 1e-07, "task.a": -1.5}, "mlp+a@-1.5+rate@1e-07"),
        ("scheme", "frc", {"code.d": [], "code.x": ["a/b", None, 1.5]}, "frc+d@,+x@a@b,null,1.5"),
    ],
)
def test_token(group, option, values, text):
    assert token(group, option, values) == text


@pytest.mark.parametrize(
    "value", ["a b", "a,b", "x=1", "a+b", "a@b", "", "~x", "β", [[1]], ["a,b"], {"d": 1}, 1e20, "${n}", "a\n"]
)
def test_values_that_cannot_be_spelled(refused, value):
    refused(("code.d", "conf/scheme"), token, "scheme", "frc", {"code.d": value})


# --- What is remembered


def test_an_edited_option_is_seen(option, forget):
    for scale in (1, 2):
        option("delay/mine", f"_target_: x.Y\nscale: {scale}\nweights: {{1: 0.5}}\n")
        forget()
        for _ in range(2):
            found = compose(["delay=mine"])["delay"]
            assert found == {"_target_": "x.Y", "scale": scale, "weights": {1: 0.5}}


# --- Options from outside the package

CODE = """\
from gcexp.codes import Uncoded

class Mine(Uncoded):
    def __init__(self, n: int, shift: int = 0):
        super().__init__(n)
        self.shift = shift
"""
CHOSEN = "defaults:\n  - override /code: mycode\n  - override /wait: decodable\n"
FILES = {
    "their options/code/mycode.yaml": "_target_: my_package.codes.Mine\nn: ${n}\nshift: 1\n",
    "their options/scheme/myscheme.yaml": f"{GLOBAL}{CHOSEN}exact: true\n",
    "other/delay/mydelay.yaml": "_target_: x.Y\nscale: 3\n",
    "src/my_package/__init__.py": "",
    "src/my_package/codes.py": CODE,
    "src/my_package/conf/__init__.py": "",
    "src/my_package/conf/delay/of_package.yaml": "_target_: x.Y\nscale: 2\n",
}


@pytest.fixture
def mine(here, monkeypatch):
    """A folder with a code class and its options, as a user would keep them, and two more folders of options."""
    write_files(here, FILES)
    monkeypatch.syspath_prepend(here / "src")
    yield here
    unload("my_package")


def test_searchpath_from_the_environment(refused, mine, monkeypatch):
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(mine / "their options"))
    assert {"mycode", "cyclic_repetition"} <= set(option_names("code"))
    config = compose(["scheme=myscheme", "n=4", "code.shift=2"])
    assert config["code"] == {"_target_": "my_package.codes.Mine", "n": 4, "shift": 2}
    assert config["exact"] is True
    assert repr(build_scheme(config).code).startswith("Mine(")
    refused(("'code.shft'", "'code.shift'"), compose, ["scheme=myscheme", "code.shft=2"])


def search(own_conf, *entries):
    """Let run.yaml name more folders of options."""
    with open(own_conf / "run.yaml", "a") as file:
        file.write(f"\nhydra:\n  searchpath: {[*entries]}\n")


def test_searchpaths_in_run_yaml(mine, own_conf, monkeypatch):
    """A folder and a package, beside the environment's; options of ours are still there."""
    search(own_conf, f"file://{mine}/their options", "pkg://my_package.conf")
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(mine / "other"))
    for delay, scale in (("mydelay", 3), ("of_package", 2)):
        config = compose(["code=mycode", f"delay={delay}", "n=4"])
        assert (config["code"]["shift"], config["delay"]["scale"]) == (1, scale)
    assert compose(["scheme=cgc"])["code"]["n"] == 10


@pytest.mark.parametrize("entry", ["file:///nowhere/at/all", "pkg://nobody.conf", "/nowhere/at/all"])
def test_a_searchpath_that_is_not_there(refused, entry, own_conf):
    search(own_conf, entry)
    refused(("hydra.searchpath", entry), option_names, "code")
