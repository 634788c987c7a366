"""div: element-wise quotient, broadcasting, with fused activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import (
    INT8_MAX,
    INT8_MIN,
    reciprocal,
    rounding_divide_by_pot,
    rounding_doubling_high_mul,
)
from tinyrt.floatmath.function import Gradient
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.activation import act_range, activate, activation_grad
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import check_computable, infer_binary, sum_to
from tinyrt.ops.shared.spec import Array, Form, IntegerForm, OpSpec, Quant, qparams, require_s8
from tinyrt.ops.shared.traits import Traits

DIVISOR_BITS = 31
"""Integer bits of the divisor as a fixed-point number; it has no fraction bits."""


@dataclass(frozen=True, slots=True)
class DivAttrs:
    """TFLite's DivOptions."""

    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class DivS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        a_zp: the dividend's zero point.
        b_zp: the divisor's zero point.
        mult: mantissa of ``a_scale / b_scale / y_scale``.
        shift: its exponent.
        y_zp: the output's zero point.
        act_min: least int8 output.
        act_max: greatest int8 output.

    """

    a_zp: int
    b_zp: int
    mult: int
    shift: int
    y_zp: int
    act_min: int
    act_max: int


def infer(attrs: DivAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two float32, int8, int16 or int32 inputs of one dtype -> their broadcast shape."""
    (y,) = infer_binary(inputs, attrs.activation)
    if y.dtype is not DType.INT32:
        check_computable(y, "div")
    return (y,)


def ref_f32(attrs: DivAttrs, a: Array, b: Array) -> Array:
    """``activation(a / b)``; infinite or NaN where b is 0.

    Quotients of integers are cut towards zero, and 0 where b is 0, of which TFLM says nothing.
    """
    if a.dtype == np.int32:
        whole, by = np.broadcast_arrays(a.astype(np.int64), b)
        sizes = np.abs(whole) // np.maximum(np.abs(by.astype(np.int64)), 1)
        return np.where(by == 0, 0, np.where((whole < 0) != (by < 0), -sizes, sizes)).astype(
            np.int32
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        return activate(np.asarray(a / b), attrs.activation)


def vjp(
    attrs: DivAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of both inputs: ``1 / b`` and ``-a / b**2``."""
    a, b = inputs
    da = activation_grad(output, grad, attrs.activation) / b
    return sum_to(da, a.shape), lambda: sum_to(-da * a / b, b.shape)


def prepare_s8(node: BoundNode) -> DivS8:
    """Multiplier and clamp of one node; the ratio of scales is a float32, as in TFLite."""
    a, b, y = node.input(0), node.input(1), node.output
    require_s8(a, b, y)
    (a_scale, a_zp), (b_scale, b_zp), (y_scale, y_zp) = qparams(a), qparams(b), qparams(y)
    mult, shift = multiplier(float(a_scale / (b_scale * y_scale)))
    return DivS8(a_zp, b_zp, mult, shift, y_zp, *act_range(node.attrs_as(DivAttrs).activation, y))


def ref_s8(p: DivS8, a: NDArray[np.int8], b: NDArray[np.int8]) -> NDArray[np.int8]:
    """``clamp(requant((a - a_zp) / (b - b_zp)) + y_zp)``, by a fixed-point reciprocal.

    If the divisor is 0, the output is the greatest or least one, depending on the dividend's sign,
    or the zero point if the dividend is 0 too.
    """
    dividend, divisor = np.broadcast_arrays(
        a.astype(np.int64) - p.a_zp, b.astype(np.int64) - p.b_zp
    )
    dividend = np.where(divisor < 0, -dividend, dividend)
    size = np.maximum(np.abs(divisor), 1)
    inverse, exponent = reciprocal(size, DIVISOR_BITS)
    # The dividend's redundant sign bits: it can be shifted left by so many without overflow.
    spare = 31 - np.frexp(np.where(dividend < 0, -dividend - 1, dividend).astype(np.float64))[1]
    quotient = rounding_doubling_high_mul(dividend << spare, inverse)
    scaled = rounding_divide_by_pot(
        rounding_doubling_high_mul(quotient, p.mult), np.clip(exponent + spare - p.shift, 0, 62)
    )
    limit = np.where(dividend < 0, INT8_MIN, np.where(dividend > 0, INT8_MAX, p.y_zp))
    result = np.where(divisor == 0, limit, scaled + p.y_zp)
    return np.asarray(np.clip(result, p.act_min, p.act_max), np.int8)


DIV = OpSpec(
    name="div",
    attrs=DivAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={Form.INT8: IntegerForm(prepare_s8, ref_s8)},
    traits=Traits(elementwise=True),
)
