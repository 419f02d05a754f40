"""``gcexp fit``: what makes workers slow, how sure that is, and a delay model that replays the trace."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gcexp.advice.mechanisms import LEAST_ROWS, Decomposition, Mechanism, Number, found_in
from gcexp.advice.page import Page, counted, listed, percent, versions, write
from gcexp.advice.recorded import Recorded, recorded, share
from gcexp.advice.replay import model_of, replayed
from gcexp.delays.composed import Composed
from gcexp.errors import require
from gcexp.files import written

_OFF = 0.05  # a model that misses by more does not replay its trace
_CHANGED = 0.15
#: What a mechanism is called, and what it means for coding.
WORDS = {
    "drift": ("times drift over the run", "Drift slows all schemes alike."),
    "common_shock": (
        "iterations in which all workers are slow together",
        "Common shocks slow all schemes alike: no code helps against them.",
    ),
    "slow_state": (
        "workers that become slow for a while and recover",
        "Slow spells that come and go are what redundancy is for, if the time hardly grows with the load.",
    ),
    "independent_slow": (
        "single slow iterations of single workers",
        "Slow iterations that strike anybody are what redundancy is for, if the time hardly grows with the load.",
    ),
    "bad_node": (
        "a worker that is slow throughout",
        "A worker that is slow throughout is better excluded, or given less work, than coded around.",
    ),
    "heterogeneous": (
        "workers of lastingly different speed",
        "Speeds that last are answered by rebalancing: slow workers get less data.",
    ),
    "data_bound_or_chunk_noise": (
        "noise of the data or of the parts of the work",
        "If it is the data that is slow, a copy of it is slow as well, and redundancy does not help.",
    ),
    "workers": ("differences between the workers", ""),
}


@dataclass(frozen=True)
class Fit:
    """What `gcexp.fit` found; a notebook shows it, and ``table`` is it as a frame.

    Attributes
    ----------
    recorded : Recorded
        The times.
    found_in : Decomposition
        Mechanisms and what they leave.
    phi : Number, optional
        Share of the time that does not grow with the load, where it is known.
    model : Composed, optional
        The delay model that replays the trace.
    replay : dict
        Mean of the slowest, the second slowest and the middle worker in the model, over that in the trace.
    held : dict
        The same of a model of the first half, over the second half.
    pauses : int
        Iterations that were left out because the whole cluster paused.
    """

    recorded: Recorded
    found_in: Decomposition = field(repr=False)
    phi: Number | None
    model: Composed = field(repr=False)
    replay: dict[str, float]
    held: dict[str, float]
    pauses: int = 0

    @property
    def found(self) -> list[str]:
        """Names of the mechanisms that were found."""
        return self.found_in.found

    @property
    def unsure(self) -> dict[str, str]:
        """Mechanisms that may be there, with what would settle it."""
        return self.found_in.unsure

    @property
    def replays(self) -> bool:
        """Whether the model replays the trace within 5 %."""
        return all(abs(ratio - 1) <= _OFF for ratio in self.replay.values())

    @property
    def changed(self) -> bool:
        """Whether a model of the first half misses the slowest workers of the second by more than 15 %."""
        return bool(self.held) and abs(self.held["slowest"] - 1) > _CHANGED

    @property
    def sentences(self) -> list[str]:
        """What it is, how sure that is, and what it means for coding."""
        T, n = self.recorded.x.shape
        certain = [one for one in self.found_in.mechanisms if not one.unsure]
        if certain:
            what = f"{listed([self._said(one) for one in certain])}."
        elif T < LEAST_ROWS:
            what = f"{counted(T, 'iteration')} cannot tell any mechanism; {LEAST_ROWS} are needed."
        elif self.unsure:
            what = "nothing is certain yet."
        else:
            what = "no mechanism stands out of the noise."
            if self.found_in.variance.shares[2] > 0.8 and self.recorded.chunks is None:
                what += (
                    " Noise of the machine or of the data: they cannot be told apart without times of chunks."
                )
        independent = counted(max(T // self.found_in.block, 1), "independent stretch")
        sure = (
            f"This rests on {counted(T, 'iteration')} of {counted(n, 'worker')}, about {independent} of rows"
        )
        sure += f"; not sure: {listed([WORDS[name][0] for name in self.unsure])}." if self.unsure else "."
        meant = [WORDS[one.name][1] for one in certain if WORDS[one.name][1]]
        means = meant[-1] if meant else "Nothing here asks for a code; `gcexp advise` weighs the remedies."
        return [f"{self.recorded.trace.name}: {what}", sure, means]

    def _said(self, one: Mechanism) -> str:
        words = WORDS[one.name][0]
        if one.name == "bad_node":
            many = len(one.workers) > 1
            named = listed(self._named(one.workers))
            words = f"worker{'s' * many} {named} {'are' if many else 'is'} slow throughout"
        number = next(iter(one.numbers.items()), None)
        return words if number is None else f"{words} ({number[0]} {number[1]})"

    def _named(self, workers: tuple[int, ...]) -> list[str]:
        return [self.recorded.labels[w] for w in workers]

    @property
    def table(self) -> pd.DataFrame:
        """One row for each number: mechanism, whether it is found, number, value, low, high, workers."""
        columns = ["mechanism", "status", "number", "value", "low", "high", "workers", "settled_by"]
        rows = []
        for one in self.found_in.mechanisms:
            known = {"mechanism": one.name, "status": "unsure" if one.unsure else "found"}
            known |= {"workers": ", ".join(self._named(one.workers)), "settled_by": one.unsure}
            numbers = [{"number": name} | asdict(number) for name, number in one.numbers.items()]
            rows += [known | number for number in numbers or [{}]]
        if self.phi:
            rows.append({"mechanism": "phi", "status": "found", "number": "phi"} | asdict(self.phi))
        return pd.DataFrame(rows, columns=columns)

    def page(self) -> Page:
        """All of it in words and tables."""
        shown = pd.DataFrame(
            [
                [
                    WORDS[one.name][0],
                    "not sure" if one.unsure else "found",
                    name.replace("_", " "),
                    str(number),
                ]
                for one in self.found_in.mechanisms
                for name, number in one.numbers.items()
            ],
            columns=["mechanism", "status", "number", "value (95 % interval)"],
        )
        title = f"What makes the workers of {self.recorded.trace.name} slow"
        return Page(title, self.sentences, {} if shown.empty else {"Mechanisms": shown}, self._notes())

    def _notes(self) -> list[str]:
        """What is not sure, phi, what was left out, and how well the model replays the trace."""
        found = self.found_in
        said = [f"Not sure, {WORDS[name][0]}: {why}." for name, why in self.unsure.items()]
        known = f": {self.phi}" if self.phi else f", is not known: {self.recorded.phi_unknown}"
        said += [
            f"phi, the share of the time that does not grow with the load{known}.",
            *self.recorded.notes,
        ]
        if self.pauses:
            said.append(
                f"Left out: {counted(self.pauses, 'iteration')} in which the whole cluster paused: half of the workers "
                "took more than ten times as long as usual."
            )
        parts = zip(found.variance.shares, ("worker", "iteration", "rest"), strict=True)
        varies = f"Variance of the logarithms: {listed([f'{percent(share)} by {by}' for share, by in parts])}"
        alike = f"; rank correlation of the workers' means in the two halves {found.stability:.2f}"
        said.append(f"{varies}{alike if np.isfinite(found.stability) else ''}.")
        if found.changed:
            who = listed(self._named(found.changed))
            said.append(f"The mean of worker {who} differs between the two halves.")
        told = listed([f"{name} worker {ratio:.2f}" for name, ratio in self.replay.items()])
        misses = "" if self.replays else " The model does not replay this trace; use delay=trace."
        said.append(f"The model over the trace, mean times: {told}.{misses}")
        if self.changed:
            said.append(
                f"The trace changed: a model of its first half gives {self.held['slowest']:.2f} of the slowest "
                "worker's time in its second half."
            )
        return said

    def _repr_html_(self) -> str:
        return self.page().html()

    def as_dict(self) -> dict[str, Any]:
        """What stands in ``fit.json``."""
        found = self.found_in
        mechanisms = {
            one.name: {
                "status": "unsure" if one.unsure else "found",
                "settled_by": one.unsure,
                "workers": self._named(one.workers),
                "numbers": {name: asdict(number) for name, number in one.numbers.items()},
            }
            for one in found.mechanisms
        }
        return {
            **self.recorded.facts(),
            "sentences": self.sentences,
            "found": self.found,
            "unsure": self.unsure,
            "mechanisms": mechanisms,
            "shares": dict(zip(("worker", "iteration", "rest"), found.variance.shares, strict=True)),
            "icc": found.variance.icc,
            "block": found.block,
            "changed": self._named(found.changed),
            "stability": found.stability,
            "phi": asdict(self.phi) if self.phi else None,
            "replay": self.replay,
            "first_half_on_second": self.held,
            "versions": versions(),
        }

    def write(self, folder: Path | str) -> list[Path]:
        """Write ``fit.json``, ``fit.md``, ``fit.png`` and ``delay.yaml``, an option file of ``delay``."""
        from gcexp.advice.pictures import of_fit

        folder = Path(folder)
        with written(folder / "delay.yaml") as temporary:
            temporary.write_text(_option(self.model, self.recorded.trace.name), "utf-8")
        page = self.page().markdown("fit.png")
        told = write(folder, "fit", page, self.as_dict(), lambda: of_fit(self))
        return [*told, folder / "delay.yaml"]


def fit(
    source: object,
    phi: object = None,
    *,
    absent: str = "refuse",
    barrier: str = "check",
    drift: bool = False,
    seed: int = 0,
) -> Fit:
    """Find what makes workers slow, how sure that is, and a delay model that replays their times.

    Parameters
    ----------
    source : path, name of a bundled trace, DataFrame or array
        Times of workers: a CSV or a frame with the columns iteration, worker, time; or an array (iterations, workers).
    phi : float, optional
        Share of the time that does not grow with the load; by default it is measured where the trace has several loads
        or a column ``compute``.
    absent : {"refuse", "skip"}
        Iterations with missing workers are refused, or left out.
    barrier : {"check", "no"}
        ``no``: do not refuse times that agree within each iteration.
    drift : bool
        Whether the delay model drifts as the trace does.
    seed : int
        Of resampling.

    Returns
    -------
    Fit

    Raises
    ------
    UserError
        For a broken trace and times that were stamped after a barrier.

    Examples
    --------
    >>> import gcexp
    >>> found = gcexp.fit("bytedance-AR-dp")
    >>> found.found, round(found.found_in.mechanisms[0].numbers["factor"].value, 5)
    (['bad_node'], 2.26105)
    """
    times = recorded(source, absent, barrier, seed)  # type: ignore[arg-type]
    x, pauses = times.usual()
    known = times.phi
    if phi is not None:
        value = share(phi)
        require(len(value) == 1, f"fit takes one phi, got {phi}")
        known = Number(value[0])
    found = found_in(x, times.chunks if not pauses else None, seed)
    model = model_of(found, known.value if known else 0.0, drift)
    half, held = len(x) // 2, {}
    if half >= 2:
        held = replayed(model_of(found_in(x[:half], seed=seed)), x[half:])
    return Fit(times, found, known, model, replayed(model, x), held, pauses)


def _option(model: Composed, name: str) -> str:
    """The model as an option file."""
    import yaml

    values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(model).items()}
    target = {"_target_": f"{Composed.__module__}.{Composed.__name__}"}
    head = f"# What gcexp fit found in {name}; copy it to conf/delay/ of a project to use it.\n"
    return head + yaml.safe_dump(target | values, sort_keys=False, default_flow_style=None, width=120)
