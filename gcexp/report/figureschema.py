"""What a figure file may hold as JSON Schema, for editors that complete and check YAML while it is written."""

from __future__ import annotations

import json
from typing import Any

from gcexp.figures.plots import KINDS
from gcexp.report.entries import RUN_KEYS
from gcexp.report.figure import FigureFile
from gcexp.run.options import GROUPS, SHARED

#: Groups whose options have keys of their own in a run: a scheme's stand in its code, waiting rule and so on.
_WITH_KEYS = [group for group in GROUPS if group != "scheme"]


def figure_schema() -> dict[str, Any]:
    """JSON Schema of ``<paper>/figures/<target>.yaml``, made of the dataclasses that read it.

    The keys of a run are made of the groups from which it is composed.
    """
    from pydantic import TypeAdapter

    read: tuple[type, ...] = (FigureFile, *KINDS.values())
    adapters = [(cls.__name__, "validation", TypeAdapter(cls)) for cls in read]
    _, schemas = TypeAdapter.json_schemas(adapters)
    known = schemas["$defs"]
    for schema in known.values():
        schema["additionalProperties"] = False
    for kind, cls in KINDS.items():
        plot = known[cls.__name__]
        plot["properties"]["kind"] = {"const": kind}
        plot["required"] = [*plot.get("required", []), "kind"]
    run = _run_schema()
    file = known.pop("FigureFile")
    file["properties"]["common"] = run
    file["properties"]["runs"] = {"type": "array", "items": run}
    file["properties"]["analysis"] = {
        "type": "object",
        "properties": {"function": {"type": "string"}},
        "required": ["function"],
    }
    file["properties"]["plot"] = {"anyOf": [{"$ref": f"#/$defs/{cls.__name__}"} for cls in KINDS.values()]}
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Figure file of gcexp"}
    return file | about | {"$defs": known}


def _run_schema() -> dict[str, Any]:
    """What the entries of ``runs`` may hold: any value, since each may also be a list that is swept."""
    keys: dict[str, Any] = dict.fromkeys((*RUN_KEYS, *GROUPS, *SHARED), {})
    keys["each"] = {"type": "array"}
    before_a_dot = "|".join([*_WITH_KEYS, "columns"])
    return {
        "type": "object",
        "properties": keys,
        "patternProperties": {f"^({before_a_dot})[.]": {}},
        "additionalProperties": False,
    }


def document() -> str:
    """The schema as it stands in docs/figure.schema.json."""
    return json.dumps(figure_schema(), indent=1) + "\n"
