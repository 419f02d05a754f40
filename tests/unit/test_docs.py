"""The documentation is true: docs/adding-a-scheme.md runs as it is written, and links lead somewhere."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml
from matplotlib import pyplot

import gcexp
from gcexp.command.init import init
from gcexp.command.main import COMMANDS, main, parser
from gcexp.command.plugged import phrase_of, plugged
from gcexp.report.targets import RULES, target_files
from gcexp.run.options import option_names
from tests.conftest import Project, unload, write_files

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
MADE = ROOT / "docs" / "generated"  # by `make docs`
PAPERS = ROOT / "gcexp_papers"
TOP = (ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING"))
PAGES = sorted([*TOP, *(ROOT / "docs").rglob("*.md"), *PAPERS.glob("*/README.md")])
PAGES = [page for page in PAGES if MADE not in page.parents]
FILES = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture
def no_picture(monkeypatch):
    """Other tests look at the picture of a run."""
    monkeypatch.setattr("gcexp.command.runs._plot", lambda *_: None)


@pytest.mark.slow
def test_adding_a_scheme(tmp_path, monkeypatch, forget, capsys, no_picture):
    page = (ROOT / "docs" / "adding-a-scheme.md").read_text()
    files = dict(FILES.findall(page))
    assert len(files) == 13
    write_files(tmp_path, files)
    (export,) = re.findall(r"^export (.*)$", page, flags=re.MULTILINE)
    for pair in export.split():
        monkeypatch.setenv(*pair.split("="))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    unload("mylab")

    def said(command):
        code = main(command.split()[1:])
        output, errors = capsys.readouterr()
        return code, output, errors

    block = re.search(r"## 4\..*?```bash\n(.*?)```", page, flags=re.DOTALL)[1]
    listing, show, contract, single = block.strip().splitlines()
    shows = {listing: "mirror", show: "Mirror(n=6", single: "accuracy"}
    for command, shown in (shows | {"gcexp show scheme=patient_mirror n=6": "Fastest"}).items():
        code, output, errors = said(command)
        assert code == 0 and shown in output, errors
    code, output, errors = said("gcexp show scheme=mirror n=5")
    assert (code, output) == (2, "") and "n=5" in errors
    *_, folder, _, word = contract.split()
    # the command and the page's own tests at once
    # Other modules of the folder have no such word.
    of_codes = [f"{ROOT}/{folder}/test_codes.py", f"{ROOT}/{folder}/test_schemes.py"]
    plain = ["-q", "-n0", "-p", "no:cacheprovider", "-c", f"{ROOT}/pyproject.toml"]
    command = [*plain, "-rp", *of_codes, ".", "-k", f"{word} or mylab"]
    places = os.pathsep.join(map(str, (tmp_path / ".guard", tmp_path, ROOT)))
    mine = Project(tmp_path, PYTHONPATH=places, GCEXP_SEARCHPATH=os.environ["GCEXP_SEARCHPATH"]).guarded()
    code, output = mine.begin("pytest", *command).ended()
    assert code == 0, output
    passed = re.findall(r"^PASSED (.*)", output, re.MULTILINE)
    for part in ("tests/contract/test_codes.py::", "test_mylab.py::", "mylab/mirror.py::"):
        assert any(part in name for name in passed), output


def test_a_package_with_a_code_and_a_delay_model_alone(tmp_path, monkeypatch, here):
    """Without a paper.yaml its conf/ was silently ignored. The classes are those of the other page."""
    shared = dict(FILES.findall((ROOT / "docs" / "own-project.md").read_text()))
    classes = dict(FILES.findall((ROOT / "docs" / "adding-a-scheme.md").read_text()))
    files = {name: text for name, text in shared.items() if name.startswith("mylab/")}
    for name in ("mylab/mirror.py", "mylab/hiccups.py"):
        files[name] = classes[name]
    site = tmp_path / "site"
    write_files(site, files | {"mylab/__init__.py": ""})
    (point,) = tomllib.loads(shared["pyproject.toml"])["project"]["entry-points"]["gcexp.plugins"].values()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr("gcexp.run.options.plugins", lambda: (point,))
    unload("mylab")
    assert {"mirror"} <= {*option_names("scheme")} and {"hiccups"} <= {*option_names("delay")}
    table = gcexp.simulate(scheme="mirror", delay="hiccups", n=6, iterations=10, seeds=1)
    assert table["min_recovered_fraction"].tolist() == [1]
    monkeypatch.setattr("gcexp.run.options.plugins", lambda: (f"{point}.conf",))
    assert "hiccups" in option_names("delay")
    unload("mylab")


@pytest.mark.slow
def test_from_ones_own_files_to_an_answer(tmp_path, monkeypatch, forget, capsys, no_picture):
    """The section runs as it is written, with fewer iterations."""
    page = (ROOT / "docs" / "own-project.md").read_text()
    page = re.search(r"## From one's own files to an answer\n(.*?)\n## ", page, re.DOTALL)[1]
    init("mylab", tmp_path)
    monkeypatch.chdir(tmp_path / "mylab")
    monkeypatch.syspath_prepend(tmp_path / "mylab")
    forget()
    unload("mylab")
    draw = np.random.default_rng(0)
    times = [f"{t},{w},{1 + draw.exponential():.6g}" for t in range(20) for w in range(256)]
    Path("lambda.csv").write_text("\n".join(["iteration,worker,time", *times, ""]))
    x, y = draw.normal(size=(60, 20)), draw.integers(0, 2, 60)
    np.savez("mine.npz", x_train=x[:40], y_train=y[:40], x_test=x[40:], y_test=y[40:])
    write_files(Path(), dict(FILES.findall(page)))
    blocks = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) == 3
    for line in commands:
        fewer = re.sub(r"iterations=\d+", "iterations=4", line)
        assert main(shlex.split(fewer)[1:]) == 0, capsys.readouterr().err
    (program,) = re.findall(r"```python\n(import gcexp.*?)```", page, re.DOTALL)
    exec(program.replace("iterations=180", "iterations=2").replace(">= 0.9", ">= 0"), {})
    assert "uncoded" in capsys.readouterr().out


@pytest.fixture
def away(tmp_path, monkeypatch):
    """An empty working folder, with the options of the clone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCEXP_CONF", str(ROOT / "conf"))
    yield
    pyplot.close("all")  # what a script opens must not stay open in this process


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted((ROOT / "docs/examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_of_the_gallery_run(script, monkeypatch):
    monkeypatch.chdir(script.parent)  # as the gallery does
    program = script.read_text().replace("iterations=80", "iterations=4")  # of the one that trains
    found: dict = {}
    exec(program, found)
    lines = [line for axes in found["figure"].axes for line in axes.lines]
    assert lines and all(len(line.get_xdata()) for line in lines), "a drawing of something"


@pytest.mark.slow
def test_the_notebook_runs(away):
    """Cell after cell, with few iterations, as a kernel would run them."""
    notebook = json.loads((ROOT / "examples/sweep_to_figure.ipynb").read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 4 and not any(cell["outputs"] for cell in cells)
    names: dict = {}
    for cell in cells:
        program = "".join(cell["source"])
        exec(re.sub(r"(iterations)=\d+", r"\1=8", program), names)
    assert Path("learning.pdf").stat().st_size and Path("learning.csv").stat().st_size
    for figure in (names["figure"], names["learning"]):
        assert all(line.get_xdata().size for axes in figure.axes for line in axes.lines)
        assert any(axes.lines for axes in figure.axes)


def test_every_published_drawing_is_on_the_page_of_drawings(monkeypatch):
    monkeypatch.chdir(ROOT)  # as `make docs` does
    page = runpy.run_path(str(ROOT / "docs/drawings_page.py"))["document"]()
    shown = re.findall(r"^!\[.+\]\(\.\./\.\./(.+)\)$", page, re.M)
    published = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("reports/published/figures/*.png")}
    assert len(shown) == len({*shown}) and {*shown} == published
    made = re.findall(r"^snakemake (\w+) ", page, re.M)
    assert made == [Path(place).stem for place in shown]


#: A program, and what it prints where a block without a language follows.
PROGRAMS = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/python.md"])
def test_python_of_pages_runs(page, away, capsys):
    """Block after block, and as it is written where the page shows what it prints.

    The other ones of the first pages run with one iteration, seed and job each.
    """
    blocks = PROGRAMS.findall((ROOT / page).read_text())
    assert blocks
    known: dict = {}
    for block, printed in blocks:
        fewer = re.sub(r"(iterations|seeds|jobs)=\d+", r"\1=1", block)
        capsys.readouterr()
        exec(block if printed or page == "docs/python.md" else fewer, known)
        if printed:
            assert same_but_for_rounding(capsys.readouterr().out, printed)


def same_but_for_rounding(found, printed):
    """Whether two printed texts have the same words and numbers; a number may differ by 2 in its last digit.

    On another processor a training may reach an accuracy one iteration sooner or later.
    """
    ours, theirs = found.split(), printed.split()
    if len(ours) != len(theirs):
        return False
    for one, other in zip(ours, theirs, strict=True):
        number = re.fullmatch(r"-?\d+\.(\d+)", other)
        if number is None:
            near = one == other
        else:
            near = abs(float(one) - float(other)) <= 2.5 * 10 ** -len(number[1])
        if not near:
            return False
    return True


def test_the_first_example_shows_what_it_prints():
    shown = [printed for _, printed in PROGRAMS.findall((ROOT / "README.md").read_text())]
    assert shown and "time_to_0.9" in shown[0]
    assert same_but_for_rounding(shown[0], shown[0].replace("0.16", "0.18"))
    assert not same_but_for_rounding(shown[0], shown[0].replace("0.16", "0.19"))
    assert not same_but_for_rounding(shown[0], shown[0].replace("forget", "frc"))


SAID = re.compile(r"`(gcexp [^`\n]+)`|^ *(?:\$ )?(gcexp [^#\n]+)", re.MULTILINE)
RUN = ("list", "show", "theory", "error", "simulate", "run", "schema", "compare", "trace")
#: A name in a sentence, what a reader has to put in, and what runs in a project: there other tests run it.
ELSEWHERE = re.compile(
    r"^gcexp (?!list|theory)(trace )?\w+$|=[A-Z]{3}|--config-dir|--submit| -m$|n=256|task=mine|mirror|mypaper|mylab"
    r"|profiled|dataset=mine|task=small_cnn|n=12,24,36|words.log|launched.log|panel.csv"
)


def commands() -> list[str]:
    """Every command in the help, on README, in docs, on papers' pages and in the template of a project."""
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    pages += (ROOT / "gcexp" / "command" / "template").glob("*.md")
    said = [text for page in pages for pair in SAID.findall(page.read_text()) for text in pair if text]
    phrases = COMMANDS | {name: phrase_of(name) for name in plugged()}
    for name, phrase in phrases.items():
        helped = [phrase, *(action.help or "" for action in _parser(name)._actions)]
        given = [found for text in helped for found in re.findall(r": (\w+=[^;()]+?)(?:;|$)", text)]
        said += [f"gcexp {name} {text}" for text in given]
    said = [text.partition("&&")[0].strip() for text in said]
    return sorted({text for text in said if len(text.split()) > 1})


def _parser(name: str):
    """What reads the arguments of one command."""
    (below,) = (action for action in parser([name])._actions if action.choices)
    return below.choices[name]


def test_every_command_of_help_and_pages_is_read():
    told = commands()
    verbs = {text.split()[1] for text in told}
    assert {"compare", "plan", "init", "trace", "benchmark", "job", "show"} <= verbs and len(told) > 50
    for text in told:
        words = shlex.split(text)[1:]
        if len(words) > 1 and words != ["trace", "check"] and words[-1] != "...":  # not a name in a sentence
            parser(words).parse_args(words)


@pytest.mark.slow
def test_commands_of_help_and_pages_run(tmp_path, monkeypatch, capsys, no_picture):
    """The example of `gcexp --help` itself failed; a page showed names that were no longer the first."""
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "lambda"):
        shutil.copy(ROOT / "data/traces/pai-job1.csv", f"{name}.csv")
    told = [text for text in commands() if text.split()[1] in RUN and not ELSEWHERE.search(text)]
    assert len(told) > 20
    for text in told:
        words = shlex.split(text)[1:]
        # shorter: what reaches a store is tried in test_live_logging.py, and an error of few workers is found sooner
        words = [word for word in words if word != "--mlflow"]
        if words[0] == "error":
            words = ["n=12" if word == "n=30" else word for word in words]
        if words[0] in ("run", "simulate"):
            words = [word for word in words if not word.startswith(("iterations=", "seeds="))]
            first = next(i for i, word in enumerate(words) if "=" in word)
            words[first:first] = ["iterations=2", "seeds=1"]
        answer, page = main(words), (ROOT / "docs" / "getting-started.md").read_text()
        said = capsys.readouterr().err
        if shown := re.search(rf"\$ {re.escape(text)}\n(gcexp: .*?)\.\.\.", page):  # a mistake
            assert answer == 2 and said.startswith(shown[1]), said
        else:
            assert answer == 0, (text, said)


def test_targets_on_pages_exist():
    """Of make in the Makefile, of Snakemake among figures and papers."""
    text = "\n".join(page.read_text() for page in PAGES)
    rules = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    made = set(re.findall(r"(?:^|`|&& )make ([a-z-]+)", text, re.MULTILINE))
    assert made and made <= {*rules}, made - {*rules}
    known = {*target_files(), *RULES, *(path.parent.name for path in PAPERS.glob("*/paper.yaml"))}
    known |= {f"mlflow_{name}" for name in known}
    asked = set(re.findall(r"(?:^|`)snakemake ([a-z]\w+)", text, re.MULTILINE))
    own = {name for name in asked if name.startswith(("mylab_", "mypaper_"))}
    unknown = asked - own - known
    gone = {
        name
        for name in unknown
        for paper in deleted_papers()
        if f"{name.removeprefix('mlflow_')}_".startswith(f"{paper}_")
    }
    assert len(asked - own) > 2 and unknown == gone, unknown - gone


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.usefixtures("clone")
def test_links_exist(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    places = [(page.parent / link).resolve() for link in links if "://" not in link]
    excused = (of_a_deleted_paper, of_a_new_target)
    assert not [place for place in places if not place.exists() and not any(one(place) for one in excused)]


@pytest.mark.parametrize("file", sorted(PAPERS.glob("*/paper.yaml")), ids=lambda file: file.parent.name)
def test_pages_of_papers_lead_to_the_papers(file):
    address, page = yaml.safe_load(file.read_text()).get("url"), (file.parent / "README.md").read_text()
    assert not address or (f"({address})" in page and "](https://arxiv.org/abs/" in page)


def of_a_new_target(place):
    """What `make publish` will bring."""
    name = place.name.removesuffix(".gz").rpartition(".")[0]
    published = ROOT / "reports" / "published"
    is_new = name in target_files() and not (published / "data" / f"{name}.csv").exists()
    return is_new and place.is_relative_to(published)


def deleted_papers():
    """Those that continuous integration lists and that are not here; publishing without them takes them from README."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]
    listed = jobs["without-a-paper"]["strategy"]["matrix"]["paper"]
    return [name for name in listed if not (PAPERS / name).exists()]


def of_a_deleted_paper(place):
    return any(
        place.is_relative_to(PAPERS / name) or place.name.startswith(f"{name}_") for name in deleted_papers()
    )


@pytest.mark.usefixtures("clone")
def test_the_hooks_and_forms_are_whole():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in local["hooks"]:
        program = Path(hook["entry"].split()[0])
        place = BIN / program.name if program.parts[0] == ".venv" else ROOT / program
        assert os.access(place, os.X_OK) and hook["language"] == "system", hook
    for form in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        found = yaml.safe_load(form.read_text())
        assert form.stem == "config" or {*found} == {"name", "description", "labels", "body"}, form


def test_editors_and_type_checkers_see_what_the_package_loads_when_it_is_used():
    """Completion knew none of them: a branch for type checkers alone is none for an editor."""
    stub = Path(gcexp.__file__).with_suffix(".pyi")
    imports = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    named = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    assert sorted(named) == sorted(gcexp.__all__)
    for name, (module, original) in named.items():
        function = getattr(gcexp, name)
        assert (function.__module__, function.__name__) == (module, original)
        assert inspect.getdoc(function).partition("\n")[0].endswith(".")
    assert stub.with_name("py.typed").is_file()
