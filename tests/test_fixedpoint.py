"""The integer arithmetic against exact fractions and real functions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyrt import fixedpoint as fp

int32s = st.integers(fp.INT32_MIN, fp.INT32_MAX)
mantissas = st.integers(2**30, 2**31 - 1)

# The first term of exp that the fourth-order polynomial drops, at the ends of its interval.
POLYNOMIAL_ERROR = 0.125**5 / math.factorial(5)


def half_up(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def half_away(x: Fraction) -> int:
    return half_up(x) if x >= 0 else -half_up(-x)


@given(int32s, int32s)
def test_high_multiply_rounds_halves_up_and_saturates(a, b):
    expected = min(half_up(Fraction(a * b, 2**31)), fp.INT32_MAX)
    assert int(fp.rounding_doubling_high_mul(a, b)) == expected


@given(int32s, st.integers(0, 31))
def test_shift_rounds_halves_away_from_zero(x, exponent):
    assert int(fp.rounding_divide_by_pot(x, exponent)) == half_away(Fraction(x, 2**exponent))


@given(st.integers(-(2**24), 2**24), mantissas, st.integers(-31, 6))
def test_requantisation_rounds_twice(x, mult, shift):
    first = half_up(Fraction(x * 2 ** max(shift, 0) * mult, 2**31))
    expected = half_away(Fraction(first, 2 ** max(-shift, 0)))
    assert int(fp.multiply_by_quantized_multiplier(x, mult, shift)) == expected


def test_requantisation_wraps_where_a_register_would():
    assert int(fp.multiply_by_quantized_multiplier(2**30, 2**30, 2)) == 0


def test_rounding_twice_differs_from_rounding_once():
    # 0.4999... of a step: the first rounding lifts it to a half, the second to a whole.
    assert int(fp.multiply_by_quantized_multiplier(1, 2**31 - 1, -1)) == 1
    assert round((2**31 - 1) / 2**32) == 0


@given(st.floats(2.0**-30, 2.0**30))
def test_multiplier_holds_31_bits(real):
    mult, shift = fp.quantize_multiplier(real)
    assert 2**30 <= mult < 2**31
    assert abs(mult * 2.0 ** (shift - 31) - real) <= real * 2.0**-31


@pytest.mark.parametrize(
    ("real", "pinned"),
    [
        (0.0, (0, 0)),
        (1.0, (2**30, 1)),
        (0.5, (2**30, 0)),
        (0.75, (3 * 2**29, 0)),
        (1 - 2.0**-40, (2**30, 1)),
        (2.0**-31, (2**30, -30)),
        (2.0**-32, (2**30, -31)),
        (2.0**-33, (0, 0)),
    ],
)
def test_multiplier_of_known_values(real, pinned):
    assert fp.quantize_multiplier(real) == pinned


def test_no_quotient_of_scales_below_one_goes_left():
    """The nearest below it: kernels of sums take shifts to the right alone."""
    one = np.float32(1)
    for real in (np.nextafter(one, np.float32(0)) / 1.0, 1.0 / np.nextafter(one, np.float32(2))):
        mult, shift = fp.quantize_multiplier(float(real))
        assert (shift, mult < 2**31) == (0, True)


@pytest.mark.parametrize(("x", "rounded"), [(0.5, 1), (-0.5, -1), (2.5, 3), (-2.5, -3), (1.4, 1)])
def test_halves_round_away_from_zero(x, rounded):
    assert fp.round_half_away(x) == rounded


@given(st.floats(-15.9, 0.0))
def test_exp_is_accurate(x):
    raw = round(x * 2**26)
    assert int(fp.exp_on_negative_values(raw, 5)) / 2**31 == pytest.approx(
        math.exp(raw / 2**26), abs=POLYNOMIAL_ERROR
    )


def test_exp_has_every_step_of_the_rule():
    """e**(x - 1/8) = e**(-1/8) * (1 + x + x**2 / 2 + x**3 / 6 + x**4 / 24), in whole numbers."""

    def product(a, b):
        return half_up(Fraction(a * b, 2**31))

    base, third = round(2**31 * math.exp(-1 / 8)), round(2**31 / 3)
    for raw in np.random.default_rng(0).integers(-(2**24), 0, 2_000).tolist():
        x = (raw << 5) + 2**28
        square = product(x, x)
        fourth = half_away(Fraction(product(square, square), 4))
        tail = half_away(Fraction(product(fourth + product(square, x), third) + square, 2))
        assert fp.exp_on_negative_values(raw, 5) == base + product(base, x + tail)


def test_exp_of_zero_is_the_greatest_value():
    assert int(fp.exp_on_negative_values(0, 5)) == fp.INT32_MAX


@given(st.floats(-15.9, 15.9))
def test_logistic_and_tanh_are_accurate(x):
    raw = round(x * 2**27)
    real = raw / 2**27
    assert int(fp.logistic(raw, 4)) / 2**31 == pytest.approx(
        1 / (1 + math.exp(-real)), abs=POLYNOMIAL_ERROR
    )
    assert int(fp.tanh(raw, 4)) / 2**31 == pytest.approx(math.tanh(real), abs=1e-6)


@given(st.floats(-15.9, 15.9))
def test_logistic_and_tanh_keep_their_symmetry(x):
    raw = round(x * 2**27)
    assert int(fp.tanh(-raw, 4)) == -int(fp.tanh(raw, 4))
    if raw != 0:
        assert int(fp.logistic(-raw, 4)) + int(fp.logistic(raw, 4)) == fp.INT32_MAX


@given(st.integers(1, 2**31 - 1), st.integers(0, 16))
def test_reciprocal_is_accurate(x, integer_bits):
    r, e = fp.reciprocal(x, integer_bits)
    real = x / 2 ** (31 - integer_bits)
    assert int(r) * 2.0 ** (-31 - int(e)) == pytest.approx(1 / real, rel=1e-6)


@pytest.mark.parametrize(
    ("integer_bits", "left_shift", "radius"),
    [(5, 26, 31), (5, 27, 15), (5, 25, 62), (4, 31, 0), (3, 20, 7 << 8)],
)
def test_the_radius_is_of_whole_steps(integer_bits, left_shift, radius):
    assert fp.input_radius(integer_bits, left_shift) == radius


@given(st.integers(-(2**47), 2**47), mantissas, st.integers(-20, 13))
def test_a_short_mantissa_is_the_rounded_one_and_rounds_once(x, mult, shift):
    short, right = fp.reduced_multiplier(mult, shift)
    assert short == min(half_up(Fraction(mult, 2**16)), 2**15 - 1)
    assert right == 15 - shift
    expected = half_up(Fraction(x * short, 2**right))
    assert int(fp.multiply_by_reduced_multiplier(x, short, right)) == expected


@pytest.mark.parametrize("mult", [0x7FFE7FFF, 0x7FFE8000, 0x7FFEFFFF, 0x7FFF8000, 0x7FFFFFFF])
def test_a_short_mantissa_stays_below_a_whole(mult):
    assert fp.reduced_multiplier(mult, 1) == (0x7FFE if mult < 0x7FFE8000 else 0x7FFF, 14)


@given(st.floats(1, 2**12 - 1), st.sampled_from([(12, 5), (12, 4), (16, 5)]))
def test_logarithms_are_accurate(x, bits):
    raw = round(x * 2 ** (31 - bits[0]))
    found = int(fp.log_of_one_and_more(raw, *bits)) / 2 ** (31 - bits[1])
    assert found == pytest.approx(math.log(raw / 2 ** (31 - bits[0])), abs=2e-7)


def test_logarithms_have_every_bit_of_tensorflow_lite_micros():
    """What its kernel of log_softmax finds, which the one in C is held against as well."""
    x = [1 << 19, (1 << 19) + 1, 600_001, 741_455, 1 << 20, 12_345_678, 1 << 30, 2**31 - 1]
    logarithms = [0, 128, 9052326, 23258142, 46516320, 211998256, 511679518, 558195838]
    np.testing.assert_array_equal(fp.log_of_one_and_more(x, 12, 5), logarithms)


def test_arrays_and_scalars_agree():
    rng = np.random.default_rng(0)
    x = rng.integers(-(2**28), 2**28, size=50)
    mult = rng.integers(2**30, 2**31, size=50)
    shift = rng.integers(-20, 3, size=50)
    each = [int(fp.multiply_by_quantized_multiplier(*t)) for t in zip(x, mult, shift, strict=True)]
    np.testing.assert_array_equal(fp.multiply_by_quantized_multiplier(x, mult, shift), each)
