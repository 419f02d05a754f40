"""What a build plans, by what it was asked for."""

from pathlib import Path

import pytest

from gcexp.report.request import Request, complete_settings, default_settings

FIGURE = """
title: A
source: Fig. 1
kind: timings
common: {delay: pareto, n: 4, s: 1, iterations: 5, seeds: 2}
runs: [{label: CGC, scheme: cgc}]
plot: {kind: bars}
"""


@pytest.fixture
def figures(paper):
    """Two figures that stand in the paper, one of which is a table, and a study of ours."""
    texts = {
        "one": FIGURE,
        "two": FIGURE.replace("kind: bars", "kind: table"),
        "ours": f"study: true\n{FIGURE}",
    }
    for name, text in texts.items():
        (paper / f"figures/{name}.yaml").write_text(text)


def request(*targets, jobs=(), **settings):
    return Request(complete_settings(settings), targets, jobs=jobs)


@pytest.mark.parametrize(
    ("targets", "planned"),
    [
        ((), {"paper_one", "paper_two"}),
        (("everything",), {"paper_one", "paper_two", "paper_ours"}),
        (("paper",), {"paper_one", "paper_two"}),
        (("paper_ours",), {"paper_ours"}),
        (("paper_one", "paper_ours"), {"paper_one", "paper_ours"}),
        (("paper_one", "all"), {"paper_one", "paper_two"}),
        (("mlflow_paper_one",), {"paper_one"}),
        (("reports/quick/figures/paper_ours.pdf",), {"paper_one", "paper_two", "paper_ours"}),
    ],
)
def test_figures_that_are_planned(figures, targets, planned):
    asked = request(*targets)
    asked.check_targets()
    assert {*asked.figures("quick")} == planned


@pytest.mark.parametrize(("rule", "planned"), [("draw", {"paper_one"}), ("page", {"paper_one", "paper_two"})])
def test_a_job_of_another_snakemake_reads_what_it_needs(figures, rule, planned):
    asked = request(jobs=[(rule, {"target": "paper_one", "preset": "quick"})])
    assert {*asked.figures("quick")} == planned


def test_the_end_tells_of_the_figures_that_were_asked_for(figures):
    assert request().part is None and request("everything").part is None
    assert [figure.target for figure in request("paper_two").part] == ["paper_two"]
    assert [figure.target for figure in request("paper").part] == ["paper_one", "paper_two"]


def test_what_was_lost_since_the_page_was_made_is_asked_for(figures):
    page = Path("reports/quick/index.html")
    asked = request()
    assert asked.page_and_lost_products("quick") == [str(page)]
    for product in (page, *map(Path, asked.products("quick"))):
        product.parent.mkdir(parents=True, exist_ok=True)
        product.touch()
    Path("reports/quick/figures/paper_one.png").unlink()
    assert asked.page_and_lost_products("quick") == [str(page), "reports/quick/figures/paper_one.png"]


def test_the_page_shows_studies_that_were_made_before(figures):
    assert {*request().shown_files("quick")} == {"paper_one", "paper_two"}
    study = request("paper_ours").figures("quick")["paper_ours"]
    for product in map(Path, study.products):
        product.parent.mkdir(parents=True, exist_ok=True)
        product.touch()
    assert {*request().shown_files("quick")} == {"paper_one", "paper_two", "paper_ours"}
    assert {*study.products} <= {*request().shown_products("quick")}


def test_runs_are_imported_where_the_settings_say_so(figures):
    assert request().import_files("paper") == []
    asked = request(mlflow="true")
    assert asked.import_files("paper_one") == ["results/mlflow/quick/paper_one.imported"]
    assert asked.page_and_lost_products("quick")[-1] == "results/mlflow/quick.imported"


def test_settings(here, refused):
    assert complete_settings({}) == default_settings()
    given = {"mlflow": "True", "plot_title": False, "preset": "paper"}
    assert complete_settings(given) == default_settings() | {"mlflow": True} | {
        key: given[key] for key in ("plot_title", "preset")
    }
    refused(["presett", "preset"], complete_settings, {"presett": "paper"})


def test_targets_that_nobody_makes(figures, refused):
    refused(["paper_on", "paper_one"], request("paper_on").check_targets)
    refused(["mlflow_papr", "mlflow_paper"], request("mlflow_papr").check_targets)
