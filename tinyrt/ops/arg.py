"""arg_max and arg_min: where along a dimension the extremum lies, the first if several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.emit import line_fields, strides_of
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.places import Steps, Table
from tinyrt.ops.shapes import axis_of, check_computable, operand
from tinyrt.ops.spec import Array, CWriter, IntegerForm, OpSpec, Quant, qparams
from tinyrt.ops.sweep import Sweep, in_order

CHOICES = ("arg_max", "arg_min")
"""The names of these ops."""


@dataclass(frozen=True, slots=True)
class ArgAttrs:
    """TFLite's ArgMaxOptions with its axis, which goes; ``dtype`` is int32 or int64."""

    axis: int
    dtype: DType = DType.INT32


def infer(attrs: ArgAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32, int8 or int16 -> indices, without the axis."""
    x = operand(inputs, 0, "input")
    check_computable(x, "the search for an extremum")
    if attrs.dtype not in (DType.INT32, DType.INT64):
        raise ShapeError(f"indices {attrs.dtype.short} of {x}", expected="int32 or int64")
    axis = axis_of(attrs.axis, len(x.shape))
    return (TensorType(attrs.dtype, x.shape[:axis] + x.shape[axis + 1 :]),)


def _ref(function: Any, attrs: ArgAttrs, x: Array) -> Array:
    return np.asarray(function(x, axis=attrs.axis), attrs.dtype.numpy)


def prepare(node: BoundNode) -> ArgAttrs:
    """A scale is positive, so raw values are compared."""
    qparams(node.input(0))
    attrs: ArgAttrs = node.attrs
    return attrs


def sweep(node: BoundNode, isa: InstructionSet) -> Sweep:
    """Index by index, each after all elements that it is chosen from."""
    del isa
    x, y = node.input(0), node.output
    axis, strides = axis_of(node.attrs.axis, len(x.shape)), strides_of(x.shape)
    axes: list[Steps | Table] = list(starmap(Steps, zip(x.shape, strides, strict=True)))
    axes[axis] = Table.between(0, (x.shape[axis] - 1) * strides[axis])
    steps = in_order(node, [axes])
    alone = len(steps) == y.size
    return tuple(step._replace(reads_first=alone) for step in steps)


def emit_f32(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_arg_max_f32_s32`` or its like for other dtypes."""
    x, y = node.input(0), node.output
    params = c.params("tinyrt_arg_params", line_fields(x.shape, node.attrs.axis))
    kernel = f"tinyrt_{node.op}_{x.dtype.short}_{y.dtype.short}"
    c.call(kernel, params, c.pointer(x), c.pointer(y))


def emit_c(node: BoundNode, p: ArgAttrs, c: CWriter) -> None:
    """Write the same call."""
    del p
    emit_f32(node, c)


def _spec(name: str, function: Any) -> OpSpec:
    ref = partial(_ref, function)
    return OpSpec(
        name=name,
        attrs=ArgAttrs,
        arity=(1, 1),
        infer=infer,
        quant=Quant.INPUTS_ONLY,
        ref_f32=ref,
        prepare_s8=prepare,
        ref_s8=ref,
        sweep=sweep,
        emit_c=emit_c,
        emit_f32=emit_f32,
        int16x8=IntegerForm(prepare, ref, sweep=sweep, emit_c=emit_c),
    )


ARG_MAX, ARG_MIN = _spec("arg_max", np.argmax), _spec("arg_min", np.argmin)
