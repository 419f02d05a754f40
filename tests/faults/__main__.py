"""``make test-faults``: whole builds with faults, and a table of what came of them.

    python -m tests.faults [--seed 0] [--only WORD] [--folder FOLDER]

A seed decides the moments, the files and the sizes. Exit code 1 if a build had wrong bytes, showed a trace, hung, or
failed without a sentence that says what to do. In a folder that is named the outcomes are kept: the same command goes
on where it was interrupted, and tries again what was wrong.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults.harm import faults
from tests.faults.trial import Skipped, Trial, Wrong, built, traces

COLUMNS = ("same command", "after its sentence", "skipped", "wrong")


def main():
    """Try the faults, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="faults whose description has this word")
    parser.add_argument("--folder", type=Path, help="keeps the outcomes, and the build without a fault")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary).resolve()
        original = built(folder / "project")
        outcomes = folder / "outcomes.json"
        found = json.loads(outcomes.read_text()) if outcomes.exists() else {}
        for place, (row, harm, given) in enumerate(faults()):
            name = f"{arguments.seed}/{place}"
            told = f"{row} {given}"
            if arguments.only not in told or found.get(name, {"outcome": "wrong"})["outcome"][:5] != "wrong":
                continue
            started = time.monotonic()
            outcome, said = tried(Trial(original, folder / "trial", name), harm, given)
            print(f"{place:3} {told}: {outcome} ({time.monotonic() - started:.0f} s)", flush=True)
            if outcome.startswith("wrong"):
                print("\n".join(text[-3000:] for text in said), file=sys.stderr)
            found[name] = {"row": row, "outcome": outcome}
            outcomes.write_text(json.dumps(found, indent=1))
    print(table([*found.values()]))
    return int(any(one["outcome"].startswith("wrong") for one in found.values()))


def tried(trial, harm, given):
    """What came of a fault, in words, and all that was said."""
    said = []
    try:
        said += harm(trial, *given)
        outcome = trial.mended(said)
    except Skipped as error:
        outcome = f"skipped: {error}"
    except (Wrong, AssertionError) as error:
        outcome = f"wrong: {error}"
    finally:
        trial.clear()
    if found := traces(said):
        outcome = f"wrong: a trace ({outcome}): {found[0]}"
    return outcome, said


def table(found):
    """Counts by fault and outcome, as Markdown."""
    counts = {}
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
