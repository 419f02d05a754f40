"""``gcexp advise``: what to set on a cluster whose times were recorded, and what it costs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import ParameterError, UserError, require
from gcexp.files import write_text
from gcexp.traces.missing import LEFT_OUT, SAMPLED, Absent
from gcexp.traces.record import TraceFile
from gcexp_adviser.diagnosis.level_changes import Change
from gcexp_adviser.diagnosis.logged import longest
from gcexp_adviser.diagnosis.phi import share
from gcexp_adviser.diagnosis.recorded import Recorded, Way, recorded_in, ways_of
from gcexp_adviser.diagnosis.resampling import Number
from gcexp_adviser.logs.how import how_of
from gcexp_adviser.logs.reading import read
from gcexp_adviser.page import Page, counted, percent, write
from gcexp_adviser.remedies import advice_in_words
from gcexp_adviser.remedies.conclusion import CLEAN, Conclusion
from gcexp_adviser.remedies.remedies import Remedy
from gcexp_adviser.remedies.settings import settings
from gcexp_adviser.remedies.terms import Terms
from gcexp_adviser.remedies.verdict import NOTHING, UNKNOWN, Answer, Comparison

if TYPE_CHECKING:
    from gcexp_adviser.remedies.trained import Trained

_TOLD = (
    "verdict",
    "sentence",
    "scheme",
    "ratio",
    "low",
    "high",
    "bound",
    "mean_as_written",
    "phi",
    "depends",
)
_BY_PHI = ("phi", "verdict", "remedy", "ratio", "low", "high", "bound", "capacity", "reason")


@dataclass(frozen=True, repr=False)
class Advice(Conclusion):
    """What `gcexp.advise` says; it prints its sentences, a notebook shows it, and ``table`` is its settings as a frame.

    It is a conclusion from recorded times, in words, as a page and as files.

    Attributes
    ----------
    trained : Trained, optional
        Which scheme reaches a score first, where a task was named.
    otherwise : dict
        The advice where missing rows are taken in another way than as late, by that way in words.
    """

    trained: Trained | None = None
    otherwise: dict[str, Advice] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        ratio = ""
        if self.main.advised and self.verdict == self.main.verdict:
            interval = f"{percent(self.low)} to {percent(self.high)}"
            ratio = f", with phi {self.main.phi:.3g} {percent(self.ratio)} of waiting for all ({interval})"
        return f"<Advice for {self.recorded.trace.name}: {self.verdict}{ratio}>"

    @property
    def sentences(self) -> list[str]:
        """The whole story: what was read, what makes workers slow, what to set, and what cannot be said."""
        page = self.page()
        sentences = list(page.sentences)
        for of_section in page.sections.values():
            sentences += of_section
        return sentences

    @property
    def sentence(self) -> str:
        """The verdict in one or two sentences."""
        return advice_in_words.sentence(self)

    def page(self) -> Page:
        """Sentences, settings, what the verdict rests on, and what would change it."""
        return self._page

    @cached_property
    def _page(self) -> Page:
        return advice_in_words.page(self, self.trained, self.otherwise)

    @property
    def without_missing(self) -> Advice | None:
        """The advice where iterations with missing rows are left out, in place of taking these rows as late."""
        return self.otherwise.get(LEFT_OUT)

    def _repr_html_(self) -> str:
        return self.page().html()

    def as_dict(self) -> dict[str, Any]:
        """What stands in ``advice.json``."""
        facts = dict(self.recorded.facts)
        for name in _TOLD:
            facts[name] = getattr(self, name)
        facts["settings"] = self.table.drop(columns="never_used").to_dict("records")
        facts["gap"] = self.main.gap
        facts["phi_measured"] = self.measured
        facts["by_phi"] = [_facts_of(answer) for answer in self.answers]
        facts["terms"] = asdict(self.comparison.terms) | {"seed": self.comparison.seed}
        facts["since_iteration"] = self.recorded.iteration(self.since)
        facts["sentences"] = self.sentences
        facts["notes"] = self.page().notes
        facts["diagnosis"] = {
            "found": self.diagnosis.found,
            "unsure": self.diagnosis.unsure,
            "mechanisms": self.diagnosis.table.to_dict("records"),
        }
        if self.without_missing:
            facts["verdict_without_missing"] = self.without_missing.verdict
        if self.trained:
            facts["task"] = self.trained.as_dict()
        return facts

    def write(self, folder: Path | str) -> list[Path]:
        """Write ``advice.html``, which has all in it, ``advice.json``, ``advice.md`` and ``advice.png``."""
        from gcexp_adviser.diagnosis.pictures import of_fit  # matplotlib is slow to import
        from gcexp_adviser.remedies.pictures import of_advice

        page = self.page()
        text = page.markdown("advice.png")
        if self.recorded.trace.source and self.recorded.absent != SAMPLED:
            command = f"`{shlex.join(['gcexp', 'benchmark', self.recorded.trace.source, '-o', str(folder)])}`"
            text += (
                f"\nAll schemes and bounds on these times: [the map](benchmark.md), which {command} writes.\n"
            )
        causes = of_fit(self.diagnosis, "What makes the workers slow", "")
        pictures = [of_advice(self, page.title), causes]
        return write(Path(folder), "advice", page, text, self.as_dict(), pictures)

    def write_scheme(self, path: Path | str) -> str:
        """Write the advice as a scheme option, where there is one and no file yet, and return the line that runs it."""
        import yaml

        path = Path(path)
        if self.recorded.absent == SAMPLED:
            raise UserError(
                f"{path}: no scheme can be written, since a replay has the same workers in each iteration"
            )
        if self.plan is None or self.verdict == NOTHING:
            raise UserError(f"{path}: there is no scheme to write; the verdict is: {self.verdict}")
        require(not path.exists(), f"{path} is there already; name another file")
        head = (
            f"# @package _global_\n# {advice_in_words.described(self, self.plan)}.\n"
            f"# Advised by: {shlex.join(['gcexp', 'advise', self.recorded.trace.source, f'phi={self.main.phi:g}'])}\n"
            f"# Times of sha256 {self.recorded.facts['sha256']}\n"
        )
        options = self.plan.options(self.comparison.terms.data_bound)
        option: dict[str, Any] = {
            "defaults": [{f"override /{group}": name} for group, (name, _) in options.items()],
            "exact": True,
        }
        for group, (_, keys) in options.items():
            if keys:
                option[group] = keys
        write_text(path, head + yaml.safe_dump(option, sort_keys=False))
        return shlex.join(["gcexp", "run", f"scheme={path.stem}", *self.replayed(self.plan)])


def advise(
    source: object,
    phi: object = None,
    *,
    d_max: float = 4.0,
    overhead: float = 0.0,
    per_message: float = 0.001,
    late: str = "stop",
    slowness: str = "worker",
    moves: bool = False,
    task: str | None = None,
    level: float | None = None,
    seeds: int = 10,
    allow_bias: bool = False,
    absent: Absent | None = None,
    timeout: float | None = None,
    barrier: str = "check",
    near: float = 0.01,
    least: float = 0.02,
    seed: int = 0,
    **log: Any,
) -> Advice:
    """Advise on a cluster whose times were recorded: code, rebalance, exclude a worker, or do nothing.

    Every remedy is learned on one half of the trace and priced on the other, and the other way. The verdict is *do
    nothing* unless the gain is at least `least` with its interval clear of 1.

    Parameters
    ----------
    source : path, name of a bundled trace, DataFrame or array
        As in `gcexp.fit`.
    phi : float, "low,high" or pair of float, optional
        Share of the time that does not grow with the load; by default it is measured where the trace allows it, and
        else the range from 0 to 1 is answered.
    d_max, overhead, per_message, late, slowness, moves, near, least : optional
        The terms on which remedies are compared, see `gcexp_adviser.remedies.terms.Terms`.
    task, level : str and float, optional
        A learning task and a score: which scheme reaches it first? Then schemes are trained on the replayed trace.
    seeds : int
        Of that training.
    allow_bias : bool
        Whether a scheme may win that hardly ever uses the data of some worker.
    absent, timeout, barrier, seed
        As in `gcexp.fit`. Late rows are priced as `gcexp.traces.missing.as_late` says; where the verdict depends on
        what missing rows are taken for, the first sentence says so. Where workers are sampled, each iteration is that
        of the workers who were asked, and remedies are learned and priced on these.
    **log
        What is said of the log: ``columns``, ``unit``, ``decimal``, ``pattern`` (`gcexp_adviser.logs.how.how_given`).

    Returns
    -------
    Advice

    Raises
    ------
    UserError
        For a broken trace, one worker, and options outside what they may be.

    Examples
    --------
    >>> import gcexp
    >>> advice = gcexp.advise("bytedance-AR-dp", phi=0.5)
    >>> advice.verdict, round(advice.ratio, 3), advice.scheme[:2]
    ('rebalance', 0.52, ['code=uncoded', 'wait=decodable'])
    """
    terms = Terms(d_max, overhead, per_message, late, slowness, moves, near, least)
    together = (task is None) == (level is None)
    require(together, "task and level belong together: a task, and the score it is to reach")
    record = read(source, how_of(log, advise))
    if absent == SAMPLED:
        _require_what_sampled_workers_can(terms, task)
    if task is not None:
        _require_replayable(record)
    found = advice_on(record, ways_of(record, absent, timeout), terms, phi, barrier, seed)
    if task is None or level is None:
        return found
    from gcexp_adviser.remedies.trained import fastest_to  # what trains is slow to import

    return replace(found, trained=fastest_to(found, task, level, seeds, allow_bias))


def _require_what_sampled_workers_can(terms: Terms, task: str | None) -> None:
    """Refuse terms that need all workers in every iteration."""
    fits = terms.late == "stop" and not terms.data_bound and not terms.moves and task is None
    require(
        fits,
        "absent=sampled prices each iteration on the workers that were asked in it, without a clock that runs from one "
        "to the next: leave out late=, slowness=, moves=, task= and level=",
    )


def _require_replayable(record: TraceFile) -> None:
    """Refuse to train on times that no run can replay."""
    if not record.source:
        raise UserError("task and level replay a file: write the times as CSV and name it")
    if not record.replayable:
        raise UserError(
            f"task and level replay a clean record: gcexp trace import {record.source} -o {CLEAN} makes one, which "
            "gcexp advise then takes"
        )


def advice_on(
    record: TraceFile, ways: Sequence[Way], terms: Terms, phi: object, barrier: str = "check", seed: int = 0
) -> Advice:
    """Advice on a record whose missing rows are taken in the first of some ways, beside that in the others.

    What it rests on is said in `gcexp.advise`; the ways are those of `gcexp_adviser.diagnosis.recorded.ways_of`.
    """
    answers: dict[str, Advice] = {}
    for way in ways:
        try:
            answers[way.how] = _advised(recorded_in(record, way, barrier, seed), terms, phi)
        except UserError:
            if way is ways[0]:
                raise
            # too little is left without the iterations with missing rows
    main = answers.pop(ways[0].how)
    return replace(main, otherwise=answers)


def _advised(times: Recorded, terms: Terms, phi: object) -> Advice:
    """Advice from recorded times, for what holds now; it acts only on what is certain."""
    if times.too_little:
        raise ParameterError(times.too_little)
    x = times.x
    seed = times.seed
    levels = times.levels
    now = x[levels.now :]
    if phi is None:
        phis, measured = _measured(times.phi)
    else:
        phis, measured = _given(phi), False
    as_recorded = Comparison(now, terms, seed)
    comparison = as_recorded
    main = len(phis) // 2
    if_it_comes_again = None
    if levels.uncertain.any():
        certain = Comparison(now / np.exp(levels.uncertain[levels.now :]), terms, seed)
        if_it_comes_again = as_recorded.answer(phis[main], both_halves=False)
        comparison = certain
    return Advice(
        recorded=times,
        comparison=comparison,
        answers=tuple(_held_in(comparison.answer(value), comparison, x, levels.recent) for value in phis),
        table=settings(now, phis, None if comparison is as_recorded else comparison.x),
        measured=measured,
        as_recorded=as_recorded,
        if_it_comes_again=if_it_comes_again,
        whole=Comparison(x, terms, seed).answer(phis[main]) if levels.now else None,
    )


def _facts_of(answer: Answer) -> dict[str, Any]:
    """What ``advice.json`` tells of the answer at one phi."""
    return {name: getattr(answer, name) for name in _BY_PHI}


def _held_in(answer: Answer, compared: Comparison, x: np.ndarray, recent: tuple[Change, ...]) -> Answer:
    """An answer, but for remedies that would be slower than waiting since a worker of x (T, n) has recovered."""
    recovered = [change.row for change in recent if change.factor.value < 1]
    if not answer.advised or not recovered:
        return answer
    since = x[min(recovered) :]
    taken = answer.plan.times(since, [answer.phi], compared.terms.late, compared.terms.data_bound).mean()
    waiting = longest(since).mean() + compared.extra(Remedy("wait"))
    if taken + compared.extra(answer.pick.remedy) <= waiting:
        return answer
    reason = f"in the last {counted(len(since), 'iteration')}, since a worker has recovered, the remedy would be slower"
    return replace(answer, verdict=UNKNOWN, reason=f"{reason} than waiting")


def _given(phi: object) -> tuple[float, ...]:
    """Shares at which to answer where a share or its range is given: a range at its ends and in the middle."""
    low, *high = share(phi)
    return (low, (low + high[0]) / 2, high[0]) if high else (low,)


def _measured(phi: Number | None) -> tuple[tuple[float, ...], bool]:
    """Shares at which to answer by what the times say of it, and whether they were measured."""
    if phi is None:
        return (0.0, 0.5, 1.0), False
    if phi.low is None or phi.high is None or not phi.low < phi.value < phi.high:
        return (phi.value,), True
    return (phi.low, phi.value, phi.high), True
