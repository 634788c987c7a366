"""Broken .tflite files: the schema's tables changed, then written again; a few changed as bytes.

A file is unpacked into the objects of the schema's own Python code. Half of the changes are made
by rules that know what tensors, ops and quantisation are; the others set any field of any table.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

from tests.fuzz.tflite_rules import RULES, Model
from tests.fuzz.tflite_values import other
from tests.fuzz.values import Rng, of_bytes, pick


def mutate(data: bytes, rng: Rng) -> bytes:
    """The file with one to four changes."""
    if rng.random() < 0.12:
        return of_bytes(rng, data)
    model = copy.deepcopy(unpacked(data))
    last = None
    for _ in range(int(pick(rng, (1, 1, 1, 2, 2, 3, 4)))):
        rule = pick(rng, RULES) if rng.random() < 0.6 else any_field
        try:
            rule(model, rng)
        except _HALF_BROKEN:
            if last is None:
                raise
            break  # what came before took away the tables that the rule looks for
        after = packed(model)
        if after is None:
            break
        last = after
    if last is None:  # a number that its field cannot hold
        return of_bytes(rng, data)
    return of_bytes(rng, last, 2) if rng.random() < 0.05 else last


_HALF_BROKEN = (AttributeError, TypeError, ValueError, IndexError, OverflowError)


@lru_cache(maxsize=1024)
def unpacked(data: bytes) -> Model:
    """The file's tables; shared by all who ask, and not to be changed."""
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))


def packed(model: Model) -> bytes | None:
    """The file; nothing where a table holds what its field cannot."""
    builder = flatbuffers.Builder(4096)
    try:
        builder.Finish(model.Pack(builder), b"TFL3")
    except (*_HALF_BROKEN, flatbuffers.builder.BuilderSizeError):
        return None
    return bytes(builder.Output())


def any_field(model: Model, rng: Rng) -> None:
    """Change one field of one table, whatever it is."""
    table = pick(rng, list(tables(model)))
    fields = [name for name in vars(table) if name != "builtinOptionsType" or rng.random() < 0.3]
    if fields:
        name = pick(rng, fields)
        setattr(table, name, other(getattr(table, name), rng))


def tables(table: Any) -> Iterator[Any]:
    """The table, and all that are in it."""
    yield table
    for value in vars(table).values():
        for item in value if isinstance(value, list) else (value,):
            if hasattr(item, "Pack"):
                yield from tables(item)
