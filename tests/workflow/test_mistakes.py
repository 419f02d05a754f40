"""A person's mistakes: exit code 2 and one sentence, no trace, nothing half-written."""

import os
import re
import socket
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from gcexp.command.main import main
from gcexp.data import prepare
from gcexp.errors import DecodingError, Defect, UserError, VerificationError
from gcexp.files import written
from gcexp.report import figurefile
from gcexp.run import options as options_module
from gcexp.run import stages
from gcexp.run.compose import compose
from gcexp.run.provenance import finished_provenance
from gcexp.tasks.training import Trajectory
from gcexp.timeline import Timeline

ROOT = Path(__file__).resolve().parents[2]

TABLE = "label,run,seed,iteration,simulated_time_s,test_accuracy\nCGC,a,0,0,0,0.1\nCGC,a,0,1,1,0.2\n"


def enter(project, monkeypatch):
    """Make a project the working folder of this process."""
    monkeypatch.chdir(project.folder)
    for name in ("GCEXP_CONF", "GCEXP_SEARCHPATH", "GCEXP_DATA"):
        monkeypatch.delenv(name, raising=False)
    return project


@pytest.fixture
def here(fresh, monkeypatch, forget):
    """The small project as working folder."""
    return enter(fresh, monkeypatch)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory, small):
    return small(tmp_path_factory.mktemp("untouched") / "project")


@pytest.fixture
def there(untouched, monkeypatch, forget):
    """A small project that all tests share whose commands are all refused, and so change nothing."""
    return enter(untouched, monkeypatch)


def snapshot(project):
    return {
        name: path.read_bytes() for name, path in project.files(".").items() if not name.startswith(".cache")
    }


def refused(project, capsys, *command):
    """The sentence of a command that must fail without a trace on the disk."""
    before = snapshot(project)
    assert main(list(command)) == 2
    said = capsys.readouterr()
    assert said.err.startswith("gcexp: ") and said.err.count("\n") == 1, said.err
    assert "Traceback" not in said.err
    assert snapshot(project) == before
    assert not [path for path in project.folder.rglob(".*") if re.search(r"\.[0-9a-f]{32}\.", path.name)]
    return said.err


OUT = ("-o", "out/file.npz")

#: What the sentence names: what was given, what is allowed, the nearest name.
RUNS = {
    "scheme=cgcc": ("'cgcc'", "'cgc'"),
    "scheme=cgc code.sead=1": ("'code.sead'", "'code.seed'"),
    "scheme=cgc n=ten": ("code.n", "'ten'"),
    "scheme=cgc n=0": ("n=0",),
    "scheme=cgc n=6 s=6": ("0 <= s < n", "n=6, s=6"),
    "scheme=frc code.d=3": ("n=10, d=3",),
    "scheme=cyclic_partial n=6 s=2 code.beta=5": ("p = s + beta - n + 1", "n=6, s=2, beta=5", "p=2"),
    "scheme=epsilon_brc code.epsilon=0": ("0 < epsilon < 1/4", "epsilon=0"),
    "scheme=cgc wait.q=3": ("q=3, s=4",),
    "scheme=cgc wait.s=10": ("1 <= q <= n (0 <= s < n)",),
    "scheme=cgc delay.scale=-1": ("scale > 0", "-1"),
    "scheme=cgc delay.scaling=work": ("scaling", "'work'", "data, server"),
    "scheme=cgc overhead=.inf": ("overhead", ">= 0", "inf"),
    "scheme=cgc exact=maybe": ("exact",),
    "scheme=cgc horizon=soon": ("horizon", "> 0", "null", "'soon'"),
    f"scheme=cgc seeds={9 * '9' * 9}": ("seeds", "100000"),
    "scheme=cgc seeds=[99999999999]": ("seeds", "4294967295", "'99999999999-99999999999'"),
    f"scheme=cgc iterations=1{21 * '0'}": ("iterations", "1000000000", f"1{21 * '0'}"),
    "scheme=cgc n=2000000": ("CyclicRepetition", "1000000", "2000000"),
    "scheme=epsilon_brc n=100000": ("BatchRaptor", "10000", "100000"),
    "scheme=cgc n=20000 wait=spanned": ("Spanned", "10000", "20000"),
    "scheme=cgc n=20000 code.construction=gaussian": ("n=20000",),
    "scheme=gc n=20000": ("n/clusters = 20000",),
    "scheme=comm_efficient n=200 s=100": ("n <= 100",),
    "scheme=forget n=10 s=11": ("0 <= s < n", "s=11", "n=10"),
    "scheme=cgc code._target_=builtins.dict": ("code._target_", "builtins.dict", "Code"),
    "scheme=cgc code._target_=nowhere.Code": ("_target_", "'nowhere.Code'"),
}


@pytest.mark.parametrize("overrides", RUNS)
def test_clocks(there, capsys, overrides):
    sentence = refused(there, capsys, "simulate", *overrides.split())
    assert [name for name in RUNS[overrides] if name not in sentence] == []


@pytest.mark.parametrize("command", ["show", "run"])
def test_other_commands_say_the_same(there, capsys, command):
    assert "did you mean 'cgc'" in refused(there, capsys, command, "scheme=cgcc")
    assert "0 <= s < n" in refused(there, capsys, command, "scheme=cgc", "s=10")


@pytest.mark.parametrize(
    "overrides, sentence",
    [
        ("task=digits", "unknown task 'digits'; did you mean 'digits_mlp'"),
        ("task.hidden=0", "task.hidden must be an integer >= 1, got 0"),
        ("task.hidden=many", "task.hidden must be a whole number, got 'many'"),
        ("task.hiden=3", "unknown key 'task.hiden'; did you mean 'task.hidden'"),
        ("task.dataset=imagenet", "imagenet"),
        ("optimizer.normalize=all", "unknown optimizer.normalize 'all'"),
        ("optimizer.learning_rate=-1", "optimizer.learning_rate must be a step size > 0, got -1"),
        ("iterations=0", "iterations must be an integer >= 1, got 0"),
        ("", "data/prepared/digits.npz: there is no such file"),
        ("task=mnist_mlp", "data/prepared/mnist.npz: there is no such file"),
    ],
)
def test_training(there, capsys, overrides, sentence):
    assert sentence in refused(there, capsys, "job", "train", *overrides.split(), *OUT)


def test_damaged_inputs(here, capsys):
    prepare("digits", "data/prepared/digits.npz")
    train = ("job", "train", "scheme=forget", "iterations=3", *OUT)
    both = refused(here, capsys, *train, "--verified", OUT[1])
    assert "--verified and --output are both out/file.npz" in both
    with open("data/prepared/digits.npz", "r+b") as file:
        file.seek(1000)
        file.write(b"!")
    sentence = refused(here, capsys, *train)
    assert "data/prepared/digits.npz: expected sha256" in sentence and "delete it and run again" in sentence
    Path("data/prepared/digits.json").unlink()
    assert "digits.json" in refused(here, capsys, *train)


def test_npz_files_with_other_arrays(here):
    with pytest.raises(UserError, match="nope.npz"):
        Timeline.load("nope.npz")
    config = compose(["scheme=forget", "iterations=3"])
    stages.simulated(config, stages.length_of(config)).save("clock.npz")
    for content in (b"", b"garbage", Path("clock.npz").read_bytes()[:300]):
        Path("bad.npz").write_bytes(content)
        for kind in (Timeline, Trajectory):
            with pytest.raises(
                UserError, match=f"bad.npz is not a {kind.__name__.lower()} written by this version"
            ):
                kind.load("bad.npz")
    good = dict(np.load("clock.npz"))
    damage = {
        "out of range": {"pattern": good["pattern"] + 99},
        "negative": {"pattern": good["pattern"] - 99},
        "floats": {"pattern": good["pattern"] + 0.5},
        "shape": {"steps": good["steps"][:1]},
        "too long": {"steps": good["steps"] + 9},
        "a number": {"duration": np.array(3.0)},
        "text": {"patterns": np.array(["x"])},
    }
    for changed in damage.values():
        np.savez("bad.npz", **good | changed)
        with pytest.raises(UserError, match="bad.npz is not a timeline written by this version"):
            Timeline.load("bad.npz")
    lengths = {"seeds": 2, "steps": 2, "skipped": 2, "evaluated": 3, "verified": 1}
    whole = {name: np.zeros(length, int) for name, length in lengths.items()} | {
        "score.loss": np.zeros((2, 3))
    }
    whole |= {"parameters": np.zeros((2, 1, 5), np.float32)}
    for changed in ({"steps": np.zeros(2)}, {"score.loss": np.zeros(3)}, {"parameters": np.array("x")}):
        np.savez("bad.npz", **whole | changed)
        with pytest.raises(UserError, match="bad.npz is not a trajectory written by this version"):
            Trajectory.load("bad.npz")
    Path("out").mkdir()
    Path("out/file.provenance.json").write_text('{"config": ')
    with pytest.raises(UserError, match=r"cannot read out/file.provenance.json .*; delete it"):
        finished_provenance(Path("out/file.npz"))


@pytest.mark.slow
def test_more_than_fits_into_memory(here, capsys):
    sentence = refused(
        here, capsys, "simulate", "scheme=cgc", "n=1000", f"iterations={10**9}", "--rows", "iterations"
    )
    assert "does not fit into memory (Unable to allocate" in sentence


def test_folders_that_cannot_be_written(here, capsys):
    for output in ("conf/run.yaml/file.npz", "/proc/nowhere/file.npz"):
        sentence = refused(here, capsys, "job", "data", "digits", "-o", output)
        assert f"{output}: cannot be written" in sentence
    assert "cannot be written" in refused(
        here, capsys, "job", "data", "digits", "-o", "conf/run.yaml/digits.npz"
    )


@pytest.mark.parametrize("output", ["", ".", "conf", "device", "socket"])
def test_outputs_that_are_no_files(here, capsys, output):
    if output == "device":  # not the real one: as root it would be replaced by a defect
        os.mkfifo("device")
    if output == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
    sentence = refused(here, capsys, "job", "data", "digits", "-o", output)
    assert "cannot be written (it is " in sentence
    with pytest.raises(UserError, match="cannot be written"), written(output):
        raise AssertionError("the block ran")
    run = refused(here, capsys, "run", "scheme=cgc", "iterations=2", "-o", "conf/run.yaml")
    assert "conf/run.yaml: cannot be a folder" in run


def test_a_defect_is_no_mistake(here, capsys, monkeypatch):
    """Exit code 1, one sentence that names the log with the trace; --debug shows traces of both kinds."""
    train = ("job", "train", "scheme=cgc", "iterations=2", "-o", "out.npz", "--verified", "v.json")
    broken = {
        "decode": DecodingError("residual 1"),
        "defect": ZeroDivisionError("1/0"),
        "plain": KeyError(""),
    }
    for error in broken.values():
        # not raised by the test's own code
        monkeypatch.setattr("gcexp.run.stages.simulated", Mock(side_effect=error))
        assert main(list(train)) == 1
        said = capsys.readouterr().err
        assert (
            said.startswith("gcexp: ")
            and said.count("\n") == 1
            and "please report it with logs/defect-" in said
        )
        (log,) = Path("logs").glob("defect-*")
        assert "gcexp job train scheme=cgc" in log.read_text() and "Traceback (most" in log.read_text()
        log.unlink()
    assert main([*train, "--debug"]) == 1
    assert "Traceback (most" in capsys.readouterr().err
    assert main(["show", "scheme=cgcc", "--debug"]) == 2
    said = capsys.readouterr().err
    assert "Traceback (most" in said and said.splitlines()[-1].startswith("gcexp: unknown scheme 'cgcc'")
    assert issubclass(VerificationError, Defect) and not issubclass(Defect, UserError)
    assert not Path("out.npz").exists()


def test_data(here, capsys):
    assert "unknown data set 'digit'; did you mean 'digits'" in refused(
        here, capsys, "job", "data", "digit", *OUT
    )
    sentence = refused(here, capsys, "job", "data", "mnist", "--data-dir", "nowhere", *OUT)
    assert "nowhere/mnist/train-images-idx3-ubyte.gz" in sentence and "data_dir" in sentence
    assert ".npz" in refused(here, capsys, "job", "data", "digits", "-o", "out/digits.csv")


def test_figures(here, capsys):
    Path("table.csv").write_text(TABLE)
    sentence = refused(here, capsys, "job", "table", "small_thre", "-o", "out.csv")
    assert "unknown figure 'small_thre'; did you mean 'small_three'" in sentence
    assert "unknown preset 'papr'" in refused(
        here, capsys, "job", "table", "small_three", "--preset", "papr", "-o", "o.csv"
    )
    assert "seeds0-1.npz" in refused(here, capsys, "job", "table", "small_three", "-o", "out.csv")
    plot = ("job", "plot", "small_three", "-o", "out.pdf", "-i")
    assert "nope.csv" in refused(here, capsys, *plot, "nope.csv")
    assert "out.xyz" in refused(
        here, capsys, "job", "plot", "small_three", "-i", "table.csv", "-o", "out.xyz"
    )
    Path("table.csv").write_text(TABLE.replace("simulated_time_s", "time"))
    assert "simulated_time_s" in refused(here, capsys, *plot, "table.csv")


def test_reports(here, capsys):
    assert "nothing to publish" in refused(here, capsys, "publish")
    assert "unknown kind 'scheme'; did you mean 'schemes'" in refused(here, capsys, "list", "scheme")


def test_a_horizon_that_is_not_reached(here, capsys):
    here.edit(here.figure, "iterations: 30", "iterations: 3, horizon: 1000.0")
    prepare("digits", "data/prepared/digits.npz")
    (run, *_) = figurefile.figure("small_three", "quick").runs
    assert main(["job", "train", *run.overrides, "-o", run.trajectory]) == 0
    sentence = refused(here, capsys, "job", "table", "small_three", "-o", "out.csv")
    assert (
        "CGC: seed 0 ends at" in sentence and "before the horizon 1000; raise iterations above 3" in sentence
    )


def test_a_folder_without_options(tmp_path, monkeypatch, capsys, forget):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCEXP_CONF", str(tmp_path))
    monkeypatch.setattr(options_module, "__file__", str(tmp_path / "gcexp" / "run" / "options.py"))
    forget()
    assert main(["show", "scheme=cgc"]) == 2
    assert "set GCEXP_CONF" in capsys.readouterr().err
    forget()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "gcexp: the following arguments are required: COMMAND; gcexp --help says"),
        ("shwo", "gcexp: unknown command 'shwo'; did you mean 'show'? (allowed: "),
        ("job", "gcexp: the following arguments are required: VERB; gcexp job --help says"),
        (
            "job train scheme=cgc",
            "gcexp: the following arguments are required: -o/--output; gcexp job train ",
        ),
        ("job plot -o x", "gcexp: the following arguments are required: "),
        (
            "compare fig4 --level x",
            "gcexp: argument --level: invalid float value: 'x'; gcexp compare --help says",
        ),
        (
            "trace mine.csv",
            "gcexp: argument what: invalid choice: 'mine.csv' (choose from ",
        ),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments, sentence, capsys):
    """The usage stood before it, eight lines of it."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments.split())
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and said.startswith(sentence) and said.count("\n") == 1


@pytest.mark.parametrize("verb", ["run", "simulate"])
@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ("scheme=cgc,frc n=6 s=2", "unknown scheme 'cgc,frc'.*; several values of a key: gcexp run -m$"),
        (
            "scheme=cgc n=6 s=1,2",
            "code.s must be a whole number, got '1,2'; several values of a key: gcexp run -m$",
        ),
        ("scheme=cgc n=6 s=7 seeds=[1,2]", "needs 0 <= s < n, got n=6, s=7 .code: CyclicRepetition.$"),
    ],
)
def test_several_values_where_one_run_is_made(verb, keys, sentence, capsys):
    assert main([verb, *keys.split()]) == 2
    assert re.search(sentence, capsys.readouterr().err.strip())


# --- The same through Snakemake


@pytest.mark.workflow
def test_the_command_exits_with_2(fresh):
    code, output = fresh.gcexp("job", "train", "scheme=cgcc", "-o", "out.npz")
    assert code == 2
    assert output.startswith("gcexp: unknown scheme 'cgcc'; did you mean 'cgc'?")
    assert output.count("\n") == 1 and not (fresh / "out.npz").exists()


def parse_error(project, sentence, *arguments):
    code, output = project.snakemake("-j1", *arguments)
    assert code == 2, output
    assert sentence in output, output
    assert "Traceback" not in output and "Exception" not in output
    assert not (project / "results").exists() and not (project / "reports").exists()
    locks = project / ".snakemake/locks"
    assert not locks.exists() or not any(locks.iterdir())


CONFIG = {
    "preset=papr": "gcexp: unknown preset 'papr'; did you mean 'paper'? (allowed: paper, quick)",
    "presett=paper": "gcexp: unknown --config key 'presett'; did you mean 'preset'?",
}


@pytest.mark.workflow
@pytest.mark.parametrize("setting", CONFIG)
def test_mistakes_in_config(fresh, setting):
    parse_error(fresh, CONFIG[setting], "--config", setting)


# What a figure file may get wrong is tested in tests/unit/test_plan.py; here only that Snakemake shows the sentence.
FIGURE = "gcexp: small/figures/three.yaml: "


@pytest.mark.workflow
@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("scheme: cgc", "scheme: cgcc", FIGURE + "unknown scheme 'cgcc'; did you mean 'cgc'?"),
        ("runs:", "runs: [", "three.yaml: line "),
        ("code.beta: 4", "code.beta: 5", FIGURE + "plain sums need p = s + beta - n + 1 to divide beta"),
    ],
)
def test_mistakes_in_a_figure_file(fresh, old, new, sentence):
    fresh.edit(fresh.figure, old, new)
    parse_error(fresh, sentence)


@pytest.mark.workflow
def test_a_mistake_that_only_a_job_finds(project):
    """Corrupted data: the job's sentence is shown, Snakemake fails, what was there stays."""
    with open(project / "data/prepared/digits.npz", "r+b") as file:
        file.seek(1000)
        file.write(b"!")
    trained = "results/trajectory/digits_mlp/gradient_descent/exact/T30/seeds0-1.npz"
    (project / trained).unlink()
    code, output = project.snakemake("-j1", trained)
    assert code != 0
    assert "gcexp: data/prepared/digits.npz: expected sha256" in output
    assert "Traceback" not in output
    assert not (project / trained).exists()
    assert (project / "reports/quick/index.html").is_file()
