"""Layers side by side that differ from what can be one layer in one thing."""

import pytest

from tests.passes.misses import Miss, check, read_twice
from tests.passes.nets import Net as Plain
from tests.passes.run import apply, ops
from tinyrt.convert.passes.merge_parallel import MERGE_PARALLEL
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.slice import SliceAttrs

IMAGE, WIDE = (1, 6, 5, 3), (1, 6, 5, 4)


def window(net: Plain, x: str, *kernel: int, c_out: int = 4, **attrs) -> str:
    w = net.random(c_out, *kernel, net.channels(x))
    return net.op("conv2d", (x, w, net.random(c_out)), Conv2dAttrs(**attrs))


def grouped(net: Plain, size: int) -> str:
    """Four filters in two groups."""
    return net.op("conv2d", ("x", net.random(4, size, size, 2), net.random(4)), Conv2dAttrs())


def rows_cut(net: Plain, x: str, first: int, count: int, **attrs) -> str:
    _, _, width, channels = net.values[x].shape
    cut = SliceAttrs((0, first, 0, 0), (1, count, width, channels), (1, 1, 1, 1))
    return net.op("slice", (x,), cut)


def cut(net: Plain, x: str, row: int, column: int, size: int) -> str:
    attrs = SliceAttrs((0, row, column, 0), (1, size, size, net.channels(x)), (1,) * 4)
    return net.op("slice", (x,), attrs)


def added(net: Plain, *xs: str) -> str:
    return net.op("add", xs, AddAttrs())


def bordered(net: Plain, x: str, before: int, after: int, value: float = 0.0) -> str:
    return net.op("pad", (x,), PadAttrs(((0, 0), (before, after), (0, 0), (0, 0)), value))


def depthwise(net: Plain, x: str, rows: int) -> str:
    w = net.random(1, rows, 1, net.channels(x))
    return net.op("depthwise_conv2d", (x, w), DepthwiseConv2dAttrs(padding="VALID"))


MERGED = {
    "windows that leave a column, but no row, unread": (
        (1, 6, 6, 3),
        lambda net: added(
            net, *(window(net, "x", 3, 3, padding="VALID", stride=(1, 2)) for _ in range(2))
        ),
    ),
    "a window over the past and one over the future": (
        IMAGE,
        lambda net: added(
            net,
            depthwise(net, bordered(net, "x", 2, 0), 3),
            depthwise(net, rows_cut(net, bordered(net, "x", 0, 2), 1, 7), 2),
        ),
    ),
    "strides": (
        (1, 7, 9, 3),
        lambda net: added(
            net, window(net, "x", 3, 3, stride=(2, 2)), window(net, "x", 1, 1, stride=(2, 2))
        ),
    ),
    "dilations": (
        IMAGE,
        lambda net: added(net, window(net, "x", 3, 3, dilation=(2, 2)), window(net, "x", 1, 1)),
    ),
    "dilations, the single tap first": (
        IMAGE,
        lambda net: added(net, window(net, "x", 1, 1), window(net, "x", 3, 3, dilation=(2, 2))),
    ),
    "single taps that leave out the last row": (
        IMAGE,
        lambda net: added(net, *(window(net, "x", 1, 1, stride=(2, 2)) for _ in (0, 1))),
    ),
    "a single tap of what is cut twice": (
        (1, 9, 9, 3),
        lambda net: added(
            net,
            window(net, "x", 5, 5, padding="VALID"),
            window(net, cut(net, cut(net, "x", 1, 1, 7), 1, 2, 5), 1, 1, padding="VALID"),
        ),
    ),
    "a norm beside filters of groups": (
        WIDE,
        lambda net: added(net, net.batch_norm("x"), grouped(net, 3)),
    ),
    "a norm beside a depthwise layer": (
        IMAGE,
        lambda net: added(net, net.depthwise("x"), net.batch_norm("x")),
    ),
}


@pytest.mark.parametrize(("shape", "build"), MERGED.values(), ids=MERGED)
def test_they_become_one_layer(shape, build):
    net = Plain(shape)
    after, _ = apply(net.graph(build(net)), MERGE_PARALLEL)
    found = [op for op in ops(after)[ops(after).index("pad") :] if "conv2d" in op]
    assert "add" not in ops(after)
    assert found


def test_the_sum_s_activation_stays():
    net = Plain(IMAGE)
    y = net.op("add", (window(net, "x", 3, 3), window(net, "x", 1, 1)), AddAttrs("RELU"))
    after, _ = apply(net.graph(y), MERGE_PARALLEL)
    assert after.nodes[-1].attrs.activation == "RELU"


MISSES = {
    "a clamped branch": Miss(
        "merge_parallel",
        (IMAGE,),
        lambda net: added(net, window(net, "x", 3, 3, activation="RELU"), window(net, "x", 1, 1)),
        "'conv2d_0' has a fused RELU",
    ),
    "a branch that is an output": Miss(
        "merge_parallel",
        (IMAGE,),
        lambda net: read_twice(net, y := net.conv("x"), added(net, y, net.conv("x"))),
        "has other readers",
    ),
    "a row beside a column": Miss(
        "merge_parallel",
        (IMAGE,),
        lambda net: added(net, window(net, "x", 5, 1), window(net, "x", 1, 5)),
        "one window of 25 taps costs more than two of [5, 5]",
    ),
    "other strides": Miss(
        "merge_parallel",
        ((1, 1, 1, 3),),
        lambda net: added(net, window(net, "x", 3, 3, stride=(2, 2)), window(net, "x", 1, 1)),
        "do not lie on one grid",
    ),
    "other dilations": Miss(
        "merge_parallel",
        (IMAGE,),
        lambda net: added(net, window(net, "x", 3, 3, dilation=(2, 2)), window(net, "x", 3, 3)),
        "do not lie on one grid",
    ),
    "taps between those of a dilated window": Miss(
        "merge_parallel",
        (IMAGE,),
        lambda net: added(
            net,
            window(net, "x", 3, 3, dilation=(2, 2)),
            window(net, rows_cut(net, bordered(net, "x", 0, 1), 1, 6), 1, 1, padding="VALID"),
        ),
        "do not lie on one grid",
    ),
    "other groups": Miss(
        "merge_parallel",
        (WIDE,),
        lambda net: added(net, grouped(net, 3), window(net, "x", 3, 3)),
        "differ in their groups or in their outputs",
    ),
    "a sum that spreads one pixel": Miss(
        "merge_parallel",
        ((1, 5, 5, 3),),
        lambda net: added(net, window(net, "x", 5, 5, padding="VALID"), window(net, "x", 1, 1)),
        "differ in their groups or in their outputs",
    ),
    "branches that leave out the edge": Miss(
        "merge_parallel",
        (IMAGE,),
        lambda net: added(
            net,
            *(window(net, rows_cut(net, "x", 1, 5), 1, 1, padding="VALID") for _ in range(2)),
        ),
        "leave out the edge",
    ),
    "a norm of what has other channels": Miss(
        "merge_parallel",
        ((1, 6, 5, 1),),
        lambda net: added(net, net.batch_norm("x"), net.conv("x", 3)),
        "differ in their groups or in their outputs",
    ),
    "computed weights": Miss(
        "merge_parallel",
        (IMAGE, (4, 3, 3, 3)),
        lambda net: added(net, net.op("conv2d", ("x", "x1"), Conv2dAttrs()), net.conv("x")),
    ),
    "computed norm": Miss(
        "merge_parallel",
        (IMAGE, (3,)),
        lambda net: added(
            net,
            net.op("batch_norm", ("x", "x1", *(net.random(3) for _ in range(3))), BatchNormAttrs()),
            net.conv("x", 3),
        ),
    ),
    "a border of ones": Miss(
        "merge_parallel",
        (IMAGE,),
        lambda net: added(
            net,
            window(net, bordered(net, "x", 1, 1, 1.0), 3, 1, padding="VALID"),
            window(net, "x", 1, 1),
        ),
    ),
    "one layer twice": Miss(
        "merge_parallel", (IMAGE,), lambda net: added(net, y := net.conv("x"), y)
    ),
    "no layer": Miss(
        "merge_parallel",
        (IMAGE,),
        lambda net: added(net, net.op("abs", ("x",)), net.op("tanh", ("x",))),
    ),
}


@pytest.mark.parametrize("miss", MISSES.values(), ids=MISSES)
def test_the_pass_leaves_it_and_says_why(miss):
    check(miss)
