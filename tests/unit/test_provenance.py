"""What a result says about its origin, and that nobody changed it since."""

import fcntl
import marshal
import os
import re
import subprocess
import sys
import textwrap
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from uuid import uuid4

import pytest

from gcexp.command import unlock
from gcexp.command.main import main
from gcexp.errors import DataError, UserError
from gcexp.files import written
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


def test_only_a_lock_that_nobody_holds_is_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    unlock.refuse_beside_another()  # no lock at all
    lock = tmp_path / ".snakemake" / "locks" / "0.input.lock"
    living = unlock.hold()
    lock.parent.mkdir(parents=True)
    lock.write_text("")
    with pytest.raises(UserError, match="a Snakemake works in this folder"):
        unlock.refuse_beside_another()
    unlock.hold().close()  # a second one
    assert lock.is_file()
    living.close()  # as the system does when the process ends
    unlock.refuse_beside_another()
    living = unlock.hold()
    assert not lock.exists()
    with open(tmp_path / ".snakemake" / "alive", "a") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    living.close()


def test_what_killed_processes_left_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left = [
        tmp_path / folder / f".fig1.{uuid4().hex}{suffix}"
        for folder, suffix in (("reports/quick/figures", ".pdf"), ("results/a", ".npz"), ("results", ""))
    ]
    old, new, mine = (tmp_path / ".cache" / name for name in ("gcexp-0a.txt", "gcexp-1b.txt", "mine.txt"))
    for path in (*left, old, new, mine):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    os.utime(old, (1e9, 1e9))
    with written(tmp_path / "results/living.npz") as living:
        unlock.tidy()
        assert living.exists() and not any(path.exists() for path in (*left, old))
    assert new.exists() and mine.exists()


@pytest.mark.slow
def test_a_compiled_module_that_a_full_disk_cut_short_is_made_anew(tmp_path):
    (tmp_path / "own.py").write_text("from gcexp.codes import Uncoded as Own\nLONG = " + repr("x" * 9000))
    (tmp_path / "options" / "code").mkdir(parents=True)
    (tmp_path / "options" / "code" / "own.yaml").write_text("_target_: own.Own\nn: ${n}\n")
    variables = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "GCEXP_SEARCHPATH": "options"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "gcexp.command.entry", "show", "code=own", "n=4", "s=1"]
    compiled = Path(cache_from_source(tmp_path / "own.py"))
    said = []
    for size in (None, 4096, None):
        if size:
            compiled.write_bytes(compiled.read_bytes()[:size])
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stderr)
    assert said == ["", f"gcexp: {compiled} was damaged (marshal data too short) and is made anew\n", ""]


def test_what_mends_compiled_modules_is_itself_too_small_to_be_cut_short():
    """A full disk cuts at its blocks, and what it cut to nothing Python makes anew."""
    for module in ("gcexp", "gcexp.command", "gcexp.command.entry", "gcexp.command.bytecode"):
        spec = find_spec(module)
        assert len(marshal.dumps(spec.loader.get_code(module))) + 16 < 4096, module


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
