"""What a figure file may hold as JSON Schema, for editors that complete and check YAML while it is written."""

from __future__ import annotations

import json
from typing import Any

from gcexp.figures.plots import KINDS
from gcexp.report.entries import RUN_KEYS
from gcexp.report.figure import FigureFile
from gcexp.run.options import GROUPS as _GROUPS
from gcexp.run.options import SHARED

_OWN_KEYS = "^(code|wait|placement|delay|task|optimizer|columns)[.]"


def figure_schema() -> dict:
    """JSON Schema of ``<paper>/figures/<target>.yaml``, made of the dataclasses that read it."""
    from pydantic import TypeAdapter

    read: tuple[type, ...] = (FigureFile, *KINDS.values())
    adapters = [(cls.__name__, "validation", TypeAdapter(cls)) for cls in read]
    known = TypeAdapter.json_schemas(adapters)[1]["$defs"]
    for schema in known.values():
        schema["additionalProperties"] = False
    for kind, cls in KINDS.items():
        plot = known[cls.__name__]
        plot["properties"]["kind"] = {"const": kind}
        plot["required"] = [*plot.get("required", []), "kind"]
    run: dict[str, Any] = {
        "type": "object",
        "properties": dict.fromkeys((*RUN_KEYS, *_GROUPS, *SHARED), {}) | {"each": {"type": "array"}},
        "patternProperties": {_OWN_KEYS: {}},
        "additionalProperties": False,
    }
    file = known.pop("FigureFile")
    file["properties"] |= {
        "common": run,
        "runs": {"type": "array", "items": run},
        "analysis": {
            "type": "object",
            "properties": {"function": {"type": "string"}},
            "required": ["function"],
        },
        "plot": {"anyOf": [{"$ref": f"#/$defs/{cls.__name__}"} for cls in KINDS.values()]},
    }
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Figure file of gcexp"}
    return file | schema | {"$defs": known}


def document() -> str:
    """The schema as it stands in docs/figure.schema.json."""
    return json.dumps(figure_schema(), indent=1) + "\n"
