"""Channels that change places behind a layer: its rows do."""

import pytest

from tests.passes.example_parts import turned_channels
from tests.passes.misses import Miss, check
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tinyrt.convert.passes.shuffle import SHUFFLE_ROWS
from tinyrt.ir import QParams, Value
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs

IMAGE = (1, 6, 5, 3)


@pytest.mark.parametrize(
    ("shape", "perm"),
    [
        ((1, 6, 5, 2, 4), (0, 1, 2, 4, 3)),
        ((6, 5, 2, 4, 1), (0, 1, 4, 3, 2)),
        ((1, 30, 2, 2, 2), (0, 1, 4, 2, 3)),
        ((30, 2, 1, 4), (0, 3, 1, 2)),
        ((6, 5, 2, 2, 2), (0, 1, 3, 4, 2)),
    ],
)
def test_rows_of_weights_take_the_order(shape, perm):
    net = Net(IMAGE)
    y = net.conv("x", 8, 1, activation="RELU")
    graph, _ = apply(net.graph(net.transpose(net.reshape(y, *shape), perm)), SHUFFLE_ROWS)
    assert ops(graph) == ["conv2d", "reshape"]


def test_one_pixel_has_channels_alone():
    net = Net((1, 6))
    y = net.op("fully_connected", ("x", net.random(12, 6)), FullyConnectedAttrs())
    graph, _ = apply(net.graph(net.transpose(net.reshape(y, 3, 4), (1, 0))), SHUFFLE_ROWS)
    assert ops(graph) == ["fully_connected", "reshape"]


def test_scales_of_rows_move_with_them():
    net = Net((2, 6))
    w = net.random(4, 6)
    net.values[w] = Value.constant(w, net.values[w].data, QParams((0.1, 0.2, 0.3, 0.4), 0, 0))
    y = net.op("fully_connected", ("x", w), FullyConnectedAttrs())
    graph, _ = apply(net.graph(net.transpose(net.reshape(y, 2, 2, 2), (0, 2, 1))), SHUFFLE_ROWS)
    assert graph.value(graph.nodes[0].inputs[1]).q.scales == (0.1, 0.3, 0.2, 0.4)


def groups(net: Net) -> str:
    return net.op("conv2d", ("x", net.random(4, 1, 1, 1)), Conv2dAttrs())


MISSES = {
    "pixels that move": Miss(
        "shuffle_rows",
        (IMAGE,),
        lambda net: net.transpose(net.reshape(net.conv("x", 4), 6, 5, 2, 2), (0, 2, 1, 3)),
    ),
    "a bias that is computed": Miss(
        "shuffle_rows",
        ((2, 6), (4,)),
        lambda net: net.transpose(
            net.reshape(
                net.op("fully_connected", ("x", net.random(4, 6), "x1"), FullyConnectedAttrs()),
                *(2, 2, 2),
            ),
            (0, 2, 1),
        ),
        "weights that are not constant",
    ),
    "a split through pixels": Miss(
        "shuffle_rows",
        (IMAGE,),
        lambda net: net.transpose(net.reshape(net.conv("x", 4), 15, 8), (1, 0)),
    ),
    "channels in their order": Miss(
        "shuffle_rows",
        (IMAGE,),
        lambda net: net.transpose(net.reshape(net.conv("x", 4), 30, 2, 1, 2), (0, 2, 1, 3)),
    ),
    "no layer": Miss("shuffle_rows", ((1, 6, 5, 4),), lambda net: turned_channels(net, "x")),
    "groups": Miss(
        "shuffle_rows",
        ((1, 6, 5, 2),),
        lambda net: turned_channels(net, groups(net)),
        "has groups",
    ),
    "computed weights": Miss(
        "shuffle_rows",
        ((6, 8), (4, 8)),
        lambda net: net.transpose(
            net.reshape(net.op("fully_connected", ("x", "x1"), FullyConnectedAttrs()), 6, 2, 2),
            (0, 2, 1),
        ),
        "weights that are not constant",
    ),
    "a split that others read": Miss(
        "shuffle_rows",
        (IMAGE,),
        lambda net: (
            y := net.reshape(net.conv("x", 4), 30, 2, 2),
            net.transpose(y, (0, 2, 1)),
        ),
        "has other readers",
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_it_is_left(name):
    check(MISSES[name])
