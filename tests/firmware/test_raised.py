"""Which int16 layers have accumulators of 32 bits on vectors, and what their kernels get."""

from dataclasses import replace

import numpy as np
import pytest

from tests.firmware.device import check_on_device
from tests.sampling import sampled
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.mve.raised import raised_requant
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.requant import WideRequant

CORE = "cortex-m55"
MOST = (1 << 31) - (65_535 << 15) - 1
"""The greatest bias beside weights that add up to 65,535."""


def dense(w, bias=None, scale=8.0, rows=1, activation="NONE"):
    """A dense layer of int16 inputs and these weights."""
    w = np.asarray(w, np.int8)
    values = [
        Value("x", DType.INT16, (rows, w.shape[1]), QParams((0.25,), 0)),
        Value.constant("w", w, QParams((0.5,), 0)),
        Value("y", DType.INT16, (rows, w.shape[0]), QParams((scale,), 0)),
    ]
    names = ("x", "w") + (("bias",) if bias is not None else ())
    if bias is not None:
        values.append(Value.constant("bias", np.asarray(bias, np.int64), QParams((0.125,), 0)))
    node = Node(
        "fully_connected", "dense", names, ("y",), FullyConnectedAttrs(activation=activation)
    )
    return verify(Graph("dense", ("x",), ("y",), {v.name: v for v in values}, (node,)))


def weights_that_add_up_to(total):
    """As many weights of 127 as fit, and one of what is left, up to 520."""
    row = np.zeros(520, np.int64)
    row[: total // 127] = 127
    row[total // 127] = total % 127
    return row


def requant(right, channels=1):
    """Of one shift, or of channels that take turns in several."""
    rights = np.resize(np.array(right, np.int32), channels)
    return WideRequant(np.full(channels, 20_000, np.int32), rights, -32768, 32767)


def chosen(graph, core=CORE):
    (node,) = graph.bound()
    return choose(node, target_of(find_core(core), Optimize.BALANCED)).name


@pytest.mark.parametrize(
    ("total", "bias", "fits"),
    [
        (65_535, None, True),
        (65_536, None, False),
        (65_535, MOST, True),
        (65_535, MOST + 1, False),
        (65_535, -MOST - 1, False),
    ],
)
def test_no_accumulator_leaves_32_bits(total, bias, fits):
    graph = dense([weights_that_add_up_to(total)], bias if bias is None else [bias])
    for core, kernel in ((CORE, "conv2d_raised_s16"), ("cortex-m4", "conv2d_block_s16")):
        assert chosen(graph, core) == f"tinyrt_{kernel if fits else 'conv2d_s16'}"
    assert chosen(graph, "cortex-m3") == "tinyrt_conv2d_s16"


@pytest.mark.parametrize(("total", "kernel"), [(32_767, "conv2d_block"), (32_768, "conv2d")])
def test_a_bit_is_left_on_scalar_cores(total, kernel):
    graph = dense([weights_that_add_up_to(total)])
    assert chosen(graph, "cortex-m3") == f"tinyrt_{kernel}_s16"


def test_a_half_holds_two_weights_on_dsp_cores():
    graph = dense([[-1, 5], [-128, 5]])
    assert chosen(graph, "cortex-m4") == "tinyrt_conv2d_s16"
    assert chosen(graph, "cortex-m3") == "tinyrt_conv2d_block_s16"


@pytest.mark.parametrize(("right", "serves"), [(16, False), (17, True), (32, True), (33, False)])
def test_shifts_are_those_of_an_upper_half(right, serves):
    (node,) = dense([[1, 2]]).bound()
    raised = raised_requant(node, requant(right), 0)
    assert (raised is not None) == serves
    if raised is not None:
        assert raised.own["raised"]["mult"].array.tolist() == [20_000 << (32 - right)] * 4


@pytest.mark.parametrize(
    ("rights", "serve"),
    [((17, 32), True), ((32, 17), True), ((16, 20), False), ((20, 16), False), ((20, 33), False)],
)
def test_shifts_of_all_channels_are(rights, serve):
    (node,) = dense(np.ones((2, 2))).bound()
    assert (raised_requant(node, requant(rights, 2), 0) is not None) == serve


@pytest.mark.parametrize(
    ("channels", "groups", "serve"),
    [(8, 2, True), (6, 1, True), (6, 2, False), (12, 2, False), (12, 3, True)],
)
def test_groups_are_whole_vectors(channels, groups, serve):
    (node,) = dense(np.ones((channels, 2))).bound()
    assert (raised_requant(node, requant(20, channels), 0, groups) is not None) == serve


@pytest.mark.parametrize("computed", ["w", "bias"])
def test_weights_and_biases_are_stored(computed):
    graph = dense(np.ones((4, 2)), [1, 2, 3, 4])
    values = graph.values | {computed: replace(graph.value(computed), data=None)}
    (node,) = replace(graph, inputs=("x", computed), values=values).bound()
    assert raised_requant(node, requant(20, 4), 0) is None


def test_channels_that_differ_fill_their_last_vector_up():
    (node,) = dense(np.ones((5, 2)), [1, 2, 3, 4, 5]).bound()
    raised = raised_requant(node, requant(20, 5), 0)
    assert raised.bias.array.tolist() == [1, 2, 3, 4, 5, 0, 0, 0]
    assert (raised.own["raised"]["bias_step"], raised.own["raised"]["mult_step"]) == (1, 0)


ALL = [
    (*core, *output)
    for core in [(CORE, 65_535), ("cortex-m4", 65_535), ("cortex-m0", 32_767)]
    for output in [(8, "NONE"), (700, "NONE"), (2, "RELU6")]
]
"""All on vectors; the others' accumulators do not depend on the output."""


@pytest.mark.device
@pytest.mark.parametrize(("core", "total", "scale", "activation"), sampled(ALL[:1], ALL))
def test_the_greatest_accumulators_are_exact(core, total, scale, activation, tmp_path):
    row = weights_that_add_up_to(total)
    most = (1 << 30 if core == "cortex-m0" else 1 << 31) - (total << 15) - 1
    weights, bias = [row, -row, row, -row, row], [most, -most, -most, most, 0]
    graph = dense(weights, bias, float(scale), 2, activation)
    kernel = "raised" if core == CORE else "block"
    assert chosen(graph, core) == f"tinyrt_conv2d_{kernel}_s16"
    x = np.repeat(np.array([[-32768], [32767]], np.int16), 520, axis=1)
    check_on_device(graph, {"x": x}, tmp_path, core)
