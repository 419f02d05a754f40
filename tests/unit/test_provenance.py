"""What a result says about its origin, and that nobody changed it since."""

import fcntl
import json
import subprocess
import textwrap

import pytest

from gcexp.command import unlock
from gcexp.errors import DataError, UserError
from gcexp.run import provenance, source
from gcexp.run.provenance import check_unchanged, packages, provenance_file, recorded, used_data


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
    for module in (source, provenance):
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


def test_data_are_identified_by_their_record(tmp_path):
    record, trained = tmp_path / "digits.json", tmp_path / "trained.npz"
    assert used_data(trained, record)  # nothing is there yet
    record.write_text(json.dumps({"sha256": "a", "scale": 16}))
    with recorded(trained, {}, data={"sha256": "a", "scale": 16}):
        trained.write_text("")
    assert used_data(trained, record)
    record.write_text(json.dumps({"sha256": "a", "scale": 17}))
    assert not used_data(trained, record)
    record.write_text("{")
    assert not used_data(trained, record)


def test_only_a_lock_that_nobody_holds_is_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    unlock.unlock()  # no lock at all
    lock = tmp_path / ".snakemake" / "locks" / "0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("")
    living = unlock.hold()
    with pytest.raises(UserError, match="a Snakemake works in this folder"):
        unlock.unlock()
    assert lock.is_file()
    living.close()  # as the system does when the process ends
    unlock.unlock()
    assert not lock.exists()
    with open(tmp_path / ".snakemake" / "alive", "a") as file:  # free again
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
