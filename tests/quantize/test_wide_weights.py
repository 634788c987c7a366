"""Layers that bring weights wider than int8: which of their channels compute in parts."""

import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.sampling import sampled
from tinyrt.interpreter import Model
from tinyrt.ir import DType, QParams, RewriteLog
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.quantize.config import QuantizationWarning
from tinyrt.quantize.imported.prequantized import quantize_on_own_grids
from tinyrt.quantize.imported.wide import STEP

CHANNELS, TIMES = 12, 2
FINE, COARSE = FakeQuantizeAttrs(1 / 32, -3), FakeQuantizeAttrs(1 / 8, 5)
X = np.random.default_rng(5).normal(size=(1, 6, 5, CHANNELS)).astype(np.float32)


def layer(
    wide,
    op="depthwise_conv2d",
    scales=(1 / 512,),
    bias=True,
    grids=(COARSE,),
    dilation=(1, 1),
):
    """A layer between roundings; weights of these input channels are wider than int8."""
    b, rng = Builder(X.shape), np.random.default_rng(0)
    depthwise = op == "depthwise_conv2d"
    shape = (1, 3, 3, CHANNELS * TIMES) if depthwise else (CHANNELS, 3, 3, CHANNELS)
    steps = rng.integers(-128, 128, shape)
    for channel in wide:
        steps[0, 0, 0, channel * (TIMES if depthwise else 1)] = rng.choice([-200, 201])
    axis = 3 if depthwise else 0
    per_channel = np.resize(scales, shape[axis])
    along = [-1 if i == axis else 1 for i in range(4)]
    w = b.constant((steps * per_channel.reshape(along)).astype(np.float32))
    q = QParams(scales) if len(scales) == 1 else QParams(tuple(per_channel.tolist()), 0, axis)
    b.values[w] = replace(b.values[w], q=q)
    x = b.op("fake_quantize", ("x",), FINE)
    names = (x, w, b.constant(rng.normal(size=shape[axis]).astype(np.float32)))
    kind = DepthwiseConv2dAttrs if depthwise else Conv2dAttrs
    attrs = kind(padding="SAME", dilation=dilation)
    y = b.op(op, names if bias else names[:2], attrs)
    return b.graph(*(b.op("fake_quantize", (y,), grid) for grid in grids))


def check(graph, log=None, often=0.02):
    """The integer graph, whose answers are within a step of the rounded ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuantizationWarning)
        integers = quantize_on_own_grids(graph, log)
    wanted = evaluate(graph, {"x": X})
    found = Model(integers, backend="reference").run({"x": X})
    for (name, real), value in zip(wanted.items(), found.values(), strict=True):
        off = np.abs(value - real) / integers.value(name).q.scale
        assert off.max() < 1.01
        assert np.mean(off > 0.01) < often
    return integers


PARTED = [((0,), 1, 1), ((11,), 1, 1), ((4,), 2, 1), ((2, 3, 7), 3, 2), ((1, 5, 9), 4, 3)]
"""Wide channels, and how many layers stand for those of one filter each, and for the others."""


SCALES = [(1 / 512,), (1 / 512, 1 / 300, 1 / 700)]
CASES = [
    (scales, bias, *parted) for scales in SCALES for bias in (True, False) for parted in PARTED
]
"""Of which every fourth one is a sample: each of those above once, with other weights."""


@pytest.mark.parametrize(
    ("scales", "bias", "wide", "depthwise", "repeated"), CASES[:: sampled(4, 1)]
)
def test_only_wide_channels_of_a_depthwise_layer_are_in_parts(
    wide, depthwise, repeated, scales, bias
):
    log = RewriteLog()
    graph = layer(wide, scales=scales, bias=bias)
    integers = check(graph, log)
    assert all(n.output.dtype is DType.INT8 for n in integers.bound())
    ops = Counter(n.op for n in integers.nodes)
    assert (ops["depthwise_conv2d"], ops["conv2d"]) == (depthwise + repeated, 0)
    doubled = [n for n in integers.nodes if getattr(n.attrs, "stride", ()) == (2, 1)]
    assert len(doubled) == repeated
    assert not ops["quantize"]
    assert len({n.name for n in integers.nodes}) == len(integers.nodes)
    assert integers.outputs == graph.outputs
    (node,) = (n for n in graph.nodes if n.op == "depthwise_conv2d")
    reason = "its weights are wider than int8, and so sums of 2 parts"
    assert log.reasons == {(STEP, node.name): reason}


@pytest.mark.parametrize(
    ("wide", "repeated"), [(range(4), 1), (range(CHANNELS), 1), ((0, 11, 5, 7), 4)]
)
def test_a_depthwise_layer_with_many_wide_channels_computes_in_integers(wide, repeated):
    integers = check(layer(wide))
    assert all(n.output.dtype is DType.INT8 for n in integers.bound())
    strides = [n.attrs.stride for n in integers.nodes if n.op == "depthwise_conv2d"]
    assert strides.count((2, 1)) == repeated


@pytest.mark.parametrize("scales", SCALES)
def test_a_depthwise_layer_whose_rows_lie_far_apart_becomes_one_of_groups(scales):
    near = check(layer((1, 9), scales=scales, dilation=(5, 1)))
    assert "conv2d" not in [n.op for n in near.nodes]
    integers = check(layer((1, 9), scales=scales, dilation=(6, 1)))
    assert all(n.output.dtype is DType.INT8 for n in integers.bound())
    assert [n.op for n in integers.nodes if "conv2d" in n.op].count("conv2d") >= 1
    axes = {n.input(1).q.axis for n in integers.bound() if n.op == "conv2d"}
    assert axes == ({None} if len(scales) == 1 else {0})


@pytest.mark.parametrize("wide", [(3,), range(CHANNELS)])
def test_other_layers_are_in_parts_whatever_the_number(wide):
    integers = check(layer(wide, "conv2d"))
    assert Counter(n.op for n in integers.nodes)["conv2d"] == 1
    assert all(n.output.dtype is DType.INT8 for n in integers.bound())


def test_a_second_rounding_is_reached_from_the_first_one():
    """What is rounded twice is off by a step more often."""
    integers = check(layer((4,), grids=(FINE, COARSE)), often=0.3)
    assert [n.op for n in integers.nodes][-2:] == ["concatenation", "quantize"]
