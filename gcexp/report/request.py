"""What a build was asked for: its settings, the figures that it plans, and the files that its targets stand for.

The rules in workflow/ are sentences about these. Nothing here knows Snakemake.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gcexp.errors import UserError, require_known, unknown
from gcexp.files import bundled
from gcexp.report import figurefile
from gcexp.report.figure import Figure, RenderOptions
from gcexp.report.paper import papers_fingerprint
from gcexp.report.targets import RULES, is_asked, made_files, page_files, paper_of, target_files
from gcexp.run import paths
from gcexp.run.yaml_values import read_yaml

#: Rules whose jobs are about every figure, and not about the one that their wildcards name.
_ABOUT_ALL = ("page", "tracking", "tracking_part")


def default_settings() -> dict[str, Any]:
    """What a build may be told, each key with its default."""
    return read_yaml(bundled("config/config.yaml"))


def complete_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a build: what was given, and the defaults of what was not.

    Raises
    ------
    UserError
        For a key that is none of a build's.
    """
    defaults = default_settings()
    for key in given:
        if key not in defaults:
            raise UserError(unknown("--config key", key, defaults))
    settings = defaults | dict(given)
    for key, default in defaults.items():
        if isinstance(default, bool):
            settings[key] = _flag(settings[key])
    return settings


def _flag(value: object) -> object:
    """True or false, which ``--config key=value`` hands over as text; anything else as it is."""
    flags = {"true": True, "false": False}
    return flags.get(str(value).lower(), value)


@dataclass(frozen=True)
class Request:
    """What one start of Snakemake is asked for.

    Attributes
    ----------
    settings : mapping
        From `complete_settings`.
    targets : sequence of str
        Targets on the command line.
    mentioned : sequence of str
        Names behind options such as ``--forcerun``.
    jobs : sequence of pairs
        Rule and wildcards of each job that another Snakemake started this one for; none where a person started it.
    """

    settings: Mapping[str, Any]
    targets: Sequence[str] = ()
    mentioned: Sequence[str] = ()
    jobs: Sequence[tuple[str, Mapping[str, str]]] = ()
    _read: dict[str, dict[str, Figure]] = field(default_factory=dict, init=False, repr=False, compare=False)

    # --- What is planned

    @cached_property
    def render(self) -> RenderOptions:
        """How drawings are wanted."""
        return RenderOptions.of(self.settings, "plot_")

    def figures(self, preset: str) -> dict[str, Figure]:
        """The figures that this build plans under a preset, by target, read and checked."""
        if preset not in self._read:
            read = {}
            for figure in figurefile.named_figures(self._targets_planned(), preset):
                read[figure.target] = replace(figure, render=self.render)
            self._read[preset] = read
        return self._read[preset]

    def _targets_planned(self) -> list[str]:
        """Targets of the figures that this build is about."""
        # A job that another Snakemake started needs the figures that it makes: it was submitted after all were checked.
        if self.jobs and not any(rule in _ABOUT_ALL for rule, _ in self.jobs):
            made = set()
            for _, wildcards in self.jobs:
                if "target" in wildcards:
                    made.add(wildcards["target"])
            return sorted(made)
        # A figure or a paper is asked for by its name, and a file is named by its figure.
        files_asked = [Path(target).stem for target in self.targets]
        asked = {*self._names, *self.mentioned, *files_asked}
        on_page: Collection[str] = ()
        if not self._names or not self._names <= _figures_and_papers():
            studies = "everything" in self.targets
            on_page = page_files(self.settings["published"], studies)
        planned = []
        for target, path in target_files().items():
            if target in asked or target in on_page or is_asked(path, asked):
                planned.append(target)
        return planned

    @cached_property
    def _names(self) -> set[str]:
        """Figures and papers that were asked for, whether they are made or imported into MLflow."""
        return {target.removeprefix("mlflow_") for target in self.targets}

    def check_targets(self) -> None:
        """Whether every target is one, or a file; Snakemake, which knows them later, has no nearest name for it."""
        names = _figures_and_papers()
        known = {*RULES, *names, *(f"mlflow_{name}" for name in names)}
        for target in self.targets:
            if "/" not in target and target not in known and not Path(target).exists():
                raise UserError(unknown("target", target, known))

    def check(self) -> None:
        """Whether all is right that was asked for, what the page shows beside it included.

        Raises
        ------
        UserError
            For the first mistake.
        """
        preset = self.settings["preset"]
        require_known("preset", preset, figurefile.PRESETS)
        self.check_targets()
        self.figures(preset)
        for other in figurefile.PRESETS:
            folder = paths.REPORT.format(preset=other)
            by_its_rule = other in self.targets
            by_a_file = any(target.startswith(folder) for target in self.targets)
            if by_its_rule or by_a_file:
                self.figures(other)
        if self.part is None:
            planned = self.figures(preset)
            made_before = [target for target in self.shown_files(preset) if target not in planned]
            figurefile.named_figures(made_before, preset)
            papers_fingerprint(self.shown_papers(preset))

    @property
    def part(self) -> list[Figure] | None:
        """The figures that were asked for by name; None where the page of all of them was."""
        preset = self.settings["preset"]
        about_all = {*RULES, paths.PAGE.format(preset=preset)}
        if not self.targets or about_all & {*self.targets}:
            return None
        asked = []
        for figure in self.figures(preset).values():
            if figure.target in self._names or figure.paper in self._names:
                asked.append(figure)
        return asked

    # --- What targets stand for

    def products(self, preset: str) -> list[str]:
        """Everything that a reader gets of the planned figures."""
        return _products_of(self.figures(preset).values())

    def own_figures(self, paper: str, preset: str) -> list[Figure]:
        """Figures and tables that stand in a paper; of a collection of studies all of them."""
        all_of_paper = [figure for figure in self.figures(preset).values() if figure.paper == paper]
        in_the_paper = [figure for figure in all_of_paper if not figure.file.study]
        return in_the_paper or all_of_paper

    def figures_of(self, part: str, preset: str) -> list[Figure]:
        """A figure by its target, or the own figures of a paper by its name."""
        figures = self.figures(preset)
        if part in figures:
            return [figures[part]]
        return self.own_figures(part, preset)

    def products_of(self, part: str, preset: str) -> list[str]:
        """Everything that a reader gets of a figure or a paper."""
        return _products_of(self.figures_of(part, preset))

    def page_and_lost_products(self, preset: str) -> list[str]:
        """The page, which stands for all that is made; with ``mlflow: true`` what is imported, too.

        What was lost since the page was made is named beside it: Snakemake would not look for it.
        """
        page = paths.PAGE.format(preset=preset)
        wanted = [page]
        if Path(page).exists():
            for product in self.products(preset):
                if not Path(product).exists():
                    wanted.append(product)
        if self.settings["mlflow"]:
            wanted.append(paths.IMPORTED.format(preset=preset))
        return wanted

    def import_files(self, part: str) -> list[str]:
        """With ``mlflow: true`` the file that says that the runs of a figure or a paper were imported; else nothing."""
        preset = self.settings["preset"]
        with_runs = any(figure.runs for figure in self.figures_of(part, preset))
        if not self.settings["mlflow"] or not with_runs:
            return []
        return [paths.IMPORTED_PART.format(preset=preset, part=part)]

    # --- What the page shows

    def shown_files(self, preset: str) -> dict[str, Path]:
        """Figure files, by target, that the page shows: those planned here, and the studies that were made before."""
        planned = self.figures(preset)
        shown = {}
        for target, path in page_files(self.settings["published"], studies=True).items():
            if target in planned or made_files(target, preset):
                shown[target] = path
        return shown

    def shown_papers(self, preset: str) -> list[str]:
        """Names of the papers that the page shows."""
        return sorted(set(map(paper_of, self.shown_files(preset).values())))

    def shown_products(self, preset: str) -> list[str]:
        """What the page is made of: everything of planned figures, and what is there of others that it shows."""
        found = self.products(preset)
        for target in self.shown_files(preset):
            found += made_files(target, preset)
        return list(dict.fromkeys(found))


def _products_of(figures: Iterable[Figure]) -> list[str]:
    """Everything that a reader gets of some figures."""
    products: list[str] = []
    for figure in figures:
        products += figure.products
    return products


def _figures_and_papers() -> set[str]:
    """Names of all figures and papers."""
    files = target_files()
    return {*files, *map(paper_of, files.values())}
