"""relu, relu6, relu_n1_to_1 and relu_0_to_1 on their own, where nothing could absorb them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tinyrt.ir import BoundNode
from tinyrt.ops.activation import act_range_s8, activate, activation_grad
from tinyrt.ops.emit import emit_lut
from tinyrt.ops.lut import LutS8, infer_unary, input_values, lut_s8, rescale
from tinyrt.ops.requant import multiplier
from tinyrt.ops.spec import Array, NoAttrs, OpSpec, Quant, qparams, require_s8, require_same_q
from tinyrt.ops.sweep import elementwise


def _ref_f32(activation: str, attrs: NoAttrs, x: Array) -> Array:
    """``clip(x, low, high)``."""
    del attrs
    return activate(x, activation)


def _vjp(
    activation: str, attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: passes strictly between the bounds."""
    del attrs, inputs
    return (activation_grad(output, grad, activation),)


def _prepare_own_range(activation: str, node: BoundNode) -> LutS8:
    """``clamp(requant(x - x_zp) + y_zp)`` for every int8 value."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    mult, shift = multiplier(float(x_scale) / float(y_scale))
    outputs = rescale(input_values() - x_zp, mult, shift) + y_zp
    return LutS8.of(np.clip(outputs, *act_range_s8(activation, y)))


def _prepare_relu6(node: BoundNode) -> LutS8:
    """``clamp(x)`` for every int8 value.

    TFLM's kernel clamps raw values and never rescales, so that an output with a scale of its own
    would come out wrong on a device: it is refused.
    """
    x, y = node.input(0), node.output
    require_s8(x, y)
    require_same_q(node, x, y)
    return LutS8.of(np.clip(input_values(), *act_range_s8("RELU6", y)))


RELU = OpSpec(
    name="relu",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_unary,
    quant=Quant.OWN_RANGE,
    sweep=elementwise,
    ref_f32=partial(_ref_f32, "RELU"),
    vjp=partial(_vjp, "RELU"),
    prepare_s8=partial(_prepare_own_range, "RELU"),
    ref_s8=lut_s8,
    emit_c=emit_lut,
)

RELU6 = OpSpec(
    name="relu6",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_unary,
    quant=Quant.SAME_AS_INPUT,
    sweep=elementwise,
    ref_f32=partial(_ref_f32, "RELU6"),
    vjp=partial(_vjp, "RELU6"),
    prepare_s8=_prepare_relu6,
    ref_s8=lut_s8,
    emit_c=emit_lut,
)

RELU_N1_TO_1 = OpSpec(
    name="relu_n1_to_1",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_unary,
    quant=Quant.OWN_RANGE,
    sweep=elementwise,
    ref_f32=partial(_ref_f32, "RELU_N1_TO_1"),
    vjp=partial(_vjp, "RELU_N1_TO_1"),
    prepare_s8=partial(_prepare_own_range, "RELU_N1_TO_1"),
    ref_s8=lut_s8,
    emit_c=emit_lut,
)

RELU_0_TO_1 = OpSpec(
    name="relu_0_to_1",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_unary,
    quant=Quant.OWN_RANGE,
    sweep=elementwise,
    ref_f32=partial(_ref_f32, "RELU_0_TO_1"),
    vjp=partial(_vjp, "RELU_0_TO_1"),
    prepare_s8=partial(_prepare_own_range, "RELU_0_TO_1"),
    ref_s8=lut_s8,
    emit_c=emit_lut,
)
