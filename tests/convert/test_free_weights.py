"""FULLY_CONNECTED whose weights the model computes: a product, in TFLM's integers."""

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, build
from tests.convert.test_tflite_breadth import agree
from tests.convert.tflite_files import T
from tests.graphs import lstm_net
from tests.ops.peers import run_tflm
from tinyrt.convert.free_weights import products_of_activations
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.ir import DType, Node, Value
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate

Q = {
    "FLOAT32": ({}, {}, {}),
    "INT8": (
        {"scale": 0.05, "zero_point": -7},
        {"scale": 0.02, "zero_point": 9},
        {"scale": 0.6, "zero_point": 3},
    ),
    "INT16": ({"scale": 0.001}, {"scale": 0.02}, {"scale": 0.007}),
}


def layer(dtype, shape=(2, 3, 6), keep=True, activation=0, bias=None):
    """Five outputs of six features; weights are another input, on which nothing else depends."""
    own, weights, out = Q[dtype]
    kind = "FLOAT32" if dtype == "FLOAT32" else "INT8"
    rows = (*shape[:-1], 5) if keep else (int(np.prod(shape[:-1])), 5)
    tensors = [T("x", shape, dtype, **own), T("w", (5, 6), kind, **weights)]
    if bias is not None:
        tensors.append(T("b", (5,), data=np.asarray(bias, np.float32)))
    tensors.append(T("y", rows, dtype, **out))
    fields = {"KeepNumDims": keep, "FusedActivationFunction": activation}
    inputs = [t.name for t in tensors[:-1]]
    op = Op("FULLY_CONNECTED", inputs, ["y"], "FullyConnectedOptions", fields)
    return build(Subgraph(tensors, [op], ["x", "w"], ["y"]))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("activation", range(4))
def test_it_is_a_product_as_in_litert(activation, keep):
    data = layer("FLOAT32", keep=keep, activation=activation)
    agree(data, atol=1e-5)
    agree(write_tflite(parse_tflite(data)), atol=1e-5)


@pytest.mark.parametrize("activation", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["INT8", "INT16"])
def test_tflm_has_the_same_integers(dtype, activation):
    """TFLM's answers to the file itself, and on int8 to the one that is written of it."""
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    rng = np.random.default_rng(7)
    data = layer(dtype, (4, 6), activation=activation)
    graph = parse_tflite(data)
    assert "fully_connected" not in {node.op for node in graph.nodes}
    limits = np.iinfo(graph.value("x").dtype.numpy)
    for _ in range(10):
        x = rng.integers(limits.min, limits.max + 1, (4, 6), limits.dtype)
        w = rng.integers(-128, 128, (5, 6), np.int8)
        peer = tflm.runtime.Interpreter.from_bytes(data, arena_size=1 << 16)
        for i, array in enumerate((x, w)):
            peer.set_input(array, i)
        peer.invoke()
        np.testing.assert_array_equal(evaluate(graph, {"x": x, "w": w})["y"], peer.get_output(0))
    if dtype == "INT8":
        np.testing.assert_array_equal(run_tflm(graph, [x, w]), peer.get_output(0))


def test_a_bias_keeps_the_layer():
    """There is no product that adds one."""
    zeros, others = layer("FLOAT32", bias=[0] * 5), layer("FLOAT32", bias=[0, 0, 7, 0, 0])
    assert "fully_connected" not in {node.op for node in parse_tflite(zeros).nodes}
    assert [node.op for node in parse_tflite(others).nodes] == ["fully_connected"]


def test_weights_may_be_any_output_of_an_op():
    """Here the last one: the cell state of an LSTM."""
    graph = lstm_net()
    (units,) = graph.value("cell").shape[1:]
    rows = Value("rows", DType.FLOAT32, (3, units))
    y = Value("dense", DType.FLOAT32, (3, 1))
    dense = Node("fully_connected", "dense", ("rows", "cell"), ("dense",), FullyConnectedAttrs())
    whole = replace(
        graph,
        values={**graph.values, "rows": rows, "dense": y},
        nodes=(*graph.nodes, dense),
        inputs=(*graph.inputs, "rows"),
        outputs=("dense",),
    )
    assert [n.op for n in whole.nodes] == ["unidirectional_sequence_lstm", "fully_connected"]
    assert "fully_connected" not in {n.op for n in products_of_activations(whole).nodes}
