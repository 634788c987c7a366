"""Figures of a layer, on tensors whose axes all have lengths of their own."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.config import Preset, configure
from tinyrt.quantize.explain.debug import _cosine, _dead, _range_use, _spread, debug_graphs
from tinyrt.quantize.explain.matching import _column_map

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


def test_the_cosine_is_that_of_the_angle():
    x, y, nothing = np.float32([[3, 4]]), np.float32([[4, 3]]), np.zeros((1, 2), np.float32)
    assert _cosine(x, y) == pytest.approx(24 / 25)
    assert [_cosine(nothing, z) for z in (nothing, x)] == [1.0, 0.0]


def test_columns_of_zeros_keep_their_factors():
    """Those of the weights, of the stored ones, or both; others tell theirs."""
    found = _column_map(np.float64([4, 0, 4, 0]), np.float64([8, 0, 0, 1]), np.zeros(4))
    assert found.scale.tolist() == [2, 1, 1, 1]
    assert _column_map(np.float64([4, 0]), np.float64([4, 0]), np.zeros(2)) is None


def dense():
    b = Builder((2, 2))
    w = b.constant(np.float32([[127, 0, 1, -3], [1, -127, 2, 5]]))
    pairs = b.op("reshape", ("x",), ReshapeAttrs((1, 4)))
    return b.graph(b.op("fully_connected", (pairs, w), FullyConnectedAttrs()))


def layers(x):
    """Of the layer with an input in steps of 1 from -128 to 127, by name."""
    graph = dense()
    int8 = quantize_graph(graph, np.float32([[-128, 127]] * 20), QuantConfig())
    ones, names = QParams((1.0,), 0), ("x", graph.nodes[0].output)
    values = int8.values | {name: replace(int8.value(name), q=ones) for name in names}
    report = debug_graphs(graph, replace(int8, values=values), {"x": np.float32(x)})
    return report, {layer.name: layer for layer in report.layers}


def test_values_are_cut_off_from_half_a_step_beyond_the_ends():
    _, found = layers([[-128.5, 127.5], [128, 0], [-129, 0], [0, 0]])
    assert found["x"].saturation == 0.25


def test_a_model_that_answers_zeros_has_no_outliers_and_no_error():
    report, found = layers(np.zeros((20, 2)))
    assert all("times beyond" not in layer.cause for layer in found.values())
    assert {layer.cosine for layer in found.values()} == {1.0}
    assert report.samples == 10


def test_channels_that_differ_are_no_cause_where_each_has_a_scale_and_one_input():
    """The small taps of a depthwise layer, which alone are used, are less than half a step."""
    b = Builder((1, 1, 2, 2))
    taps = np.float32([[500, 1], [1.5, 0.003]]).reshape(1, 1, 2, 2)
    y = b.op("depthwise_conv2d", ("x", b.constant(taps)), DepthwiseConv2dAttrs(padding="VALID"))
    graph, x = b.graph(y), np.zeros((40, 1, 2, 2), np.float32)
    x[:, 0, 1] = np.random.default_rng(0).normal(size=(40, 2))
    report = debug_graphs(graph, quantize_graph(graph, x, QuantConfig()), {"x": x})
    (layer,) = (layer for layer in report.layers if layer.name == y)
    assert layer.weight_spread == 500
    assert layer.cause == "rounded weights"


def test_as_many_runs_are_looked_at_as_a_search_does():
    report, _ = layers(np.ones((300, 2)))
    assert report.samples == 128


@pytest.mark.parametrize("place", [1, 2])
def test_what_cannot_be_quantised_is_named(place):
    """Weights, or a bias, of which one number is none."""
    b = Builder((1, 2))
    constants = [b.constant(np.ones(shape, np.float32)) for shape in ((3, 2), (3,))]
    graph = b.graph(b.op("fully_connected", ("x", *constants), FullyConnectedAttrs()))
    (layer,) = graph.bound()
    whole = layer.input(place)
    data = np.array(whole.data)
    data.flat[-1] = np.nan
    broken = replace(whole, data=data)
    wrong = replace(graph, values=graph.values | {whole.name: broken})
    with pytest.raises(UnsupportedError, match="weights hold NaN or infinity") as caught:
        quantize_graph(wrong, None, QuantConfig(scheme=Scheme.WEIGHTS_INT8))
    assert (caught.value.op, caught.value.tensor) == (layer.describe(), broken.describe())


@pytest.mark.parametrize("preset", Preset)
def test_states_whose_range_is_not_seen_are_named(preset):
    b = Builder((1, 2), (1, 2))
    graph = b.graph(b.op("abs", ("x",)), b.op("neg", ("x1",)))
    graph = replace(graph, states=(("x1", graph.outputs[1]),))
    with pytest.raises(UnsupportedError, match="keeps state from sample to sample") as caught:
        quantize_graph(graph, np.ones((20, 2), np.float32), configure(preset))
    assert caught.value.tensor == graph.value("x1").describe()
    plain = quantize_graph(graph, None, QuantConfig(scheme=Scheme.WEIGHTS_INT8))
    assert plain.states == graph.states
