"""Places that count from the end: arithmetic in files, an attribute in graphs."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.peers import answers_of_litert
from tinyrt.convert.tflite.from_end import STEPS, places_from_end, places_from_front
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.places import counts_from_end
from tinyrt.ops.shared.spec import NoAttrs

TABLE = np.arange(60, dtype=np.float32).reshape(3, 5, 4)
ENDS = np.array([-(2**31), -6, -5, -4, -3, -1, 0, 2, 3, 4, 5, 2**31 - 1], np.int32)


def graph_of(*picks: tuple[str, object, str], **places: tuple[int, ...]) -> Graph:
    """Ops that pick from a table, each by places of that name and shape."""
    values = {"table": Value.constant("table", TABLE)}
    values |= {name: Value(name, DType.INT32, shape) for name, shape in places.items()}
    nodes = []
    for op, attrs, name in picks:
        y = f"y{len(nodes)}"
        nodes.append(Node(op, y, ("table", name), (y,), attrs))
        shape = places[name]
        if isinstance(attrs, EmbeddingAttrs):
            shape += TABLE.shape[attrs.batch_dims + 1 :]
        else:
            shape = shape[:-1] + TABLE.shape[shape[-1] :]
        values[y] = Value(y, DType.FLOAT32, shape)
    outputs = tuple(node.output for node in nodes)
    return verify(Graph("net", tuple(places), outputs, values, tuple(nodes)))


ROWS = ("embedding", EmbeddingAttrs(from_end=True), "at")
PICKS = {
    "rows": graph_of(ROWS, at=(12,)),
    "of each sample": graph_of(("embedding", EmbeddingAttrs(1, from_end=True), "at"), at=(3, 12)),
    "one": graph_of(ROWS, at=()),
    "parts": graph_of(("gather_nd", GatherNdAttrs(from_end=True), "at"), at=(12, 2)),
    "elements": graph_of(("gather_nd", GatherNdAttrs(from_end=True), "at"), at=(4, 3)),
    "two of the same places": graph_of(ROWS, ROWS, at=(12,)),
}


@pytest.mark.parametrize("name", PICKS)
def test_the_arithmetic_says_the_same_of_all_integers_and_becomes_the_attribute_again(name):
    graph = PICKS[name]
    written = verify(places_from_front(graph))
    assert tuple(node.op for node in written.nodes[:4]) == STEPS
    assert sum(node.op in STEPS for node in written.nodes) == 4
    assert not any(map(counts_from_end, written.bound()))
    at = np.random.default_rng(0).choice(ENDS, graph.value("at").shape).astype(np.int32)
    for found, want in zip(
        evaluate(written, {"at": at}).values(), evaluate(graph, {"at": at}).values(), strict=True
    ):
        np.testing.assert_array_equal(found, want)
    again = verify(places_from_end(written))
    assert again.nodes == graph.nodes
    assert again.values.keys() == graph.values.keys()
    read = parse_tflite(write_tflite(graph))
    assert [(n.op, n.inputs, n.attrs) for n in read.nodes] == [
        (n.op, n.inputs, n.attrs) for n in graph.nodes
    ]


def test_litert_counts_from_the_end():
    at = np.array([[-1, -5], [0, 4], [2, -2], [-3, 0]] * 3, np.int32)
    (found,) = answers_of_litert(PICKS["parts"], {"at": at})
    np.testing.assert_array_equal(found, TABLE[at[:, 0], at[:, 1]])


def test_places_into_tables_of_two_sizes_are_counted_twice():
    of_each = ("embedding", EmbeddingAttrs(1, from_end=True), "at")
    graph = graph_of(ROWS, of_each, at=(3, 2))
    written = places_from_front(graph)
    assert sum(node.op == "add" for node in written.nodes) == 2
    assert verify(places_from_end(written)).nodes == graph.nodes


def changed(graph: Graph, name: str, **fields: object) -> Graph:
    """The graph with other fields of the op of that name."""
    nodes = [replace(n, **fields) if n.op == name else n for n in graph.nodes]
    return verify(graph.with_nodes(nodes))


def with_number(graph: Graph, op: str, number: list[int]) -> Graph:
    """The graph with another constant beside that op's input."""
    (node,) = (n for n in graph.nodes if n.op == op)
    value = Value.constant(node.inputs[1], np.array(number, np.int32))
    return verify(graph.with_nodes(graph.nodes, [value]))


WRITTEN = places_from_front(PICKS["rows"])
NEAR = {
    "from another number": with_number(WRITTEN, "maximum", [-2]),
    "up to another number": with_number(WRITTEN, "minimum", [1]),
    "of another size": with_number(WRITTEN, "mul", [-4]),
    "of another size in one dimension": with_number(
        places_from_front(PICKS["parts"]), "mul", [-3, -4]
    ),
    "numbers of their own": with_number(WRITTEN, "mul", [-3] * 12),
    "a sum with others": changed(WRITTEN, "add", inputs=("y0/mul", "y0/mul")),
    "the other extremum": changed(WRITTEN, "maximum", op="minimum"),
    "places that are not changed": changed(WRITTEN, "embedding", inputs=("table", "at")),
    "no sum": changed(WRITTEN, "add", op="maximum", attrs=NoAttrs()),
    "a sum of numbers": changed(WRITTEN, "add", inputs=("at", "y0/mul_by")),
}


@pytest.mark.parametrize("name", NEAR)
def test_other_arithmetic_stays(name):
    assert places_from_end(NEAR[name]) is NEAR[name]


@pytest.mark.parametrize("step", STEPS)
def test_arithmetic_that_something_else_reads_stays_too(step):
    read = replace(WRITTEN, outputs=("y0", f"y0/{step}"))
    graph = verify(places_from_end(read))
    kept = STEPS[: STEPS.index(step) + 1]
    assert tuple(node.op for node in graph.nodes) == (*kept, "embedding")
    assert [counts_from_end(node) for node in graph.bound()][-1]
    at = np.random.default_rng(0).choice(ENDS, 12).astype(np.int32)
    for found, want in zip(
        evaluate(graph, {"at": at}).values(), evaluate(read, {"at": at}).values(), strict=True
    ):
        np.testing.assert_array_equal(found, want)
