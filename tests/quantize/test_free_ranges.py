"""Ops with a prescribed range whose answers need little of it: a table has steps of its own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.peers import run_tflm
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.interpreter import Interpreter, Model
from tinyrt.ir import Graph
from tinyrt.metrics import sqnr_db
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import PRESETS, Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.tables import NARROW, free_ranges

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (200, 24)).astype(np.float32)
PLAIN = QuantConfig()


def classifier(function: str, scale: float) -> Graph:
    """Classes of what a function makes of numbers up to ``scale``."""
    b, rng = Builder((1, 24)), np.random.default_rng(1)
    first = b.constant((np.eye(24) * scale).astype(np.float32))
    x = b.op("fully_connected", ("x", first), FullyConnectedAttrs())
    w = b.constant(rng.normal(size=(6, 24)).astype(np.float32))
    return b.graph(b.op("fully_connected", (b.op(function, (x,)), w), FullyConnectedAttrs()))


def functions(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if node.op != "fully_connected"]


def sqnr(graph: Graph, config: QuantConfig) -> float:
    return float(sqnr_db(Model(graph)(X), Model(quantize_graph(graph, X, config))(X)).mean())


@pytest.mark.parametrize("preset", Preset)
def test_small_answers_have_small_steps(preset):
    graph = classifier("tanh", 0.2)
    int8 = quantize_graph(graph, X, PRESETS[preset])
    assert functions(int8) == ["pointwise"]
    (table,) = (n for n in int8.nodes if n.op == "pointwise")
    q = int8.value(table.output).q
    assert q is not None
    assert q.scale == pytest.approx(2 * np.tanh(0.2) / 255, rel=0.05)


def test_that_is_what_the_prescribed_range_cost():
    graph = classifier("tanh", 0.2)
    assert sqnr(graph, PLAIN) > sqnr(graph, QuantConfig(tables=False)) + 4


def test_the_file_answers_the_same_in_tflm():
    graph = parse_tflite(write_tflite(quantize_graph(classifier("tanh", 0.2), X)))
    model = Model(graph)
    for x in RNG.integers(-128, 128, (12, 1, 24)).astype(np.int8):
        np.testing.assert_array_equal(model(x), run_tflm(graph, [x]))


@pytest.mark.parametrize(
    ("function", "scale", "kept"),
    [("tanh", 0.5, False), ("tanh", 0.6, True), ("tanh", 3, True), ("logistic", 3, True)],
)
def test_half_of_the_range_is_where_it_begins_to_pay(function, scale, kept):
    assert functions(quantize_graph(classifier(function, scale), X)) == [
        function if kept else "pointwise"
    ]


def test_chances_that_are_always_small_are_finer_too():
    b = Builder((1, 24))
    w = b.constant(np.full((24, 24), -0.2, np.float32))
    x = b.op(
        "fully_connected", ("x", w, b.constant(np.full(24, -6, np.float32))), FullyConnectedAttrs()
    )
    graph = b.graph(b.op("fully_connected", (b.op("logistic", (x,)), w), FullyConnectedAttrs()))
    assert functions(quantize_graph(graph, X)) == ["pointwise"]


@pytest.mark.parametrize(("least", "kept"), [(0.0, False), (0.3, False), (0.45, True)])
def test_a_range_reaches_from_zero(least, kept):
    """Answers from ``least`` on that differ by little: integers begin at 0 all the same."""
    middle = np.log((least + 0.05) / (0.95 - least))
    b = Builder((1, 24))
    w, shift = b.constant(np.eye(24, dtype=np.float32) * 0.1), np.full(24, middle, np.float32)
    x = b.op("fully_connected", ("x", w, b.constant(shift)), FullyConnectedAttrs())
    graph = b.graph(b.op("fully_connected", (b.op("logistic", (x,)), w), FullyConnectedAttrs()))
    assert functions(quantize_graph(graph, X)) == ["logistic" if kept else "pointwise"]


def test_outputs_of_the_model_keep_the_range_that_nothing_exceeds():
    b = Builder((1, 24))
    w = b.constant((np.eye(24) * 0.2).astype(np.float32))
    graph = b.graph(b.op("tanh", (b.op("fully_connected", ("x", w), FullyConnectedAttrs()),)))
    assert functions(quantize_graph(graph, X)) == ["tanh"]


@pytest.mark.parametrize(
    "config",
    [
        QuantConfig(tables=False),
        QuantConfig(scheme=Scheme.INT16X8),
        QuantConfig(scheme_for=(("tanh", Scheme.INT8),)),
    ],
)
def test_what_the_user_asks_for_stays(config):
    assert functions(quantize_graph(classifier("tanh", 0.2), X, config)) == ["tanh"]


def test_a_model_may_take_a_single_number():
    b = Builder(())
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    int8 = quantize_graph(b.graph(b.op("tanh", (b.op("neg", ("x",)),))), x)
    interpreter = Interpreter.from_graph(int8)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.array(100, np.int8))
    interpreter.invoke()
    (port,) = interpreter.get_output_details()
    grids = (int8.value(name).q for name in ("x", int8.outputs[0]))
    x, y = (
        (n - q.zero_point) * q.scale
        for n, q in zip((100, interpreter.get_tensor(port["index"])), grids, strict=True)
    )
    assert y == pytest.approx(np.tanh(-x), abs=0.01)


@pytest.mark.parametrize(
    ("low", "high", "kept"),
    [
        *((0.0, NARROW * 255 / 128, False), (0.0, NARROW, False), (-0.5, 0.49, False)),
        *((0.0, 0.999, True), (-0.999, -0.1, True), (0.1, 0.999, True), (-0.5, 0.5, True)),
    ],
)
def test_what_a_table_needs_is_told_by_both_ends_and_zero(low, high, kept):
    """tanh answers in steps of 1 / 128."""
    graph = classifier("tanh", 1.0)
    tanh = next(node.output for node in graph.nodes if node.op == "tanh")
    found = free_ranges(graph, {tanh: Range(low, high)}, PLAIN)
    assert functions(found) == ["tanh" if kept else "pointwise"]
