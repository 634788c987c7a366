"""reduce_prod: the product along some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.fixedpoint import multiply_by_reduced_multiplier, quantize_multiplier, wrap_int32
from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import Gradient
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.mean import axes_of
from tinyrt.ops.mean import infer as infer_mean
from tinyrt.ops.reduce import ReduceAttrs, shape_with_ones
from tinyrt.ops.shared.requant import reduced
from tinyrt.ops.shared.shapes import size_of
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
class ReduceProdInteger:
    """Precomputed constants of the integer kernels.

    Attributes:
        axes: the reduced dimensions, counted from the front.
        keep_dims: whether reduced dimensions stay, with size 1.
        x_zp: the input's zero point.
        y_zp: the output's zero point.
        mult: 15-bit mantissa of ``x_scale / y_scale**(1 / n)``, for n factors.
        right: right shift after the multiplication.
        dtype: the output's.

    """

    axes: tuple[int, ...]
    keep_dims: bool
    x_zp: int
    y_zp: int
    mult: int
    right: int
    dtype: DType


def ref_f32(attrs: ReduceAttrs, x: Array) -> Array:
    """The product along the axes."""
    axes = axes_of(attrs, x.shape)
    return np.asarray(np.prod(x, axis=axes, keepdims=attrs.keep_dims), x.dtype)


def vjp(attrs: ReduceAttrs, inputs: Sequence[Array], output: Array, grad: Array) -> tuple[Gradient]:
    """Gradient of x: the product divided by the element, which must not be 0."""
    (x,) = inputs
    return ((grad * output).reshape(shape_with_ones(attrs, x)) / x,)


def prepare(node: BoundNode) -> ReduceProdInteger:
    """The multiplier of each factor; applied n times, it gives ``x_scale**n / y_scale``."""
    x, y = node.input(0), node.output
    require_alike(x, y)
    attrs = node.attrs_as(ReduceAttrs)
    axes = axes_of(attrs, x.shape)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    root = float(elementary.power(float(y_scale), 1.0 / size_of(tuple(x.shape[i] for i in axes))))
    mult, right = reduced(*quantize_multiplier(float(x_scale) / root), y)
    return ReduceProdInteger(axes, attrs.keep_dims, x_zp, y_zp, mult, right, y.dtype)


def ref_integer(p: ReduceProdInteger, x: Array) -> Array:
    """``clamp(rescale(...rescale((x0 - x_zp) * (x1 - x_zp))...) + y_zp)``, in the order of memory.

    Each product is rescaled before the next factor, and the last one once more.
    """
    outer = [i for i in range(x.ndim) if i not in p.axes]
    factors = x.astype(np.int64).transpose(*outer, *p.axes) - p.x_zp
    factors = factors.reshape(*(x.shape[i] for i in outer), -1)
    product = factors[..., 0]
    for i in range(1, factors.shape[-1]):
        if not product.any():
            break  # 0 stays 0, and products of many factors soon reach it
        product = _rescaled(p, product * factors[..., i])
    limited = np.clip(_rescaled(p, product) + p.y_zp, *limits_of(p.dtype))
    shape = tuple(1 if i in p.axes else d for i, d in enumerate(x.shape))
    limited = limited.reshape(shape if p.keep_dims else [x.shape[i] for i in outer])
    return np.asarray(limited, p.dtype.numpy)


def _rescaled(p: ReduceProdInteger, x: Array) -> Array:
    return wrap_int32(multiply_by_reduced_multiplier(x, p.mult, p.right))


REDUCE_PROD = OpSpec(
    name="reduce_prod",
    attrs=ReduceAttrs,
    arity=(1, 1),
    infer=infer_mean,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    traits=Traits(dims={"axes": Dims.AXES}),
)
