"""Layouts that reshapes, sums and rows follow: transposes meet on their other side."""

import itertools
import math

import numpy as np
import pytest

from tests.passes.nets import TO_NHWC
from tests.passes.run import ops
from tests.passes.test_layout import Nchw, settled
from tinyrt.convert.passes import optimize
from tinyrt.convert.passes.layouts import through_reshape
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs

CONV = Conv2dAttrs()

SHAPES = [
    ((1, 6, 4, 5), (1, 2, 3, 4, 5)),
    ((1, 6, 4, 5), (1, 1, 6, 4, 5)),
    ((1, 6, 4, 5), (1, 6, 20)),
    ((1, 6, 1, 1), (1, 6)),
    ((2, 6, 4), (2, 3, 2, 4)),
    ((6, 4), (3, 8)),
    ((4,), (4, 1)),
    ((1, 1), (1,)),
]


@pytest.mark.parametrize(("before", "after"), [*SHAPES, *(pair[::-1] for pair in SHAPES)])
def test_a_layout_on_one_side_of_a_reshape_is_that_on_the_other(before, after):
    x = np.arange(math.prod(before)).reshape(before)
    for perm in itertools.permutations(range(len(before))):
        found = through_reshape(before, after, perm)
        if found is not None:
            assert sorted(found) == list(range(len(after)))
            turned = x.reshape(after).transpose(found)
            np.testing.assert_array_equal(turned.reshape(-1), x.transpose(perm).reshape(-1))


def test_what_a_layout_takes_apart_has_none():
    assert through_reshape((1, 6, 4, 5), (1, 6, 20), TO_NHWC) == (0, 2, 1)
    assert through_reshape((1, 6, 4, 5), (1, 120), TO_NHWC) is None
    assert through_reshape((1, 6, 4, 5), (1, 24, 5), TO_NHWC) is None
    assert through_reshape((1,), (), (0,)) is None


def split(net: Nchw, x: str) -> str:
    """Two groups of channels, as a dimension of their own."""
    n, c, h, w = net.values[x].shape
    return net.reshape(x, n, 2, c // 2, h, w)


def test_groups_of_channels_are_summed_without_transposes():
    net = Nchw((1, 3, 6, 5))
    parts = split(net, net.conv("x"))
    gate = net.op("sum", (parts,), ReduceAttrs((1,)))
    gate = net.op("mean", (gate,), MeanAttrs((2, 3), keep_dims=True))
    gate = net.reshape(net.conv(gate, 4, 1), 1, 2, 2, 1, 1)
    y = net.op("sum", (net.op("mul", (parts, gate), MulAttrs()),), ReduceAttrs((1,)))
    _, graph = settled(net, net.conv(y))
    assert "transpose" not in ops(graph)


def test_stacked_branches_are_summed_without_transposes():
    net = Nchw((1, 3, 6, 5))
    stacked = [net.reshape(net.conv("x"), 1, 1, 4, 6, 5) for _ in range(2)]
    both = net.op("concatenation", tuple(stacked), ConcatenationAttrs(1))
    _, graph = settled(net, net.conv(net.op("sum", (both,), ReduceAttrs((1,)))))
    assert "transpose" not in ops(graph)


def test_a_sum_that_the_layout_reaches_from_behind():
    net = Nchw((1, 2, 3, 6, 5))
    y = net.op("tanh", (net.op("sum", ("x",), ReduceAttrs((1,))),))
    kept, _ = settled(net, net.conv(net.op("add", (y, net.conv(y, 3)), AddAttrs())))
    assert ops(kept).count("transpose") == 2


def test_rows_come_in_any_order():
    net = Nchw((1, 16, 6, 5))
    flat = net.transpose(net.reshape(net.conv("x", 12), 1, 4, 3, 30), (0, 3, 1, 2))
    rows = net.softmax(flat)
    w, pointwise = net.random(3, 3), net.random(3, 1, 1, 3)
    rows = net.op("fully_connected", (rows, w), FullyConnectedAttrs(keep_num_dims=True))
    rows = net.op("conv2d", (rows, pointwise), CONV)
    back = net.transpose(rows, (0, 2, 3, 1))
    kept, _ = settled(net, net.reshape(net.op("tanh", (back,)), 360))
    assert ops(kept).count("transpose") == 2


@pytest.mark.parametrize("how", ["a window", "a step", "computed"])
def test_what_is_tied_to_the_order_of_rows_keeps_it(how):
    net = Nchw((1, 6, 6, 3), (3, 3))
    x = net.op("tanh", (net.transpose("x", (0, 2, 1, 3)),))
    if how == "computed":
        y = net.op("fully_connected", (x, "x1"), FullyConnectedAttrs(keep_num_dims=True))
    else:
        size, stride = (3, 1) if how == "a window" else (1, 2)
        w = net.random(3, size, size, 3)
        y = net.op("conv2d", (x, w), Conv2dAttrs(stride=(stride, stride)))
    kept, _ = settled(net, net.transpose(net.op("abs", (y,)), (0, 2, 1, 3)))
    assert "transpose" in ops(kept)


def test_a_layer_that_flattens_rows_computes_each_by_itself():
    net = Nchw((1, 6, 6, 3))
    x = net.op("tanh", (net.transpose("x", (0, 2, 1, 3)),))
    y = net.op("fully_connected", (x, net.random(3, 3)), FullyConnectedAttrs())
    y = net.op("abs", (net.reshape(y, 1, 6, 6, 3),))
    kept, _ = settled(net, net.transpose(y, (0, 2, 1, 3)))
    assert "transpose" not in ops(kept)


def test_a_transpose_at_the_border_becomes_another_one():
    net = Nchw((1, 3, 6, 5))
    y = net.op("tanh", (net.conv("x"),))
    one = net.softmax(net.transpose(y, (0, 2, 1, 3)))
    kept, _ = settled(net, one, net.conv(y))
    assert ops(kept).count("transpose") == 3


def test_a_norm_of_all_channels_needs_no_transposes():
    net = Nchw((1, 3, 6, 5))
    flat = net.reshape(net.conv("x"), 1, 1, 120)
    axis = MeanAttrs((2,), keep_dims=True)
    centred = net.op("sub", (flat, net.op("mean", (flat,), axis)), AddAttrs())
    variance = net.op("mean", (net.op("mul", (centred, centred), MulAttrs()),), axis)
    raised = net.op("add", (variance, net.random(1)), AddAttrs())
    normal = net.op("mul", (net.op("rsqrt", (raised,)), centred), MulAttrs())
    y = net.op("mul", (net.reshape(normal, 1, 4, 6, 5), net.random(4, 1, 1)), MulAttrs())
    _, graph = settled(net, net.conv(y))
    assert not {"transpose", "reshape"} & set(ops(graph))


def test_an_input_that_is_reshaped_to_an_output_stays_where_it_is():
    for shape in ((1, 3, 6, 5), (1, 3, 30), (1, 1, 3, 6, 5)):
        net = Nchw((1, 3, 6, 5))
        _, graph = settled(net, net.conv("x"), net.reshape(net.op("tanh", ("x",)), *shape))
        assert ops(graph).count("transpose") <= 1
        net = Nchw((1, 3, 6, 5))
        graph = optimize(net.graph(net.conv("x"), net.reshape("x", *shape)))
        assert ops(graph).count("transpose") <= 1
