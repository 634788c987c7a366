"""Fixed-point arithmetic of the 8-bit scheme: the only Python home of requantisation.

Requantisation rounds twice, as the reference kernels of TensorFlow Lite Micro and CMSIS-NN do:
a doubling high multiply with rounding, then a rounding right shift (half away from zero).
The exponential and its kin follow gemmlowp's fixed-point algorithms (Jacob et al., "Quantization
and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018), with all
values held as raw int32 in Q(integer bits).(fractional bits) format.

Arrays are int64 while computing, so that NumPy cannot overflow where the device would not.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1
INT16_MIN = -(2**15)
INT16_MAX = 2**15 - 1
INT8_MIN = -128
INT8_MAX = 127

Int64s = NDArray[np.int64]


def quantize_multiplier(real: float) -> tuple[int, int]:
    """Write a positive real multiplier as ``mult * 2**(shift - 31)``.

    Returns:
        ``(mult, shift)`` with ``2**30 <= mult < 2**31``, or ``(0, 0)`` for zero and for values
        below ``2**-32``, which no int32 accumulator can make visible.

    """
    if real == 0.0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    mult = round_half_away(mantissa * 2**31)
    if mult == 2**31:
        mult //= 2
        shift += 1
    return (0, 0) if shift < -31 else (mult, shift)


def round_half_away(x: float) -> int:
    """Round to nearest, halves away from zero, as C's ``round``."""
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


def wrap_int32(x: ArrayLike) -> Int64s:
    """Reduce to 32-bit two's complement, as a register does."""
    return np.asarray(x, np.int64).astype(np.int32).astype(np.int64)


def rounding_doubling_high_mul(a: ArrayLike, b: ArrayLike) -> Int64s:
    """``round(a * b / 2**31)`` for int32 operands; halves round up, towards +inf.

    gemmlowp adds ``2**30`` or ``1 - 2**30``, by the product's sign, and truncates: the same as
    adding ``2**30`` and flooring. The one product that does not fit, ``INT32_MIN * INT32_MIN``,
    saturates.
    """
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    return np.asarray(np.minimum((product + (1 << 30)) >> 31, INT32_MAX))


def rounding_divide_by_pot(x: ArrayLike, exponent: ArrayLike) -> Int64s:
    """``x / 2**exponent`` for ``exponent >= 0``, halves away from zero."""
    x = np.asarray(x, np.int64)
    exponent = np.asarray(exponent, np.int64)
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + (x < 0)
    return np.asarray((x >> exponent) + ((x & mask) > threshold))


def multiply_by_quantized_multiplier(x: ArrayLike, mult: ArrayLike, shift: ArrayLike) -> Int64s:
    """``x * mult * 2**(shift - 31)``, rounded twice.

    Args:
        x: int32 values, any shape.
        mult: mantissas in ``[2**30, 2**31)`` or 0; broadcast against ``x``.
        shift: exponents; positive ones shift ``x`` left before the multiplication.

    """
    shift = np.asarray(shift, np.int64)
    left = np.maximum(shift, 0)
    right = np.maximum(-shift, 0)
    shifted = wrap_int32(np.asarray(x, np.int64) << left)
    return rounding_divide_by_pot(rounding_doubling_high_mul(shifted, mult), right)


def reduced_multiplier(mult: int, shift: int) -> tuple[int, int]:
    """A mantissa of 15 bits for accumulators of 64 bits, and the right shift behind it.

    TFLite's ``MultiplyByQuantizedMultiplier(int64_t, ...)`` rounds the mantissa of 31 bits to 15,
    so that the product with an accumulator of up to 48 bits fits.

    Args:
        mult: mantissa as from ``quantize_multiplier``.
        shift: its exponent, at most 14.

    """
    reduced = (mult + (1 << 15)) >> 16 if mult < 0x7FFF0000 else 0x7FFF
    return reduced, 15 - shift


def multiply_by_reduced_multiplier(x: ArrayLike, mult: ArrayLike, right: ArrayLike) -> Int64s:
    """``round(x * mult / 2**right)``, halves towards +inf.

    Args:
        x: accumulators of up to 48 bits, any shape.
        mult: mantissas from ``reduced_multiplier``; broadcast against ``x``.
        right: right shifts from there.

    """
    right = np.asarray(right, np.int64)
    product = np.asarray(x, np.int64) * np.asarray(mult, np.int64)
    return np.asarray((product + (np.int64(1) << (right - 1))) >> right)


def saturating_left_shift(x: ArrayLike, exponent: int) -> Int64s:
    """``x * 2**exponent``, saturated to int32."""
    return np.asarray(np.clip(np.asarray(x, np.int64) << exponent, INT32_MIN, INT32_MAX))


def input_radius(integer_bits: int, left_shift: int) -> int:
    """Largest input difference that still fits after rescaling to ``integer_bits``."""
    largest = float((1 << integer_bits) - 1) * 2.0 ** (31 - integer_bits)
    return math.floor(largest / 2.0**left_shift)


@lru_cache(maxsize=1024)
def inverse_root(n: int) -> tuple[int, int]:
    """As ``inverse_roots``, of one integer."""
    mult, shift = inverse_roots(n)
    return int(mult), int(shift)


def inverse_roots(n: ArrayLike) -> tuple[Int64s, Int64s]:
    """Mantissas and exponents of ``1 / sqrt(n)`` for integers; the largest mantissa below 2.

    TFLite's fixed-point Newton-Raphson iteration ``x <- (3 x - n x**3) / 2`` from 1, in Q3, on n
    brought to [1/4, 1) by an even shift.
    """
    given = np.asarray(n, np.int64)
    reduced, shift = np.maximum(given, 2), np.full(given.shape, 11, np.int64)
    while (high := reduced >= 1 << 29).any():
        reduced, shift = np.where(high, reduced // 4, reduced), shift + high
    bits = np.frexp(reduced.astype(np.float64))[1].astype(np.int64)  # exact: below 2**53
    pairs = (31 - bits) // 2 - 1
    shift = shift - pairs
    value = (reduced << (2 * pairs)) >> 1
    half_value, half_three = rounding_divide_by_pot(value, 1), (1 << 28) + (1 << 27)
    x = np.full(given.shape, 1 << 28, np.int64)
    for _ in range(5):
        square = rounding_doubling_high_mul(x, x)
        cube = saturating_left_shift(rounding_doubling_high_mul(square, x), 6)
        step = rounding_doubling_high_mul(half_three, x) - rounding_doubling_high_mul(
            half_value, cube
        )
        x = saturating_left_shift(step, 3)
    half_root_of_two = 1518500250
    mult = rounding_doubling_high_mul(x, half_root_of_two) << np.maximum(-shift, 0)
    is_least = given <= 1
    return np.where(is_least, INT32_MAX, mult), np.where(is_least, 0, np.minimum(-shift, 0))


def exp_on_negative_values(a: ArrayLike, integer_bits: int) -> Int64s:
    """``exp(a)`` for ``a <= 0`` in Q(integer_bits), at most Q5; the result is Q0, raw int32.

    The argument is split into a multiple of 1/4, handled by repeated multiplication with
    ``exp(-2**k)``, and a rest in ``[-1/4, 0)``, handled by a polynomial.
    """
    a = np.asarray(a, np.int64)
    fractional_bits = 31 - integer_bits
    one_quarter = np.int64(1) << (fractional_bits - 2)
    mask = one_quarter - 1
    rest = (a & mask) - one_quarter
    result = _exp_on_interval_minus_quarter_to_zero(rest << integer_bits)
    remainder = rest - a
    for exponent, multiplier in (
        (-2, 1672461947),
        (-1, 1302514674),
        (0, 790015084),
        (1, 290630308),
        (2, 39332535),
        (3, 720401),
        (4, 242),
    ):
        if integer_bits > exponent:
            bit = np.int64(1) << (fractional_bits + exponent)
            scaled = rounding_doubling_high_mul(result, multiplier)
            result = np.where(remainder & bit, scaled, result)
    return np.where(a == 0, INT32_MAX, result)


def _exp_on_interval_minus_quarter_to_zero(a: Int64s) -> Int64s:
    """Fourth-order Taylor polynomial of exp around -1/8, in Q0."""
    constant_term = 1895147668  # exp(-1/8)
    constant_1_over_3 = 715827883
    x = a + (1 << 28)
    x2 = rounding_doubling_high_mul(x, x)
    x3 = rounding_doubling_high_mul(x2, x)
    x4 = rounding_doubling_high_mul(x2, x2)
    x4_over_4 = rounding_divide_by_pot(x4, 2)
    tail = rounding_divide_by_pot(
        rounding_doubling_high_mul(x4_over_4 + x3, constant_1_over_3) + x2, 1
    )
    return constant_term + rounding_doubling_high_mul(constant_term, x + tail)


def one_over_one_plus_x(a: ArrayLike) -> Int64s:
    """``1 / (1 + a)`` for ``a`` in ``[0, 1]``, both Q0: three Newton-Raphson steps."""
    x = _newton_reciprocal(_half_sum_with_one(a))
    return saturating_left_shift(x, 1)


def reciprocal(x: ArrayLike, integer_bits: int) -> tuple[Int64s, Int64s]:
    """``1 / x`` for positive ``x`` in Q(integer_bits), raw int32.

    Returns:
        ``(r, e)`` with ``1 / x = r * 2**(-31 - e)`` and ``r`` in Q0: ``x`` is normalised to
        ``[1, 2) * 2**e`` first.

    """
    x = np.asarray(x, np.int64)
    # frexp is exact for integers below 2**53: its exponent is the number of significant bits.
    headroom = 32 - np.frexp(x.astype(np.float64))[1].astype(np.int64)
    return one_over_one_plus_x((x << headroom) - (1 << 31)), integer_bits - headroom


def one_minus_x_over_one_plus_x(a: ArrayLike) -> Int64s:
    """``(1 - a) / (1 + a)`` for ``a`` in ``[0, 1]``, both Q0."""
    x = _newton_reciprocal(_half_sum_with_one(a))
    return saturating_left_shift(x - (1 << 29), 2)


def _half_sum_with_one(a: ArrayLike) -> Int64s:
    return np.asarray((np.asarray(a, np.int64) + (1 << 31)) >> 1)


def _newton_reciprocal(half_denominator: Int64s) -> Int64s:
    """``1 / half_denominator`` in Q2 for Q0 arguments in ``[1/2, 1]``."""
    constant_48_over_17 = 1515870810
    constant_neg_32_over_17 = -1010580540
    x = constant_48_over_17 + rounding_doubling_high_mul(half_denominator, constant_neg_32_over_17)
    for _ in range(3):
        product = rounding_doubling_high_mul(half_denominator, x)
        error = (1 << 29) - product
        x = x + saturating_left_shift(rounding_doubling_high_mul(x, error), 2)
    return x


def logistic(a: ArrayLike, integer_bits: int) -> Int64s:
    """``1 / (1 + exp(-a))``: Q(integer_bits) in, Q0 out."""
    a = np.asarray(a, np.int64)
    positive = one_over_one_plus_x(exp_on_negative_values(-np.abs(a), integer_bits))
    result = np.where(a > 0, positive, INT32_MAX - positive)
    return np.where(a == 0, 1 << 30, result)


def tanh(a: ArrayLike, integer_bits: int) -> Int64s:
    """Hyperbolic tangent: Q(integer_bits) in, Q0 out."""
    a = np.asarray(a, np.int64)
    # The same raw value with one more integer bit is twice the argument: exp(-2|a|).
    magnitude = one_minus_x_over_one_plus_x(exp_on_negative_values(-np.abs(a), integer_bits + 1))
    result = np.where(a < 0, -magnitude, magnitude)
    return np.where(a == 0, 0, result)


def log_of_one_and_more(x: ArrayLike, integer_bits: int, result_bits: int) -> Int64s:
    """``log(x)`` for ``x >= 1`` in Q(integer_bits), raw int32; the result is in Q(result_bits).

    The argument is brought to an interval around ``sqrt(sqrt(1/2))``, by a power of 2 or of 2
    times ``sqrt(1/2)``, whichever is nearer; there the logarithm is a quotient of polynomials.
    """
    log_2, quarter_root, half_root = 1488522236, 1805811301, 1518500250
    accumulated_bits = result_bits + 1
    one_quarter = rounding_divide_by_pot(1 << 29, accumulated_bits)
    x = np.asarray(x, np.int64)

    def headroom(value: Int64s) -> Int64s:
        # frexp is exact for integers below 2**53: its exponent is the number of significant bits.
        return np.asarray(31 - np.frexp(value.astype(np.float64))[1].astype(np.int64))

    def shifted(value: Int64s, by: Int64s) -> Int64s:
        return np.asarray(np.clip(value << np.maximum(by, 0), INT32_MIN, INT32_MAX))

    def power(count: Int64s) -> Int64s:
        return saturating_left_shift(count, 31 - accumulated_bits)

    # By a power of 2, then times the root of 1/2, doubled.
    room = headroom(x)
    first = shifted(rounding_doubling_high_mul(shifted(x, room), half_root), np.ones_like(x))
    first_power = np.minimum(power(integer_bits - room - 1) + one_quarter, INT32_MAX)
    # The same of the argument times the root of 1/2.
    room = headroom(rounding_doubling_high_mul(x, half_root))
    second = shifted(x, room)
    second_power = np.maximum(power(integer_bits - room) - one_quarter, INT32_MIN)
    r = np.minimum(first, second)
    exponent = np.maximum(first_power, second_power)
    p = (r + quarter_root + 1) >> 1
    q = wrap_int32(2 * (r - quarter_root))
    square = rounding_doubling_high_mul(q, q)
    cubic = rounding_doubling_high_mul(rounding_doubling_high_mul(q, square), 117049297)
    numerator = wrap_int32(rounding_doubling_high_mul(q, r) + cubic)
    inner = wrap_int32(1057819769 + q + rounding_doubling_high_mul(127690142, square))
    outer = rounding_doubling_high_mul(638450708, q)
    denominator = wrap_int32(rounding_doubling_high_mul(p, inner) + outer)
    share = rounding_doubling_high_mul(
        rounding_divide_by_pot(numerator, accumulated_bits), one_over_one_plus_x(denominator)
    )
    result = wrap_int32(rounding_doubling_high_mul(exponent, log_2) + share)
    return saturating_left_shift(result, 1)
