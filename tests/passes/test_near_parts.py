"""One part of a condition alone is not met: found by ``tools.differing``."""

import math
from itertools import product

import numpy as np
import pytest

from tests.passes.misses import Miss, check
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tinyrt.convert.passes.cut_before_turn import _pieces
from tinyrt.convert.passes.fold_before import _rescaled
from tinyrt.convert.passes.heads import _is_part as is_image
from tinyrt.convert.passes.merge_parallel import _is_plain
from tinyrt.convert.passes.recognise import DIVIDE_BY_ROOT, RECOGNISE_SOFTMAX
from tinyrt.ir import QParams, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.quantize.methods.heads import _is_part as is_head

ROW = (2, 4)


def erf_gelu(net: Net, factor: float) -> str:
    grown = net.add(net.op("erf", (net.mul("x", factor),)), 1.0)
    return net.mul(net.mul("x", grown), 0.5)


def gated(net: Net, kind: str, gate: str, factor: float = 1.0) -> str:
    return net.mul(net.mul("x", net.op(kind, (gate,))), factor)


def by_sum_of(net: Net, x: str, y: str) -> str:
    total = net.op("sum", (net.op("exp", (y,)),), ReduceAttrs((1,), keep_dims=True))
    return net.div(net.op("exp", (x,)), total)


def picked_and_cut(net: Net, size: tuple[int, int], strides: tuple[int, int]) -> str:
    gathered = net.op("gather", ("x",), GatherAttrs(1, (3, 0, 2, 1), (4,)))
    return net.op("slice", (gathered,), SliceAttrs((0, 0), size, strides))


MISSES = {
    "an erf of another factor": Miss("recognise_gelu", (ROW,), lambda net: erf_gelu(net, 0.6)),
    "a gate of another shift": Miss(
        "recognise_hard_swish",
        (ROW,),
        lambda net: gated(net, "relu_0_to_1", net.add(net.mul("x", 1 / 6), 0.4)),
    ),
    "a gate of another slope": Miss(
        "recognise_hard_swish",
        (ROW,),
        lambda net: gated(net, "relu_0_to_1", net.add(net.mul("x", 0.2), 0.5)),
    ),
    "a gate without a slope": Miss(
        "recognise_hard_swish",
        (ROW,),
        lambda net: gated(net, "relu_0_to_1", net.add("x", 0.5)),
    ),
    "a gate without a shift": Miss(
        "recognise_hard_swish",
        (ROW,),
        lambda net: gated(net, "relu_0_to_1", net.mul("x", 1 / 6)),
    ),
    "2 added in front of a gate": Miss(
        "recognise_hard_swish", (ROW,), lambda net: gated(net, "relu6", net.add("x", 2.0), 1 / 6)
    ),
    "nothing added in front of a gate": Miss(
        "recognise_hard_swish", (ROW,), lambda net: gated(net, "relu6", "x", 1 / 6)
    ),
    "a sum of something else": Miss(
        "recognise_softmax", (ROW, ROW), lambda net: by_sum_of(net, "x", "x1")
    ),
    "a part of picked channels and of rows": Miss(
        "merge_gathers",
        ((4, 4),),
        lambda net: picked_and_cut(net, (3, 2), (1, 1)),
        "does not pick along the axis",
    ),
    "picked channels of every second row": Miss(
        "merge_gathers",
        ((1, 4),),
        lambda net: picked_and_cut(net, (1, 2), (2, 1)),
        "does not pick along the axis",
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_the_pass_leaves_it(name):
    check(MISSES[name])


def test_a_softmax_of_a_difference_that_grows_keeps_the_difference():
    net = Net((1, 4), (2, 1))
    exponential = net.op("exp", (net.op("sub", ("x", "x1"), AddAttrs()),))
    total = net.op("sum", (exponential,), ReduceAttrs((1,), keep_dims=True))
    graph, _ = apply(net.graph(net.div(exponential, total)), RECOGNISE_SOFTMAX)
    assert ops(graph)[-1] == "softmax"
    assert graph.nodes[-1].inputs[0] == graph.nodes[0].output


def test_a_reciprocal_root_keeps_its_dimensions():
    net = Net(ROW)
    one = net.constant(np.ones((1, 1, 1), np.float32))
    root = net.op("sqrt", (net.op("exp", ("x",)),))
    graph, _ = apply(net.graph(net.div(one, root)), DIVIDE_BY_ROOT)
    assert ops(graph)[-2:] == ["rsqrt", "mul"]


def test_pieces_of_a_cut_are_whole_rows_of_its_parts():
    """(2, 3) rows of 4: a cut takes some of the first dimension, or all there is."""
    numbers = np.arange(24).reshape(2, 3, 4)
    for begin, size in product(range(6), range(1, 7)):
        if begin + size > 6:
            continue
        pieces = _pieces((2, 3, 4), (6, 4), SliceAttrs((begin, 0), (size, 4), (1, 1)))
        assert (pieces is None) is bool(begin % 3 or size % 3)
        if pieces is not None:
            taken = numbers[tuple(slice(p.begin, p.begin + p.size) for p in pieces)]
            expected = numbers.reshape(6, 4)[begin : begin + size]
            np.testing.assert_array_equal(taken.reshape(-1, 4), expected)


IMAGES, ALL, NONE = (2, 5, 4, 3), (1, 1, 1, 1), (0, 0, 0, 0)
CUTS = {
    "rows and columns": (SliceAttrs((0, 1, 1, 0), (2, 3, 2, 3), ALL), "rows"),
    "one image": (SliceAttrs((1, 0, 0, 0), (1, 5, 4, 3), ALL), "image"),
    "one image, dropped": (SliceAttrs((1, 0, 0, 0), (1, 5, 4, 3), ALL, (0,)), "image"),
    "one row, dropped": (SliceAttrs((0, 1, 0, 0), (2, 1, 4, 3), ALL, (1,)), ""),
    "channels": (SliceAttrs((0, 0, 0, 1), (2, 5, 4, 2), ALL), "channels"),
    "one channel, dropped": (SliceAttrs((0, 0, 0, 1), (2, 5, 4, 1), ALL, (3,)), ""),
    "channels of some rows": (SliceAttrs((0, 1, 0, 1), (2, 3, 4, 2), ALL), ""),
    "every second channel": (SliceAttrs(NONE, (2, 5, 4, 2), (1, 1, 1, 2)), ""),
    "every second row": (SliceAttrs(NONE, (2, 3, 4, 3), (1, 2, 1, 1)), ""),
    "backwards": (SliceAttrs((0, 4, 0, 0), IMAGES, (1, -1, 1, 1)), ""),
    "one image backwards": (SliceAttrs((1, 0, 3, 0), (1, 5, 4, 3), (1, 1, -1, 1)), ""),
}
"""Cuts, and what they take alone of all images."""


@pytest.mark.parametrize("name", CUTS)
def test_what_a_cut_takes(name):
    attrs, takes = CUTS[name]
    net = Net(IMAGES)
    graph = net.graph(net.op("slice", ("x",), attrs))
    (node,) = graph.nodes
    assert _is_plain(graph, node) is (takes == "rows")
    assert is_image(graph, node) is (takes == "image")
    assert is_head(node, graph.value("x")) is (takes == "channels")


@pytest.mark.parametrize(
    ("q", "factor", "scales"),
    [
        (QParams((0.5, 0.25), 0, 0), [2.0, 2.0], (1.0, 0.5)),
        (QParams((0.5,)), [2.0, 4.0], None),
        (QParams((0.5,)), [-2.0, -2.0], None),
        (QParams((0.5,)), [0.0, 0.0], None),
        (QParams((0.5,)), [math.ulp(0.0)] * 2, None),
        (None, [2.0, 2.0], None),
    ],
)
def test_one_factor_above_zero_scales_a_grid(q, factor, scales):
    weights = Value.constant("w", np.ones((2, 2), np.float32), q)
    found = _rescaled(weights, np.array(factor))
    assert (None if found is None else found.scales) == scales
