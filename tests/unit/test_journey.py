"""The page of the journey runs as it is written, with fewer iterations."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from gcexp.command.init import init
from gcexp.command.main import main
from gcexp.report.figurefile import read_figure

PAGE = (Path(__file__).parents[2] / "docs" / "journey.md").read_text()


@pytest.mark.slow
def test_the_page_runs(tmp_path, monkeypatch, forget, capsys):
    init("mylab", tmp_path)
    monkeypatch.chdir(tmp_path / "mylab")
    monkeypatch.syspath_prepend(tmp_path / "mylab")
    forget()
    draw = np.random.default_rng(0)
    times = [f"{t},{w},{1 + draw.exponential():.6g}" for t in range(60) for w in range(256)]
    Path("lambda.csv").write_text("\n".join(["iteration,worker,time", *times]))
    x, y = draw.normal(size=(60, 20)), draw.integers(0, 2, 60)
    np.savez("mine.npz", x_train=x[:40], y_train=y[:40], x_test=x[40:], y_test=y[40:])
    for place, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_text(text)
    commands = [
        line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
    ]
    assert len(commands) == 5
    for line in commands:
        fewer = (
            re.sub(r"iterations=\d+", "iterations=4", line).replace(" -j 2", "").replace("n=12,24,36", "n=12")
        )
        assert main(shlex.split(fewer)[1:]) == 0, capsys.readouterr().err
    assert read_figure(Path("mylab/figures/fig4.yaml").resolve(), "quick").labels[:2] == ["mirror", "pair"]
    (program,) = re.findall(r"```python\n(import gcexp.*?)```", PAGE, re.DOTALL)
    exec(
        compile(program.replace("iterations=180", "iterations=2").replace(">= 0.9", ">= 0"), "page", "exec"),
        {},
    )
    assert "uncoded" in capsys.readouterr().out
