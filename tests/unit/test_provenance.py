"""What a result says about its origin, and that nobody changed it since."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gcexp.errors import DataError
from gcexp.run.build import locate
from gcexp.run.provenance import check_unchanged, packages, provenance_file, write_provenance
from tests.conftest import commit, write_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def plug_in(tmp_path, monkeypatch, forget):
    """A package outside the clone, and a function that commits it."""
    folder = tmp_path / "elsewhere" / "somebody"
    write_files(folder, {"__init__.py": "", "code.py": "class Mine:\n    pass\n"})

    def known():
        forget()
        return packages(["somebody.code.Mine"])

    monkeypatch.syspath_prepend(folder.parent)
    return folder, lambda: commit(folder.parent), known


def test_a_package_outside_the_clone_is_named_with_commit_dirtiness_and_content(plug_in):
    folder, committed, known = plug_in
    assert (known()["somebody"]["commit"], known()["somebody"]["dirty"]) == (None, None)
    head, clean = committed(), known()
    assert set(clean) == {"gcexp", "somebody"}
    assert clean["somebody"]["commit"] == head and clean["somebody"]["dirty"] is False
    (folder / "code.py").write_text("class Mine:\n    value = 1\n")
    edited = known()
    assert edited["somebody"]["dirty"] is True
    assert edited["somebody"]["sha256"] != clean["somebody"]["sha256"]
    assert edited["gcexp"] == clean["gcexp"]
    committed()
    (folder / "new.py").write_text("")  # an untracked module is dirt
    assert known()["somebody"]["dirty"] is True


def test_a_table_that_was_edited_by_hand_is_refused(refused, tmp_path):
    table = tmp_path / "table.csv"
    with write_provenance(table, {"figure": "a"}):
        table.write_text("a,b\n1,2\n")
    check_unchanged(table)
    table.write_text("a,b\n1,3\n")
    refused("table.csv", check_unchanged, table, error=DataError)
    provenance_file(table).unlink()  # a table of somebody's own
    check_unchanged(table)


@pytest.mark.parametrize("broken", ["own", "helper"])
def test_a_syntax_error_in_a_module_of_ones_own_is_a_sentence(
    here, monkeypatch, forget, refused, refused_command, broken
):
    for name, text in (("own", f"from helper_{broken} import x\n"), (f"helper_{broken}", "x = 1\n")):
        (here / f"{name}.py").write_text(text + ("def f(:\n" if name.startswith(broken) else ""))
    (here / "options" / "code").mkdir(parents=True)
    (here / "options" / "code" / "own.yaml").write_text("_target_: own.Own\nn: ${n}\n")
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(here / "options"))
    monkeypatch.syspath_prepend(here)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    names = (str(here / ("own.py" if broken == "own" else "helper_helper.py")), "line 2", "def f(:")
    refused_command(names, "show", "code=own", "n=4", "s=1")
    forget()
    refused(names[:2], locate, "own.Own", "code._target_")  # while planning


@pytest.mark.usefixtures("clone")
def test_continuous_integration_says_what_it_took(tmp_path):
    module = Path(__file__).with_name("test_show.py")
    nothing = [sys.executable, *"-m pytest -n0 -p no:cacheprovider -k nothing".split(), module]
    (tmp_path / "make").write_text(f"#!/bin/sh\nexec {shlex.join(map(str, nothing))}\n")
    (tmp_path / "make").chmod(0o755)
    variables = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([ROOT / ".ci/run"], env=variables, capture_output=True, text=True)
    assert re.search(r"^set-up, lint and tests took \d+ s\n.* deselected in [0-9.]+s\n\Z", done.stdout, re.M)


def test_a_clone_that_was_moved_uses_itself(tmp_path):
    """What `make setup` installs names no folder: a moved or copied clone runs its own code."""
    environment = ROOT / ".venv"
    if not (environment / ".installed").exists():
        pytest.skip("this environment was not made by make setup")
    moved = tmp_path / "moved"
    shutil.copytree(ROOT / "gcexp", moved / "gcexp", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "conf", moved / "conf")
    (moved / ".venv/bin").mkdir(parents=True)
    for name in ("python", "gcexp"):
        shutil.copy2(environment / "bin" / name, moved / ".venv/bin", follow_symlinks=False)
    shutil.copy2(environment / "pyvenv.cfg", moved / ".venv")
    for path in environment.glob("lib/python*/site-packages/*"):
        place = moved / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(path)
    (moved / "gcexp/errors.py").write_text("raise SystemExit('the moved clone')")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [moved / ".venv/bin/gcexp", "list"]
    done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True)
    assert "the moved clone" in done.stderr
