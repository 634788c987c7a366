"""add and sub: element-wise, broadcasting, with fused activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial

import numpy as np

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, multiply_by_quantized_multiplier
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops import buffers
from tinyrt.ops.activation import act_range, activate, activation_grad
from tinyrt.ops.blocks import emit_clamp
from tinyrt.ops.emit import Fields, broadcast_fields
from tinyrt.ops.emit_float import zip_of
from tinyrt.ops.linear_sum import INPUTS, LinearSum, linear_sum
from tinyrt.ops.packing import MOST_SHIFT
from tinyrt.ops.requant import multiplier
from tinyrt.ops.shapes import infer_arithmetic, sum_to
from tinyrt.ops.spec import (
    Array,
    CWriter,
    InstructionSet,
    IntegerForm,
    OpSpec,
    Quant,
    qparams,
    require_alike,
)
from tinyrt.ops.sweep import elementwise

LEFT_SHIFT = 20
"""Bits by which centred int8 inputs are raised, so that rescaling them loses nothing visible."""

LEFT_SHIFT_S16 = 15
"""The same for int16 inputs, as many as an int32 has room for."""

HALF = (1 << 30, 0)
"""Mantissa and exponent of the input with the larger scale."""

LINEAR_SETS = frozenset({InstructionSet.SCALAR, InstructionSet.DSP})
"""Instruction sets with a kernel for sums with one rounding."""


@dataclass(frozen=True, slots=True)
class AddAttrs:
    """TFLite's AddOptions and SubOptions."""

    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class AddS8:
    """What the kernel on int8 or int16 knows beforehand.

    Attributes:
        a_zp: the first input's zero point.
        a_mult: mantissa that brings the first input to the common scale.
        a_shift: its exponent, at most 0.
        b_zp: the second input's zero point.
        b_mult: mantissa that brings the second input to the common scale.
        b_shift: its exponent, at most 0.
        y_mult: mantissa that brings the sum to the output's scale.
        y_shift: its exponent, at most 0.
        y_zp: the output's zero point.
        act_min: least output.
        act_max: greatest output.
        left_shift: bits by which centred inputs are raised.

    """

    a_zp: int
    a_mult: int
    a_shift: int
    b_zp: int
    b_mult: int
    b_shift: int
    y_mult: int
    y_shift: int
    y_zp: int
    act_min: int
    act_max: int
    left_shift: int = LEFT_SHIFT


def infer(attrs: AddAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> their broadcast shape."""
    return infer_arithmetic(inputs, attrs.activation)


def add_f32(attrs: AddAttrs, a: Array, b: Array) -> Array:
    """``activation(a + b)``."""
    return activate(buffers.add(a, b), attrs.activation)


def add_vjp(
    attrs: AddAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array, ...]:
    """Gradients of both inputs."""
    a, b = inputs
    grad = activation_grad(output, grad, attrs.activation)
    return sum_to(grad, a.shape), sum_to(grad, b.shape)


def sub_f32(attrs: AddAttrs, a: Array, b: Array) -> Array:
    """``activation(a - b)``."""
    return activate(a - b, attrs.activation)


def sub_vjp(
    attrs: AddAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradients of both inputs."""
    da, db = add_vjp(attrs, inputs, output, grad)
    return da, -db


def prepare(node: BoundNode) -> AddS8:
    """Multipliers and clamp: both inputs are brought to twice the larger of their scales.

    Raises:
        VerifyError: the output's scale is too small for the inputs'.

    """
    a, b, y = node.input(0), node.input(1), node.output
    require_alike(a, b, y)
    left_shift = LEFT_SHIFT if y.dtype is DType.INT8 else LEFT_SHIFT_S16
    (a_scale, a_zp), (b_scale, b_zp), (y_scale, y_zp) = qparams(a), qparams(b), qparams(y)
    common = 2 * float(max(a_scale, b_scale))
    return AddS8(
        a_zp,
        *multiplier(float(a_scale) / common, most=1.0),
        b_zp,
        *multiplier(float(b_scale) / common, most=1.0),
        *multiplier(common / (2.0**left_shift * float(y_scale)), most=1.0),
        y_zp,
        *act_range(node.attrs.activation, y),
        left_shift,
    )


def _rescaled(p: AddS8, a: Array, b: Array) -> tuple[Array, Array]:
    """Both inputs at the common scale."""
    a_raised = (a.astype(np.int64) - p.a_zp) << p.left_shift
    b_raised = (b.astype(np.int64) - p.b_zp) << p.left_shift
    return (
        multiply_by_quantized_multiplier(a_raised, p.a_mult, p.a_shift),
        multiply_by_quantized_multiplier(b_raised, p.b_mult, p.b_shift),
    )


def _requantised(p: AddS8, total: Array) -> Array:
    scaled = multiply_by_quantized_multiplier(total, p.y_mult, p.y_shift)
    return np.clip(scaled + p.y_zp, p.act_min, p.act_max)


def add_ref(p: AddS8, a: Array, b: Array) -> Array:
    """``clamp(requant(rescale(a - a_zp) + rescale(b - b_zp)) + y_zp)``."""
    first, second = _rescaled(p, a, b)
    return np.asarray(_requantised(p, first + second), a.dtype)


def sub_ref(p: AddS8, a: Array, b: Array) -> Array:
    """``clamp(requant(rescale(a - a_zp) - rescale(b - b_zp)) + y_zp)``."""
    first, second = _rescaled(p, a, b)
    return np.asarray(_requantised(p, first - second), a.dtype)


def _emit_c(kernel: str, node: BoundNode, p: AddS8, c: CWriter) -> None:
    """Write the call of a sum, or of the general ``tinyrt_add_s8`` and ``_sub_s8``."""
    subtract = kernel == "tinyrt_sub_s8"
    linear = _linear(c.isa, subtract, p) if c.isa in LINEAR_SETS else None
    if linear is not None:
        _emit_linear(linear, node, p, c)
    elif c.isa is not InstructionSet.MVE and _is_plain_sum(p):
        _emit_sum(subtract, node, p, c)
    else:
        _emit_general(kernel, node, p, c)


@lru_cache(maxsize=64)
def _linear(isa: InstructionSet, subtract: bool, p: AddS8) -> LinearSum | None:
    """The sum with one rounding, where it gives all that the reference gives."""
    p = replace(p, act_min=INT8_MIN, act_max=INT8_MAX)
    ref = sub_ref if subtract else add_ref
    outputs = ref(p, INPUTS.astype(np.int8)[:, None], INPUTS.astype(np.int8))
    to_output = 2.0 ** (p.left_shift + p.y_shift - 31) * p.y_mult
    a_ratio, b_ratio = (
        2.0 ** (shift - 31) * mult * to_output
        for mult, shift in ((p.a_mult, p.a_shift), (p.b_mult, p.b_shift))
    )
    return linear_sum(isa, outputs.astype(np.int64), a_ratio, -b_ratio if subtract else b_ratio)


def _emit_linear(linear: LinearSum, node: BoundNode, p: AddS8, c: CWriter) -> None:
    """Write the call of ``tinyrt_linear_sum_s8``, or of its like where an input repeats."""
    kernel = "tinyrt_linear_sum_s8"
    fields: Fields = {"size": node.output.size, "sum": asdict(linear)}
    if node.input(0).shape != node.input(1).shape:
        kernel = "tinyrt_linear_sum_rows_s8"
        fields = {"shape": broadcast_fields(node), "sum": asdict(linear)}
    params = c.params(f"{kernel}_params", fields)
    c.call(kernel, params, *(c.pointer(v) for v in (node.input(0), node.input(1), node.output)))
    emit_clamp(node, p.act_min, p.act_max, c)


def _emit_general(kernel: str, node: BoundNode, p: AddS8, c: CWriter) -> None:
    fields = {"shape": broadcast_fields(node), **asdict(p)}
    params = c.params("tinyrt_add_s8_params", fields)
    c.call(kernel, params, *(c.pointer(v) for v in (node.input(0), node.input(1), node.output)))


def _is_plain_sum(p: AddS8) -> bool:
    """Whether all exponents are in the range of ``tinyrt_sum_s8``."""
    exponents = min(p.a_shift, p.b_shift) >= -30 and -MOST_SHIFT <= p.y_shift <= -1
    halved = HALF in ((p.a_mult, p.a_shift), (p.b_mult, p.b_shift))
    return exponents and halved


def _emit_sum(subtract: bool, node: BoundNode, p: AddS8, c: CWriter) -> None:
    """Write the call of ``tinyrt_sum_s8``, or of ``tinyrt_sum_rows_s8`` where an input repeats.

    The input of the larger scale is halved exactly: its exponent is 0, its mantissa 2**30. If the
    other one is, too, a factor of 2 gives it the exponent -1 that the kernel takes.
    """
    a = (node.input(0), p.a_zp, p.a_mult, p.a_shift, 1)
    b = (node.input(1), p.b_zp, p.b_mult, p.b_shift, -1 if subtract else 1)
    plain, scaled = (a, b) if (p.a_mult, p.a_shift) == HALF else (b, a)
    left = p.left_shift + (2 if scaled[3] == 0 else 1)
    fields: Fields = {
        "size": node.output.size,
        "scaled_factor": 1 << left,
        "scaled_addend": -scaled[1] << left,
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
    params = c.params(f"{kernel}_params", fields)
    c.call(kernel, params, *(c.pointer(v) for v in (plain[0], scaled[0], node.output)))
    emit_clamp(node, p.act_min, p.act_max, c)


ADD = OpSpec(
    name="add",
    attrs=AddAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    sweep=elementwise,
    ref_f32=add_f32,
    vjp=add_vjp,
    prepare_s8=prepare,
    ref_s8=add_ref,
    emit_c=partial(_emit_c, "tinyrt_add_s8"),
    int16x8=IntegerForm(
        prepare, add_ref, sweep=elementwise, emit_c=partial(_emit_general, "tinyrt_add_s16")
    ),
    emit_f32=zip_of("tinyrt_addf"),
)

SUB = OpSpec(
    name="sub",
    attrs=AddAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    sweep=elementwise,
    ref_f32=sub_f32,
    vjp=sub_vjp,
    prepare_s8=prepare,
    ref_s8=sub_ref,
    emit_c=partial(_emit_c, "tinyrt_sub_s8"),
    int16x8=IntegerForm(
        prepare, sub_ref, sweep=elementwise, emit_c=partial(_emit_general, "tinyrt_sub_s16")
    ),
    emit_f32=zip_of("tinyrt_subf"),
)
