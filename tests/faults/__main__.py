"""``make test-faults``: whole builds with faults, and a table of what came of them.

    python -m tests.faults [--seed 0] [--only WORD]

A seed decides the moments, the files and the sizes. Exit code 1 if a build had wrong bytes, showed a trace, hung, or
failed without a sentence that says what to do.
"""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from tests.faults.harm import faults
from tests.faults.trial import Skipped, Trial, Wrong, built, traces


def main():
    """Try the faults, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="faults whose description has this word")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
    found = []
    with tempfile.TemporaryDirectory() as folder:
        original = built(Path(folder) / "project")
        for place, (row, harm, given) in enumerate(faults()):
            told = f"{row} {given}"
            if arguments.only not in told:
                continue
            started = time.monotonic()
            trial = Trial(original, Path(folder) / "trial", f"{arguments.seed}/{place}")
            outcome, said = tried(trial, harm, given)
            print(f"{place:3} {told}: {outcome} ({time.monotonic() - started:.0f} s)", flush=True)
            if outcome.startswith("wrong"):
                print("\n".join(text[-3000:] for text in said), file=sys.stderr)
            word = outcome.partition(":")[0]
            known = word in ("same command", "skipped", "wrong")
            found.append((row, word if known else "after its sentence"))
    rows, outcomes = zip(*found, strict=True)
    counts = pd.crosstab(pd.Series(rows, name="fault"), pd.Series(outcomes, name="outcome"), margins=True)
    print(counts.to_string())
    return int("wrong" in outcomes)


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
    found = traces(said)
    if found:
        outcome = f"wrong: a trace ({outcome}): {found[0]}"
    return outcome, said


if __name__ == "__main__":
    sys.exit(main())
