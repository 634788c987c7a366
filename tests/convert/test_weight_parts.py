"""Weights wider than int8 become parts within int8, on an input whose channels are repeated."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.convert.quantized_onnx import both, quantized, residual_net, worst_steps
from tests.graphs import Builder
from tinyrt.backends.c.blocks.words import fit_halves
from tinyrt.convert.weight_parts import MAX_RUNS, in_parts, least_of, parts_of
from tinyrt.ir import Graph
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.transpose_conv import TransposeConvAttrs

SAMPLES = np.random.default_rng(3).standard_normal((12, 3, 13, 11)).astype(np.float32)


@pytest.mark.parametrize(
    ("steps", "parts"),
    [
        ([-128, 127], [[-128, 127]]),
        ([-129, 5], [[-128, 5], [-1, 0]]),
        ([255, -255], [[127, -128], [127, -127], [1, 0]]),
        ([0], [[0]]),
    ],
)
def test_parts_are_within_int8_and_add_up(steps, parts):
    assert [p.tolist() for p in parts_of(np.array(steps, np.int16))] == parts


def rewritten(op, attrs, x_shape, steps):
    """The op on real weights, and the same in parts: both answers, and the new ops."""
    b = Builder(x_shape)
    name = b.constant(steps.astype(np.float32))
    y = b.op(op, ("x", name), attrs)
    graph = b.graph(y)
    node = next(iter(graph.bound()))
    values = {}

    def add(value):
        named = replace(value, name=graph.unique_name(value.name, values))
        values[named.name] = named
        return named

    parts = parts_of(steps)
    made = in_parts(node, node.input(0), parts, add)
    stacked = add(replace(node.input(1), data=made.weights.astype(np.float32)))
    stacked = values[stacked.name] = replace(stacked, shape=made.weights.shape)
    last = replace(made.node, inputs=(made.node.inputs[0], stacked.name))
    new: Graph = replace(graph, nodes=(*made.nodes, last), values={**graph.values, **values})
    x = np.random.default_rng(2).integers(-9, 9, x_shape).astype(np.float32)
    (wanted,), (found,) = (evaluate(g, {"x": x}).values() for g in (graph, new))
    np.testing.assert_array_equal(found, wanted)
    assert np.abs(made.weights).max() <= 128
    return [n.op for n in new.nodes], made


def wide(shape, channels):
    """Small weights, but for one of 200 in each of these input channels."""
    steps = np.random.default_rng(1).integers(-50, 50, shape).astype(np.int16)
    steps[(0,) * (len(shape) - 1) + (list(channels),)] = 200
    return steps


@pytest.mark.parametrize(
    ("channels", "slices", "width"),
    [
        ((3,), 1, 20 + 1),
        ((3, 4, 9), 2, 20 + 3),
        (range(20), 0, 20 + 20),
        (range(0, 2 * MAX_RUNS, 2), MAX_RUNS, 20 + MAX_RUNS),
        (range(0, 2 * MAX_RUNS + 1, 2), 1, 20 + 2 * MAX_RUNS + 1),
    ],
)
@pytest.mark.parametrize("op", ["conv2d", "fully_connected", "transpose_conv"])
def test_only_channels_with_wide_weights_are_repeated(op, channels, slices, width):
    attrs, x, w = {
        "conv2d": (Conv2dAttrs(padding="SAME"), (1, 4, 5, 20), (3, 2, 2, 20)),
        "fully_connected": (FullyConnectedAttrs(), (2, 20), (3, 20)),
        "transpose_conv": (TransposeConvAttrs((4, 5)), (1, 4, 5, 20), (3, 2, 2, 20)),
    }[op]
    ops, made = rewritten(op, attrs, x, wide(w, channels))
    assert ops == ["slice"] * slices + ["concatenation", op]
    assert made.weights.shape == (*w[:-1], width)
    assert made.channel_axis is None


def test_a_dense_layer_on_an_image_reads_rows():
    ops, _ = rewritten("fully_connected", FullyConnectedAttrs(), (2, 4, 5), wide((3, 20), [7]))
    assert ops == ["reshape", "slice", "concatenation", "fully_connected"]


@pytest.mark.parametrize(
    ("op", "attrs", "w"),
    [
        ("conv2d", Conv2dAttrs((2, 1), "SAME"), (6, 3, 2, 2)),
        ("depthwise_conv2d", DepthwiseConv2dAttrs((2, 1), "SAME", (6, 1)), (1, 3, 2, 8)),
    ],
)
def test_channels_of_a_group_lie_side_by_side(op, attrs, w):
    steps = np.random.default_rng(1).integers(-255, 256, w).astype(np.int16)
    ops, made = rewritten(op, attrs, (1, 7, 5, 4), steps)
    assert ops == ["reshape", "concatenation", "reshape", "conv2d"]
    assert made.node.attrs == Conv2dAttrs((2, 1), "SAME", attrs.dilation)
    assert made.channel_axis == (0 if op == "depthwise_conv2d" else None)


ROWS = st.integers(1, 9)


@settings(max_examples=300, deadline=None)
@given(
    size=st.tuples(ROWS, ROWS),
    kernel=st.tuples(st.integers(1, 5), st.integers(1, 4)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.sampled_from(["SAME", "VALID"]),
    dilation=st.tuples(st.integers(1, 4), st.integers(1, 2)),
    times=st.integers(1, 2),
    bound=st.sampled_from([130, 255, 300, 500]),
)
def test_rows_of_a_depthwise_layer_are_repeated(
    size, kernel, stride, padding, dilation, times, bound
):
    reach = [(n - 1) * step + 1 for n, step in zip(kernel, dilation, strict=True)]
    assume(padding == "SAME" or (size[0] >= reach[0] and size[1] >= reach[1]))
    attrs = DepthwiseConv2dAttrs(stride, padding, dilation)
    steps = np.random.default_rng(1).integers(-bound, bound + 1, (1, *kernel, 3 * times))
    steps[0, 0, 0, 0] = bound
    ops, made = rewritten("depthwise_conv2d", attrs, (2, *size, 3), steps.astype(np.int16))
    assert ops == ["reshape", "concatenation", "reshape", "depthwise_conv2d"]
    assert made.channel_axis is None
    assert made.node.attrs.stride[1] == stride[1]
    assert made.node.attrs.dilation == (1, dilation[1])


@pytest.mark.parametrize(("step", "op"), [(7, "depthwise_conv2d"), (8, "conv2d")])
def test_rows_between_taps_may_make_four_times_as_many(step, op):
    attrs = DepthwiseConv2dAttrs((1, 1), "SAME", (step, 1))
    ops, _ = rewritten("depthwise_conv2d", attrs, (1, 9, 5, 4), wide((1, 2, 1, 4), [0]))
    assert ops[-1] == op


@pytest.mark.parametrize(
    ("weights", "least"),
    [
        ([-1, -129, -128], -127),
        ([-1, -200, -128], -127),
        ([-1, -128, 128], -127),
        ([-1, -127, 128], -128),
        ([0, -129, -128], -128),
        ([-129, -1, -128], -128),
    ],
)
def test_a_weight_of_a_convolution_fits_beside_its_neighbour(weights, least):
    """Kernels multiply by two channels' weights at once; a lone last channel has no neighbour."""
    steps = np.array(weights, np.int16).reshape(3, 1, 1, 1)
    assert least_of("conv2d", steps) == least
    assert least_of("depthwise_conv2d", steps) == least_of("conv2d", steps.clip(-128, 127)) == -128
    parts = parts_of(steps, least)
    assert fit_halves(parts[0].reshape(3, 1).astype(np.int8))
    np.testing.assert_array_equal(sum(parts), steps)


@pytest.mark.parametrize("form", ["qdq", "qoperator"])
@pytest.mark.parametrize("per_channel", [True, False])
def test_weights_on_uint8_around_any_zero_point_compute_in_integers(tmp_path, form, per_channel):
    """As onnxruntime quantises by default; every op is within a step."""
    path = tmp_path / "q.onnx"
    quantized(residual_net(), path, SAMPLES, form=form, weights="uint8", per_channel=per_channel)
    rounding, integers = both(path)
    assert all(n.output.dtype.value == "int8" for n in integers.bound())
    if not per_channel:
        assert any(n.op == "concatenation" for n in integers.nodes)
    for x in SAMPLES[:4]:
        feeds = {rounding.inputs[0]: x[None].transpose(0, 2, 3, 1)}
        assert max(worst_steps(rounding, integers, feeds).values()) <= 1
