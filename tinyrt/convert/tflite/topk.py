"""TOPK_V2: the graph has its places as an op, and its values as what these pick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyrt.convert.tflite.codec import (
    Codec,
    Encoded,
    Operands,
    constant_ints,
    decode_plain,
    operand,
    since_s8,
)
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs


def topk_v2(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Places, and the values there unless nothing reads them."""
    del options
    x, k = operand(inputs, 0), constant_ints(inputs, 1, "k")
    if len(k) != 1 or len(outputs) != 2:
        raise ModelFormatError(
            f"k of {len(k)} numbers and {len(outputs)} outputs", expected="1 number, and 2 outputs"
        )
    values, places = outputs
    found = parts.add("topk_v2", [x], places, TopkV2Attrs(k[0]))
    parts.add("embedding", [x, found], values, EmbeddingAttrs(len(x.shape) - 1))
    parts.spare.add(values.name)


def _encode(node: BoundNode) -> Encoded:
    return Encoded(extra=(("k", np.asarray(node.attrs_as(TopkV2Attrs).k, np.int32)),))


TOPK_V2 = Codec("topk_v2", "TOPK_V2", "TopKV2Options", _encode, decode_plain, since_s8(2))
"""For writing alone: files are read by ``topk_v2``."""


def values_of(graph: Graph) -> dict[str, Value]:
    """Places of each such op -> the values there: what picks them, or what nothing reads."""
    found = {}
    for node in graph.bound():
        if node.op == "topk_v2":
            x, places = node.input(0), node.output
            pick = "embedding", (x.name, places.name), EmbeddingAttrs(len(x.shape) - 1)
            picking = (n for n in graph.consumers(places.name) if (n.op, n.inputs, n.attrs) == pick)
            unread = Value(graph.unique_name(f"{places.name}/values"), x.dtype, places.shape, x.q)
            values = (graph.value(n.outputs[0]) for n in picking)
            found[places.name] = next(values, unread)
    return found
