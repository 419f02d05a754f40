"""``gcexp fit``: what makes workers slow, how sure that is, and a delay model that replays the trace."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gcexp.delays.composed import Composed
from gcexp.errors import require
from gcexp.files import write_text
from gcexp.traces.missing import Absent
from gcexp_adviser.diagnosis import fit_in_words
from gcexp_adviser.diagnosis.diagnosis import Diagnosis, Fitted, diagnosed
from gcexp_adviser.diagnosis.diagnosis_in_words import sentences
from gcexp_adviser.diagnosis.logged import counts
from gcexp_adviser.diagnosis.mechanisms import Decomposition, found_in
from gcexp_adviser.diagnosis.phi import share
from gcexp_adviser.diagnosis.recorded import recorded_in, ways_of
from gcexp_adviser.diagnosis.resampling import Number
from gcexp_adviser.logs.how import how_of
from gcexp_adviser.logs.reading import read
from gcexp_adviser.page import Page, write

_MOST_VALUES = 2000  # of the rest in a model
_ITERATIONS = 20_000  # in which a model is compared with its trace
_TOLD = ("sentences", "found", "unsure", "block", "stability", "replay", "held")


@dataclass(frozen=True, repr=False)
class Fit(Fitted):
    """What `gcexp.fit` found; it prints its sentences, a notebook shows it, and ``table`` is it as a frame.

    It is a diagnosis of recorded times with a delay model, in words, as a page and as files.
    """

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        unsure = f"; unsure: {', '.join(self.unsure)}" if self.unsure else ""
        return f"<Fit of {self.recorded.trace.name}: {', '.join(self.found) or 'nothing certain'}{unsure}>"

    @property
    def sentences(self) -> list[str]:
        """What it is, how sure that is, and what it means for coding."""
        return sentences(self)

    def page(self) -> Page:
        """All of it in words and tables."""
        return fit_in_words.page(self)

    def _repr_html_(self) -> str:
        return self.page().html()

    def as_dict(self) -> dict[str, Any]:
        """What stands in ``fit.json``."""
        facts = dict(self.recorded.facts)
        for name in _TOLD:
            facts[name] = getattr(self, name)
        facts["mechanisms"] = self.table.to_dict("records")
        facts["missing_rows"] = self.recorded.missing.pairs if self.recorded.missing else 0
        facts["changed"] = self.recorded.named(self.changed)
        facts["shares"] = self.variance.shares
        facts["icc"] = self.variance.icc
        facts["phi"] = asdict(self.phi) if self.phi else None
        return facts

    def write(self, folder: Path | str) -> list[Path]:
        """Write ``fit.html``, ``fit.json``, ``fit.md``, ``fit.png`` and ``delay.yaml``, an option file of ``delay``."""
        import yaml

        from gcexp_adviser.diagnosis.pictures import of_fit  # matplotlib is slow to import

        folder = Path(folder)
        values = {"_target_": f"{Composed.__module__}.{Composed.__name__}"} | asdict(self.model)
        values |= {name: list(values[name]) for name in ("workers", "values")}
        head = f"# What gcexp fit found in {self.recorded.trace.name}; copy it to conf/delay/ of a project to use it.\n"
        option = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=120)
        delay = folder / "delay.yaml"
        write_text(delay, head + option)
        page = self.page()
        caption = " ".join(self.sentences[:2])
        picture = of_fit(self, page.title, caption)
        return [*write(folder, "fit", page, page.markdown("fit.png"), self.as_dict(), [picture]), delay]


def model_of(found: Decomposition, phi: float = 0.0, drift: bool = False) -> Composed:
    """The mechanisms that were found, or that may be there, on top of the rest, which is resampled."""
    rest = np.sort(found.rest[~np.isnan(found.rest)])
    if len(rest) > _MOST_VALUES:
        rest = np.quantile(rest, (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES)
    now = found.worker_effect + found.levels.lasting[found.levels.now]
    level = now.mean()
    begins = level
    if drift:  # the effects are those of the middle of the trace
        begins = level - found.slope / 2
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
        workers=np.exp(now - level).round(6).tolist(),
        values=rest.round(6).tolist(),
        phi=phi,
        drift=found.slope / len(found.rest) if drift else 0.0,
        **parts,
    )


def replayed(model: Composed, x: np.ndarray) -> dict[str, float]:
    """Mean time of the slowest, second slowest and middle worker of the model, over that of the rows x (T, n).

    Where rows are missing these are the workers that were logged, and in the model those of the same rows.
    """
    T, n = x.shape
    iterations = T if model.drift else max(T, _ITERATIONS // max(n // 16, 1))
    drawn = model.draw((0,), iterations, n).arrival(1 / n, 1)[0]
    logged = ~np.isnan(x)[np.arange(iterations) % T]
    ours = _means_by_place(np.where(logged, drawn, np.nan))
    theirs = _means_by_place(x)
    places = ("slowest", "second slowest", "middle")
    return {name: float(our / their) for name, our, their in zip(places, ours, theirs, strict=True)}


def _means_by_place(x: np.ndarray) -> np.ndarray:
    """Mean times of the slowest, second slowest and middle worker of those that were logged in each row of x (T, n)."""
    logged = counts(x, axis=1)
    places = np.stack([logged - 1, np.maximum(logged - 2, 0), logged // 2], axis=1)
    return np.take_along_axis(np.sort(x, axis=1), places, axis=1).mean(0)


def fit(
    source: object,
    phi: object = None,
    *,
    absent: Absent | None = None,
    timeout: float | None = None,
    barrier: str = "check",
    drift: bool = False,
    seed: int = 0,
    **log: Any,
) -> Fit:
    """Find what makes workers slow, how sure that is, and a delay model that replays their times.

    Parameters
    ----------
    source : path, name of a bundled trace, DataFrame or array
        Times of workers: a log of any form (`gcexp_adviser.logs.reading.read`), as a CSV or a frame with the columns
        iteration, worker, time, or an array (iterations, workers).
    phi : float, optional
        Share of the time that does not grow with the load; by default it is measured where the trace has several loads
        or a column ``compute``.
    absent : {"refuse", "late", "skip", "sampled"}, optional
        Missing rows are refused, have no time in what is found (``late``, the default), are left out with their
        iterations, or are those of workers that were not asked.
    timeout : float, optional
        The time of missing rows that are late, as `gcexp.advise` prices them; it changes nothing that is found.
    barrier : {"check", "no"}
        ``no``: do not refuse times that agree within each iteration.
    drift : bool
        Whether the delay model drifts as the trace does.
    seed : int
        Of resampling.
    **log
        What is said of the log: ``columns``, ``unit``, ``decimal``, ``pattern`` (`gcexp_adviser.logs.how.how_given`).

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
    record = read(source, how_of(log, fit))
    way, *_ = ways_of(record, absent, timeout)
    found = diagnosed(recorded_in(record, way, barrier, seed), _known(phi))
    return _with_model(found, drift, seed)


def _known(phi: object) -> Number | None:
    """The share phi that a person gives."""
    if phi is None:
        return None
    value = share(phi)
    require(len(value) == 1, f"fit takes one phi, got {phi}")
    return Number(value[0])


def _with_model(found: Diagnosis, drift: bool, seed: int) -> Fit:
    """A diagnosis with the delay model that follows from it."""
    model = model_of(found, found.phi.value if found.phi else 0.0, drift)
    x = found.recorded.logged
    half = len(x) // 2
    held: dict[str, float] = {}
    has_all_workers = bool(counts(x[:half], axis=0).all())
    if half >= 2 and has_all_workers:
        first_half = found_in(x[:half], seed=seed)
        held = replayed(model_of(first_half), x[half:])
    now = x[found.levels.now :]
    return Fit(**vars(found), model=model, replay=replayed(model, now), held=held)
