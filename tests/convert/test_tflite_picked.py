"""Ops whose places are computed while the model runs: as LiteRT and TFLM compute them."""

import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, build
from tests.convert.test_tflite_breadth import agree
from tests.convert.tflite_files import T, i32, scalar
from tests.graphs import Builder
from tests.ops.peers import run_tflm
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ModelFormatError, ShapeError, UnsupportedError
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.topk_v2 import TopkV2Attrs

TYPES = {
    "FLOAT32": {},
    "INT32": {},
    "INT8": {"scale": 0.05, "zero_point": -7},
    "UINT8": {"scale": 0.05, "zero_point": 100},
    "INT16": {"scale": 0.001},
}
SIGNED = [dtype for dtype in TYPES if dtype != "UINT8"]


def largest(dtype, *outputs):
    """The three largest of each of eight rows of seven, and their places."""
    tensors = [T(n, (2, 4, d), dtype, **TYPES[dtype]) for n, d in (("x", 7), ("v", 3))]
    tensors += [scalar("k", 3), T("p", (2, 4, 3), "INT32")]
    op = Op("TOPK_V2", ["x", "k"], ["v", "p"], "TopKV2Options")
    return build(Subgraph(tensors, [op], ["x"], outputs))


def picked(dtype, batch=1, axis=1):
    """Of each of three samples, four of its five rows."""
    tensors = [T("x", (3, 5, 2), dtype, **TYPES[dtype]), T("row", (3, 4), "INT32")]
    tensors.append(T("y", (3, 4, 2), dtype, **TYPES[dtype]))
    op = Op("GATHER", ["x", "row"], ["y"], "GatherOptions", {"Axis": axis, "BatchDims": batch})
    return build(Subgraph(tensors, [op], ["x", "row"], ["y"]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("outputs", [("v", "p"), ("p", "v"), ("v",), ("p",)])
def test_the_largest_equal_litert(dtype, outputs):
    """As read, and as written anew; values that nothing reads cost no op."""
    data = largest(dtype, *outputs)
    agree(data)
    graph = parse_tflite(data)
    assert sum(node.op == "embedding" for node in graph.nodes) == ("v" in outputs)
    again = write_tflite(graph)
    agree(again)
    assert (b"/values" in again) == ("v" not in outputs)
    if dtype in SIGNED:
        assert parse_tflite(again).nodes == graph.nodes


def test_places_of_the_largest_may_pick_something_else():
    """Rows of the same tensor by these places are not the values that TOPK_V2 gives."""
    b = Builder((5, 7))
    places = b.op("topk_v2", ("x",), TopkV2Attrs(3))
    for batch in (0, 1):
        picked = b.op("embedding", ("x", places), EmbeddingAttrs(batch))
        graph = b.graph(picked)
        feeds = {"x": np.random.default_rng(7).normal(size=(5, 7)).astype(np.float32)}
        again = parse_tflite(write_tflite(graph))
        np.testing.assert_array_equal(
            evaluate(again, feeds)[picked], evaluate(graph, feeds)[picked], strict=True
        )


@pytest.mark.parametrize("axis", [2, -1])
def test_columns_are_picked_along_an_axis_counted_from_the_front(axis):
    tensors = [T("x", (3, 4, 5), "FLOAT32"), T("y", (3, 4, 3), "FLOAT32")]
    tensors.append(T("columns", (3,), "INT32", np.array([4, 0, 3], np.int32)))
    op = Op("GATHER", ["x", "columns"], ["y"], "GatherOptions", {"Axis": axis})
    data = build(Subgraph(tensors, [op], ["x"], ["y"]))
    agree(data)
    assert parse_tflite(data).nodes[0].attrs == GatherAttrs(2, (4, 0, 3), (3,))


@pytest.mark.parametrize("dtype", SIGNED)
def test_rows_for_each_sample_equal_litert(dtype):
    for data in (picked(dtype), picked(dtype, -1, -2), write_tflite(parse_tflite(picked(dtype)))):
        agree(data)


def test_rows_for_each_sample_equal_tflm():
    graph = parse_tflite(picked("INT8"))
    rng = np.random.default_rng(7)
    feeds = {"x": rng.integers(-128, 128, (3, 5, 2), np.int8), "row": np.eye(3, 4, dtype=np.int32)}
    np.testing.assert_array_equal(evaluate(graph, feeds)["y"], run_tflm(graph, [*feeds.values()]))


def test_samples_of_a_table_stay_apart_where_each_has_its_part():
    graph = parse_tflite(largest("FLOAT32", "v", "p"))
    x = np.random.default_rng(7).normal(size=(6, 4, 7)).astype(np.float32)
    all_at_once = evaluate(rebatch(graph, 6), {"x": x})
    for begin in range(0, 6, 2):
        for name, answer in evaluate(graph, {"x": x[begin : begin + 2]}).items():
            np.testing.assert_array_equal(all_at_once[name][begin : begin + 2], answer)
    whole = parse_tflite(whole_table())
    with pytest.raises(ShapeError, match="picks from all samples") as caught:
        rebatch(whole, 7)
    assert caught.value.tensor == "'y' f32[3,4,5]"


@pytest.mark.parametrize("dtype", SIGNED)
def test_parts_whose_places_are_computed_equal_litert(dtype):
    """TFLM's, too: tests/ops/test_conformance.py."""
    tensors = [T("x", (5, 6, 2), dtype, **TYPES[dtype]), T("row", (3, 4, 2), "INT32")]
    tensors.append(T("y", (3, 4, 2), dtype, **TYPES[dtype]))
    op = Op("GATHER_ND", ["x", "row"], ["y"], "GatherNdOptions")
    data = build(Subgraph(tensors, [op], ["x", "row"], ["y"]))
    agree(data)
    agree(write_tflite(parse_tflite(data)))


def part(dtype, *size, shape=(2, 1, 3)):
    """A part of a tensor that begins within its first five elements along each dimension."""
    tensors = [T("x", (6, 5, 7), dtype, **TYPES[dtype]), T("row", (3,), "INT32")]
    tensors += [i32("size", *size), T("y", shape, dtype, **TYPES[dtype])]
    op = Op("SLICE", ["x", "row", "size"], ["y"], "SliceOptions")
    return build(Subgraph(tensors, [op], ["x", "row"], ["y"]))


@pytest.mark.parametrize("dtype", SIGNED)
def test_parts_that_begin_at_computed_places_equal_litert(dtype):
    data = part(dtype, 2, 1, 3)
    agree(data)
    again = write_tflite(parse_tflite(data))
    agree(again)
    assert parse_tflite(again).nodes == parse_tflite(data).nodes


def test_parts_that_have_all_of_a_dimension():
    """A size of -1 is the dimension's length, where the part's tensor says so."""
    x, begin = np.arange(210, dtype=np.float32).reshape(6, 5, 7), np.array([4, 0, 3], np.int32)
    interpreter = tinyrt.Interpreter(model_content=part("FLOAT32", 2, -1, 3, shape=(2, 5, 3)))
    interpreter.allocate_tensors()
    for details, value in zip(interpreter.get_input_details(), (x, begin), strict=True):
        interpreter.set_tensor(details["index"], value)
    interpreter.invoke()
    (port,) = interpreter.get_output_details()
    np.testing.assert_array_equal(interpreter.get_tensor(port["index"]), x[4:6, :, 3:6])


def test_parts_of_what_is_left_behind_a_computed_place_are_refused():
    with pytest.raises(UnsupportedError, match=r"size \[2, -1, 3\] begins at a place") as e:
        parse_tflite(part("INT8", 2, -1, 3))
    assert e.value.tensor == "'row' s32[3]"
    assert "'y' s8[2,1,3] as large as its input" in e.value.expected
    assert e.value.hint == "give the size in the model"


def test_samples_picked_by_their_numbers_stay_together():
    tensors = [T("x", (3, 5)), T("row", (3, 1), "INT32"), T("y", (3, 5))]
    op = Op("GATHER_ND", ["x", "row"], ["y"], "GatherNdOptions")
    graph = parse_tflite(build(Subgraph(tensors, [op], ["x", "row"], ["y"])))
    with pytest.raises(ShapeError, match="picks from all samples"):
        rebatch(graph, 7)


def whole_table():
    """Samples picked by their numbers."""
    tensors = [T("x", (3, 5)), T("rows", (3, 4), "INT32"), T("y", (3, 4, 5))]
    op = Op("GATHER", ["x", "rows"], ["y"], "GatherOptions")
    return build(Subgraph(tensors, [op], ["x", "rows"], ["y"]))


def gathered(axis, batch, indices, table, dtype="INT8", known=None, kind="INT32"):
    """A GATHER with computed indices, or with these."""
    kept = [n for i, n in enumerate(table) if i != axis]
    shape = (*kept[:axis], *indices[batch:], *kept[axis:])
    tensors = [T("x", table, dtype, **TYPES[dtype]), T("row", indices, kind, known)]
    tensors.append(T("y", shape, dtype, **TYPES[dtype]))
    fields = {"Axis": axis, "BatchDims": batch}
    op = Op("GATHER", ["x", "row"], ["y"], "GatherOptions", fields)
    return build(Subgraph(tensors, [op], ["x", "row"] if known is None else ["x"], ["y"]))


@pytest.mark.parametrize(
    ("axis", "batch", "indices", "table"),
    [
        (1, 0, (4,), (3, 5, 2)),
        (2, 0, (2, 2), (3, 2, 5, 6)),
        (2, 1, (3, 4), (3, 2, 5)),
        (3, 1, (3, 4, 2), (3, 5, 2, 6)),
        (3, 2, (3, 5, 4), (3, 5, 2, 6)),
    ],
)
def test_rows_along_any_axis_equal_litert(axis, batch, indices, table):
    """Indices that are computed, in 32 or 64 bits, and constants."""
    known = np.random.default_rng(7).integers(0, table[axis], indices, np.int32)
    for data in (
        gathered(axis, batch, indices, table),
        gathered(axis, batch, indices, table, kind="INT64"),
        gathered(axis, batch, indices, table, known=known),
    ):
        agree(data)
        agree(write_tflite(parse_tflite(data)))


def test_the_axis_lies_behind_the_batch():
    with pytest.raises(ModelFormatError, match="axis 0 behind 1 dimensions of a batch") as e:
        parse_tflite(gathered(0, 1, (3, 4), (3, 5, 2)))
    assert e.value.tensor == "'x' s8[3,5,2]"


@pytest.mark.parametrize(("samples", "last"), [(3, 5), (3, -1), (2, 0)])
def test_constant_places_are_those_of_a_samples_own_part(samples, last):
    known = np.zeros((samples, 2), np.int32)
    known[-1, -1] = last
    with pytest.raises(ModelFormatError, match=rf"indices of shape \[{samples}, 2\]") as e:
        parse_tflite(gathered(1, 1, (samples, 2), (3, 5, 2), known=known))
    assert e.value.expected == "shape [3, '...'], numbers from 0 to 4"


def test_rows_of_integers_become_floats():
    """A table of int8 whose rows are read as floats: TFLM and LiteRT scale each row."""
    table = np.random.default_rng(7).integers(-127, 128, (5, 3), np.int8)
    tensors = [T("row", (4,), "INT32"), T("w", (5, 3), "INT8", table, scale=0.03), T("y", (4, 3))]
    data = build(Subgraph(tensors, [Op("EMBEDDING_LOOKUP", ["row", "w"], ["y"])], ["row"], ["y"]))
    agree(data)
    graph = parse_tflite(data)
    agree(write_tflite(graph))
    assert [node.op for node in graph.nodes] == ["embedding", "dequantize"]


def test_a_slice_from_places_of_64_bits_equals_litert():
    tensors = [T("x", (6, 8), "INT8", **TYPES["INT8"]), T("row", (2,), "INT64")]
    tensors.append(T("n", (2,), "INT64", np.array([2, 3], np.int64)))
    tensors.append(T("y", (2, 3), "INT8", **TYPES["INT8"]))
    data = build(Subgraph(tensors, [Op("SLICE", ["x", "row", "n"], ["y"])], ["x", "row"], ["y"]))
    agree(data)
    agree(write_tflite(parse_tflite(data)))
