"""pad: a constant border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.shared.rows import RowOp, RowWindow, one_row
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import (
    Array,
    OpSpec,
    Quant,
    both_forms,
    qparams,
    require_alike,
    require_same_q,
)
from tinyrt.ops.shared.traits import Dims, Traits

Paddings = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PadAttrs:
    """TFLite's PAD and PADV2.

    Attributes:
        paddings: elements before and after, for each dimension.
        value: the fill value, as a real number.

    """

    paddings: Paddings
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class PadS8:
    """Precomputed constants of the integer kernel; ``fill`` is a raw value."""

    paddings: Paddings
    fill: int


def infer(attrs: PadAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Each dimension grows by its paddings."""
    x = operand(inputs, 0, "input")
    fits = all(len(pair) == 2 and min(pair) >= 0 for pair in attrs.paddings)
    if not fits or not x.shape or len(attrs.paddings) != len(x.shape):
        raise ShapeError(
            f"paddings {list(attrs.paddings)} of {x}",
            expected="for each of at least one dimension, two sizes that are not negative",
        )
    grown = (d + sum(pair) for d, pair in zip(x.shape, attrs.paddings, strict=True))
    return (TensorType(x.dtype, tuple(grown)),)


def ref_f32(attrs: PadAttrs, x: Array) -> Array:
    """The input inside a border of ``value``."""
    return np.pad(x, attrs.paddings, constant_values=attrs.value)


def vjp(
    attrs: PadAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: the output's gradient without the border."""
    del output
    inner = zip(attrs.paddings, inputs[0].shape, strict=True)
    return (grad[tuple(slice(before, before + d) for (before, _), d in inner)],)


def prepare(node: BoundNode) -> PadS8:
    """The raw fill value; input and output share scale and zero point."""
    require_alike(node.input(0), node.output)
    require_same_q(node, node.input(0), node.output)
    attrs = node.attrs_as(PadAttrs)
    fill = quantize_array(np.asarray(attrs.value), *qparams(node.output), node.output.dtype)
    return PadS8(attrs.paddings, int(fill))


def ref_integer(p: PadS8, x: Array) -> Array:
    """The raw values inside a border of ``fill``."""
    return np.pad(x, p.paddings, constant_values=p.fill)


def rows(node: BoundNode) -> RowOp | None:
    """A row at a time; rows above and below are padding of the input."""
    attrs = node.attrs_as(PadAttrs)
    if len(attrs.paddings) != 4 or node.output.shape[0] != 1:
        return None
    first, (above, below), *others = attrs.paddings
    fill = prepare(node).fill
    if fill and node.input(0).dtype is not DType.INT8:
        return None
    window = RowWindow(above=above, below=below, fill=fill)
    bare = replace(attrs, paddings=(first, (0, 0), *others))
    return RowOp(one_row(node, bare), (window,))


PAD = OpSpec(
    name="pad",
    attrs=PadAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    rows=rows,
    traits=Traits(selects=True, dims={"paddings": Dims.EACH}),
)
