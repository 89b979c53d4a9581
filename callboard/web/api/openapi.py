"""The OpenAPI document, made of the tables of questions and the types of their answers."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import getdoc
from types import GenericAlias
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from callboard.board.envelope import Diagnostic
from callboard.board.page import Page
from callboard.web.api.parameters import Parameter
from callboard.web.api.read import Follow, Read
from callboard.web.api.reads.table import FOLLOWS, READS
from callboard.web.signin.sessions import COOKIE

ABOUT = "What a callboard board knows, as JSON; see docs/api.md. Every answer is in the same envelope."
REFUSALS = {
    400: "The request is wrong.", 401: "Nobody is signed in.", 403: "The user may not do this.",
    404: "What it names is not there.", 500: "An error in callboard.", 503: "The log is away, or callboard is busy.",
}  # fmt: skip
FIELDS = re.compile(r"\n\n(?:Attributes|Args):\n")
FIELD = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)$", re.MULTILINE)
"""How docstrings describe the fields of a class."""

ANYTHING = ConfigDict(arbitrary_types_allowed=True)


class Schemas(GenerateJsonSchema):
    """Schemas of what ``callboard.board.envelope`` writes."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Views always have all their fields."""
        return field["type"] == "dataclass-field" or super().field_is_required(field, total)

    def field_title_should_be_set(self, _: Any) -> bool:
        """Titles would repeat the names."""
        return False

    def enum_schema(self, schema: Any) -> dict[str, Any]:
        """Enums of numbers are written as words."""
        made = super().enum_schema(schema)
        if made["type"] == "integer":
            made |= {"type": "string", "enum": [each.name.lower() for each in schema["members"]]}
        return made

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """As views always have their fields, defaults tell nothing."""
        return self.generate_inner(schema["schema"])

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        """Pages say whether they are complete."""
        made = super().dataclass_schema(schema)
        about, *rest = FIELDS.split((getdoc(schema["cls"]) or "").replace("``", "`"))
        made["description"] = " ".join(about.split())
        for name, words in FIELD.findall("".join(rest)):
            made["properties"][name] = {"description": " ".join(words.split())} | made["properties"][name]
        if issubclass(schema["cls"], Page):
            made["properties"]["complete"] = {"type": "boolean"}
            made["required"].append("complete")
        return made

    def is_instance_schema(self, _: Any) -> dict[str, Any]:
        """What jobs are given as a collection."""
        return {"type": "array"}

    def normalize_name(self, name: str) -> str:
        """``Page_Job`` for ``Page[Job]``."""
        return super().normalize_name(name).strip("_")


@cache
def document() -> str:
    """The document, as JSON."""
    return json.dumps(openapi(), indent=1) + "\n"


def openapi() -> dict[str, Any]:
    """The document."""
    types = {each.name: each.answer for each in READS} | {each.name: each.event for each in FOLLOWS}
    data, named = _schemas(types | {"diagnostic": Diagnostic})
    paths = {each.path: {"get": _read(each, data[each.name])} for each in READS}
    paths |= {each.path: {"get": _follow(each, data[each.name])} for each in FOLLOWS}
    return {
        "openapi": "3.1.0",
        "info": {"title": "callboard", "version": "1", "description": ABOUT},
        "servers": [{"url": "."}],
        "security": [{"basic": []}, {"cookie": []}, {}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
            "responses": {
                str(status): {"description": why, "content": _json(_envelope({"type": "null"}, "error"))}
                for status, why in REFUSALS.items()
            },
            "schemas": named,
        },
    }


def _schemas(types: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The schema of each type, and those that these refer to by their names."""
    # Only for what is no dataclass itself can a configuration be given, which is for all that is in it.
    lists: dict[str, Any] = {name: GenericAlias(tuple, (its, ...)) for name, its in types.items()}
    adapters = {name: TypeAdapter(its, config=ANYTHING) for name, its in lists.items()}
    found, rest = TypeAdapter.json_schemas(
        [(name, "serialization", each) for name, each in adapters.items()],
        ref_template="#/components/schemas/{model}", schema_generator=Schemas,
    )  # fmt: skip
    return {name: schema["items"] for (name, _), schema in found.items()}, rest["$defs"]


def _read(read: Read, data: dict[str, Any]) -> dict[str, Any]:
    answer = {"description": "The answer.", "content": _json(_envelope(data, "ok", "attention"))}
    return _operation(read.name, read.summary, read.path, read.parameters, answer)


def _follow(follow: Follow, event: dict[str, Any]) -> dict[str, Any]:
    what = f"Server-sent events; the data of each is {event['$ref'].rpartition('/')[2]} as JSON, on one line."
    answer = {"description": what, "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    made = _operation(follow.name, follow.summary, follow.path, (*follow.parameters, follow.after), answer)
    said = "Where a reader was before it connected again; goes before `after`."
    again = {"name": "Last-Event-ID", "in": "header", "description": said, "schema": {"type": "string"}}
    return made | {"parameters": [*made["parameters"], again], "tags": ["streams"]}


def _operation(
    name: str, summary: str, path: str, parameters: Sequence[Parameter], answer: dict[str, Any]
) -> dict[str, Any]:
    refusals = {str(status): {"$ref": f"#/components/responses/{status}"} for status in REFUSALS}
    return {
        "operationId": name, "summary": summary,
        "parameters": [_parameter(each, in_path=f"{{{each.name}}}" in path) for each in parameters],
        "responses": {"200": answer, **refusals},
    }  # fmt: skip


def _parameter(its: Parameter, *, in_path: bool) -> dict[str, Any]:
    place = {"in": "path", "required": True} if in_path else {"in": "query", "required": its.is_needed}
    return {"name": its.name, **place, "description": its.what, "schema": its.schema}


def _envelope(data: dict[str, Any], *statuses: str) -> dict[str, Any]:
    diagnostics = {"type": "array", "items": {"$ref": "#/components/schemas/Diagnostic"}}
    fields = {"version": {"const": 1}, "status": {"enum": statuses}, "data": data, "diagnostics": diagnostics}
    return {"type": "object", "properties": fields, "required": list(fields)}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
