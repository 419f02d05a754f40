"""One scheme under one delay model, with or without a task, for some seeds: the noun of everything that runs.

A command, a rule, a figure file and a call from Python each make a `Run`, and ask it for its clock, its training and
the replay of its training.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcexp.files import read_json
from gcexp.run import paths
from gcexp.run.build import require_dotted_name, values_under
from gcexp.run.compose import compose
from gcexp.run.dependencies import stage_fingerprint
from gcexp.run.options import Folders
from gcexp.run.parts import PARTS, Parts
from gcexp.run.records import collect_reads
from gcexp.run.scheme import Codes, named_keys, numbers_of, require_same_stragglers
from gcexp.run.seeds import check_count, check_horizon, seed_list, seed_range, spell_number, spell_seeds
from gcexp.run.tokens import overrides_of, tokens_of
from gcexp.run.trainable import require_trainable
from gcexp.schema import fitted

if TYPE_CHECKING:  # codes, torch and pandas are imported only where a run uses them
    from gcexp.run.records import Seen
    from gcexp.summary import Summary
    from gcexp.tasks.checkpoint import Checkpoint
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline

_TRIED = 10  # iterations by which a scheme that declares itself exact is tried


@dataclass(frozen=True, eq=False)
class Run(Parts):
    """One scheme under one delay model, with or without a task, for some seeds.

    A run is made by `Run.of`, which composes its options and checks them, so that a run that exists can run; only what
    draws or repeats a run that was checked before leaves the checks out. It builds its scheme, delay model, task and
    optimiser once, when they are first asked for.

    Attributes
    ----------
    overrides : tuple of str
        What a person would type for this run.
    config : dict
        The composed options; an object that was built in Python stands in the place of its option.
    trains : bool
        Whether the run learns its task, or is a clock alone.
    label : str
        What a figure or a table calls it, which is no part of the run itself.
    columns : tuple of pairs
        Constant columns of its rows in a figure's table, which are the figure's own.
    codes : Codes
        Where its codes are built, which several runs may share.

    Examples
    --------
    >>> run = Run.of(["scheme=frc", "n=4", "s=1", "delay=pareto", "iterations=20", "seeds=2"], trains=False)
    >>> run.id
    'frc+.n@4+.s@1/pareto/T20/seeds0-1'
    >>> run.clock().duration.shape
    (2, 20)
    """

    overrides: tuple[str, ...]
    config: dict
    trains: bool = True
    label: str = ""
    columns: tuple[tuple[str, Any], ...] = ()
    codes: Codes = field(default_factory=Codes, repr=False)

    @classmethod
    def of(
        cls,
        overrides: Iterable[str],
        objects: Mapping[str, Any] | None = None,
        *,
        trains: bool = True,
        checked: bool = True,
        label: str = "",
        codes: Codes | None = None,
        folders: Folders | None = None,
    ) -> Run:
        """Compose a run, and check all of it.

        Parameters
        ----------
        overrides : iterable of str
            Hydra overrides such as ``scheme=frc``.
        objects : mapping, optional
            Objects from Python by the name of the group whose option they replace.
        trains : bool
            Whether the run learns its task.
        checked : bool
            Build the parts of the run, so that no mistake is left. Without it only the options are read: for what
            draws or shows a run that was checked before.
        label : str
            What a table calls it.
        codes : Codes, optional
            Where codes are built that several runs share.
        folders : tuple of str, optional
            Where options are looked for, if this is known already.

        Raises
        ------
        UserError
            For an unknown key or option, with the nearest match, and for values that the mathematics does not allow.
        """
        overrides = tuple(overrides)
        objects = dict(objects or {})
        numbers = numbers_of(objects["code"], overrides) if "code" in objects else []
        config = compose([*overrides, *numbers], folders) | objects
        return cls.of_config(config, overrides, trains=trains, checked=checked, label=label, codes=codes)

    @classmethod
    def of_config(
        cls,
        config: dict[str, Any],
        overrides: Iterable[str],
        *,
        trains: bool,
        checked: bool = True,
        label: str = "",
        codes: Codes | None = None,
    ) -> Run:
        """The run of a config that was composed before, with the overrides that are known; else as `Run.of`."""
        run = cls(tuple(overrides), config, trains, label, codes=codes or Codes())
        run._check_length()
        if trains:
            require_trainable(run.config)
        if checked:
            run.check()
        return run

    def that(self, *, trains: bool) -> Run:
        """The same run, with its training or without, checked as such."""
        return Run.of_config(self.config, self.overrides, trains=trains, label=self.label, codes=self.codes)

    def _check_length(self) -> None:
        """Refuse iterations, a horizon, seeds or a folder of data that are none."""
        fitted(str | None, self.config["data_dir"], "data_dir")
        check_count("iterations", self.config["iterations"])
        check_horizon(self.config["horizon"])
        seed_list(self.config["seeds"])

    def check(self) -> None:
        """Build all that needs no torch, and refuse an exact code that rounding spoils at its size."""
        if "s" in named_keys(self.overrides):
            require_same_stragglers(self.config, self.scheme.code)
        self.codes.require_accurate(self.scheme.code, self.config["code"])
        _ = self.delay_model
        if self.trains:
            _ = self.optimizer
            for target in values_under(self.config["task"], "_target_"):
                require_dotted_name(target, "task._target_")
            if self.exact:
                self._try_exactness()

    def _try_exactness(self) -> None:
        """Refuse a scheme that declares itself exact and is not, by a few iterations, before anything is trained."""
        from gcexp.timeline import run_clock

        seed = self.seeds[0]
        scheme = self.scheme_of(seed)
        iterations = min(_TRIED + scheme.lag, self.iterations)
        timeline = run_clock(scheme, self.delay_model, (seed,), iterations)
        self._require_exact(timeline)

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs: it builds the parts itself."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        state["codes"] = Codes()
        return state

    # --- How long it is, and what it is called

    @property
    def seed_range(self) -> str:
        """The seeds as file names spell them: ``0-4``, or ``3`` for seed 3 alone."""
        return seed_range(self.config["seeds"])

    @cached_property
    def tokens(self) -> dict[str, str]:
        """Path element of each part whose option was named: see `gcexp.run.tokens`."""
        return tokens_of(self.overrides)

    def keys_set(self, part: str) -> list[str]:
        """The keys of a part that its overrides set, the part itself before them."""
        if part not in self.tokens:
            return []
        return [override.partition("=")[0] for override in overrides_of(part, self.tokens[part])]

    def option(self, part: str) -> str | None:
        """The name of the option of a part, where it was named."""
        if part not in self.tokens:
            return None
        return self.tokens[part].partition("+")[0]

    @property
    def name(self) -> str:
        """What it is called where nobody gave it a label: its scheme, else the class of its code."""
        return self.label or self.option("scheme") or type(self.scheme.code).__name__

    @property
    def length(self) -> str:
        """``T600``, or ``T600-h0.8`` with a horizon."""
        if self.horizon is None:
            return f"T{self.iterations}"
        return f"T{self.iterations}-h{spell_number(self.horizon)}"

    @cached_property
    def id(self) -> str:
        """Name of the run in tables and in MLflow: the part of the path that all its files share."""
        parts = ["scheme", "delay"]
        if self.trains:
            parts = ["task", "optimizer", *parts]
        elements = []
        for part in parts:
            if part in self.tokens:
                elements.append(self.tokens[part])
        return "/".join([*elements, self.length, f"seeds{self.seed_range}"])

    def file(self, pattern: str) -> str:
        """A file of the run by its pattern in `gcexp.run.paths`."""
        lengths = {"iterations": self.iterations, "length": self.length, "seeds": self.seed_range}
        return pattern.format(**self.tokens, **lengths)

    # --- Which training it needs

    @property
    def training_key(self) -> str:
        """What its training is called among those of several runs: all exact runs of a task share one."""
        learned = [self.config["task"], self.config["optimizer"], self.iterations, self.seeds]
        if self.exact:
            return json.dumps(["exact", *learned], default=repr)
        return json.dumps([self.config, learned], default=repr)

    @property
    def dataset(self) -> str:
        """Name of the data set of its task."""
        task = self.config["task"]
        if isinstance(task, dict):
            return task["dataset"]
        return task.dataset

    @property
    def trajectory_file(self) -> str:
        """The workflow's file of the trajectory; an exact one names no scheme, delay or horizon."""
        if self.exact:
            return self.file(paths.EXACT)
        return self.file(paths.APPROXIMATE)

    @property
    def replay_file(self) -> str | None:
        """The workflow's file with the replay of an approximate training; None for an exact one: tables replay it."""
        if self.exact:
            return None
        return self.file(paths.VERIFIED)

    @property
    def inputs(self) -> list[str]:
        """Files that must exist before the run can stand in a figure's table: none where nothing is trained."""
        if not self.trains:
            return []
        if self.replay_file is None:
            return [self.trajectory_file]
        return [self.trajectory_file, self.replay_file]

    @property
    def replayed_on(self) -> list[str]:
        """Prepared data on which a table replays an exact run; none for any other run."""
        if self.trains and self.exact:
            return [paths.DATA.format(dataset=self.dataset)]
        return []

    def fingerprint(self, *stages: str) -> list[str]:
        """All that decides the result of some stages beside files that they read; see `gcexp.run.dependencies`."""
        lines = []
        for stage in stages:
            lines += stage_fingerprint(stage, self.config)
        return lines

    def training_fingerprint(self, data: dict) -> list[str]:
        """What a training depends on beside its steps and coefficients: its checkpoint belongs to it.

        `data` is the record of the prepared data. It says what they are: a scale decides too.
        """
        lines = self.fingerprint("trajectory")
        device = self.device
        if device is not None:
            lines.append(f"device={device}")
        lines.append(f"seeds={self.seed_range}")
        record = dict(data)
        record.pop("key", None)
        lines.append(json.dumps(record, sort_keys=True))
        return lines

    @property
    def device(self) -> str | None:
        """The device that the task's option ``device`` means here; None for a task that uses the processor anyway."""
        task = self.config["task"]
        if isinstance(task, dict):
            name = task.get("device")
        else:
            name = getattr(task, "device", None)
        if name != "auto":
            return name
        from gcexp.tasks.devices import device_of

        return device_of(name)

    @property
    def built_in_python(self) -> list[str]:
        """Keys of the parts that a person built, and no option: options and values do not say all of the run then."""
        return [key for key, value in self.config.items() if not _is_plain(value)]

    # --- What it does

    def summary(self, marks: Sequence[int] = (), tell: Callable[[int], object] | None = None) -> Summary:
        """Statistics of the clock of a run without a horizon, of which no iteration is kept."""
        from gcexp.summary import joined, summarise

        parts = []
        for scheme, seeds in self.schemes():
            parts.append(summarise(scheme, self.delay_model, seeds, self.iterations, marks, tell=tell))
        return joined(parts)

    def train(
        self,
        timeline: Timeline | None,
        data: Path | str,
        checkpoint: Callable[[list[str], Seen], Checkpoint] | None = None,
        progress: bool = True,
    ) -> Trajectory:
        """Train all seeds with the coefficients of a timeline; of an exact run every coefficient is 1.

        Parameters
        ----------
        timeline : Timeline, optional
            The run's clock, which an exact run does without: its training serves runs of any length.
        data : path
            The prepared data.
        checkpoint : callable, optional
            Makes the checkpoint from what the training depends on and what it reads.
        progress : bool
            Show a progress bar.
        """
        from gcexp.data import load
        from gcexp.run.learning import train_parts

        _ = self.task, self.optimizer  # a mistake in them is told before data are read
        with collect_reads() as seen:
            arrays = load(data)
            kept = None
            if checkpoint is not None:
                record = read_json(Path(data).with_suffix(".json"))
                kept = checkpoint(self.training_fingerprint(record), seen)
            return train_parts(self, timeline, arrays, kept, progress)

    def replay(
        self, timeline: Timeline, trajectory: Trajectory, data: Path | str, kept: dict | None = None
    ) -> dict:
        """Follow encode, drop and decode on the parameters that a training saved; see `verify_decoding`."""
        from gcexp.run.learning import replay_parts

        return replay_parts(self, timeline, trajectory, data, kept)

    def loads(self) -> dict[str, float]:
        """What its workers compute and send; of a code that is drawn for each seed, over the seeds.

        ``computation_load_mean`` is the mean share of the data that a worker computes, ``computation_load`` the mean
        over the seeds of the largest share, ``computation_load_largest`` the largest of them; ``communication_load``
        are the gradients that a worker sends at most, the mean over the seeds.
        """
        means: list[float] = []
        largest: list[float] = []
        sent: list[float] = []
        for scheme, _ in self.schemes():
            code = scheme.code
            means.append(float(code.load.mean() / code.k))
            largest.append(float(code.load.max() / code.k))
            sent.append(float(code.messages.max() * code.length))
        return {
            "computation_load_mean": sum(means) / len(means),
            "computation_load": sum(largest) / len(largest),
            "computation_load_largest": max(largest),
            "communication_load": sum(sent) / len(sent),
        }


def run_of_path(parts: Mapping[str, str], label: str = "") -> Run:
    """The run that a path's wildcards spell: scheme, delay, task, optimizer, length or iterations, seeds.

    The path is the overrides: what a person would type for the job. A path without a scheme is that of the training
    that all exact runs of a task share.
    """
    overrides = []
    for part in PARTS:
        if part in parts:
            overrides += overrides_of(part, parts[part])
    length = parts.get("length") or f"T{parts['iterations']}"
    iterations, _, horizon = length.removeprefix("T").partition("-h")
    overrides += [f"iterations={iterations}", f"seeds={spell_seeds(parts['seeds'])}"]
    if horizon:
        overrides.append(f"horizon={horizon}")
    if "scheme" not in parts:
        overrides.append("exact=true")
    return Run.of(overrides, trains="task" in parts, checked=False, label=label)


def _is_plain(value: Any) -> bool:
    """Whether a part of a config is what option files say, and no object."""
    return value is None or isinstance(value, str | int | float | dict | list)
