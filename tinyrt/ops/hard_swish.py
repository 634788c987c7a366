"""hard_swish: ``x * clip(x + 3, 0, 6) / 6``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import VerifyError
from tinyrt.fixedpoint import INT32_MAX, rounding_divide_by_pot
from tinyrt.floatmath.function import constant
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.lut import LutS8, input_values, table_op
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.spec import Array, NoAttrs, qparams, require_s8
from tinyrt.ops.shared.traits import Traits

HIRES_BITS = 7
"""Left shift, in bits, by which an int8 input fills an int16."""

INT16_MIN, INT16_MAX = -(2**15), 2**15 - 1

Int64s = NDArray[np.int64]


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``x * clip(x + 3, 0, 6) / 6``."""
    del attrs
    return np.asarray(x * np.clip(x + 3, 0, 6) / 6)


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``(2x + 3) / 6`` between -3 and 3, 0 below and 1 above."""
    del attrs, output
    (x,) = inputs
    data = constant(x)
    inner, above = np.abs(data) < 3, data >= 3
    return (grad * ((x * (1 / 3) + 0.5) * inner + above),)


def prepare_s8(node: BoundNode) -> LutS8:
    """TFLite's 16-bit fixed-point function of every int8 value.

    The input is held in 16 bits. ``(x + 3) / 6`` is clipped by saturating arithmetic at a scale of
    ``3 / 2**15``. The product with x is rescaled to the output's scale.
    """
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    hires_scale = np.float32(1 / 128) * x_scale
    with np.errstate(over="ignore"):
        y_mult, y_shift = _int16_multiplier(float(hires_scale / y_scale))
        mult, shift = _int16_multiplier(float(hires_scale / np.float32(3 / 32768)))
    if y_shift > 0:
        raise VerifyError(
            f"the output's scale is {y_scale}",
            tensor=y.describe(),
            expected=f"at least {float(hires_scale)}, the input's scale divided by 128",
        )
    raised = (input_values() - x_zp) << HIRES_BITS
    share = _share(_wrap(raised), mult, shift)
    product = _high_mul(share, _rounding_high_mul(_wrap(raised), y_mult))
    return LutS8.of(_wrap(rounding_divide_by_pot(product, -y_shift)) + y_zp)


def _share(raised: Int64s, mult: int, shift: int) -> Int64s:
    """``clip(x + 3, 0, 6) / 6`` in Q0 of 16 bits."""
    value = raised
    if shift > 0:
        value = _saturate(value << (shift - 1))
    value = _rounding_high_mul(value, mult)
    if shift > 0:
        value = _saturate(value << 1)
    if shift < 0:
        value = rounding_divide_by_pot(value, -shift)
    return (value + (1 << 15)) >> 1


def _int16_multiplier(real: float) -> tuple[int, int]:
    """15-bit mantissa and exponent of ``real``."""
    mult, shift = multiplier(real)
    rounding = 1 << 15
    if mult >= INT32_MAX - rounding:
        return INT16_MAX, shift
    return (mult + rounding) >> 16, shift


def _wrap(x: Int64s) -> Int64s:
    return x.astype(np.int16).astype(np.int64)


def _saturate(x: Int64s) -> Int64s:
    return np.clip(x, INT16_MIN, INT16_MAX)


def _rounding_high_mul(a: Int64s, b: int) -> Int64s:
    """``round(a * b / 2**15)``, halves upwards."""
    return _saturate((a * b + (1 << 14)) >> 15)


def _high_mul(a: Int64s, b: Int64s) -> Int64s:
    """``a * b / 2**15``, rounded towards zero."""
    return _saturate(np.trunc(a * b / 2**15).astype(np.int64))


HARD_SWISH = table_op(
    name="hard_swish",
    attrs=NoAttrs,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare=prepare_s8,
    traits=Traits(elementwise=True, channelwise=True),
)
