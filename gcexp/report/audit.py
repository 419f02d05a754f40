"""What of a paper is reproduced? Its claims and printed numbers, judged on tables that are there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

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
from gcexp.report.figurefile import target_files
from gcexp.report.printed import Printed, printed
from gcexp.report.published import PUBLISHED, published_table
from gcexp.report.statements import COMMITTED, Outcome, Statement, counted, read_statements
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
    about: Claim | Printed  # what was assumed, what was chosen post hoc, and why it is not reproduced

    @property
    def printed(self) -> bool:
        """Whether it is a printed number."""
        return isinstance(self.about, Printed)


def papers(asked: Collection[str] = ()) -> dict[str, Path]:
    """Packages of the papers that state something, by name and folder; those that are asked for, by folder name."""
    every = options.papers().items()
    found = {package: folder for package, folder in every if (folder / "statements.csv").is_file()}
    for name in asked:
        require_known("paper", name, [folder.name for folder in found.values()])
    return {package: folder for package, folder in found.items() if not asked or folder.name in asked}


def judged(
    package: str, folder: Path, preset: str | None = None, published: Path = PUBLISHED
) -> tuple[list[Outcome], list[Evidence]]:
    """The outcomes of a paper's statements, in its order, and every claim and printed number with its verdict.

    Judged are the published tables, in `published`, or those that a preset made here.
    """
    paper, stated = folder.name, read_statements(folder / "statements.csv")
    files = {path.stem: path for path in target_files().values() if path.parent.parent == folder}

    @cache
    def table(figure: str) -> pd.DataFrame:
        target = f"{paper}_{figure}"
        made = Path(paths.TABLE.format(preset=preset or "paper", target=target))
        place = published_table(target, published) if preset is None else made
        if place is None or not place.is_file():
            raise UserError(f"there is no table {made}; make it first: snakemake {target}")
        return read_table(place)

    found: list[Evidence] = []
    claims = claims_of(package)
    with bar(len(claims), paper, "claim") as progress:
        for function in claims:
            about = function.claim  # type: ignore[attr-defined]
            for name in about.statements:
                require_known("statement", name, stated, f"claim {function.__name__}")
            for name in about.figures:
                require_known("figure", name, files, f"claim {function.__name__}")
            verdicts = judge(function, {figure: table(figure) for figure in about.figures})
            targets = tuple(f"{paper}_{figure}" for figure in about.figures)
            found.append(Evidence(function.__name__, verdicts, targets, about))
            progress.update(1)
    for figure, path in files.items():
        numbers = path.with_suffix(".expected.csv")
        for one in printed(numbers):
            answers = one.answers.split()
            for name in answers:
                require_known("statement", name, stated, numbers.name)
            # A number that answers nothing counts under its own text.
            verdicts = dict.fromkeys(answers or [f"{one} ({one.source})"], one.judge(table(figure)))
            found.append(Evidence(f"numbers of {figure}", verdicts, (f"{paper}_{figure}",), one))
    return outcomes(paper, stated.values(), found), found


def outcomes(paper: str, stated: Iterable[Statement], found: Sequence[Evidence]) -> list[Outcome]:
    """The outcome of each of the statements of a paper, in their order.

    A statement is *reproduced* if all that answers it is, *not reproduced* if nothing is and something failed,
    *partly* if some is and some failed, *undecided* if nothing failed and something is undecided, and *not testable
    here* if nothing answers it. It is *consistent* if all came out as the paper says, but something with inputs that
    were calibrated. One that is not reproduced needs a reason.
    """
    rows = []
    for statement in stated:
        mine = [one for one in found if statement.id in one.verdicts]
        verdicts = [one.verdicts[statement.id] for one in mine]
        outcome = _whole([one.outcome for one in verdicts])
        reasons: dict[str, None] = {}  # each sentence once
        for one, verdict in zip(mine, verdicts, strict=True):
            reasons.update(dict.fromkeys(_reasons(one.about, verdict)))
        reason = "; ".join(reasons) if mine else statement.remark
        if outcome != REPRODUCED and not reason:
            raise UserError(f"{paper}: statement {statement.id} is {outcome} and needs a reason")
        rows.append(
            Outcome(
                paper=paper,
                id=statement.id,
                where=statement.where,
                statement=statement.statement,
                target=" ".join(dict.fromkeys(target for one in mine for target in one.targets)),
                outcome=outcome,
                main=statement.main,
                assumed="yes" if any(one.about.assumed for one in mine) else "",
                post_hoc="yes" if any(one.about.post_hoc for one in mine) else "",
                evidence="; ".join(dict.fromkeys(one.name for one in mine)),
                reason=reason,
            )
        )
    return rows


def _reasons(about: Claim | Printed, verdict: Verdict) -> list[str]:
    """Why a claim or a printed number does not show a statement to be reproduced, or what to know where it does."""
    if verdict.outcome == REPRODUCED:
        told = [verdict.reason]
    elif verdict.outcome == CONSISTENT:
        told = [about.calibrated, verdict.reason]
    else:
        told = [verdict.reason or about.reason or verdict.found]
    return [one for one in told if one]


def _whole(verdicts: Sequence[str]) -> str:
    """The outcome of a statement from those of what answers it."""
    if not verdicts:
        return NOT_TESTABLE
    agreed = REPRODUCED in verdicts or CONSISTENT in verdicts
    if PARTLY in verdicts or (agreed and NOT_REPRODUCED in verdicts):
        return PARTLY
    return next(one for one in (NOT_REPRODUCED, UNDECIDED, CONSISTENT, REPRODUCED) if one in verdicts)


def numbers_that_differ(found: Iterable[Evidence]) -> list[str]:
    """Printed numbers that the tables do not have, in words; those that answer a statement count there."""
    return [
        f"{said}: {verdict.found}"
        for one in found
        if one.printed
        for said, verdict in one.verdicts.items()
        if " " in said and verdict.outcome not in (REPRODUCED, CONSISTENT)
    ]


def changed(fresh: Iterable[Outcome], known: Iterable[Outcome]) -> list[str]:
    """Statements whose outcome is another one than the committed one, a sentence each.

    A paper of which nothing is committed, such as one in a project, has nothing to differ from.
    """
    before = {(one.paper, one.id): one.outcome for one in known}
    papers_known = {paper for paper, _ in before}
    return [
        f"{one.paper}, {one.id}: {one.outcome}, committed as {before.get((one.paper, one.id), 'nothing')}"
        for one in fresh
        if one.paper in papers_known and before.get((one.paper, one.id)) != one.outcome
    ]


def write(rows: Sequence[Outcome], path: Path) -> None:
    """Write outcomes as CSV."""
    import pandas as pd

    write_table(pd.DataFrame(rows, columns=[field.name for field in fields(Outcome)]), path)


_ABOUT = """*reproduced*: every check of the statement came out as the paper says. *consistent*: so it did, but with
inputs that were calibrated to the statement or copied from the paper's own numbers, so that it is no finding. *partly*:
some checks came out as the paper says and some did not.
*not reproduced*: none did. *undecided*: the seeds or the printed digits cannot separate the two sides. *not testable
here*: the statement is true by definition, is about other work, or needs what is lost, and the reason says which.
*assumed*: the check uses parameters that the paper does not give, or that were restored from a damaged text. *post
hoc*: a level, tolerance or constant was chosen after the numbers had been seen.
"""


def page(rows: Sequence[Outcome], found: Sequence[Evidence], title: str) -> str:
    """Every statement of a paper with its outcome, as Markdown."""
    numbers = [one for one in found if one.printed]
    differing = numbers_that_differ(found)
    text = f"# Every statement of *{title}*, with its outcome\n\n{_ABOUT}\n"
    header = ["statement", "where", "what the paper says", "outcome", "evidence", "reason"]
    cells = [[one.id, one.where, one.statement, in_words(one), one.evidence, one.reason] for one in rows]
    text += markdown.grid(header, cells)
    if numbers:
        text += f"\n{len(numbers)} numbers that the paper prints were compared"
        text += f"; {len(differing)} of them differ:\n\n" if differing else "; all of them agree.\n"
        text += "".join(f"* {markdown.escape(one)}\n" for one in differing)
    return text


def in_words(one: Outcome) -> str:
    """Outcome and marks in words, as in reproduced (assumed)."""
    marks = [name.replace("_", " ") for name in ("assumed", "post_hoc") if getattr(one, name)]
    return one.outcome + (f" ({', '.join(marks)})" if marks else "")


def publish(preset: str | None = None) -> None:
    """Judge every paper, and write the table of outcomes, a Markdown file per paper and the READMEs of the papers."""
    found = judge_all(preset)
    write_outcomes(found, PUBLISHED)
    fill_readmes(found)


def judge_all(
    preset: str | None = None, published: Path = PUBLISHED
) -> dict[Path, tuple[list[Outcome], list[Evidence]]]:
    """What `judged` finds of every paper, by its folder; nothing is written before the last one is judged."""
    found = {}
    for package, folder in papers().items():
        found[folder] = judged(package, folder, preset, published)
        rows, _ = found[folder]
        print(f"{folder.name}: {len(rows)} statements judged")
    return found


def write_outcomes(found: Mapping[Path, tuple[list[Outcome], list[Evidence]]], published: Path) -> None:
    """Write the table of outcomes and a Markdown file for each paper into the folder of what is published."""
    every: list[Outcome] = []
    for folder, (rows, evidence) in found.items():
        title = read_yaml(folder / "paper.yaml")["title"]
        write_text(page_of(folder, published), page(rows, evidence, title))
        every += rows
    write(sorted(every, key=lambda one: one.paper), published / COMMITTED.name)


def page_of(paper: Path, published: Path) -> Path:
    """Where the outcomes of a paper stand as Markdown, among what is published."""
    return published / "statements" / f"{paper.name}.md"


def fill_readmes(found: Mapping[Path, tuple[list[Outcome], list[Evidence]]]) -> None:
    """Write the main statements of each paper with their outcomes into its README."""
    for folder, (rows, _) in found.items():
        main = [one for one in rows if one.main]
        cells = [[one.where, one.statement, in_words(one), one.reason] for one in main]
        text = f"Of {len(main)} main statements, judged on the published tables: {counted(main)}.\n\n"
        text += markdown.grid(["where", "what the paper says", "outcome", "remark"], cells)
        fill(folder / "README.md", "statements", text)


def fill(path: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- end of name -->`` in a file that has the two."""
    if not path.is_file():
        return
    old = path.read_text(encoding="utf-8")
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    new = re.sub(pattern, lambda match: f"{match[1]}{text}{match[2]}", old, flags=re.DOTALL)
    if new != old:
        write_text(path, new)
