"""A paper is its folder: deleted, all goes on without it; added, it is there."""

import shutil
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
STAYS = "stragglers"


@pytest.fixture
def clone(fresh, tmp_path):
    """A copy of what is committed or will be."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=fresh.code, capture_output=True, text=True, check=True).stdout
    folder = tmp_path / "clone"
    for name in files.splitlines():
        if (fresh.code / name).is_file() and not name.startswith("data/traces/raw"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(fresh.code / name, folder / name)
    (folder / ".cache").symlink_to(fresh.code / ".cache")
    return type(fresh)(folder, folder).guarded()


def test_papers_are_deleted_and_added_with_their_folders(clone):
    """All but one, so that little is planned; then a copy of that one, which finds its own functions."""
    papers = clone / "gcexp_papers"
    for place in papers.glob("*/paper.yaml"):
        if place.parent.name != STAYS:
            shutil.rmtree(place.parent)
    figures = len([*(papers / STAYS / "figures").glob("*.yaml")])
    code, output = clone.gcexp("publish")
    assert code == 0 and f"{figures} figures" in output, output
    looking = "test_published or test_artifact or test_catalogue or test_links"  # all tests are collected
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        "--assert=plain",
        "-m",
        "not slow",
    ]
    code, output = clone.run(*command, "-k", looking, "tests", "gcexp_papers")
    assert code == 0, output[-4000:]
    shutil.copytree(papers / STAYS, papers / "sixth")
    planned = clone.planned(STAYS, "sixth", "all")
    assert planned[STAYS] == planned["sixth"] == 1 and planned["table"] == 2 * figures, planned
