"""Compiled loops of training give the bits of the plain array expressions that they stand for."""

import sys

import numpy as np
import pytest

from tinyrt.floatmath import buffers, columns
from tinyrt.floatmath.parallel import PART_BYTES
from tinyrt.ops import OPS
from tinyrt.ops.shared.activation import activate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.train import Adam, Tensor
from tinyrt.train.optim import AdamW

SPECIAL = [np.nan, -np.inf, np.inf, -0.0, 0.0, -1.0, 1.0, 6.0, 7.0, -1e-30]


def same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("activation", ["RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"])
def test_a_compiled_clamp_is_that_of_numpy(activation, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    x = np.concatenate([SPECIAL, rng.normal(0, 4, 300)]).astype(dtype).reshape(-1, 2).T
    compiled = activate(x, activation)
    monkeypatch.delitem(sys.modules, "numba")
    same_bits(compiled, activate(x, activation))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("kernel", "stride"), [((2, 2), (2, 2)), ((3, 2), (1, 2))])
def test_compiled_max_pooling_is_that_of_the_reference(kernel, stride, padding):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 7, 5, 9)).astype(np.float32)
    x.reshape(-1)[rng.integers(x.size, size=40)] = np.nan
    x.reshape(-1)[rng.integers(x.size, size=40)] = -np.inf
    spec, attrs = OPS["max_pool2d"], Pool2dAttrs(kernel, stride, padding)
    for operand in (x, x.transpose(0, 2, 1, 3)):
        expected = spec.ref_f32(attrs, operand)
        assert np.isnan(expected).any()
        assert np.isfinite(expected).any()
        same_bits(spec.train_f32(attrs, operand), np.ascontiguousarray(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("kind", [Adam, AdamW])
def test_adam_moves_by_the_bits_of_its_formula(kind, decay, dtype):
    rng = np.random.default_rng(2)
    start = rng.normal(size=(5, 3)).astype(dtype)
    w, m, v = start.copy(), np.zeros_like(start), np.zeros_like(start)
    parameter = Tensor(start.copy(), requires_grad=True)
    optimizer = kind([parameter], 0.01, betas=(0.8, 0.99), weight_decay=decay)
    for step in range(1, 4):
        # A gradient whose elements lie column by column, as those of some weights do.
        grad = np.asfortranarray(rng.normal(size=(5, 3)).astype(dtype))
        parameter.grad = grad
        optimizer.step()
        if decay and kind is Adam:
            grad = grad + decay * w
        m += (1 - 0.8) * (grad - m)
        v += (1 - 0.99) * (grad * grad - v)
        left = [1 - np.prod([beta] * step) for beta in (0.8, 0.99)]
        change = m / (np.sqrt(v / left[1]) + 1e-8) / left[0]
        w -= 0.01 * (change + decay * w if decay and kind is AdamW else change)
    np.testing.assert_allclose(parameter.data, w, rtol=3 * np.finfo(dtype).eps)
    same_bits(optimizer.state[0]["m"], m)
    same_bits(optimizer.state[0]["v"], v)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 1001])
def test_column_sums_go_row_by_row(count):
    rng = np.random.default_rng(count)
    rows, grad = rng.normal(3, 1, (2, count, 5)).astype(np.float32)
    centre = rng.normal(size=5).astype(np.float32)
    total, squares, sums, products = np.zeros((4, 5), np.float32)
    for row, arrived in zip(rows, grad, strict=True):
        total += row
        squares += (row - centre) * (row - centre)
        sums += arrived
        products += arrived * (row - centre)
    same_bits(columns.totals(rows), total)
    same_bits(columns.squares(rows, centre), squares)
    same_bits(columns.products(rows, grad, centre), np.stack([sums, products]))


@pytest.mark.parametrize("factor", [0.2, 0.7, 1.2])
def test_statistics_of_a_batch_in_one_loop_or_several(factor):
    """Small batches take one loop; larger ones several, cut into parts from some size on."""
    rng = np.random.default_rng(3)
    count = int(factor * 2 * PART_BYTES / 12)
    rows, grad = rng.normal(2, 3, (2, count, 3)).astype(np.float32)
    gamma = rng.normal(size=3).astype(np.float32)
    mean, variance, inverse = columns.statistics(rows, 1e-3)
    wide = rows.astype(np.float64)
    np.testing.assert_allclose(mean, wide.mean(0), rtol=1e-4)
    np.testing.assert_allclose(variance, wide.var(0), rtol=1e-4)
    same_bits(inverse, 1 / np.sqrt(variance + np.float32(1e-3)))
    found = columns.normalised_gradients(rows, grad, mean, inverse, gamma)
    sums, products = columns.products(rows, grad, mean)
    of_rows = -gamma * inverse * products * inverse**2 / np.float32(count)
    shift = -gamma * inverse * sums / np.float32(count)
    dx = columns.combined(rows, grad, mean, of_rows, gamma * inverse, shift)
    for one, other in zip(found, (dx, products * inverse, sums), strict=True):
        same_bits(one, other)


@pytest.mark.parametrize(("factor", "width"), [(0.01, 3), (0.3, 16), (1.2, 16), (1.2, 3)])
def test_a_relu_behind_a_norm_is_the_same_in_fewer_passes(factor, width):
    """In one loop or several; narrow rows are looked at side by side where there are many."""
    rng = np.random.default_rng(7)
    count = int(factor * PART_BYTES / 2 / width)
    rows, grad = rng.normal(2, 3, (2, count, width)).astype(np.float32)
    rows[1] = 2.0  # of the mean's size: results near 0
    gamma, beta = rng.normal(size=(2, width)).astype(np.float32)
    gamma[0], beta[0] = 0, 0  # a channel of zeros, which pass nothing on
    mean, _, inverse = columns.statistics(rows, 1e-3)
    scale = gamma * inverse
    plain = columns.scaled(rows, mean, scale, beta)
    same_bits(plain, (rows - mean) * scale + beta)
    expected = activate(plain, "RELU")
    assert 0 < (expected > 0).mean() < 1
    same_bits(columns.scaled(rows, mean, scale, beta, relu=True), expected)
    passed = np.where(expected > 0, grad, np.float32(0))
    wanted = columns.normalised_gradients(rows, passed, mean, inverse, gamma)
    found = columns.normalised_gradients(rows, grad, mean, inverse, gamma, beta)
    for one, other in zip(found, wanted, strict=True):
        same_bits(one, other)
    rows[0, 0], rows[1, 1] = np.inf, np.nan
    shown = columns.scaled(rows[:4], mean, np.ones_like(mean), beta, relu=True)
    assert (shown[0, 0], np.isnan(shown[1, 1])) == (np.inf, True)


def test_sums_of_no_rows_are_zeros():
    none, centre = np.empty((0, 3), np.float32), np.ones(3, np.float32)
    zeros = [0.0, 0.0, 0.0]
    assert columns.totals(none).tolist() == columns.squares(none, centre).tolist() == zeros
    assert columns.products(none, none, centre).tolist() == [zeros, zeros]


@pytest.mark.parametrize("place", range(5))
def test_nothing_passes_where_a_relu_gives_no_finite_number(place):
    """In the rows that are taken four at a time, and in those behind them."""
    rows = np.array([[np.inf, 1], [1, 2], [2, 4], [1, 5], [3, 9]], np.float32)
    rows = np.roll(rows, place, axis=0)
    mean, one = np.zeros(2, np.float32), np.ones(2, np.float32)
    _, _, sums = columns.normalised_gradients(rows, np.ones_like(rows), mean, one, one, mean)
    assert sums.tolist() == [4, 5]


def test_nothing_passes_where_a_scale_makes_a_finite_number_infinite():
    rows, grad = np.array([[[1e30], [1], [2]], [[3], [2], [-1]]], np.float32)
    zero, one, gamma = (np.full(1, x, np.float32) for x in (0, 1, 1e30))
    dx, of_gamma, of_beta = columns.normalised_gradients(rows, grad, zero, one, gamma, zero)
    assert (of_gamma.tolist(), of_beta.tolist()) == ([0], [1])
    np.testing.assert_allclose(dx[:, 0] / 1e30, np.array([0, 2, -1]) - 1 / 3, rtol=1e-6)


def test_large_sums_are_cut_into_parts():
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 700, 900)).astype(np.float32)
    same_bits(buffers.add(a, b), a + b)
    same_bits(buffers.add(a, b[:1]), a + b[:1])
    same_bits(buffers.add(a.T, b.T), np.ascontiguousarray((a + b).T))
    assert buffers.add(a, b.astype(np.float64)).dtype == np.float64
    for dtype in (np.int64, np.int32, np.int8, np.bool_):
        whole = (a * 99).astype(dtype), (b * 99).astype(dtype)
        same_bits(buffers.add(*whole), whole[0] + whole[1])


def test_of_equal_elements_the_first_one_gets_the_gradient():
    spec, attrs = OPS["max_pool2d"], Pool2dAttrs((2, 2), (2, 2), "VALID")
    x = np.zeros((1, 4, 2, 3), np.float32)
    x[0, 2, 1] = 1
    x[0, 3, 0] = 1
    y = spec.train_f32(attrs, x)
    (dx,) = spec.vjp(attrs, (x,), y, np.full(y.shape, 5, np.float32))
    expected = np.zeros_like(x)
    expected[0, 0, 0] = expected[0, 2, 1] = 5
    np.testing.assert_array_equal(dx, expected)
