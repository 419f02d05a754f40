"""A project of one's own, and another Snakefile that uses the rules: from nothing to a figure, outside the clone."""

import json
import subprocess

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

# A clock is enough for the journey; the template's figure, which trains, is read and planned beside it.
CLOCKS = """\
title: The mirror code beside a published one
source: mine
kind: timings
common: {delay: shifted_exponential, n: 6, s: 1, iterations: 100, seeds: 2}
runs:
  - {label: mirror, scheme: mirror}
  - {label: CGC, scheme: cgc}
plot: {kind: bars, y: mean_iteration_time_s, by: label}
"""

OTHER = """\
module gcexp:
    snakefile:
        "{rules}"
    config:
        config


use rule * from gcexp as gcexp_*


rule mine:
    default_target: True
    input:
        rules.gcexp_small_three.input,
"""


@pytest.fixture
def built_in(fresh):
    """A conf folder with one published figure: reading all of them would take longer than the test."""
    return f"GCEXP_CONF={fresh.folder / 'conf'}"


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_project_from_nothing_to_a_figure(fresh, built_in, tmp_path):
    home = type(fresh)(tmp_path / "home")
    home.folder.mkdir()
    before = git(fresh.code, "status", "--porcelain")
    code, output = home.run("env", built_in, "gcexp", "init", "mine")
    assert code == 0 and "snakemake mine_first" in output, output
    mine = type(fresh)(home / "mine")
    (mine / "conf/figure/mine/clocks.yaml").write_text(CLOCKS)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        git(mine.folder, *arguments)
    (mine / "mine/mirror.py").write_text((mine / "mine/mirror.py").read_text() + "\n# edited\n")

    def snakemake(*arguments):
        code, output = mine.run("env", built_in, "snakemake", *arguments)
        assert code == 0, output
        return output

    snakemake("mine_clocks")
    assert (mine / "reports/quick/figures/mine_clocks.pdf").is_file()
    (clock,) = (mine / "results/timeline").glob("mirror*/*/*/*.provenance.json")
    table = mine / "reports/quick/data/mine_clocks.provenance.json"
    for path in (clock, table):
        packages = json.loads(path.read_text())["packages"]
        assert set(packages) == {"gcexp", "mine"}
        assert packages["mine"]["commit"] == git(mine.folder, "rev-parse", "HEAD")
        assert packages["mine"]["dirty"] is True and len(packages["mine"]["sha256"]) == 64
        assert packages["gcexp"]["commit"] == git(fresh.code, "rev-parse", "HEAD")
    # What is there is used again, and published figures are targets beside its own.
    (mine / "conf/figure/mine/more.yaml").write_text(CLOCKS + "note: once more\n")
    planned = snakemake("-n", "mine_clocks", "mine_more", "mine_first", "small_three")
    counts = dict(line.rsplit(maxsplit=1) for line in planned.splitlines() if line.rstrip()[-1:].isdigit())
    assert counts[" mine more"] == "1" and counts[" mine first"] == "1" and counts[" small three"] == "1"
    assert counts[" timeline"] == "7" and counts[" draw"] == "3", (
        planned
    )  # four, three and none; all but clocks
    assert git(fresh.code, "status", "--porcelain") == before


def test_another_snakefile_uses_the_rules(fresh, built_in, tmp_path):
    other = type(fresh)(tmp_path / "other")
    other.folder.mkdir()
    (other / "Snakefile").write_text(OTHER.format(rules=fresh.code / "workflow" / "Snakefile"))
    code, output = other.run("env", built_in, "snakemake", "-n", "--cores", "1")
    assert code == 0, output
    assert "gcexp_timeline" in output and "gcexp_draw" in output
