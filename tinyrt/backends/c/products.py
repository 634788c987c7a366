"""Ops that multiply: mul, div, squared_difference, pow and batch_norm."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from tinyrt.backends.c.blocks.layer import MAX_SHIFT
from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.clamp import clamp_calls
from tinyrt.backends.c.floats import zip_f32
from tinyrt.backends.c.kernel import Calls, Data, Fields, Params, Target, call
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, reciprocal
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import elementwise
from tinyrt.ops import prepared
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.div import DIVISOR_BITS, DivS8
from tinyrt.ops.mul import MulS8
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.walks import broadcast_fields
from tinyrt.ops.squared_difference import SquaredDifferenceS8

MAX_LEFT = 12
"""Left shift at which a doubled product of centred int8 values still is below 2**30."""


def times_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_times_s8``, or of ``tinyrt_mul_s8`` for scales far from others."""
    p = prepared(node, MulS8)
    if not -MAX_SHIFT <= p.shift <= MAX_LEFT:
        return mul_calls(node, target)
    factor = 2 << max(p.shift, 0)
    fields: Fields = {
        "shape": broadcast_fields(node),
        "a_zp": p.a_zp,
        "b_factor": factor,
        "b_addend": -p.b_zp * factor,
        "y_mult": p.mult,
        "next_shift": max(-p.shift, 0) + 1,
        "y_zp": p.y_zp,
    }
    params = Params("tinyrt_times_s8_params", fields)
    clamps = clamp_calls(node, p.act_min, p.act_max)
    return (call("tinyrt_times_s8", params, *node.inputs, node.output), *clamps)


def mul_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_mul_s8`` or ``tinyrt_mul_s16``."""
    del target
    p = prepared(node, MulS8)
    fields: Fields = {
        "shape": broadcast_fields(node),
        "a_zp": p.a_zp,
        "b_zp": p.b_zp,
        "y_zp": p.y_zp,
        "y_mult": p.mult,
        "y_shift": p.shift,
        "act_min": p.act_min,
        "act_max": p.act_max,
    }
    kernel = f"tinyrt_mul_{node.output.dtype.short}"
    return (call(kernel, Params("tinyrt_mul_s8_params", fields), *node.inputs, node.output),)


def div_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_div_s8``, with the reciprocals of all divisors."""
    del target
    p = prepared(node, DivS8)
    divisors = np.maximum(np.abs(np.arange(INT8_MIN, INT8_MAX + 1) - p.b_zp), 1)
    inverse, exponent = reciprocal(divisors, DIVISOR_BITS)
    shifts = np.clip(exponent - p.shift, INT8_MIN, INT8_MAX)
    fields: Fields = {
        "shape": broadcast_fields(node),
        "inverse": Data("inverse", inverse, "int32_t"),
        "exponent": Data("exponent", shifts, "int8_t"),
        "a_zp": p.a_zp,
        "b_zp": p.b_zp,
        "y_mult": p.mult,
        "y_zp": p.y_zp,
        "act_min": p.act_min,
        "act_max": p.act_max,
    }
    params = Params("tinyrt_div_s8_params", fields)
    return (call("tinyrt_div_s8", params, *node.inputs, node.output),)


def squared_difference_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_squared_difference_s8``, or ``_s16``, by the parameters of add."""
    del target
    fields: Fields = {
        "shape": broadcast_fields(node),
        **asdict(prepared(node, SquaredDifferenceS8)),
    }
    kernel = f"tinyrt_squared_difference_{node.output.dtype.short}"
    return (call(kernel, Params("tinyrt_add_s8_params", fields), *node.inputs, node.output),)


def batch_norm_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_batch_norm_f32``."""
    del target
    y = node.output
    channels = y.shape[-1]
    fields: Fields = {
        "rows": y.size // channels,
        "c": channels,
        "epsilon": float(node.attrs_as(BatchNormAttrs).epsilon),
    }
    params = Params("tinyrt_batch_norm_f32_params", fields)
    return (call("tinyrt_batch_norm_f32", params, *node.inputs, y),)


KERNELS: Choosers = {
    "mul": {
        Form.INT8: always(times_calls, elementwise),
        Form.INT16X8: always(mul_calls, elementwise),
        Form.FLOAT: always(zip_f32("tinyrt_mulf", "tinyrt_mul_whole"), elementwise),
    },
    "div": {
        Form.INT8: always(div_calls, elementwise),
        Form.FLOAT: always(zip_f32("tinyrt_divf", "tinyrt_divide_whole"), elementwise),
    },
    "squared_difference": {
        Form.INT8: always(squared_difference_calls, elementwise),
        Form.INT16X8: always(squared_difference_calls, elementwise),
        Form.FLOAT: always(zip_f32("tinyrt_squared_differencef"), elementwise),
    },
    "pow": {Form.FLOAT: always(zip_f32("powf"), elementwise)},
    "floor_div": {
        Form.FLOAT: always(zip_f32("tinyrt_floor_divf", "tinyrt_floor_div_whole"), elementwise)
    },
    "floor_mod": {
        Form.FLOAT: always(zip_f32("tinyrt_floor_modf", "tinyrt_floor_mod_whole"), elementwise)
    },
    "batch_norm": {Form.FLOAT: always(batch_norm_calls)},
}
