"""Which tensors share parameters, and what the quantised graph answers."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.ops.peers import run_tflm
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.interpreter import Model
from tinyrt.ir import QParams
from tinyrt.metrics import sqnr_db
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.quantize import QuantConfig, calibrate, make_plan, quantize_graph

RNG = np.random.default_rng(3)


def _data(*shape):
    return RNG.normal(size=(16, *shape)).astype(np.float32)


def test_the_quantised_cnn_is_close_to_float_and_equal_to_tflm():
    graph, data = small_cnn(), _data(8, 8, 3)
    quantized = quantize_graph(graph, data)
    ratio = sqnr_db(Model(graph)(data), Model(quantized)(data)).mean()
    assert ratio > 25
    raw = Model(quantized).stored_inputs(data)["x"]
    expected = [run_tflm(quantized, [sample[None]])[0] for sample in raw]
    np.testing.assert_array_equal(Model(quantized)(raw), expected)


def test_ops_that_only_move_data_share_their_parameters():
    b = Builder((1, 4, 4, 2))
    pooled = b.op("max_pool2d", ("x",), Pool2dAttrs((2, 2), (2, 2)))
    padded = b.op("pad", (pooled,), PadAttrs(((0, 0), (1, 1), (0, 0), (0, 0))))
    graph = b.graph(padded)
    plan = make_plan(graph, calibrate(graph, _data(4, 4, 2)))
    assert plan.activations["x"] == plan.activations[pooled] == plan.activations[padded]


def test_joined_tensors_take_the_union_of_their_ranges():
    b = Builder((1, 4), (1, 4))
    graph = b.graph(b.op("concatenation", ("x", "x1"), ConcatenationAttrs(axis=1)))
    data = {"x": _data(4), "x1": 10 * _data(4)}
    plan = make_plan(graph, calibrate(graph, data))
    assert plan.activations["x"] == plan.activations["x1"]
    wide = np.abs(data["x1"]).max()
    assert plan.activations["x"].scale > wide / 127 / 2


def test_a_prescribed_range_is_rescaled_where_it_meets_another():
    b = Builder((1, 4), (1, 4))
    bounded = b.op("logistic", ("x",))
    joined = b.op("concatenation", (bounded, "x1"), ConcatenationAttrs(axis=1))
    graph = b.graph(joined)
    data = {"x": _data(4), "x1": 5 * _data(4)}
    quantized = quantize_graph(graph, data)
    assert [n.op for n in quantized.nodes] == ["logistic", "quantize", "concatenation"]
    found, expected = Model(quantized).run(data), Model(graph).run(data)
    step = quantized.value(joined).q.scale
    np.testing.assert_allclose(found[joined], expected[joined], atol=step)


def test_constants_beside_activations_are_quantised_with_their_own_range():
    b = Builder((1, 4))
    factor = b.constant(np.array([[0.5, -0.25, 2.0, 1.0]], np.float32))
    graph = b.graph(b.op("mul", ("x", factor), MulAttrs()))
    quantized = quantize_graph(graph, _data(4))
    assert quantized.value(factor).data.dtype == np.int8
    data = _data(4)
    assert sqnr_db(Model(graph)(data), Model(quantized)(data)).mean() > 25


def test_dense_layers_may_have_a_scale_per_output():
    graph = small_cnn()
    ranges = calibrate(graph, _data(8, 8, 3))
    dense = next(n for n in graph.nodes if n.op == "fully_connected").outputs[0]
    assert make_plan(graph, ranges).weights[dense].axis is None
    config = QuantConfig(per_channel_dense=True)
    assert len(make_plan(graph, ranges, config).weights[dense].scales) == 5


def test_the_plan_is_readable_as_json():
    graph = small_cnn()
    config = QuantConfig(per_channel_dense=True)
    plan = make_plan(graph, calibrate(graph, _data(8, 8, 3)), config)
    layer = next(iter(plan.weights))
    own = {"rounded": {layer: np.int8([[1, -2]])}, "biases": {layer: np.float32([0.5, 3])}}
    plan = replace(plan, **own)
    table = json.loads(plan.to_json())
    for kind in ("activations", "weights"):
        read = {n: QParams(tuple(q.pop("scales")), **q) for n, q in table.pop(kind).items()}
        assert read == getattr(plan, kind)
    assert table == {"rounded": {layer: [[1, -2]]}, "biases": {layer: [0.5, 3.0]}}


def test_what_cannot_be_quantised_is_named():
    b = Builder((1, 4))
    four = [b.constant(np.ones(4, np.float32)) for _ in range(4)]
    graph = b.graph(b.op("batch_norm", ("x", *four), BatchNormAttrs()))
    with pytest.raises(UnsupportedError, match="batch_norm has no integer form"):
        quantize_graph(graph, _data(4))

    b = Builder((1, 4), (2, 4))
    graph = b.graph(b.op("fully_connected", ("x", "x1"), FullyConnectedAttrs()))
    with pytest.raises(UnsupportedError, match="computed at run time"):
        make_plan(graph, {})


def test_calibration_data_must_fit_the_model():
    with pytest.raises(DataError, match="shape"):
        calibrate(small_cnn(), _data(8, 8, 4))


@pytest.mark.parametrize("float_io", [False, True])
def test_outputs_that_are_constants_or_listed_twice_stay(float_io):
    b = Builder((1, 4))
    y, number = b.op("tanh", ("x",)), b.constant(np.float32([0.5, 2.0]))
    graph = b.graph(y, number, y)
    data = np.linspace(-2, 2, 80, dtype=np.float32).reshape(20, 4)
    for methods in ({}, {"tune_ranges": True}, {"equalize": True, "smooth": True}):
        config = QuantConfig(float_io=float_io, **methods)
        found = quantize_graph(graph, data, config)
        assert found.outputs == (y, number, y)
        np.testing.assert_array_equal(found.value(number).data, [0.5, 2.0])


def test_a_model_of_constant_outputs_loses_nothing():
    b = Builder((1, 4))
    b.op("tanh", ("x",))
    graph = b.graph(b.constant(np.float32([0.5])))
    quantized = quantize_graph(graph, _data(4), QuantConfig(tune_ranges=True))
    assert quantized.outputs == graph.outputs
