"""A checker for the part of JSON Schema that the package's schemas use; other words are refused."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

KINDS: dict[str, Any] = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}

WORDS = {"$schema", "$id", "title", "description", "type", "properties", "required", "items"}
WORDS |= {"additionalProperties", "anyOf"}


@cache
def schema_of(name: str) -> dict[str, Any]:
    """The schema of a command's ``--json``, as it is installed; ``error`` is that of a refusal."""
    return json.loads((files("tinyrt.cli") / "schemas" / f"{name}.json").read_text())


def faults(schema: dict[str, Any], value: object, where: str = "$") -> list[str]:
    """What of a value a schema does not take, as places and reasons."""
    assert set(schema) <= WORDS, f"{where}: {set(schema) - WORDS}"
    if "anyOf" in schema:
        found = [faults(one, value, where) for one in schema["anyOf"]]
        return [] if [] in found else min(found, key=len)
    kinds = schema.get("type", list(KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(KINDS[kind](value) for kind in kinds):
        return [f"{where}: {value!r} is none of {kinds}"]
    if isinstance(value, list) and "items" in schema:
        return [f for i, v in enumerate(value) for f in faults(schema["items"], v, f"{where}[{i}]")]
    return _of_object(schema, value, where) if isinstance(value, dict) else []


def _of_object(schema: dict[str, Any], value: dict[str, Any], where: str) -> list[str]:
    properties = schema.get("properties", {})
    found = [f"{where}: no '{name}'" for name in schema.get("required", ()) if name not in value]
    for name, entry in value.items():
        other = schema.get("additionalProperties", True)
        if name in properties:
            found += faults(properties[name], entry, f"{where}.{name}")
        elif isinstance(other, dict):
            found += faults(other, entry, f"{where}.{name}")
        elif not other:
            found.append(f"{where}: '{name}' is not known")
    return found


def every(schema: dict[str, Any], where: str = "$") -> list[tuple[str, dict[str, Any]]]:
    """All schemas within one, with their places."""
    found = [(where, schema)]
    for name, inner in schema.get("properties", {}).items():
        found += every(inner, f"{where}.{name}")
    for i, inner in enumerate(schema.get("anyOf", ())):
        found += every(inner, f"{where}|{i}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            found += every(schema[word], f"{where}[]")
    return found
