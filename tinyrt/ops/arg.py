"""arg_max and arg_min: where along a dimension the extremum lies, the first if several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.emit import line_fields
from tinyrt.ops.shapes import axis_of, operand
from tinyrt.ops.spec import Array, CWriter, OpSpec, Quant


@dataclass(frozen=True, slots=True)
class ArgAttrs:
    """TFLite's ArgMaxOptions with its axis, which goes; ``dtype`` is int32 or int64."""

    axis: int
    dtype: DType = DType.INT32


def infer(attrs: ArgAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 -> indices, without the axis."""
    x = operand(inputs, 0, "input")
    if x.dtype is not DType.FLOAT32 or attrs.dtype not in (DType.INT32, DType.INT64):
        raise ShapeError(
            f"indices {attrs.dtype.short} of {x}", expected="int32 or int64, of a float32 tensor"
        )
    axis = axis_of(attrs.axis, len(x.shape))
    return (TensorType(attrs.dtype, x.shape[:axis] + x.shape[axis + 1 :]),)


def _ref_f32(function: Any, attrs: ArgAttrs, x: Array) -> Array:
    return np.asarray(function(x, axis=attrs.axis), attrs.dtype.numpy)


def _emit_f32(least: bool, node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_arg_f32_s32`` or ``tinyrt_arg_f32_s64``."""
    x, y = node.input(0), node.output
    fields = {**line_fields(x.shape, node.attrs.axis), "least": int(least)}
    params = c.params("tinyrt_arg_params", fields)
    c.call(f"tinyrt_arg_f32_{y.dtype.short}", params, c.pointer(x), c.pointer(y))


ARG_MAX, ARG_MIN = (
    OpSpec(
        name=name,
        attrs=ArgAttrs,
        arity=(1, 1),
        infer=infer,
        quant=Quant.FLOAT_ONLY,
        ref_f32=partial(_ref_f32, function),
        emit_f32=partial(_emit_f32, name == "arg_min"),
    )
    for name, function in (("arg_max", np.argmax), ("arg_min", np.argmin))
)
