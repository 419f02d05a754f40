"""The published page and MLflow's comparison as a reader sees them, in a headless Chromium (`make test-browser`)."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "reports" / "published" / "index.html"
CHOOSE = """{
const field = document.getElementById('outcome');
field.value = '%s';
field.dispatchEvent(new Event('input', {bubbles: true}));
}"""
BRIGHT = """{
const style = getComputedStyle(document.body);
[style.color, style.backgroundColor].map(colour => colour.match(/\\d+/)[0] > 128);
}"""
UNFOLD = "[...document.querySelectorAll('details')].forEach(e => { e.open = e.matches('.judged, .table, .about'); })"
WIDE = (
    "[...document.querySelectorAll('table')].filter(e => e.checkVisibility() && "
    "e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.innerText.slice(0, 80))"
)
#: Words and numbers of tables that stand on two lines.
BROKEN = """[...document.querySelectorAll('td, th')].filter(e => {
    const text = e.innerText.trim(), words = document.createRange();
    words.selectNodeContents(e);
    return e.checkVisibility() && text && text.length <= 14 && !/[\\s·-]/.test(text)
        && new Set([...words.getClientRects()].map(box => Math.round(box.top))).size > 1;
}).map(e => e.innerText)"""
LINKS = "[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))"


def test_the_page_is_whole_and_its_links_lead_somewhere(browse):
    async def visit(tab):
        await tab.open(PAGE.as_uri())
        links = await tab.value(LINKS)
        local = {link for link in links if not link.startswith(("http", "#"))}
        assert local and not [link for link in local if not (PAGE.parent / link).exists()]
        ids = set(await tab.value("[...document.querySelectorAll('[id]')].map(e => e.id)"))
        assert {link[1:] for link in links if link.startswith("#")} <= ids
        silent = "!(i.alt || i.closest('.tiles a'))"  # a small one stands beside its words
        blind = f"[...document.images].filter(i => {silent} || !i.complete || !i.naturalWidth).length"
        assert await tab.value("document.images.length") > 30 and await tab.value(blind) == 0
        loaded = "performance.getEntriesByType('resource').filter(r => !r.name.startsWith('data:')).length"
        assert await tab.value(loaded) == 0, "the page is one file"
        return tab.wrong

    assert browse(visit) == []


def test_the_filter_shows_what_does_not_hold(browse):
    async def visit(tab):
        await tab.open(PAGE.as_uri())
        every = await tab.value("document.querySelectorAll('article').length")
        await tab.value(CHOOSE % "does-not-hold")
        assert 0 < await tab.value("document.querySelectorAll('article:not([hidden])').length") < every
        seen = (
            "[...document.querySelectorAll('details[open] [data-outcome]')].filter(e => e.checkVisibility())"
        )
        assert set(await tab.value(seen + ".map(e => e.dataset.outcome)")) == {"does-not-hold"}
        await tab.value(CHOOSE % "")
        assert await tab.value("document.querySelectorAll('article:not([hidden])').length") == every
        assert (
            await tab.value("document.querySelectorAll('details.judged[open]:not([data-shown])').length") == 0
        )
        return tab.wrong

    assert browse(visit) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(browse, scheme):
    async def visit(tab):
        await tab.open(PAGE.as_uri(), width=390, height=844, scheme=scheme)
        assert await tab.value("document.documentElement.scrollWidth") <= 390
        assert await tab.value(BRIGHT) == ([True, False] if scheme == "dark" else [False, True])
        await tab.value(UNFOLD)
        assert await tab.value(BROKEN) == []
        return tab.wrong

    assert browse(visit) == []


def test_a_name_of_the_legend_toggles_its_line_and_the_pointer_says_values(browse):
    marks = "document.querySelectorAll('#adaptive_fig6a .panel svg .mark-line path').length"

    async def visit(tab):
        await tab.open(PAGE.as_uri() + "#adaptive_fig6a")
        await tab.value("document.querySelector('#adaptive_fig6a button.lines').click()")
        await tab.until(f"{marks} === 9")
        await tab.value("document.querySelector('#adaptive_fig6a .legend button').click()")
        await tab.until(f"{marks} === 8")
        await tab.value("document.querySelector('#adaptive_fig6a .legend button').click()")
        await tab.until(f"{marks} === 9")
        axis = (
            "[...document.querySelectorAll('#adaptive_fig6a .mark-text text')].map(t => t.textContent).join()"
        )
        whole = await tab.value(axis)
        box = await tab.value(
            "{const box = document.querySelector('#adaptive_fig6a .panel').getBoundingClientRect();"
            "[box.x + box.width / 2, box.y + box.height / 2]}"
        )
        at = {"x": box[0], "y": box[1]}
        await tab.ask("Input.dispatchMouseEvent", type="mouseMoved", **at)
        await tab.ask("Input.dispatchMouseEvent", type="mouseMoved", x=at["x"] + 2, y=at["y"])
        await tab.until(
            "/test accuracy/.test(document.querySelector('#vg-tooltip-element.visible')?.innerText)"
        )
        await tab.ask("Input.dispatchMouseEvent", type="mouseWheel", deltaX=0, deltaY=-400, **at)
        await tab.until(f"{axis} !== {whole!r}")
        await tab.value("document.querySelector('#adaptive_fig6a button.lines').click()")
        assert await tab.value("document.querySelector('#adaptive_fig6a img').checkVisibility()")
        return tab.wrong

    assert browse(visit) == []


def test_a_count_leads_to_what_it_counts(browse):
    async def visit(tab):
        await tab.open(PAGE.as_uri())
        link = "document.querySelector('a[href=\"#adaptive-statements\"][data-counted=by-definition]')"
        count = int(await tab.value(f"{link}.textContent"))
        await tab.value(f"{link}.click()")
        rows = "[...document.querySelectorAll('#adaptive-statements tbody tr')].filter(e => e.checkVisibility()).length"
        assert await tab.value(rows) == count > 0
        await tab.value("document.querySelector('#fails a').click()")
        await tab.until("document.querySelector(':target')?.checkVisibility()")
        return tab.wrong

    assert browse(visit) == []


def test_a_printed_page_opens_what_fails_and_shows_tables_whole(browse):
    """Figures, failures and tables take about a sheet each; what holds stays folded."""

    async def visit(tab):
        await tab.open(PAGE.as_uri())
        await tab.value(
            "addEventListener('beforeprint', () => queueMicrotask(() => { window.opened = "
            "[...document.querySelectorAll('details:not([open])')].filter(e => e.querySelector('.not')"
            " || e.matches('.table')).length; }))"
        )
        printed = await tab.printed()
        assert await tab.value("window.opened") == 0
        return printed, await tab.value("document.querySelectorAll('article').length")

    printed, figures = browse(visit)
    assert len(re.findall(rb"/Type /Page\b", printed)) < 1.5 * figures


def test_tables_fit_on_a_sheet_and_break_no_word(browse):
    """Numbers and outcomes stood letter by letter below each other: 794 as 79 and 4."""

    async def visit(tab):
        await tab.open(PAGE.as_uri(), width=719)  # A4 within the browser's margins
        await tab.ask("Emulation.setEmulatedMedia", media="print")
        await tab.value(UNFOLD)
        return await tab.value(WIDE), await tab.value(BROKEN)

    assert browse(visit) == ([], [])


def test_mlflow_opens_the_schemes_of_a_figure_the_fastest_first(browse, tmp_path):
    """What docs/mlflow.md says, with the seeds of two schemes."""
    project = tmp_path / "project"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("MLFLOW_", "GCEXP_"))}
    environment = kept | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, __file__, project], check=True, env=environment)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = ["--backend-store-uri", "sqlite:///results/mlflow/mlflow.db"]
    command = [Path(sys.executable).with_name("mlflow"), "ui", "--workers", "1", "--port", str(port), *store]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, cwd=project, env=environment, stdout=log, stderr=log)
    view = "partial_recovery_fig1-quick"

    async def visit(tab):
        answers = (
            f"fetch('http://127.0.0.1:{port}/health', {{mode: 'no-cors'}}).then(() => true, () => false)"
        )
        await tab.until(answers, 180)
        runs = f"http://127.0.0.1:{port}/#/experiments/1/runs?viewStateShareKey={view}"
        await tab.open(runs, width=1800)
        for words in ("2 matching runs", "Sort: time_to_0.75", "mean_iteration_time_s"):
            await tab.until(f"document.body.innerText.includes('{words}')", 120)
        text = await tab.value("document.body.innerText")
        shown = re.findall("^(CGC|Forget-2)$", text, re.M)
        return shown

    try:
        assert browse(visit) == (project / "order").read_text().split()
    finally:
        server.terminate()
        server.wait(60)


def _import_two_schemes(folder):
    """A database as `gcexp job track` makes it."""
    from gcexp.report.comparison import comparison
    from gcexp.report.figure import Figure, FigureFile
    from gcexp.report.stages import make_table
    from gcexp.report.tracking import track
    from gcexp.run.run import run_of_path

    folder.mkdir()
    os.chdir(folder)
    sys.path.insert(0, str(ROOT / "tests" / "unit"))
    from test_tracking import TRAINED, fake_training

    runs = tuple(
        run_of_path({"scheme": f"{name}+.n@6+.s@2", **TRAINED}, label)
        for name, label in (("forget", "Forget-2"), ("cgc", "CGC"))
    )
    found = [fake_training(run) for run in runs]
    figure = Figure(
        "partial_recovery", "fig1", "quick", FigureFile("fig1", "test", "curves", level=0.75), runs
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gcexp.report.table.replayed", lambda *_: found[0])
        make_table(figure, Path(figure.table))
    track([figure], Path("results/mlflow/quick.imported"), None)
    from gcexp.figures.tables import read_table

    Path("order").write_text("\n".join(comparison(figure, read_table(figure.table))["label"]))


if __name__ == "__main__":
    _import_two_schemes(Path(sys.argv[1]))


def test_a_leaderboard_sorts_and_filters(browse, tmp_path):
    import pandas as pd

    from gcexp.report.leaderboard import write_leaderboard

    ratios = [10.0, 9.0, None, 0.5]
    table = pd.DataFrame({"trace": ["A", "A", "B", "B"], "scheme": list("wxyz"), "ratio": ratios})
    write_leaderboard(table, tmp_path / "board.html", "Mine")
    shown = "[...document.querySelectorAll('tbody tr:not([hidden])')].map(row => row.cells[1].textContent).join('')"
    click = "document.querySelectorAll('th button')[2].click()"
    field = "document.forms[0].%s.value = '%s'; document.forms[0].dispatchEvent(new Event('input'))"

    async def visit(tab):
        await tab.open((tmp_path / "board.html").as_uri())
        seen = [await tab.value(shown)]
        for step in (click, click, field % ("trace", "B"), field % ("words", "z")):
            await tab.value(step)
            seen.append(await tab.value(shown))
        assert seen == ["wxyz", "zxwy", "wxzy", "zy", "z"]
        assert await tab.value("document.querySelector('output').value") == "1 of 4 rows"
        return tab.wrong

    assert browse(visit) == []
