"""Element-wise ops that int8 models compute as one table."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.peers import run_tflm
from tinyrt.convert.pointwise import spread
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter import Model
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.metrics import sqnr_db
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pointwise import PointwiseAttrs, Step
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph

SHAPE = (1, 24)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 24)).astype(np.float32) * 2


def number(b: Builder, value: float) -> str:
    return b.constant(np.full(1, value, np.float32))


def mish(b: Builder, x: str) -> str:
    """As exporters write it out."""
    grown = b.op("add", (b.op("exp", (x,)), number(b, 1.0)), AddAttrs())
    return b.op("mul", (x, b.op("tanh", (b.op("log", (grown,)),))), MulAttrs())


def a_mish() -> Graph:
    b = Builder(SHAPE)
    return b.graph(mish(b, "x"))


def written(graph: Graph) -> Graph:
    return parse_tflite(write_tflite(graph))


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def test_a_chain_is_one_table_and_nearer_than_its_ops():
    graph = a_mish()
    whole = quantize_graph(graph, X)
    parts = quantize_graph(graph, X, QuantConfig(tables=False))
    assert ops(whole) == ["pointwise"]
    assert ops(parts) == ["exp", "add", "log", "tanh", "mul"]
    wanted = Model(graph)(X)
    near, far = (sqnr_db(wanted, Model(written(g))(X)).mean() for g in (whole, parts))
    assert near > 38
    assert near > far + 6


def test_the_file_holds_its_float_ops_and_answers_the_same_in_tflm():
    graph = quantize_graph(a_mish(), X)
    model = Model(written(graph))
    for start in range(-128, 128, 24):
        x = np.clip(np.arange(start, start + 24), -128, 127).astype(np.int8)[None]
        np.testing.assert_array_equal(model(x), run_tflm(graph, [x]))


def test_what_others_read_ends_a_table():
    b = Builder(SHAPE)
    inner = b.op("exp", (b.op("mul", ("x", number(b, 0.5)), MulAttrs()),))
    y = b.op("add", (b.op("tanh", (inner,)), number(b, 0.25)), AddAttrs())
    assert ops(quantize_graph(b.graph(y), X)) == ["pointwise"]
    assert ops(quantize_graph(b.graph(inner, y), X)) == ["pointwise", "pointwise"]


def test_ops_of_two_tensors_end_a_table():
    b = Builder(SHAPE, SHAPE)
    gate = b.op("logistic", (b.op("mul", ("x", number(b, 1.7)), MulAttrs()),))
    y = b.op("relu6", (b.op("mul", (gate, "x1"), MulAttrs()),))
    graph = quantize_graph(b.graph(b.op("tanh", (y,))), {"x": X, "x1": X})
    assert ops(graph) == ["pointwise", "mul", "pointwise"]


def test_constants_of_several_values_end_a_table():
    b = Builder(SHAPE)
    factors = b.constant(np.linspace(0.5, 2, 24, dtype=np.float32)[None])
    y = b.op("mul", (b.op("floor", ("x",)), factors), MulAttrs())
    assert ops(quantize_graph(b.graph(y), X)) == ["pointwise", "mul"]


def test_without_tables_only_what_has_no_int8_form_is_one():
    b = Builder(SHAPE)
    y = b.op("relu6", (b.op("sin", (b.op("mul", ("x", number(b, 2.0)), MulAttrs()),)),))
    graph = b.graph(y)
    assert ops(quantize_graph(graph, X)) == ["pointwise"]
    apart = quantize_graph(graph, X, QuantConfig(tables=False))
    assert all(node.op != "sin" for node in apart.nodes)


def test_patterns_find_what_they_name():
    kept = quantize_graph(a_mish(), X, QuantConfig(keep_float=("tanh",)))
    assert "tanh" in ops(kept)
    # The file's dequantize, tanh and quantize are a table for whoever reads it.
    assert "tanh" not in ops(written(kept))
    named = quantize_graph(a_mish(), X, QuantConfig(scheme_for=(("log", Scheme.INT8),)))
    assert ops(named) == ["pointwise", "log", "tanh", "mul"]
    wide = QuantConfig(scheme=Scheme.INT16X8, scheme_for=(("sin", Scheme.INT8),))
    b = Builder(SHAPE)
    found = quantize_graph(b.graph(b.op("sin", ("x",))), X, wide)
    assert ops(found) == ["quantize", "pointwise", "quantize"]
    with pytest.raises(UnsupportedError, match="sin has no int16x8 form") as caught:
        quantize_graph(b.graph("sin_0"), X, QuantConfig(scheme=Scheme.INT16X8))
    assert "--scheme-for 'sin=int8'" in caught.value.hint


def island(*, read_inside: bool = False, to_float: bool = False) -> Graph:
    """An op on real numbers between integers, as other converters leave it."""
    q = QuantizeAttrs()
    values = [
        Value("x", DType.INT8, SHAPE, QParams((0.05,), 3)),
        Value("real", DType.FLOAT32, SHAPE),
        Value("sine", DType.FLOAT32, SHAPE),
        Value("y", DType.INT8, SHAPE, QParams((0.01,), -2)),
    ]
    nodes = [
        Node("dequantize", "real", ("x",), ("real",), NoAttrs()),
        Node("sin", "sine", ("real",), ("sine",), NoAttrs()),
        Node("quantize", "y", ("sine",), ("y",), q),
    ]
    outputs = ("y", "sine") if read_inside else ("y",)
    if to_float:
        nodes, outputs = nodes[:2], ("sine",)
    used = {v.name: v for v in values if not (to_float and v.name == "y")}
    return verify(Graph("island", ("x",), outputs, used, tuple(nodes)))


def test_an_island_of_float_ops_is_read_as_a_table():
    found = written(island())
    assert ops(found) == ["pointwise"]
    x = np.arange(-12, 12, dtype=np.int8)[None]
    np.testing.assert_array_equal(Model(found).run({"x": x})["y"], run_tflm(island(), [x]))


@pytest.mark.parametrize("case", [{"read_inside": True}, {"to_float": True}])
def test_an_island_that_others_look_into_stays(case):
    graph = island(**case)
    assert ops(written(graph)) == ops(graph)


def test_an_island_behind_a_float_op_stays():
    b = Builder(SHAPE)
    y = b.op("sin", (b.op("softmax", ("x",), SoftmaxAttrs()),))
    b.values["y"] = Value("y", DType.INT8, SHAPE, QParams((0.01,), -2))
    b.nodes.append(Node("quantize", "y", (y,), ("y",), QuantizeAttrs()))
    graph = b.graph("y")
    assert ops(written(graph)) == ["softmax", "sin", "quantize"]


def test_names_of_a_table_s_parts_may_be_taken():
    step = Step("mul", MulAttrs(), (0, 0.5)), Step("add", AddAttrs(), (1, 1.0))
    table = PointwiseAttrs((*step, Step("sin", NoAttrs(), (2,)), Step("mul", MulAttrs(), (3, 0.5))))
    taken = ["number 0.5", "y/step1", "y/step1_1"]
    values = [Value.constant(name, np.full(1, 3.0, np.float32)) for name in taken]
    values += [Value(name, DType.FLOAT32, SHAPE) for name in ("x", "y", *"abc")]
    nodes = [Node("pointwise", "y", ("x",), ("y",), table)]
    for x, name, y in zip("yab", taken, "abc", strict=True):
        nodes.append(Node("mul", y, (x, name), (y,), MulAttrs()))
    graph = Graph("net", ("x",), ("c",), {v.name: v for v in values}, tuple(nodes))
    (found,) = evaluate(verify(spread(graph)), {"x": X[:1]}).values()
    np.testing.assert_allclose(found, np.sin(X[:1] * 0.5 + 1) * 0.5 * 27, rtol=1e-5)


def test_among_float_ops_a_table_is_its_float_ops_again():
    b = Builder(SHAPE)
    inner = b.op("sin", (b.op("mul", (b.op("exp", ("x",)), number(b, 0.5)), MulAttrs()),))
    y = b.op("log", (b.op("add", (inner, number(b, 2.0)), AddAttrs()),))
    config = QuantConfig(keep_float=("exp", "log"), float_io=True)
    graph = quantize_graph(b.graph(y), X, config)
    assert ops(graph) == ["exp", "mul", "sin", "add", "log"]


def test_a_power_of_two_tensors_is_refused_with_its_reason():
    b = Builder(SHAPE, SHAPE)
    y = b.op("pow", (b.op("abs", ("x",)), "x1"))
    with pytest.raises(UnsupportedError, match="of two tensors") as caught:
        quantize_graph(b.graph(y), {"x": X, "x1": X})
    assert caught.value.hint == "--keep-float 'pow'"


def test_running_sums_are_of_tensors_whose_zero_is_the_integer_0():
    b = Builder(SHAPE)
    graph = b.graph(b.op("cumsum", (b.op("relu", ("x",)),), CumsumAttrs(1)))
    int8 = quantize_graph(graph, X)
    assert int8.value("relu_0").q.zero_point == 0
    assert sqnr_db(Model(graph)(X), Model(int8)(X)).mean() > 30
