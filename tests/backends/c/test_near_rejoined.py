"""Layers whose weights are nearly parts of one: each misses one thing, and stays as it is."""

from dataclasses import replace

import numpy as np
import pytest

from tests.memory.targets import kernels_for
from tests.ops.quantised import s8
from tinyrt.backends.c.rejoined import MAX_WIDE, _without_rows_between, rejoined
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs

M0, M4, M55 = (kernels_for(core).target for core in ("cortex-m0", "cortex-m4", "cortex-m55"))


class Net:
    """Ops on int8, one after the other."""

    def __init__(self):
        self.values, self.nodes, self.inputs = {}, [], []

    def input(self, *shape):
        name = f"x{len(self.inputs)}"
        self.values[name] = replace(s8(*shape), name=name)
        self.inputs.append(name)
        return name

    def op(self, op, attrs, *names):
        y = f"y{len(self.nodes)}"
        types = [self.values[n].type for n in names]
        (of,) = OPS[op].infer(attrs, types)
        # Whatever lies between is on the grid of the input; what is last is not.
        scale = 3000.0 if op.endswith("conv2d") else 0.1
        self.values[y] = Value(y, of.dtype, of.shape, QParams((scale,)))
        self.nodes.append(Node(op, y, names, (y,), attrs))
        return y

    def weights(self, array):
        name = f"w{len(self.nodes)}"
        axis = 3 if array.shape[0] == 1 else 0
        q = QParams((0.5,) * array.shape[axis], 0, axis)
        self.values[name] = Value(name, DType.INT8, array.shape, q, array.astype(np.int8))
        return name

    def graph(self, y):
        return verify(Graph("near", tuple(self.inputs), (y,), self.values, tuple(self.nodes)))

    def reshape(self, x, *shape):
        return self.op("reshape", ReshapeAttrs(shape), x)

    def cut(self, x, first=0, count=2, step=1):
        shape = (*self.values[x].shape[:3], count)
        return self.op("slice", SliceAttrs((0, 0, 0, first), shape, (1, 1, 1, step)), x)

    def joined(self, axis, *names):
        return self.op("concatenation", ConcatenationAttrs(axis), *names)

    def conv(self, x, channels=6, dilation=(1, 1)):
        w = self.weights(np.full((4, 1, 1, channels), 127))
        return self.op("conv2d", Conv2dAttrs(dilation=dilation), x, w)


def channels_read(net, kind):
    """A convolution that reads channels of an image again, or nearly so."""
    x = net.input(1, 3, 3, 4)
    others = {
        "read again": lambda: net.cut(x),
        "of another image": lambda: net.cut(net.input(1, 3, 3, 4)),
        "another image": lambda: net.input(1, 3, 3, 2),
        "backwards": lambda: net.cut(x, first=1, step=-1),
        "every second": lambda: net.cut(x, step=2),
        "behind an op": lambda: net.op("abs", NoAttrs(), net.cut(x)),
    }
    if kind == "one part":
        return net.conv(net.joined(3, net.cut(x)), channels=2)
    other = others.get(kind, others["read again"])()
    parts = (other, x) if kind == "behind a part" else (x, other)
    groups = kind == "groups"
    dilation = (2, 2) if kind == "dilation" else (1, 1)
    return net.conv(net.joined(3, *parts), 3 if groups else 6, dilation)


CHANNELS = [
    *("of another image", "another image", "backwards", "every second", "behind an op"),
    *("one part", "groups", "behind a part"),
]


def ops(graph):
    return [node.op for node in graph.nodes]


def test_channels_that_are_read_again_are_added_up():
    net = Net()
    graph = net.graph(channels_read(net, "read again"))
    assert ops(rejoined(graph, M4)) == ["conv2d"]
    assert ops(rejoined(graph, M55)) == ["conv2d"]


@pytest.mark.parametrize("target", [M0, M4, M55], ids=["m0", "m4", "m55"])
def test_channels_that_are_read_again_with_dilation_are_added_up(target):
    net = Net()
    graph = net.graph(channels_read(net, "dilation"))
    assert ops(rejoined(graph, target)) == ["conv2d"]


def groups_read(net, kind):
    """A convolution whose groups read their channels again, or nearly so."""
    apart, count = (1, 3, 3, 3, 2), 3 if kind == "three parts" else 2
    x = net.input(*((3, 3, 6) if kind == "no image" else (1, 3, 3, 6)))
    other = net.input(1, 3, 3, 6) if kind == "of another image" else x
    first = net.reshape(x, *((3, 3, 1, 3, 2) if kind == "turned" else apart))
    again = first if other == x else net.reshape(other, *apart)
    if kind == "no reshape before":
        first = again = net.input(*apart)
    axis = 3 if kind == "another axis" else 4
    both = net.joined(axis, first, *(again,) * (count - 1))
    if kind == "behind an op":
        both = net.op("abs", NoAttrs(), both)
    image = net.reshape(both, 1, 3, 3, 6 * count)
    width = 2 if kind == "other groups" else 2 * count
    w = net.weights(np.full((6, 1, 1, width), 100))
    return net.op("conv2d", Conv2dAttrs(), image, w)


GROUPS = [
    *("of another image", "no image", "turned", "no reshape before", "another axis"),
    *("behind an op", "other groups"),
]


@pytest.mark.parametrize("target", [M0, M4, M55], ids=["m0", "m4", "m55"])
@pytest.mark.parametrize("kind", ["two parts", "three parts"])
def test_groups_that_are_read_again_are_added_up(kind, target):
    net = Net()
    graph = net.graph(groups_read(net, kind))
    # Of three parts weights are 300: too wide for a sum, but not for what is read again.
    taken = kind == "two parts" or target is M55
    assert ops(rejoined(graph, target)) == (["conv2d"] if taken else ops(graph))


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("target", [M4, M55], ids=["m4", "m55"])
def test_groups_that_are_nearly_read_again_stay_apart(kind, target):
    net = Net()
    graph = net.graph(groups_read(net, kind))
    assert rejoined(graph, target) is graph


def test_groups_of_one_channel_are_depthwise_again():
    net = Net()
    x = net.input(1, 3, 3, 4)
    apart = net.reshape(x, 1, 3, 3, 4, 1)
    image = net.reshape(net.joined(4, apart, apart), 1, 3, 3, 8)
    w = net.weights(np.full((4, 2, 3, 2), 100))
    graph = net.graph(net.op("conv2d", Conv2dAttrs(dilation=(5, 1)), image, w))
    for target in (M0, M4, M55):
        (node,) = rejoined(graph, target).bound()
        assert (node.op, node.input(1).shape) == ("depthwise_conv2d", (1, 2, 3, 4))
        assert (np.asarray(node.input(1).data) == 200).all()
        assert node.input(1).q.axis == 3


@pytest.mark.parametrize("kind", CHANNELS)
@pytest.mark.parametrize("target", [M0, M4], ids=["m0", "m4"])
def test_channels_that_are_nearly_read_again_stay_apart(kind, target):
    net = Net()
    graph = net.graph(channels_read(net, kind))
    assert rejoined(graph, target) is graph


def test_weights_that_the_model_computes_stay_apart():
    net = Net()
    graph = net.graph(channels_read(net, "read again"))
    w = graph.bind(len(graph.nodes) - 1).input(1)
    values = {**graph.values, w.name: replace(w, data=None)}
    graph = replace(graph, inputs=(*graph.inputs, w.name), values=values)
    assert rejoined(graph, M4) is graph


def rows_read(net, kind, times=2, taps=None):
    """A depthwise layer that reads each row again, or nearly so."""
    x = net.input(*((2, 12) if kind == "a matrix" else (1, 2, 3, 4)))
    apart = net.reshape(x, *((1, 1, 2, 12) if kind == "pixels" else (1, 2, 1, 12)))
    copies = [apart] * times
    if kind == "other rows":
        copies[-1] = net.reshape(net.input(1, 2, 3, 4), 1, 2, 1, 12)
    if kind == "rows of an input":
        copies = [net.input(1, 2, 1, 12)] * times
    joined = net.joined(1 if kind == "below" else 2, *copies)
    if kind == "behind an op":
        joined = net.op("abs", NoAttrs(), joined)
    if kind == "an input":
        joined = net.input(1, 2, times, 12)
    image = net.reshape(joined, 1, 2 * times, 3, 4)
    taps = np.full((times, 1), 127) if taps is None else taps
    w = net.weights(np.broadcast_to(taps[None, :, :, None], (1, *taps.shape, 4)))
    attrs = DepthwiseConv2dAttrs(stride=(times, 1), padding="VALID")
    return net.op("depthwise_conv2d", attrs, image, w)


ROWS = [
    *("a matrix", "pixels", "other rows", "rows of an input", "below", "behind an op", "an input"),
]


@pytest.mark.parametrize("target", [M0, M4, M55], ids=["m0", "m4", "m55"])
@pytest.mark.parametrize("kind", ["read again", *ROWS])
def test_rows_are_added_up_that_are_read_again(kind, target):
    net = Net()
    graph = net.graph(rows_read(net, kind))
    assert (ops(rejoined(graph, target)) == ["depthwise_conv2d"]) is (kind == "read again")
    if kind != "read again":
        assert rejoined(graph, target) is graph


@pytest.mark.parametrize(
    ("weight", "times", "fits"),
    [(127, 129, True), (127, 130, False), (-128, 127, True), (-128, 129, False)],
)
def test_weights_are_added_up_as_far_as_16_bits_hold_their_doubles(weight, times, fits):
    net = Net()
    taps = np.full((times, 1), weight)
    graph = net.graph(rows_read(net, "read again", times, taps))
    assert (abs(weight * times) <= MAX_WIDE) is fits
    assert (rejoined(graph, M4) is not graph) is fits


def test_vectors_take_sums_of_two_parts():
    """Their weights are at most 255: products with int8 have 16 bits."""
    for times in (2, 3):
        net = Net()
        graph = net.graph(rows_read(net, "read again", times))
        assert (rejoined(graph, M55) is graph) is (times == 3)
        assert rejoined(graph, M4) is not graph


def test_rows_of_weights_that_are_no_multiple_of_the_parts_stay_apart():
    """Three parts, and four rows of taps, of which the first two are zeros: two rows are left."""
    net = Net()
    taps = np.array([[0], [0], [5], [7]])
    graph = net.graph(rows_read(net, "read again", 3, taps))
    assert rejoined(graph, M4) is graph


@pytest.mark.parametrize(
    ("rows", "filled", "step"),
    [
        *((4, {0, 3}, 3), (5, {0, 4}, 4), (5, {0, 2, 4}, 2), (5, {2}, 2), (7, {0}, 6)),
        *((7, {0, 3, 6}, 3), (7, {2, 6}, 2), (9, {4, 8}, 4), (9, {2, 8}, 2)),
        # Zeros that are no steps from the first row to the last, and rows that are few.
        *((6, {0, 3}, 1), (6, {0, 2, 4}, 1), (7, {0, 4}, 2), (8, {0, 3, 6}, 1)),
        *((7, {0, 2, 3}, 1), (5, {1, 3}, 1), (3, {0, 2}, 1), (4, {0, 1, 2, 3}, 1)),
    ],
)
def test_rows_of_zeros_are_steps_where_the_last_row_is_one(rows, filled, step):
    w = np.zeros((1, rows, 2, 3), np.int32)
    for row in filled:
        w[0, row, row % 2, row % 3] = row + 1
    found, steps = _without_rows_between(w)
    assert steps == step
    np.testing.assert_array_equal(found, w[:, ::step], strict=True)
    # The window is as high as before.
    assert (found.shape[1] - 1) * step == rows - 1
