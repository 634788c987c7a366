"""concatenation: inputs one behind the other along one dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.emit import strides_of
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.places import Steps
from tinyrt.ops.rows import RowOp, joined_rows
from tinyrt.ops.shapes import axis_of, operand
from tinyrt.ops.spec import (
    Array,
    CWriter,
    IntegerForm,
    OpSpec,
    Quant,
    require_alike,
    require_same_q,
)
from tinyrt.ops.sweep import Sweep, in_order

MOST_INPUTS = 1024


@dataclass(frozen=True, slots=True)
class ConcatenationAttrs:
    """TFLite's ConcatenationOptions; no runtime fuses an activation here."""

    axis: int
    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class ConcatenationS8:
    """What the integer kernel knows beforehand; the axis counts from the front."""

    axis: int


def infer(attrs: ConcatenationAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Shapes equal but along the axis -> their sum along the axis."""
    types = [operand(inputs, i, f"input {i}") for i in range(max(1, len(inputs)))]
    first = types[0]
    axis = axis_of(attrs.axis, len(first.shape))
    if attrs.activation != "NONE":
        raise ShapeError(f"concatenation with fused {attrs.activation}", expected="NONE")
    total = 0
    for i, found in enumerate(types):
        same_rank = len(found.shape) == len(first.shape)
        if (
            not same_rank
            or found.dtype is not first.dtype
            or _rest(found, axis) != _rest(first, axis)
        ):
            raise ShapeError(f"input {i} is {found}", expected=f"{first}, but along axis {axis}")
        total += found.shape[axis]
    return (TensorType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :])),)


def _rest(x: TensorType, axis: int) -> tuple[int, ...]:
    return x.shape[:axis] + x.shape[axis + 1 :]


def ref_f32(attrs: ConcatenationAttrs, *inputs: Array) -> Array:
    """The inputs one behind the other; any dtype."""
    return np.concatenate(inputs, axis=attrs.axis)


def vjp(
    attrs: ConcatenationAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradients of all inputs: the output's, split."""
    del output
    before = (slice(None),) * axis_of(attrs.axis, grad.ndim)
    ends = np.cumsum([x.shape[attrs.axis] for x in inputs])
    starts = (0, *ends[:-1])
    return tuple(grad[(*before, slice(a, b))] for a, b in zip(starts, ends, strict=True))


def prepare(node: BoundNode) -> ConcatenationS8:
    """Inputs and output share scale and zero point: no kernel rescales here."""
    values = [node.output, *(node.input(i) for i in range(len(node.inputs)))]
    require_alike(*values)
    require_same_q(node, *values)
    return ConcatenationS8(axis_of(node.attrs.axis, len(node.output.shape)))


def ref_integer(p: ConcatenationS8, *inputs: Array) -> Array:
    """The raw values one behind the other."""
    return np.concatenate(inputs, axis=p.axis)


def emit_c(node: BoundNode, p: ConcatenationS8, c: CWriter) -> None:
    """Write the call of ``tinyrt_concatenation``."""
    del p
    emit_f32(node, c)


def emit_f32(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_concatenation``, which joins any element type."""
    axis = axis_of(node.attrs.axis, len(node.output.shape))
    inputs = [node.input(i) for i in range(len(node.inputs))]
    row_bytes = [math.prod(x.shape[axis:]) * x.dtype.itemsize for x in inputs]
    params = c.params(
        "tinyrt_concatenation_params",
        {
            "inputs": len(inputs),
            "rows": math.prod(node.output.shape[:axis]),
            "x_row_bytes": c.array("int32_t", "row_bytes", np.array(row_bytes)),
        },
    )
    pointers = c.pointer_list("void", inputs)
    c.call("tinyrt_concatenation", params, pointers, c.pointer(node.output))


def sweep(node: BoundNode, isa: InstructionSet) -> Sweep:
    """From front to back, a part of each input in turn."""
    del isa  # the same on all
    y = node.output
    axis, joined, places = axis_of(node.attrs.axis, len(y.shape)), 0, []
    for i in range(len(node.inputs)):
        x = node.input(i)
        behind = joined + x.shape[axis]
        axes = list(starmap(Steps, zip(x.shape, strides_of(x.shape), strict=True)))
        axes[axis] = Steps(y.shape[axis], axes[axis].step, joined, behind)
        places.append(axes)
        joined = behind
    return in_order(node, places)


def rows(node: BoundNode) -> RowOp | None:
    """A row at a time, where the join is along the width or the channels."""
    return joined_rows(node, axis_of(node.attrs.axis, len(node.output.shape)))


CONCATENATION = OpSpec(
    name="concatenation",
    attrs=ConcatenationAttrs,
    arity=(1, MOST_INPUTS),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare_s8=prepare,
    ref_s8=ref_integer,
    sweep=sweep,
    rows=rows,
    emit_c=emit_c,
    emit_f32=emit_f32,
    int16x8=IntegerForm(prepare, ref_integer, sweep=sweep, emit_c=emit_c),
)
