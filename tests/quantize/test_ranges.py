"""Ranges and the parameters that cover them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graphs import Builder
from tests.sampling import sampled
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.ir import DType, QParams
from tinyrt.metrics import evaluate_graph
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.flat import _flat, deciding
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


@pytest.mark.parametrize("bias", [None, [0.0, 0.0, 0.0]])
def test_a_channel_of_zeros_has_the_scale_of_the_greatest(bias):
    weights = np.array([[1.0], [0.0], [2.0]], np.float32)
    bias = None if bias is None else np.array(bias, np.float32)
    q = weight_params(weights, bias, 0.1, axis=0)
    np.testing.assert_allclose(q.scales, [1 / 127, 2 / 127, 2 / 127], rtol=1e-6)
    assert weight_params(0 * weights, bias, 0.1, axis=0).scales == (1.0, 1.0, 1.0)


def test_a_bias_that_would_overflow_raises_its_channel_s_scale():
    weights = np.array([[[[1e-6]]], [[[1.0]]]], np.float32)
    bias = np.array([1e3, 1.0], np.float32)
    q = weight_params(weights, bias, 1e-4, axis=0)
    stored, bias_q = quantize_bias(bias, 1e-4, q)
    assert np.abs(stored).max() <= BIAS_MAX * 1.001
    np.testing.assert_allclose(stored * np.asarray(bias_q.scales), bias, rtol=1e-6)


@pytest.mark.parametrize(("dtype", "bits"), [(DType.INT32, 31), (DType.INT64, 46)])
def test_a_bias_keeps_within_the_accumulators_of_its_layer(dtype, bits):
    """TFLite's of 64 bits have 48, of which products take their part."""
    q = QParams((1.0,), 0)
    most = 2**bits - (dtype is DType.INT32)
    bias = np.array([1.0, 0.9, -0.9, -1.0, 3.0, -3.0]) * 2.0**bits
    stored, _ = quantize_bias(bias, 1.0, q, dtype)
    assert stored.dtype == dtype.numpy
    assert stored.max() == stored[4] == stored[0] == most
    assert stored.min() == stored[5] == -most - 1
    np.testing.assert_array_equal(stored[1:3], np.rint(bias[1:3]))


def test_one_bias_beyond_all_scales_is_refused():
    bias = np.array([1.0, 3e38], np.float32)
    with pytest.raises(UnsupportedError, match="the bias is too large for integers"):
        weight_params(np.ones((2, 1), np.float32), bias, 1e-10, axis=0)


def _attention(hidden: float, *, given: bool):
    """One head over six steps, of which a mask hides some: a constant, or an input of 0 and 1."""
    rng, shapes = np.random.default_rng(0), [(1, 6, 8), (1, 1, 6)]
    b = Builder(*shapes[: 1 + given])

    def dense(y, n):
        w = b.constant(rng.normal(size=(n, 8)).astype(np.float32) / 3)
        return b.op("fully_connected", (y, w), FullyConnectedAttrs(keep_num_dims=True))

    if given:
        mask = b.op("mul", ("x1", b.constant(np.array([hidden], np.float32))), MulAttrs())
    else:
        mask = b.constant(np.where(np.tri(6) > 0, 0, hidden).astype(np.float32)[None])
    scores = b.op("batch_matmul", (dense("x", 8), dense("x", 8)), BatchMatmulAttrs(adj_y=True))
    shares = b.op("softmax", (b.op("add", (scores, mask), AddAttrs()),), SoftmaxAttrs())
    return b.graph(dense(b.op("batch_matmul", (shares, dense("x", 8)), BatchMatmulAttrs()), 4))


LEAST = float(np.finfo(np.float32).min)


@pytest.mark.parametrize(
    ("hidden", "given"),
    sampled(
        [(-np.inf, False), (LEAST, True), (-1e4, False)],
        [*product((-np.inf, LEAST, -1e4), (False, True))],
    ),
)
def test_masks_leave_the_steps_to_the_scores(hidden, given):
    graph = _attention(max(hidden, -3e38) if given else hidden, given=given)
    rng = np.random.default_rng(1)
    mask = (rng.random((96, 1, 6)) < 0.3).astype(np.float32)
    mask[:, :, 0] = 0  # something is always seen
    data = {"x": rng.normal(size=(96, 6, 8)).astype(np.float32), "x1": mask}
    data = {name: data[name] for name in graph.inputs}
    int8 = quantize_graph(graph, {n: x[:48] for n, x in data.items()})
    assert evaluate_graph(int8, {n: x[48:] for n, x in data.items()}, against=graph).sqnr_db > 27


def test_what_has_no_end_is_refused_with_its_op():
    b = Builder((1, 4))
    graph = b.graph(b.op("sqrt", (b.op("log", (b.op("relu", ("x",)),)),)))
    data = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
    with pytest.raises(DataError, match="computes infinity") as caught:
        quantize_graph(graph, data, QuantConfig(tables=False))
    error = caught.value
    assert (error.op, error.tensor) == ("log 'log_1'", "'log_1' f32[1,4]")
    assert error.expected == "finite values, that a scale can cover"
    assert error.hint.startswith("keep its input within bounds")
    with pytest.raises(DataError, match="computes infinity"):
        quantize_graph(graph, data)


def test_an_output_keeps_its_range_whatever_its_readers_need():
    """The sigmoid is flat beyond some eight, but the output is read by others, too."""
    b = Builder((1, 4))
    x = b.op("mul", ("x", b.constant(np.array([100.0], np.float32))), MulAttrs())
    y = b.op("logistic", (x,))
    whole, dtypes = Range(-100.0, 100.0), dict.fromkeys((x, y), DType.INT8)

    def part(*outputs):
        return deciding(b.graph(*outputs), x, whole, lambda _: Range(0.0, 1.0), dtypes)

    assert part(y).high < 10
    assert part(y, x) == whole


@pytest.mark.parametrize("peak", [1e-40, 1e-36])
def test_scales_are_no_less_than_a_float_is_precise_for(peak):
    found = Range(-peak / 4, peak).asymmetric()
    least = float(np.finfo(np.float32).tiny)
    assert found.scale == pytest.approx(max(1.25 * peak / 255, least), rel=1e-6)
    assert found.zero_point == round(-128 + peak / 4 / found.scale)


@pytest.mark.parametrize(
    ("y", "flat"),
    [([0, 0.25, 0.5], 1), ([0, 0.3], 0), ([0, 0.2, -0.1], 1), ([1, 1, 1], 2), ([0, np.nan], 0)],
)
def test_points_are_flat_up_to_a_tolerance(y, flat):
    assert _flat(np.float64(y), 0.25) == flat


def test_a_function_that_is_constant_over_the_range_leaves_it():
    b = Builder((1, 4))
    graph = b.graph(b.op("tanh", (b.op("relu", ("x",)),)))
    dtypes = dict.fromkeys(("x", *(n.output for n in graph.nodes)), DType.INT8)
    whole = Range(-5.0, -1.0)
    assert deciding(graph, "x", whole, lambda _: Range(0.0, 1.0), dtypes) == whole
