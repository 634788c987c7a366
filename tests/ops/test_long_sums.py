"""Long sums of products in float32 lose no more bits than short ones."""

import numpy as np
import pytest

from tinyrt.floatmath.products import matmul
from tinyrt.floatmath.tile import SEGMENT
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.conv2d import ref_f32 as conv2d
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.depthwise_conv2d import ref_f32 as depthwise

LENGTHS = (1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT, 5 * SEGMENT + 7)
VALID, HALVED = Conv2dAttrs(padding="VALID"), Conv2dAttrs((2, 1), "VALID")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 40])
@pytest.mark.parametrize("length", LENGTHS)
def test_no_product_is_left_out_or_added_twice(length, columns, dtype):
    rng = np.random.default_rng(length)
    a, b = (rng.integers(-9, 10, shape) for shape in ((11, length), (length, columns)))
    np.testing.assert_array_equal(matmul(a.astype(dtype), b.astype(dtype)), a @ b)


@pytest.mark.parametrize("length", LENGTHS)
def test_the_bias_is_added_once(length):
    rng = np.random.default_rng(length)
    x, w = (rng.integers(-9, 10, (1, length, 1, 3)).astype(np.float32) for _ in range(2))
    bias = np.float32([1000, 2000, 3000])
    y = depthwise(DepthwiseConv2dAttrs(padding="VALID"), x, w, bias)
    np.testing.assert_array_equal(y.ravel(), (x * w).sum(axis=(0, 1, 2)) + bias)
    y = conv2d(VALID, x, w, bias[:1])
    np.testing.assert_array_equal(y.ravel(), [(x * w).sum() + 1000])


def test_a_sum_of_zeros_keeps_its_sign():
    bias = np.float32([-0.0])
    for length in (1, 3 * SEGMENT):
        x = np.full((1, length, 1, 1), -0.0, np.float32)
        assert np.signbit(conv2d(VALID, x, np.ones_like(x), bias)).all()


def test_many_equal_products():
    ones = np.ones((1, 1 << 16), np.float32)
    total = matmul(ones, np.float32(0.1) * ones.T)
    assert abs(total.item() / (ones.size * float(np.float32(0.1))) - 1) < 2e-5


def test_octaves_of_a_constant_q_transform_lose_half_a_bit():
    """A log magnifies what is lost: far from a tone, a filter bank hears only rounding."""
    places = np.arange(256) - 127.5
    filters = np.sinc(places / 2) * np.hamming(256)
    filters = (filters / filters.sum()).astype(np.float32).reshape(1, -1, 1, 1)
    x = np.sin(2 * np.pi * 0.02 * np.arange(8192)).astype(np.float32)
    for _ in range(2):
        y = conv2d(HALVED, x.reshape(1, -1, 1, 1), filters).ravel()
        parts = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), 256)[::2]
        error = y - parts @ filters.ravel().astype(np.float64)
        assert np.sqrt((error**2).mean()) < 9e-8
        x = y
