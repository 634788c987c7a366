"""Channels that change places: what takes their order, and what needs it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.passes.example_parts import picked, shuffled
from tests.passes.misses import Miss, check, read_twice
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tests.passes.test_every_pass import applied
from tests.passes.test_near_misses import computed_conv, cut_of, grouped, joined
from tinyrt.convert.passes import optimize
from tinyrt.convert.passes.channel_order import ORDER_CHANNELS
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.convert.passes.shuffle import (
    GATHER_INTO_LAYER,
    GATHER_TO_SLICE,
    SHUFFLE_TO_GATHER,
)
from tinyrt.ir import QParams, Value
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.slice import SliceAttrs

IMAGE = (1, 6, 5, 4)
TURN = (3, 0, 2, 1)


def turned(net: Net, x: str = "x") -> str:
    return picked(net, x, *TURN)


def part(net: Net, x: str, begin: int, size: int, stride: int = 1) -> str:
    n, h, w, _ = net.shape(x)
    cut = SliceAttrs((0, 0, 0, begin), (n, h, w, size), (1, 1, 1, stride))
    return net.op("slice", (x,), cut)


def bordered(net: Net, x: str, *channels: int) -> str:
    return net.op("pad", (x,), PadAttrs(((0, 0), (1, 1), (1, 1), channels)))


def mean(net: Net, x: str, *axes: int) -> str:
    return net.op("mean", (x,), MeanAttrs(axes))


ENDS = {
    "a layer": lambda net: net.conv(turned(net)),
    "rows": lambda net: net.dense(mean(net, turned(net), 1, 2)),
    "a depthwise layer": lambda net: net.conv(net.depthwise(turned(net))),
    "a norm": lambda net: net.conv(net.batch_norm(turned(net))),
    "a border": lambda net: net.conv(bordered(net, turned(net), 0, 0)),
    "a constant": lambda net: net.conv(net.add(net.mul(turned(net), net.random(4)), 0.5)),
    "a gate": lambda net: net.conv(net.mul(turned(net), mean_of_channels(net))),
    "two in one order": lambda net: net.conv(net.add(y := turned(net), net.op("tanh", (y,)))),
    "a pool": lambda net: net.conv(
        net.op("max_pool2d", (turned(net),), Pool2dAttrs((2, 2), (2, 2), "VALID"))
    ),
    "a sum of channels": lambda net: net.op("sum", (turned(net),), ReduceAttrs((3,))),
    "a join": lambda net: net.conv(joined(net, "x", turned(net), net.op("abs", ("x",)))),
    "a join of rows": lambda net: net.conv(joined(net, y := turned(net), y, axis=1)),
    "a cut of rows": lambda net: net.conv(cut_of(net, turned(net), (1, 3, 5, 4))),
    "a cut of channels": lambda net: part(net, net.op("abs", (turned(net),)), 1, 2),
    "picked rows": lambda net: net.conv(picked(net, turned(net), 4, 0, axis=1)),
    "picked channels": lambda net: picked(net, net.op("abs", (turned(net),)), 1, 3),
    "axes counted from the end": lambda net: picked(
        net, net.op("abs", (picked(net, "x", *TURN, axis=-1),)), 1, 3, axis=-1
    ),
}


def mean_of_channels(net: Net) -> str:
    return net.op("mean", ("x",), MeanAttrs((3,), keep_dims=True))


@pytest.mark.parametrize("build", ENDS.values(), ids=ENDS)
def test_the_order_ends_in_what_follows(build):
    net = Net(IMAGE)
    graph = net.graph(build(net))
    after, log = applied(graph, ORDER_CHANNELS)
    assert log.applied
    (first, *_) = (n for n in after.nodes if n.op == "gather")
    assert first.attrs.indices == (0, 1, 2, 3)


def test_a_shuffled_half_is_picked_in_runs():
    net = Net((1, 6, 5, 8))
    y = shuffled(net, "x", (1, 6, 5, 2, 4), (0, 1, 2, 4, 3))
    one, two = part(net, y, 0, 4), part(net, y, 4, 4)
    graph = optimize(net.graph(net.conv(joined(net, one, net.conv(two)))))
    assert [n.op for n in graph.nodes] == ["gather", "gather", "conv2d", "concatenation", "conv2d"]
    assert [n.attrs.indices for n in graph.nodes[:2]] == [(0, 1, 4, 5), (2, 3, 6, 7)]


def test_a_shuffle_that_ends_in_another_shape_is_reshaped():
    net = Net(IMAGE)
    y = net.transpose(net.reshape("x", 30, 2, 2), (0, 2, 1))
    after, _ = apply(net.graph(net.reshape(y, 120)), REMOVE_DEAD, SHUFFLE_TO_GATHER)
    assert ops(after) == ["gather", "reshape"]


def test_every_other_channel_is_a_slice_with_a_stride():
    net = Net(IMAGE)
    after, _ = apply(net.graph(net.op("abs", (picked(net, "x", 1, 3),))), GATHER_TO_SLICE)
    assert after.nodes[0].attrs == SliceAttrs((0, 0, 0, 1), (1, 6, 5, 2), (1, 1, 1, 2))


def on_grids(net: Net, name: str, axis: int) -> None:
    """Gives a constant a scale for each channel."""
    value = net.values[name]
    scales = tuple(0.5**i for i in range(value.shape[axis]))
    net.values[name] = Value.constant(name, value.data, QParams(scales, 0, axis))


def test_scales_of_weights_move_with_their_channels():
    net = Net(IMAGE)
    w, rows = net.random(1, 3, 3, 4), net.random(3, 1, 1, 4)
    on_grids(net, w, 3)
    on_grids(net, rows, 0)
    y = net.op("depthwise_conv2d", (turned(net), w, net.random(4)), DepthwiseConv2dAttrs())
    y = net.op("conv2d", (y, rows), Conv2dAttrs())
    after, _ = apply(net.graph(picked(net, y, 2, 0)), ORDER_CHANNELS, GATHER_INTO_LAYER)
    _, depth, last = after.nodes
    moved = np.argsort(np.argsort(TURN))
    found = after.value(depth.inputs[1]).q.scales
    assert found == tuple(0.5 ** int(i) for i in np.argsort(moved))
    assert after.value(last.inputs[1]).q.scales == (0.25, 1.0)


def test_a_layer_whose_bias_is_left_out_takes_the_order():
    net = Net(IMAGE)
    y = net.op("conv2d", ("x", net.random(4, 3, 3, 4)), Conv2dAttrs())
    net.nodes[-1] = replace(net.nodes[-1], inputs=(*net.nodes[-1].inputs, ""))
    after, log = apply(net.graph(turned(net, y)), GATHER_INTO_LAYER)
    assert log.applied
    assert ops(after) == ["conv2d"]
    assert after.nodes[0].inputs[2] == ""


def filtered(net: Net, x: str, w: str) -> str:
    return net.op("depthwise_conv2d", (x, w), DepthwiseConv2dAttrs())


MISSES = {
    "an order that an op needs": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.conv(net.softmax(turned(net))),
        "(softmax) needs the channels in their order",
    ),
    "two orders in one sum": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.conv(net.add(turned(net), picked(net, "x", 2, 3, 0, 1))),
        "(add) needs the channels in their order",
    ),
    "two orders of one gather": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.conv(net.add(joined(net, y := turned(net), "x"), joined(net, "x", y))),
        "(add) needs the channels in their order",
    ),
    "an order beside none": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.conv(net.add(turned(net), "x")),
        "(add) needs the channels",
    ),
    "weights of groups": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.op("conv2d", (turned(net), net.random(4, 3, 3, 2)), Conv2dAttrs()),
        "(conv2d) needs the channels",
    ),
    "computed weights": Miss(
        "order_channels",
        (IMAGE, (4, 3, 3, 4)),
        lambda net: computed_conv(net, turned(net)),
        "(conv2d) needs the channels",
    ),
    "computed filters of channels": Miss(
        "order_channels",
        (IMAGE, (1, 3, 3, 4)),
        lambda net: net.conv(
            net.op("depthwise_conv2d", (turned(net), "x1"), DepthwiseConv2dAttrs())
        ),
        "(depthwise_conv2d) needs the channels",
    ),
    "filters in another order": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.conv(filtered(net, "x", turned(net, net.random(1, 3, 3, 4)))),
        "(depthwise_conv2d) needs the channels",
    ),
    "filters that make more channels": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.conv(filtered(net, turned(net), net.random(1, 3, 3, 8))),
        "(depthwise_conv2d) needs the channels",
    ),
    "a border of channels": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.conv(bordered(net, turned(net), 0, 1)),
        "(pad) needs the channels",
    ),
    "a channel of its own": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.softmax(cut_of(net, turned(net), (1, 6, 5, 1), (3,))),
        "(slice) needs the channels",
    ),
    "a cut of rows and channels": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.conv(cut_of(net, turned(net), (1, 3, 5, 2))),
        "(slice) needs the channels",
    ),
    "channels in a grid": Miss(
        "order_channels",
        (IMAGE,),
        lambda net: net.op("abs", (net.op("gather", (turned(net),), GRID),)),
        "(gather) needs the channels",
    ),
    "a gather of rows": Miss(
        "order_channels", (IMAGE,), lambda net: picked(net, "x", 2, 1, axis=1)
    ),
    "a gather in order": Miss("order_channels", (IMAGE,), lambda net: picked(net, "x", 0, 2)),
    "a shuffled model's output": Miss(
        "merge_gathers",
        (IMAGE,),
        lambda net: read_twice(net, y := turned(net), picked(net, y, 0, 1)),
        "whole",
    ),
    "a gather of a grid": Miss(
        "merge_gathers", (IMAGE,), lambda net: picked(net, net.op("gather", ("x",), GRID), 0, 1)
    ),
    "a grid of a gather": Miss(
        "merge_gathers",
        (IMAGE,),
        lambda net: net.op("gather", (turned(net),), GRID),
        "does not pick along the axis",
    ),
    "a cut that drops": Miss(
        "merge_gathers",
        (IMAGE,),
        lambda net: cut_of(net, turned(net), (1, 6, 5, 1), (3,)),
        "does not pick along the axis",
    ),
    "rows of a layer": Miss(
        "gather_into_layer", (IMAGE,), lambda net: picked(net, net.conv("x"), 1, 0, axis=1)
    ),
    "channels of groups": Miss(
        "gather_into_layer", (IMAGE,), lambda net: turned(net, grouped(net)), "in groups"
    ),
    "channels of computed weights": Miss(
        "gather_into_layer",
        (IMAGE, (4, 3, 3, 4)),
        lambda net: turned(net, computed_conv(net)),
        "are not constant",
    ),
    "picks without a step": Miss("gather_to_slice", (IMAGE,), turned),
    "picks backwards": Miss("gather_to_slice", (IMAGE,), lambda net: picked(net, "x", 3, 2)),
    "a grid of picks": Miss(
        "gather_to_slice", (IMAGE,), lambda net: net.op("gather", ("x",), GRID)
    ),
}

GRID = GatherAttrs(3, (0, 1, 2, 3), (2, 2))


@pytest.mark.parametrize("miss", MISSES.values(), ids=MISSES)
def test_the_pass_leaves_it_and_says_why(miss):
    check(miss)
