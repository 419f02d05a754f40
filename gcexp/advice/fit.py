"""``gcexp fit``: what makes workers slow, how sure that is, and a delay model that replays the trace."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gcexp.advice.mechanisms import LEAST_ROWS, Decomposition, found_in
from gcexp.advice.page import Page, counted, percent, write
from gcexp.advice.phi import share
from gcexp.advice.recorded import Recorded, recorded
from gcexp.advice.resampling import Number
from gcexp.delays.composed import Composed
from gcexp.errors import require
from gcexp.figures.rows import listed
from gcexp.files import write_text

_OFF, _CHANGED = 0.05, 0.15  # what a model may miss of its own trace, and of the other half
_MOST_VALUES = 2000  # of the rest in a model
_ITERATIONS = 20_000  # in which a model is compared with its trace
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
class Fit(Decomposition):
    """What `gcexp.fit` found; a notebook shows it, and ``table`` is it as a frame.

    It is a decomposition of recorded times, of which ``found`` names the mechanisms that were found, and ``unsure``
    those that may be there, each with what would settle it.

    Attributes
    ----------
    recorded : Recorded
        The times.
    phi : Number, optional
        Share of the time that does not grow with the load, where it is known.
    model : Composed
        The delay model that replays the trace.
    replay : dict
        Mean of the slowest, the second slowest and the middle worker in the model, over that in the trace.
    held : dict
        The same of a model of the first half, over the second half.
    """

    recorded: Recorded
    phi: Number | None
    model: Composed = field(repr=False)
    replay: dict[str, float]
    held: dict[str, float]

    @property
    def sentences(self) -> list[str]:
        """What it is, how sure that is, and what it means for coding."""
        T, n = self.recorded.x.shape
        if certain := [name for name in self.mechanisms if name not in self.unsure]:
            what = f"{listed([self._said(name) for name in certain])}."
        elif T < LEAST_ROWS:
            what = f"{counted(T, 'iteration')} cannot tell any mechanism; {LEAST_ROWS} are needed."
        elif self.unsure:
            what = "nothing is certain yet."
        else:
            what = "no mechanism stands out of the noise."
            if self.variance.shares["rest"] > 0.8 and self.recorded.chunks is None:
                what += (
                    " Noise of the machine or of the data: they cannot be told apart without times of chunks."
                )
        independent = counted(max(T // self.block, 1), "independent stretch")
        sure = (
            f"This rests on {counted(T, 'iteration')} of {counted(n, 'worker')}, about {independent} of rows"
        )
        sure += f"; not sure: {listed([WORDS[name][0] for name in self.unsure])}." if self.unsure else "."
        meant = "Nothing here asks for a code; `gcexp advise` weighs the remedies."
        meant = WORDS[certain[-1]][1] if certain else meant
        return [f"{self.recorded.trace.name}: {what}", sure, meant]

    def _said(self, name: str) -> str:
        one, words = self.mechanisms[name], WORDS[name][0]
        if name == "bad_node":
            many = len(one.workers) > 1
            named = listed(self.recorded.named(one.workers))
            words = f"worker{'s' * many} {named} {'are' if many else 'is'} slow throughout"
        first, number = next(iter(one.numbers.items()))
        return f"{words} ({first} {number})"

    @property
    def table(self) -> pd.DataFrame:
        """One row for each number: mechanism, whether it is found, number, value, low, high, workers."""
        rows = []
        for name, one in self.mechanisms.items():
            known = {"mechanism": name, "status": "unsure" if one.unsure else "found"}
            known["workers"] = ", ".join(self.recorded.named(one.workers))
            numbers = [{"number": number} | asdict(value) for number, value in one.numbers.items()]
            rows += [known | number for number in numbers or [{}]]
        if self.phi:
            rows.append(
                {"mechanism": "phi", "status": "found", "number": self.recorded.named_phi} | asdict(self.phi)
            )
        columns = ["mechanism", "status", "number", "value", "low", "high", "workers"]
        return pd.DataFrame(rows, columns=columns)

    def page(self) -> Page:
        """All of it in words and tables."""
        shown = self.table.dropna(axis=1, how="all")
        title = f"What makes the workers of {self.recorded.trace.name} slow"
        return Page(title, self.sentences, {} if shown.empty else {"Mechanisms": shown}, self._notes())

    def _notes(self) -> list[str]:
        """What is not sure, phi, what was left out, and how well the model replays the trace."""
        said = [f"Not sure, {WORDS[name][0]}: {why}." for name, why in self.unsure.items()]
        known = f": {self.phi}" if self.phi else f", is not known: {self.recorded.phi_unknown}"
        said += [
            f"{self.recorded.named_phi}, the share of the time that does not grow with the load{known}.",
            *self.recorded.notes,
        ]
        shares = listed([f"{percent(share)} by {by}" for by, share in self.variance.shares.items()])
        alike = f"; rank correlation of the workers' means in the two halves {self.stability:.2f}"
        alike = alike if np.isfinite(self.stability) else ""
        said.append(f"Variance of the logarithms: {shares}{alike}.")
        if self.changed:
            who = listed(self.recorded.named(self.changed))
            said.append(f"The mean of worker {who} differs between the two halves.")
        told = listed([f"{name} worker {ratio:.2f}" for name, ratio in self.replay.items()])
        off = any(abs(ratio - 1) > _OFF for ratio in self.replay.values())
        misses = " The model does not replay this trace; use delay=trace." if off else ""
        said.append(f"The model over the trace, mean times: {told}.{misses}")
        if abs(self.held.get("slowest", 1.0) - 1) > _CHANGED:
            said.append(
                f"The trace changed: a model of its first half gives {self.held['slowest']:.2f} of the slowest "
                "worker's time in its second half."
            )
        return said

    def _repr_html_(self) -> str:
        return self.page().html()

    def as_dict(self) -> dict[str, Any]:
        """What stands in ``fit.json``."""
        told = ("sentences", "found", "unsure", "block", "stability", "replay", "held")
        return {
            **self.recorded.facts,
            **{name: getattr(self, name) for name in told},
            "mechanisms": self.table.to_dict("records"),
            "changed": self.recorded.named(self.changed),
            "shares": self.variance.shares,
            "icc": self.variance.icc,
            "phi": asdict(self.phi) if self.phi else None,
        }

    def write(self, folder: Path | str) -> list[Path]:
        """Write ``fit.json``, ``fit.md``, ``fit.png`` and ``delay.yaml``, an option file of ``delay``."""
        import yaml

        from gcexp.advice.pictures import of_fit

        values = {"_target_": f"{Composed.__module__}.{Composed.__name__}"} | asdict(self.model)
        values |= {name: list(values[name]) for name in ("workers", "values")}
        head = f"# What gcexp fit found in {self.recorded.trace.name}; copy it to conf/delay/ of a project to use it.\n"
        option = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=120)
        path = Path(folder) / "delay.yaml"
        write_text(path, head + option)
        shown = self.page().markdown("fit.png"), self.as_dict(), of_fit(self)
        return [*write(Path(folder), "fit", *shown), path]


def model_of(found: Decomposition, phi: float = 0.0, drift: bool = False) -> Composed:
    """The mechanisms that were found, or that may be there, on top of the rest, which is resampled."""
    rest = np.sort(found.rest, axis=None)
    if len(rest) > _MOST_VALUES:
        rest = np.quantile(rest, (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES)
    level = found.worker_effect.mean()
    begins = level - found.slope / 2 if drift else level  # the effects are those of the middle of the trace
    parts: dict[str, Any] = {}
    shock = found.mechanisms.get("common_shock")
    if shock and shock.numbers:
        lag = float(np.clip(shock.numbers["lag1"].value, -0.99, 0.99))
        parts |= {"common_sd": shock.numbers["sd"].value, "common_lag": lag}
    if found.states:
        chain = found.states.chain
        lasting = max(chain.p01 + chain.p10, 1.0)
        parts |= {"p01": chain.p01 / lasting, "p10": chain.p10 / lasting, "factor": chain.factor}
    return Composed(
        level=float(np.exp(begins)),
        workers=np.exp(found.worker_effect - level).round(6).tolist(),
        values=rest.round(6).tolist(),
        phi=phi,
        drift=found.slope / len(found.rest) if drift else 0.0,
        **parts,
    )


def replayed(model: Composed, x: np.ndarray) -> dict[str, float]:
    """Mean time of the slowest, second slowest and middle worker of the model, over that of the rows x (T, n)."""
    T, n = x.shape
    iterations = T if model.drift else max(T, _ITERATIONS // max(n // 16, 1))
    drawn = model.draw((0,), iterations, n).arrival(1 / n, 1)[0]
    ours, theirs = np.sort(drawn, axis=1).mean(0), np.sort(x, axis=1).mean(0)
    places = {"slowest": n - 1, "second slowest": max(n - 2, 0), "middle": n // 2}
    return {name: float(ours[at] / theirs[at]) for name, at in places.items()}


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
    >>> found.found, found.table["value"].round(5).tolist()
    (['bad_node'], [2.26105])
    """
    times = recorded(source, absent, barrier, seed)  # type: ignore[arg-type]
    x, known = times.x, times.phi
    if phi is not None:
        value = share(phi)
        require(len(value) == 1, f"fit takes one phi, got {phi}")
        known = Number(value[0])
    found = found_in(x, times.chunks, seed)
    model = model_of(found, known.value if known else 0.0, drift)
    half, held = len(x) // 2, {}
    if half >= 2:
        held = replayed(model_of(found_in(x[:half], seed=seed)), x[half:])
    return Fit(**vars(found), recorded=times, phi=known, model=model, replay=replayed(model, x), held=held)
