"""Moves, windows and constants that nearly fit: what passes leave, and what they ask of shapes."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.quantised import f32, graph_of
from tests.passes.example_parts import shuffled_pixels
from tests.passes.misses import Miss, check
from tests.passes.nets import TO_NHWC
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tests.passes.test_every_pass import RULES
from tests.passes.test_near_operands import by_cube, cube_of, cut
from tinyrt.convert.passes.common import Names
from tinyrt.convert.passes.fold_transpose import absorbs_transpose
from tinyrt.convert.passes.layouts import agree
from tinyrt.convert.passes.merge_through import MOST_DIMENSIONS, parts_of
from tinyrt.convert.passes.operand_rows import _rows
from tinyrt.convert.passes.pixel_shuffle import _moved
from tinyrt.convert.passes.shuffle import _picked
from tinyrt.convert.passes.targets import _with_short_places
from tinyrt.convert.passes.unchanged import unchanged
from tinyrt.convert.passes.unroll_heads import _slice_of
from tinyrt.convert.passes.windows import _by_matrix
from tinyrt.convert.values.interval import Bounds
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.spec import NoAttrs

IMAGE, ROW = (1, 6, 6, 4), (2, 4)
TO_NCHW = (0, 3, 1, 2)


def bordered(net: Net, *pairs: tuple[int, int]) -> str:
    return net.conv(net.op("pad", ("x",), PadAttrs(pairs)), padding="VALID")


def both_bordered(net: Net, batch: tuple[int, int], channels: tuple[int, int]) -> str:
    """Two convolutions of an image with borders of their own, which are equally large."""
    wide, high = ((1, 1), (0, 2)), ((0, 2), (1, 1))
    return net.add(*(bordered(net, batch, *border, channels) for border in (wide, high)))


def parts_of_an_image(net: Net) -> str:
    """Windows that together read less than there is."""
    cuts = (cut(net, "x", (0, i, i, 0), (1, 4, 4, 4)) for i in (0, 1))
    return net.add(*(net.conv(part, padding="VALID") for part in cuts))


def grouped_rows(net: Net) -> str:
    """A layer that reads two of four channels, between a transpose and its inverse."""
    w = net.random(4, 1, 1, 2)
    y = net.op("conv2d", (net.transpose("x", TO_NHWC), w, net.random(4)), Conv2dAttrs())
    return net.transpose(y, TO_NCHW)


def own_bias(net: Net) -> str:
    """What a layer reads is its bias, too."""
    flat = net.reshape(net.transpose("x", (1, 0)), 4)
    return net.op("fully_connected", (flat, net.random(4, 4), flat), FullyConnectedAttrs())


MISSES = {
    "borders of samples": Miss(
        "merge_parallel", (IMAGE,), lambda net: both_bordered(net, (1, 0), (0, 0))
    ),
    "borders of channels": Miss(
        "merge_parallel", (IMAGE,), lambda net: both_bordered(net, (0, 0), (0, 1))
    ),
    "parts of an image": Miss("merge_parallel", (IMAGE,), parts_of_an_image, "leave out the edge"),
    "heads that are mixed in groups": Miss("mix_heads", ((1, 4, 6, 5),), grouped_rows),
    "a layer whose input is its bias": Miss(
        "transpose_into_dense", ((2, 2),), own_bias, "not all that reads it"
    ),
    "pixels of no layer": Miss(
        "pixel_shuffle",
        ((1, 6, 5, 12),),
        lambda net: shuffled_pixels(net, net.op("abs", ("x",))),
        "no convolution lies before it",
    ),
    "its product with the square of another": Miss(
        "recognise_gelu", (ROW, ROW), lambda net: by_cube(net, cube_of(net, "x", "x1", "x1"))
    ),
    "its product with another and itself": Miss(
        "recognise_gelu", (ROW, ROW), lambda net: by_cube(net, cube_of(net, "x", "x", "x1"))
    ),
    "rows of a border": Miss(
        "sink_pad",
        ((2, 3),),
        lambda net: net.reshape(net.op("pad", ("x",), PadAttrs(((0, 0), (0, 1)))), 4, 2),
        "more than insert",
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_the_pass_leaves_it(name):
    check(MISSES[name])


@pytest.mark.parametrize(
    ("axis", "keeps", "taken"), [(2, False, True), (2, True, False), (0, False, False)]
)
def test_a_mean_absorbs_a_transpose_where_what_is_left_stays_in_order(axis, keeps, taken):
    """Turned back, the dimensions that are left would be (0, 2), or (2, 1)."""
    net = Net((2, 3, 4))
    graph = net.graph(net.op("mean", ("x",), MeanAttrs((axis,), keep_dims=keeps)))
    assert absorbs_transpose(graph, graph.nodes[0], (0, 2, 1)) is taken


@pytest.mark.parametrize(("op", "alike"), [("reshape", True), ("abs", False)])
def test_dimensions_of_1_lie_anywhere_for_a_reshape_alone(op, alike):
    net = Net((1, 1, 4))
    y = net.reshape("x", 1, 1, 4) if op == "reshape" else net.op(op, ("x",))
    graph = net.graph(y)
    assert agree(graph, graph.nodes[0], {"x": (0, 1, 2)}, {"x": (1, 0, 2)}) is alike
    assert agree(graph, graph.nodes[0], {"x": (0, 1, 2)}, {"x": (0, 1, 2)})


PARTS = {
    "between": ((2, 3), (2, 1, 3), [[0], [1, 2]]),
    "in front": ((2, 3), (1, 2, 3), [[0, 1], [2]]),
    "behind": ((2, 3), (2, 3, 1), [[0], [1, 2]]),
    "in halves": ((6, 3), (2, 3, 3), [[0, 1], [2]]),
    "across": ((3, 2), (2, 3), None),
    "too few": ((2, 3), (2,), None),
}


@pytest.mark.parametrize("name", PARTS)
def test_dimensions_of_1_belong_to_what_follows_or_to_the_last(name):
    narrow, wide, found = PARTS[name]
    assert parts_of(narrow, wide) == found


MOVED = {
    "rows of a matrix": ((2, 3, 4), (1, 0, 2), (2, 3, 4)),
    "nothing but units": ((1, 1), (1, 0), (1, 1)),
    "as many as a transpose takes": ((2, 3, 2, 3, 2, 3), (0, 2, 1, 3, 5, 4), (2, 2, 3, 3, 3, 2)),
    "one more": ((2, 3, 2, 3, 2, 3, 2), (0, 2, 1, 3, 5, 4, 6), (2, 2, 3, 3, 3, 2, 2)),
}


@pytest.mark.parametrize("name", MOVED)
def test_rows_move_whole_in_as_many_dimensions_as_there_may_be(name):
    source, perm, shape = MOVED[name]
    rows = _rows(source, perm, shape)
    if rows is not None:
        x = np.arange(np.prod(source)).reshape(source)
        wanted = x.transpose(perm).reshape(shape).swapaxes(-1, -2)
        found = x.reshape(rows.inner).transpose(rows.perm).reshape(rows.shape)
        np.testing.assert_array_equal(found, wanted)
        assert 0 < len(rows.perm) <= MOST_DIMENSIONS


PER_CHANNEL = QParams((0.1, 0.2, 0.3, 0.4), 0, 0)


@pytest.mark.parametrize(
    ("q", "wanted"),
    [
        (None, None),
        (QParams((0.1,), 0), QParams((0.1,), 0)),
        (PER_CHANNEL, QParams((0.4, 0.1, 0.2, 0.3), 0, 0)),
    ],
)
def test_channels_move_with_their_scales(q, wanted):
    order = (3, 0, 1, 2)
    assert _moved(q, np.array(order)) == wanted
    net = Net(ROW)
    value = Value.constant("w", np.arange(8, dtype=np.int8).reshape(4, 2), q)
    picked = _picked(value, Names(net.graph(net.op("abs", ("x",)))), order)
    assert picked.q == wanted
    assert picked.data.tolist() == [[6, 7], [0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64])
def test_places_of_32_bits_stay_whoever_reads_them(dtype):
    places = Value("", dtype, (2,))
    graph = graph_of("arg_max", ArgAttrs(1, dtype), [f32(2, 3)], [places])
    found = _with_short_places(graph)
    assert (found.nodes == graph.nodes) is (dtype is DType.INT32)
    assert found.value("y").dtype is DType.INT32


@pytest.mark.parametrize(("number", "found"), [(-5.0, "a"), (5.0, None)])
def test_what_is_always_another_input_is_that_but_for_a_constant(number, found):
    """A constant is another pass's business."""
    other = Value.constant("", np.full((2, 3), number, np.float32))
    graph = graph_of("maximum", NoAttrs(), [f32(2, 3), other], [f32(2, 3)])
    bounds = Bounds(np.zeros(3), np.ones(3))
    assert unchanged(graph.bind(0), {"a": bounds}) == found


CUTS = {
    "rows of a matrix": ([[5, 6], [9, 10]], (4, (1, 1), False)),
    "one row": ([[5, 6]], (4, (1, 1), False)),
    "a row that goes on in the next": ([[3, 4], [7, 8]], None),
    "rows of no matrix": ([[0, 1], [5, 6]], None),
    "columns that are not side by side": ([[0, 2], [4, 6]], None),
    "rows that are not below each other": ([[0, 1], [4, 5], [9, 10]], None),
    "turned": ([[5, 9], [6, 10]], (4, (1, 1), True)),
}


@pytest.mark.parametrize("name", CUTS)
def test_a_head_is_a_rectangle_of_its_source(name):
    places, wanted = CUTS[name]
    places = np.array(places)
    for may_turn in (True, False):
        found = _slice_of(f32(3, 4), places, (1, *places.shape), may_turn)
        if wanted is None or (wanted[2] and not may_turn):
            assert found is None
        else:
            assert (found.matrix[1], found.begin, found.turned) == wanted


MATRICES = {
    "matrices in another order": ((2, 3, 4, 5), (1, 0, 2, 3), True),
    "rows in another order": ((2, 3, 4, 5), (0, 2, 1, 3), False),
    "columns, too": ((2, 3, 4, 5), (0, 1, 3, 2), False),
    "matrices for all": ((3, 4, 5), (1, 0, 2, 3), False),
}


@pytest.mark.parametrize("name", MATRICES)
def test_products_take_their_matrices_in_any_order(name):
    shape, perm, taken = MATRICES[name]
    net = Net(shape, (2, 3, 5, 6))
    y = net.op("batch_matmul", ("x", "x1"), BatchMatmulAttrs())
    graph = net.graph(y)
    found = _by_matrix(graph, graph.nodes[0], "x1", perm)
    assert found == (dict.fromkeys(("x", "x1", y), perm) if taken else None)


def test_a_layer_of_one_scale_takes_pixels_in_the_order_of_blocks():
    net = Net((1, 6, 5, 3))
    y = net.conv("x", 12)
    w, *_ = (name for name in net.values if net.values[name].is_constant)
    graph = net.graph(shuffled_pixels(net, y))
    scaled = replace(graph.value(w), q=QParams((0.5,), 0))
    graph, _ = apply(replace(graph, values=graph.values | {w: scaled}), RULES["pixel_shuffle"])
    assert ops(graph) == ["conv2d", "depth_to_space"]
    assert graph.value(graph.nodes[0].inputs[1]).q == scaled.q
