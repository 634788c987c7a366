"""Comparisons, logic on truth values, and select_v2, which chooses by them; in float."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shapes import broadcast, infer_binary, operand
from tinyrt.ops.spec import Array, NoAttrs, OpSpec, Quant

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


EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = (
    OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(2, 2),
        infer=infer_comparison,
        quant=Quant.FLOAT_ONLY,
        ref_f32=partial(_ref, getattr(np, name)),
    )
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
)

LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT = (
    OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(arity, arity),
        infer=infer_logical,
        quant=Quant.FLOAT_ONLY,
        ref_f32=partial(_ref, getattr(np, name)),
    )
    for name, arity in (("logical_and", 2), ("logical_or", 2), ("logical_not", 1))
)

SELECT_V2 = OpSpec(
    name="select_v2",
    attrs=NoAttrs,
    arity=(3, 3),
    infer=infer_select,
    quant=Quant.FLOAT_ONLY,
    ref_f32=partial(_ref, np.where),
)
