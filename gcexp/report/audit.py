"""What of a paper is reproduced? Its claims and printed numbers, judged on tables that are there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gcexp.analysis.claims import (
    CONSISTENT,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    PARTLY,
    REPRODUCED,
    UNDECIDED,
    Claim,
    Verdict,
    claims_of,
    judge,
)
from gcexp.errors import UserError, require_known
from gcexp.figures import markdown
from gcexp.figures.tables import read_table, write_table
from gcexp.files import write_text
from gcexp.progress import bar
from gcexp.report.fitted import FittedInput, claim_reads, read_fitted_inputs, require_marks
from gcexp.report.paper import read_papers
from gcexp.report.printed import Printed, read_printed_numbers
from gcexp.report.published import PUBLISHED, command_that_makes, published_table
from gcexp.report.statements import (
    COMMITTED,
    GROUNDS,
    OUTCOME_COLUMNS,
    Outcome,
    Statement,
    counts_in_words,
    outcomes_in_words,
    read_statements,
)
from gcexp.report.targets import target_files
from gcexp.run import options, paths
from gcexp.run.yaml_values import read_yaml

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Evidence:
    """The verdict of one claim, or of one printed number, on the statements that it answers."""

    name: str
    verdicts: dict[str, Verdict]
    targets: tuple[str, ...]
    about: Claim | Printed  # what was assumed, which bar was set post hoc, and why it is not reproduced
    fitted: tuple[str, ...] = ()  # sentences on the inputs that were fitted to the statements

    @property
    def printed(self) -> bool:
        """Whether it is a printed number."""
        return isinstance(self.about, Printed)


class Judgement(NamedTuple):
    """What was found of a paper."""

    outcomes: list[Outcome]  # of its statements, in its order
    evidence: list[Evidence]  # every claim and printed number


def papers(asked: Collection[str] = ()) -> dict[str, Path]:
    """Packages of the papers that state something, by name and folder; those that are asked for, by folder name."""
    found = {}
    for package, folder in options.paper_folders().items():
        if (folder / "statements.csv").is_file():
            found[package] = folder
    for name in asked:
        require_known("paper", name, [folder.name for folder in found.values()])
    if not asked:
        return found
    return {package: folder for package, folder in found.items() if folder.name in asked}


class _Tables:
    """The tables of the figures of a paper, each read once: the published ones, or those that a preset made here."""

    def __init__(self, folder: Path, preset: str | None, published: Path):
        self.paper = folder.name
        self.files: dict[str, Path] = {}  # figure files by the names of figures
        for path in target_files().values():
            if path.parent.parent == folder:
                self.files[path.stem] = path
        self._preset = preset
        self._published = published
        self._read: dict[str, pd.DataFrame] = {}

    def target(self, figure: str) -> str:
        """The target of a figure."""
        return f"{self.paper}_{figure}"

    def read(self, figure: str) -> pd.DataFrame:
        """The table of a figure."""
        if figure not in self._read:
            self._read[figure] = read_table(self._located(self.target(figure)))
        return self._read[figure]

    def _located(self, target: str) -> Path:
        preset = self._preset or "paper"
        made = Path(paths.TABLE.format(preset=preset, target=target))
        if self._preset is None:
            place = published_table(target, self._published)
        else:
            place = made
        if place is None or not place.is_file():
            raise UserError(f"there is no table {made}; make it first: {command_that_makes(target, preset)}")
        return place


def judge_paper(
    package: str, folder: Path, preset: str | None = None, published: Path = PUBLISHED
) -> Judgement:
    """The outcomes of a paper's statements, in its order, and every claim and printed number with its verdict.

    Judged are the published tables, in `published`, or those that a preset made here.
    """
    stated = read_statements(folder / "statements.csv")
    tables = _Tables(folder, preset, published)
    inputs = read_fitted_inputs(folder / "fitted_inputs.csv", stated, tables.files)
    evidence = _judge_claims(package, stated, tables, inputs)
    evidence += _judge_printed_numbers(stated, tables, inputs)
    return Judgement(outcomes(folder.name, stated.values(), evidence), evidence)


def _judge_claims(
    package: str, stated: Collection[str], tables: _Tables, inputs: Mapping[str, FittedInput]
) -> list[Evidence]:
    """The verdict of each claim function of a paper on the statements that it names."""
    evidence = []
    claims = claims_of(package)
    with bar(len(claims), tables.paper, "claim") as progress:
        for function in claims:
            name = function.__name__
            about = function.claim  # type: ignore[attr-defined]
            for statement in about.statements:
                require_known("statement", statement, stated, f"claim {name}")
            for figure in about.figures:
                require_known("figure", figure, tables.files, f"claim {name}")
            reads = claim_reads(function, package)
            require_marks(f"claim {name}", about, about.statements, reads, inputs)
            verdicts = judge(function, {figure: tables.read(figure) for figure in about.figures})
            targets = tuple(tables.target(figure) for figure in about.figures)
            evidence.append(Evidence(name, verdicts, targets, about, _sentences(about, inputs)))
            progress.update(1)
    return evidence


def _sentences(about: Claim | Printed, inputs: Mapping[str, FittedInput]) -> tuple[str, ...]:
    """What was fitted to the statements that a claim or a printed number answers."""
    return tuple(inputs[name].what for name in about.fitted)


def _judge_printed_numbers(
    stated: Collection[str], tables: _Tables, inputs: Mapping[str, FittedInput]
) -> list[Evidence]:
    """The verdict of each number that a paper prints on the statements that it answers."""
    evidence = []
    for figure, path in tables.files.items():
        file = path.with_suffix(".expected.csv")
        for number in read_printed_numbers(file):
            answered = number.answers.split()
            for statement in answered:
                require_known("statement", statement, stated, file.name)
            reads = partial(_stands_in, figure)
            require_marks(f"{file.name}: {number}", number, answered, reads, inputs)
            if not answered:  # it counts under its own text
                answered = [f"{number} ({number.source})"]
            verdicts = dict.fromkeys(answered, number.judge(tables.read(figure)))
            name = f"numbers of {figure}"
            targets = (tables.target(figure),)
            evidence.append(Evidence(name, verdicts, targets, number, _sentences(number, inputs)))
    return evidence


def _stands_in(figure: str, fitted: FittedInput) -> bool:
    """Whether the table of a figure depends on an input."""
    return figure in fitted.figures


def outcomes(paper: str, stated: Iterable[Statement], found: Sequence[Evidence]) -> list[Outcome]:
    """The outcome of each of the statements of a paper, in their order.

    A statement is *reproduced* if all that answers it is, *not reproduced* if nothing is and something failed,
    *partly* if some is and some failed, *undecided* if nothing failed and something is undecided, and *not testable
    here* if nothing answers it. It is *consistent* if all came out as the paper says, but something with inputs that
    were fitted. One that is not reproduced needs a reason.
    """
    rows = []
    for statement in stated:
        answering = [evidence for evidence in found if statement.id in evidence.verdicts]
        row = _outcome(paper, statement, answering)
        if row.outcome != REPRODUCED and not row.reason:
            raise UserError(f"{paper}: statement {statement.id} is {row.outcome} and needs a reason")
        if row.outcome == NOT_TESTABLE and not statement.ground:
            grounds = ", ".join(GROUNDS)
            raise UserError(
                f"{paper}: statement {statement.id} is {NOT_TESTABLE}: checkable says no and why ({grounds})"
            )
        rows.append(row)
    return rows


def _outcome(paper: str, statement: Statement, answering: Sequence[Evidence]) -> Outcome:
    """The outcome of a statement from all that answers it."""
    verdicts = [evidence.verdicts[statement.id] for evidence in answering]
    targets: list[str] = []
    reasons: list[str] = []
    for evidence, verdict in zip(answering, verdicts, strict=True):
        targets += evidence.targets
        reasons += _reasons(evidence, verdict)
    return Outcome(
        paper=paper,
        id=statement.id,
        where=statement.where,
        statement=statement.statement,
        target=" ".join(_each_once(targets)),
        outcome=_whole([verdict.outcome for verdict in verdicts]),
        main=statement.main,
        assumed="yes" if any(evidence.about.assumed for evidence in answering) else "",
        post_hoc="yes" if any(evidence.about.post_hoc for evidence in answering) else "",
        evidence="; ".join(_each_once(evidence.name for evidence in answering)),
        reason=_joined(_each_once(reasons)) if answering else statement.remark,
    )


def _joined(reasons: Iterable[str]) -> str:
    """Several reasons as one text, whether or not they are sentences."""
    return "; ".join(reasons).replace(".; ", ". ")


def _each_once(texts: Iterable[str]) -> list[str]:
    """Texts in their order, without those that were there before."""
    return list(dict.fromkeys(texts))


def _reasons(evidence: Evidence, verdict: Verdict) -> list[str]:
    """Why a claim or a printed number does not show a statement to be reproduced, or what to know where it does."""
    about = evidence.about
    if verdict.outcome == REPRODUCED:
        reasons = [verdict.reason]
    elif verdict.outcome == CONSISTENT:
        reasons = [*evidence.fitted, verdict.reason]
    else:
        reasons = [verdict.reason or about.reason or verdict.found]
    if about.post_hoc:
        reasons.append(f"Set after the numbers were known: {about.post_hoc}")
    return [reason for reason in reasons if reason]


def _whole(verdicts: Sequence[str]) -> str:
    """The outcome of a statement from those of what answers it."""
    if not verdicts:
        return NOT_TESTABLE
    agreed = REPRODUCED in verdicts or CONSISTENT in verdicts
    if PARTLY in verdicts or (agreed and NOT_REPRODUCED in verdicts):
        return PARTLY
    worst_first = (NOT_REPRODUCED, UNDECIDED, CONSISTENT, REPRODUCED)
    return next(outcome for outcome in worst_first if outcome in verdicts)


def numbers_that_differ(found: Iterable[Evidence]) -> list[str]:
    """Printed numbers that the tables do not have, in words; those that answer a statement count there."""
    differing = []
    for evidence in found:
        if not evidence.printed:
            continue
        for answered, verdict in evidence.verdicts.items():
            is_a_statement = " " not in answered
            if not is_a_statement and verdict.outcome not in (REPRODUCED, CONSISTENT):
                differing.append(f"{answered}: {verdict.found}")
    return differing


def changed_outcomes(fresh: Iterable[Outcome], known: Iterable[Outcome]) -> list[str]:
    """Statements whose outcome is another one than the committed one, a sentence each.

    A paper of which nothing is committed, such as one in a project, has nothing to differ from.
    """
    committed = {(row.paper, row.id): row.outcome for row in known}
    papers_known = {paper for paper, _ in committed}
    sentences = []
    for row in fresh:
        before = committed.get((row.paper, row.id), "nothing")
        if row.paper in papers_known and row.outcome != before:
            sentences.append(f"{row.paper}, {row.id}: {row.outcome}, committed as {before}")
    return sentences


def write(rows: Sequence[Outcome], path: Path) -> None:
    """Write outcomes as CSV."""
    import pandas as pd

    write_table(pd.DataFrame(rows, columns=OUTCOME_COLUMNS), path)


_ABOUT = """*reproduced*: every check of the statement came out as the paper says. *consistent*: so it did, but with
inputs that were fitted to the statement or copied from the paper's own numbers, so that it is no finding. *partly*:
some checks came out as the paper says and some did not.
*not reproduced*: none did. *undecided*: the seeds or the printed digits cannot separate the two sides. *not testable
here*: nothing can decide the statement, and its reason begins with why (by definition, text lost, an input, about other
work, hardware, not measurable).
*assumed*: the check uses parameters that the paper does not give, or that were restored from a damaged text. *post
hoc*: the bar (a level, a tolerance, a share) was set after the numbers were known; the reason says which.
"""


def page(rows: Sequence[Outcome], found: Sequence[Evidence], title: str) -> str:
    """Every statement of a paper with its outcome, as Markdown."""
    text = f"# Every statement of *{title}*, with its outcome\n\n{_ABOUT}\n{counts_in_words(rows)}\n\n"
    header = ["statement", "where", "what the paper says", "outcome", "evidence", "reason"]
    cells = [[row.id, row.where, row.statement, in_words(row), row.evidence, row.reason] for row in rows]
    return text + markdown.grid(header, cells) + _about_printed_numbers(found)


def _about_printed_numbers(found: Sequence[Evidence]) -> str:
    """How many printed numbers were compared, and a list of those that differ; empty where there are none."""
    compared = sum(evidence.printed for evidence in found)
    if not compared:
        return ""
    text = f"\n{compared} numbers that the paper prints were compared"
    differing = numbers_that_differ(found)
    if not differing:
        return f"{text}; all of them agree.\n"
    text += f"; {len(differing)} of them differ:\n\n"
    for sentence in differing:
        text += f"* {markdown.escape(sentence)}\n"
    return text


def in_words(row: Outcome) -> str:
    """Outcome and marks in words, as in reproduced (assumed)."""
    marks = []
    if row.assumed:
        marks.append("assumed")
    if row.post_hoc:
        marks.append("post hoc")
    if not marks:
        return row.outcome
    return f"{row.outcome} ({', '.join(marks)})"


def publish(preset: str | None = None) -> None:
    """Judge every paper, and write the table of outcomes, a Markdown file per paper and the READMEs of the papers."""
    judgements = judge_all(preset)
    write_outcomes(judgements, PUBLISHED)
    fill_readmes(judgements)


def judge_all(preset: str | None = None, published: Path = PUBLISHED) -> dict[Path, Judgement]:
    """What `judge_paper` finds of every paper, by its folder; nothing is written before the last one is judged."""
    judgements = {}
    for package, folder in papers().items():
        judgements[folder] = judge_paper(package, folder, preset, published)
        print(f"{folder.name}: {len(judgements[folder].outcomes)} statements judged")
    return judgements


def write_outcomes(judgements: Mapping[Path, Judgement], published: Path) -> None:
    """Write the table of outcomes and a Markdown file for each paper into the folder of what is published."""
    every: list[Outcome] = []
    for folder, judgement in judgements.items():
        title = read_yaml(folder / "paper.yaml")["title"]
        text = page(judgement.outcomes, judgement.evidence, title)
        write_text(page_of(folder, published), text)
        every += judgement.outcomes
    write(sorted(every, key=lambda row: row.paper), published / COMMITTED.name)


def page_of(paper: Path, published: Path) -> Path:
    """Where the outcomes of a paper stand as Markdown, among what is published."""
    return published / "statements" / f"{paper.name}.md"


def fill_readmes(judgements: Mapping[Path, Judgement]) -> None:
    """Write the main statements of each paper with their outcomes into its README."""
    for folder, judgement in judgements.items():
        main = [row for row in judgement.outcomes if row.main]
        cells = [[row.where, row.statement, in_words(row), row.reason] for row in main]
        text = (
            f"Of {len(main)} main statements, judged on the published tables: {outcomes_in_words(main)}. "
            f"{counts_in_words(judgement.outcomes)}\n\n"
        )
        text += markdown.grid(["where", "what the paper says", "outcome", "remark"], cells)
        fill(folder / "README.md", "statements", text)
    fill(Path("README.md"), "outcomes", _counts_of_papers(judgements))


def _counts_of_papers(judgements: Mapping[Path, Judgement]) -> str:
    """A line for each paper, in the order of the pages, and one for all: how many statements have each outcome."""
    judgement_of = {folder.name: judgement for folder, judgement in judgements.items()}
    every: list[Outcome] = []
    lines = []
    for name, paper in read_papers(judgement_of).items():
        outcomes = judgement_of[name].outcomes
        every += outcomes
        lines.append(f"* [{paper.title}](gcexp_papers/{name}/README.md): {outcomes_in_words(outcomes)}.\n")
    return f"\n{''.join(lines)}* All together: {outcomes_in_words(every)}.\n\n"


def fill(path: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- end of name -->`` in a file that has the two."""
    if not path.is_file():
        return
    old = path.read_text(encoding="utf-8")
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    new = re.sub(pattern, lambda match: f"{match[1]}{text}{match[2]}", old, flags=re.DOTALL)
    if new != old:
        write_text(path, new)
