"""Whole float models as C, and graphs with a border between float and int8."""

import numpy as np
import pytest

from tests.c.host import build_program, run_program
from tests.graphs import small_cnn
from tests.sampling import sampled
from tinyrt.errors import ConversionWarning, UnsupportedError
from tinyrt.export import export_graph
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph

CAST = (
    *(0.0, -0.5, 0.5, 2.7, -2.7, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0),
    *(9.2e18, 9.3e18, -9.3e18, 1e30, -1e30, np.inf, -np.inf, np.nan),
)
"""Floats around the limits of int32 and int64, and beyond them."""


def test_constants_that_are_equal_but_for_a_sign_keep_it(tmp_path):
    data = np.array([0.0, -0.0, 1e-45, -np.inf, np.inf, np.nan, 0.1, 0.0], np.float32)
    x, w = Value("x", DType.FLOAT32, data.shape), Value.constant("w", data)
    y = Value("y", DType.FLOAT32, data.shape)
    node = Node("mul", "y", ("x", "w"), ("y",), MulAttrs())
    graph = verify(Graph("signs", ("x",), ("y",), {v.name: v for v in (x, w, y)}, (node,)))
    project = export_graph(graph, tmp_path / "out")
    feeds = {"x": np.ones(data.shape, np.float32)}
    found = run_program(build_program(project, tmp_path), project, feeds)
    assert np.array_equal(found["y"].view(np.uint32), data.view(np.uint32))


def test_floats_beyond_an_integer_give_its_limits(tmp_path):
    x = Value("x", DType.FLOAT32, (len(CAST),))
    outputs = [Value(d.value, d, x.shape) for d in (DType.INT32, DType.INT64, DType.BOOL)]
    nodes = tuple(Node("cast", y.name, ("x",), (y.name,), CastAttrs(y.dtype)) for y in outputs)
    values = {v.name: v for v in (x, *outputs)}
    graph = verify(Graph("casts", ("x",), tuple(y.name for y in outputs), values, nodes))
    feeds = {"x": np.array(CAST, np.float32)}
    project = export_graph(graph, tmp_path / "out")
    found = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, strict=True)
    limits = np.iinfo(np.int32)
    wanted = [0, 0, 0, 2, -2, 2147483520, limits.max, limits.min, limits.min]
    assert found["int32"].tolist()[: len(wanted)] == wanted
    assert found["int64"][-1] == 0


def test_constants_that_are_no_numbers_compile(tmp_path):
    table = np.array([[np.nan, np.inf], [-np.inf, -0.0]], np.float32)
    values = [
        Value.constant("table", table),
        Value("rows", DType.INT32, (3,)),
        Value("y", DType.FLOAT32, (3, 2)),
    ]
    node = Node("embedding", "pick", ("table", "rows"), ("y",), EmbeddingAttrs())
    graph = verify(Graph("odd", ("rows",), ("y",), {v.name: v for v in values}, (node,)))
    feeds = {"rows": np.array([1, 0, 7], np.int32)}
    project = export_graph(graph, tmp_path / "out")
    found = run_program(build_program(project, tmp_path), project, feeds)
    np.testing.assert_array_equal(found["y"], table[[1, 0, 1]], strict=True)


def test_arithmetic_on_integers_without_scales_is_refused(tmp_path):
    types = [Value(n, DType.INT64, (4,)) for n in ("a", "b", "y")]
    node = Node("add", "sum", ("a", "b"), ("y",), AddAttrs())
    graph = verify(Graph("g", ("a", "b"), ("y",), {v.name: v for v in types}, (node,)))
    with pytest.raises(UnsupportedError, match="add has no C kernel for int64 tensors"):
        export_graph(graph, tmp_path / "out")


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


@pytest.mark.slow
@pytest.mark.parametrize("graph", [small_cnn(), mixed()], ids=["float", "mixed"])
@pytest.mark.parametrize("mode", sampled(["arena"], ["beside", "arena"]))
def test_answers_as_the_reference(tmp_path, graph, mode):
    (x,) = graph.input_values
    feeds = {x.name: np.random.default_rng(5).normal(size=x.shape).astype(np.float32)}
    project = export_graph(graph, tmp_path / "out")
    found = run_program(build_program(project, tmp_path), project, feeds, mode)
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-6, strict=True)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [Scheme.WEIGHTS_INT8, Scheme.WEIGHTS_FLOAT16])
def test_weights_in_fewer_bits_are_written_as_floats(tmp_path, scheme):
    graph = quantize_graph(small_cnn(), None, QuantConfig(scheme=scheme))
    nbytes = sum(n.output.nbytes for n in graph.bound() if n.op == "dequantize")
    with pytest.warns(ConversionWarning, match="are written as floats") as said:
        project = export_graph(graph, tmp_path / "out")
    assert f" {nbytes:,} bytes of them" in str(said[0].message)
    assert not any("dequantize" in name for name in project.kernels)
    feeds = {"x": np.random.default_rng(5).normal(size=(1, 8, 8, 3)).astype(np.float32)}
    found = run_program(build_program(project, tmp_path), project, feeds)
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-6, strict=True)
