"""softmax over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.fixedpoint import (
    INT16_MAX,
    INT16_MIN,
    exp_on_negative_values,
    input_radius,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    reciprocal,
    rounding_divide_by_pot,
    rounding_doubling_high_mul,
)
from tinyrt.floatmath import elementary
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops.shared.lut import exp_f32
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import check_computable, operand
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    OpSpec,
    Quant,
    limits_of,
    qparams,
    require_alike,
    require_fixed,
    require_s8,
)
from tinyrt.ops.shared.table_s16 import FIXED_OUTPUT as FIXED_OUTPUT_S16
from tinyrt.ops.shared.table_s16 import interpolate, interpolation_table
from tinyrt.ops.shared.traits import Traits

INPUT_INTEGER_BITS = 5
SUM_INTEGER_BITS = 12
FIXED_OUTPUT = (1 / 256, -128)
WIDENED_ZERO_POINT = -32768
WIDENED_STEPS = (65535, 65536)
"""Steps to 1 of an int16 output of int8: both are in use, and stand for the same integers."""


@dataclass(frozen=True, slots=True)
class SoftmaxAttrs:
    """TFLite's SoftmaxOptions: inputs are multiplied by ``beta``.

    Attributes:
        beta: the factor.
        widen: whether an int8 input has an int16 output, of all 65,536 steps from 0 to 1.

    """

    beta: float = 1.0
    widen: bool = False


@dataclass(frozen=True, slots=True)
class SoftmaxS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        mult: mantissa that brings an input difference to Q5.
        shift: its exponent, positive.
        diff_min: least difference to the row's maximum that Q5 holds; below it, exp is taken as 0.
        dtype: the output's, int8 or int16; it goes from its least to its greatest value.

    """

    mult: int
    shift: int
    diff_min: int
    dtype: DType = DType.INT8

    def exponentials(self) -> NDArray[np.int64]:
        """``exp(-i * beta * x_scale)`` in Q0, raw int32, for ``i`` in 0 to 255."""
        diff = -np.arange(256, dtype=np.int64)
        clipped = np.maximum(diff, self.diff_min)
        scaled = multiply_by_quantized_multiplier(clipped, self.mult, self.shift)
        return np.where(
            diff >= self.diff_min, exp_on_negative_values(scaled, INPUT_INTEGER_BITS), 0
        )


@dataclass(frozen=True, slots=True)
class SoftmaxS16:
    """Precomputed constants of the kernel on int16.

    Attributes:
        mult: mantissa that brings an input difference to steps of 10 / 65535.
        shift: its exponent.
        exponentials: ``exp`` over [-10, 0] in Q0.15, 513 entries.
        reciprocals: ``1 / (1 + x)`` over [0, 1] in Q0.15, 513 entries.

    """

    mult: int
    shift: int
    exponentials: NDArray[np.int16]
    reciprocals: NDArray[np.int16]


def infer(attrs: SoftmaxAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(..., n) -> (..., n), each row summing to 1."""
    x = operand(inputs, 0, "input")
    check_computable(x, "softmax")
    if not x.shape:
        raise ShapeError(f"input is {x}", expected="at least one dimension")
    if not 0 < attrs.beta <= float(np.finfo(np.float32).max):
        raise ShapeError(f"softmax with beta {attrs.beta}", expected="a float32 above 0")
    if not attrs.widen:
        return (x,)
    if x.dtype is not DType.INT8:
        raise ShapeError(f"input is {x}", expected="int8, for an output in int16")
    return (TensorType(DType.INT16, x.shape),)


def ref_f32(attrs: SoftmaxAttrs, x: Array) -> Array:
    """``exp(beta * x) / sum(exp(beta * x))`` along the last dimension."""
    raised = elementary.exp((x - x.max(axis=-1, keepdims=True)) * x.dtype.type(attrs.beta))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def vjp(
    attrs: SoftmaxAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``beta * y * (grad - sum(grad * y))``."""
    del inputs
    inner = (grad * output).sum(axis=-1, keepdims=True)
    return (attrs.beta * output * (grad - inner),)


def prepare_s8(node: BoundNode) -> SoftmaxS8:
    """The input's multiplier, capped: at the cap, exp of one step already rounds to 0."""
    x, y = node.input(0), node.output
    require_s8(x)
    if y.dtype is DType.INT16:
        _require_widened(y)
    else:
        require_s8(y)
        require_fixed(y, FIXED_OUTPUT)
    beta = float(node.attrs_as(SoftmaxAttrs).beta)
    real = beta * float(qparams(x)[0]) * 2.0 ** (31 - INPUT_INTEGER_BITS)
    mult, shift = quantize_multiplier(min(real, 2.0**31 - 1))
    return SoftmaxS8(mult, shift, -input_radius(INPUT_INTEGER_BITS, shift), y.dtype)


def _require_widened(y: Value) -> None:
    """Raise ``VerifyError`` unless the least int16 stands for 0, and the steps reach 1."""
    q = y.q
    scales = [np.float32(1 / steps) for steps in WIDENED_STEPS]
    if q is None or q.zero_point != WIDENED_ZERO_POINT or np.float32(q.scales[0]) not in scales:
        raise VerifyError(
            f"scale and zero point are {q and (*q.scales, q.zero_point)}",
            tensor=y.describe(),
            expected=f"1/65535 or 1/65536, and {WIDENED_ZERO_POINT}",
        )


def ref_s8(p: SoftmaxS8, x: NDArray[np.integer]) -> NDArray[np.integer]:
    """``exp`` by table, summed in Q12, times the sum's reciprocal."""
    table = p.exponentials()
    below = x.max(axis=-1, keepdims=True).astype(np.int64) - x
    total = rounding_divide_by_pot(table, SUM_INTEGER_BITS)[below].sum(axis=-1, keepdims=True)
    scale, exponent = reciprocal(total, SUM_INTEGER_BITS)
    share = rounding_doubling_high_mul(scale, table[below])
    low, high = limits_of(p.dtype)
    y = rounding_divide_by_pot(share, exponent + 31 - 8 * p.dtype.itemsize)
    return np.clip(y + low, low, high).astype(p.dtype.numpy)


def prepare_s16(node: BoundNode) -> SoftmaxS16 | SoftmaxS8:
    """The input's multiplier, and both tables; as in int8 where only the output is wider."""
    x, y = node.input(0), node.output
    if x.dtype is DType.INT8:
        return prepare_s8(node)
    require_alike(x, y)
    require_fixed(y, FIXED_OUTPUT_S16)
    real = float(qparams(x)[0]) * float(node.attrs_as(SoftmaxAttrs).beta) / (10.0 / 65535.0)
    return SoftmaxS16(
        *multiplier(real),
        interpolation_table(exp_f32, -10.0, 0.0),
        interpolation_table(lambda v: np.float32(1) / (np.float32(1) + v), 0.0, 1.0),
    )


def ref_s16(p: SoftmaxS16 | SoftmaxS8, x: NDArray[np.integer]) -> NDArray[np.integer]:
    """``exp`` by table, summed in Q16.15, times the sum's reciprocal, also by table."""
    if isinstance(p, SoftmaxS8):
        return ref_s8(p, x)
    below = x.astype(np.int64) - x.max(axis=-1, keepdims=True)
    scaled = multiply_by_quantized_multiplier(below, p.mult, p.shift) + INT16_MAX
    raised = interpolate(p.exponentials, np.clip(scaled, INT16_MIN, INT16_MAX))
    total = raised.sum(axis=-1, keepdims=True)
    # frexp is exact for integers below 2**53: its exponent is the number of significant bits.
    headroom = 31 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    shifted = ((total << headroom) + (1 << 13)) >> 14
    position = np.clip(shifted - (1 << 15) - (1 << 16), INT16_MIN, INT16_MAX)
    reciprocal_ = interpolate(p.reciprocals, position)
    right = 30 - headroom
    y = (raised * reciprocal_ + ((np.int64(1) << right) >> 1)) >> right
    return np.asarray(np.clip(y, 0, INT16_MAX), np.int16)


SOFTMAX = OpSpec(
    name="softmax",
    attrs=SoftmaxAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.FIXED,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={
        Form.INT8: IntegerForm(prepare_s8, ref_s8, FIXED_OUTPUT),
        Form.INT16X8: IntegerForm(prepare_s16, ref_s16, FIXED_OUTPUT_S16),
    },
    traits=Traits(nonnegative=True),
)
