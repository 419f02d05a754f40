"""A person's mistakes: exit code 2 and one sentence, no trace, nothing half-written."""

import os
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
from gcexp.run.provenance import read_provenance
from gcexp.tasks.training import Trajectory
from tests.conftest import small_project

TABLE = "label,run,seed,iteration,simulated_time_s,test_accuracy\nCGC,a,0,0,0,0.1\nCGC,a,0,1,1,0.2\n"


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    return small_project(tmp_path_factory.mktemp("untouched") / "project")


@pytest.fixture
def there(untouched, here, monkeypatch):
    """A small project that all tests share whose commands are all refused, and so change nothing."""
    monkeypatch.chdir(untouched.folder)
    return untouched


@pytest.fixture
def project_here(fresh, here, monkeypatch):
    """The small project as working folder."""
    monkeypatch.chdir(fresh.folder)
    return fresh


@pytest.fixture
def mistaken(refused_command):
    """The sentence of a command that must fail without a trace on the disk."""

    def sentence(names, *command):
        before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        said = refused_command(names, *command)
        after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        assert {path: text for path, text in after.items() if path.parts[0] != ".cache"} == before
        return said

    return sentence


OUT = ("-o", "out/file.npz")

#: What the sentence names: what was given, what is allowed, the nearest name.
RUNS = {
    "scheme=cgcc": ("'cgcc'", "'cgc'"),
    "scheme=cgc n=ten": ("code.n", "'ten'"),
    "scheme=cgc n=6 s=6": ("0 <= s < n", "n=6, s=6"),
    "scheme=frc code.d=3": ("n=10, d=3",),
    "scheme=cyclic_partial n=6 s=2 code.beta=5": ("p = s + beta - n + 1", "n=6, s=2, beta=5", "p=2"),
    "scheme=cgc wait.s=10": ("1 <= q <= n (0 <= s < n)",),
    "scheme=cgc delay.scale=-1": ("scale > 0", "-1"),
    "scheme=cgc overhead=.inf": ("overhead", ">= 0", "inf"),
    "scheme=cgc horizon=soon": ("horizon", "> 0", "null", "'soon'"),
    f"scheme=cgc seeds={9 * '9' * 9}": ("seeds", "100000"),
    "scheme=cgc seeds=[99999999999]": ("seeds", "4294967295", "'99999999999-99999999999'"),
    f"scheme=cgc iterations=1{21 * '0'}": ("iterations", "1000000000", f"1{21 * '0'}"),
    "scheme=cgc n=2000000": ("CyclicRepetition", "1000000", "2000000"),
    "scheme=cgc n=20000 wait=spanned": ("Spanned", "10000", "20000"),
    "scheme=cgc n=20000 code.construction=gaussian": ("n=20000",),
    "scheme=gc n=20000": ("n/clusters = 20000",),
    "scheme=comm_efficient n=200 s=100": ("n <= 100",),
    "scheme=epsilon_brc n=100000": ("BatchRaptor", "10000", "100000"),
    "scheme=cgc code._target_=builtins.dict": ("code._target_", "builtins.dict", "Code"),
    "scheme=cgc,frc n=6 s=2": ("'cgc,frc'", "gcexp run -m"),
    "scheme=cgc n=6 s=1,2": ("code.s", "'1,2'", "gcexp run -m"),
}
TRAININGS = {
    "task=digits": ("'digits'", "'digits_mlp'"),
    "task.hidden=0": ("task.hidden", ">= 1", "0"),
    "task.hiden=3": ("'task.hiden'", "'task.hidden'"),
    "task.dataset=imagenet": ("imagenet",),
    "optimizer.normalize=all": ("optimizer.normalize", "'all'"),
    "optimizer.learning_rate=-1": ("optimizer.learning_rate", "> 0", "-1"),
    "iterations=0": ("iterations", ">= 1", "0"),
    "": ("data/prepared/digits.npz",),
    "task=mnist_mlp": ("data/prepared/mnist.npz",),
}
COMMANDS = {
    **{f"simulate {overrides}": names for overrides, names in RUNS.items()},
    **{f"job train {overrides} -o out/file.npz": names for overrides, names in TRAININGS.items()},
    "show scheme=cgcc": ("'cgcc'", "'cgc'"),
    "show scheme=cgc n=4 s=1 iterations=[1,2]": ("iterations",),
    "show scheme=cgc n=4 s=1 horizon=../../etc/passwd": ("horizon",),
    "show scheme=cgc n=4 s=1 seeds=[]": ("seeds",),
    "show scheme=cgc n=4 s=1 data_dir=[[1]]": ("data_dir",),
    "simulate scheme=cgc n=4 s=1 delay=pareto delay.shape=1e-300": ("not finite",),
    "run scheme=cgc n=4 s=1 --level nan": ("--level", "nan"),
    "run -m scheme=cgc,frc n=4 s=1 -o results": ("-o",),
    "run -m scheme=cgc n=4 s=1,010": ("'010'",),
    "run -m scheme=cgc n=4 s=1,3/2": ("'3/2'",),
    "run -m scheme=glob(xyz*)": ("'xyz*'",),
    "run -m n=glob(1*)": ("glob",),
    "run -m scheme=glob(c*) s=interval(1,3)": ("s=interval(1,3)",),
    "run scheme=cgc n=6 s=1,2": ("'1,2'", "gcexp run -m"),
    "run scheme=cgc iterations=2 -o conf/run.yaml": ("conf/run.yaml", "folder"),
    "job train -o out/file.npz --verified out/file.npz": ("--verified", "--output", "out/file.npz"),
    "job data digit -o out/file.npz": ("'digit'", "'digits'"),
    "job data mnist --data-dir nowhere -o out/file.npz": ("nowhere/mnist/train-images-idx3-", "data_dir"),
    "job data digits -o out/digits.csv": (".npz",),
    "job data digits -o conf/run.yaml/file.npz": ("conf/run.yaml/file.npz",),
    **{f"job data digits -o {length * 'x'}.npz": length * "x" for length in (250, 300)},
    "job data digits -o /proc/nowhere/file.npz": ("/proc/nowhere/file.npz",),
    "job table small_thre -o out.csv": ("'small_thre'", "'small_three'"),
    "job table small_three --preset papr -o o.csv": ("'papr'", "'paper'"),
    "job table small_three -o out.csv": ("seeds0-1.npz",),
    "job plot small_three -o out.pdf -i nope.csv": ("nope.csv",),
    "publish": ("publish",),
    "list scheme": ("'scheme'", "'schemes'"),
    "": ("COMMAND", "gcexp --help"),
    "shwo": ("'shwo'", "'show'"),
    "job": ("VERB", "gcexp job --help"),
    "job train scheme=cgc": ("-o/--output", "gcexp job train --help"),
    "job plot -o x": ("-i/--input",),
    "compare fig4 --level x": ("--level", "'x'", "gcexp compare --help"),
    "trace mine.csv": ("'mine.csv'", "check", "import"),
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[:80])
def test_a_command_names_what_was_wrong(there, mistaken, command):
    mistaken(COMMANDS[command], *command.split())


def test_one_run_with_a_mistake_of_its_own_is_not_sent_to_a_sweep(there, mistaken):
    assert "-m" not in mistaken("n=6, s=7", "simulate", "scheme=cgc", "n=6", "s=7", "seeds=[1,2]")


def test_damaged_inputs(project_here, mistaken):
    prepare("digits", "data/prepared/digits.npz")
    train = ("job", "train", "scheme=forget", "iterations=3", *OUT)
    damage("data/prepared/digits.npz")
    mistaken("data/prepared/digits.npz", *train)
    Path("data/prepared/digits.json").unlink()
    mistaken("digits.json", *train)
    Path("table.csv").write_text(TABLE)
    plot = ("job", "plot", "small_three", "-i", "table.csv", "-o")
    mistaken("out.xyz", *plot, "out.xyz")
    Path("table.csv").write_text(TABLE.replace("simulated_time_s", "time"))
    mistaken("simulated_time_s", *plot, "out.pdf")


def damage(path):
    with open(path, "r+b") as file:
        file.seek(1000)
        file.write(b"!")


def test_trajectories_with_other_arrays(here, refused):
    lengths = {"seeds": 2, "steps": 2, "skipped": 2, "evaluated": 3, "verified": 1}
    whole = {name: np.zeros(length, int) for name, length in lengths.items()}
    whole |= {"score.loss": np.zeros((2, 3)), "parameters": np.zeros((2, 1, 5), np.float32)}
    whole["parameters_after"] = whole["parameters"]
    whole["state.velocity"] = whole["state_after.velocity"] = whole["parameters"]
    np.savez("whole.npz", **whole)
    assert Trajectory.load("whole.npz").state.keys() == {"velocity"}
    for content in (b"", b"garbage", Path("whole.npz").read_bytes()[:300]):
        Path("bad.npz").write_bytes(content)
        refused("bad.npz", Trajectory.load, "bad.npz")
    for more in (
        {"steps": np.zeros(2)},
        {"score.loss": np.zeros(3)},
        {"parameters": np.array("x")},
        {"state.velocity": np.zeros(2)},
    ):
        np.savez("bad.npz", **whole | more)
        refused("bad.npz", Trajectory.load, "bad.npz")
    Path("file.provenance.json").write_text('{"config": ')
    refused("file.provenance.json", read_provenance, Path("file.npz"))


@pytest.mark.slow
def test_more_than_fits_into_memory(there, mistaken):
    mistaken("memory", *f"simulate scheme=cgc n=1000 iterations={10**9} --rows iterations".split())


@pytest.mark.parametrize("output", ["", ".", "conf", "device", "socket"])
def test_outputs_that_are_no_files(project_here, refused_command, output):
    if output == "device":  # not the real one: as root it would be replaced by a defect
        os.mkfifo("device")
    if output == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
    refused_command((), "job", "data", "digits", "-o", output)
    with pytest.raises(UserError), written(output):
        raise AssertionError("the block ran")


def test_a_defect_is_no_mistake(project_here, capsys, monkeypatch):
    """Exit code 1, one sentence that names the log with the trace; --debug shows traces of both kinds."""
    train = ("job", "train", "scheme=cgc", "iterations=2", "-o", "out.npz", "--verified", "v.json")
    for error in (DecodingError("residual 1"), ZeroDivisionError("1/0"), KeyError("")):
        # not raised by the test's own code
        monkeypatch.setattr("gcexp.run.run.Run.train", Mock(side_effect=error))
        assert main(list(train)) == 1
        said = capsys.readouterr().err
        assert said.startswith("gcexp: ") and said.count("\n") == 1 and "logs/defect-" in said
        (log,) = Path("logs").glob("defect-*")
        assert "gcexp job train scheme=cgc" in log.read_text() and "Traceback (most" in log.read_text()
        log.unlink()
    assert main([*train, "--debug"]) == 1
    assert "Traceback (most" in capsys.readouterr().err
    assert main(["show", "scheme=cgcc", "--debug"]) == 2
    said = capsys.readouterr().err
    assert "Traceback (most" in said and said.splitlines()[-1].startswith("gcexp: ")
    assert issubclass(VerificationError, Defect) and not issubclass(Defect, UserError)
    assert not Path("out.npz").exists()


def test_a_horizon_that_is_not_reached(project_here, refused_command):
    project_here.edit(project_here.figure, "iterations: 30", "iterations: 3, horizon: 1000.0")
    prepare("digits", "data/prepared/digits.npz")
    (run, *_) = figurefile.figure("small_three", "quick").runs
    assert main(["job", "train", *run.overrides, "-o", run.trajectory_file]) == 0
    names = ("CGC", "seed 0", "horizon 1000", "iterations")
    refused_command(names, "job", "table", "small_three", "-o", "out.csv")


# --- The same through Snakemake


# What a person may get wrong is tested in tests/unit/test_gate.py; here only that Snakemake shows the sentence.
@pytest.mark.workflow
@pytest.mark.parametrize(
    ("change", "arguments", "names"),
    [
        (None, ["--config", "preset=papr"], ("'papr'", "'paper'")),
        (None, ["--config", "presett=paper"], ("'presett'", "'preset'")),
        (("scheme: cgc", "scheme: cgcc"), [], ("small/figures/three.yaml", "'cgcc'", "'cgc'")),
        (("runs:", "runs: ["), [], ("three.yaml", "line ")),
        (("plot:", 'note: "of {document}"\nplot:'), [], ("small/figures/three.yaml", "'document'")),
        (("digits_mlp", "digits_mlp, task.dataset: mine"), [], ("three.yaml", "'mine'", "mnist")),
    ],
)
def test_snakemake_shows_the_sentence(fresh, change, arguments, names):
    if change:
        fresh.edit(fresh.figure, *change)
    check_refused(fresh, arguments, names)


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("file", "content", "names"),
    [
        ("small/paper.yaml", b"title: A paper\nurl: nope\n", ("small/paper.yaml", "'nope'", "https://")),
        ("conf/style/looks.toml", b"\xff", ("conf/style/looks.toml", "UTF-8")),
        ("config/config.yaml", b"preset: [\n", ("config/config.yaml", "line 2")),
        ("config/config.yaml", b"preset: [paper]\n", ("['paper']", "quick")),
        ("reports/published/statements.csv", b"\xff", ("reports/published/statements.csv", "UTF-8")),
    ],
)
def test_snakemake_shows_what_is_wrong_in_another_file(fresh, file, content, names):
    (fresh / file).parent.mkdir(parents=True, exist_ok=True)
    (fresh / file).write_bytes(content)
    check_refused(fresh, ["-n"], names)


@pytest.mark.workflow
def test_snakemake_says_of_the_projects_own_code_what_gcexp_says(fresh):
    """No trace of ours, and the module with its line."""
    analysis = "analysis: {function: .numerics.table}"
    fresh.edit(fresh.figure, "kind: curves", f"kind: analysis\n{analysis}")
    (fresh / "small/numerics.py").write_text("def table(): ...\n\n\nlost + 1\n")
    check_refused(fresh, ["-n"], ("small/numerics.py", "line 4", "NameError", "not of gcexp"))


def check_refused(fresh, arguments, names):
    """Whether Snakemake ends with one sentence, exit code 2, and leaves nothing behind."""
    before = fresh.files("results", "reports")
    code, output = fresh.snakemake("-j1", *arguments)
    assert code == 2, output
    assert [name for name in names if name not in output] == [], output
    assert "Traceback" not in output and "Exception" not in output
    assert fresh.files("results", "reports") == before
    locks = fresh / ".snakemake/locks"
    assert not locks.exists() or not any(locks.iterdir())


@pytest.mark.workflow
def test_a_mistake_that_only_a_job_finds(project):
    """Corrupted data: the job's sentence is shown, Snakemake fails, what was there stays."""
    damage(project / "data/prepared/digits.npz")
    trained = "results/trajectory/digits_mlp/gradient_descent/exact/T30/seeds0-1.npz"
    (project / trained).unlink()
    code, output = project.snakemake("-j1", trained)
    assert code != 0
    assert "gcexp: data/prepared/digits.npz: " in output
    assert "Traceback" not in output
    assert not (project / trained).exists()
    assert (project / "reports/quick/index.html").is_file()
