"""Values with quantisation parameters, and graphs of one op on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph, Node, QParams, Value

Values = Sequence[Value | None]


def value(
    dtype: DType, *shape: int, scale: float | tuple[float, ...] = 0.1, zp: int = 0, axis: Any = None
) -> Value:
    """An activation; float32 ones have no parameters, and neither have those of scale 0."""
    scales = scale if isinstance(scale, tuple) else (scale,)
    is_quantised = dtype is not DType.FLOAT32 and scale
    return Value("", dtype, shape, QParams(scales, zp, axis) if is_quantised else None)


def s8(*shape: int, **parameters: Any) -> Value:
    return value(DType.INT8, *shape, **parameters)


def s16(*shape: int, **parameters: Any) -> Value:
    return value(DType.INT16, *shape, **parameters)


def f32(*shape: int) -> Value:
    return value(DType.FLOAT32, *shape)


def constant(dtype: DType, *shape: int, fill: int = 1, **parameters: Any) -> Value:
    """A constant of one number, with parameters as activations have them."""
    plain = value(dtype, *shape, **parameters)
    return Value("", dtype, shape, plain.q, np.full(shape, fill, dtype.numpy))


def weights(*shape: int, **parameters: Any) -> Value:
    return constant(DType.INT8, *shape, **parameters)


def graph_of(
    op: str, attrs: Any, inputs: Sequence[Value | None], outputs: Sequence[Value]
) -> Graph:
    """A graph of one op, which is not verified; inputs are named a, b, ... and outputs y, z, ..."""
    named = {n: v for n, v in zip("abcdefghijklmnopq", inputs, strict=False) if v is not None}
    made = dict(zip("yzw", outputs, strict=False))
    wires = tuple(n if n in named else "" for n in "abcdefghijklmnopq"[: len(inputs)])
    values = {n: Value(n, v.dtype, v.shape, v.q, v.data) for n, v in (named | made).items()}
    fed = tuple(n for n, v in named.items() if not v.is_constant)
    return Graph("case", fed, tuple(made), values, (Node(op, "op", wires, tuple(made), attrs),))


def node_of(
    op: str, attrs: Any, inputs: Sequence[Value | None], outputs: Sequence[Value]
) -> BoundNode:
    """The node of such a graph."""
    return graph_of(op, attrs, inputs, outputs).bind(0)
