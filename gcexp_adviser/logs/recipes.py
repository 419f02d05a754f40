"""Recipes of docs/logs.md for what is not read as it is, by the headings that sentences name."""

from __future__ import annotations

WORDS = "Lines of words"
LAUNCHER = "Lines behind a launcher"
PREFIXED_JSON = "JSON behind a prefix"
NESTED_JSON = "Nested JSON"
EVENTS = "Timelines of events"
FLIGHT = "Dumps of the flight recorder"
SEVERAL_ROWS = "Several rows of one step"
RATES = "Rates"
HEADERS = "Headers of several rows"
ENDS = "Ends of iterations"
DIFFERENCES = "Columns of times that only grow"
TURNED = "A column for each iteration"
FRAMES = "Pickles and workbooks"


def see(recipe: str) -> str:
    """Where a recipe stands, as a sentence goes on.

    >>> see(NESTED_JSON)
    "see 'Nested JSON' in docs/logs.md"
    """
    return f"see {recipe!r} in docs/logs.md"
