"""What a figure file may hold as JSON Schema, for editors that complete and check YAML while it is written."""

from __future__ import annotations

import json
from typing import Any

from gcexp.figures.plots import KINDS
from gcexp.report.columns import Passages, Timings
from gcexp.report.entries import RUN_KEYS
from gcexp.report.figure import FigureFile
from gcexp.run.options import GROUPS as _GROUPS
from gcexp.run.tokens import SHARED

_OWN_KEYS = "^(code|wait|placement|delay|task|optimizer|columns)[.]"


def figure_schema() -> dict:
    """JSON Schema of ``<paper>/figures/<target>.yaml``, made of the dataclasses that read it.

    Examples
    --------
    >>> schema = figure_schema()
    >>> schema["required"], schema["properties"]["kind"]["enum"]
    (['title', 'source', 'kind'], ['curves', 'timings', 'analysis'])
    """
    schema = _of(FigureFile)
    plots = {kind: _of(cls, kind={"const": kind}) for kind, cls in KINDS.items()}
    run: dict[str, Any] = {
        "type": "object",
        "properties": dict.fromkeys((*RUN_KEYS, *_GROUPS, *SHARED), {}) | {"each": {"type": "array"}},
        "patternProperties": {_OWN_KEYS: {}},
        "additionalProperties": False,
    }
    schema["properties"] |= {
        "common": run,
        "runs": {"type": "array", "items": run},
        "timings": _of(Timings),
        "passages": _of(Passages),
        "analysis": {
            "type": "object",
            "properties": {"function": {"type": "string"}},
            "required": ["function"],
        },
        "plot": {"anyOf": [_plot(kind) for kind in plots]},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Figure file of gcexp",
        **schema,
        "$defs": {f"plot_{kind}": plot for kind, plot in plots.items()},
    }


def document() -> str:
    """The schema as it stands in docs/figure.schema.json."""
    return json.dumps(figure_schema(), indent=1) + "\n"


def _plot(kind: str) -> dict:
    return {"$ref": f"#/$defs/plot_{kind}"}


def _of(cls: type, **more: dict) -> dict:
    """Schema of a dataclass, further keys and the promise that there are no others."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(cls).json_schema()
    known = schema.get("$defs", {})
    properties = {name: _plain(value, known) for name, value in schema["properties"].items()}
    required = [*schema.get("required", []), *more]
    return {
        "type": "object",
        "properties": more | properties,
        "required": required,
        "additionalProperties": False,
    }


def _plain(value: Any, known: dict) -> Any:
    """Without titles, which repeat the names of the keys, and with what is referred to in place."""
    if isinstance(value, list):
        return [_plain(part, known) for part in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        found = known[value["$ref"].rpartition("/")[2]]
        return _plain(
            {k: v for k, v in found.items() if k != "description"} | {"additionalProperties": False}, known
        )
    return {k: _plain(v, known) for k, v in value.items() if k != "title" or isinstance(v, dict)}
