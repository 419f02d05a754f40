"""The pages as a reader sees them, in a headless Chromium (`make test-browser`)."""

import shutil
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "reports" / "published"
BRIGHT = """{
const style = getComputedStyle(document.body);
[style.color, style.backgroundColor].map(colour => colour.match(/\\d+/)[0] > 128);
}"""
UNFOLD = "[...document.querySelectorAll('details')].forEach(e => { e.open = true; })"
LINKS = "[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of the published tables and drawings."""
    from gcexp.report.figurefile import named_figures, target_files
    from gcexp.report.page import write_pages

    folder = tmp_path_factory.mktemp("site") / "published"
    shutil.copytree(PUBLISHED, folder)
    return write_pages("paper", named_figures([*target_files()], "paper"), folder / "index.html")


def test_pages_are_whole_and_their_links_lead_somewhere(browse, pages):
    async def visit(tab):
        for page in pages:
            await tab.open(page.as_uri())
            links = await tab.value(LINKS)
            inside = {link for link in links if not link.startswith(("http", "#", "../"))}
            assert inside and not [link for link in inside if not (page.parent / link).exists()]
            ids = set(await tab.value("[...document.querySelectorAll('[id]')].map(e => e.id)"))
            assert {link[1:] for link in links if link.startswith("#")} <= ids
        return tab.wrong

    assert browse(visit) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(browse, pages, scheme):
    async def visit(tab):
        for page in pages:
            await tab.open(page.as_uri(), width=390, height=844, scheme=scheme)
            await tab.value(UNFOLD)
            assert await tab.value("document.documentElement.scrollWidth") <= 390
            assert await tab.value(BRIGHT) == ([True, False] if scheme == "dark" else [False, True])
        return tab.wrong

    assert browse(visit) == []
