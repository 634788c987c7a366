"""Layers, products and transposes that read and write what is turned as it is."""

import numpy as np
import pytest

from tests.passes.example_parts import joined
from tests.passes.examples_heads import HEADS, cut_heads, product, table, tokens
from tests.passes.misses import Miss, check
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tinyrt.convert.passes.heads import TRANSPOSE_INTO_LEFT, TRANSPOSE_INTO_PRODUCT, TURN_PRODUCT
from tinyrt.convert.passes.heads_into_layer import HEADS_INTO_LAYER, reads_rows
from tinyrt.convert.passes.merge_moves import MERGE_TRANSPOSES
from tinyrt.convert.passes.prune import REMOVE_DEAD, REMOVE_IDENTITY
from tinyrt.convert.passes.turn_parts import TURN_PARTS
from tinyrt.convert.passes.unfold import GATHER_TO_TRANSPOSE
from tinyrt.ir import Node, QParams, Value
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.slice import SliceAttrs

SWAP, PARTS = (0, 1, 3, 2), (1, 5, 3, 8)


def last_part(net: Net, i: int = 1) -> str:
    """One part of the third dimension of (1, 5, 2, 8)."""
    return net.op("slice", ("x",), SliceAttrs((0, 0, i, 0), (1, 5, 1, 8), (1, 1, 1, 1)))


@pytest.mark.parametrize(
    ("shape", "perm", "columns", "image"),
    [
        ((1, 2, 3, 4), (0, 2, 1, 3), 8, (1, 2, 3, 4)),
        ((5, 2, 3, 4), (0, 2, 1, 3), 8, (5, 2, 3, 4)),
        ((2, 5, 2, 3, 4), (0, 1, 3, 2, 4), 8, (10, 2, 3, 4)),
        ((2, 3, 4), (1, 0, 2), 8, (1, 2, 3, 4)),
        ((2, 3, 4), (1, 2, 0), 8, (1, 2, 3, 4)),
        ((1, 6, 5, 3), (2, 0, 3, 1), 18, (1, 6, 5, 3)),
        ((5, 2, 6, 3, 4), (0, 3, 4, 1, 2), 48, (5, 12, 3, 4)),
        ((3, 1, 2, 4), (2, 1, 0, 3), 12, (1, 3, 2, 4)),
        ((2, 3, 1, 4), (2, 1, 0, 3), 8, (1, 2, 3, 4)),
    ],
)
def test_a_window_gathers_what_a_transpose_would(shape, perm, columns, image):
    net = Net(shape)
    rows = net.reshape(
        net.op("tanh", (net.transpose("x", perm),)), -(-np.prod(shape) // columns), columns
    )
    graph, _ = apply(net.graph(net.dense(rows)), HEADS_INTO_LAYER)
    assert ops(graph) == ["reshape", "tanh", "conv2d", "reshape"]
    (layer,) = (n for n in graph.nodes if n.op == "conv2d")
    assert graph.value(layer.inputs[0]).shape == image


def test_the_layer_may_be_a_pointwise_convolution():
    net = Net((1, 2, 6, 5, 4))
    joined = net.reshape(net.transpose("x", (0, 2, 3, 1, 4)), 1, 6, 5, 8)
    graph, _ = apply(net.graph(net.conv(joined, 3, 1, activation="RELU")), HEADS_INTO_LAYER)
    assert ops(graph) == ["reshape", "conv2d", "reshape"]
    assert graph.nodes[1].attrs == Conv2dAttrs(padding="VALID", activation="RELU")


def test_bias_activation_and_scales_of_the_rows_stay():
    net = Net(HEADS)
    w = net.random(5, 8)
    scales = QParams((0.1, 0.2, 0.3, 0.4, 0.5), 0, 0)
    net.values[w] = Value.constant(w, net.values[w].data, scales)
    attrs = FullyConnectedAttrs(keep_num_dims=True, activation="RELU")
    y = net.op("fully_connected", (tokens(net, "x"), w, net.random(5)), attrs)
    graph, _ = apply(net.graph(y), HEADS_INTO_LAYER)
    layer = graph.nodes[1]
    assert layer.attrs == Conv2dAttrs(padding="VALID", activation="RELU")
    assert len(layer.inputs) == 3
    assert graph.value(layer.inputs[1]).q == scales
    assert graph.value(y).shape == (1, 3, 5)


MISSES = {
    "rows in another order": Miss(
        "heads_into_layer",
        ((3, 2, 5, 4),),
        lambda net: net.dense(net.reshape(net.transpose("x", (2, 0, 1, 3)), 15, 8)),
        "no window reads",
    ),
    "features in one piece": Miss(
        "heads_into_layer",
        ((3, 2, 4),),
        lambda net: net.dense(net.reshape(net.transpose("x", (0, 2, 1)), 3, 8)),
        "no window reads",
    ),
    "rows that cut a dimension": Miss(
        "heads_into_layer",
        (HEADS,),
        lambda net: net.dense(net.reshape(net.transpose("x", (0, 2, 1, 3)), 12, 2)),
        "no window reads",
    ),
    "functions that others read": Miss(
        "heads_into_layer",
        (HEADS,),
        lambda net: (
            y := net.op("tanh", (net.transpose("x", (0, 2, 1, 3)),)),
            net.dense(net.reshape(y, 3, 8)),
        ),
        "has other readers",
    ),
    "computed weights": Miss(
        "heads_into_layer",
        (HEADS, (5, 8)),
        lambda net: net.op("fully_connected", (tokens(net, "x"), "x1"), FullyConnectedAttrs()),
    ),
    "a window": Miss(
        "heads_into_layer",
        ((1, 2, 6, 5, 4),),
        lambda net: net.conv(net.reshape(net.transpose("x", (0, 2, 3, 1, 4)), 1, 6, 5, 8), 3, 3),
    ),
    "a step": Miss(
        "heads_into_layer",
        ((1, 2, 6, 5, 4),),
        lambda net: net.conv(
            net.reshape(net.transpose("x", (0, 2, 3, 1, 4)), 1, 6, 5, 8), 3, 1, stride=(2, 2)
        ),
    ),
    "a square": Miss(
        "transpose_into_left",
        ((1, 4, 4),),
        lambda net: product(net, y := net.transpose("x", (0, 2, 1)), y),
        "has other readers",
    ),
    "whole rows": Miss(
        "transpose_into_left",
        (HEADS,),
        lambda net: product(net, net.transpose("x", (0, 2, 1, 3)), net.random(1, 3, 4, 5)),
    ),
    "rows of a product": Miss(
        "turn_product",
        (HEADS,),
        lambda net: net.transpose(product(net, "x", "x", adj_y=True), (0, 2, 1, 3)),
    ),
    "more than LiteRT turns": Miss(
        "gather_to_transpose",
        ((2, 3, 4, 6, 2),),
        lambda net: table(net, table(net, "x", 2, 2, 2), 4, 3, 2),
        "7 dimensions at once",
    ),
    "a part that others read": Miss(
        "turn_parts",
        (PARTS,),
        lambda net: (joined(net, *cut_heads(net)), net.op("tanh", (net.nodes[0].outputs[0],))),
        "not all parts of 'x'",
    ),
    "a whole that others read": Miss(
        "turn_parts",
        (PARTS,),
        lambda net: (joined(net, *cut_heads(net)), net.op("tanh", ("x",))),
        "not all parts of 'x'",
    ),
    "the same part thrice": Miss(
        "turn_parts",
        (PARTS,),
        lambda net: joined(net, *cut_heads(net, places=(1, 1, 1))),
        "not all parts of 'x'",
    ),
    "parts that are turned otherwise": Miss(
        "turn_parts",
        ((1, 5, 2, 8),),
        lambda net: (
            *cut_heads(net, places=(0,)),
            net.transpose(net.reshape(last_part(net), 5, 1, 2, 4), (1, 0, 2, 3)),
        ),
        "are not all moved alike",
    ),
    "parts that are joined": Miss(
        "turn_parts",
        ((1, 5, 2, 8),),
        lambda net: tuple(
            net.transpose(net.reshape(last_part(net, i), 10, 4), (1, 0)) for i in (0, 1)
        ),
        "are not all moved alike",
    ),
    "parts of which units alone are turned": Miss(
        "turn_parts",
        ((1, 5, 2, 8),),
        lambda net: tuple(net.transpose(last_part(net, i), (0, 2, 1, 3)) for i in (0, 1)),
        "turned parts of 'x' are as they were",
    ),
    "parts of two": Miss(
        "turn_parts",
        ((1, 5, 4, 8),),
        lambda net: net.op("slice", ("x",), SliceAttrs((0, 0, 2, 0), (1, 5, 2, 8), (1, 1, 1, 1))),
    ),
    "parts of more dimensions than SLICE cuts": Miss(
        "turn_parts",
        ((1, 5, 2, 8),),
        lambda net: tuple(
            net.transpose(net.reshape(last_part(net, i), 5, 1, 2, 2, 2), (1, 2, 0, 3, 4))
            for i in (0, 1)
        ),
        "are not all moved alike",
    ),
    "steps": Miss(
        "turn_parts",
        ((1, 5, 2, 8),),
        lambda net: net.op("slice", ("x",), SliceAttrs((0, 0, 0, 0), (1, 5, 1, 8), (1, 1, 2, 1))),
    ),
    "the last dimension": Miss(
        "turn_parts",
        ((1, 5, 2),),
        lambda net: net.op("slice", ("x",), SliceAttrs((0, 0, 1), (1, 5, 1), (1, 1, 1))),
    ),
    "the first dimension": Miss(
        "turn_parts",
        ((2, 5, 2),),
        lambda net: net.op("slice", ("x",), SliceAttrs((1, 0, 0), (1, 5, 2), (1, 1, 1))),
    ),
    "a part of the places": Miss(
        "gather_to_transpose",
        ((1, 5, 3),),
        lambda net: table(net, "x", 1, 2, 2),
        "not all, in even steps",
    ),
}


@pytest.mark.parametrize("drop", [False, True])
def test_parts_of_any_dimension_are_turned_at_once(drop):
    net = Net(PARTS)
    graph, _ = apply(net.graph(*cut_heads(net, places=(1, 0, 2), drop=drop)), TURN_PARTS)
    assert ops(graph) == ["reshape", "transpose", "slice", "slice", "slice"]
    assert [n.attrs.begin[0] for n in graph.nodes[2:]] == [1, 0, 2]


@pytest.mark.parametrize(
    ("shape", "gone", "perm"),
    [((1, 5, 3, 2, 4), (2,), (0, 2, 1, 3)), ((5, 3, 8), (1,), (1, 0)), ((5, 3, 8), (), (2, 1, 0))],
)
def test_parts_are_turned_without_a_reshape_in_between(shape, gone, perm):
    net, axis = Net(shape), shape.index(3)
    size = (*shape[:axis], 1, *shape[axis + 1 :])
    begins = [(0,) * axis + (i,) + (0,) * (len(shape) - axis - 1) for i in range(3)]
    cuts = [SliceAttrs(begin, size, (1,) * len(shape), gone) for begin in begins]
    parts = [net.transpose(net.op("slice", ("x",), cut), perm) for cut in cuts]
    graph, _ = apply(net.graph(*parts), TURN_PARTS)
    assert ops(graph) == ["reshape", "transpose", "slice", "slice", "slice"]


@pytest.mark.parametrize("name", MISSES)
def test_it_is_left(name):
    check(MISSES[name])


@pytest.mark.parametrize("adj_x", [False, True])
@pytest.mark.parametrize("adj_y", [False, True])
def test_products_read_and_write_turned_rows(adj_x, adj_y):
    net = Net((1, 2, 4, 4), (1, 2, 4, 4))
    attrs = BatchMatmulAttrs(adj_x, adj_y)
    y = net.op("batch_matmul", (net.transpose("x", SWAP), net.transpose("x1", SWAP)), attrs)
    graph = net.graph(net.transpose(y, SWAP))
    rules = (TRANSPOSE_INTO_LEFT, TRANSPOSE_INTO_PRODUCT, TURN_PRODUCT)
    graph, _ = apply(graph, *rules, MERGE_TRANSPOSES, REMOVE_IDENTITY, REMOVE_DEAD)
    assert ops(graph)[0] == "batch_matmul"
    assert graph.nodes[0].inputs == ("x1", "x")
    assert graph.nodes[0].attrs == BatchMatmulAttrs(adj_y, adj_x)


def test_a_dimension_that_is_cut_twice():
    net = Net((1, 12, 3))
    y = table(net, table(net, "x", 1, 2, 6), 2, 3, 2)
    graph, _ = apply(net.graph(y), GATHER_TO_TRANSPOSE)
    assert ops(graph) == ["reshape", "transpose"]
    net = Net((1, 12, 3))
    y = table(net, table(net, "x", 1, 6, 2), 1, 3, 2)
    graph, _ = apply(net.graph(y), GATHER_TO_TRANSPOSE)
    assert ops(graph) == ["reshape", "transpose"]


def test_a_dimension_that_is_counted_from_the_end():
    net = Net((1, 4, 6))
    graph, _ = apply(net.graph(table(net, "x", -1, 3, 2)), GATHER_TO_TRANSPOSE)
    assert ops(graph) == ["reshape", "transpose"]


def test_a_gather_that_others_read_is_turned_by_itself():
    net = Net((1, 4, 6, 3))
    first = table(net, "x", 1, 2, 2)
    graph, _ = apply(
        net.graph(table(net, first, 3, 3, 2), net.op("tanh", (first,))), GATHER_TO_TRANSPOSE
    )
    assert ops(graph) == ["reshape", "transpose"] * 2 + ["tanh"]


@pytest.mark.parametrize(
    ("op", "attrs", "weights", "does"),
    [
        ("fully_connected", FullyConnectedAttrs(), (3, 4), True),
        ("conv2d", Conv2dAttrs(), (3, 1, 1, 4), True),
        ("conv2d", Conv2dAttrs(stride=(2, 1)), (3, 1, 1, 4), False),
        ("conv2d", Conv2dAttrs(stride=(1, 2)), (3, 1, 1, 4), False),
        ("conv2d", Conv2dAttrs(), (3, 1, 2, 4), False),
    ],
)
def test_layers_that_compute_each_row_by_itself(op, attrs, weights, does):
    assert reads_rows(Node(op, "y", ("x", "w"), ("y",), attrs), weights) is does
