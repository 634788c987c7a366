"""Models as JAX's exporter writes them: their softmax, norms and one-hot vectors, and in int8."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from tests.convert.onnx_build import OnnxModel, assert_close, assert_matches, expected
from tinyrt.api import open_model
from tinyrt.interpreter import Model
from tinyrt.metrics import sqnr_db
from tinyrt.quantize import quantize_graph

BYTES, LENGTH, CLASSES = 257, 32, 10


def softmax(m: OnnxModel, x: str, axis: int) -> str:
    """``exp(x - max(-inf, max(x))) / sum``; dimensions go, and come back behind the reductions."""
    most = m.op("Max", m.const(-np.inf), m.op("ReduceMax", x, axes=[axis], keepdims=0))
    raised = m.op("Exp", m.op("Sub", x, m.op("Unsqueeze", most, m.ints(axis))))
    total = m.op("ReduceSum", raised, m.ints(axis), keepdims=0)
    return m.op("Div", raised, m.op("Unsqueeze", total, m.ints(axis)))


def gelu(m: OnnxModel, x: str) -> str:
    cube = m.op("Mul", m.op("Mul", x, x), x)
    inner = m.op("Add", x, m.op("Mul", m.const(0.044715), cube))
    tanh = m.op("Tanh", m.op("Mul", m.const(0.7978845608), inner))
    return m.op("Mul", x, m.op("Mul", m.op("Add", tanh, m.const(1.0)), m.const(0.5)))


def layer_norm(m: OnnxModel, x: str, features: int) -> str:
    mean = m.op("ReduceMean", x, axes=[-1], keepdims=1)
    squares = m.op("ReduceMean", m.op("Mul", x, x), axes=[-1], keepdims=1)
    variance = m.op("Max", m.const(0.0), m.op("Sub", squares, m.op("Mul", mean, mean)))
    scale = m.op("Reciprocal", m.op("Sqrt", m.op("Add", variance, m.const(1e-6))))
    scale = m.op("Mul", scale, m.weights(features))
    return m.op("Add", m.op("Mul", m.op("Sub", x, mean), scale), m.weights(features))


def classifier(folder: Path) -> Path:
    """What kind of file some bytes are of."""
    m = OnnxModel(15)
    x = m.op("Cast", m.input("batch", LENGTH, dtype=onnx.TensorProto.INT32), to=7)
    hot = m.op("OneHot", x, m.ints(BYTES), m.const([0.0, 1.0]))
    y = m.op("Add", m.op("MatMul", hot, m.weights(BYTES, 16)), m.weights(16))
    y = layer_norm(m, gelu(m, m.op("Reshape", y, m.ints(1, LENGTH // 4, 64))), 64)
    y = m.op("Conv", m.op("Transpose", y, perm=[0, 2, 1]), m.weights(24, 64, 5), m.weights(24))
    y = m.op("ReduceMax", m.op("Relu", y), axes=[2], keepdims=0)
    y = m.op("Add", m.op("MatMul", y, m.weights(24, CLASSES)), m.weights(CLASSES))
    return m.save(folder, softmax(m, y, 1))


def test_its_softmax_is_one_op(tmp_path):
    m = OnnxModel(13)
    graph, _ = assert_matches(m.save(tmp_path, softmax(m, m.input(1, 3, 7), 2)), 1e-4)
    assert [node.op for node in graph.nodes] == ["softmax"]


def test_a_classifier_of_bytes_is_exact_and_quantises(tmp_path):
    path = classifier(tmp_path)
    graph = open_model(path)
    x = np.random.default_rng(0).integers(0, BYTES, (64, LENGTH)).astype(np.int32)
    model = Model(graph)
    for row in x[:4]:
        assert_close(model(row[None]), expected(path, {"x": row[None]})[0], 1e-4)
    assert {"gelu", "softmax", "embedding"} <= {node.op for node in graph.nodes}
    int8 = Model(quantize_graph(graph, x))
    assert np.mean(sqnr_db(model(x), int8(x))) > 20
