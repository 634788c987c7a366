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


def test_arrays_and_scalars_agree():
    rng = np.random.default_rng(0)
    x = rng.integers(-(2**28), 2**28, size=50)
    mult = rng.integers(2**30, 2**31, size=50)
    shift = rng.integers(-20, 3, size=50)
    each = [int(fp.multiply_by_quantized_multiplier(*t)) for t in zip(x, mult, shift, strict=True)]
    np.testing.assert_array_equal(fp.multiply_by_quantized_multiplier(x, mult, shift), each)
