"""add and sub.

A sum of int8 values has one rounding where that equals the reference for all inputs. Otherwise the
kernel halves the input with the larger scale and rescales only the other input, where it has room
for their exponents. The general kernels compute as the reference does; that of MVE also limits
outputs, and takes the sums that allow no single rounding.
"""

from __future__ import annotations

from dataclasses import asdict

from tinyrt.backends.c.blocks.layer import MAX_SHIFT
from tinyrt.backends.c.chooser import Chooser, Choosers, always
from tinyrt.backends.c.clamp import clamp_calls
from tinyrt.backends.c.floats import zip_f32
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Calls, Fields, Params, Target, call
from tinyrt.backends.linear_sum import LinearSum, linear_sum_of
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import elementwise
from tinyrt.ops import prepared
from tinyrt.ops.add import HALF, AddS8
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.walks import broadcast_fields

MIN_EXPONENT = -30
"""Least exponent of an input in ``tinyrt_sum_s8``."""


def sum_calls(node: BoundNode, target: Target) -> Calls:
    """The call of the fastest kernel for a sum of int8 values."""
    p = prepared(node, AddS8)
    plain = target.choices is not None and node.index in target.choices.plain_sums
    limited = (p.act_min, p.act_max) != (INT8_MIN, INT8_MAX)
    linear = None
    if not plain and not (limited and target.isa is InstructionSet.MVE):
        dsp = target.isa is InstructionSet.DSP
        linear = linear_sum_of(p, node.op, dsp)
    if linear is not None:
        return _linear_calls(linear, node, p)
    if target.isa is not InstructionSet.MVE and _is_plain_sum(p):
        return _plain_calls(node, p)
    return general_sum_calls(node, target)


def general_sum_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_add_s8``, ``tinyrt_sub_s8``, or their like on int16."""
    del target
    fields: Fields = {"shape": broadcast_fields(node), **asdict(prepared(node, AddS8))}
    kernel = f"tinyrt_{node.op}_{node.output.dtype.short}"
    return (call(kernel, Params("tinyrt_add_s8_params", fields), *node.inputs, node.output),)


def _linear_calls(linear: LinearSum, node: BoundNode, p: AddS8) -> Calls:
    """The call of ``tinyrt_linear_sum_s8``, or of its like where an input repeats."""
    kernel = "tinyrt_linear_sum_s8"
    fields: Fields = {"size": node.output.size, "sum": asdict(linear)}
    if node.input(0).shape != node.input(1).shape:
        kernel = "tinyrt_linear_sum_rows_s8"
        fields = {"shape": broadcast_fields(node), "sum": asdict(linear)}
    params = Params(f"{kernel}_params", fields)
    clamps = clamp_calls(node, p.act_min, p.act_max)
    return (call(kernel, params, *node.inputs, node.output), *clamps)


def _is_plain_sum(p: AddS8) -> bool:
    """Whether all exponents are in the range of ``tinyrt_sum_s8``."""
    inputs = min(p.a_shift, p.b_shift) >= MIN_EXPONENT
    halved = HALF in ((p.a_mult, p.a_shift), (p.b_mult, p.b_shift))
    return inputs and halved and -MAX_SHIFT <= p.y_shift <= -1


def _plain_calls(node: BoundNode, p: AddS8) -> Calls:
    """The call of ``tinyrt_sum_s8``, or of ``tinyrt_sum_rows_s8`` where an input repeats.

    The input with the larger scale is halved exactly: its exponent is 0, its mantissa 2**30. If the
    other input is halved, too, a factor of 2 gives it the exponent -1 that the kernel expects.
    """
    a = (node.input(0), p.a_zp, p.a_mult, p.a_shift, 1)
    b = (node.input(1), p.b_zp, p.b_mult, p.b_shift, -1 if node.op == "sub" else 1)
    plain, scaled = (a, b) if (p.a_mult, p.a_shift) == HALF else (b, a)
    left_shift = p.left_shift + (2 if scaled[3] == 0 else 1)
    fields: Fields = {
        "size": node.output.size,
        "scaled_factor": 1 << left_shift,
        "scaled_addend": -scaled[1] << left_shift,
        "scaled_mult": scaled[2],
        "scaled_shift": max(-scaled[3], 1),
        "rescaled_factor": 2 * scaled[4],
        "plain_factor": plain[4] << p.left_shift,
        "addend": -plain[1] * plain[4] << p.left_shift,
        "y_mult": p.y_mult,
        "y_shift": -p.y_shift,
        "y_zp": p.y_zp,
    }
    kernel = "tinyrt_sum_s8"
    if plain[0].shape != scaled[0].shape:
        shape = broadcast_fields(node)
        if plain is not a:
            shape |= {"a_strides": shape["b_strides"], "b_strides": shape["a_strides"]}
        kernel, fields = "tinyrt_sum_rows_s8", {"shape": shape, "sum": fields}
    params = Params(f"{kernel}_params", fields)
    clamps = clamp_calls(node, p.act_min, p.act_max)
    return (call(kernel, params, plain[0], scaled[0], node.output), *clamps)


def _sum(c_function: str, whole: str) -> dict[Form, Chooser]:
    return {
        Form.INT8: always(sum_calls, elementwise),
        Form.INT16X8: always(general_sum_calls, elementwise),
        Form.FLOAT: always(zip_f32(c_function, whole), elementwise),
    }


KERNELS: Choosers = {
    "add": _sum("tinyrt_addf", "tinyrt_add_whole"),
    "sub": _sum("tinyrt_subf", "tinyrt_sub_whole"),
}
