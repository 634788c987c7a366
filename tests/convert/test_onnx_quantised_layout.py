"""Quantised ONNX models that keep their layout: the transposes at their inputs move integers."""

import numpy as np
import pytest

from tests.convert.quantized_onnx import quantized, residual_net
from tests.convert.test_onnx_quantised import SAMPLES
from tests.passes.example_parts import grid
from tests.passes.nets import TO_NHWC, Net
from tinyrt.api import open_model
from tinyrt.convert.passes.quantizers import hoist_to_input
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Refusal
from tinyrt.quantize.imported.prequantized import quantize_on_own_grids

INTEGERS = np.random.default_rng(4).integers(-128, 128, SAMPLES.shape, np.int8)
IMAGE = (1, 3, 5, 7)


@pytest.mark.parametrize("activations", ["uint8", "int8"])
def test_the_input_has_the_grid_and_answers_are_the_same(activations, tmp_path):
    path = quantized(residual_net(), tmp_path / "q.onnx", SAMPLES, activations=activations)
    turned, kept = open_model(path), open_model(path, keep_layout=True)
    (x,) = kept.input_values
    assert (x.dtype, x.q) == (DType.INT8, turned.input_values[0].q)
    assert {node.output.dtype for node in kept.bound()} == {DType.INT8}
    answers = [
        Model(graph).run_raw({graph.inputs[0]: images})[graph.outputs[0]]
        for graph, images in ((turned, np.moveaxis(INTEGERS, 1, -1).copy()), (kept, INTEGERS))
    ]
    np.testing.assert_array_equal(*(y.reshape(len(SAMPLES), -1) for y in answers))


def test_roundings_move_over_all_that_selects_from_an_input():
    net = Net(IMAGE)
    moved = net.reshape(net.transpose("x", TO_NHWC), 1, 35, 3)
    graph = quantize_on_own_grids(net.graph(grid(net, net.op("relu", (grid(net, moved),)))))
    assert graph.input_values[0].dtype is DType.INT8
    assert [node.output.dtype for node in graph.bound()] == [DType.INT8] * len(graph.nodes)


def test_an_input_that_something_else_reads_stays_in_float():
    net = Net(IMAGE)
    y = grid(net, net.transpose("x", TO_NHWC))
    graph = net.graph(y, net.op("tanh", ("x",)))
    rounding = next(node for node in graph.nodes if node.op == "fake_quantize")
    refusal = hoist_to_input(graph, rounding)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == f"'{rounding.inputs[0]}' or what it reads has other readers"


def test_roundings_of_what_is_computed_are_left_to_the_pass():
    net = Net(IMAGE)
    graph = net.graph(grid(net, net.transpose(net.op("tanh", ("x",)), TO_NHWC)))
    assert hoist_to_input(graph, graph.nodes[-1]) is None
    net = Net(IMAGE)
    assert hoist_to_input(net.graph(grid(net, "x")), net.nodes[-1]) is None


def test_integers_that_are_answered_as_they_are_are_taken_as_integers():
    net = Net(IMAGE)
    graph = quantize_on_own_grids(net.graph(grid(net, "x")))
    (x,), (y,) = graph.input_values, graph.output_values
    assert x.q is not None
    assert (x.dtype, x.q) == (y.dtype, y.q) == (DType.INT8, x.q)
    images = INTEGERS.reshape(-1)[: np.prod(IMAGE)].reshape(IMAGE)
    np.testing.assert_array_equal(Model(graph).run_raw({"x": images})[y.name], images)
