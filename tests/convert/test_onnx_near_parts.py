"""Nodes that nearly are what an importer asks for: they answer as onnxruntime, or are refused."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from tests.convert.onnx_build import (
    OnnxModel,
    assert_as_onnxruntime,
    assert_close,
    assert_matches,
    expected,
    feeds_for,
)
from tests.convert.onnx_small import at, conv, lstm, pool, resize, up
from tests.convert.test_onnx_errors import refused
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import TinyrtError
from tinyrt.ops.shared.evaluate import evaluate

NEAR, BACK = 2**31 - 1, -(2**31)


def two_of_one_square(m):
    """Weights as they are stored, and turned: of one name, shape and place in memory."""
    x, w = m.input(2, 4), m.weights(4, 4)
    return m.op("Add", m.op("Gemm", x, w), m.op("Gemm", x, w, transB=1))


def column_behind(m, rows=3):
    return m.op("Gemm", m.input(rows, 4), m.weights(4, 3), m.weights(3, 1))


def slice_of(m, start, end, step, axis=1):
    inputs = [m.ints(n) for n in (start, end, axis, step)]
    return m.op("Slice", m.input(2, 4, 3), *inputs)


def infinite(m, **attrs):
    x = m.op("Concat", m.input(1, 3), m.const([[np.inf, -np.inf, 1.0]]), axis=1)
    return m.op("Cast", m.op("IsInf", x, **attrs), to=1)


def picked_integers(m, axis):
    """Numbers of 8 bits that a computed place picks."""
    table = m.const(np.arange(12).reshape(3, 4), np.uint8)
    place = m.op("ArgMax", m.input(1, 3), axis=1, keepdims=0)
    picked = m.op("Gather", table, place, axis=axis)
    return m.op("DequantizeLinear", picked, m.const(0.5), m.const(2, np.uint8))


def two_states(m, layout, directions=2):
    """First states of both directions of an LSTM."""
    x = m.input(*((1, 3, 4) if layout else (3, 1, 4)))
    d = directions
    h0 = m.weights(*((1, d, 2) if layout else (d, 1, 2)))
    inputs = [x, m.weights(d, 8, 4), m.weights(d, 8, 2), "", "", h0]
    way = {1: "forward", 2: "bidirectional"}[d]
    return m.op("LSTM", *inputs, outputs=3, hidden_size=2, direction=way)


def linear(m, shape, scales, **attrs):
    attrs = {"mode": "linear"} | attrs
    return m.op("Resize", m.input(*shape), "", m.const(scales), **attrs)


SAME = {
    "weights and the same turned": two_of_one_square,
    "a column behind a product": column_behind,
    "a column behind a product of one row": lambda m: m.op(
        "Gemm", m.input(3, 4), m.weights(4, 1), m.weights(3, 1)
    ),
    "a number behind a product": lambda m: m.op(
        "Gemm", m.input(3, 4), m.weights(4, 3), m.weights(1, 1)
    ),
    "weights of more dimensions": lambda m: m.op("MatMul", m.input(1, 2, 3), m.weights(1, 3, 4)),
    "weights of more dimensions than the input": lambda m: m.op(
        "MatMul", m.input(2, 3), m.weights(1, 3, 4)
    ),
    "all of it backwards": lambda m: slice_of(m, -1, BACK, -1),
    "all of it": lambda m: slice_of(m, 0, NEAR, 1),
    "infinite above": lambda m: infinite(m, detect_negative=0),
    "infinite below": lambda m: infinite(m, detect_positive=0),
    "infinite either way": infinite,
    "infinite no way": lambda m: infinite(m, detect_positive=0, detect_negative=0),
    "integers by rows": lambda m: picked_integers(m, 0),
    "a line": lambda m: linear(m, (1, 2, 4), [1, 1, 2]),
    "a mirror": lambda m: m.op("Pad", m.input(1, 3, 4), m.ints(0, 1, 2, 0, 0, 3), mode="reflect"),
    "states by direction": lambda m: two_states(m, 0),
    "a table of columns": lambda m: m.op(
        "Gather",
        m.weights(3, 4),
        m.op("ArgMax", m.input(1, 4), axis=1, keepdims=0),
        axis=1,
    ),
    "a zero that copies, and one of none": lambda m: m.op(
        "Reshape", m.input(2, 3, 4), m.ints(0, -1)
    ),
    "no zeros allowed": lambda m: at(
        m.op("Reshape", m.input(2, 3, 4), m.ints(4, 6), allowzero=1) and m, 14
    ).op("Identity", "t0"),
    "parts of given sizes": lambda m: m.op(
        "Concat",
        *[m.op("Split", m.input(1, 6), m.ints(1, 5), axis=1, outputs=2), "t0_1", "t0"],
        axis=1,
    ),
    "groups of a turned convolution": lambda m: up(m, (2, 3, 3, 3), group=2),
}


@pytest.mark.parametrize("name", SAME)
def test_it_answers_as_onnxruntime(name, tmp_path):
    assert_as_onnxruntime(SAME[name], tmp_path)


@pytest.mark.parametrize(
    ("w", "groups", "op", "stored"),
    [
        ((3, 4, 2, 3), 1, "conv2d", (3, 2, 3, 4)),
        ((3, 1, 2, 3), 1, "conv2d", (3, 2, 3, 1)),
        ((4, 1, 2, 3), 4, "depthwise_conv2d", (1, 2, 3, 4)),
        ((8, 1, 2, 3), 4, "depthwise_conv2d", (1, 2, 3, 8)),
        ((2, 2, 2, 3), 2, "conv2d", (2, 2, 3, 2)),
        ((6, 2, 2, 3), 2, "conv2d", (6, 2, 3, 2)),
        ((4, 1, 3), 4, "depthwise_conv2d", (1, 1, 3, 4)),
        ((6, 2, 3), 2, "conv2d", (6, 1, 3, 2)),
    ],
)
def test_a_group_of_one_input_channel_makes_a_convolution_depthwise(
    w, groups, op, stored, tmp_path
):
    m = OnnxModel()
    sizes = (8, 11)[-len(w) + 2 :]
    path = m.save(tmp_path, conv(m, 1, w[1] * groups, *sizes, w=w, group=groups))
    (layer,) = (node for node in read_onnx(path).bound() if "conv" in node.op)
    assert (layer.op, layer.input(1).shape) == (op, stored)
    assert_matches(path)


def batch_of_three(m, op, layout, given):
    """Both directions of a layer that keeps state, on samples with first states of their own."""
    gates, states = {"RNN": (1, 1), "GRU": (3, 1), "LSTM": (4, 2)}[op]

    def turned(array):
        return array.swapaxes(0, 1) if layout else array

    first = [turned(m.rng.normal(size=(2, 3, 5))) for _ in range(states)]
    x = m.input(*((3, 4, 6) if layout else (4, 3, 6)))
    inputs = [
        m.input(*state.shape, name=f"state{i}") if given else m.const(state)
        for i, state in enumerate(first)
    ]
    layer = [x, m.weights(2, 5 * gates, 6), m.weights(2, 5 * gates, 5), m.weights(2, 10 * gates)]
    attrs = {"hidden_size": 5, "direction": "bidirectional"} | ({"layout": 1} if layout else {})
    m.op(op, *layer, "", *inputs, outputs=1 + states, **attrs)
    return m.nodes[-1].output


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_samples_may_come_first(op, given, tmp_path):
    """Whatever has samples is turned: onnxruntime has them behind steps and directions alone."""
    first, behind = OnnxModel(14), OnnxModel(14)
    graph = read_onnx(first.save(tmp_path, *batch_of_three(first, op, 1, given)))
    feeds = feeds_for(graph)
    found = list(evaluate(graph, feeds).values())
    path = behind.save(tmp_path, *batch_of_three(behind, op, 0, given))
    every, *last = expected(path, {name: x.swapaxes(0, 1) for name, x in feeds.items()})
    assert_close(found[0], every.transpose(2, 0, 1, 3))
    for state, wanted in zip(found[1:], last, strict=True):
        assert_close(state, wanted.swapaxes(0, 1))


REGION = (0.0, 0.0, 0.1, 0.2, 1.0, 1.0, 0.8, 0.9)
RESIZED = {
    "channels": lambda m: linear(m, (1, 2, 4, 3), [1, 2, 2, 2]),
    "as many places, elsewhere": lambda m: linear(m, (1, 2, 4, 4), [1, 1, 1.2, 1.2]),
    "samples": lambda m: linear(m, (2, 1, 4, 3), [2, 1, 2, 2]),
    "a row": lambda m: linear(m, (4,), [1.5]),
    "columns of rows": lambda m: linear(m, (3, 4), [1, 1.5]),
    "one axis that shrinks, and one that grows": lambda m: linear(
        at(m, 18), (1, 2, 4, 6), [1, 1, 1.5, 0.5], antialias=1
    ),
    **{
        f"a region of as many rows, {mode}": lambda m, mode=mode: m.op(
            "Resize",
            *(m.input(1, 2, 4, 6), m.const(REGION), "", m.ints(1, 2, 4, 3)),
            mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize",
        )
        for mode in ("nearest", "linear")
    },
    "as many places of one axis": lambda m: linear(m, (1, 2, 4, 4), [1, 1, 1.2, 1], mode="cubic"),
}


@pytest.mark.parametrize("name", RESIZED)
def test_it_answers_as_the_specification_has_it(name, tmp_path):
    """onnxruntime hands on what keeps its size, whatever its scales, and resizes no channels."""
    m = OnnxModel()
    path = m.save(tmp_path, RESIZED[name](m))
    graph = read_onnx(path)
    feeds = feeds_for(graph)
    (wanted,) = ReferenceEvaluator(str(path)).run(None, feeds)
    (found,) = evaluate(graph, feeds).values()
    assert_close(found, wanted)


REFUSED = {
    "integers by columns": ("has element type uint8", lambda m: picked_integers(m, 1)),
    "an op that begins with no columns": (
        "can't take shape [0, 6]",
        lambda m: at(m, 14).op("Reshape", m.input(2, 3), m.ints(0, 6), allowzero=1),
    ),
    "places below all": (
        "indices into dimension 1",
        lambda m: m.op("Gather", m.input(2, 4), m.ints(0, -5), axis=1),
    ),
    "places above all": (
        "indices into dimension 1",
        lambda m: m.op("Gather", m.input(2, 4), m.ints(0, 4), axis=1),
    ),
    "no places": (
        "indices into dimension 1",
        lambda m: m.op("Gather", m.input(2, 4), m.const([], np.int64), axis=1),
    ),
    "places of parts below all": (
        "indices [2, 1]",
        lambda m: m.op("GatherND", m.input(2, 4), m.const([[0], [-3]], np.int64)),
    ),
    "places of parts above all": (
        "indices [2, 1]",
        lambda m: m.op("GatherND", m.input(2, 4), m.const([[0], [2]], np.int64)),
    ),
    "places of too many dimensions": (
        "indices [1, 3]",
        lambda m: m.op("GatherND", m.input(2, 4), m.const([[0, 0, 0]], np.int64)),
    ),
    "steps of 0": ("steps other than 0", lambda m: slice_of(m, 0, 4, 0)),
    "blocks of 0": (
        "blocks of 0",
        lambda m: m.op("DepthToSpace", m.input(1, 4, 2, 2), blocksize=0),
    ),
    "another kernel_shape": ("kernel_shape [3, 2]", lambda m: conv(m, kernel_shape=[3, 2])),
    "negative pads": ("pads of 0 and more", lambda m: pool(m, pads=[-1, 0, 0, 0])),
    "no groups": ("0 groups", lambda m: up(m, group=0)),
    "groups that do not part channels": ("2 groups", lambda m: up(m, (3, 3, 3, 3), group=2)),
    "sizes of 0": ("positive sizes", lambda m: resize(m, scales=[1, 1, 0.2, 1])),
    "scales below 0": ("", lambda m: resize(m, scales=[1, 1, -1, 1])),
    "a state of one direction": (
        "a first state",
        lambda m: m.op(
            "LSTM",
            *(m.input(3, 1, 4), m.weights(2, 8, 4), m.weights(2, 8, 2), "", "", m.weights(1, 1, 2)),
            outputs=3,
            hidden_size=2,
            direction="bidirectional",
        ),
    ),
    "peepholes of a list": ("6 for each direction", lambda m: lstm(m, peepholes=(6,))),
    "activations of one gate": (
        "LSTM with activations",
        lambda m: lstm(m, activations=["Sigmoid", "Tanh"]),
    ),
    "scales of two dimensions": (
        "scales along axis 1",
        lambda m: m.op(
            "DequantizeLinear",
            m.op(
                "QuantizeLinear",
                m.input(2, 4),
                m.const(np.full((2, 2), 0.1)),
                m.const(np.zeros((2, 2)), np.uint8),
            ),
            m.const(0.1),
        ),
    ),
    "an axis beyond": (
        "scales along axis 2",
        lambda m: m.op(
            "QuantizeLinear",
            m.weights(2, 4),
            m.const(np.full(4, 0.1)),
            m.const(np.zeros(4), np.uint8),
            axis=2,
        ),
    ),
    "parts of sizes below 0": (
        "parts of [-1, 7]",
        lambda m: m.op("Split", m.input(1, 6), m.ints(-1, 7), axis=1, outputs=2),
    ),
    "parts of another number": (
        "parts of [2, 2, 2]",
        lambda m: m.op("Split", m.input(1, 6), m.ints(2, 2, 2), axis=1, outputs=2),
    ),
    "no heads of groups": (
        "0 groups",
        lambda m: at(m, 21).op(
            "GroupNormalization", m.input(1, 4, 3), m.weights(4), m.weights(4), num_groups=0
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name, tmp_path):
    told, build = REFUSED[name]
    m = OnnxModel()
    refused(m.save(tmp_path, build(m)), TinyrtError, told)
