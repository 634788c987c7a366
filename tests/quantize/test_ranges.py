"""Ranges and the parameters that cover them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tinyrt.ops.quantize import quantize_array
from tinyrt.quantize.ranges import (
    BIAS_MAX,
    Range,
    quantize_bias,
    quantize_weights,
    weight_params,
)

REALS = st.floats(-1e6, 1e6, width=32)


@given(REALS, REALS)
def test_parameters_cover_the_range_and_hold_zero_exactly(a, b):
    low, high = min(a, b), max(a, b)
    q = Range(low, high).asymmetric()
    scale = np.float32(q.scale)
    assert -128 <= q.zero_point <= 127
    assert quantize_array(np.float32(0), scale, q.zero_point) == q.zero_point
    for real in (low, high):
        step = int(quantize_array(np.float32(real), scale, q.zero_point))
        # Rounding the zero point may cost half a step at the ends, saturation the same again.
        assert abs((step - q.zero_point) * float(scale) - real) <= 1.01 * float(scale)


def test_weights_are_symmetric_and_per_channel():
    weights = np.array([[[[1.0, -2.0]]], [[[0.25, 0.5]]]], np.float32)
    q = weight_params(weights, None, 0.1, axis=0)
    assert q.axis == 0
    np.testing.assert_allclose(q.scales, [2 / 127, 0.5 / 127], rtol=1e-6)
    np.testing.assert_array_equal(
        quantize_weights(weights, q).reshape(2, 2), [[64, -127], [64, 127]]
    )


def test_a_channel_without_weights_keeps_its_bias_precise():
    weights = np.array([[[[1.0]]], [[[0.0]]]], np.float32)
    bias = np.array([0.5, 0.3], np.float32)
    q = weight_params(weights, bias, 0.1, axis=0)
    stored, bias_q = quantize_bias(bias, 0.1, q)
    np.testing.assert_allclose(stored * np.asarray(bias_q.scales), bias, rtol=1e-3)


def test_a_bias_that_would_overflow_raises_its_channel_s_scale():
    weights = np.array([[[[1e-6]]], [[[1.0]]]], np.float32)
    bias = np.array([1e3, 1.0], np.float32)
    q = weight_params(weights, bias, 1e-4, axis=0)
    stored, bias_q = quantize_bias(bias, 1e-4, q)
    assert np.abs(stored).max() <= BIAS_MAX * 1.001
    np.testing.assert_allclose(stored * np.asarray(bias_q.scales), bias, rtol=1e-6)
