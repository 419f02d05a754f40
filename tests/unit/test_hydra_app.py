"""gcexp's options in a Hydra app of one's own: the same compositions, one key, and nothing for who does not ask."""

import json
import subprocess
import sys
from itertools import product, zip_longest
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hydra import compose as compose_app
from hydra import initialize_config_dir
from hydra.errors import HydraException, MissingConfigException
from omegaconf import OmegaConf

import gcexp
from gcexp.run.compose import compose
from gcexp.run.for_hydra import config_at
from gcexp.run.options import GROUPS, aliases, option_names
from gcexp.run.run import Run
from hydra_plugins.gcexp_options import GcexpOptions
from tests.conftest import ROOT, write_files

APP = ROOT / "examples/hydra_app/app.py"
#: Options of each kind of delay model: with a file, with one that builds on another, a trace, its other name.
DELAYS = ("markov", "ec2_like", "pai_job1", "bytedance_ar")
#: Of what Hydra itself has in an app: composing all of it takes two fifths of the time.
OF_HYDRA = ("launcher", "sweeper", "help", "hydra_help", "hydra_logging", "job_logging", "output")


@pytest.fixture(autouse=True)
def elsewhere(here):
    """All of these tests work in an empty folder, with an app beside it."""
    write_files(here, {"app/app.yaml": "defaults: [gcexp/run, _self_]\n"})


@pytest.fixture
def app(here):
    """Compose the app with some overrides."""

    with initialize_config_dir(str(here / "app"), version_base="1.3"):
        yield lambda *overrides: compose_app("app", overrides=list(overrides))


@pytest.fixture
def composes_as_ours(app):
    """Whether the app has below `gcexp` what our own composition gives, with the same types."""

    def same(choices, values=()):
        groups = [f"gcexp/{choice}" for choice in choices]
        keys = [f"gcexp.{value}" for value in values]
        theirs = OmegaConf.to_container(app(*groups, *keys).gcexp, resolve=True)
        return json.dumps(theirs, sort_keys=True) == json.dumps(compose([*choices, *values]), sort_keys=True)

    return same


@pytest.fixture
def without_hydras_own(here):
    """Let the app compose our options and nothing of Hydra's, for tests that compose it many times."""
    nothing = "".join(f"  - override hydra/{group}: null\n" for group in OF_HYDRA)
    write_files(here, {"app/app.yaml": f"defaults:\n  - gcexp/run\n  - _self_\n{nothing}"})


# --- Composition


@pytest.mark.slow
def test_every_option_composes_in_an_app_as_here(without_hydras_own, composes_as_ours):
    """As many groups at a time as can be; a code, a rule, a placement and loads beside no scheme."""
    alone = {group: option_names(group) for group in ("code", "wait", "placement", "loads")}
    beside_schemes = {
        "scheme": [*option_names("scheme"), *aliases("scheme").values()],
        "delay": [*option_names("delay"), *aliases("delay").values()],
        "task": option_names("task"),
        "optimizer": option_names("optimizer"),
    }
    assert {*alone, *beside_schemes} == {*GROUPS}
    for groups in (alone, beside_schemes):
        for together in zip_longest(*groups.values()):
            chosen = [f"{group}={name}" for group, name in zip(groups, together, strict=True) if name]
            assert composes_as_ours(chosen), chosen


def kinds_of_schemes():
    """One scheme of each kind: with the same groups to choose from, the same keys, and references or none."""
    found = {}
    for name in option_names("scheme"):
        config = config_at(f"gcexp/scheme/{name}").values
        chooses = [next(iter(one)) if isinstance(one, dict) else "another" for one in config["defaults"]]
        found.setdefault(str([chooses, *config.get("gcexp", ()), "${" in str(config)]), name)
    return list(found.values())


@pytest.mark.slow
def test_every_kind_of_scheme_composes_with_every_kind_of_delay_model(without_hydras_own, composes_as_ours):
    schemes = kinds_of_schemes()
    assert {"gc", "gc_dc_best"} < set(schemes)  # they build on others
    for scheme, delay in product(schemes, DELAYS):
        assert composes_as_ours([f"scheme={scheme}", f"delay={delay}"]), (scheme, delay)


@pytest.mark.parametrize(
    ("choices", "values"),
    [
        ([], []),
        (["scheme=gc", "delay=ec2_like"], ["n=8", "code.clusters=2"]),
        (["scheme=cgc", "code=fractional_repetition"], ["n=12", "s=3", "wait.s=2", "delay.shape=3e-1"]),
        (
            ["scheme=agc", "placement=greedy", "loads=even", "delay=bytedance_ar"],
            ["delay.phi=0.5", "seeds=0-3"],
        ),
    ],
)
def test_an_app_composes_as_here(choices, values, composes_as_ours):
    assert composes_as_ours(choices, values)


def test_options_of_a_found_project_are_options_of_the_app(here, app, composes_as_ours):
    write_files(
        here,
        {
            "config/config.yaml": "",
            "conf/delay/slow.yaml": "defaults: [pareto]\nscale: 7.0\n",
            "conf/delay/held.yaml": "# @package _global_\ndefaults: [slow]\noverhead: 2.0\ndelay:\n  shape: ${n}\n",
            "conf/scheme/mine.yaml": "# @package _global_\ndefaults:\n  - gc_dc\n  - override /delay: slow\nn: 6\n",
            "conf/code/twin.yaml": "defaults: [uncoded]\nwait: decodable\nexact: true\n",
            "data/traces/mine.csv": "iteration,worker,time\n0,0,1.0\n0,1,2.0\n",
        },
    )
    for choices in (
        ["delay=slow"],
        ["delay=held", "scheme=frc"],
        ["scheme=mine"],
        ["scheme=twin", "delay=mine"],
    ):
        assert composes_as_ours(choices), choices
    # An app may have options of its own in our groups, on ours.
    write_files(here / "app", {"gcexp/delay/theirs.yaml": "defaults: [slow]\nshape: ${gcexp.n}\n"})
    config = app("gcexp/delay=theirs", "gcexp.n=5")
    assert (config.gcexp.delay.scale, config.gcexp.delay.shape) == (7.0, 5)


# --- Runs


def test_a_run_of_an_app_is_that_of_the_command(app):
    config = app("gcexp/scheme=frc", "gcexp.n=6", "gcexp.s=2", "gcexp.iterations=20", "gcexp.seeds=3")
    run = gcexp.build(config, label="mine")
    ours = Run.of(["scheme=frc", "n=6", "s=2", "iterations=20", "seeds=3"], trains=False)
    assert run.config == ours.config and run.fingerprint("timeline") == ours.fingerprint("timeline")
    table = gcexp.simulate(run, progress=False)
    assert table[["run", "n", "s"]].drop_duplicates().to_numpy().tolist() == [["mine", 6, 2]]
    typed = gcexp.simulate(scheme="frc", n=6, s=2, iterations=20, seeds=3)
    pd.testing.assert_frame_equal(table.iloc[:, 3:], typed.iloc[:, 3:], check_exact=True)
    # What Hydra keeps of a job makes the run again.
    Path("kept.yaml").write_text(OmegaConf.to_yaml(config))
    assert gcexp.build(OmegaConf.load("kept.yaml")).config == ours.config
    assert gcexp.build(yaml.safe_load(OmegaConf.to_yaml(config.gcexp, resolve=True))).config == ours.config


@pytest.mark.slow
def test_a_run_of_an_app_is_trained(app):
    config = app("gcexp/scheme=frc", "gcexp.n=4", "gcexp.s=1", "gcexp.iterations=3", "gcexp.seeds=1")
    table = gcexp.train(gcexp.build(config), progress=False)
    typed = gcexp.train(scheme="frc", n=4, s=1, iterations=3, seeds=1, task="digits_mlp")
    assert table["test_accuracy"].tolist() == typed["test_accuracy"].tolist()
    assert table.attrs["verification"]["passed"]


def test_what_is_no_run_is_one_sentence(app, refused):
    refused(("'nn'", "'n'"), gcexp.build, app("+gcexp.nn=3"))
    refused(("'sead'", "'seed'"), gcexp.build, app("gcexp/scheme=cgc", "+gcexp.code.sead=3"))
    refused(("gcexp.code", "gcexp/code=oagc"), gcexp.build, app("gcexp.code=oagc"))
    refused(("gcexp.scheme", "gcexp/scheme=cgc"), gcexp.build, app("+gcexp.scheme=cgc"))
    refused(("n=12", "d=5"), gcexp.build, app("gcexp/scheme=frc", "gcexp.n=12", "gcexp.s=4"))
    refused(("s=2", "s=3"), gcexp.build, app("gcexp/scheme=cgc", "gcexp.s=2", "gcexp.code.s=3"))
    refused(("delay.shape", "others"), gcexp.build, app("gcexp.delay.shape={3: 2.0}"))
    assert gcexp.build(app("gcexp.delay.shape={3: 2.0, others: 1.2}")).delay_model
    refused("gcexp.n", gcexp.build, app("gcexp.n=???"))
    refused(("gcexp.n", "nowhere"), gcexp.build, app("gcexp.n=${nowhere}"))
    refused(("n", "gcexp/run"), gcexp.build, {"gcexp": {"s": 1}})
    refused("gcexp", gcexp.build, {"gcexp": 3})
    refused("config", gcexp.build, 3)
    refused("alone", gcexp.simulate, gcexp.build(app()), "n=3")


def test_an_option_that_is_not_there_or_wrong_is_told_by_hydra(here, app):
    with pytest.raises(MissingConfigException, match="gcexp/scheme/cgcc"):
        app("gcexp/scheme=cgcc")
    write_files(here, {"config/config.yaml": "", "conf/delay/bad.yaml": "a: [1\n"})
    with pytest.raises(HydraException, match=r"bad.yaml: line 2: not valid YAML"):
        app("gcexp/delay=bad")


# --- The plug-in


def test_our_groups_lie_below_one_key():
    source = GcexpOptions("gcexp", "gcexp://")
    assert source.list("", None) == ["gcexp"] and source.list("delay", None) == []
    assert {*source.list("gcexp", None)} == {*GROUPS, "run"}
    assert source.list("gcexp/scheme", None) == option_names("scheme")
    assert (
        not source.is_group("scheme") and not source.is_config("scheme/cgc") and not source.is_config("run")
    )
    assert not source.is_group("gcexp/nothing") and source.is_group("gcexp/wait")


PLAIN = """
import sys
import hydra

@hydra.main(version_base="1.3", config_path="app", config_name="plain")
def main(config):
    print(config, sorted(name for name in sys.modules if name.partition(".")[0] == "gcexp"))

main()
"""


@pytest.mark.slow
def test_an_app_that_does_not_ask_for_gcexp_loads_none_of_it(here):
    """It prints what it prints without the plug-in; only what starts an app in no more time may be imported."""
    write_files(
        here,
        {
            "plain.py": PLAIN,
            "app/plain.yaml": "defaults: [db: one, _self_]\nx: 1\n",
            "app/db/one.yaml": "y: 2\n",
        },
    )
    done = subprocess.run([sys.executable, "plain.py", "db=one"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("{'db': {'y': 2}, 'x': 1} []\n", "", 0)


@pytest.mark.slow
def test_the_example_sweeps(here):
    words = ["-m", "gcexp/scheme=cgc,frc", "gcexp.s=1,2", "gcexp.iterations=20", "gcexp.seeds=1"]
    done = subprocess.run([sys.executable, APP, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tables = [pd.read_csv(path) for path in sorted(here.glob("multirun/*/*/*/times.csv"))]
    assert [(*table.loc[0, ["run", "s"]],) for table in tables] == [
        (scheme, s) for scheme in ("cgc", "frc") for s in (1, 2)
    ]
    done = subprocess.run([sys.executable, APP, "+gcexp.nn=3"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "'nn'" in done.stderr
