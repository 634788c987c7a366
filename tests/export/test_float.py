"""Whole float models as C, and graphs with a border between float and int8."""

import numpy as np
import pytest

from tests.c.host import build_program, run_program
from tests.graphs import small_cnn
from tinyrt.export import export_graph
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.evaluate import evaluate
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.spec import NoAttrs


def mixed():
    """exp in float, a dense layer in int8, softmax in float."""
    w = np.arange(-10, 10).reshape(4, 5).astype(np.int8)
    values = [
        Value("x", DType.FLOAT32, (1, 5)),
        Value("raised", DType.FLOAT32, (1, 5)),
        Value("x_q", DType.INT8, (1, 5), QParams((0.03,), -128)),
        Value.constant("w", w, QParams((0.25,))),
        Value("y_q", DType.INT8, (1, 4), QParams((0.2,), 5)),
        Value("y", DType.FLOAT32, (1, 4)),
        Value("shares", DType.FLOAT32, (1, 4)),
    ]
    nodes = (
        Node("exp", "exp", ("x",), ("raised",), NoAttrs()),
        Node("quantize", "in", ("raised",), ("x_q",), QuantizeAttrs()),
        Node("fully_connected", "dense", ("x_q", "w", ""), ("y_q",), FullyConnectedAttrs()),
        Node("dequantize", "out", ("y_q",), ("y",), NoAttrs()),
        Node("softmax", "softmax", ("y",), ("shares",), SoftmaxAttrs()),
    )
    return verify(Graph("mixed", ("x",), ("shares",), {v.name: v for v in values}, nodes))


@pytest.mark.parametrize("graph", [small_cnn(), mixed()], ids=["float", "mixed"])
@pytest.mark.parametrize("mode", ["beside", "arena"])
def test_answers_as_the_reference(tmp_path, graph, mode):
    (x,) = graph.input_values
    feeds = {x.name: np.random.default_rng(5).normal(size=x.shape).astype(np.float32)}
    project = export_graph(graph, tmp_path / "out")
    found = run_program(build_program(project, tmp_path), project, feeds, mode)
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-6, strict=True)
