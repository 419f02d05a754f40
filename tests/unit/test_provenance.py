"""What a result says about its origin, and that nobody changed it since."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gcexp.command.main import main
from gcexp.errors import DataError, UserError
from gcexp.run import declared, provenance
from gcexp.run.build import locate
from gcexp.run.provenance import check_unchanged, packages, provenance_file, recorded

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """A package with a commit of its own, outside the clone."""
    folder = tmp_path / "elsewhere" / "somebody"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "code.py").write_text(textwrap.dedent("class Mine:\n    pass\n"))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder.parent)]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *arguments], check=True)
    monkeypatch.syspath_prepend(folder.parent)
    forget()
    yield folder
    forget()


def forget():
    for module in (declared, provenance):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()


def test_a_package_outside_the_clone_is_named_with_commit_dirtiness_and_content(plug_in):
    clean = packages(["somebody.code.Mine"])
    assert set(clean) == {"gcexp", "somebody"}
    head = subprocess.run(["git", "-C", str(plug_in), "rev-parse", "HEAD"], capture_output=True, text=True)
    assert clean["somebody"]["commit"] == head.stdout.strip() and clean["somebody"]["dirty"] is False
    (plug_in / "code.py").write_text("class Mine:\n    value = 1\n")
    forget()
    edited = packages(["somebody.code.Mine"])
    assert edited["somebody"]["dirty"] is True
    assert edited["somebody"]["sha256"] != clean["somebody"]["sha256"]
    assert edited["gcexp"] == clean["gcexp"]


def test_an_untracked_module_of_a_package_is_dirt(plug_in):
    (plug_in / "new.py").write_text("")
    assert packages(["somebody.code.Mine"])["somebody"]["dirty"] is True


def test_without_a_commit_none_is_named(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert provenance._commit(folder) == {"commit": None, "dirty": None}


def made(tmp_path):
    table = tmp_path / "table.csv"
    with recorded(table, {"figure": "a"}):
        table.write_text("a,b\n1,2\n")
    return table


def test_a_table_that_was_edited_by_hand_is_refused(tmp_path):
    table = made(tmp_path)
    check_unchanged(table)
    table.write_text("a,b\n1,3\n")
    with pytest.raises(DataError, match="table.csv was changed after it was made: delete it and run again"):
        check_unchanged(table)
    provenance_file(table).unlink()  # a table of somebody's own
    check_unchanged(table)


@pytest.mark.parametrize("broken", ["own", "helper"])
def test_a_syntax_error_in_a_module_of_ones_own_is_a_sentence(tmp_path, monkeypatch, capsys, forget, broken):
    for name, text in (("own", f"from helper_{broken} import x\n"), (f"helper_{broken}", "x = 1\n")):
        (tmp_path / f"{name}.py").write_text(text + ("def f(:\n" if name.startswith(broken) else ""))
    (tmp_path / "options" / "code").mkdir(parents=True)
    (tmp_path / "options" / "code" / "own.yaml").write_text("_target_: own.Own\nn: ${n}\n")
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(tmp_path / "options"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    file, line = (tmp_path / "own.py", 2) if broken == "own" else (tmp_path / "helper_helper.py", 2)
    assert main(["show", "code=own", "n=4", "s=1"]) == 2
    said = capsys.readouterr().err
    assert said.endswith(f"{file}, line {line}: invalid syntax (def f(:)\n") and said.count("\n") == 1
    forget()
    with pytest.raises(UserError, match=rf"{file}, line {line}: invalid syntax"):  # while planning
        locate("own.Own", "code._target_")


@pytest.mark.usefixtures("clone")
def test_continuous_integration_says_what_it_took(tmp_path):
    (tmp_path / "make").write_text(
        f"#!/bin/sh\nexec {sys.executable} -m pytest -n0 -p no:cacheprovider tests/unit/test_progress.py -k nothing\n"
    )
    (tmp_path / "make").chmod(0o755)
    variables = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([ROOT / ".ci/run"], env=variables, capture_output=True, text=True)
    assert re.search(r"^set-up, lint and tests took \d+ s\n.* deselected in [0-9.]+s\n\Z", done.stdout, re.M)


def test_a_clone_that_was_moved_says_how_to_go_on(tmp_path):
    """The script that `make setup` writes, in another folder than the one that it was installed for."""
    script = Path(sys.executable).parent / "gcexp"
    if "make setup" not in script.read_text():
        pytest.skip("this environment was not made by make setup")
    there = tmp_path / ".venv" / "bin"
    there.mkdir(parents=True)
    shutil.copy2(script, there)
    shutil.copy2(script.parent.parent / ".installed", there.parent)
    done = subprocess.run([there / "gcexp", "list"], capture_output=True, text=True)
    assert done.returncode == 2 and f"run make setup in {tmp_path}" in done.stderr
    done = subprocess.run([script, "--version"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
