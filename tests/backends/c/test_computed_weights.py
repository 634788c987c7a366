"""Weights that the model computes as it runs: kernels that read them as they lie, or refusals."""

from dataclasses import replace

import pytest

from tests.interpreter.test_conformance import check
from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.corners.recurrent import lstm, svdf
from tests.ops.quantised import constant, graph_of, s8, s16, weights
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.planning import kernels_of
from tinyrt.backends.numba.choice import packer_of
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType
from tinyrt.ops.fully_connected import FullyConnectedAttrs

PLAIN = {
    (build_s8, "conv2d"): ("tinyrt_conv2d_plain_s8",),
    (build_s8, "depthwise_conv2d"): ("tinyrt_depthwise_conv2d_plain_s8",),
    (build_s8, "fully_connected"): ("tinyrt_fully_connected_plain_s8",),
    (build_s8, "transpose_conv"): ("tinyrt_transpose_conv_s8",),
    (build_s16, "conv2d"): ("tinyrt_conv2d_plain_s16",),
    (build_s16, "depthwise_conv2d"): ("tinyrt_depthwise_conv2d_s16",),
    (build_s16, "fully_connected"): ("tinyrt_conv2d_plain_s16",),
    (build_s16, "transpose_conv"): ("tinyrt_transpose_conv_s16",),
    (build_f32, "conv2d"): ("tinyrt_conv2d_plain_f32",),
    (build_f32, "depthwise_conv2d"): (
        "tinyrt_depthwise_conv2d_f32",
        "tinyrt_depthwise_quads_f32",
        "tinyrt_depthwise_spread_f32",
    ),
    (build_f32, "fully_connected"): ("tinyrt_conv2d_plain_f32",),
    (build_f32, "transpose_conv"): ("tinyrt_transpose_conv_f32",),
}
"""How a layer is built, and its op -> the kernels that it may take."""


def computed(graph, at):
    """The graph of one op whose weights (1) or bias (2) are an input of the model."""
    (node,) = graph.nodes
    name = node.inputs[at]
    values = graph.values | {name: replace(graph.value(name), data=None)}
    return replace(graph, inputs=(*graph.inputs, name), values=values)


def told(graph, isa=InstructionSet.SCALAR):
    with pytest.raises(UnsupportedError) as caught:
        assert kernels_of(isa).kernel(graph.bind(0)).calls
    return str(caught.value)


@pytest.mark.parametrize("isa", InstructionSet)
@pytest.mark.parametrize(("build", "op"), PLAIN)
def test_every_instruction_set_reads_weights_as_they_lie(build, op, isa):
    kernels, tried = kernels_of(isa), 0
    for seed in range(8):
        graph = build(CASES[op](rng := rng_of(op, seed)), rng).graph
        if build is build_s16 and any(v.dtype is DType.INT32 for v in graph.values.values()):
            continue
        kernel = kernels.kernel(computed(graph, 1).bind(0))
        assert kernel.name in PLAIN[build, op]
        assert kernel.sweep() is None  # nothing may overlap the weights
        assert kernel.scratch_bytes == 0
        tried += 1
    assert tried > 3


def dense(x, w, *bias, **attrs):
    shape = x.shape[0], w.shape[0]
    make = s8 if x.dtype is DType.INT8 else s16
    return graph_of("fully_connected", FullyConnectedAttrs(**attrs), [x, w, *bias], [make(*shape)])


def test_sums_that_the_largest_weights_make_have_to_fit():
    told_of = told(dense(s8(1, 65_800, zp=-128), s8(2, 65_800)))
    assert "can reach" in told_of
    assert "'b' s8[2,65800]" in told_of
    shorter = dense(s8(1, 65_700, zp=-128), s8(2, 65_700))
    assert kernels_of(InstructionSet.DSP).kernel(shorter.bind(0)).calls


def test_a_computed_bias_of_32_bits_beside_int16_is_refused():
    bias = constant(DType.INT32, 4)
    graph = dense(s16(1, 8), weights(4, 8), bias)
    assert kernels_of(InstructionSet.SCALAR).kernel(graph.bind(0)).calls
    for part in ["computed while the model runs", "'c' s32[4]", "constants", "store them"]:
        assert part in told(computed(graph, 2))


def test_layers_that_round_as_on_uint8_take_constants():
    bias = constant(DType.INT32, 4, scale=0.01)
    graph = dense(s8(1, 8), weights(4, 8), bias, legacy=True)
    assert kernels_of(InstructionSet.MVE).kernel(graph.bind(0)).calls
    for at in (1, 2):
        assert "computed while the model runs" in told(computed(graph, at))


def test_weights_of_four_bits_are_constants():
    w = replace(weights(4, 8), dtype=DType.INT4, data=None)
    assert "computed while the model runs" in told(dense(s8(1, 8), w))


def test_the_host_computes_them():
    graph = dense(s8(1, 8), s8(4, 8))
    for backend in ("numba", "reference"):
        model = Interpreter.from_graph(graph, backend=backend)
        model.allocate_tensors()
        model.invoke()


STATEFUL = {"svdf": svdf(5, 5, 1, 4, DType.INT8), "lstm": lstm(4, 3)}
PLACES = [("svdf", at) for at in (1, 2, 3)] + [("lstm", at) for at in (1, 8, 12)]


@pytest.mark.parametrize(("layer", "at"), PLACES)
def test_the_host_computes_those_of_layers_with_state(layer, at):
    """Features, weights over time and bias; weights of an input, of a state, and a gate's bias.

    Those that are stored have a kernel.
    """
    built = STATEFUL[layer]
    assert packer_of(built.graph.bind(0)) is not None
    graph = computed(built.graph, at)
    name = graph.inputs[-1]
    check(graph, {**built.feeds, name: built.graph.value(name).data}, "numba")
