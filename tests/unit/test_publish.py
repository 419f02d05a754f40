"""What is published changes whole or not at all."""

import errno
import gzip
import os
import shutil
from pathlib import Path

import pytest

from gcexp.report import audit, publish
from tests.conftest import unload, write_files

FIGURE = """\
title: Squares
source: Table I
kind: analysis
analysis: {function: .numerics.squares}
plot: {kind: table}
"""
HEADER = "id,where,kind,statement,conditions,target,checkable,main\n"
CLAIM = """\
from gcexp.analysis.claims import claim, equals, number


@claim("one", figure="table")
def the_square_of_two(table):
    return equals(number(table, "y", {"x": 2}), EXPECTED)
"""
FILES = {
    "paper/figures/table.yaml": FIGURE,
    "paper/numerics.py": "def squares(): ...\nsquares.columns = lambda: ['x', 'y']\n",
    "paper/statements.csv": f"{HEADER}one,Sec. 1,number,It is 4.,,table,yes,yes\n",
    "paper/claims.py": CLAIM.replace("EXPECTED", "4"),
    "paper/README.md": "<!-- statements -->\n<!-- end of statements -->\n",
    "reports/paper/data/paper_table.csv": "x,y\n1,1\n2,4\n",
    "reports/paper/data/paper_table.provenance.json": "{}",
    "reports/published/data/paper_table.csv": "x,y\n1,1\n2,3\n",
    "reports/published/data/paper_gone.csv": "x,y\n",
    "reports/published/statements.csv": "",
}


@pytest.fixture
def project(paper, monkeypatch):
    """A project with one typeset table, an older one published, and a statement about it."""
    write_files(Path(), FILES)
    monkeypatch.syspath_prepend(Path())
    monkeypatch.setattr(audit, "papers", lambda: {"paper": paper})
    monkeypatch.setattr(
        "gcexp.report.jobs.check_unchanged", lambda table: None
    )  # there is no whole provenance
    unload("paper")
    yield Path()
    unload("paper")


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_table_is_published_with_its_outcomes(project):
    publish.publish()
    published = project / "reports/published"
    assert {str(name) for name in contents(published)} == {
        *("data/paper_table.csv", "data/paper_table.provenance.json", "tables/paper_table.md"),
        *("statements.csv", "statements/paper.md"),
    }
    assert (published / "data/paper_table.csv").read_text() == "x,y\n1,1\n2,4\n"
    assert ",reproduced," in (published / "statements.csv").read_text()
    assert "It is 4." in (project / "paper/README.md").read_text()
    assert [path.name for path in (project / "reports").iterdir() if path.name[0] == "."] == []


def test_a_large_table_is_packed(project, monkeypatch):
    monkeypatch.setattr(publish, "MOST_SHOWN", 5)
    publish.publish()
    published = project / "reports/published/data"
    assert gzip.decompress((published / "paper_table.csv.gz").read_bytes()) == b"x,y\n1,1\n2,4\n"
    assert not (published / "paper_table.csv").exists()


def claims(folder, monkeypatch):
    (folder / "paper/claims.py").write_text(CLAIM.replace('"one"', '"two"').replace("EXPECTED", "4"))


def drawing(folder, monkeypatch):
    text = FIGURE.replace("table}", "table, where: {x: 7}}")
    (folder / "paper/figures/table.yaml").write_text(text)


def disk(folder, monkeypatch):
    copy, copied = shutil.copyfile, []

    def fail_last(source, target, **more):
        copied.append(source)
        if len(copied) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return copy(source, target, **more)

    monkeypatch.setattr(shutil, "copyfile", fail_last)


def renaming(folder, monkeypatch):
    rename, renamed = Path.rename, []

    def fail_second(path, target):
        renamed.append(path)
        if len(renamed) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail_second)


@pytest.mark.parametrize(
    ("broken", "names"),
    [(claims, "'two'"), (drawing, "where"), (disk, "No space left"), (renaming, "Input/output error")],
)
def test_what_is_published_stays_as_it_was(project, refused, monkeypatch, broken, names):
    before = contents(project / "reports")
    readme = (project / "paper/README.md").read_text()
    with monkeypatch.context() as patched:
        broken(project, patched)
        refused(names, publish.publish)
    assert contents(project / "reports") == before
    assert (project / "paper/README.md").read_text() == readme
