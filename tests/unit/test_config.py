"""Configuration: composition, checks, tokens, what counts as a change."""

import json
import math
import re
import shutil
import string
import sys
import textwrap
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import ConfigCompositionException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from gcexp.codes import Code
from gcexp.command.main import main
from gcexp.errors import ParameterError, UserError
from gcexp.run import checks
from gcexp.run import options as options_module
from gcexp.run.build import build, is_redrawn
from gcexp.run.compose import compose
from gcexp.run.options import GROUPS, conf_dir, options, read_value, read_yaml
from gcexp.run.scheme import build_scheme
from gcexp.run.tokens import HOME, overrides_of, token
from gcexp.schema import arguments, typed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch, forget):
    """An empty working folder, the project's conf, nothing remembered."""
    monkeypatch.chdir(tmp_path)
    for name in ("GCEXP_CONF", "GCEXP_SEARCHPATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def own_conf(tmp_path, monkeypatch):
    """A copy of conf/ without figures that a test may edit."""
    copy = tmp_path / "conf"
    shutil.copytree(ROOT / "conf", copy)
    return copy


def through_hydra(overrides):
    """The same run composed by Hydra alone."""
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return OmegaConf.to_container(hydra_compose("run", overrides=list(overrides)), resolve=True)


def same(overrides):
    """Both compositions, as text: values and their types."""
    return json.dumps(compose(list(overrides)), sort_keys=True), json.dumps(
        through_hydra(overrides), sort_keys=True
    )


def refused(function, *given):
    """The sentence in which a function refuses what it is given."""
    with pytest.raises(UserError) as caught:
        function(*given)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


# --- Composition


@pytest.mark.slow
def test_all_options_compose_as_in_hydra():
    """Each option of ours, as many groups at a time as can be."""
    files = "".join(path.read_text() for path in (conf_dir() / "scheme").glob("*.yaml"))
    chosen_by_schemes = set(re.findall(r"override /(\w+): (\w+)", files))
    alone = {
        group: [option for option in options(group) if (group, option) not in chosen_by_schemes]
        for group in ("code", "wait", "placement", "loads")
    }
    beside_schemes = {group: options(group) for group in ("scheme", "delay", "task", "optimizer")}
    for groups in (alone, beside_schemes):
        for together in zip_longest(*groups.values()):
            chosen = zip(groups, together, strict=True)
            ours, theirs = same([f"{group}={option}" for group, option in chosen if option])
            assert ours == theirs, together


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["scheme=gc_dc", "n=8", "code.clusters=2", "delay=markov", "delay.p=0.1", "task=mnist_mlp"],
        ["scheme=cgc", "code=fractional_repetition"],  # the more special choice wins, as in Hydra
        ["wait=decodable", "delay=shifted_exponential", "delay.mean=1e-3", "seeds=3", "horizon=.5", "n=${s}"],
        ["s=null", "wait.q=3", "exact=true", "data_dir='7'", "overhead=1."],
        ["data_dir={a: [1, b.c]}"],
    ],
)
def test_composes_as_in_hydra(overrides):
    ours, theirs = same(overrides)
    assert ours == theirs


def hydra_reads(text):
    return OverridesParser.create().parse_override(f"data_dir={text}").value()


def test_values_are_read_as_hydra_reads_them():
    texts = (
        "5 -3 +3 0.5 .5 1. -.5e1 1e-3 1E5 2e+05 1_000 1__0 true True null Null abc a-b a.b 0-1 3-7 T600 [1,2]"
    )
    texts += " 010 -00 010.5 01e3 0x1F 0b11 1:30 yes no on Off none inf -inf INF nan 1e400 2/3 '7' [010,inf,'7',null]"
    for text in texts.split():
        assert repr(read_value(f"data_dir={text}")) == repr(hydra_reads(text))


@settings(deadline=None, max_examples=60)
@given(st.text("+-01._eEinfatrulx", min_size=1, max_size=6))
def test_words_are_typed_as_hydra_types_them(text):
    more = text.lower().lstrip("+-") in (".inf", ".nan", "infinity")  # what YAML and JSON mean by them
    assert more or repr(typed(text)) == repr(hydra_reads(text))


def test_infinities_of_yaml_and_json_are_numbers():
    given = {".inf": math.inf, "-.inf": -math.inf, "Infinity": math.inf, "[Infinity]": [math.inf]}
    assert {text: read_value(f"data_dir={text}") for text in given} == given


@pytest.mark.parametrize(
    ("overrides", "key", "names"),
    [
        (["delay.data_time=1/3"], "delay", ("data_time", "'1/3'", "0.333333333333")),
        (["scheme=cgc", "n=010"], "code", ("code.n", "'010'")),
        (["scheme=cgc", "wait.q=none"], "wait", ("wait.q", "'none'", "null")),
    ],
)
def test_what_is_no_number_in_a_run_is_told_with_how_to_write_it(overrides, key, names):
    said = refused(build, compose(overrides), key)
    assert all(name in said for name in names)


@pytest.mark.slow
def test_options_that_speak_of_each_other_compose_as_in_hydra(own_conf):
    (own_conf / "scheme" / "held.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /wait: decodable\ndelay:\n  persistence: 7\n"
    )
    (own_conf / "delay" / "slow.yaml").write_text(
        "# @package _global_\noverhead: 2.0\ndelay:\n  _target_: x.Y\n  persistence: 3\n"
    )
    for overrides in (
        ["scheme=held"],
        ["scheme=held", "delay=markov", "delay.p=1"],
        ["scheme=cgc", "delay=slow"],
    ):
        try:
            wanted = through_hydra(overrides)
        except ConfigCompositionException:
            with pytest.raises(UserError, match="does not compose"):
                compose(overrides)
        else:
            assert compose(overrides) == wanted


@pytest.mark.parametrize("text", ["1e-3", "1e5", "1.5e-7", "-2E3", "1_0e2", ".5", "5."])
def test_numbers_with_exponents_are_numbers(text, own_conf):
    (own_conf / "delay" / "mine.yaml").write_text(f"_target_: x.Y\nscale: {text}\n")
    wanted = float(text.replace("_", ""))
    assert compose(["delay=mine"])["delay"]["scale"] == wanted
    assert compose([f"overhead={text}"])["overhead"] == wanted


def test_groups_follow_shared_keys():
    config = compose(["scheme=cgc", "n=30", "s=19"])
    assert (config["code"]["n"], config["code"]["s"], config["wait"]["s"]) == (30, 19, 19)
    config = compose(["scheme=cgc", "n=30", "s=19", "wait.s=3"])
    assert (config["code"]["s"], config["wait"]["s"]) == (19, 3)


def test_a_composed_run_may_be_changed_without_harm():
    compose(["scheme=cgc"])["code"]["n"] = "changed"
    assert compose(["scheme=cgc"])["code"]["n"] == 10


@pytest.mark.parametrize(
    "overrides, sentence",
    [
        (["scheme=cgcc"], "unknown scheme 'cgcc'; did you mean 'cgc'?"),
        (["scheme="], "unknown scheme ''"),
        (["schem=cgc"], "unknown key 'schem'; did you mean 'scheme'?"),
        (["scheme=cyclic_partial", "beta=4"], "unknown key 'beta'; did you mean 'code.beta'?"),
        (
            ["scheme=cgc", "beta=4"],
            "did you mean code.beta of code=cyclic_partial_recovery, cyclic_two_message?",
        ),
        (["scheme=cgc", "N=10"], "unknown key 'N'; did you mean 'n'?"),
        (["scheme=../code/uncoded"], "unknown scheme '../code/uncoded'"),
        (["n=10", "n=20"], "n is given twice, as n=10 and n=20"),
        (["scheme=frc", "n=3", "scheme=cgc"], "scheme is given twice, as scheme=frc and scheme=cgc"),
        (["delay=parteo"], "unknown delay 'parteo'; did you mean 'pareto'?"),
        (["scheme=cgc", "code.sead=3"], "unknown key 'code.sead'; did you mean 'code.seed'?"),
        (
            ["scheme=cgc", "code.beta=3"],
            "unknown key 'code.beta' (allowed: code.construction, code.n, code.s, code.seed); "
            "code=cyclic_partial_recovery, cyclic_two_message would know it",
        ),
        (["iteration=3"], "unknown key 'iteration'; did you mean 'iterations'?"),
        (["code.n.deep=3"], "code.n has no keys"),
        (["n.deep=3"], "n has no keys"),
        (["n"], "KEY=VALUE, got 'n'"),
        (["=3"], "KEY=VALUE, got '=3'"),
        (["n=${nope}"], "${nope}"),
        (["n=${code.nope}"], "${code.nope}"),
        (["n=${n}"], "${n}"),
        (["n=${s}", "s=${n}"], "${"),
        (["data_dir=a-${nope}"], "${nope}"),
        (["n=[1"], "n=[1"),
        (["n={"], "n={"),
        (["n=a: b: c"], "n=a: b: c"),
        (["n=&a [*a]"], "n=&a [*a]"),
        (["n=!!python/object/apply:os.getcwd []"], "could not determine a constructor"),
        (["n=!!binary aGk="], "could not determine a constructor"),
        (["n=" + "[" * 5000], "n=[["),
        (["n=" + "9" * 5000], "n=999"),
        (["n=${oc.env:HOME}"], "n: '${oc.env:HOME}' cannot be resolved"),
        (["n=${.nope}"], "${.nope}"),
        (["n=${"], "${"),
    ],
)
def test_mistakes_in_overrides_are_sentences(overrides, sentence):
    assert sentence in refused(compose, overrides)


def test_an_interpolation_inside_text_is_resolved(own_conf):
    (own_conf / "delay" / "mine.yaml").write_text("_target_: x.Y\nname: at-${n}-${late}\n")
    assert compose(["delay=mine"]) == through_hydra(["delay=mine"])


def test_an_option_builds_on_one_that_builds_on_another(own_conf):
    (own_conf / "delay" / "one.yaml").write_text("defaults: [pareto, _self_]\nscale: 7.0\n")
    (own_conf / "delay" / "two.yaml").write_text("defaults: [_self_, one]\nscale: 8.0\nmore: ${.scale}\n")
    (own_conf / "scheme" / "mine.yaml").write_text(
        "# @package _global_\ndefaults:\n  - cgc\n  - override /delay: one\nn: 7\n"
    )
    assert compose(["delay=one"]) == through_hydra(["delay=one"])
    with pytest.raises(UserError, match=r"\$\{.scale\}"):  # relative ones are Hydra's alone
        compose(["delay=two"])
    assert compose(["delay=two", "delay.more=1"]) == through_hydra(["delay=two", "delay.more=1"])
    assert compose(["scheme=mine"])["delay"]["scale"] == 7


def test_a_scheme_has_keys_of_its_own_that_its_values_refer_to(own_conf):
    text = "# @package _global_\ndefaults:\n  - override /wait: fastest\nlost: 3\nwait:\n  s: ${lost}\n"
    (own_conf / "scheme" / "mine.yaml").write_text(text)
    assert compose(["scheme=mine", "lost=2"])["wait"]["s"] == 2


@pytest.mark.parametrize(
    "file, text, sentence",
    [
        ("delay/mine", "_target_: x.Y\n\tscale: 1\n", "delay/mine.yaml: line 2: not valid YAML"),
        ("delay/mine", "defaults: 5\n", "delay/mine.yaml: defaults: 5"),
        ("delay/mine", "defaults:\n  - mine\n", "mine -> mine"),
        ("delay/mine", "_target_: x.Y\nscale: ${\n", "delay.scale: '${' cannot be resolved"),
        ("delay/mine", "_target_: x.Y\nscale: ${nope}\n", "${nope}"),
        ("scheme/mine", "# @package _global_\ndefaults:\n  - mine\n", "mine -> mine"),
        ("scheme/mine", "# @package _global_\ndefaults:\n  - override /code: nope\n", "scheme/mine.yaml: "),
        (
            "scheme/mine",
            "# @package _global_\nlat: finish\n",
            "mine.yaml: unknown key 'lat'; did you mean 'late'?",
        ),
        ("scheme/mine", "exact: true\n", "mine.yaml: its first line must be '# @package _global_'"),
        (
            "code/cyclic_repetition",
            "_target_: x.Y\n\tn: 1\n",
            "code/cyclic_repetition.yaml: line 2: not valid",
        ),
    ],
)
def test_mistakes_in_option_files_are_sentences(own_conf, file, text, sentence):
    (own_conf / f"{file}.yaml").write_text(text)
    group = file.partition("/")[0]
    assert sentence in refused(compose, ["scheme=cgc" if group == "code" else f"{group}=mine"])


@pytest.mark.parametrize("named", ["/nonexistent", "conf/scheme", "README.md"])
def test_a_conf_that_is_none_is_refused(named, monkeypatch):
    monkeypatch.setenv("GCEXP_CONF", named)
    with pytest.raises(UserError, match=f"GCEXP_CONF names {named}, which holds no run.yaml"):
        compose([])


def test_no_conf_at_all_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(options_module, "bundled", lambda name: tmp_path / name)
    with pytest.raises(UserError, match=r"no conf/run.yaml here.*GCEXP_CONF"):
        conf_dir()


# --- YAML files

#: Nine levels of nine aliases each: a minute of work from a few lines.
NEST = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: not valid YAML (key 'a' stands twice)"),
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "line 5: not valid YAML (key 'c' stands twice)"),
        ("runs:\n  - {a: 1, a: 2}\n", "line 2: not valid YAML (key 'a' stands twice)"),
        ("a: 1\nb: [1, 2\nc: 3\n", "line 3: not valid YAML"),
        ("a: 1\n b: 2\n", "line 2: not valid YAML"),
        ("a: 1\n\tb: 2\n", "line 2: not valid YAML"),
        ("- a\n- b\n", "expected keys and values, got a list"),
        ("only text\n", "expected keys and values, got a str"),
        ("? [a, b]\n: 3\n", "not valid YAML"),
        (NEST, "not valid YAML (its aliases spread it to"),
    ],
)
def test_mistakes_in_yaml_name_file_and_line(tmp_path, text, sentence):
    path = tmp_path / "figure.yaml"
    path.write_text(text)
    said = refused(read_yaml, path)
    assert str(path) in said
    assert sentence in said


def test_aliases_are_read(tmp_path):
    (tmp_path / "a.yaml").write_text("a: &a {x: 1}\nb: [*a, *a]\n")
    assert read_yaml(tmp_path / "a.yaml") == {"a": {"x": 1}, "b": [{"x": 1}, {"x": 1}]}


def test_a_name_that_is_too_long_is_one_sentence(tmp_path, capsys):
    for name in ("x" * 300 + ".npz", "x" * 250 + ".npz"):
        assert main(["job", "data", "digits", "-o", str(tmp_path / name)]) == 2
        assert "cannot be written (File name too long)" in capsys.readouterr().err
    assert main(["run", "scheme=cgc", "iterations=2", "-o", str(tmp_path / ("x" * 300))]) == 2
    assert "xxx: cannot be written (File name too long)" in capsys.readouterr().err


def test_yaml_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        read_yaml(tmp_path / "nope.yaml")
    with pytest.raises(UserError, match="cannot read"):
        read_yaml(tmp_path)
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(UserError, match="bytes.yaml"):
        read_yaml(tmp_path / "bytes.yaml")
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    assert read_yaml(tmp_path / "empty.yaml") == {}


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
def test_arguments_that_fit_and_that_do_not(name):
    fitting, refused = VALUES_OF[name]
    for value in fitting:
        assert arguments(Sample, {"count": 1} | {name: value}, "sample")[name] in (value, (1, 2))
    for value in refused:
        with pytest.raises(UserError) as caught:
            arguments(Sample, {"count": 1} | {name: value}, "sample", joint=".")
        said = str(caught.value)
        assert f"sample.{name} must be " in said or "sample.choice: unknown choice" in said
        assert f"got {value!r}" in said or f"choice {str(value)!r}" in said


def test_argument_names():
    with pytest.raises(UserError, match="sample: unknown key 'coumt'; did you mean 'count'"):
        arguments(Sample, {"coumt": 1}, "sample")
    with pytest.raises(UserError, match=r"sample: 'count' is missing \(it takes count, rate, "):
        arguments(Sample, {"rate": 1}, "sample")
    with pytest.raises(UserError, match="dict does not say which arguments it takes"):
        arguments(dict, {"rate": 1}, "sample")
    with pytest.raises(UserError, match=r"sample must be a mapping with the keys count, rate, .*, got 3"):
        arguments(Sample, 3, "sample")


def nested(sets: dict[str, list[int]], pairs: list[tuple[str, float]] = (), of: Code | None = None): ...


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"sets": {"a": [1, "x"]}}, "nested: sets: a: entry 2 must be a whole number, got 'x'"),
        ({"sets": {1: [1]}}, "nested: sets: a key must be text, got 1"),
        ({"sets": [1]}, "nested: sets must be a mapping, got [1]"),
        (
            {"sets": {}, "pairs": [["a", 1], ["b"]]},
            "nested: pairs: entry 2 must be a list of text and a number, got ['b']",
        ),
        ({"sets": {}, "pairs": "ab"}, "nested: pairs must be a list of lists of text and a number, got 'ab'"),
        ({"sets": {}, "of": 3}, "nested: of must be a Code or nothing, got 3"),
    ],
)
def test_nested_arguments_that_do_not_fit(given, sentence):
    with pytest.raises(UserError) as caught:
        arguments(nested, given, "nested")
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "target, sentence",
    [
        ("gcexp.codes.cyclic.CyclicRepetitio", "did you mean 'CyclicRepetition'"),
        ("gcexp.codes.cylic.CyclicRepetition", "cannot import"),
        ("CyclicRepetition", "cannot import"),
        ("gcexp.codes.cyclic.np", "gcexp.codes.cyclic.np"),  # nothing to call
        (7, "cannot import 7"),
        ("builtins.dict", "code._target_: builtins.dict is no Code"),
        ("gcexp.delays.distributions.Pareto", "Pareto is no Code"),
    ],
)
def test_targets_that_cannot_be_built(target, sentence):
    said = refused(build, {"code": {"_target_": target}}, "code")
    assert said.startswith("code") and sentence in said


def test_build():
    assert build({"code": None}, "code") is None
    with pytest.raises(UserError, match="code has no _target_"):
        build({"code": {"n": 3}}, "code")
    with pytest.raises(ParameterError, match=r"0 <= s < n, got n=10, s=12 \(code: CyclicRepetition\)"):
        build_scheme(compose(["scheme=cgc", "s=12"]))


def test_a_redrawn_code_takes_the_seed():
    config = compose(["scheme=epsilon_brc", "n=12", "s=4"])
    assert is_redrawn(config)
    assert build_scheme(config, 3).code.seed == 3
    config = compose(["scheme=cgc"])
    assert not is_redrawn(config)
    assert build_scheme(config, 3).code.seed == 0


# --- Tokens


OPTIONS = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)
WORDS = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=6)
VALUES = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    WORDS,
    st.text(max_size=5),
    st.sampled_from(
        ["true", "null", "1", "1.0", "1e3", "0x10", "010", "1_0", "-", ".", "on", "no", "2020-01-01"]
    ),
    st.lists(st.integers(), max_size=2),
)


@st.composite
def spelled(draw):
    group = draw(st.sampled_from(list(HOME)))
    word = st.text(string.ascii_lowercase, min_size=1, max_size=5)
    keys = draw(
        st.lists(st.one_of(word, st.builds("{}.{}".format, st.sampled_from(GROUPS), word)), unique=True)
    )
    return group, draw(OPTIONS), {key: draw(VALUES) for key in keys}


@pytest.mark.slow
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spelled())
def test_overrides_of_is_the_inverse_of_token(parts):
    group, option, values = parts
    try:
        text = token(group, option, values)
    except UserError as error:
        assert "cannot stand in a file name" in str(error)
        return
    assert not set(text) & set("/=~ '\"$\\\n*?"), "not safe in a path, a shell or a wildcard"
    assert text == token(group, option, dict(reversed(values.items())))
    first, *rest = overrides_of(group, text)
    assert first == f"{group}={option}"
    read = {o.partition("=")[0]: read_value(o) for o in rest}
    # A value that would come back as another one has no spelling.
    assert {k: (type(v), v) for k, v in read.items()} == {k: (type(v), v) for k, v in values.items()}


@pytest.mark.parametrize(
    "group, option, values, text",
    [
        (
            "scheme",
            "frc",
            {"code.d": 1, "s": 0, "wait.q": 11},
            "frc+.s@0+d@1+wait.q@11",
        ),  # not true and false
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
def test_values_that_cannot_be_spelled(value):
    with pytest.raises(
        UserError, match=r"code\.d=.*cannot stand in a file name; write an option file in conf/scheme"
    ):
        token("scheme", "frc", {"code.d": value})


# --- What is remembered


def test_keys_that_are_numbers_stay_numbers(own_conf, forget):
    (own_conf / "delay" / "mine.yaml").write_text("_target_: x.Y\nweights: {1: 0.5}\n")
    assert compose(["delay=mine"])["delay"]["weights"] == {1: 0.5}
    forget()
    assert compose(["delay=mine"])["delay"]["weights"] == {1: 0.5}


def test_an_edited_option_is_seen(own_conf, forget):
    assert compose(["scheme=frc"])["code"]["d"] is None
    forget()
    path = own_conf / "code" / "fractional_repetition.yaml"
    path.write_text(path.read_text().replace("d: null", "d: 2"))
    assert compose(["scheme=frc"])["code"]["d"] == 2


def test_a_check_runs_once_and_a_failure_again(forget):
    made = []
    for _ in range(2):
        assert checks.once(["passes"], lambda: made.append(1) or "found") == "found"
        with pytest.raises(UserError, match="wrong"):
            checks.once(["fails"], lambda: raise_("wrong"))
    assert made == [1]
    assert checks.once(["fails"], lambda: "now") == "now"


def raise_(sentence):
    raise UserError(sentence)


# --- Options from outside the package


@pytest.fixture
def mine(tmp_path):
    """A folder with a code class and its options, as a user would keep them."""
    folder = tmp_path / "their options"
    for group in ("code", "scheme"):
        (folder / group).mkdir(parents=True)
    (folder / "code" / "mycode.yaml").write_text("_target_: my_package.codes.Mine\nn: ${n}\nshift: 1\n")
    (folder / "scheme" / "myscheme.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /code: mycode\n  - override /wait: decodable\nexact: true\n"
    )
    package = tmp_path / "src" / "my_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "codes.py").write_text(
        textwrap.dedent(
            """
            from gcexp.codes import Uncoded

            class Mine(Uncoded):
                def __init__(self, n: int, shift: int = 0):
                    super().__init__(n)
                    self.shift = shift
            """
        )
    )
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_package"]:
        del sys.modules[name]


def test_searchpath_from_the_environment(mine, tmp_path, monkeypatch):
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(mine))
    monkeypatch.syspath_prepend(tmp_path / "src")
    assert "mycode" in options("code") and "cyclic_repetition" in options("code")
    config = compose(["scheme=myscheme", "n=4", "code.shift=2"])
    assert config["code"] == {"_target_": "my_package.codes.Mine", "n": 4, "shift": 2}
    assert config["exact"] is True
    assert repr(build_scheme(config).code).startswith("Mine(")
    with pytest.raises(UserError, match="unknown key 'code.shft'; did you mean 'code.shift'"):
        compose(["scheme=myscheme", "code.shft=2"])


def test_searchpaths_in_run_yaml(mine, own_conf, tmp_path, monkeypatch):
    """A folder and a package, beside the environment's; options of ours are still there."""
    package, other = tmp_path / "src/my_package/conf", tmp_path / "other"
    for folder in (package / "delay", other / "delay"):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "delay/of_package.yaml").write_text("_target_: x.Y\nscale: 2\n")
    (other / "delay/mydelay.yaml").write_text("_target_: x.Y\nscale: 3\n")
    monkeypatch.syspath_prepend(tmp_path / "src")
    with open(own_conf / "run.yaml", "a") as file:
        file.write(f"\nhydra:\n  searchpath: ['file://{mine}', 'pkg://my_package.conf']\n")
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(other))
    for delay, scale in (("mydelay", 3), ("of_package", 2)):
        config = compose(["code=mycode", f"delay={delay}", "n=4"])
        assert (config["code"]["shift"], config["delay"]["scale"]) == (1, scale)
    assert compose(["scheme=cgc"])["code"]["n"] == 10


@pytest.mark.parametrize(
    "entry", ["file:///nowhere/at/all", "pkg://nobody", "pkg://nobody.conf", "/nowhere/at/all"]
)
def test_a_searchpath_that_is_not_there(entry, own_conf):
    with open(own_conf / "run.yaml", "a") as file:
        file.write(f"\nhydra:\n  searchpath: ['{entry}']\n")
    with pytest.raises(UserError, match="hydra.searchpath names .* which is not a folder"):
        options("code")
