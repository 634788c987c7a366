"""Tensors that nearly are what a step between files and graphs looks for."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.quantised import constant, f32, graph_of, node_of, s8, s16
from tinyrt.convert.channels.layers import is_layer
from tinyrt.convert.channels.links import with_fewer
from tinyrt.convert.channels.lost import Lost, still_lost
from tinyrt.convert.channels.reasons import is_told, reason
from tinyrt.convert.indices import places_in_integers
from tinyrt.convert.onnx.call import Builder
from tinyrt.convert.pointwise import PointwiseRegions, gather_islands
from tinyrt.convert.values.interval import Bounds
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs

SHAPE = (2, 4)
READERS = {"arg_max": ArgAttrs(-1), "arg_min": ArgAttrs(0), "abs": NoAttrs()}
GREATEST = float(np.finfo(np.float32).max) / 2**16
ORDERED = {
    "bytes": (s8(*SHAPE), ("arg_max",), True),
    "words": (s16(*SHAPE), ("arg_min",), True),
    "both ways": (s8(*SHAPE), ("arg_max", "arg_min"), True),
    "read otherwise, too": (s8(*SHAPE), ("arg_max", "abs"), False),
    "read by nobody": (s8(*SHAPE), (), False),
    "constants": (constant(DType.INT8, *SHAPE), ("arg_max",), False),
    "columns of several scales": (s8(*SHAPE, scale=(0.1,) * 4, axis=1), ("arg_max",), False),
    "halves": (replace(f32(*SHAPE), dtype=DType.FLOAT16), ("arg_max",), False),
    "the greatest scale": (s8(*SHAPE, scale=GREATEST), ("arg_max",), True),
    "one beyond, whose products are infinite": (
        s8(*SHAPE, scale=GREATEST * 1.001),
        ("arg_max",),
        False,
    ),
    "the least scale": (s8(*SHAPE, scale=float(np.finfo(np.float32).tiny)), ("arg_max",), True),
    "one below, whose products are equal": (s8(*SHAPE, scale=1e-39), ("arg_max",), False),
}


@pytest.mark.parametrize("name", ORDERED)
def test_places_of_real_values_are_those_of_integers_in_the_same_order(name):
    x, readers, moved = ORDERED[name]
    graph = graph_of("dequantize", NoAttrs(), [x], [f32(*SHAPE)])
    nodes, values = [*graph.nodes], dict(graph.values)
    for op in readers:
        nodes.append(Node(op, op, ("y",), (op,), READERS[op]))
        values[op] = Value(op, DType.FLOAT32, SHAPE)
    graph = replace(graph, nodes=tuple(nodes), values=values, outputs=readers)
    found = places_in_integers(graph)
    assert [n.op for n in found.nodes] == [*([] if moved else ["dequantize"]), *readers]
    assert all(n.inputs == ("a" if moved else "y",) for n in found.nodes if n.op in readers)


SQUARE = np.arange(9, dtype=np.float32).reshape(3, 3)
ENTERED = {
    "itself": (lambda held: held, None, True),
    "a copy": (lambda held: held.copy(), None, True),
    "itself, turned": (lambda held: held.T, None, False),
    "others": (lambda held: held + 1, None, False),
    "a row of it": (lambda held: held[0], None, False),
    "itself, in another type": (lambda held: held.view(np.int32), None, False),
    "itself, on a grid": (lambda held: held, QParams((0.5,), 0), False),
}


@pytest.mark.parametrize("name", ENTERED)
def test_a_constant_that_is_entered_again_has_its_numbers_in_their_order(name):
    """Arrays that begin at one place of memory may be read in another order."""
    changed, q, found = ENTERED[name]
    builder = Builder()
    value = builder.add_value(Value.constant("w", SQUARE))
    assert builder.entered("w", changed(value.data), q) is (value if found else None)


GRID = QParams((0.1,), 3)
COLUMNS = QParams((0.1,) * 4, 0, 1)


def island(source, before="dequantize", after=DType.INT8, others=()):
    """Bytes as floats, their sizes, and those as bytes."""
    values = [replace(source, name="x"), Value("real", DType.FLOAT32, SHAPE)]
    values += [Value("size", DType.FLOAT32, SHAPE), Value("y", after, SHAPE, GRID)]
    nodes = [
        Node(before, "n0", ("x",), ("real",), NoAttrs()),
        Node("abs", "n1", ("real",), ("size",), NoAttrs()),
        Node("quantize", "n2", ("size",), ("y",), QuantizeAttrs(after)),
    ]
    inputs = () if source.is_constant else ("x",)
    return Graph("island", inputs, ("y", *others), {v.name: v for v in values}, tuple(nodes))


def read_by_another(graph):
    """The island, whose sizes another op reads."""
    more = Node("neg", "n3", ("size",), ("z",), NoAttrs())
    z = replace(graph.value("size"), name="z")
    graph = replace(graph, outputs=("y", "z"), values={**graph.values, "z": z})
    return replace(graph, nodes=(*graph.nodes, more))


def with_a_step_more(graph):
    """The island, whose bytes are of what another op makes of the sizes."""
    *nodes, last = graph.nodes
    more = Node("neg", "n3", ("size",), ("less",), NoAttrs())
    less = replace(graph.value("size"), name="less")
    nodes = (*nodes, more, replace(last, inputs=("less",)))
    return replace(graph, values={**graph.values, "less": less}, nodes=nodes)


ISLANDS = {
    "bytes": (island(s8(*SHAPE)), ["pointwise"]),
    "floats that are an answer, too": (
        island(s8(*SHAPE), others=("real",)),
        ["dequantize", "pointwise"],
    ),
    "sizes that are an answer, too": (island(s8(*SHAPE), others=("size",)), None),
    "sizes that others read, too": (read_by_another(island(s8(*SHAPE))), None),
    "two steps": (with_a_step_more(island(s8(*SHAPE))), ["pointwise"]),
    "two steps, the first an answer, too": (
        with_a_step_more(island(s8(*SHAPE), others=("size",))),
        None,
    ),
    "words": (island(s16(*SHAPE)), None),
    "words as the answer": (island(s8(*SHAPE), after=DType.INT16), None),
    "constants": (island(constant(DType.INT8, *SHAPE)), None),
    "columns of several scales": (island(replace(s8(*SHAPE), q=COLUMNS)), None),
    "floats of another op": (island(f32(*SHAPE), "softmax"), None),
}


@pytest.mark.parametrize("name", ISLANDS)
def test_ops_between_bytes_and_bytes_are_one(name):
    graph, found = ISLANDS[name]
    assert [n.op for n in gather_islands(graph).nodes] == (found or [n.op for n in graph.nodes])


def test_ops_on_the_model_s_own_floats_are_no_island():
    graph = island(s8(*SHAPE))
    graph = replace(graph, inputs=("real",), nodes=graph.nodes[1:])
    assert gather_islands(graph) is graph


@pytest.mark.parametrize(("dtype", "inside"), [(DType.INT32, True), (DType.INT64, False)])
def test_a_region_ends_with_what_its_steps_compute(dtype, inside):
    values = [Value("x", DType.FLOAT32, SHAPE), Value("size", DType.FLOAT32, SHAPE)]
    values.append(Value("y", dtype, SHAPE))
    size = Node("abs", "n0", ("x",), ("size",), NoAttrs())
    whole = Node("cast", "n1", ("size",), ("y",), CastAttrs(dtype))
    graph = Graph("cast", ("x",), ("y",), {v.name: v for v in values}, (size, whole))
    found = PointwiseRegions(graph, lambda node: True).behind(whole)
    assert (found is not None) is inside


@pytest.mark.parametrize(("last", "kept"), [(4, 3), (-1, -1)])
def test_a_reshape_that_leaves_its_channels_open_stays_so(last, kept):
    x = np.ones(8, np.bool_)
    y = np.array([True, False, True, True])
    node = node_of("reshape", ReshapeAttrs((2, last)), [f32(8)], [f32(2, 4)])
    assert with_fewer(node, x, y) == ReshapeAttrs((2, kept))


@pytest.mark.parametrize(
    ("name", "channels", "told"), [("x", 3, True), ("x", 4, False), ("gone", 3, False)]
)
def test_what_a_tensor_lost_is_told_where_it_has_the_others(name, channels, told):
    entry = Lost(np.array([True, False, True, True]), np.zeros(4))
    graph = Graph("lost", ("x",), ("x",), {"x": Value("x", DType.FLOAT32, (2, channels))}, ())
    assert still_lost({name: entry}, graph) == ({name: entry} if told else {})


@pytest.mark.parametrize("place", [None, 1, 2])
def test_layers_whose_weights_or_bias_are_computed_hand_channels_on(place):
    inputs = [f32(2, 4), constant(DType.FLOAT32, 3, 4), constant(DType.FLOAT32, 3)]
    if place is not None:
        inputs[place] = replace(inputs[place], data=None)
    node = node_of("fully_connected", FullyConnectedAttrs(), inputs, [f32(2, 3)])
    assert is_told(node) is is_layer(node) is (place is None)


def test_two_channels_of_one_input_go_for_its_reason():
    x, y = f32(1, 1, 1, 2), f32(1, 1, 1, 4)
    w = Value.constant("w", np.ones((1, 1, 1, 4), np.float32))
    node = node_of("depthwise_conv2d", DepthwiseConv2dAttrs(), [x, w], [y])
    bounds = {
        node.input(0).name: Bounds(np.array([1.0, 1.0]), np.array([1.0, 2.0])),
        node.output.name: Bounds(np.zeros(4), np.zeros(4)),
    }
    assert reason(node, np.zeros(4, np.bool_), bounds) == (
        "4 of 4 channels go: 0-1: always 0, all that they read is constant; "
        "2-3: always 0, no sum leaves the clamp"
    )


LAYERS = {
    "a matrix": ("fully_connected", FullyConnectedAttrs(), (2, 4), (3, 4), True),
    "rows of two pixels": ("fully_connected", FullyConnectedAttrs(), (2, 4), (3, 8), True),
    "rows of half a pixel": ("fully_connected", FullyConnectedAttrs(), (2, 4), (3, 2), False),
    "a convolution": ("conv2d", Conv2dAttrs(), (1, 5, 5, 4), (6, 3, 3, 4), True),
    "one in groups": ("conv2d", Conv2dAttrs(), (1, 5, 5, 4), (6, 3, 3, 2), False),
}


@pytest.mark.parametrize("name", LAYERS)
def test_channels_of_a_layer_are_cut_where_it_reads_all_of_them(name):
    op, attrs, x, w, cut = LAYERS[name]
    node = node_of(op, attrs, [f32(*x), constant(DType.FLOAT32, *w)], [f32(2, 3)])
    assert is_layer(node) is cut
