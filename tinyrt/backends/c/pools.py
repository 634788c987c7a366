"""Ops with a window but without weights: average_pool2d and max_pool2d."""

from __future__ import annotations

import numpy as np

from tinyrt.backends.c.blocks.layer import BLOCK_SETS
from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.fields import act_fields, nhwc, window_fields
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Calls, Fields, Function, Params, Target, call
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import Sweep, windows
from tinyrt.ops import prepared
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.pool import Pool2dAttrs, Pool2dS8, window_of
from tinyrt.ops.shared.spec import Form

MANY_TAPS, MANY_TAPS_SMALL = 1 << 12, 1 << 14
"""Taps of a layer from which on four channels at a time are worth 400 bytes of code: mostly, and in
code that is to be small."""

MOST_COLUMNS = 5_780
"""Elements of a window up to which means by reciprocals are exact."""

MOST_SHORT = 255
"""Elements of a window up to which means are the upper bytes of products."""

MOST_FEW = 22
"""Elements of a window up to which means are exact in 16 bits."""


def average_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_average_short_s8`` or ``_columns_s8``, or of a smaller one."""
    if prepared(node, Pool2dS8).legacy:
        return _pool("tinyrt_average_legacy_s8", node)
    height, width = node.attrs_as(Pool2dAttrs).kernel
    if target.isa is InstructionSet.MVE and height * width <= MOST_FEW:
        return _pool("tinyrt_average_few_s8", node)
    many = node.output.size * height * width >= (MANY_TAPS_SMALL if target.small else MANY_TAPS)
    if target.isa not in BLOCK_SETS or not many or height * width > MOST_COLUMNS:
        return _pool("tinyrt_average_pool2d_s8", node)
    short = height * width <= MOST_SHORT
    return _pool(f"tinyrt_average_{'short' if short else 'columns'}_s8", node)


def pool_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_max_pool2d_s8`` or its like for the average, and for int16."""
    del target
    return _pool(f"tinyrt_{node.op}_{node.output.dtype.short}", node)


def _pool(kernel: str, node: BoundNode) -> Calls:
    x, y = node.input(0), node.output
    p = prepared(node, Pool2dS8)
    fields: Fields = {
        "x": nhwc(x.shape),
        "y": nhwc(y.shape),
        "window": window_fields(p.window),
        "act_min": p.act_min,
        "act_max": p.act_max,
    }
    return (call(kernel, Params("tinyrt_pool2d_s8_params", fields), x, y),)


FOLDED = {"average_pool2d": ("tinyrt_addf", 0.0), "max_pool2d": ("tinyrt_maxf", -np.inf)}
"""Op -> the C function that takes in one more float, and what is known before the first."""


def pool_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_pool2d_f32``."""
    del target
    x, y = node.input(0), node.output
    function, start = FOLDED[node.op]
    fields: Fields = {
        "x": nhwc(x.shape),
        "y": nhwc(y.shape),
        "window": window_fields(window_of(node.attrs_as(Pool2dAttrs), x.shape)),
        "start": start,
        "average": node.op == "average_pool2d",
        **act_fields(fused_activation(node)),
    }
    params = Params("tinyrt_pool2d_f32_params", fields)
    return (call("tinyrt_pool2d_f32", params, Function(function), x, y),)


def pool_sweep(node: BoundNode) -> Sweep | None:
    """Row by row of the output, on all cores."""
    return windows(node, window_of(node.attrs_as(Pool2dAttrs), node.input(0).shape))


_POOL, _POOL_F32 = always(pool_calls, pool_sweep), always(pool_f32_calls, pool_sweep)
_AVERAGE_S8 = always(average_s8_calls, pool_sweep)

KERNELS: Choosers = {
    "average_pool2d": {Form.INT8: _AVERAGE_S8, Form.INT16X8: _POOL, Form.FLOAT: _POOL_F32},
    "max_pool2d": {Form.INT8: _POOL, Form.INT16X8: _POOL, Form.FLOAT: _POOL_F32},
}
