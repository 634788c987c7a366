"""Which channels go, and why; padding, sharing, and what keeps them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.channels.nets import IntegerNet
from tests.convert.channels.test_random_nets import assert_same
from tests.graphs import Builder
from tinyrt.convert.channels.layers import fits
from tinyrt.convert.passes import optimize
from tinyrt.convert.passes.known import CUT_CHANNELS, apply_known
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Graph, QParams, RewriteLog
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate

DEAD = (1, 2, 4, 7)
"""Channels whose weights are 0: of eight, four stay."""


def net_of(shape=(1, 4, 4, 3), dtype=DType.INT8) -> IntegerNet:
    net = IntegerNet(shape, dtype=dtype)
    net.values["x"] = replace(net.values["x"], q=QParams((0.05,), 3 if dtype is DType.INT8 else 0))
    return net


def dense_weights(net: IntegerNet, shape, zero=(), axis=0, dtype=DType.INT8) -> str:
    """Weights without zeros, but for some slices along an axis."""
    w = net.rng.integers(1, 8, shape).astype(np.int8)
    w[(slice(None),) * axis + (list(zero),)] = 0
    name = net.constant(w)
    net.values[name] = replace(net.values[name], q=QParams((0.02,)), dtype=dtype)
    return name


def stem(net: IntegerNet, q: QParams, dead=DEAD, dtype=DType.INT8) -> str:
    """Eight channels of x, of which some have a bias only."""
    w = dense_weights(net, (8, 1, 1, net.shape("x")[-1]), dead, dtype=dtype)
    return net.op("conv2d", ("x", w, net.bias(8, 600)), Conv2dAttrs(), q)


def head(net: IntegerNet, x: str, size: int = 1, bias: bool = True, **attrs) -> str:
    w = dense_weights(net, (4, size, size, net.shape(x)[-1]))
    biases = (net.bias(4),) if bias else ()
    return net.op("conv2d", (x, w, *biases), Conv2dAttrs(**attrs), QParams((0.5,), 0))


def cut(graph: Graph) -> tuple[Graph, RewriteLog]:
    """The smaller graph, whose answers have stayed, in a file, too."""
    log = RewriteLog()
    after = apply_known(graph, (CUT_CHANNELS,), log)
    assert_same(graph, after)
    assert_same(graph, parse_tflite(write_tflite(after), name="cut"))
    return after, log


def constants_of(graph: Graph, y: str) -> list[int]:
    """What the dead channels answer."""
    inner = replace(graph, outputs=(y,))
    found = evaluate(inner, {"x": np.zeros((1, 4, 4, 3), np.int8)})[y]
    return [int(v) for v in found[0, 0, 0, list(DEAD)]]


Q = QParams((0.05,), 5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weights", [DType.INT8, DType.INT4])
def test_channels_without_weights_go_and_their_shares_join_the_bias(bias, weights):
    net = net_of()
    y = stem(net, Q, dtype=weights)
    graph = net.graph(head(net, y, bias=bias))
    after, log = cut(graph)
    assert after.value(y).shape == (1, 4, 4, 4)
    first, second = after.nodes
    assert after.value(first.inputs[1]).dtype is weights
    assert after.value(second.inputs[1]).shape == (4, 1, 1, 4)
    assert len(second.inputs) == 3
    numbers = constants_of(graph, y)
    assert numbers[0] == numbers[1]
    told = [f"{c}: always {v}, all weights are 0" for c, v in zip((4, 7), numbers[2:], strict=True)]
    told.insert(0, f"1-2: always {numbers[0]}, all weights are 0")
    assert log.reasons == {(CUT_CHANNELS, y): "4 of 8 channels go: " + "; ".join(told)}


def test_sums_of_64_bits_take_shares_too():
    net = net_of(dtype=DType.INT16)
    y = stem(net, QParams((0.001,)))
    after, _ = cut(net.graph(head(net, y, bias=False)))
    assert after.value(y).shape == (1, 4, 4, 4)
    assert after.value(after.nodes[1].inputs[2]).dtype is DType.INT64


@pytest.mark.parametrize(
    ("zero_point", "padding", "left"),
    [(5, "SAME", 8), (5, "VALID", 4), (None, "SAME", 4)],
    ids=["another number", "no padding", "the padding's number"],
)
def test_padding_of_another_number_keeps_a_constant_channel(zero_point, padding, left):
    """At a border, fewer taps read a constant than inside."""
    for layer in ("conv2d", "depthwise_conv2d"):
        net = net_of()
        y = stem(net, Q)
        # Without a bias, dead channels answer with the zero point.
        if zero_point is None:
            node = net.nodes[-1]
            net.nodes[-1] = replace(node, inputs=node.inputs[:2])
        if layer == "conv2d":
            z = head(net, y, 3, padding=padding)
        else:
            w = dense_weights(net, (1, 3, 3, 8), axis=3)
            z = net.op(layer, (y, w), DepthwiseConv2dAttrs(padding=padding), QParams((0.1,), 0))
            z = head(net, z)
        after, _ = cut(net.graph(z))
        assert after.value(y).shape[-1] == left


def test_a_channel_that_only_weights_of_zero_read_goes():
    net = net_of()
    y = stem(net, Q, dead=())
    w = dense_weights(net, (4, 1, 1, 8), (0, 3, 5, 6), axis=3)
    z = net.op("conv2d", (y, w), Conv2dAttrs(), QParams((0.5,), 0))
    after, log = cut(net.graph(z))
    assert after.value(y).shape[-1] == 4
    want = "4 of 8 channels go: 0, 3, 5-6: all that reads them multiplies by 0"
    assert log.reasons == {(CUT_CHANNELS, y): want}


def test_a_tensor_that_cannot_fill_kernels_keeps_no_more_than_it_needs():
    net = net_of()
    w = dense_weights(net, (7, 1, 1, 3), (2,))
    y = net.op("conv2d", ("x", w, net.bias(7, 600)), Conv2dAttrs(), Q)
    after, _ = cut(net.graph(head(net, y)))
    assert after.value(y).shape[-1] == 6
    assert after.value(after.nodes[0].inputs[1]).shape == (6, 1, 1, 3)


def test_a_channel_behind_constants_and_one_within_its_clamp_go_by_their_reasons():
    net = net_of()
    y = stem(net, QParams((0.05,), -128))
    w = net.constant(np.ones((1, 1, 1, 8), np.int8))
    net.values[w] = replace(net.values[w], q=QParams((0.001,)))
    # Far below: what comes from the channels 0, 3, 5 and 6 is 0 after the clamp.
    low = net.constant(np.where(np.isin(np.arange(8), DEAD), 0, -(10**6)).astype(np.int32))
    attrs = DepthwiseConv2dAttrs(activation="RELU")
    z = net.op("depthwise_conv2d", (y, w, low), attrs, QParams((0.05,), -128))
    after, log = cut(net.graph(head(net, z)))
    assert after.value(z).shape[-1] == 4
    kept = [c for c in range(8) if c not in (0, 1, 2, 3)]
    assert f"{len(kept)} of 8 channels go" in log.reasons[CUT_CHANNELS, z]
    assert "always -128, all that they read is constant" in log.reasons[CUT_CHANNELS, z]
    assert "always -128, no sum leaves the clamp" in log.reasons[CUT_CHANNELS, z]


def test_a_residual_sum_keeps_what_either_side_needs():
    net = net_of()
    y = stem(net, Q)
    z = net.op("conv2d", (y, dense_weights(net, (8, 1, 1, 8), (0, 1, 2, 3))), Conv2dAttrs(), Q)
    total = net.op("add", (y, z), AddAttrs(), Q)
    after, _ = cut(net.graph(head(net, total)))
    # 1 and 2 are constant on both sides; two more fill no four.
    assert after.value(total).shape[-1] == 8
    other = net_of()
    y = stem(other, Q)
    z = other.op("conv2d", (y, dense_weights(other, (8, 1, 1, 8), DEAD)), Conv2dAttrs(), Q)
    after, _ = cut(other.graph(head(other, other.op("add", (y, z), AddAttrs(), Q))))
    assert {v.shape[-1] for v in after.values.values() if v.name in (y, z)} == {4}


def test_shared_weights_are_cut_for_each_reader():
    net = net_of()
    first, second = stem(net, Q), stem(net, Q, dead=(0, 3, 5, 6))
    shared = dense_weights(net, (4, 1, 1, 8))
    a, b = (net.op("conv2d", (x, shared), Conv2dAttrs(), Q) for x in (first, second))
    graph = net.graph(a, b)
    after, _ = cut(graph)
    left, right = (after.value(n.inputs[1]) for n in after.nodes if n.outputs[0] in (a, b))
    assert left.name != right.name
    columns = graph.value(shared).data[:, 0, 0]
    np.testing.assert_array_equal(left.data[:, 0, 0], columns[:, [0, 3, 5, 6]])
    np.testing.assert_array_equal(right.data[:, 0, 0], columns[:, [1, 2, 4, 7]])


def test_readers_that_agree_share_what_is_left():
    net = net_of()
    y = stem(net, Q)
    shared, biases = dense_weights(net, (4, 1, 1, 8)), (net.bias(4), net.bias(4))
    a, b = (net.op("conv2d", (y, shared, bias), Conv2dAttrs(), Q) for bias in biases)
    after, _ = cut(net.graph(a, b))
    names = {node.inputs[1] for node in after.nodes if node.outputs[0] in (a, b)}
    assert len(names) == 1


def test_an_empty_bias_stays_empty():
    net = net_of()
    y = stem(net, Q)
    w = dense_weights(net, (1, 1, 1, 8), axis=3)
    z = net.op("depthwise_conv2d", (y, w), DepthwiseConv2dAttrs(), Q)
    net.nodes[-1] = replace(net.nodes[-1], inputs=(y, w, ""))
    after, _ = cut(net.graph(head(net, z)))
    assert after.value(z).shape[-1] == 4
    assert after.nodes[1].inputs[2] == ""


def test_a_reshape_that_mixes_channels_keeps_them():
    net = net_of((1, 3, 4, 3))
    y = stem(net, Q)
    flat = net.op("reshape", (y,), ReshapeAttrs((8, 12)))
    w = dense_weights(net, (4, 12))
    graph = net.graph(net.op("fully_connected", (flat, w), FullyConnectedAttrs(), Q))
    assert apply_known(graph, (CUT_CHANNELS,)) is graph


def test_a_new_bias_has_the_scales_of_the_channels_that_stay():
    net = net_of()
    y = stem(net, Q)
    w = dense_weights(net, (8, 1, 1, 8), (0, 1, 2, 3))
    scales = tuple(float(s) for s in np.float32(0.01) * np.arange(1, 9, dtype=np.float32))
    net.values[w] = replace(net.values[w], q=QParams(scales, 0, 0))
    z = net.op("conv2d", (y, w), Conv2dAttrs(), Q)
    after, _ = cut(net.graph(head(net, z)))
    weights, bias = (after.value(name) for name in after.nodes[1].inputs[1:])
    assert weights.q.scales == scales[4:]
    want = np.float32(0.05) * np.float32(scales[4:])
    np.testing.assert_array_equal(np.float32(bias.q.scales), want)


def test_a_constant_that_is_joined_twice_is_cut_for_each_place():
    net = net_of()
    y, twice = stem(net, Q, dead=()), net.number((1, 4, 4, 4), Q)
    joined = net.op("concatenation", (twice, y, twice), ConcatenationAttrs(3))
    w = dense_weights(net, (4, 1, 1, 16), (0, 1, 4, 5, 6, 7, 14, 15), axis=3)
    after, _ = cut(net.graph(net.op("conv2d", (joined, w), Conv2dAttrs(), Q)))
    assert after.value(joined).shape[-1] == 8
    first, _, last = after.nodes[1].inputs
    assert first != last


def test_a_float_model_with_its_own_grids_is_not_cut():
    b = Builder((1, 4, 4, 3))
    w = b.constant(np.zeros((8, 1, 1, 3), np.float32))
    y = b.op("fake_quantize", (b.op("conv2d", ("x", w), Conv2dAttrs()),), FakeQuantizeAttrs(0.1))
    second = b.constant(np.ones((4, 1, 1, 8), np.float32))
    after = optimize(b.graph(b.op("conv2d", (y, second), Conv2dAttrs())))
    assert after.value(after.nodes[0].outputs[0]).shape[-1] == 8


@pytest.mark.parametrize("reader", ["output", "groups", "turned weights"])
def test_what_needs_all_channels_keeps_them(reader):
    net = net_of()
    y = stem(net, Q)
    if reader == "output":
        graph = net.graph(head(net, y), y)
    elif reader == "groups":
        w = dense_weights(net, (4, 1, 1, 4))
        graph = net.graph(net.op("conv2d", (y, w), Conv2dAttrs(), Q))
    else:
        net.values["w"] = replace(net.values["x"], name="w", shape=(1, 1, 1, 8), q=QParams((0.1,)))
        net.inputs = (*net.inputs, "w")
        graph = net.graph(net.op("depthwise_conv2d", (y, "w"), DepthwiseConv2dAttrs(), Q))
    assert apply_known(graph, (CUT_CHANNELS,)) is graph


@pytest.mark.parametrize("is_first", [False, True])
def test_one_channel_stays_of_a_tensor_and_of_a_constant_that_is_joined(is_first):
    net = net_of()
    y, number = stem(net, Q, dead=range(8)), net.number((1, 4, 4, 3), Q)
    parts = (number, y) if is_first else (y, number)
    joined = net.op("concatenation", parts, ConcatenationAttrs(3))
    w = dense_weights(net, (4, 1, 1, 11), range(11), axis=3)
    after, _ = cut(net.graph(net.op("conv2d", (joined, w), Conv2dAttrs(), Q)))
    assert after.value(joined).shape[-1] >= 2
    assert min(v.shape[-1] for v in after.values.values()) >= 1


def test_a_bias_without_room_keeps_the_channels_and_says_so():
    net = net_of()
    y = stem(net, Q)
    w = net.constant(np.ones((4, 1, 1, 8), np.int8))
    net.values[w] = replace(net.values[w], q=QParams((0.02,)))
    full = net.constant(np.full(4, -(2**31), np.int32))
    z = net.op("conv2d", (y, w, full), Conv2dAttrs(), QParams((0.5,), 0))
    graph, log = net.graph(z), RewriteLog()
    assert sum(constants_of(graph, y)) < len(DEAD) * Q.zero_point, "they add less than 0"
    assert apply_known(graph, (CUT_CHANNELS,), log) is graph
    assert log.refused == {(CUT_CHANNELS, z): "its bias has no room for what constant channels add"}


def test_a_bias_needs_no_room_for_channels_that_go():
    net = net_of()
    y = stem(net, Q)
    w = net.constant(np.ones((8, 1, 1, 8), np.int8))
    net.values[w] = replace(net.values[w], q=QParams((0.02,)))
    full = net.constant(np.array([0] * 4 + [-(2**31)] * 4, np.int32))
    z = net.op("conv2d", (y, w, full), Conv2dAttrs(), QParams((0.002,), 0))
    read = dense_weights(net, (4, 1, 1, 8), range(4, 8), axis=3)
    graph = net.graph(net.op("conv2d", (z, read), Conv2dAttrs(), QParams((0.5,), 0)))
    after, log = cut(graph)
    assert [after.value(name).shape[-1] for name in (y, z)] == [4, 4]
    assert not log.refused


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16, DType.FLOAT32])
def test_a_bias_has_room_for_all_numbers_of_its_type(dtype):
    if dtype is DType.FLOAT32:
        net = Builder((1, 4, 4, 3))
        w = net.constant(np.ones((2, 1, 1, 3), np.float32))
    else:
        net = net_of(dtype=dtype)
        w = net.weights((2, 1, 1, 3), 0)
    node = net.graph(net.op("conv2d", ("x", w), Conv2dAttrs())).bind(0)
    limits = {DType.INT8: np.iinfo(np.int32), DType.INT16: np.iinfo(np.int64)}
    limit = limits.get(dtype, np.finfo(np.float32))
    least, most = np.array([limit.min]), np.array([limit.max])
    assert fits(node, least.astype(np.float64) if dtype is DType.FLOAT32 else least)
    assert fits(node, most.astype(np.float64) if dtype is DType.FLOAT32 else most)
    if dtype is DType.INT8:
        assert not fits(node, least.astype(np.int64) - 1)
        assert not fits(node, most.astype(np.int64) + 1)
    if dtype is DType.FLOAT32:
        assert not fits(node, np.nextafter(most.astype(np.float64), np.inf))
        assert not fits(node, np.nextafter(least.astype(np.float64), -np.inf))


def test_float_layers_lose_channels_without_weights():
    rng = np.random.default_rng(0)
    b = Builder((1, 5, 5, 3))
    w = rng.normal(size=(8, 3, 3, 3)).astype(np.float32)
    w[list(DEAD)] = 0
    bias = rng.normal(size=8).astype(np.float32)
    y = b.op("conv2d", ("x", b.constant(w), b.constant(bias)), Conv2dAttrs(activation="RELU"))
    second = b.constant(rng.normal(size=(4, 1, 1, 8)).astype(np.float32))
    graph, log = b.graph(b.op("conv2d", (y, second), Conv2dAttrs(padding="VALID"))), RewriteLog()
    after = optimize(graph, log=log)
    assert after.value(y).shape == (1, 5, 5, 4)
    assert "all weights are 0" in log.reasons[CUT_CHANNELS, y]
    x = {"x": rng.normal(size=(1, 5, 5, 3)).astype(np.float32)}
    (want,), (found,) = (tuple(evaluate(g, x).values()) for g in (graph, after))
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
    assert optimize(graph, skip=(CUT_CHANNELS,)).value(y).shape[-1] == 8


def test_visual_wake_words_keeps_a_quarter_of_its_weights(zoo):
    path = zoo / "models" / "mobilenet_vww_int8.tflite"
    graph = parse_tflite(path.read_bytes(), name="vww")
    after = apply_known(graph, (CUT_CHANNELS,))
    stored = sum(v.nbytes for v in after.values.values() if v.is_constant)
    assert stored <= 36_000  # of 241,808
    golden = np.load(zoo / "golden" / "mobilenet_vww_int8.npz")
    shape = graph.input_values[0].shape
    x = golden["inputs"].reshape(-1, *shape[1:])
    wild = np.random.default_rng(0).integers(-128, 128, (8, *shape[1:]), np.int8)
    smaller, whole = Model(after), Model(graph)
    np.testing.assert_array_equal(smaller(x).ravel(), golden["outputs"].ravel())
    np.testing.assert_array_equal(smaller(wild), whole(wild))
