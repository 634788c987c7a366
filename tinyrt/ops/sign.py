"""abs, neg and sign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.floatmath.function import constant
from tinyrt.ir import BoundNode
from tinyrt.ops.leaky_relu import LeakyReluS16, ref_s16
from tinyrt.ops.shared.lut import LutS8, float_op, input_values, rescale, table_op
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.spec import Array, IntegerForm, NoAttrs, qparams, require_alike, require_s8
from tinyrt.ops.shared.traits import Traits


def abs_ref(attrs: NoAttrs, x: Array) -> Array:
    """``|x|``."""
    del attrs
    return np.asarray(np.abs(x))


def abs_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad * sign(x)``."""
    del attrs, output
    return (grad * np.sign(constant(inputs[0])),)


def prepare_abs(node: BoundNode) -> LutS8:
    """``requant(|x - x_zp|) + y_zp`` for every int8 value."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    magnitude = np.abs(input_values() - x_zp)
    if x_scale == y_scale:
        return LutS8.of(magnitude + y_zp)
    return LutS8.of(rescale(magnitude, *multiplier(float(x_scale) / float(y_scale))) + y_zp)


def prepare_abs_s16(node: BoundNode) -> LeakyReluS16:
    """leaky_relu's record with the slope -1: products of two negative numbers round alike."""
    x, y = node.input(0), node.output
    require_alike(x, y)
    mult, shift = multiplier(float(qparams(x)[0]) / float(qparams(y)[0]))
    return LeakyReluS16(mult, shift, -mult, shift)


def neg_ref(attrs: NoAttrs, x: Array) -> Array:
    """``-x``."""
    del attrs
    return np.asarray(-x)


def neg_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: the output's gradient, negated."""
    del attrs, inputs, output
    return (-grad,)


def sign_ref(attrs: NoAttrs, x: Array) -> Array:
    """-1, 0 or 1."""
    del attrs
    return np.asarray(np.sign(x))


def no_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: 0, as for every piecewise constant function."""
    del attrs, inputs, output
    return (grad * 0.0,)


ABS = table_op(
    name="abs",
    attrs=NoAttrs,
    ref_f32=abs_ref,
    vjp=abs_vjp,
    prepare=prepare_abs,
    wide=IntegerForm(prepare_abs_s16, ref_s16),
    traits=Traits(elementwise=True, channelwise=True, keeps_positive=True),
)

NEG = float_op(
    name="neg",
    attrs=NoAttrs,
    ref_f32=neg_ref,
    vjp=neg_vjp,
    traits=Traits(elementwise=True, channelwise=True),
)

SIGN = float_op(
    name="sign",
    attrs=NoAttrs,
    ref_f32=sign_ref,
    vjp=no_vjp,
    traits=Traits(elementwise=True),
)
