"""``make test-faults``: whole builds with faults, and a table of what came of them.

    python -m tests.faults [--seed 0] [--part 1/4] [--only WORD] [--output FILE]

A seed decides the moments, the files and the sizes. Exit code 1 if a build had wrong bytes, showed a trace, hung, or
failed without a sentence that says what to do.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults.harm import faults
from tests.faults.trial import Skipped, Trial, Wrong, built, digests, traces

COLUMNS = ("same command", "after its sentence", "skipped", "wrong")


def main() -> int:
    """Try the faults, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="1/1", help="K/N: every N-th fault, from the K-th on")
    parser.add_argument("--only", default="", help="faults whose description has this word")
    parser.add_argument(
        "--base", type=Path, help="folder that keeps the builds without a fault for the next call"
    )
    parser.add_argument("--output", type=Path, help="JSON lines, to which the outcomes are added")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    listed = [(place, *fault) for place, fault in enumerate(faults()) if arguments.only in f"{fault}"]
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.base or temporary).resolve()
        first, second = (built(folder / name) for name in ("first", "second"))
        right = digests(first)
        right = {name: digest for name, digest in digests(second).items() if right.get(name) == digest}
        print(f"{len(right)} products have the same bytes in two builds without a fault")
        for place, row, harm, given in listed[part - 1 :: parts]:
            started = time.monotonic()
            trial = Trial(first, folder / f"trial{place}", f"{arguments.seed}/{place}")
            outcome, said = tried(trial, harm, given, right)
            told = f"{row} {given}: {outcome}"
            print(f"{place:3} {told} ({time.monotonic() - started:.0f} s)", flush=True)
            if outcome.startswith("wrong"):
                print("\n".join(text[-3000:] for text in said), file=sys.stderr)
            found.append({"row": row, "given": given, "seed": arguments.seed, "outcome": outcome})
            if arguments.output:
                with arguments.output.open("a") as file:
                    file.write(json.dumps(found[-1]) + "\n")
    if arguments.output and arguments.output.exists():
        found = [json.loads(line) for line in arguments.output.read_text().splitlines()]
    print(table(found))
    return int(any(one["outcome"].startswith("wrong") for one in found))


def tried(trial: Trial, harm, given: tuple, right: dict[str, str]) -> tuple[str, list[str]]:
    """What came of a fault, in words, and all that was said."""
    said: list[str] = []
    try:
        said += harm(trial, *given)
        outcome = trial.mended(right, said)
    except Skipped as error:
        return f"skipped: {error}", said
    except Wrong as error:
        outcome = f"wrong: {error}"
    finally:
        trial.clear()
    if found := traces(said):
        outcome = f"wrong: a trace ({outcome}): {found[0]}"
    return outcome, said


def table(found: list[dict]) -> str:
    """Counts by fault and outcome, as Markdown."""
    counts: dict[str, Counter] = {}
    for one in found:
        word = one["outcome"].partition(":")[0]
        column = word if word in COLUMNS else "after its sentence"
        counts.setdefault(one["row"], Counter())[column] += 1
    counts["all"] = sum(counts.values(), Counter())
    lines = [f"| fault | tried | {' | '.join(COLUMNS)} |", "| --- |" + " ---: |" * (len(COLUMNS) + 1)]
    for row, count in counts.items():
        lines.append(f"| {row} | {count.total()} | {' | '.join(str(count[one]) for one in COLUMNS)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
