"""The closed loop's example and `gcexp advise` measure the same phi in the same recording."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import gcexp
from gcexp.distributed import join

ROOT = Path(__file__).resolve().parents[2]
PHI = 0.4


def test_the_closed_loop_and_advice_give_the_same_phi_of_a_recording(here, capsys, monkeypatch):
    """The example without its processes: ranks' files as its ranks write them, and its own steps after that."""
    example = runpy.run_path(str(ROOT / "examples" / "closed_loop.py"))
    loop = example["main"].__globals__
    n, whole, steps = loop["N"], loop["WHOLE"], loop["STEPS"]
    loads = np.repeat([1.0, 0.5], [whole, steps["uncoded"] - whole])
    noise = np.exp(0.05 * np.random.default_rng(0).standard_normal((len(loads), n)))
    # Each is slow for three iterations in turn, so that others wait for one that is late.
    slow = np.arange(n) == np.arange(len(loads))[:, None] // 3 % n
    x = noise * np.where(slow, 1.5, 1.0) * (PHI + (1 - PHI) * loads)[:, None]

    def record(begin, arguments, **_):
        (folder,) = arguments
        (folder / "uncoded").mkdir()
        for rank in range(n):
            rows = [f"{t},{rank},{x[t, rank]},{x[t, rank] / 2},{loads[t]:g}\n" for t in range(2, len(x))]
            text = "iteration,worker,time,compute,load\n" + "".join(rows)
            (folder / "uncoded" / f"rank-{rank:04}.csv").write_text(text)
        seconds = dict.fromkeys(steps, x[:whole].max(1) + 0.01)
        np.savez(folder / "steps-0.npz", **seconds)

    monkeypatch.setattr(loop["torch"].multiprocessing, "start_processes", record)
    folder = Path("loop")
    folder.mkdir()
    _, phi, predicted, _ = example["main"](folder)
    join(folder / "uncoded", folder / "again.csv")
    advice, fit = gcexp.advise(folder / "again.csv"), gcexp.fit(folder / "again.csv")
    assert phi == advice.main.phi == fit.phi.value
    full, half = x[3:whole], x[whole:]
    usual = np.median(full, axis=0)
    r = np.median(half / usual) / np.median(full / usual)  # as docs/real-runs.md says
    assert phi == pytest.approx(2 * r - 1, abs=1e-12) and phi == pytest.approx(PHI, abs=0.05)
    assert f"phi at load 1 is {phi:.2f}" in capsys.readouterr().out
    uncoded = advice.recorded.every
    coded = seconds_with_two_shares(uncoded, phi, overhead=0.01)
    assert predicted["cgc"] == pytest.approx(coded.mean() / (uncoded.max(1).mean() + 0.01), rel=1e-9)


def seconds_with_two_shares(alone, phi, overhead):
    """Each iteration of a code of load 2 that waits for all but one; a late worker finishes, then takes the newest."""
    free, seconds = np.zeros(alone.shape[1]), []
    for row in alone:
        begin = np.maximum(free, 0)
        end = begin + (phi + 2 * (1 - phi)) * row
        stop = np.sort(end)[-2]
        begun = begin <= stop
        free = np.where(begun, end, begin) - (stop + overhead)
        seconds.append(stop + overhead)
    return np.array(seconds)
