"""From MLflow's pages to the comparison of a figure's schemes in three clicks (`make test-browser`)."""

import os
import shutil

import pytest

from tests.browser.driver import Browser, Refused, program
from tests.browser.mlflow_pages import link_to, mlflow_of, shown_list
from tests.conftest import small_project

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FIGURE, LEVEL = "small_three", 0.5
TIME = f"metrics.`time to {LEVEL} in s`"
LABELS = {"CGC", "cyclic, β = 4", "Forget-2"}
MOST_CLICKS = 3


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A project whose figure was made and imported."""
    if "GCEXP_TEST_BROWSER" not in os.environ:
        pytest.skip("a browser is started by `make test-browser` only")
    project = small_project(tmp_path_factory.mktemp("browser") / "project")
    project.edit(project.figure, "kind: curves\n", f"kind: curves\nlevel: {LEVEL}\n")
    project.edit(project.figure, "seeds: 2", "seeds: 5")  # fewer give no interval
    code, output = project.snakemake(f"mlflow_{FIGURE}")
    assert code == 0, output
    return project


@pytest.fixture(scope="module")
def address(imported):
    """Where MLflow shows it."""
    if program() is None or shutil.which("chromedriver") is None:
        pytest.skip("there is no Chromium with its ChromeDriver")
    with mlflow_of(imported.folder) as found:
        yield found


@pytest.fixture
def browser(address):
    with Browser.started() as found:
        yield found


def assert_compared(browser):
    """The list shows each scheme of the figure once, the fastest first, with its time, the interval of it and more."""
    rows = shown_list(browser, TIME)
    names = [row["attributes.`Run Name`"].split("\n")[-1] for row in rows]  # behind its colour
    assert {*names} == LABELS and len(names) == len(LABELS)
    times = [float(row[TIME].rstrip("…")) for row in rows]
    assert times == sorted(times)
    for row in rows:
        assert {TIME, "metrics.`low`", "metrics.`high`"} <= row.keys()


def test_the_link_leads_to_the_comparison(imported, address, browser):
    """From the link that an import prints: what is compared is there at once, and MLflow's own *Compare* behind it."""
    browser.open(link_to(FIGURE, imported.folder, address))
    assert_compared(browser)
    assert browser.clicks == 0
    browser.click("//div[@role='columnheader']//input[@type='checkbox']")
    browser.click("//button[. = 'Compare']")
    browser.find(f"//*[contains(., 'Comparing {len(LABELS)} Runs')]")
    assert browser.clicks <= MOST_CLICKS
    shown = browser.wait(lambda: "Metrics:" in browser.text and browser.text, "the parallel coordinates")
    begun = shown.partition("Parameters:")[2].partition("Clear All")[0].split("\n")
    assert [line for line in begun if line] == ["code.beta", "scheme", "Metrics:", f"time to {LEVEL} in s"]
    assert all(label in shown for label in LABELS)


def test_the_first_page_leads_to_the_comparison(address, browser):
    """A person who has never been there: the paper, MLflow's hint on something else, the figure."""
    browser.open(address)
    browser.click("//a[. = 'small']")
    figure = "//a[. = 'three']"
    browser.find(figure)
    try:
        browser.click(figure)
    except Refused as error:
        assert error.error == "element click intercepted"
        browser.click("//button[. = 'Got it']")
        browser.click(figure)
    browser.go_to_newest_tab()
    assert_compared(browser)
    assert browser.clicks <= MOST_CLICKS
