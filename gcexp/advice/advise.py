"""``gcexp advise``: what to set on a cluster whose times were recorded, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from gcexp.advice.page import Page, counted, percent, write
from gcexp.advice.phi import share
from gcexp.advice.recorded import Recorded, recorded
from gcexp.advice.remedies import KINDS, Plan, Remedy
from gcexp.advice.settings import settings
from gcexp.advice.verdict import (
    CODE,
    DEPENDS,
    LEAST_ROWS,
    NOTHING,
    REBALANCE,
    UNKNOWN,
    Answer,
    Comparison,
)
from gcexp.errors import UserError, require, require_known
from gcexp.figures.rows import listed
from gcexp.files import write_text
from gcexp.schemes import LATE

if TYPE_CHECKING:
    from gcexp.advice.trained import Trained

_CHANGED = 0.15
_TOLD = "verdict sentence scheme ratio low high bound mean_as_written phi depends".split()
_BY_PHI = "phi verdict remedy ratio low high bound capacity reason".split()


@dataclass(frozen=True)
class Advice:
    """What `gcexp.advise` says; a notebook shows it, and ``table`` has its settings as a frame.

    Attributes
    ----------
    recorded : Recorded
        The times.
    comparison : Comparison
        What was compared, and by which rules.
    answers : tuple of Answer
        One for each phi that was looked at: the one that is known, or the ends and the middle of a range.
    table : DataFrame
        The settings, see `gcexp.advice.settings.settings`.
    measured : bool
        Whether phi was measured.
    trained : Trained, optional
        Which scheme reaches a score first, where a task was named.
    """

    recorded: Recorded
    comparison: Comparison = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)
    table: pd.DataFrame = field(repr=False)
    measured: bool
    trained: Trained | None = None

    @property
    def main(self) -> Answer:
        """The answer at the phi that is known, or in the middle of its range."""
        return self.answers[len(self.answers) // 2]

    @property
    def verdict(self) -> str:
        """``do nothing``, ``rebalance``, ``code``, ``depends on phi`` or ``not enough data``."""
        words = {answer.verdict for answer in self.answers}
        return self.main.verdict if len(words) == 1 else DEPENDS

    @property
    def ratio(self) -> float:
        """Mean iteration of the best simple remedy over that of waiting for all, at the main phi."""
        return self.main.ratio

    @property
    def low(self) -> float:
        """Lower end of the ratio's 95 % interval."""
        return self.main.low

    @property
    def high(self) -> float:
        """Upper end of it."""
        return self.main.high

    @property
    def bound(self) -> float:
        """No exact scheme within the memory has a smaller ratio: certified, on these rows."""
        return self.main.bound

    @property
    def phi(self) -> float | list[float]:
        """The share of the time that does not grow with the load, or its range."""
        return self.main.phi if len(self.answers) == 1 else [self.answers[0].phi, self.answers[-1].phi]

    @property
    def plan(self) -> Plan | None:
        """What is to be run, learned from the whole trace; None where nothing definite is advised."""
        if self.verdict == NOTHING:
            return Remedy("wait").learned(self.recorded.x)
        return self.main.plan if self.verdict in (REBALANCE, CODE) else None

    @property
    def scheme(self) -> list[str] | None:
        """Overrides with which `gcexp run` plays the advice on this trace."""
        return None if self.plan is None else self.playing(self.plan)

    def playing(self, plan: Plan) -> list[str]:
        """Overrides of a plan and of its replay."""
        return [*plan.overrides(self.comparison.data_bound), *self.replayed(plan)]

    def replayed(self, plan: Plan) -> list[str]:
        """Overrides that replay the trace for a plan; of times in memory only how many workers there are."""
        trace, compared = self.recorded.trace, self.comparison
        given = [f"n={len(trace.workers)}"]
        if not self.recorded.source:
            return given
        given += ["delay=trace", f"delay.file={self.recorded.source}", f"delay.phi={self.main.phi:.12g}"]
        if compared.data_bound:
            who = ",".join(str(trace.workers[w]) for w in plan.workers)
            given += ["delay.data_bound=true", f"delay.workers=[{who}]"]
        return given + ([f"late={compared.late}"] if compared.late != "stop" else [])

    @property
    def mean_as_written(self) -> float | None:
        """Mean iteration of `scheme` on the whole trace, which `gcexp simulate` gives as well."""
        if self.plan is None:
            return None
        how = self.comparison.late, self.comparison.data_bound
        return float(self.plan.times(self.recorded.every, [self.main.phi], *how).mean())

    @cached_property
    def depends(self) -> list[dict[str, Any]]:
        """The nearest changes of phi, message cost and memory that would change the kind of remedy."""
        return [] if self.verdict == UNKNOWN else self.comparison.changes(self.main.phi)

    @property
    def sentence(self) -> str:
        """The verdict in one or two sentences."""
        main, pick = self.main, self.main.pick
        if self.verdict == DEPENDS:
            parts = [f"phi {one.phi:g}: {_short(one)}" for one in self.answers]
            phi = self.recorded.named_phi
            return f"It depends on {phi}, the share of the time that does not grow with the load: {'; '.join(parts)}."
        if self.verdict == UNKNOWN:
            return (
                f"There is not enough data for advice: {main.reason}. The best so far is this, at "
                f"{percent(pick.ratio, 1)} of waiting for all ({_interval(main)}): {self._described(main.plan)}."
            )
        if self.verdict == NOTHING:
            best, that = pick, "the best remedy"
            if pick.remedy.kind == "wait":
                best, that = main.runner_up, "the best other remedy"
            return (
                f"Do nothing: keep waiting for all workers of {self.recorded.trace.name}; {that}, "
                f"{KINDS[best.remedy.kind]}, takes {percent(best.ratio, 1)} of that, and a gain below "
                f"{percent(self.comparison.least)} is not worth it."
            )
        said = self._described(main.plan)
        said = f"Use redundancy: {said}" if self.verdict == CODE else said[0].upper() + said[1:]
        ratio = percent(pick.ratio)
        return f"{said}. Expected time per iteration: {ratio} of waiting for all ({_interval(main)})."

    def _described(self, plan: Plan) -> str:
        """What a plan is, with the names of its workers."""
        remedy, size, s = plan.remedy, plan.remedy.size, plan.remedy.s
        names = self.recorded.named(plan.workers)
        if remedy.kind == "wait":
            return "wait for all workers"
        if remedy.kind == "exclude":
            out = self.recorded.named((plan.shares == 0).nonzero()[0])
            many = "s" * (len(out) > 1)
            return f"exclude worker{many} {listed(out)}, and share their data among the others"
        if remedy.order == "recent":
            return "rebalance before every iteration, by the mean times of the last 20"
        if remedy.kind == "rebalance":
            shares = ", ".join(f"{share:.2f}" for share in plan.shares)
            return f"rebalance: give the workers {shares} of an even share"
        if remedy.kind == "chunks":
            return (
                f"chunks: each worker computes its own share and then those of the next {size - 1} on the ring "
                f"{' '.join(names)}, with a message for each; the first copy of a share counts"
            )
        groups = [names[first : first + size] for first in range(0, len(names), size)]
        if size == 2:
            return f"fractional repetition with pairs {', '.join('-'.join(pair) for pair in groups)}"
        if len(groups) == 1:
            return f"one group of all workers in which s = {s} need not be waited for (load {s + 1})"
        code = "fractional repetition" if s == size - 1 else "cyclic repetition inside each group"
        return f"groups of {size} with s = {s}, {code}: {'; '.join(' '.join(group) for group in groups)}"

    def page(self) -> Page:
        """Sentences, settings, what the verdict rests on, and what would change it."""
        sentences = [self.sentence, *self._limits(), self._setting()]
        tables = {"Settings, chosen on the first half and judged on the second": self._settings_in_words()}
        if len(self.answers) > 1:
            rows = [
                (f"{one.phi:g}", one.verdict, KINDS[one.remedy])
                + (f"{percent(one.ratio, 1)} ({_interval(one)})", percent(one.bound, 1))
                for one in self.answers
            ]
            columns = ["phi", "verdict", "best remedy", "time", "bound"]
            tables[f"The verdict by {self.recorded.named_phi}"] = pd.DataFrame(rows, columns=columns)
        if self.trained:
            sentences.insert(0, self.trained.sentence)
            heading = f"Time to {self.trained.level:g} on {self.trained.task}"
            tables = {heading: self.trained.runs.drop(columns="reached")} | tables
        title = f"Advice for {self.recorded.trace.name}"
        return Page(title, sentences, tables, [*self._mind(), *self._rests_on()])

    def _settings_in_words(self) -> pd.DataFrame:
        """The settings as they are read, with units."""
        unit, rows = self.recorded.trace.flags.unit or "", []
        unit = unit if len(unit) < 4 else ""  # a longer one is a description
        for one in self.table.itertuples():
            row = {"setting": one.setting, "value": f"{one.value:g}"}
            if one.setting == "timeout":
                row = {"setting": f"timeout, drops at most {percent(one.limit, 1)}"}
                row["value"] = f"{one.value:.6g} {unit}".rstrip()
            elif one.setting == "spare":
                row["setting"] = f"spare workers, phi {one.phi:g}"
            shares = ("time", "used", "least_used_worker", "worst_iteration")
            row |= {name: percent(getattr(one, name), 1) for name in shares}
            rows.append(row | {"remark": one.remark})
        return pd.DataFrame(rows)

    def _limits(self) -> Iterator[str]:
        """What is proven to be out of reach, and the runner-up."""
        main, compared = self.main, self.comparison
        if not main.advised or self.verdict == DEPENDS:
            return
        limits, least = f"No exact scheme whose workers store at most {compared.d_max:g} shares", main.bound
        if main.capacity is not None:
            load = main.pick.remedy.load(self.comparison.n)
            limits, least = f"No exact code of one message with load {load:g}", main.capacity
        runner = main.runner_up
        slower = (main.pick.times < runner.times).mean()
        yield (
            f"{limits} can be faster than {percent(least, 1)}; the runner-up, {KINDS[runner.remedy.kind]}, "
            f"reaches {percent(runner.ratio, 1)} and is slower in {percent(slower)} of the iterations."
        )

    def _setting(self) -> str:
        """The timeout or quorum that saves most among those that may be recommended."""
        usual = self.table[(self.table["setting"] != "spare") & (self.table["remark"] == "")]
        usual = usual[usual["time"] < 1 - self.comparison.least]
        if usual.empty:
            return "No timeout and no quorum saves time without dropping more than it should."
        best = usual.loc[usual["time"].idxmin()]
        unit = self.recorded.trace.flags.unit or "(the trace's unit)"
        unit = "workers" if best["setting"] == "quorum" else unit
        return (
            f"If gradients may be dropped: a {best['setting']} of {best['value']:.4g} {unit} takes "
            f"{percent(best['time'])} of waiting for all, uses {percent(best['used'], 1)} of the gradient and "
            f"{percent(best['least_used_worker'], 1)} of the data of the worker that is heard least."
        )

    def _mind(self) -> Iterator[str]:
        """What would change the verdict, in sentences."""
        for one in self.depends:
            side, at = "Below" if one["below"] else "Above", one["at"]
            change = {
                "phi": f"{side} {self.recorded.named_phi} = {at:.3g}",
                "per_message": f"{side} {at:.2g} of a mean iteration per message",
                "d_max": f"With memory for {counted(round(at), 'share')} per worker",
            }[one["what"]]
            yield f"{change} the best remedy would be {KINDS[one['then']]}."
        if not self.depends and self.verdict != UNKNOWN:
            yield "No phi, no message cost up to 5 % of an iteration and no smaller memory changes the kind of remedy."
        yield self._phi_is_known()

    def _phi_is_known(self) -> str:
        """Whether phi was measured, and if not, what would measure it."""
        recorded = self.recorded
        name, several = recorded.named_phi, recorded.loads.several
        if self.measured:
            told = f": {recorded.phi}" if several else ""
            return f"{name} was measured in this trace{told}."
        if several and recorded.phi is not None:
            return f"{name} is given; from the loads of this trace it would be {recorded.phi}."
        if several:
            return f"{name} is assumed, not measured: {recorded.phi_unknown}."
        return (
            "phi is assumed, not measured: run 20 iterations with half the data as well, and give them with a column "
            "load, to measure it."
        )

    def _rests_on(self) -> Iterator[str]:
        """What the answer takes for granted, and which doubts the trace itself raises."""
        compared, x = self.comparison, self.recorded.x
        yield (
            f"This rests on {counted(len(x), 'iteration')} of {x.shape[1]} workers; each remedy was learned on one "
            f"half and priced on the other. A message costs {compared.per_message:g} of a mean iteration, overhead is "
            f"{compared.overhead:g}, and a worker can store {compared.d_max:g} shares."
        )
        yield from self.recorded.notes
        half = len(x) // 2
        change = x[half:].max(1).mean() / x[:half].max(1).mean() - 1
        if abs(change) > _CHANGED:
            word = "longer" if change > 0 else "shorter"
            yield (
                f"The cluster changed: waiting for all takes {percent(abs(change))} {word} in the second half of "
                "the trace than in the first, so that nothing that was learned early may be trusted for long."
            )
        broken = self.table[~self.table["kept_on_second_half"]]
        if len(broken):
            worst = broken.loc[(1 - broken["used"] - broken["limit"]).idxmax()]
            yield (
                f"A timeout that drops {percent(worst['limit'], 1)} of the first half drops "
                f"{percent(1 - worst['used'], 1)} of the second: the promise is not kept."
            )
        for one in self.table[self.table["setting"] == "quorum"].itertuples():
            if one.never_used:
                who = listed(self.recorded.named(one.never_used))
                yield f"Waiting for {one.value:g} workers never uses worker {who}: its data would be lost."
        if half >= LEAST_ROWS and self.verdict != DEPENDS:
            early = replace(compared, x=x[:half]).answer(self.main.phi)
            if (early.verdict, early.remedy) != (self.main.verdict, self.main.remedy):
                yield f"From the first half alone the verdict would be: {_short(early)}."
        if not compared.data_bound:
            yield (
                "A slow time is taken to belong to the worker; where it belongs to the data (slowness=data), a copy is "
                "as slow, and redundancy is flattered."
            )
        if compared.late != "stop":
            yield (
                f"Workers that were not waited for go on with their work (late={compared.late}), which delays what "
                "they do next; codes in chunks were not compared."
            )
        yield "Not modelled: contention of the network, and time of the master beyond overhead and messages."

    def _repr_html_(self) -> str:
        return self.page().html()

    def as_dict(self) -> dict[str, Any]:
        """What stands in ``advice.json``."""
        terms = vars(self.comparison).items()
        facts = {
            **self.recorded.facts,
            **{name: getattr(self, name) for name in _TOLD},
            "settings": self.table.drop(columns="never_used").to_dict("records"),
            "gap": self.main.gap,
            "phi_measured": self.measured,
            "by_phi": [{name: getattr(one, name) for name in _BY_PHI} for one in self.answers],
            "terms": {name: value for name, value in terms if isinstance(value, str | float | int)},
            "notes": list(self._rests_on()),
        }
        return facts | ({"task": self.trained.as_dict()} if self.trained else {})

    def write(self, folder: Path | str) -> list[Path]:
        """Write ``advice.json``, ``advice.md`` and ``advice.png``."""
        from gcexp.advice.pictures import of_advice

        page = self.page().markdown("advice.png")
        if self.recorded.source:
            command = f"`gcexp benchmark {self.recorded.source} -o {folder}`"
            page += (
                f"\nAll schemes and bounds on these times: [the map](benchmark.md), which {command} writes.\n"
            )
        return write(Path(folder), "advice", page, self.as_dict(), of_advice(self))

    def write_scheme(self, path: Path | str) -> str:
        """Write the advice as a scheme option, where there is one and no file yet, and return the line that runs it."""
        import yaml

        path = Path(path)
        if self.plan is None or self.verdict == NOTHING:
            raise UserError(f"{path}: there is no scheme to write; the verdict is: {self.verdict}")
        require(not path.exists(), f"{path} is there already; name another file")
        options = self.plan.options(self.comparison.data_bound)
        head = (
            f"# @package _global_\n# {self._described(self.plan)}.\n"
            f"# Advised by: gcexp advise {self.recorded.source} phi={self.main.phi:g}\n"
            f"# Times of sha256 {self.recorded.facts['sha256']}\n"
        )
        chosen = [{f"override /{group}": name} for group, (name, _) in options.items()]
        given = {group: keys for group, (_, keys) in options.items() if keys}
        option = yaml.safe_dump({"defaults": chosen, "exact": True} | given, sort_keys=False)
        write_text(path, head + option)
        return " ".join(["gcexp run", f"scheme={path.stem}", *self.replayed(self.plan)])


def _interval(answer: Answer) -> str:
    """The 95 % interval of an answer's ratio."""
    return f"{percent(answer.low)[:-2]} to {percent(answer.high)}"


def _short(answer: Answer) -> str:
    """An answer in a few words."""
    words = KINDS[answer.remedy] if answer.advised else answer.verdict
    return f"{words} ({percent(answer.ratio)})" if answer.verdict != NOTHING else words


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
    absent: str = "refuse",
    barrier: str = "check",
    near: float = 0.01,
    least: float = 0.02,
    seed: int = 0,
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
    d_max : float
        Shares of the data that a worker can store.
    overhead : float
        Time that every iteration takes besides, in the trace's unit.
    per_message : float
        Time of each message that is sent, as a share of the mean iteration of waiting for all.
    late : {"stop", "chunk", "finish", "every"}
        What workers do whose work was not waited for, see `gcexp.schemes.late`. With anything but ``stop`` only codes
        in blocks are compared with waiting, excluding and rebalancing.
    slowness : {"worker", "data"}
        Whether a slow time belongs to the worker or to its share of the data.
    moves : bool
        Whether data may move between workers from one iteration to the next.
    task, level : str and float, optional
        A learning task and a score: which scheme reaches it first? Then schemes are trained on the replayed trace.
    seeds : int
        Of that training.
    allow_bias : bool
        Whether a scheme may win that hardly ever uses the data of some worker.
    absent, barrier, seed
        As in `gcexp.fit`.
    near, least : float
        Remedies are as good as the best within this share; a gain below this one is none.

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
    require(d_max >= 1, f"d_max is a load >= 1 in traced loads, got {d_max:g}")
    require(overhead >= 0, f"overhead is a time >= 0, got {overhead:g}")
    require(per_message >= 0, f"per_message is a share >= 0 of an iteration, got {per_message:g}")
    shares = 0 <= near < 1 and 0 <= least < 1
    require(shares, f"near and least are shares in [0, 1), got {near:g} and {least:g}")
    require_known("late", late, LATE)
    require_known("slowness", slowness, ("worker", "data"))
    both = (task is None) == (level is None)
    require(both, "task and level belong together: a task, and the score it is to reach")
    times = recorded(source, absent, barrier, seed)  # type: ignore[arg-type]
    x = times.x
    alone = "has one worker: there is nothing to code and nobody to wait for"
    require(x.shape[1] >= 2, f"{times.trace.name} {alone}")
    many = f"{times.trace.name} has {counted(len(x), 'iteration')}"
    require(len(x) >= 4, f"{many}: too few to learn from one half and judge on the other")
    phis, measured = _phis(times, phi)
    comparison = Comparison(x, d_max, overhead, per_message, late, slowness, moves, near, least, seed)
    answers = tuple(comparison.answer(value) for value in phis)
    found = Advice(times, comparison, answers, settings(x, phis), measured)
    if task is None or level is None:
        return found
    from gcexp.advice.trained import fastest_to

    return replace(found, trained=fastest_to(found, task, level, seeds, allow_bias))


def _phis(times: Recorded, phi: object) -> tuple[tuple[float, ...], bool]:
    """Shares at which to answer, and whether they were measured."""
    if phi is not None:
        given = share(phi)
        return (given if len(given) == 1 else (given[0], sum(given) / 2, given[1])), False
    if times.phi is None:
        return (0.0, 0.5, 1.0), False
    known = times.phi
    if known.low is None or known.high is None or not known.low < known.value < known.high:
        return (known.value,), True
    return (known.low, known.value, known.high), True
