"""Graphs answer about their values and nodes; types know their sizes; dumps show them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.ops.quantised import graph_of, s8
from tinyrt.ir import DType, Graph, Node, QParams, Value, dump
from tinyrt.ir.types import TensorType, pack_int4, unpack_int4
from tinyrt.ops.shared.spec import NoAttrs


@pytest.mark.parametrize(
    ("dtype", "short", "itemsize", "of_three"),
    [
        ("float32", "f32", 4, 12),
        ("float16", "f16", 2, 6),
        ("int4", "s4", 1, 2),
        ("int8", "s8", 1, 3),
        ("int16", "s16", 2, 6),
        ("int32", "s32", 4, 12),
        ("int64", "s64", 8, 24),
        ("uint8", "u8", 1, 3),
        ("bool", "b8", 1, 3),
    ],
)
def test_dtypes_know_their_name_and_their_bytes(dtype, short, itemsize, of_three):
    found = DType(dtype)
    assert (found.short, found.itemsize, found.nbytes(3)) == (short, itemsize, of_three)
    assert found.nbytes(0) == 0
    if found is DType.INT4:
        assert (found.numpy, found.nbytes(4)) == (np.int8, 2)
    else:
        assert DType.of(found.numpy) is found
    assert str(TensorType(found, (1, 20))) == f"{short}[1,20]"
    value = Value("x", found, (3, 1))
    assert (value.size, value.nbytes, value.type) == (3, of_three, TensorType(found, (3, 1)))
    assert value.describe() == f"'x' {short}[3,1]"


@pytest.mark.parametrize(
    ("dtype", "with_scale", "without"),
    [
        (DType.INT8, True, False),
        (DType.INT32, True, False),
        (DType.FLOAT16, True, True),
        (DType.FLOAT32, False, False),
    ],
)
def test_integers_with_a_scale_and_halves_stand_for_other_numbers(dtype, with_scale, without):
    assert Value("x", dtype, (2,), QParams((0.5,), 0)).is_quantized is with_scale
    assert Value("x", dtype, (2,)).is_quantized is without


def test_dtypes_that_are_none_are_refused():
    with pytest.raises(ValueError, match="complex64"):
        DType.of(np.complex64)


def test_constants_have_the_type_of_their_data_unless_they_name_another():
    q = QParams((0.5,), 3)
    data = np.zeros((2, 3), np.int8)
    found = Value.constant("w", data, q)
    assert (found.dtype, found.shape, found.q, found.data is data) == (DType.INT8, (2, 3), q, True)
    assert found.is_constant
    assert not replace(found, data=None).is_constant
    packed = Value.constant("w", data, q, DType.INT4)
    assert (packed.dtype, packed.nbytes) == (DType.INT4, 3)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_scales_are_finite_and_positive(scale):
    for scales in ((scale,), (1.0, scale)):
        with pytest.raises(ValueError, match=f"finite and > 0, found {scale}"):
            QParams(scales, axis=0)


def test_one_scale_may_belong_to_an_axis():
    assert QParams((0.5,), axis=1).scale == QParams((0.5,)).scale == 0.5
    assert QParams((0.5,)) == QParams((0.5,), 0, None)


@pytest.mark.parametrize(
    ("values", "packed"),
    [
        ([], []),
        ([-8], [0x08]),
        ([-8, 7], [0x78]),
        ([-8, 7, -1], [0x78, 0x0F]),
        ([-8, 7, -1, 0], [0x78, 0x0F]),
    ],
)
def test_int4_values_take_a_nibble_each_the_first_one_the_low_one(values, packed):
    given = np.array(values, np.int8)
    found = pack_int4(given)
    np.testing.assert_array_equal(found, np.array(packed, np.uint8), strict=True)
    np.testing.assert_array_equal(unpack_int4(found, len(values)), given, strict=True)
    np.testing.assert_array_equal(pack_int4(given.reshape(1, -1)), found)


# Graphs


def fork():
    """Two ops read what the first one writes, and a third reads it twice."""
    b = Builder((1, 4))
    a = b.op("relu", ("x",))
    left, right = b.op("tanh", (a,)), b.op("abs", (a,))
    return b.graph(b.op("maximum", (left, right)), b.op("minimum", (a, a)))


def test_producers_and_consumers():
    graph = fork()
    a = graph.nodes[0].outputs[0]
    assert [node.op for node in graph.consumers(a)] == ["tanh", "abs", "minimum"]
    assert [node.op for node in graph.consumers("x")] == ["relu"]
    assert graph.consumers(graph.outputs[0]) == graph.consumers("nothing") == ()
    assert graph.producer(a) is graph.nodes[0]
    assert graph.producer("x") is graph.producer("nothing") is None


def test_bound_nodes_have_their_values():
    graph = small_cnn()
    found = list(graph.bound())
    assert [node.index for node in found] == list(range(len(graph.nodes)))
    first = found[0]
    assert (first.op, first.name, first.node) == ("conv2d", graph.nodes[0].name, graph.nodes[0])
    assert first.attrs is graph.nodes[0].attrs
    assert first.input(0) is first.optional(0) is graph.value("x")
    assert first.optional(3) is None
    assert first.output is first.outputs[0] is graph.value(graph.nodes[0].outputs[0])
    assert found[2].describe() == f"{graph.nodes[2].op} '{graph.nodes[2].name}'"
    assert graph.input_values == (graph.value("x"),)
    assert graph.output_values == (graph.value(graph.outputs[0]),)
    absent = replace(graph.nodes[0], inputs=(*graph.nodes[0].inputs[:2], ""))
    bound = replace(graph, nodes=(absent,)).bind(0)
    assert bound.inputs[2] is bound.optional(2) is None


def test_what_a_caller_feeds_and_reads_is_no_state():
    b = Builder((1, 4), (1, 4), (1, 4))
    outputs = [b.op("relu", (name,)) for name in ("x", "x1", "x2")]
    graph = replace(b.graph(*outputs), states=(("x1", outputs[2]),))
    assert graph.fed == ("x", "x2")
    assert graph.answers == tuple(outputs[:2])


def test_a_copy_with_other_nodes_has_values_added_or_replaced():
    graph = fork()
    x = replace(graph.value("x"), shape=(2, 4))
    new = Value("new", DType.INT8, (1,))
    after = graph.with_nodes(iter(graph.nodes[:1]), [x, new])
    assert after.nodes == graph.nodes[:1]
    assert (after.value("x"), after.value("new")) == (x, new)
    assert graph.value("x") is not x
    assert not graph.has_value("new")
    assert list(after.values) == [*graph.values, "new"]


def test_free_names_are_numbered_on():
    values = {n: Value(n, DType.INT8, ()) for n in ("a", "a_1", "a_3", "b")}
    graph = Graph("g", (), (), values, ())
    assert graph.unique_name("c") == "c"
    assert graph.unique_name("c") == "c"
    assert graph.unique_name("c", {"c"}) == "c_1"
    assert graph.unique_name("a") == graph.unique_name("a") == "a_2"
    assert graph.unique_name("a", {"a_2"}) == "a_4"
    assert graph.unique_name("a", {"a_2", "a_4"}) == "a_5"
    assert graph.unique_name("a") == "a_2"
    assert graph.unique_name("b", ["b_1"]) == "b_2"


def test_results_are_found_once_for_a_graph():
    graph, calls = fork(), []

    def find():
        calls.append(1)

    assert [graph.noted("a", find), graph.noted("a", find), graph.noted("b", find)] == [None] * 3
    assert len(calls) == 2
    replace(graph).noted("a", find)
    assert len(calls) == 3


# Dumps


@dataclass(frozen=True)
class TwoAttrs:
    one: int
    two: str


def test_a_dump_shows_scales_zero_points_and_what_is_absent():
    graph = graph_of("abs", NoAttrs(), [s8(2, 4)], [s8(2, 4)])
    (x,), (y,) = graph.inputs, graph.outputs
    q = QParams((0.123456789,), -7)
    values = {x: replace(graph.value(x), q=q), y: replace(graph.value(y), q=None)}
    values["w"] = Value.constant("w", np.zeros((3, 1), np.int8))
    node = Node("odd", "n", (x, "", "w"), (y,), TwoAttrs(1, "b"))
    assert dump(Graph("g", (x,), (y,), values, (node,))) == (
        f"graph g\n  input  %{x}: s8[2,4] q(0.123457, zp -7)\n"
        f"  %{y}: s8[2,4] = odd(%{x}, -, const s8[3,1]) {{one=1, two=b}}\n  output %{y}"
    )
    many = values | {x: replace(values[x], q=QParams((1.0, 2.0), 0, 0))}
    for attrs in (NoAttrs(), None):
        bare = dump(Graph("g", (x,), (y,), many, (replace(node, attrs=attrs),)))
        assert f"input  %{x}: s8[2,4] q(2 scales, zp 0)\n" in bare
        assert "const s8[3,1])\n" in bare


def test_a_bound_node_shows_its_values_and_not_what_is_noted_of_it():
    graph = graph_of("abs", NoAttrs(), [s8(2, 4)], [s8(2, 4)])
    shown = repr(graph.bind(0))
    assert "abs" in shown
    assert "_notes" not in shown
