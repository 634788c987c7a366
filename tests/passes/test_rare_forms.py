"""Graphs that few exporters write: each pass that applies to them keeps their results."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.passes.example_parts import grid, shuffled_pixels
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import ops
from tests.passes.test_every_pass import RULES, applied
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.ir import QParams
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

IMAGE, ROW = (1, 6, 5, 4), (2, 4)


@dataclass(frozen=True)
class Form:
    """A pass, the shape of the input, the graph's output, and the ops that are left."""

    rule: str
    shape: tuple[int, ...]
    build: Callable[[Net], str]
    left: list[str]


def dense(net: Net, x: str) -> str:
    inputs = (x, net.random(5, net.channels(x)), net.random(5))
    return net.op("fully_connected", inputs, FullyConnectedAttrs())


def grouped(net: Net, x: str) -> str:
    """Six filters, each over two of four channels."""
    return net.op("conv2d", (x, net.random(6, 3, 3, 2), net.random(6)), Conv2dAttrs())


def transposed(net: Net, x: str) -> str:
    w = net.random(3, 2, 2, net.channels(x))
    return net.op("transpose_conv", (x, w), TransposeConvAttrs((6, 5)))


def gelu_of_cube(net: Net) -> str:
    cube = net.op("pow", ("x", net.number(3.0)))
    inner = net.mul(net.add(net.mul(cube, 0.044715), "x"), math.sqrt(2 / math.pi))
    return net.mul(net.mul("x", 0.5), net.add(net.op("tanh", (inner,)), 1.0))


def softmax_of_difference(net: Net) -> str:
    """What is taken away differs from element to element."""
    e = net.op("exp", (net.op("sub", ("x", net.random(4)), AddAttrs()),))
    return net.div(e, net.op("sum", (e,), ReduceAttrs((1,), keep_dims=True)))


def by_sign(net: Net, op: str, swapped: bool, slope: str | float) -> str:
    """Whether x lies on one side of zero chooses between it and its product."""
    zero = net.number(0.0)
    truth = net.op(op, (zero, "x") if swapped else ("x", zero))
    other = net.op(slope, ("x",)) if isinstance(slope, str) else net.mul("x", slope)
    x_first = (op == "greater") is not swapped
    return net.op("select_v2", (truth, *(("x", other) if x_first else (other, "x"))))


def rounded_twice(net: Net) -> str:
    y = grid(net, "x")
    return grid(net, net.op("concatenation", (y, y), ConcatenationAttrs(1)))


def triplets(net: Net) -> str:
    first, second, third = (net.op("tanh", ("x",)) for _ in range(3))
    return net.add(net.mul(first, second), third)


def limited(op: str, limit: float) -> Callable[[Net], str]:
    return lambda net: net.op("tanh", (net.op(op, ("x", net.number(limit))),))


def known(net: Net, *truth: bool) -> str:
    """A choice between x and its product, by a condition that is constant."""
    where = net.constant(np.array(truth))
    return net.op("tanh", (net.op("select_v2", (where, "x", net.mul("x", 3.0))),))


LIMITS = {"maximum": (-np.inf, -3.4028235e38), "minimum": (np.inf, 3.4028235e38)}
"""Op -> limits that no number reaches."""

FORMS = {
    **{
        f"{op} of {limit}": Form("remove_identity", ROW, limited(op, limit), ["tanh"])
        for op, limits in LIMITS.items()
        for limit in limits
    },
    "always": Form("remove_identity", ROW, lambda net: known(net, True), ["tanh"]),
    "never": Form("remove_identity", ROW, lambda net: known(net, *[False] * 4), ["mul", "tanh"]),
    "a shift in front of a dense layer": Form(
        "fold_before",
        ROW,
        lambda net: dense(net, net.add("x", net.random(4))),
        ["fully_connected"],
    ),
    "a factor in front of groups": Form(
        "fold_before", IMAGE, lambda net: grouped(net, net.mul("x", net.random(4))), ["conv2d"]
    ),
    "a factor in front of a transposed convolution": Form(
        "fold_before",
        IMAGE,
        lambda net: transposed(net, net.mul("x", net.random(4))),
        ["transpose_conv"],
    ),
    "gelu by a power": Form("recognise_gelu", ROW, gelu_of_cube, ["gelu"]),
    "softmax of a difference": Form(
        "recognise_softmax", ROW, softmax_of_difference, ["sub", "softmax"]
    ),
    "0 > x": Form(
        "recognise_choice", ROW, lambda net: by_sign(net, "greater", True, "neg"), ["abs"]
    ),
    "0 < x": Form(
        "recognise_choice", ROW, lambda net: by_sign(net, "less", True, 0.2), ["leaky_relu"]
    ),
    "x < 0": Form("recognise_choice", ROW, lambda net: by_sign(net, "less", False, -1.0), ["abs"]),
    "a rounding of what is rounded twice": Form(
        "remove_requantise", ROW, rounded_twice, ["fake_quantize", "concatenation"]
    ),
    "three of a kind": Form("merge_duplicates", ROW, triplets, ["tanh", "mul", "add"]),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_pass_applies(form):
    net = Net(form.shape)
    graph, log = applied(net.graph(form.build(net)), RULES[form.rule], REMOVE_DEAD)
    assert form.rule in {rule for rule, _ in log.applied}
    assert ops(graph) == form.left


@pytest.mark.parametrize(
    "build",
    [
        limited("maximum", np.inf),
        limited("minimum", -3e38),
        lambda net: known(net, True, False, True, True),
        lambda net: net.op(
            "select_v2", (net.constant(np.array([[[True]]])), "x", net.number(-np.inf))
        ),
    ],
)
def test_limits_and_choices_that_matter_stay(build):
    net = Net(ROW)
    _, log = applied(net.graph(build(net)), RULES["remove_identity"])
    assert not log.applied
    assert not log.refused


def test_three_of_two_kinds_merge_one_kind_after_the_other():
    net = Net(ROW)
    outputs = [net.op(op, ("x",)) for op in ("tanh", "neg") for _ in range(3)]
    graph = net.graph(net.op("concatenation", outputs, ConcatenationAttrs(1)))
    after, log = applied(graph, RULES["merge_duplicates"])
    assert ops(after) == ["tanh", "neg", "concatenation"]
    assert log.applied == [("merge_duplicates", "tanh_1"), ("merge_duplicates", "neg_4")]


def test_indices_of_two_dimensions_keep_the_layout_around_them():
    net = Net((1, 2, 6, 5))
    turned = net.transpose(net.op("tanh", (net.transpose("x", (0, 2, 3, 1)),)), (0, 3, 1, 2))
    picked = net.op("gather", (turned,), GatherAttrs(2, (3, 0, 1, 1), (2, 2)))
    applied(net.graph(net.op("abs", (picked,))), *RULES.values())


def with_grid(graph, name, q):
    """The graph whose constant lies on a grid."""
    return replace(graph, values=graph.values | {name: replace(graph.value(name), q=q)})


def test_scales_of_weights_move_with_their_channels():
    net = Net((1, 6, 5, 3))
    graph = net.graph(shuffled_pixels(net, net.conv("x", 12)))
    scales = tuple(0.01 * (i + 1) for i in range(12))
    graph = with_grid(graph, graph.nodes[0].inputs[1], QParams(scales, 0, 0))
    after, _ = applied(graph, RULES["pixel_shuffle"])
    before, weights = (g.value(g.nodes[0].inputs[1]) for g in (graph, after))
    steps, shuffled = (v.data / np.reshape(v.q.scales, (-1, 1, 1, 1)) for v in (before, weights))
    assert weights.q.scales != scales
    for scale, step in zip(weights.q.scales, shuffled, strict=True):
        np.testing.assert_allclose(step, steps[scales.index(scale)], rtol=1e-5)


@pytest.mark.parametrize(("factor", "stays"), [(0.5, True), (1e-38, False)])
def test_weights_stay_on_their_grid_as_long_as_its_scale_is_a_number(factor, stays):
    net = Net((1, 6, 5, 3))
    y = net.conv("x", bias=False)
    graph = net.graph(net.mul(y, net.constant(np.full(4, factor, np.float32))))
    graph = with_grid(graph, graph.nodes[0].inputs[1], QParams((0.01,), 0))
    after, log = applied(graph, RULES["fold_affine"])
    assert log.applied
    q = after.value(after.nodes[0].inputs[1]).q
    assert (q is not None) is stays
    if stays:
        np.testing.assert_allclose(q.scales, 0.01 * factor)


def test_weights_on_a_grid_get_a_scale_for_each_factor():
    net = Net((1, 6, 5, 3))
    factors = np.array([0.5, -2, 4, 1], np.float32)
    graph = net.graph(net.mul(net.conv("x", bias=False), net.constant(factors)))
    graph = with_grid(graph, graph.nodes[0].inputs[1], QParams((0.01,), 0))
    after, _ = applied(graph, RULES["fold_affine"])
    q = after.value(after.nodes[0].inputs[1]).q
    assert q.axis == 0
    np.testing.assert_allclose(q.scales, 0.01 * np.abs(factors), rtol=1e-6)


def test_a_constant_that_is_turned_stays_on_its_grid():
    net = Net((1, 3, 6, 5))
    y = net.mul(net.transpose("x", (0, 2, 3, 1)), net.random(6, 5, 3))
    graph = net.graph(net.transpose(y, (0, 3, 1, 2)))
    q = QParams((0.01,), 0)
    graph = with_grid(graph, graph.nodes[1].inputs[1], q)
    after, log = applied(graph, RULES["flip_regions"])
    assert log.applied
    (mul,) = (node for node in after.nodes if node.op == "mul")
    assert after.value(mul.inputs[1]).shape[-3:] == (3, 6, 5)
    assert after.value(mul.inputs[1]).q == q
