"""Comparisons, logic on truth values, and select_v2, which chooses by them; in float."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.emit import broadcast_fields, merge_axes, repeating_strides
from tinyrt.ops.shapes import broadcast, infer_binary, operand
from tinyrt.ops.spec import Array, CWriter, NoAttrs, OpSpec, Quant

COMPARABLE = (DType.FLOAT32, DType.INT32, DType.INT64)


def infer_comparison(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> truth values of their broadcast shape."""
    del attrs
    (y,) = infer_binary(inputs)
    if y.dtype not in COMPARABLE:
        raise ShapeError(f"inputs are {y.dtype.short}", expected="float32, int32 or int64")
    return (TensorType(DType.BOOL, y.shape),)


def infer_logical(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """One or two inputs of truth values -> their broadcast shape."""
    del attrs
    types = [operand(inputs, i, f"input {i}") for i in range(max(len(inputs), 1))]
    if any(t.dtype is not DType.BOOL for t in types):
        raise ShapeError(f"inputs are {', '.join(map(str, types))}", expected="bool")
    shape = types[0].shape
    for other in types[1:]:
        shape = broadcast(shape, other.shape)
    return (TensorType(DType.BOOL, shape),)


def infer_select(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Truth values, and two inputs of one dtype -> the shape that all broadcast to."""
    del attrs
    condition = operand(inputs, 0, "the condition")
    if condition.dtype is not DType.BOOL:
        raise ShapeError(f"the condition is {condition}", expected="bool")
    (y,) = infer_binary(inputs[1:])
    if y.dtype is DType.INT8:
        raise ShapeError(f"the choices are {y}", expected="float32: no integer form")
    return (TensorType(y.dtype, broadcast(condition.shape, y.shape)),)


def _ref(function: Any, attrs: NoAttrs, *inputs: Array) -> Array:
    del attrs
    return np.asarray(function(*inputs))


def _emit_comparison(accepted: int, node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_compare_f32``, or of that for int32 or int64."""
    fields = {**broadcast_fields(node), "accepted": accepted}
    params = c.params("tinyrt_compare_params", fields)
    _emit_pair(f"tinyrt_compare_{node.input(0).dtype.short}", params, node, c)


def _emit_logical(table: int, node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_logical``."""
    params = c.params("tinyrt_logical_params", {**broadcast_fields(node), "table": table})
    _emit_pair("tinyrt_logical", params, node, c)


def _emit_not(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_logical`` with the one input as both."""
    x, y = node.input(0), node.output
    fields = {"rank": 1, "dims": [y.size], "a_strides": [1], "b_strides": [1], "table": NOR}
    params = c.params("tinyrt_logical_params", fields)
    c.call("tinyrt_logical", params, c.pointer(x), c.pointer(x), c.pointer(y))


def _emit_pair(kernel: str, params: str, node: BoundNode, c: CWriter) -> None:
    c.call(kernel, params, *(c.pointer(v) for v in (node.input(0), node.input(1), node.output)))


def _emit_select(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_select``."""
    y = node.output
    inputs = [node.input(i) for i in range(3)]
    dims, steps = merge_axes(y.shape, *(repeating_strides(v.shape, y.shape) for v in inputs))
    fields: dict[str, object] = {"rank": len(dims), "dims": dims}
    for name, value, step in zip(("condition", "a", "b"), inputs, steps, strict=True):
        fields[f"{name}_strides"] = [s * value.dtype.itemsize for s in step]
    params = c.params("tinyrt_select_params", fields | {"bytes": y.dtype.itemsize})
    c.call("tinyrt_select", params, *(c.pointer(v) for v in inputs), c.pointer(y))


ACCEPTED = {
    "equal": 0b0010,
    "not_equal": 0b1101,
    "less": 0b0001,
    "less_equal": 0b0011,
    "greater": 0b0100,
    "greater_equal": 0b0110,
}
"""Comparison -> which orders make it true: less, equal, greater, neither, from bit 0 on."""

AND, OR, NOR = 0b1000, 0b1110, 0b0001
"""Functions of two truth values: bit ``2 * a + b`` is the value."""

EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = (
    OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(2, 2),
        infer=infer_comparison,
        quant=Quant.FLOAT_ONLY,
        ref_f32=partial(_ref, getattr(np, name)),
        emit_f32=partial(_emit_comparison, accepted),
    )
    for name, accepted in ACCEPTED.items()
)

LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT = (
    OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(arity, arity),
        infer=infer_logical,
        quant=Quant.FLOAT_ONLY,
        ref_f32=partial(_ref, getattr(np, name)),
        emit_f32=emit,
    )
    for name, arity, emit in (
        ("logical_and", 2, partial(_emit_logical, AND)),
        ("logical_or", 2, partial(_emit_logical, OR)),
        ("logical_not", 1, _emit_not),
    )
)

SELECT_V2 = OpSpec(
    name="select_v2",
    attrs=NoAttrs,
    arity=(3, 3),
    infer=infer_select,
    quant=Quant.FLOAT_ONLY,
    ref_f32=partial(_ref, np.where),
    emit_f32=_emit_select,
)
