"""A project of one's own, and another Snakefile that uses the rules: from nothing to a figure, outside the clone."""

import functools
import json
import subprocess

import pytest

from tests.conftest import commit

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
        config["gcexp"]


use rule * from gcexp as gcexp_*


rule mine:
    default_target: True
    input:
        rules.gcexp_small_three.input,
        table="reports/quick/data/small_three.csv",
    output:
        "rows.txt",
    shell:
        "wc -l < {{input.table:q}} > {{output:q}}"
"""


@pytest.fixture
def project_in(fresh):
    """A project in a folder, beside options with one published figure: reading all would take longer than the test."""
    return functools.partial(type(fresh), GCEXP_CONF=str(fresh / "conf"))


def git(folder, *arguments):
    return subprocess.check_output(["git", *arguments], cwd=folder, text=True).strip()


def test_a_project_from_nothing_to_a_figure(fresh, project_in, tmp_path):
    home = project_in(tmp_path / "home")
    home.folder.mkdir()
    home.guarded()
    before = git(fresh.code, "status", "--porcelain")
    code, output = home.begin("gcexp", "init", "mine").ended()
    assert code == 0 and "snakemake mine_first" in output, output
    mine = project_in(home / "mine").guarded()
    (mine / "mine/figures/clocks.yaml").write_text(CLOCKS)
    head = commit(mine.folder)
    (mine / "mine/mirror.py").write_text((mine / "mine/mirror.py").read_text() + "\n# edited\n")

    mine.build("mine_clocks")
    assert (mine / "reports/quick/figures/mine_clocks.pdf").is_file()
    packages = json.loads((mine / "reports/quick/data/mine_clocks.provenance.json").read_text())["packages"]
    assert set(packages) == {"gcexp", "mine"}
    assert packages["mine"]["commit"] == head
    assert packages["mine"]["dirty"] is True and len(packages["mine"]["sha256"]) == 64
    assert packages["gcexp"]["commit"] == git(fresh.code, "rev-parse", "HEAD")
    # What is there is used again, and published figures are targets beside its own.
    (mine / "mine/figures/more.yaml").write_text(CLOCKS + "note: once more\n")
    planned = mine.planned("mine_clocks", "mine_more", "mine_first", "small_three")
    assert planned["mine_more"] == planned["mine_first"] == planned["small_three"] == 1
    assert (planned["table"], planned["draw"]) == (3, 3), planned  # all but those of the clocks
    plain, every = mine.planned(), mine.planned("--config", "published=true")
    assert (plain["page"], plain["draw"]) == (1, 2)  # plain `snakemake`: its own on one page
    assert (every["page"], every["draw"]) == (1, 3)
    assert mine.planned("mlflow")["draw"] == 2
    mine.edit("config/config.yaml", "preset: quick #", "preset: papr #")
    code, output = mine.snakemake("-n", "mine_first")
    assert code == 2 and "'papr'" in output, output
    assert mine.planned("mine_first", "--config", "preset=quick")
    assert git(fresh.code, "status", "--porcelain") == before


def test_another_snakefile_uses_the_rules(fresh, project_in, tmp_path):
    fresh.edit(
        fresh.figure, '  - {label: "cyclic, β = {code.beta}", scheme: cyclic_partial, code.beta: 4}\n', ""
    )
    fresh.edit(fresh.figure, '  - {label: "Forget-{s}", scheme: forget}\n', "")
    other = project_in(tmp_path / "other")
    other.folder.mkdir()
    other.guarded()
    rules = OTHER.format(rules=fresh.code / "workflow" / "Snakefile")
    (other / "Snakefile").write_text(f'configfile: "config/config.yaml"\n\n\n{rules}')
    (other / "config").mkdir()
    (other / "config/config.yaml").write_text("samples: 3\ngcexp: {preset: quick, plot_title: false}\n")
    made = other.build("--cores", "1")
    assert made["mine"] == made["gcexp_table"] == made["gcexp_draw"] == 1 and made["gcexp_train_exact"] == 1
    rows = (other / "reports/quick/data/small_three.csv").read_text().splitlines()
    assert int((other / "rows.txt").read_text()) == len(rows) > 1
    assert other.planned("--cores", "1") == {}
    code, output = other.snakemake("-n", "--cores", "1", "--config", "gcexp={preset: papr}")
    assert code == 2 and "'papr'" in output, output
