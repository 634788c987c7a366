"""Clamps into the ops in front of them, borders into the windows behind them."""

import numpy as np
import pytest

from tests.passes.nets import Net
from tests.passes.run import apply, ops, refusal
from tinyrt.convert.passes import optimize
from tinyrt.convert.passes.fuse_activation import FUSE_ACTIVATION
from tinyrt.convert.passes.fuse_pad import FUSE_PAD
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs

PRODUCERS = {
    "conv2d": lambda net: net.conv("x"),
    "depthwise_conv2d": lambda net: net.depthwise("x"),
    "fully_connected": lambda net: net.dense("x"),
    "add": lambda net: net.op("add", ("x", "x"), AddAttrs()),
    "average_pool2d": lambda net: net.op("average_pool2d", ("x",), Pool2dAttrs((2, 2))),
    "max_pool2d": lambda net: net.op("max_pool2d", ("x",), Pool2dAttrs((2, 2))),
}


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("clamp", ["relu", "relu6", "relu_n1_to_1"])
def test_clamps_fuse(producer, clamp):
    net = Net((1, 6, 5, 3))
    y = net.op(clamp, (PRODUCERS[producer](net),))
    graph, _ = apply(net.graph(y), FUSE_ACTIVATION)
    (node,) = graph.nodes
    assert node.attrs.activation == clamp.upper()


def test_clamps_meet_in_the_tighter_one():
    net = Net((1, 6, 5, 3))
    y = net.op("relu6", (net.op("relu", (net.conv("x"),)),))
    graph, _ = apply(net.graph(y), FUSE_ACTIVATION)
    assert [n.attrs.activation for n in graph.nodes] == ["RELU6"]


def test_clamps_alone_merge():
    net = Net((2, 5))
    graph, _ = apply(net.graph(net.op("relu6", (net.op("relu", ("x",)),))), FUSE_ACTIVATION)
    assert ops(graph) == ["relu6"]


def test_clamps_that_meet_in_none_stay():
    net = Net((2, 5))
    graph = net.graph(net.op("relu_n1_to_1", (net.op("relu6", ("x",)),)))
    assert "no activation clamps as RELU6" in refusal(graph, FUSE_ACTIVATION)


def test_clamps_stay_behind_what_others_read():
    net = Net((1, 6, 5, 3))
    y = net.conv("x")
    assert "other readers" in refusal(net.graph(net.op("relu", (y,)), y), FUSE_ACTIVATION)


def padded(net: Net, top: int, left: int, bottom: int, right: int, value: float = 0.0) -> str:
    attrs = PadAttrs(((0, 0), (top, bottom), (left, right), (0, 0)), value)
    return net.op("pad", ("x",), attrs)


@pytest.mark.parametrize(
    ("border", "attrs"),
    [
        ((1, 1, 1, 1), {}),
        ((2, 2, 2, 2), {"dilation": (2, 2)}),
        ((0, 1, 1, 1), {"stride": (2, 2)}),  # 6 rows need one below only
        ((0, 1, 2, 1), {"stride": (2, 2)}),  # the last row is never read
    ],
)
def test_borders_that_same_adds_fuse(border, attrs):
    net = Net((1, 6, 5, 3))
    y = net.conv(padded(net, *border), padding="VALID", **attrs)
    graph, _ = apply(net.graph(y, net.depthwise("x")), FUSE_PAD)
    assert [n.attrs.padding for n in graph.nodes if n.op == "conv2d"] == ["SAME"]
    assert not graph.consumers("pad_0")


def test_a_border_in_front_of_same_adds_up():
    net = Net((1, 6, 5, 3))
    graph = net.graph(net.conv(padded(net, 1, 1, 1, 1), padding="SAME"))
    assert "pads (2, 2) before" in refusal(graph, FUSE_PAD)


def test_minus_infinity_fuses_into_max_pool():
    net = Net((1, 6, 5, 3))
    y = padded(net, 1, 1, 1, 1, -np.inf)
    graph, _ = apply(net.graph(net.op("max_pool2d", (y,), Pool2dAttrs((3, 3)))), FUSE_PAD)
    assert graph.nodes[-1].attrs.padding == "SAME"


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [
        (PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0)), 1.0), "is filled with 1.0"),
        (PadAttrs(((0, 0), (1, 1), (1, 1), (1, 0))), "other dimensions than height and width"),
        (PadAttrs(((0, 0), (2, 0), (1, 1), (0, 0))), "pads (2, 1) before"),
        (PadAttrs(((0, 0), (1, 3), (1, 1), (0, 0))), "leaves (8, 5), SAME (1, 1) and (6, 5)"),
    ],
)
def test_other_borders_stay(attrs, reason):
    net = Net((1, 6, 5, 3))
    y = net.op("pad", ("x",), attrs)
    assert reason in refusal(net.graph(net.conv(y, padding="VALID")), FUSE_PAD)


def test_zeros_stay_in_front_of_max_pool():
    net = Net((1, 6, 5, 3))
    graph = net.graph(net.op("max_pool2d", (padded(net, 1, 1, 1, 1),), Pool2dAttrs((3, 3))))
    assert "is filled with 0.0" in refusal(graph, FUSE_PAD)


def test_attributes_survive_fusing():
    net = Net((1, 6, 5, 3))
    y = net.conv(padded(net, 2, 2, 2, 2), padding="VALID", dilation=(2, 2), activation="RELU")
    graph, _ = apply(net.graph(y), FUSE_PAD)
    assert graph.nodes[-1].attrs == Conv2dAttrs((1, 1), "SAME", (2, 2), "RELU")


def test_a_convolution_that_a_reshape_follows_is_a_dense_layer():
    net = Net((1, 6, 5, 3))
    y = net.op("mean", ("x",), MeanAttrs((1, 2), keep_dims=True))
    y = net.op("hard_swish", (net.conv(y, 8, 1),))
    graph = optimize(net.graph(net.softmax(net.reshape(net.conv(y, 4, 1), 1, 4))))
    assert ops(graph) == ["mean", "conv2d", "hard_swish", "fully_connected", "softmax"]
