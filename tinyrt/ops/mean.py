"""mean: average along some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.fixedpoint import multiply_by_quantized_multiplier
from tinyrt.ir import BoundNode, DType, Shape, TensorType
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.rows import Fold, RowOp, folded_rows
from tinyrt.ops.shared.shapes import REPEAT, axis_of, check_computable, operand, size_of
from tinyrt.ops.shared.spec import (
    Array,
    OpSpec,
    Quant,
    both_forms,
    limits_of,
    qparams,
    require_alike,
)
from tinyrt.ops.shared.traits import Dims, Traits


@dataclass(frozen=True, slots=True)
class MeanAttrs:
    """TFLite's ReducerOptions with its axes; negative ones count from the end."""

    axes: tuple[int, ...]
    keep_dims: bool = False


@dataclass(frozen=True, slots=True)
class MeanS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        axes: counted from the front, ascending.
        keep_dims: whether reduced dimensions stay, with size 1.
        count: elements per mean.
        x_zp: the input's zero point.
        y_zp: the output's zero point.
        mult: mantissa of ``x_scale / y_scale / count``.
        shift: its exponent.

    """

    axes: tuple[int, ...]
    keep_dims: bool
    count: int
    x_zp: int
    y_zp: int
    mult: int
    shift: int


def axes_of(attrs: MeanAttrs, x: Shape) -> tuple[int, ...]:
    """The reduced dimensions, counted from the front, ascending, each once."""
    return tuple(sorted({axis_of(axis, len(x)) for axis in attrs.axes}))


def infer(attrs: MeanAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Reduced dimensions are removed; with ``keep_dims`` they become 1."""
    x = operand(inputs, 0, "input")
    check_computable(x, "mean")
    axes = axes_of(attrs, x.shape)
    shape = (
        (1 if i in axes else d) for i, d in enumerate(x.shape) if attrs.keep_dims or i not in axes
    )
    return (TensorType(x.dtype, tuple(shape)),)


def ref_f32(attrs: MeanAttrs, x: Array) -> Array:
    """Arithmetic mean along the axes."""
    return np.asarray(x.mean(axis=axes_of(attrs, x.shape), keepdims=attrs.keep_dims))


def vjp(
    attrs: MeanAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: each output's gradient, shared equally among the elements it averages."""
    del output
    (x,) = inputs
    axes = axes_of(attrs, x.shape)
    shape = tuple(1 if i in axes else d for i, d in enumerate(x.shape))
    count = size_of(tuple(x.shape[i] for i in axes))
    return (REPEAT(x.shape, grad.reshape(shape) / count),)


def prepare(node: BoundNode) -> MeanS8:
    """One multiplier for both the division and the change of scale."""
    x, y = node.input(0), node.output
    require_alike(x, y)
    axes = axes_of(node.attrs_as(MeanAttrs), x.shape)
    count = size_of(tuple(x.shape[i] for i in axes))
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    mult, shift = multiplier(float(x_scale) / float(y_scale))
    # Shift by as many bits as the division removes, so that the mantissa keeps its precision.
    spare = min(count.bit_length() - 1, 32, 31 + shift)
    return MeanS8(
        axes,
        node.attrs_as(MeanAttrs).keep_dims,
        count,
        x_zp,
        y_zp,
        (mult << spare) // count,
        shift - spare,
    )


def ref_integer(p: MeanS8, x: Array) -> Array:
    """``clamp(requant(sum(x - x_zp)) + y_zp)``."""
    total = x.sum(axis=p.axes, keepdims=p.keep_dims, dtype=np.int64)
    return _mean(p, total, DType.of(x.dtype))


def _mean(p: MeanS8, total: Array, dtype: DType) -> Array:
    scaled = multiply_by_quantized_multiplier(total - p.x_zp * p.count, p.mult, p.shift)
    return np.asarray(np.clip(scaled + p.y_zp, *limits_of(dtype)), dtype.numpy)


def rows(node: BoundNode) -> RowOp | None:
    """Sums of rows, where the mean is over height and width."""
    p = prepare(node)
    if len(node.input(0).shape) != 4 or p.axes != (1, 2) or node.input(0).dtype is not DType.INT8:
        return None
    fold = Fold(node.input(0).shape[3], lambda sums: _mean(p, sums.astype(np.int64), DType.INT8))
    return folded_rows(node, fold)


MEAN = OpSpec(
    name="mean",
    attrs=MeanAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    rows=rows,
    traits=Traits(channelwise=True, homogeneous=True, dims={"axes": Dims.AXES}),
)
