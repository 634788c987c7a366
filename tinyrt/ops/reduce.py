"""sum, reduce_max and reduce_min: along some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinyrt.floatmath.function import Gradient, constant
from tinyrt.ir import BoundNode, Shape
from tinyrt.ops.mean import MeanAttrs, MeanS8, axes_of
from tinyrt.ops.mean import infer as infer_mean
from tinyrt.ops.mean import ref_integer as mean_integer
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import REPEAT, size_of
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


class ReduceAttrs(MeanAttrs):
    """TFLite's ReducerOptions with its axes, as for mean."""

    __slots__ = ()


def _ref_f32(function: Any, attrs: ReduceAttrs, x: Array) -> Array:
    axes = axes_of(attrs, x.shape)
    return np.asarray(function(x, axis=axes, keepdims=attrs.keep_dims), x.dtype)


def shape_with_ones(attrs: ReduceAttrs, x: Array) -> Shape:
    """The input's shape with 1 for each reduced dimension."""
    axes = axes_of(attrs, x.shape)
    return tuple(1 if i in axes else d for i, d in enumerate(x.shape))


def sum_vjp(
    attrs: ReduceAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    """Gradient of x: the gradient of the sum that the element belongs to."""
    del output
    (x,) = inputs
    return (REPEAT(x.shape, grad.reshape(shape_with_ones(attrs, x))),)


def extremum_vjp(
    attrs: ReduceAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    """Gradient of x: the extremum's gradient, shared equally by the elements that attain it."""
    (x,) = inputs
    shape = shape_with_ones(attrs, x)
    attains = constant(x) == constant(output).reshape(shape)
    share = attains / attains.sum(axis=axes_of(attrs, x.shape), keepdims=True)
    return (REPEAT(x.shape, grad.reshape(shape)) * share.astype(constant(x).dtype),)


def prepare_extremum(node: BoundNode) -> ReduceAttrs:
    """Input and output share scale and zero point, so raw values are compared."""
    require_alike(node.input(0), node.output)
    require_same_q(node, node.input(0), node.output)
    return node.attrs_as(ReduceAttrs)


def _extremum(function: Any, p: ReduceAttrs, x: Array) -> Array:
    return _ref_f32(function, p, x)


def prepare_sum(node: BoundNode) -> MeanS8:
    """One multiplier for the change of scale."""
    x, y = node.input(0), node.output
    require_alike(x, y)
    axes = axes_of(node.attrs_as(ReduceAttrs), x.shape)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    count = size_of(tuple(x.shape[i] for i in axes))
    mult, shift = multiplier(float(x_scale) / float(y_scale))
    return MeanS8(axes, node.attrs_as(ReduceAttrs).keep_dims, count, x_zp, y_zp, mult, shift)


SUM = OpSpec(
    name="sum",
    attrs=ReduceAttrs,
    arity=(1, 1),
    infer=infer_mean,
    quant=Quant.OWN_RANGE,
    ref_f32=partial(_ref_f32, np.sum),
    vjp=sum_vjp,
    forms=both_forms(prepare_sum, mean_integer),
    # A mean without the division.
    traits=Traits(channelwise=True, dims={"axes": Dims.AXES}),
)

REDUCE_MAX, REDUCE_MIN = (
    OpSpec(
        name=name,
        attrs=ReduceAttrs,
        arity=(1, 1),
        infer=infer_mean,
        quant=Quant.SAME_AS_INPUT,
        ref_f32=partial(_ref_f32, function),
        vjp=extremum_vjp,
        forms=both_forms(prepare_extremum, partial(_extremum, function)),
        traits=Traits(channelwise=True, dims={"axes": Dims.AXES}),
    )
    for name, function in (("reduce_max", np.max), ("reduce_min", np.min))
)
