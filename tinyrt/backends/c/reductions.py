"""Ops that reduce a dimension, or run along it.

Sums, means, extrema, products, running sums, and the places of extrema.
"""

from __future__ import annotations

from itertools import starmap

import numpy as np

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.floats import fold_f32
from tinyrt.backends.c.kernel import Calls, Fields, Params, Target, call
from tinyrt.ir import BoundNode, Shape
from tinyrt.memory.indices import Steps, Table
from tinyrt.memory.sweep import Sweep, in_order
from tinyrt.ops import prepared
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cumsum import CumsumAttrs, CumsumS8
from tinyrt.ops.mean import MeanAttrs, MeanS8, axes_of
from tinyrt.ops.reduce_prod import ReduceProdInteger
from tinyrt.ops.shared.shapes import axis_of, size_of
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.walks import line_fields, reduction_fields, strides_of

FOLDED = {
    "sum": ("tinyrt_addf", 0.0),
    "reduce_max": ("tinyrt_maxf", -np.inf),
    "reduce_min": ("tinyrt_minf", np.inf),
    "reduce_prod": ("tinyrt_mulf", 1.0),
}
"""Op -> the C function that adds a float to the accumulator, and its initial value."""


def folded_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_fold_f32``."""
    del target
    function, start = FOLDED[node.op]
    return fold_f32(node, function, start, axes_of(node.attrs_as(MeanAttrs), node.input(0).shape))


def mean_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_fold_f32``, which divides by the number of elements."""
    del target
    x = node.input(0)
    axes = axes_of(node.attrs_as(MeanAttrs), x.shape)
    return fold_f32(node, "tinyrt_addf", 0.0, axes, size_of(tuple(x.shape[i] for i in axes)))


def mean_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_mean_columns_s8``, or of ``tinyrt_mean_s8``; a sum is not divided."""
    p = prepared(node, MeanS8)
    columns = _columns(node.input(0).shape, p.axes)
    if columns is None:
        return mean_calls(node, target)
    fields: Fields = {
        **dict(zip(("outer", "pixels", "channels"), columns, strict=True)),
        "first": -p.count * p.x_zp,
        "y_mult": p.mult,
        "y_shift": p.shift,
        "y_zp": p.y_zp,
    }
    params = Params("tinyrt_mean_columns_s8_params", fields)
    return (call("tinyrt_mean_columns_s8", params, node.input(0), node.output),)


def _columns(shape: Shape, axes: tuple[int, ...]) -> tuple[int, int, int] | None:
    """The shape as (outer, pixels, channels), reduced over pixels; None where impossible."""
    kept_axes = [i for i in range(len(shape)) if i not in axes and shape[i] > 1]
    reduced_axes = [i for i in axes if shape[i] > 1]
    if not reduced_axes or not kept_axes or kept_axes[-1] < reduced_axes[-1]:
        return None
    outer = [i for i in kept_axes if i < reduced_axes[0]]
    if any(reduced_axes[0] < i < reduced_axes[-1] for i in kept_axes):
        return None
    sizes = (outer, reduced_axes, [i for i in kept_axes if i > reduced_axes[-1]])
    first, second, third = (size_of(tuple(shape[i] for i in part)) for part in sizes)
    return first, second, third


def mean_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_mean_s8`` or ``tinyrt_mean_s16``."""
    del target
    p = prepared(node, MeanS8)
    fields: Fields = {
        "axes": reduction_fields(node.input(0).shape, p.axes),
        "count": p.count,
        "x_zp": p.x_zp,
        "y_zp": p.y_zp,
        "y_mult": p.mult,
        "y_shift": p.shift,
    }
    params = Params("tinyrt_mean_s8_params", fields)
    return (call(f"tinyrt_mean_{node.output.dtype.short}", params, node.input(0), node.output),)


def extremum_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_reduce_max_s8`` or of its variants for the minimum and for int16."""
    del target
    x, y = node.input(0), node.output
    fields = reduction_fields(x.shape, axes_of(node.attrs_as(MeanAttrs), x.shape))
    return (call(f"tinyrt_{node.op}_{y.dtype.short}", Params("tinyrt_reduction", fields), x, y),)


def product_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_reduce_prod_s8`` or ``tinyrt_reduce_prod_s16``."""
    del target
    x, y = node.input(0), node.output
    p = prepared(node, ReduceProdInteger)
    fields: Fields = {
        "axes": reduction_fields(x.shape, p.axes),
        "x_zp": p.x_zp,
        "y_zp": p.y_zp,
        "mult": p.mult,
        "right": p.right,
    }
    params = Params("tinyrt_reduce_prod_params", fields)
    return (call(f"tinyrt_reduce_prod_{y.dtype.short}", params, x, y),)


def cumsum_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_cumsum_s8``."""
    del target
    p = prepared(node, CumsumS8)
    fields: Fields = {
        **_running(node),
        "x_zp": p.x_zp,
        "y_mult": p.mult,
        "y_shift": p.shift,
        "y_zp": p.y_zp,
    }
    params = Params("tinyrt_cumsum_s8_params", fields)
    return (call("tinyrt_cumsum_s8", params, node.input(0), node.output),)


def cumsum_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_cumsum_f32``."""
    del target
    params = Params("tinyrt_cumsum_f32_params", _running(node))
    return (call("tinyrt_cumsum_f32", params, node.input(0), node.output),)


def _running(node: BoundNode) -> Fields:
    """The first fields of the parameters of running sums."""
    attrs = node.attrs_as(CumsumAttrs)
    ways = {"exclusive": int(attrs.exclusive), "reverse": int(attrs.reverse)}
    return {**line_fields(node.input(0).shape, attrs.axis), **ways}


def arg_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_arg_max_f32_s32`` or its like for other dtypes."""
    del target
    x, y = node.input(0), node.output
    params = Params("tinyrt_arg_params", line_fields(x.shape, node.attrs_as(ArgAttrs).axis))
    return (call(f"tinyrt_{node.op}_{x.dtype.short}_{y.dtype.short}", params, x, y),)


def arg_sweep(node: BoundNode) -> Sweep:
    """Index by index; the kernel writes each after reading all its candidates."""
    x, y = node.input(0), node.output
    axis, strides = axis_of(node.attrs_as(ArgAttrs).axis, len(x.shape)), strides_of(x.shape)
    axes: list[Steps | Table] = list(starmap(Steps, zip(x.shape, strides, strict=True)))
    axes[axis] = Table.between(0, (x.shape[axis] - 1) * strides[axis])
    steps = in_order(node, [axes])
    alone = len(steps) == y.size
    return tuple(step._replace(reads_first=alone) for step in steps)


def topk_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_topk_v2_f32`` or its like for other dtypes."""
    del target
    x, y = node.input(0), node.output
    depth, k = x.shape[-1], y.shape[-1]
    fields: Fields = {"rows": x.size // depth, "depth": depth, "k": k}
    params = Params("tinyrt_topk_v2_params", fields)
    return (call(f"tinyrt_topk_v2_{x.dtype.short}", params, x, y),)


_FOLDED, _MEAN_S8, _MEAN_S16 = always(folded_calls), always(mean_s8_calls), always(mean_calls)
_EXTREMUM, _PRODUCT = always(extremum_calls), always(product_calls)
_ARG = always(arg_calls, arg_sweep)

KERNELS: Choosers = {
    "arg_max": dict.fromkeys(Form, _ARG),
    "arg_min": dict.fromkeys(Form, _ARG),
    "cumsum": {Form.INT8: always(cumsum_s8_calls), Form.FLOAT: always(cumsum_f32_calls)},
    "mean": {Form.INT8: _MEAN_S8, Form.INT16X8: _MEAN_S16, Form.FLOAT: always(mean_f32_calls)},
    "reduce_max": {Form.INT8: _EXTREMUM, Form.INT16X8: _EXTREMUM, Form.FLOAT: _FOLDED},
    "reduce_min": {Form.INT8: _EXTREMUM, Form.INT16X8: _EXTREMUM, Form.FLOAT: _FOLDED},
    "reduce_prod": {Form.INT8: _PRODUCT, Form.INT16X8: _PRODUCT, Form.FLOAT: _FOLDED},
    "sum": {Form.INT8: _MEAN_S8, Form.INT16X8: _MEAN_S16, Form.FLOAT: _FOLDED},
    "topk_v2": dict.fromkeys(Form, always(topk_calls)),
}
