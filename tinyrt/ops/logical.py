"""logical_and, logical_or, logical_not: of truth values, which are never quantised."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.emit import broadcast_fields
from tinyrt.ops.shapes import broadcast, operand
from tinyrt.ops.spec import Array, CWriter, NoAttrs, OpSpec, Quant


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """One or two inputs of truth values -> their broadcast shape."""
    del attrs
    types = [operand(inputs, i, f"input {i}") for i in range(max(len(inputs), 1))]
    if any(t.dtype is not DType.BOOL for t in types):
        raise ShapeError(f"inputs are {', '.join(map(str, types))}", expected="bool")
    shape = types[0].shape
    for other in types[1:]:
        shape = broadcast(shape, other.shape)
    return (TensorType(DType.BOOL, shape),)


def _ref(function: Any, attrs: NoAttrs, *inputs: Array) -> Array:
    del attrs
    return np.asarray(function(*inputs))


def _emit(table: int, node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_logical``."""
    params = c.params("tinyrt_logical_params", {**broadcast_fields(node), "table": table})
    values = (node.input(0), node.input(1), node.output)
    c.call("tinyrt_logical", params, *(c.pointer(v) for v in values))


def _emit_not(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_logical`` with the one input as both."""
    x, y = node.input(0), node.output
    fields = {"rank": 1, "dims": [y.size], "a_strides": [1], "b_strides": [1], "table": NOR}
    params = c.params("tinyrt_logical_params", fields)
    c.call("tinyrt_logical", params, c.pointer(x), c.pointer(x), c.pointer(y))


AND, OR, NOR = 0b1000, 0b1110, 0b0001
"""Functions of two truth values: bit ``2 * a + b`` is the value."""

LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT = (
    OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(arity, arity),
        infer=infer,
        quant=Quant.FLOAT_ONLY,
        ref_f32=partial(_ref, getattr(np, name)),
        emit_f32=emit,
    )
    for name, arity, emit in (
        ("logical_and", 2, partial(_emit, AND)),
        ("logical_or", 2, partial(_emit, OR)),
        ("logical_not", 1, _emit_not),
    )
)
