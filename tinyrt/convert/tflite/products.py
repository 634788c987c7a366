"""Weights whose scale and the input's have a product in float32: an entry of a file's metadata.

They come from uint8 files, whose arithmetic this is. Other interpreters multiply such scales in
float64, so that few of their answers differ, by one step.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tinyrt.convert.tflite.metadata import read_entry
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Graph, Value

PRODUCTS = "tinyrt.float32_products"
"""Name of the entry: a JSON list of the weights' names."""


def products_entry(graph: Graph) -> dict[str, bytes]:
    """The metadata of a file that is written from the graph; empty where it has no such weights."""
    names = [v.name for v in graph.values.values() if v.q is not None and v.q.product_f32]
    return {PRODUCTS: json.dumps(names).encode()} if names else {}


def with_products(model: Any, values: list[Value], subgraph: int) -> list[Value]:
    """The tensors of a file, those of them marked that its metadata name.

    Args:
        model: the file's root table.
        values: tensors of one of its subgraphs.
        subgraph: which one; the entry is about the first.

    Raises:
        ModelFormatError: the entry is not what it should be.

    """
    data = None if subgraph else read_entry(model, PRODUCTS)
    try:
        names = {str(name) for name in json.loads(data or b"[]")}
    except (ValueError, TypeError) as error:
        raise ModelFormatError(
            f"metadata '{PRODUCTS}' is not a list of names: {error}",
            expected='["NAME", ...] in JSON',
        ) from error
    scaled = {value.name for value in values if value.q is not None}
    if not names <= scaled:
        raise ModelFormatError(
            f"metadata '{PRODUCTS}' names '{min(names - scaled)}'",
            expected="tensors of the model that have scales",
        )
    return [_marked(value) if value.name in names else value for value in values]


def _marked(value: Value) -> Value:
    assert value.q is not None, "only tensors with scales are named"
    return replace(value, q=replace(value.q, product_f32=True))
