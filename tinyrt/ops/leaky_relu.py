"""leaky_relu: x where it is positive, ``alpha * x`` elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.fixedpoint import INT16_MAX, INT16_MIN
from tinyrt.floatmath.function import constant
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.shared.lut import LutS8, infer_unary, input_values, lut_s8, rescale
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.spec import Array, Form, IntegerForm, OpSpec, Quant, qparams, require_alike
from tinyrt.ops.shared.traits import Traits


@dataclass(frozen=True, slots=True)
class LeakyReluAttrs:
    """TFLite's LeakyReluOptions: the slope of the negative side, a float32."""

    alpha: float = 0.2


def infer(attrs: LeakyReluAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 or int8 of any shape -> the same."""
    if not np.isfinite(attrs.alpha):
        raise ShapeError(f"leaky_relu with alpha {attrs.alpha}", expected="a number")
    return infer_unary(attrs, inputs)


def _slopes(attrs: LeakyReluAttrs, x: Array) -> Array:
    return np.asarray(np.where(x > 0, 1, attrs.alpha), x.dtype)


def ref_f32(attrs: LeakyReluAttrs, x: Array) -> Array:
    """``x if x > 0 else alpha * x``."""
    return np.asarray(x * _slopes(attrs, x))


def vjp(
    attrs: LeakyReluAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad`` times 1 where x is positive, times ``alpha`` elsewhere."""
    del output
    return (grad * _slopes(attrs, constant(inputs[0])),)


@dataclass(frozen=True, slots=True)
class LeakyReluS16:
    """Precomputed constants of the kernel on int16: a multiplier for each side.

    Attributes:
        mult: mantissa of ``x_scale / y_scale``.
        shift: its exponent.
        neg_mult: mantissa of ``x_scale * alpha / y_scale``, with its sign.
        neg_shift: its exponent.

    """

    mult: int
    shift: int
    neg_mult: int
    neg_shift: int

    def apply(self, centred: Array) -> Array:
        """The rescaled inputs; inputs and outputs are int64."""
        positive = rescale(centred, self.mult, self.shift)
        return np.where(centred >= 0, positive, rescale(centred, self.neg_mult, self.neg_shift))


def _multipliers(node: BoundNode, alpha: float) -> LeakyReluS16:
    """The multipliers of one node whose slope is ``alpha``, 0 or more."""
    x, y = node.input(0), node.output
    require_alike(x, y)
    (x_scale, _), (y_scale, _) = qparams(x), qparams(y)
    return LeakyReluS16(
        *multiplier(float(x_scale) / float(y_scale)),
        *multiplier(float(x_scale) * alpha / float(y_scale)),
    )


def _alpha(node: BoundNode) -> float:
    return float(np.float32(node.attrs_as(LeakyReluAttrs).alpha))


def prepare_s16(node: BoundNode) -> LeakyReluS16:
    """The multipliers of one node.

    Raises:
        VerifyError: the slope is negative, and no mantissa answers as TFLM does.

    """
    alpha = _alpha(node)
    rising = _multipliers(node, abs(alpha))
    return rising if alpha >= 0 else _falling(rising, alpha)


def _falling(rising: LeakyReluS16, alpha: float) -> LeakyReluS16:
    """The multipliers for a negative slope, from those for the positive one.

    TFLM rounds as with a positive slope, and then negates. With a negative mantissa halves go the
    other way. A mantissa that is less by 1 brings them back, and no other number where the first
    one ends in 15 zeros; whether one of both answers alike is tried on all inputs.
    """
    x = np.arange(INT16_MIN, 0)
    wanted = -rescale(x, rising.neg_mult, rising.neg_shift)
    for mult in (-rising.neg_mult, 1 - rising.neg_mult):
        if np.array_equal(rescale(x, mult, rising.neg_shift), wanted):
            return replace(rising, neg_mult=mult)
    raise VerifyError(
        f"alpha is {alpha:g}",
        expected="on int16 another slope or other scales: these round half steps as no kernel does",
        hint="keep this op in float",
    )


def ref_s16(p: LeakyReluS16, x: Array) -> Array:
    """``clamp(requant(x))``."""
    return np.asarray(np.clip(p.apply(x.astype(np.int64)), INT16_MIN, INT16_MAX), np.int16)


def prepare_s8(node: BoundNode) -> LutS8:
    """``requant(x - x_zp) + y_zp`` for every int8 value.

    With a negative slope, the negative side is rounded as with a positive one, and then negated:
    so TFLM answers.
    """
    alpha = _alpha(node)
    centred = input_values() - qparams(node.input(0))[1]
    outputs = _multipliers(node, abs(alpha)).apply(centred)
    signed = np.where((centred < 0) & (alpha < 0), -outputs, outputs)
    return LutS8.of(signed + qparams(node.output)[1])


LEAKY_RELU = OpSpec(
    name="leaky_relu",
    attrs=LeakyReluAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={
        Form.INT8: IntegerForm(prepare_s8, lut_s8),
        Form.INT16X8: IntegerForm(prepare_s16, ref_s16),
    },
    traits=Traits(elementwise=True, channelwise=True, keeps_positive=True),
)
