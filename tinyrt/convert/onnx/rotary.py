"""onnxruntime's RotaryEmbedding: pairs of a query's numbers turned by angles of its place."""

from __future__ import annotations

import numpy as np
import onnx

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.expansion import Expansion
from tinyrt.errors import ModelFormatError, UnsupportedError

PACKED = ("is_packed_batching", "scale")
"""Attributes that change what the op computes, in ways that no exporter writes."""


def rotary_embedding(call: Call) -> list[onnx.NodeProto]:
    """``(a cos - b sin, a sin + b cos)`` for pairs (a, b) of each head.

    A pair is two neighbours where ``interleaved`` is set, else an element of each half. Inputs are
    x (n, length, size) or (n, heads, length, size of a head), places (n, length) or the first one,
    and the cosines and sines (places, pairs).

    Raises:
        UnsupportedError: samples are packed, or scaled.
        ModelFormatError: shapes do not fit.

    """
    node, shape, pairs = call.node, call.shape(0), call.shape(2)[-1]
    if node.get_int("is_packed_batching", 0) or node.get_float("scale", 1.0) != 1:
        raise UnsupportedError(
            f"RotaryEmbedding with {' or '.join(PACKED)}",
            expected="is_packed_batching 0 and scale 1",
            hint="save the model with fewer of onnxruntime's optimisations",
        )
    heads = node.get_int("num_heads", 0) or shape[-1] // (2 * pairs)
    size = shape[-1] // heads if len(shape) == 3 and heads else shape[-1]
    if len(shape) not in (3, 4) or size < 2 * pairs or (len(shape) == 3 and shape[-1] % size):
        raise ModelFormatError(
            f"RotaryEmbedding of {list(shape)} by {pairs} angles",
            expected="(n, length, size) or (n, heads, length, size of a head), two for an angle",
        )
    b = Expansion(node)
    x, axis, length = b.name(0), 1, shape[-2]
    if len(shape) == 3:
        x, axis = b.op("Reshape", (x, _shape(b, 0, 0, -1, size))), 2
    cos, sin = _angles(b, call, length, axis)
    turned, *rest = b.split(x, [2 * pairs, size - 2 * pairs]) if size > 2 * pairs else [x]
    interleaved = bool(node.get_int("interleaved", 0))
    first, second = _halves(b, turned, pairs, interleaved=interleaved)
    left = b.op("Sub", (b.op("Mul", (first, cos)), b.op("Mul", (second, sin))))
    right = b.op("Add", (b.op("Mul", (first, sin)), b.op("Mul", (second, cos))))
    joined = _joined(b, left, right, pairs, interleaved=interleaved)
    joined = b.op("Concat", (joined, *rest), axis=-1) if rest else joined
    b.op("Reshape", (joined, _shape(b, *shape)))
    return b.ended()


def _shape(b: Expansion, *dimensions: int) -> str:
    return b.constant(np.array(dimensions, np.int64))


def _angles(b: Expansion, call: Call, length: int, axis: int) -> list[str]:
    """Cosines and sines of each place, with a dimension of 1 for the heads."""
    places = b.name(1)
    if call.shape(1) in ((), (1,)):
        row = b.constant(np.arange(length, dtype=np.int64)[None])
        places = b.op("Add", (b.op("Reshape", (places, _shape(b, 1, 1))), row))
    rows = [b.op("Gather", (b.name(i), places), axis=0) for i in (2, 3)]
    return [b.op("Unsqueeze", (row, _shape(b, axis))) for row in rows]


def _halves(b: Expansion, x: str, pairs: int, *, interleaved: bool) -> list[str]:
    """The first and the second number of each pair."""
    if not interleaved:
        return b.split(x, [pairs, pairs])
    parts = b.split(b.op("Reshape", (x, _shape(b, 0, 0, 0, pairs, 2))), [1, 1])
    return [b.op("Reshape", (part, _shape(b, 0, 0, 0, pairs))) for part in parts]


def _joined(b: Expansion, left: str, right: str, pairs: int, *, interleaved: bool) -> str:
    """Pairs in their places."""
    if not interleaved:
        return b.op("Concat", (left, right), axis=-1)
    parts = [b.op("Unsqueeze", (part, _shape(b, -1))) for part in (left, right)]
    both = b.op("Concat", parts, axis=-1)
    return b.op("Reshape", (both, _shape(b, 0, 0, 0, 2 * pairs)))
