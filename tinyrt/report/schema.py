"""The JSON Schema of the report's data, derived from its types."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from tinyrt.report.facts import Report

DRAFT = "http://json-schema.org/draft-07/schema#"
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema() -> dict[str, Any]:
    """The schema, with one definition for each type of ``facts``."""
    definitions: dict[str, Any] = {}
    root = _of(Report, definitions)
    return {"$schema": DRAFT, "title": "tinyrt report", **root, "definitions": definitions}


def _of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(one, definitions) for one in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    return _record(kind, definitions)


def _record(kind: type[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to the definition of a dataclass, which is added where it is new."""
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # its fields may lead back to it
        hints = get_type_hints(kind)
        names = [one.name for one in fields(kind) if one.compare]  # what is made of data is none
        definitions[name] = {
            "type": "object",
            "description": (kind.__doc__ or "").partition("\n")[0],
            "properties": {one: _of(hints[one], definitions) for one in names},
            "required": names,
            "additionalProperties": False,
        }
    return {"$ref": f"#/definitions/{name}"}
