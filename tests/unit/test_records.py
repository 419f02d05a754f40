"""What a job read, and which edits a plan sees: three tables of edits, all in this process."""

import contextlib
import importlib
import io
import json
import os
import shutil
import sys
import textwrap
import time
import tokenize
from pathlib import Path

import matplotlib  # noqa: F401
import numpy as np
import pytest

from gcexp.files import used
from gcexp.report import paper
from gcexp.run import closure, dependencies, modules, options, records
from gcexp.run.contents import without_remarks
from gcexp.run.modules import own_modules
from gcexp.run.records import EDITED, PLANNED, collect_reads, state, write_record
from gcexp_adviser.logs.reading import trace_of
from tests.conftest import LASTING, unload, write_files

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = Path("results/a.txt")
TRACE = "iteration,worker,time\n0,0,1.5\n0,1,2.5\n"

#: A package of one's own beside others, whose job reads in every way that we know of.
FILES = {
    "mine/__init__.py": "from . import effects\n",
    "mine/effects.py": '"""Old."""\nSETTINGS = open("effects.cfg").read()\n',
    "mine/job.py": """
        import importlib, importlib.resources, json, os, pkgutil, runpy
        from typing import TYPE_CHECKING
        from pathlib import Path
        import numpy as np
        import mine.aliased as other
        import spaces.inner
        from helper.deep import value
        from . import relative
        from .sub import *
        from .parts.one import One
        if TYPE_CHECKING:
            from mine import types_only
        computed = __import__("mine.computed", fromlist=["x"])
        formatted = importlib.import_module(f"mine.{'format'}ted")

        def run():
            from .late import later
            exec(open("script.txt").read())
            runpy.run_path("alone.py")
            (importlib.resources.files("mine") / "resource.txt").read_text()
            pkgutil.get_data("mine", "packed.bin")
            json.loads(Path("values.json").read_text())
            np.load("arrays.npz")["x"]
            np.loadtxt("table.csv")
            open(Path("~/far.csv").expanduser()).close()
            os.listdir("folder")
            list(Path("globbed").glob("*.txt"))
            for name in ("absent.txt", "absent/deep.txt"):
                try:
                    open(name)
                except OSError:
                    pass
            from gcexp.data.described import Description
            from gcexp_adviser.logs.reading import trace_of
            from gcexp.files import used
            trace_of("times")
            trace_of("traces/more.csv")
            trace_of("pai-job1")
            Description("data.csv").source("mine")
            used("named.txt")
            open("large.bin", "rb").read()
            folder = os.open("folder", os.O_RDONLY)
            os.close(os.open("handled.txt", os.O_RDONLY, dir_fd=folder))
            os.close(folder)
            with open("made.txt", "w+") as file:
                file.write("ours")
            open("made.txt").read()
        """,
    "mine/parts/__init__.py": "from .two import Two\n",
    "mine/parts/one.py": "class One:\n    def f(self):\n        return 1\n",
    "mine/parts/two.py": "class Two: pass\n",
    "mine/late.py": "def later(): ...\n",
    "mine/resource.txt": "a\n",
    "mine/packed.bin": "a\n",
    "mine/README.md": "a\n",
    "helper/__init__.py": "from helper import again\n",
    "helper/deep.py": "from .again import x\nvalue = x\n",
    "plugged/site-packages/theirs/__init__.py": "from theirs import inside\n",
    "effects.cfg": "a\n",
    "script.txt": "1 + 1\n",
    "values.json": "{}",
    "table.csv": "1 2\n",
    "data.csv": "x,y\n1,0\n",
    "named.txt": "a\n",
    "folder/a.txt": "a\n",
    "folder/handled.txt": "a\n",
    "globbed/a.txt": "a\n",
    "times": TRACE,
    "traces/more.csv": TRACE,
    "traces/index.json": '{"more": {"unit": "s"}}',
    "home/far.csv": "1\n",
    "home/.cache/font.json": "1\n",
    "results/earlier.txt": "1\n",
}


#: Modules with nothing but a number.
PLAIN = """
mine/aliased mine/relative mine/sub mine/computed mine/formatted mine/types_only mine/unread helper/again spaces/inner
plugged/site-packages/theirs/inside plugged/site-packages/gcexp_papers/paper/numbers
plugged/site-packages/foreign/__init__ alone by_path
"""
FILES |= {f"{name}.py": "x = 1\n" for name in PLAIN.split()}


def replace(path, old, new):
    return path, lambda text: text.replace(old, new)


def line(path, text="y = 2\n"):
    return path, lambda old: old + text


def gone(path):
    return path, lambda old: None


#: Path and what its text becomes: every one of these makes the result again, since the job has loaded a module of a
#: person's own, or one of our readers has named a file.
SEEN = {
    "relative import": line("mine/relative.py"),
    "import as": line("mine/aliased.py"),
    "import *": line("mine/sub.py"),
    "__import__": line("mine/computed.py"),
    "import by f-string": line("mine/formatted.py"),
    "import inside a function": line("mine/late.py"),
    "namespace package": line("spaces/inner.py"),
    "helper in another package": line("helper/deep.py"),
    "what the helper's package imports": line("helper/again.py"),
    "__init__ of the helper": line("helper/__init__.py"),
    "__init__": line("mine/__init__.py"),
    "__init__ of a package inside": line("mine/parts/__init__.py"),
    "what that __init__ imports": line("mine/parts/two.py"),
    "class": replace("mine/parts/one.py", "return 1", "return 2"),
    "effect of an import": line("mine/effects.py"),
    "module that is loaded by its path": line("by_path.py"),
    "deleted module": gone("mine/relative.py"),
    "package in the place of a module": ("mine/relative/__init__.py", lambda _: "x = 2\n"),
    "package in the place of a helper": ("helper/again/__init__.py", lambda _: "x = 2\n"),
    "__init__ of a namespace package": ("spaces/__init__.py", lambda _: "x = 2\n"),
    "syntax error": line("mine/relative.py", "def\n"),
    "installed plug-in": line("plugged/site-packages/theirs/inside.py"),
    "installed paper": line("plugged/site-packages/gcexp_papers/paper/numbers.py"),
    "bare name": replace("times", "1.5", "1.6"),
    "trace": replace("traces/more.csv", "1.5", "1.6"),
    "deleted trace": gone("traces/more.csv"),
    "index of traces": replace("traces/index.json", '"s"', '"ms"'),
    "index of traces that was not there": ("index.json", lambda _: "{}"),
    "trace in the place of a bundled one": ("pai-job1", lambda _: TRACE),
    "data set": replace("data.csv", "1,0", "1,1"),
    "file that the code itself names": line("named.txt"),
}

#: These too, since the option file of the class lists them under `inputs:`.
INPUTS = """
effects.cfg alone.py script.txt mine/resource.txt mine/packed.bin values.json arrays.npz table.csv ~/far.csv large.bin
absent.txt absent/deep.txt folder globbed/*.txt
""".split()
LISTED = {
    "what an import reads": line("effects.cfg"),
    "module that is run": line("alone.py"),
    "text that is run": line("script.txt"),
    "importlib.resources": line("mine/resource.txt"),
    "pkgutil.get_data": line("mine/packed.bin"),
    "json": replace("values.json", "{}", "[]"),
    "npz": gone("arrays.npz"),
    "table": replace("table.csv", "1 2", "1 3"),
    "path with ~": replace("home/far.csv", "1", "2"),
    "absent file": ("absent.txt", lambda _: ""),
    "absent folder": ("absent/deep.txt", lambda _: ""),
    "folder gains a file": ("folder/b.txt", lambda _: ""),
    "folder loses a file": gone("folder/a.txt"),
    "content of a file in a folder": line("folder/a.txt"),
    "folder gains a folder with a file": ("folder/more/c.txt", lambda _: ""),
    "file opened by a handle of its folder": line("folder/handled.txt"),
    "pattern matches one more": ("globbed/b.txt", lambda _: ""),
    "content of a file that a pattern matches": line("globbed/a.txt"),
    "pattern matches one less": gone("globbed/a.txt"),
    "deleted file": gone("table.csv"),
    "large file": ("large.bin", lambda old: old[:-1] + "b"),
}

#: And these make nothing again.
NOT = {
    "new docstring": replace("mine/relative.py", "x = 1", '"""New."""\nx = 1'),
    "other docstring": replace("mine/effects.py", "Old.", "New."),
    "docstring of a method": replace("mine/parts/one.py", "return 1", '"""One."""\n        return 1'),
    "comment": replace("mine/relative.py", "x = 1", "# why\nx = 1  # one"),
    "comment in a module that is listed": replace("alone.py", "x = 1", "# why\nx = 1"),
    "blank lines": replace("mine/relative.py", "x = 1", "\n\nx = 1  "),
    "module that is not read": line("mine/unread.py"),
    "module for types alone": line("mine/types_only.py"),
    "new module": ("mine/new.py", lambda _: "x = 1\n"),
    "new package": ("more/__init__.py", lambda _: ""),
    "README": line("mine/README.md"),
    "file in the working folder": ("notes.txt", lambda _: "a"),
    "hidden file in a folder": ("folder/.swap", lambda _: "a"),
    "bytecode in a folder": ("folder/__pycache__/a.pyc", lambda _: "a"),
    "file that a pattern does not match": ("globbed/b.csv", lambda _: "a"),
    "only touched": ("table.csv", lambda text: text),
    "what the job made": line("made.txt"),
    "what we made": line("results/earlier.txt"),
    "cache in one's home": line("home/.cache/font.json"),
    "installed library": line("plugged/site-packages/foreign/__init__.py"),
}

#: The composed run of the job. Options count by their values, and by what is listed there.
CONFIG = {"delay": {"_target_": "mine.job.Delay", "inputs": INPUTS}}


def write(path, text):
    path = Path(path)
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def forget_modules():
    unload("mine", "helper", "spaces", "theirs", "foreign", "by_path")


def load_by_path(path):
    """As pytest and many frameworks load a file; it stays among the loaded modules under a name that nobody finds."""
    spec = importlib.util.spec_from_file_location(f"by_path.{Path(path).stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A folder with a finished job, which may be run again; the plan told it a word."""
    folder = tmp_path_factory.mktemp("job")
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder / "home"))
        write_files(folder, {name: textwrap.dedent(text) for name, text in FILES.items()})
        np.savez("arrays.npz", x=np.ones(2))
        write("large.bin", "a" * 2**20)
        for place in ("plugged/site-packages", ""):
            patch.syspath_prepend(folder / place)
        patch.setattr(modules, "plugins", lambda: ("theirs.conf",))
        for path in Path().rglob("*"):
            os.utime(path, ns=(0, 0))

        def run(said="new"):
            forget_modules()
            patch.setenv(PLANNED, said)
            with write_record(OUTPUT):
                open("home/.cache/font.json").close()
                open("results/earlier.txt").close()
                for name in ("theirs", "foreign"):
                    importlib.import_module(name)
                load_by_path("by_path.py")
                load_by_path("plugged/site-packages/gcexp_papers/paper/numbers.py")
                importlib.import_module("mine.job").run()
                OUTPUT.write_text("done")
            patch.delenv(PLANNED)

        run()
        yield run
        forget_modules()


def planned():
    """What a plan says of the job: its record, and the lines of its fingerprint."""
    return [state(OUTPUT), *dependencies.stage_fingerprint("timeline", CONFIG)]


@pytest.fixture(scope="module")
def first(job):
    return planned()


@pytest.fixture
def edited(job, first):
    """Make an edit, undone after the test; its time is an old one."""
    made = []

    def edit(path, change):
        path = Path(path)
        kept = path.read_bytes() if path.is_file() else None
        made.append((path, kept, path.parent if not path.parent.exists() else None))
        write(path, change(None if kept is None or path.suffix == ".npz" else kept.decode()))
        if path.is_file():
            os.utime(path, ns=(0, 0))
        importlib.invalidate_caches()  # each plan is a process of its own

    assert first == planned() and first[0] == "new"
    yield edit
    for path, kept, parent in made:
        path.unlink(missing_ok=True)
        if kept is not None:
            path.write_bytes(kept)
        if parent:
            shutil.rmtree(parent)
    importlib.invalidate_caches()
    assert planned() == first


@pytest.mark.parametrize("name", SEEN)
def test_an_edit_is_seen(name, edited):
    edited(*SEEN[name])
    assert state(OUTPUT) != "new"
    place = Path(SEEN[name][0])
    assert place.stem in state(OUTPUT) or place.parent.name in state(OUTPUT)


@pytest.mark.parametrize("name", LISTED)
def test_an_edit_of_what_an_option_lists_is_seen(name, edited, first):
    edited(*LISTED[name])
    (changed,) = set(planned()) - set(first)
    assert any(part in changed for part in Path(LISTED[name][0]).parts)


@pytest.mark.parametrize("name", NOT)
def test_an_edit_that_changes_nothing_is_not_seen(name, edited, first):
    edited(*NOT[name])
    assert planned() == first


def test_a_job_is_made_again_once(job, edited):
    edited(*SEEN["trace"])
    said = state(OUTPUT)
    job(said)
    assert state(OUTPUT) == said  # what it was told stays true
    Path("traces/more.csv").write_text(FILES["traces/more.csv"])
    assert state(OUTPUT) not in ("new", said)  # back again is a change too
    job("new")


def test_what_is_edited_under_a_job_is_read_again(job):
    with write_record("results/b.txt"):
        used("table.csv")
        Path("table.csv").write_text(FILES["table.csv"])
    record = json.loads(Path("results/records/results/b.txt.json").read_text())
    assert record["files"]["table.csv"] == EDITED
    assert state("results/b.txt").endswith(" table.csv")


def test_without_a_record_a_result_is_made_once_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert state("results/c.txt") == "new"
    write("results/c.txt", "1")
    unknown = state("results/c.txt")
    assert unknown.startswith("unknown ")
    for damaged in ("", "{", "[]", '{"planned": 1, "modules": {}, "files": {}, "versions": {}}'):
        write("results/records/results/c.txt.json", damaged)
        assert state("results/c.txt") == unknown
    with write_record("results/c.txt"):
        pass
    assert state("results/c.txt") == unknown
    with pytest.raises(OSError), write_record("results/c.txt"):
        raise OSError("a job that fails has no record")
    assert state("results/c.txt") == unknown != "new"
    assert not list(tmp_path.glob("results/records/**/*.json"))


def test_a_reader_that_remembers_names_its_file_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("times.csv", TRACE)
    found = []
    for _ in range(2):
        with collect_reads() as seen:
            found.append(trace_of("times.csv"))
        names = {Path(path).name for path in seen.files}
        assert names == {"times.csv", "index.json"}
    assert found[0].values is found[1].values  # read once


def test_what_a_block_reads_is_forgotten_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with collect_reads() as outer:
        with collect_reads() as inner:
            used("inside")
        used("outside")
    used("afterwards")
    with pytest.raises(ZeroDivisionError), collect_reads() as broken:
        1 / 0  # noqa: B018
    used("afterwards")
    assert [Path(path).name for path in inner.files] == ["inside"]
    assert {Path(path).name for path in outer.files} == {"inside", "outside"}
    assert not broken.files


UNTOUCHED = """
import os, sys
opened, hooks = os.open, []
sys.addaudithook = hooks.append
import gcexp
from gcexp.command.main import main
run = dict(n=4, iterations=2, seeds=1, task="access_rows_logistic", progress=False)
gcexp.sweep({"scheme": ["cgc", "uncoded"]}, **run)
assert main("job data digits -o data/prepared/digits.npz".split()) == 0
train = "job train task=linear_regression optimizer.learning_rate=0.1 iterations=30 seeds=1".split()
assert all(main([*train, "-o", f"results/{name}.npz"]) == 0 for name in "ab")
assert os.path.isfile("results/records/results/a.npz.json")
assert os.open is opened and type(os.open) is type(len), os.open
assert not hooks, hooks
assert "torch" not in sys.modules and "sklearn" not in sys.modules  # each takes a second to import
"""


@pytest.mark.slow
def test_calls_leave_the_interpreter_as_it_was_and_a_training_gives_the_same_bits_twice(
    fresh, linear_mixture
):
    shutil.copytree(linear_mixture.parent, fresh / "data/prepared")
    code, output = fresh.run(sys.executable, "-c", UNTOUCHED)
    assert code == 0, output
    assert (fresh / "results/a.npz").read_bytes() == (fresh / "results/b.npz").read_bytes()


def test_only_libraries_that_own_modules_use_stand_in_a_record(first, monkeypatch):
    """What else the process has imported decides nothing: one process may run several jobs."""
    installed, mine = records.version_of, {k: v for k, v in own_modules().items() if "mine" in k}
    with monkeypatch.context() as patch, write_record("results/d.txt"):
        patch.setattr(records, "own_modules", lambda: mine)
    record = json.loads(Path("results/records/results/d.txt.json").read_text())
    assert "numpy" in record["versions"] and "matplotlib" not in record["versions"]
    monkeypatch.setattr(records, "version_of", lambda name: "99.0" if name == "numpy" else installed(name))
    assert state(OUTPUT).endswith(" numpy")


IMPORTS = """
import yaml.nodes
from PIL import __version__ as drawn

def late():
    from sklearn.utils import Bunch
    import dateutil
"""


def test_a_record_names_the_distributions_of_what_is_imported(tmp_path, monkeypatch):
    """Of a constant and in a function too, and where the distribution has another name than the package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write("importing.py", IMPORTS)
    with write_record("results/e.txt"):
        importlib.import_module("importing")
    unload("importing")
    versions = json.loads(Path("results/records/results/e.txt.json").read_text())["versions"]
    assert {"PyYAML", "pillow", "scikit-learn", "python-dateutil"} <= {*versions}


@pytest.mark.parametrize("ahead", [10, -10])
def test_an_edit_under_a_job_is_seen_whatever_the_clock_says(ahead, tmp_path, monkeypatch):
    """The clock of a node and that of the file server are two."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    told = time.time_ns
    monkeypatch.setattr(records.time, "time_ns", lambda: told() + ahead * 10**9)
    write("times.csv", TRACE)
    write("edited.py", "x = 1\n")
    write("kept.py", "x = 1\n")
    wait_for_another_time("edited.py")
    with write_record("results/f.txt"):
        importlib.import_module("edited")
        importlib.import_module("kept")
        used("times.csv")
        write("times.csv", TRACE + "1,0,2.5\n")
        write("edited.py", "x = 2\n")
    unload("edited", "kept")
    record = json.loads(Path("results/records/results/f.txt.json").read_text())
    assert record["files"]["times.csv"] == EDITED == record["modules"]["edited"]
    assert record["modules"]["kept"] != EDITED


def wait_for_another_time(path):
    """Until a file that is made now is younger by more than the step in which files tell their times."""
    made = os.stat(path).st_ctime_ns
    while True:
        Path("later").write_text("")
        if os.stat("later").st_ctime_ns > made + 5 * records._STEP:
            return


def test_modules_of_one_s_own(job):
    names = own_modules()
    assert {"mine.job", "helper.deep", "spaces.inner", "theirs.inside"} <= set(names)
    assert not {"foreign", "numpy", "gcexp.run.records", "json"} & set(names)


def test_the_page_says_of_papers_what_their_files_and_the_bibliography_say(tmp_path, monkeypatch):
    names = [folder.name for folder in options.paper_folders().values()]
    before, there = paper.papers_fingerprint(names), paper.bundled
    text, copy = (ROOT / "docs/references.bib").read_text(), tmp_path / "references.bib"
    monkeypatch.setattr(paper, "bundled", lambda name: copy if "bib" in name else there(name))
    copy.write_text(text + "\n@misc{uncited,\n}\n")
    assert paper.papers_fingerprint(names) == before
    copy.write_text(text.replace("year", "date"))
    assert paper.papers_fingerprint(names) != before


# --- The library


#: A run, of which each stage takes its keys.
LEARNING = {
    "code": {"_target_": "gcexp.codes.CyclicRepetition"},
    "delay": {"_target_": "gcexp.delays.markov.TwoStateMarkov"},
    "placement": {"_target_": "gcexp.schemes.placement.Greedy"},
    "task": {"_target_": "gcexp.tasks.mlp.MultilayerPerceptron"},
}
CLOCK = {"timeline", "curves", "timings"}
RUNS = CLOCK | {"replay"}
TABLES = {"curves", "timings", "analysis"}
SHOWN = {"page", "tracking"}  # read figure files and options themselves, and know all that computes
ALL = CLOCK | TABLES | SHOWN | {"replay"}
#: An edit of a module of ours, and the stages that it makes again.
LIBRARY = {
    "codes/cyclic.py": RUNS,
    "codes/graph_code.py": set(),  # another code
    "codes/__init__.py": ALL,
    "delays/markov.py": CLOCK,
    "delays/epochs.py": set(),
    "schemes/placement/greedy.py": CLOCK,
    "theory/bounds.py": ALL,
    "timeline/play.py": RUNS | SHOWN,
    "seeding.py": ALL | {"prepare", "trajectory"},
    "run/build.py": ALL,
    "run/parts.py": RUNS | SHOWN,
    "run/learning.py": {"replay", "curves"} | SHOWN,
    "run/verification.py": {"replay", "curves"} | SHOWN,
    "run/run.py": SHOWN,
    "run/options.py": SHOWN,
    "run/provenance.py": SHOWN,
    "errors.py": set(),
    "files.py": set(),
    "progress.py": set(),
    "tasks/checkpoint.py": set(),
    "data/readers.py": {"prepare"} | SHOWN,
    "tasks/linear_regression.py": set(),
    "tasks/mlp.py": {"replay", "curves", "trajectory"},
    "analysis/coefficients.py": set(),
    "figures/lines.py": {"draw"} | SHOWN,
    "figures/rows.py": {"curves", "timings", "draw", "typeset"} | SHOWN,
    "report/page.py": SHOWN,
    "report/templates/base.html.j2": SHOWN,
    "report/run_table.py": {"curves", "timings"} | SHOWN,
    "report/analysis_table.py": {"analysis"} | SHOWN,
    "command/list.py": set(),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A copy of the library, whose modules are asked in the place of ours."""
    folder = tmp_path_factory.mktemp("library") / "gcexp"
    shutil.copytree(ROOT / "gcexp", folder, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modules, "_FOLDER", folder.parent)
        yield folder
    forget_library()


def forget_library():
    """What is remembered of the library's modules, in a process that plans once."""
    for module in (modules, closure, dependencies):
        for name, function in vars(module).items():
            if hasattr(function, "cache_clear") and name not in LASTING:
                function.cache_clear()


def lines(folder):
    """What every stage tracks with the library in a folder."""
    forget_library()
    return {stage: dependencies.stage_fingerprint(stage, LEARNING) for stage in dependencies.STAGES}


@pytest.fixture(scope="module")
def before(library):
    """What every stage tracks before an edit, and after one that was undone."""
    return lines(library)


@pytest.mark.parametrize("name", LIBRARY)
def test_an_edit_of_the_library_reaches_its_stages(name, library, before):
    file = library / name
    text = file.read_text()
    file.write_text(text + "\nMORE = 1\n")
    after = lines(library)
    file.write_text(text)
    assert {stage for stage in before if before[stage] != after[stage]} == LIBRARY[name]


@pytest.mark.parametrize("name", [name for name in LIBRARY if name.endswith(".py")])
def test_a_remark_in_the_library_makes_nothing_again(name, library, before):
    file = library / name
    text = file.read_text()
    file.write_text(text + "\n# a remark\n")
    assert lines(library) == before
    file.write_text(text)


def test_an_edit_of_one_letter_reaches_its_stages(library, before):
    """The file has the name and the length that it had."""
    file = library / "codes/cyclic.py"
    text = file.read_text()
    file.write_text(text.replace("np.", "nq.", 1))
    after = lines(library)
    file.write_text(text)
    assert {stage for stage in before if before[stage] != after[stage]} == LIBRARY["codes/cyclic.py"]


@pytest.mark.parametrize(
    ("library", "stages"), [("matplotlib", {"draw"}), ("torch", {"trajectory", "replay", "analysis"})]
)
def test_a_fingerprint_names_the_libraries_that_compute(monkeypatch, library, stages):
    """An upgraded library makes again what it computed: of matplotlib no training."""
    installed = records.version_of
    monkeypatch.setattr(records, "version_of", lambda name: "99" if name == library else installed(name))
    tracked = {stage: dependencies.stage_fingerprint(stage, LEARNING) for stage in dependencies.STAGES}
    assert {stage for stage in tracked if f"{library}==99" in tracked[stage]} == stages


def test_the_fingerprint_is_the_same_under_another_python():
    """No syntax tree: `ast.unparse` gives another text of f-strings and quotes in the next version."""
    text = """
        # a remark
        def f(x, *, y='a"b'):
            '''What it does,
            in two lines.'''  # more
            name = f"{x['key']:>{10}} # no remark"
            return name, "# none", '''a
            text'''
        """
    kept = [line.strip() for line in without_remarks(textwrap.dedent(text)).splitlines()]
    assert kept == ["def f(x, *, y='a\"b'):", """name = f"{x['key']:>{10}} # no remark\"""",
                    'return name, "# none", \'\'\'a', "text\'\'\'"]  # fmt: skip


@pytest.mark.parametrize("letter", "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
def test_an_edit_behind_a_letter_at_which_texts_are_split_is_seen(letter):
    """The tokenizer of Python counts lines by line feeds alone."""
    text = f'''# a{letter}b
S = "a{letter}b"
T = """a{letter}

{letter}b{letter}"""


def scaled(x, factor=2.0):
    """One{letter}two."""
    return x  # a{letter}
'''
    kept = without_remarks(text)
    edits = {
        "factor=2.0": "factor=3.0",
        f'"a{letter}b"': '"ab"',
        f'b{letter}"""': 'b"""',
        f'"""a{letter}': '"""a',
        f"\n\n{letter}b": f"\n{letter}b",
    }
    for old, new in edits.items():
        assert old in text and without_remarks(text.replace(old, new)) != kept
    assert without_remarks(text.replace("# a", "# other").replace("One", "Other")) == kept


def remarks_by_the_tokenizer(text):
    """Comments, and strings that are a statement, as Python's own tokenizer finds them."""
    found = []
    before, statement = tokenize.NEWLINE, None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found.append(token)
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        if statement is not None and token.type == tokenize.NEWLINE:
            found.append(statement)
        begins = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        statement = token if begins and token.type == tokenize.STRING else None
        before = token.type
    return found


def test_remarks_are_what_the_tokenizer_says():
    for path in [*(ROOT / "gcexp/run").rglob("*.py"), *(ROOT / "gcexp/codes").rglob("*.py")]:
        text = path.read_text()
        kept = text.split("\n")
        for token in reversed(sorted(remarks_by_the_tokenizer(text), key=lambda one: one.start)):
            (first, begin), (last, end) = token.start, token.end
            left = kept[first - 1][:begin] + kept[last - 1][end:]
            kept[first - 1 : last] = [left]
        without = [line.rstrip() for line in kept if line.strip()]
        assert [line.rstrip() for line in without_remarks(text).split("\n") if line.strip()] == without, path


def test_a_code_more_makes_nothing_again(library, before):
    file = library / "codes/__init__.py"
    text = file.read_text()
    more = text.replace(
        "__all__ = [", 'from gcexp.codes.cyclic import arcs as more\n\n__all__ = [\n    "more",'
    )
    file.write_text(more)
    assert more != text and lines(library) == before
    file.write_text(text)


def test_names_that_strings_and_faces_hold_are_followed(library):
    """An import in a function, a name in a string, a face that loads what it is asked for, and a file of data."""
    write_files(
        library,
        {
            "codes/mine.py": "def f():\n    from gcexp.codes import Face\n    return open('best.csv')\n",
            "codes/named.py": "WHERE = 'gcexp.theory.errors.something'\n",
            "codes/face/__init__.py": "HOMES = {'Face': 'inner'}\ndef __getattr__(name):\n"
            "    return getattr(import_module(f'gcexp.codes.face.{HOMES[name]}'), name)\n",
            "codes/face/inner.py": "from gcexp.codes.named import WHERE\n",
            "codes/best.csv": "n\n",
        },
    )
    file = library / "codes/__init__.py"
    text = file.read_text()
    file.write_text(text + "\nfrom gcexp.codes.face import Face\n")
    forget_library()
    found = closure.closure_of(frozenset({"gcexp.codes.mine.f"}), frozenset())
    assert {f"gcexp.codes.{name}" for name in ("mine", "face", "face.inner", "named")} <= found.modules
    assert "gcexp.theory.errors" in found.modules and "gcexp.codes.cyclic" not in found.modules
    assert any(line.startswith("gcexp/codes/best.csv=") for line in found.lines)
    file.write_text(text)
    for name in ("mine.py", "named.py", "best.csv"):
        (library / "codes" / name).unlink()
    shutil.rmtree(library / "codes/face")


def test_the_order_of_keys_is_none_of_the_values():
    assert dependencies.lines_of_values(
        {"b": 1, "a": [{"d": 2, "c": 3}]}, "x"
    ) == dependencies.lines_of_values({"a": [{"c": 3, "d": 2}], "b": 1}, "x")
