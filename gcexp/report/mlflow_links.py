"""Addresses of MLflow's pages: the list of a figure's schemes, with the columns and the order that compare them.

MLflow documents neither the parameters of these addresses nor what a shared view is made of. They were read from the
pages of MLflow 3.17.2, and ``make test-browser`` fails where the pinned version does not understand them any more. A
version that does not know a field of a view leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

#: How the tags of an experiment begin in which MLflow keeps the views that its button *Share* makes.
SHARED_VIEW = "mlflow.sharedViewState."
#: The tag of the description that stands above all pages of an experiment.
DESCRIPTION = "mlflow.note.content"

# Else the pages of MLflow's tools for language models surround the list.
_FOR_TRAINING = "workflowType=machine_learning"
_PIXELS_OF_A_LETTER = 6
_PIXELS_AROUND_A_NAME = 44
_LEAST_PIXELS = 100
_FIGURE = r"\[[^\]]+\]\(#/experiments/\w+/runs\?viewStateShareKey=[^)]+\)"


def view_of(query: str, metrics: list[str], params: Iterable[str]) -> dict[str, Any]:
    """A shared view: the runs that a query finds, the smallest of the first metric first, with these columns alone.

    MLflow sorts columns by their names unless the view has an order, and cuts long names unless it has widths.
    """
    named = {f"metrics.`{name}`": name for name in metrics}
    named |= {f"params.`{name}`": name for name in params}
    widths = {}
    for column, name in named.items():
        widths[column] = max(_LEAST_PIXELS, _PIXELS_AROUND_A_NAME + _PIXELS_OF_A_LETTER * len(name))
    return {
        "searchFilter": query,
        "orderByKey": f"metrics.`{metrics[0]}`",
        "orderByAsc": True,
        "selectedColumns": [*named],
        "columnOrder": [*named],
        "columnWidths": widths,
    }


def view_key(figure: str) -> str:
    """The key of a figure's shared view, by the preset and the figure.

    >>> view_key("quick/adaptive_fig1")
    'quick-adaptive_fig1'
    """
    return figure.replace("/", "-")


def schemes_link(experiment: str, figure: str) -> str:
    """The part of an address that opens the list of a figure's schemes.

    >>> schemes_link("1", "quick/adaptive_fig1")
    '#/experiments/1/runs?viewStateShareKey=quick-adaptive_fig1&workflowType=machine_learning'
    """
    return f"#/experiments/{experiment}/runs?viewStateShareKey={quote(view_key(figure))}&{_FOR_TRAINING}"


def description_of(experiment: str, paper: str, figures: Iterable[str]) -> str:
    """The description of an experiment: for each preset a line with the links of a paper's figures.

    MLflow shows the first line, and the others behind a click.

    >>> print(description_of("1", "adaptive", ["quick/adaptive_fig1"]))
    quick: [fig1](#/experiments/1/runs?viewStateShareKey=quick-adaptive_fig1&workflowType=machine_learning)
    """
    lines: dict[str, list[str]] = {}
    for figure in sorted(figures):
        preset, _, target = figure.partition("/")
        link = f"[{target.removeprefix(f'{paper}_')}]({schemes_link(experiment, figure)})"
        lines.setdefault(preset, []).append(link)
    return "\n\n".join(f"{preset}: {' · '.join(links)}" for preset, links in lines.items())


def is_our_description(text: str) -> bool:
    """Whether a description is one that an import wrote, and nothing in it is a person's.

    >>> is_our_description(description_of("1", "adaptive", ["quick/adaptive_fig1", "paper/adaptive_fig1"]))
    True
    >>> is_our_description("Read fig1 first.")
    False
    """
    line = rf"[^:\n]+: {_FIGURE}( · {_FIGURE})*"
    return re.fullmatch(rf"{line}(\n\n{line})*", text) is not None
