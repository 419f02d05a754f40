"""A paper is its folder: deleted, all goes on without it; added, it is there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.workflow,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / ".git").exists(), reason="this folder is no clone: git does not list its files"
    ),
]
STAYS = "codes"


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
    for compiled in fresh.code.glob("[gt]*/**/__pycache__/*.pyc"):  # half of the time is compiling
        if (place := folder / compiled.relative_to(fresh.code)).parents[1].is_dir():
            place.parent.mkdir(exist_ok=True)
            shutil.copy2(compiled, place)
    return type(fresh)(folder, folder).guarded()


def test_papers_are_imported_by_their_own_tests_alone():
    """So that the others are collected without them."""
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    assert [
        path for path, text in texts.items() if re.search("^(from|import) gcexp_papers", text, re.M)
    ] == []


def test_papers_are_deleted_and_added_with_their_folders(clone, tmp_path):
    """Continuous integration also deletes each paper alone, and runs `make check` then.

    Here all but one are deleted, so that little is planned; then there are copies of it, one installed, which find
    their own functions.
    """
    papers = clone / "gcexp_papers"
    for place in papers.glob("*/paper.yaml"):
        if place.parent.name != STAYS:
            shutil.rmtree(place.parent)
    figures = len([*(papers / STAYS / "figures").glob("*.yaml")])
    # Drawn sooner: of thirteen panels one, and fewer dots.
    clone.edit(f"gcexp_papers/{STAYS}/figures/comparison.yaml", "where: {", "where: {label: block design, ")
    clone.edit("conf/style/paper.mplstyle", "savefig.dpi:            300", "savefig.dpi: 30")
    code, output = clone.begin("gcexp", "publish").ended()
    assert code == 0 and f"{figures} figures" in output, output
    looking = (
        "test_published or test_catalogue or test_links or test_targets or test_theory or cannot_be_used"
    )
    units = ("docs", "catalogue", "theory_command", "init")
    where = ["tests/golden", *(f"tests/unit/test_{name}.py" for name in units), "gcexp_papers"]
    command = ["pytest", "-q", "-n0", "-p", "no:cacheprovider", "-m", "not slow", "-k", looking]
    code, output = clone.begin(*command, *where).ended()
    assert code == 0, output[-4000:]
    shutil.copytree(papers / STAYS, papers / "sixth")
    installed(papers / STAYS, tmp_path / "site", "elsewhere")
    clone.variables["PYTHONPATH"] = f"{tmp_path / 'site'}:{clone.environment['PYTHONPATH']}"
    code, output = clone.begin("gcexp", "list", "papers").ended()
    assert code == 0 and {STAYS, "sixth", "elsewhere"} <= set(output.split()), output
    planned = clone.planned(STAYS, "sixth", "elsewhere", "everything")
    assert planned[STAYS] == planned["sixth"] == planned["elsewhere"] == 1, planned
    assert planned["table"] == 3 * figures, planned


def installed(paper, site, name):
    """A copy of a paper as an installed distribution has it, which names it by an entry point."""
    shutil.copytree(paper, site / name)
    (site / f"{name}-1.0.dist-info").mkdir()
    (site / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
    (site / f"{name}-1.0.dist-info" / "entry_points.txt").write_text(f"[gcexp.plugins]\n{name} = {name}\n")
