"""add and sub: element-wise, broadcasting, with fused activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.fixedpoint import multiply_by_quantized_multiplier
from tinyrt.floatmath import buffers
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.activation import act_range, activate, activation_grad
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import infer_arithmetic, sum_to
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms, qparams, require_alike
from tinyrt.ops.shared.traits import Traits

LEFT_SHIFT = 20
"""Left shift of centred int8 inputs in bits; rescaling then loses no visible precision."""

LEFT_SHIFT_S16 = 15
"""Left shift of centred int16 inputs: as many bits as an int32 has room for."""

HALF = (1 << 30, 0)
"""Mantissa and exponent 1/2: the multiplier of the input with the larger scale."""


@dataclass(frozen=True, slots=True)
class AddAttrs:
    """TFLite's AddOptions and SubOptions."""

    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class AddS8:
    """Precomputed constants of the kernel on int8 or int16.

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
        left_shift: left shift of centred inputs, in bits.

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
        *act_range(node.attrs_as(AddAttrs).activation, y),
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


def _requantized(p: AddS8, total: Array) -> Array:
    scaled = multiply_by_quantized_multiplier(total, p.y_mult, p.y_shift)
    return np.clip(scaled + p.y_zp, p.act_min, p.act_max)


def add_ref(p: AddS8, a: Array, b: Array) -> Array:
    """``clamp(requant(rescale(a - a_zp) + rescale(b - b_zp)) + y_zp)``."""
    first, second = _rescaled(p, a, b)
    return np.asarray(_requantized(p, first + second), a.dtype)


def sub_ref(p: AddS8, a: Array, b: Array) -> Array:
    """``clamp(requant(rescale(a - a_zp) - rescale(b - b_zp)) + y_zp)``."""
    first, second = _rescaled(p, a, b)
    return np.asarray(_requantized(p, first - second), a.dtype)


ADD = OpSpec(
    name="add",
    attrs=AddAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=add_f32,
    vjp=add_vjp,
    forms=both_forms(prepare, add_ref),
    traits=Traits(elementwise=True, channelwise=True, homogeneous=True, fuses=True),
)

SUB = OpSpec(
    name="sub",
    attrs=AddAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=sub_f32,
    vjp=sub_vjp,
    forms=both_forms(prepare, sub_ref),
    traits=Traits(elementwise=True, channelwise=True, homogeneous=True, fuses=True),
)
