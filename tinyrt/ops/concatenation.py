"""concatenation: inputs one behind the other along one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.shared.rows import RowOp, joined_rows
from tinyrt.ops.shared.shapes import axis_of, operand
from tinyrt.ops.shared.spec import (
    Array,
    OpSpec,
    Quant,
    both_forms,
    require_alike,
    require_same_q,
)
from tinyrt.ops.shared.traits import Dims, Traits

MAX_INPUTS = 1024


@dataclass(frozen=True, slots=True)
class ConcatenationAttrs:
    """TFLite's ConcatenationOptions; no runtime fuses an activation here."""

    axis: int
    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class ConcatenationS8:
    """Precomputed constants of the integer kernel; the axis counts from the front."""

    axis: int


def infer(attrs: ConcatenationAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Inputs of one shape except along the axis -> that shape, with the sum along the axis."""
    types = [operand(inputs, i, f"input {i}") for i in range(max(1, len(inputs)))]
    first = types[0]
    axis = axis_of(attrs.axis, len(first.shape))
    if attrs.activation != "NONE":
        raise ShapeError(f"concatenation with fused {attrs.activation}", expected="NONE")
    total = 0
    for i, part in enumerate(types):
        same_rank = len(part.shape) == len(first.shape)
        if (
            not same_rank
            or part.dtype is not first.dtype
            or _rest(part, axis) != _rest(first, axis)
        ):
            raise ShapeError(f"input {i} is {part}", expected=f"{first}, but along axis {axis}")
        total += part.shape[axis]
    return (TensorType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :])),)


def _rest(x: TensorType, axis: int) -> tuple[int, ...]:
    return x.shape[:axis] + x.shape[axis + 1 :]


def ref_f32(attrs: ConcatenationAttrs, *inputs: Array) -> Array:
    """The inputs one behind the other; any dtype."""
    return np.concatenate(inputs, axis=attrs.axis)


def vjp(
    attrs: ConcatenationAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradients of all inputs: the output's gradient, split along the axis."""
    del output
    before = (slice(None),) * axis_of(attrs.axis, grad.ndim)
    ends = np.cumsum([x.shape[attrs.axis] for x in inputs])
    starts = (0, *ends[:-1])
    return tuple(grad[(*before, slice(a, b))] for a, b in zip(starts, ends, strict=True))


def prepare(node: BoundNode) -> ConcatenationS8:
    """Inputs and output share scale and zero point: no kernel rescales here."""
    values = (node.output, *node.operands)
    require_alike(*values)
    require_same_q(node, *values)
    return ConcatenationS8(axis_of(node.attrs_as(ConcatenationAttrs).axis, len(node.output.shape)))


def ref_integer(p: ConcatenationS8, *inputs: Array) -> Array:
    """The raw values one behind the other."""
    return np.concatenate(inputs, axis=p.axis)


def rows(node: BoundNode) -> RowOp | None:
    """A row at a time, where the join is along the width or the channels."""
    axis = node.attrs_as(ConcatenationAttrs).axis
    return joined_rows(node, axis_of(axis, len(node.output.shape)))


CONCATENATION = OpSpec(
    name="concatenation",
    attrs=ConcatenationAttrs,
    arity=(1, MAX_INPUTS),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    rows=rows,
    traits=Traits(selects=True, plain_integers=True, dims={"axis": Dims.AXIS}),
)
