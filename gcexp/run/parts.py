"""What is a run made of, and what does its clock say? Its parts, each built once from its composed options.

Here a run computes, and `gcexp.run.run` puts above it how its options are composed, where its files lie and what they
depend on: so that an edit of how files are named simulates no clock again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from gcexp.errors import UserError
from gcexp.run.build import build, is_redrawn
from gcexp.run.scheme import Codes, build_scheme
from gcexp.run.seeds import check_count, check_horizon, seed_list

if TYPE_CHECKING:  # codes and torch are imported only where a run uses them
    from gcexp.delays.base import DelayModel
    from gcexp.schemes.scheme import Scheme
    from gcexp.tasks import Optimizer, Task
    from gcexp.timeline import Timeline


#: Options that name parts of a run, in the order in which names of its files have them.
PARTS = ("scheme", "delay", "task", "optimizer")


class Parts:
    """The scheme, delay model, task and optimiser of a composed run, its length and its clock.

    Attributes
    ----------
    config : dict
        The composed options; an object that was built in Python stands in the place of its option.
    label : str
        What a figure or a table calls it.
    codes : Codes
        Where its codes are built, which several runs may share.
    """

    config: dict
    label: str
    codes: Codes

    @cached_property
    def scheme(self) -> Scheme:
        """Code and waiting rule. A code that is drawn for each seed has here the seed of its option."""
        return build_scheme(self.config, codes=self.codes)

    def scheme_of(self, seed: int) -> Scheme:
        """The scheme of one seed."""
        if self.is_redrawn:
            return build_scheme(self.config, seed, self.codes)
        return self.scheme

    def schemes(self) -> Iterator[tuple[Scheme, tuple[int, ...]]]:
        """Each scheme with its seeds: one of all seeds, or one of each seed where the code is drawn for it."""
        if not self.is_redrawn:
            yield self.scheme, self.seeds
            return
        for seed in self.seeds:
            yield self.scheme_of(seed), (seed,)

    @cached_property
    def is_redrawn(self) -> bool:
        """Whether an assignment in the code is random, so that each seed draws one."""
        return is_redrawn(self.config)

    @cached_property
    def delay_model(self) -> DelayModel:
        """When workers finish."""
        return build(self.config, "delay")

    @cached_property
    def task(self) -> Task:
        """What is learned."""
        return build(self.config, "task")

    @cached_property
    def optimizer(self) -> Optimizer:
        """How the model is updated."""
        return build(self.config, "optimizer")

    def release(self) -> None:
        """Forget the parts that were built, which take memory; they are built again where they are needed."""
        for name in ("scheme", "delay_model", "task", "optimizer"):
            vars(self).pop(name, None)

    @property
    def iterations(self) -> int:
        """Iterations of each seed at most."""
        return check_count("iterations", self.config["iterations"])

    @property
    def horizon(self) -> float | None:
        """Simulated time at which a seed ends, if it has one."""
        return check_horizon(self.config["horizon"])

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """The seeds themselves."""
        return seed_list(self.config["seeds"])

    @property
    def exact(self) -> bool:
        """Whether every coefficient is 1, so that the run learns what all exact runs of its task learn.

        The scheme declares it, here and nowhere else; `clock` refuses a timeline that says otherwise.
        """
        return bool(self.config["exact"]) and self.config.get("decodes", True)

    @property
    def decodes(self) -> bool:
        """Whether gradients are decoded: neither a bound nor a clock only."""
        return not self.config["bound"] and self.config.get("decodes", True)

    def clock(self, tell: Callable[[int], object] | None = None) -> Timeline:
        """Simulate the run; `tell` as of `gcexp.timeline.run_clock`.

        Raises
        ------
        UserError
            If the scheme declares itself exact, and a coefficient is not 1.
        """
        from gcexp.timeline import joined, run_clock

        parts = []
        for scheme, seeds in self.schemes():
            parts.append(run_clock(scheme, self.delay_model, seeds, self.iterations, tell=tell))
        timeline = joined(parts) if len(parts) > 1 else parts[0]
        self._require_exact(timeline)
        if self.horizon is None:
            return timeline
        return timeline.until(self.horizon)

    def _require_exact(self, timeline: Timeline) -> None:
        """Refuse a clock with a coefficient that is not 1 where the scheme declares itself exact."""
        if not self.exact or (timeline.coefficients == 1).all():
            return
        sentence = (
            "the scheme declares exact: true, but its timeline has a coefficient that is not 1; set exact=false "
            "(in a figure file exact: false)"
        )
        if self.label:
            sentence = f"{self.label}: {sentence}"
        raise UserError(sentence)
