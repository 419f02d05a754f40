"""``gcexp audit``: the statements of the papers, judged on tables that are there."""

from __future__ import annotations

import sys

from gcexp.command.arguments import new_file
from gcexp.report import audit, statements
from gcexp.report.printed import check_statements


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="folders of papers (default: all)")
    parser.add_argument(
        "--preset", help="judge the tables that this preset made here (default: published ones)"
    )
    parser.add_argument("-o", "--output", type=new_file, help="write the outcomes here, as CSV")
    parser.add_argument(
        "--write", action="store_true", help="write the outcomes of all papers into reports/published"
    )


def run(arguments) -> int:
    """Judge, print a line per paper, and end with exit code 1 where an outcome differs from the committed one."""
    if arguments.write:
        audit.publish(arguments.preset)
        return 0
    all_rows, complaints = [], []
    asked = audit.papers(arguments.papers)
    for folder in asked.values():  # told before any claim is judged
        check_statements(folder)
    for package, folder in asked.items():
        rows, numbers = audit.judge_paper(package, folder, arguments.preset)
        all_rows += rows
        plural = "" if len(rows) == 1 else "s"
        outcomes = statements.outcomes_in_words(rows)
        compared = sum(number.printed for number in numbers)
        print(
            f"{folder.name}: {len(rows)} statement{plural}: {outcomes}; {compared} printed numbers compared"
        )
        complaints += audit.changed_outcomes(rows, statements.committed_outcomes())
        for complaint in audit.numbers_that_differ(numbers):
            complaints.append(f"{folder.name}: {complaint}")
    if arguments.output:
        audit.write(all_rows, arguments.output)
    for complaint in complaints:
        print(f"gcexp: {complaint}", file=sys.stderr)
    return 1 if complaints else 0
