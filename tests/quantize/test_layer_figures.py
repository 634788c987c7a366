"""Figures of a layer, on tensors whose axes all have lengths of their own."""

import numpy as np
import pytest

from tinyrt.ir import DType, QParams, Value
from tinyrt.quantize.explain.debug import _dead, _range_use, _spread

SHAPE = (2, 3, 4, 5)


@pytest.fixture
def exact():
    return np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)


def test_channels_that_became_constant_are_dead(exact):
    actual = exact.copy()
    actual[..., 1] = 0.25
    actual[..., 4] = -1.0
    assert _dead(exact, exact) == 0
    assert _dead(exact, actual) == 2


def test_channels_that_were_constant_before_are_not_dead(exact):
    exact[..., 1] = 3.0
    actual = exact.copy()
    actual[..., 4] = -1.0
    assert _dead(exact, actual) == 1


def test_the_range_that_is_used_is_that_of_all_values():
    value = Value("x", DType.INT8, SHAPE, QParams((0.1,), 0))
    actual = np.zeros(SHAPE)
    actual[0, 0, 0, 0], actual[1, 2, 3, 4] = -5.1, 5.1
    assert _range_use(value, actual) == pytest.approx(10.2 / 25.5)
    assert _range_use(value, 100 * actual) == 1.0
    assert _range_use(Value("x", DType.FLOAT32, SHAPE), actual) == 1.0


@pytest.mark.parametrize("axis", range(4))
def test_the_spread_is_that_of_peaks_of_channels_that_have_any(axis):
    magnitudes = np.zeros(SHAPE)
    peaks = np.moveaxis(magnitudes, axis, 0)
    peaks[0].flat[3], peaks[0].flat[1], peaks[1].flat[-1] = 8.0, 1.0, 2.0
    assert _spread(magnitudes, axis) == 4.0
    assert _spread(np.zeros(SHAPE), axis) == 1.0
