"""arg_max and arg_min: index of the extremum along a dimension; the first one if several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.shapes import axis_of, check_computable, operand
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms, qparams

CHOICES = ("arg_max", "arg_min")
"""The names of these ops."""


@dataclass(frozen=True, slots=True)
class ArgAttrs:
    """TFLite's ArgMaxOptions with its reduction axis; ``dtype`` (output) is int32 or int64."""

    axis: int
    dtype: DType = DType.INT32


def infer(attrs: ArgAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32, int8 or int16 -> indices, without the reduction axis."""
    x = operand(inputs, 0, "input")
    check_computable(x, "the search for an extremum")
    if attrs.dtype not in (DType.INT32, DType.INT64):
        raise ShapeError(f"indices {attrs.dtype.short} of {x}", expected="int32 or int64")
    axis = axis_of(attrs.axis, len(x.shape))
    return (TensorType(attrs.dtype, x.shape[:axis] + x.shape[axis + 1 :]),)


def _ref(function: Any, attrs: ArgAttrs, x: Array) -> Array:
    return np.asarray(function(x, axis=attrs.axis), attrs.dtype.numpy)


def prepare(node: BoundNode) -> ArgAttrs:
    """The attributes: raw values are compared, because a scale is always positive."""
    qparams(node.input(0))
    return node.attrs_as(ArgAttrs)


def _spec(name: str, function: Any) -> OpSpec[ArgAttrs]:
    ref = partial(_ref, function)
    return OpSpec(
        name=name,
        attrs=ArgAttrs,
        arity=(1, 1),
        infer=infer,
        quant=Quant.INPUTS_ONLY,
        ref_f32=ref,
        forms=both_forms(prepare, ref),
    )


ARG_MAX, ARG_MIN = _spec("arg_max", np.argmax), _spec("arg_min", np.argmin)
