"""log_softmax over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.fixedpoint import (
    INT8_MAX,
    INT8_MIN,
    INT32_MIN,
    exp_on_negative_values,
    input_radius,
    log_of_one_and_more,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
)
from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import Function
from tinyrt.ir import BoundNode, TensorType, Value
from tinyrt.ops.exponential import exp_ref, exp_vjp
from tinyrt.ops.shared.lut import infer_unary
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    qparams,
    require_fixed,
    require_s8,
)

_EXP = Function("exp", exp_ref, exp_vjp)

INPUT_INTEGER_BITS = 5
SUM_INTEGER_BITS = 12
OUTPUT_INTEGER_BITS = 4
FIXED_OUTPUT = (16 / 256, 127)
"""Scale and zero point of an int8 output: the range [-16, 0]."""


@dataclass(frozen=True, slots=True)
class LogSoftmaxS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        mult: mantissa that brings an input difference to Q5.
        shift: its exponent.
        back_mult: mantissa that brings Q5 to input differences.
        back_shift: its exponent.
        diff_min: least difference to the row's maximum that Q5 holds; below it, exp is taken as 0.

    """

    mult: int
    shift: int
    back_mult: int
    back_shift: int
    diff_min: int

    def differences(self) -> NDArray[np.int64]:
        """Minus i steps in Q5, raw int32, for i in 0 to 255; 0 where Q5 does not hold them."""
        diff = -np.arange(256, dtype=np.int64)
        clipped = np.where(diff >= self.diff_min, diff, 0)
        return multiply_by_quantized_multiplier(clipped, self.mult, self.shift)

    def exponentials(self) -> NDArray[np.int64]:
        """``exp`` of minus i steps in Q12, raw int32, for i in 0 to 255."""
        diff = -np.arange(256, dtype=np.int64)
        powers = exp_on_negative_values(self.differences(), INPUT_INTEGER_BITS)
        exponentials = rounding_divide_by_pot(powers, SUM_INTEGER_BITS)
        return np.where(diff >= self.diff_min, exponentials, 0)


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(..., n) -> (..., n)."""
    (x,) = infer_unary(attrs, inputs)
    if not x.shape:
        raise ShapeError(f"input is {x}", expected="at least one dimension")
    return (x,)


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``x - log(sum(exp(x)))`` along the last dimension."""
    del attrs
    lowered = x - x.max(axis=-1, keepdims=True)
    total = elementary.exp(lowered).sum(axis=-1, keepdims=True)
    return np.asarray(lowered - elementary.log(total))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad - softmax(x) * sum(grad)``."""
    del inputs
    return (grad - _EXP(attrs, output) * grad.sum(axis=-1, keepdims=True),)


def prepare_s8(node: BoundNode) -> LogSoftmaxS8:
    """Multipliers from the input's steps to Q5, and back."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    require_fixed(y, FIXED_OUTPUT)
    real = float(qparams(x)[0]) * 2.0 ** (31 - INPUT_INTEGER_BITS)
    mult, shift = quantize_multiplier(min(real, 2.0**31 - 1))
    back = multiplier(2.0 ** (31 - shift) / mult if mult else np.inf)
    return LogSoftmaxS8(mult, shift, *back, -input_radius(INPUT_INTEGER_BITS, shift))


def ref_s8(p: LogSoftmaxS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """``(x - max) - log(sum(exp(x - max)))`` in Q5, brought to steps of 1/16.

    If the difference to the maximum is too large for a result in Q5, the output is the least int8.
    """
    below = x.max(axis=-1, keepdims=True).astype(np.int64) - x
    total = p.exponentials()[below].sum(axis=-1, keepdims=True)
    log = log_of_one_and_more(total, SUM_INTEGER_BITS, INPUT_INTEGER_BITS)
    limit = multiply_by_quantized_multiplier(log + INT32_MIN, p.back_mult, p.back_shift)
    visible = -below > np.maximum(p.diff_min - 1, limit)
    bits = 31 - INPUT_INTEGER_BITS - OUTPUT_INTEGER_BITS
    steps = rounding_divide_by_pot(p.differences()[below] - log, bits) + FIXED_OUTPUT[1]
    return np.where(visible, np.clip(steps, INT8_MIN, INT8_MAX), INT8_MIN).astype(np.int8)


def require_summable(x: Value) -> None:
    """Raise ``UnsupportedError`` if a row is too long for the sum's integer bits."""
    length = x.shape[-1]
    if length >= 1 << SUM_INTEGER_BITS:
        raise UnsupportedError(
            f"log_softmax over {length} elements overflows its int32 sum",
            tensor=x.describe(),
            expected=f"fewer than {1 << SUM_INTEGER_BITS}",
        )


LOG_SOFTMAX = OpSpec(
    name="log_softmax",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.FIXED,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={Form.INT8: IntegerForm(prepare_s8, ref_s8, FIXED_OUTPUT)},
)
