"""relu, relu6, relu_n1_to_1 and relu_0_to_1 as separate ops, if their producer cannot fuse them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tinyrt.ir import BoundNode
from tinyrt.ops.shared.activation import act_range, activate, activation_grad
from tinyrt.ops.shared.lut import LutS8, infer_unary, input_values, lut_s8, rescale, table_op
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    qparams,
    require_alike,
    require_s8,
)
from tinyrt.ops.shared.traits import Traits


def _ref_f32(activation: str, attrs: NoAttrs, x: Array) -> Array:
    """``clip(x, low, high)``."""
    del attrs
    return activate(x, activation)


def _vjp(
    activation: str, attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad`` strictly between the bounds, 0 elsewhere."""
    del attrs, inputs
    return (activation_grad(output, grad, activation),)


def _prepare_own_range(activation: str, node: BoundNode) -> LutS8:
    """``clamp(requant(x - x_zp) + y_zp)`` for every int8 value.

    So LiteRT computes relu6, too. TFLM's kernel of it clamps raw values and never rescales: what
    is quantised here shares scale and zero point, and other files answer as LiteRT does.
    """
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    mult, shift = multiplier(float(x_scale) / float(y_scale))
    outputs = rescale(input_values() - x_zp, mult, shift) + y_zp
    return LutS8.of(np.clip(outputs, *act_range(activation, y)))


@dataclass(frozen=True, slots=True)
class ClampS16:
    """Precomputed constants of the kernel on int16.

    Attributes:
        mult: mantissa of ``x_scale / y_scale``.
        shift: its exponent.
        act_min: least output.
        act_max: greatest output.

    """

    mult: int
    shift: int
    act_min: int
    act_max: int


def _prepare_s16(activation: str, node: BoundNode) -> ClampS16:
    """Multiplier and clamp of one node."""
    x, y = node.input(0), node.output
    require_alike(x, y)
    ratio = float(qparams(x)[0]) / float(qparams(y)[0])
    return ClampS16(*multiplier(ratio), *act_range(activation, y))


def _ref_s16(p: ClampS16, x: Array) -> Array:
    """``clamp(requant(x))``."""
    scaled = rescale(x.astype(np.int64), p.mult, p.shift)
    return np.asarray(np.clip(scaled, p.act_min, p.act_max), np.int16)


RELU = OpSpec(
    name="relu",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_unary,
    quant=Quant.OWN_RANGE,
    ref_f32=partial(_ref_f32, "RELU"),
    vjp=partial(_vjp, "RELU"),
    forms={
        Form.INT8: IntegerForm(partial(_prepare_own_range, "RELU"), lut_s8),
        Form.INT16X8: IntegerForm(partial(_prepare_s16, "RELU"), _ref_s16),
    },
    traits=Traits(
        elementwise=True,
        channelwise=True,
        homogeneous=True,
        nonnegative=True,
        keeps_positive=True,
        activation="RELU",
    ),
)

RELU6 = OpSpec(
    name="relu6",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_unary,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=partial(_ref_f32, "RELU6"),
    vjp=partial(_vjp, "RELU6"),
    forms={
        Form.INT8: IntegerForm(partial(_prepare_own_range, "RELU6"), lut_s8),
        Form.INT16X8: IntegerForm(partial(_prepare_s16, "RELU6"), _ref_s16),
    },
    traits=Traits(elementwise=True, channelwise=True, nonnegative=True, activation="RELU6"),
)

RELU_N1_TO_1 = table_op(
    name="relu_n1_to_1",
    attrs=NoAttrs,
    ref_f32=partial(_ref_f32, "RELU_N1_TO_1"),
    vjp=partial(_vjp, "RELU_N1_TO_1"),
    prepare=partial(_prepare_own_range, "RELU_N1_TO_1"),
    traits=Traits(elementwise=True, channelwise=True, activation="RELU_N1_TO_1"),
)

RELU_0_TO_1 = table_op(
    name="relu_0_to_1",
    attrs=NoAttrs,
    ref_f32=partial(_ref_f32, "RELU_0_TO_1"),
    vjp=partial(_vjp, "RELU_0_TO_1"),
    prepare=partial(_prepare_own_range, "RELU_0_TO_1"),
    traits=Traits(elementwise=True, channelwise=True),
)
