"""The pages as a reader with a phone sees them, in a headless Chromium (`make test-browser`)."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gcexp.report.figurefile import named_figures
from gcexp.report.page import write_pages
from gcexp.report.targets import target_files
from tests.browser.driver import NAMES, program
from tests.conftest import LONG

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PUBLISHED = Path(__file__).resolve().parents[2] / "reports" / "published"
#: Opens all pages beside each other, and becomes a text with what they say of themselves.
PHONE = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const found = {}, names = %s;
for (const name of names) {
  const frame = document.createElement("iframe");
  Object.assign(frame, {width: 390, height: 844, src: name});
  frame.onload = () => {
    const page = frame.contentDocument, style = frame.contentWindow.getComputedStyle(page.body);
    page.querySelectorAll("details").forEach(each => { each.open = true; });
    found[name] = {
      width: page.documentElement.scrollWidth,
      bright: [style.color, style.backgroundColor].map(colour => colour.match(/\\d+/)[0] > 128),
    };
    if (Object.keys(found).length == names.length) document.body.textContent = JSON.stringify(found);
  };
  document.body.append(frame);
}
</script></body>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the pages of the published tables and drawings."""
    if "GCEXP_TEST_BROWSER" not in os.environ:
        pytest.skip("a browser is started by `make test-browser` only")
    folder = tmp_path_factory.mktemp("site") / "published"
    shutil.copytree(PUBLISHED, folder)
    pages = write_pages("paper", named_figures([*target_files()], "paper"), folder / "index.html")
    (folder / "phone.html").write_text(PHONE % json.dumps([page.name for page in pages]))
    return folder


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_a_phone_shows_whole_pages_without_sideways_scrolling(site, scheme, tmp_path):
    chromium = program()
    if chromium is None:
        pytest.skip(f"there is no Chromium (looked for: {', '.join(NAMES)})")
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += [
        f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
        f"--user-data-dir={tmp_path}",
    ]
    command += ["--virtual-time-budget=60000", "--dump-dom", (site / "phone.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=True).stdout
    found = json.loads(re.search(r"<body>(.*)</body>", shown, re.DOTALL)[1])
    assert {*found} == {page.name for page in site.glob("*.html")} - {"phone.html"}
    for name, page in found.items():
        assert page["width"] <= 390, name
        assert page["bright"] == ([True, False] if scheme == "dark" else [False, True])
