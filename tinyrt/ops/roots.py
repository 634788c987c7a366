"""sqrt, rsqrt and square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT16_MAX, inverse_roots
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.lut import LutS8, float_op, input_values, rescale, table_op
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.spec import Array, IntegerForm, NoAttrs, qparams, require_alike, require_s8
from tinyrt.ops.shared.traits import Traits

SPARE_BITS = 20
"""Extra fraction bits of a reciprocal root, until it is rescaled to the output's scale."""


def sqrt_ref(attrs: NoAttrs, x: Array) -> Array:
    """``sqrt(x)``; NaN below 0."""
    del attrs
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(x))


def sqrt_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad / (2 y)``."""
    del attrs, inputs
    return (grad * 0.5 / output,)


def rsqrt_ref(attrs: NoAttrs, x: Array) -> Array:
    """``1 / sqrt(x)``; infinite at 0, NaN below."""
    del attrs
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 / np.sqrt(x))


def rsqrt_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``-y**3 / 2``."""
    del attrs, inputs
    return (grad * output * output * output * -0.5,)


def square_ref(attrs: NoAttrs, x: Array) -> Array:
    """``x * x``."""
    del attrs
    return np.asarray(x * x)


def square_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``2 x``."""
    del attrs, output
    return (grad * inputs[0] * 2.0,)


def prepare_rsqrt(node: BoundNode) -> LutS8:
    """TFLite's fixed-point root of every int8 value; the greatest output at 0 and below."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    mult, shift = _root_multiplier(x_scale, y_scale)
    centred = input_values() - x_zp
    outputs = np.full(256, INT8_MAX, np.int64)
    outputs[centred > 0] = _scaled_roots(centred[centred > 0], mult, shift) + y_zp
    return LutS8.of(outputs)


@dataclass(frozen=True, slots=True)
class RsqrtS16:
    """Precomputed constants of rsqrt on int16: what brings a root to the output's scale.

    Attributes:
        mult: mantissa of ``1 / (sqrt(x_scale) * y_scale)``.
        shift: its exponent.

    """

    mult: int
    shift: int


def prepare_rsqrt_s16(node: BoundNode) -> RsqrtS16:
    """The multiplier of one node."""
    x, y = node.input(0), node.output
    require_alike(x, y)
    return RsqrtS16(*_root_multiplier(qparams(x)[0], qparams(y)[0]))


def rsqrt_s16(p: RsqrtS16, x: Array) -> Array:
    """TFLite's fixed-point root; the greatest output at 0 and below."""
    steps = _scaled_roots(np.maximum(x, 1).astype(np.int64), p.mult, p.shift)
    return np.asarray(np.where(x > 0, np.minimum(steps, INT16_MAX), INT16_MAX), np.int16)


def _root_multiplier(x_scale: np.float32, y_scale: np.float32) -> tuple[int, int]:
    return multiplier(1.0 / (sqrt(x_scale) * float(y_scale)))


def _scaled_roots(n: Array, mult: int, shift: int) -> Array:
    """``1 / sqrt(n)`` in steps of the output, for n from 1 on."""
    roots, exponents = inverse_roots(n)
    raised = rescale(np.ones(n.shape, np.int64), roots, exponents + SPARE_BITS)
    return rescale(raised, mult, shift - SPARE_BITS)


def prepare_sqrt(node: BoundNode) -> LutS8:
    """The float root of every int8 value, rounded down to whole output steps; 0 for x below 0."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    real = x_scale * np.maximum(input_values() - x_zp, 0).astype(np.float32)
    steps = np.minimum(np.sqrt(real) / y_scale, np.float32(INT8_MAX - INT8_MIN))
    return LutS8.of(np.floor(steps).astype(np.int64) + y_zp)


SQRT = table_op(
    name="sqrt",
    attrs=NoAttrs,
    ref_f32=sqrt_ref,
    vjp=sqrt_vjp,
    prepare=prepare_sqrt,
    traits=Traits(elementwise=True),
)

RSQRT = table_op(
    name="rsqrt",
    attrs=NoAttrs,
    ref_f32=rsqrt_ref,
    vjp=rsqrt_vjp,
    prepare=prepare_rsqrt,
    wide=IntegerForm(prepare_rsqrt_s16, rsqrt_s16),
    traits=Traits(elementwise=True),
)

SQUARE = float_op(
    name="square",
    attrs=NoAttrs,
    ref_f32=square_ref,
    vjp=square_vjp,
    traits=Traits(elementwise=True, channelwise=True),
)
