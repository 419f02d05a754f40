"""The times of one rank's steps, from the events of its profiler traces.

The all-reduce makes all ranks end a step together, so the durations of steps say nothing about single ranks. What a
rank takes by itself lies between its step mark and the launch of its last gradient collective. Where gradients are
accumulated, as with ``no_sync``, it begins with the mark of the first step behind the last one with a collective: a
rank that is slow in a step without one holds the others up in the step that has one. Only differences between times
of one rank are taken: the clocks of ranks are never compared.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from gcexp.errors import DataError
from gcexp_adviser.profiler.kineto_events import Events, Launch, sorted_array

_MICROSECONDS = 1e-6


@dataclass(frozen=True)
class Step:
    """What a rank took for a step, in seconds, or why that cannot be said.

    Attributes
    ----------
    number : int
    first : int
        The number of the step with whose mark `time` begins: its own, or that of the first step behind the last one
        with a gradient collective.
    is_preceded : bool
        Whether the step before `first` is in the file, so that all steps since the last collective are.
    from_update : bool
        Whether `time` begins with the end of the optimiser's step, since the mark lies between the forward and the
        backward pass.
    time : float
        From the mark of the step `first` to the launch of the last gradient collective.
    compute : float, optional
        The part of it from the first forward operation on; None where no forward pass is seen.
    collectives : int
        Of gradients; 0 for a step without.
    waits_for : tuple of str
        Collectives that precede the last backward pass, so that `time` would hold the waiting for other ranks.
    after_backward : bool
        Whether the gradients are reduced after the backward pass, not during it. `time` then ends with the first of
        these collectives, since the others wait for it.
    unmarked_forward : bool
        Whether `compute` begins with the first operation, because nothing marks the forward pass.
    buffers : float
        Seconds of waiting for buffers that another rank broadcast, which are not in `time`.
    cut_off : bool
        Whether the recording ended before the step did.
    """

    number: int
    first: int
    is_preceded: bool = False
    from_update: bool = False
    time: float = 0.0
    compute: float | None = None
    collectives: int = 0
    waits_for: tuple[str, ...] = ()
    after_backward: bool = False
    unmarked_forward: bool = False
    buffers: float = 0.0
    cut_off: bool = False

    @property
    def length(self) -> int:
        """The number of steps that `time` spans."""
        return self.number - self.first + 1

    @property
    def is_usable(self) -> bool:
        """Whether its time is what the rank took by itself."""
        return bool(self.collectives) and not self.waits_for and not self.cut_off


@dataclass(frozen=True)
class _Mark:
    """The mark of a step, or of several joined ones: numbers of the first and the last, begin and end."""

    first: int
    number: int
    began: float
    ended: float
    is_preceded: bool = False
    from_update: bool = False


def steps_of(events: Events) -> list[Step]:
    """The steps of a file in their order; the last one may be cut off.

    Raises
    ------
    DataError
        Where the marks lie between a forward and its backward pass, and no step of an optimiser is recorded.
    """
    timeline = _Timeline(events)
    marks = [_Mark(number, number, began, ended) for number, began, ended in events.steps]
    marks.sort(key=lambda mark: mark.began)
    if timeline.reduces_before_forward(marks):
        marks = _between_updates(marks, events)
    else:
        marks = _between_collectives(marks, timeline)
    return _with_last_cut_off([timeline.step(mark) for mark in marks])


def _between_collectives(marks: list[_Mark], timeline: _Timeline) -> list[_Mark]:
    """The marks, each of which begins with the first of the steps since the last one with a gradient collective."""
    joined: list[_Mark] = []
    goes_on = False  # whether the step before has no collective, so that this one belongs to the same update
    for mark in marks:
        follows = bool(joined) and joined[-1].number == mark.number - 1
        if follows and goes_on:
            before = joined[-1]
            joined.append(
                replace(mark, first=before.first, began=before.began, is_preceded=before.is_preceded)
            )
        else:
            joined.append(replace(mark, is_preceded=follows))
        goes_on = not timeline.reduces(mark)
    return joined


def _between_updates(marks: list[_Mark], events: Events) -> list[_Mark]:
    """Marks from the end of one step of the optimiser to that of the next one; both lie behind a step's mark."""
    ends = np.sort(events.updates)
    places = np.searchsorted([mark.began for mark in marks], ends, side="right") - 1
    joined: list[_Mark] = []
    for before, now, began, ended in zip(places[:-1], places[1:], ends[:-1], ends[1:], strict=True):
        first, last = marks[before], marks[now]
        if before >= 0 and now > before and last.number - first.number == now - before:
            joined.append(_Mark(first.number + 1, last.number, float(began), float(ended), True, True))
    if not joined:
        raise DataError(
            f"the step marks of {events.path.name} lie between the forward and the backward pass, as where "
            "training_step of Lightning returns, and no Optimizer.step shows where a step ends: call profiler.step() "
            "in on_train_batch_end, for which a callback with a torch.profiler.profile of its own is enough"
        )
    return joined


def _with_last_cut_off(steps: list[Step]) -> list[Step]:
    """Steps of which the last one counts as cut off if it has fewer collectives than usual."""
    counts = Counter(step.collectives for step in steps[:-1] if step.collectives)
    if not counts:
        return steps
    usual = counts.most_common(1)[0][0]
    last = steps[-1]
    if last.collectives < usual:
        steps[-1] = replace(last, cut_off=True)
    return steps


class _Timeline:
    """Events of a file in the order of their times, from which the events of a step are taken."""

    def __init__(self, events: Events):
        self._launches = sorted(events.launches, key=lambda launch: launch.began)
        self._launch_begins = np.array([launch.began for launch in self._launches])
        self._forward = sorted_array(events.forward)
        self._flows = sorted_array(events.flows)
        self._operations = sorted_array(events.operations)
        self._backward_begins = sorted_array(events.backward_begins)
        self._backward_ends = sorted_array(events.backward_ends)
        self._not_computing = sorted(events.not_computing)

    def reduces(self, mark: _Mark) -> bool:
        """Whether a gradient collective is launched in a step."""
        return any(launch.of_gradients for launch in self._launched(mark.began, mark.ended))

    def reduces_before_forward(self, marks: list[_Mark]) -> bool:
        """Whether all steps with both launch their gradient collectives before the first forward operation."""
        forward = self._forward if len(self._forward) else self._flows
        comes_first = []
        for mark in marks:
            passes = _between(forward, mark.began, mark.ended)
            launches = self._launched(mark.began, mark.ended)
            of_gradients = [launch.began for launch in launches if launch.of_gradients]
            if of_gradients and len(passes):
                comes_first.append(of_gradients[-1] < passes[0])
        return bool(comes_first) and all(comes_first)

    def _launched(self, began: float, ended: float) -> list[Launch]:
        """The launches in a span."""
        first, behind = np.searchsorted(self._launch_begins, [began, ended])
        return self._launches[first:behind]

    def step(self, mark: _Mark) -> Step:
        """A step from its mark's begin to its end."""
        began, ended = mark.began, mark.ended
        nothing = Step(mark.number, mark.first, mark.is_preceded, mark.from_update)
        written = self._launched(began, ended)
        launches = _outermost(written)
        of_gradients = [launch for launch in launches if launch.of_gradients]
        if not of_gradients:
            return nothing

        backward_ends = _between(self._backward_ends, began, ended)
        in_backward = of_gradients
        if len(backward_ends):
            in_backward = [launch for launch in of_gradients if launch.began < backward_ends[-1]]
        after_backward = not in_backward
        last = of_gradients[0] if after_backward else in_backward[-1]
        collectives = len(of_gradients) if after_backward else len(in_backward)

        waits_for = self._waits_for(launches, began, last)
        if waits_for:
            return replace(nothing, collectives=collectives, waits_for=waits_for)

        computing, is_marked = self._computing_from(began, last.began)
        buffers = _wait_for_buffers(written, began, last.began)
        time = last.began - began - buffers
        compute = None
        if computing is not None:
            waited = _wait_for_buffers(written, computing, last.began)
            compute = (last.began - computing - waited) * _MICROSECONDS
        return replace(
            nothing,
            time=time * _MICROSECONDS,
            compute=compute,
            collectives=collectives,
            after_backward=after_backward,
            unmarked_forward=compute is not None and not is_marked,
            buffers=buffers * _MICROSECONDS,
        )

    def _waits_for(self, launches: list[Launch], began: float, last: Launch) -> tuple[str, ...]:
        """Kinds of collectives, but for broadcasts of buffers, that precede the backward pass of the last one."""
        last_forward = began
        passes = _between(self._forward, began, last.began)
        if len(passes):
            last_forward = passes[-1]
        backward = _between(self._backward_begins, last_forward, last.began)
        backward_began = backward[0] if len(backward) else inf
        kinds = set()
        for launch in launches:
            before_backward = launch.began < min(backward_began, last.began)
            known_backward = len(backward) or not launch.of_gradients
            if before_backward and known_backward and launch.kind != "broadcast":
                kinds.add(launch.kind)
        return tuple(sorted(kinds))

    def _computing_from(self, began: float, ended: float) -> tuple[float | None, bool]:
        """When the first forward operation began, and whether a forward pass is marked there."""
        for marks in (self._forward, self._flows):
            marked = _between(marks, began, ended)
            if len(marked):
                return float(marked[0]), True
        operations = _between(self._operations, began, ended)
        for from_, to in self._not_computing:
            if began <= from_ < ended:
                operations = operations[(operations < from_) | (operations > to)]
        return (float(operations[0]) if len(operations) else None), False


def _between(times: np.ndarray, began: float, ended: float) -> np.ndarray:
    """Those of the rising times that lie in a span."""
    first, behind = np.searchsorted(times, [began, ended])
    return times[first:behind]


def _outermost(launches: list[Launch]) -> list[Launch]:
    """The launches without those that tell of the same collectives once more, from further inside."""
    outermost: dict[str, int] = {}
    for launch in launches:
        outermost[launch.kind] = min(outermost.get(launch.kind, launch.written_by), launch.written_by)
    return [launch for launch in launches if launch.written_by == outermost[launch.kind]]


def _wait_for_buffers(launches: list[Launch], began: float, ended: float) -> float:
    """Microseconds of a span in which a backend on the CPU broadcast buffers; NCCL holds up no CPU."""
    waited, until = 0.0, began
    for launch in launches:
        if launch.kind == "broadcast" and launch.on_cpu and launch.began < ended:
            to = min(launch.ended, ended)
            waited += max(0.0, to - max(launch.began, until))
            until = max(until, to)
    return waited
