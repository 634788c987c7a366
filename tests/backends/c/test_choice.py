"""Which kernel a layer takes, by its shape: the rules of docs/kernels.md."""

from dataclasses import replace
from functools import cache
from math import ceil

import numpy as np
import pytest

from tests.ops.build import Case, build_s8
from tests.ops.corners.recurrent import LSTM, recurrent
from tinyrt.backends.c.blocks.cost import COSTS
from tinyrt.backends.c.blocks.layer import QUAD
from tinyrt.backends.c.blocks.row_cost import lstm_cost
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.export import export_graph
from tinyrt.ir import QParams
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs, Quant
from tinyrt.ops.softmax import SoftmaxAttrs

BOTH = ("cortex-m3", "cortex-m4")
ALL = (*BOTH, "cortex-m55")


def conv(x, w, stride=1, **attrs):
    return _case("conv2d", Conv2dAttrs, x, w, w[0], stride, attrs)


def depthwise(channels, kernel, stride=1, filters=1, **attrs):
    x, w = (1, 9, 9, channels), (1, kernel, kernel, channels * filters)
    return _case("depthwise_conv2d", DepthwiseConv2dAttrs, x, w, w[3], stride, attrs)


def _case(op, kind, x, w, c_out, stride, attrs):
    strides = stride if isinstance(stride, tuple) else (stride, stride)
    shapes = (x, w, (c_out,))
    return Case(op, kind(stride=strides, padding="SAME", **attrs), shapes, frozenset({1, 2}))


def dense(rows, c_in, c_out, **attrs):
    shapes = ((rows, c_in), (c_out, c_in), (c_out,))
    return Case("fully_connected", FullyConnectedAttrs(**attrs), shapes, frozenset({1, 2}))


def pool(shape, kernel=(2, 2), **attrs):
    return Case("average_pool2d", Pool2dAttrs(kernel, (2, 2), **attrs), (shape,))


LAYERS = [
    ("dense_s8", ("cortex-m4",), conv((1, 5, 5, 8), (8, 1, 1, 8))),
    ("dense_four_s8", ("cortex-m3", "rv32imc"), conv((1, 5, 5, 8), (8, 1, 1, 8))),
    ("dense_four_raised_s8", ("cortex-m0", "cortex-m23"), conv((1, 5, 5, 8), (8, 1, 1, 8))),
    ("dense_row_s8", BOTH, conv((1, 1, 1, 8), (8, 1, 1, 8))),
    ("window_block_s8", ("cortex-m4", "host"), conv((1, 5, 5, 8), (8, 1, 1, 8), stride=2)),
    ("window_block_s8", BOTH, conv((1, 1, 3, 3), (8, 3, 3, 3))),
    ("window_four_s8", ("cortex-m3", "rv32imc"), conv((1, 8, 8, 3), (8, 3, 3, 3))),
    ("window_four_raised_s8", ("cortex-m0plus",), conv((1, 8, 8, 3), (8, 3, 3, 3))),
    ("group_block_s8", BOTH, conv((1, 8, 8, 8), (8, 3, 3, 4))),
    ("group_block_s8", BOTH, conv((1, 8, 8, 8), (8, 3, 3, 8), dilation=(2, 2))),
    ("conv2d_plain_s8", BOTH, conv((1, 8, 8, 1024), (1024, 1, 1, 1))),
    ("depthwise3x3_signed_s8", ("cortex-m4",), depthwise(8, 3)),
    ("depthwise3x3_s8", ("cortex-m3",), depthwise(8, 3)),
    ("depthwise3x3_s8", BOTH, depthwise(5, 3, stride=2)),
    ("depthwise_block_s8", BOTH, depthwise(8, 3, stride=(1, 2))),
    ("depthwise_block_s8", BOTH, depthwise(8, 5)),
    ("depthwise_block_s8", BOTH, depthwise(8, 3, dilation=(2, 2))),
    ("depthwise_block_spread_s8", BOTH, depthwise(2, 3, filters=4)),
    ("depthwise_conv2d_plain_s8", BOTH, depthwise(5, 5)),
    ("window_block_s8", ("cortex-m4",), depthwise(1, 6, filters=16)),
    ("window_four_s8", ("cortex-m3",), depthwise(1, 6, filters=16)),
    ("depthwise_block_spread_s8", BOTH, depthwise(1, 3, filters=4)),
    ("conv2d_s8", ("cortex-m55",), depthwise(1, 5, filters=8)),
    ("depthwise_conv2d_s8", ("cortex-m55",), depthwise(1, 5)),
    ("depthwise_planes_s8", ("cortex-m55",), depthwise(8, 3)),
    ("depthwise_planes_s8", ("cortex-m55",), depthwise(5, 3, stride=2)),
    ("depthwise_conv2d_s8", ("cortex-m55",), depthwise(8, 3, dilation=(2, 2))),
    ("depthwise_conv2d_s8", ("cortex-m55",), depthwise(8, 3, stride=(1, 2))),
    ("depthwise_conv2d_s8", ("cortex-m55",), depthwise(2, 5, filters=8)),
    ("fully_connected_row_s8", ("cortex-m55",), dense(1, 16, 12)),
    ("fully_connected_s8", ("cortex-m55",), dense(2, 16, 12)),
    ("dense_s8", BOTH, dense(2, 16, 8)),
    ("dense_row_s8", BOTH, dense(1, 16, 8)),
    ("dense_row_s8", ("cortex-m4",), dense(1, 16, 12)),
    ("dense_s8", ("cortex-m3",), dense(1, 16, 12)),
    ("dense_row_long_s8", BOTH, dense(1, 1000, 12)),
    ("group_block_long_s8", BOTH, dense(2, 1000, 12)),
    ("average_short_s8", BOTH, pool((1, 32, 32, 16))),
    ("average_short_s8", BOTH, pool((1, 1, 255, 20), (1, 255))),
    ("average_columns_s8", BOTH, pool((1, 1, 256, 20), (1, 256))),
    ("average_pool2d_s8", BOTH, pool((1, 8, 8, 16))),
    ("average_columns_s8", BOTH, pool((1, 1, 5780, 4), (1, 5780))),
    ("average_pool2d_s8", BOTH, pool((1, 1, 5781, 4), (1, 5781))),
    ("average_legacy_s8", BOTH, pool((1, 32, 32, 16), legacy=True)),
    ("dense_relu_s8", (*BOTH, "cortex-m0", "rv32imc"), dense(2, 16, 1, legacy=True)),
    ("fully_connected_legacy_s8", ("cortex-m55",), dense(2, 16, 1, legacy=True)),
    ("mean_columns_s8", BOTH, Case("mean", MeanAttrs((1, 2)), ((1, 4, 4, 8),))),
    ("mean_s8", BOTH, Case("mean", MeanAttrs((3,)), ((1, 4, 4, 8),))),
    ("mean_s8", BOTH, Case("mean", MeanAttrs((0, 2)), ((2, 4, 4, 8),))),
    ("times_s8", BOTH, Case("mul", MulAttrs(), ((1, 4, 4, 8), (1, 4, 4, 8)))),
    ("compare_table_s8", BOTH, Case("less", NoAttrs(), ((1, 4, 4, 8), (1, 4, 4, 8)))),
    ("compare_rescaled_s8", BOTH, Case("less", NoAttrs(), ((1, 4, 8), (1, 4, 8)))),
    ("lut_s8", BOTH, Case("less", NoAttrs(), ((1, 4, 4, 8), (1,)), frozenset({1}))),
    ("lut_s8", BOTH, Case("less", NoAttrs(), ((1,), (1, 4, 4, 8)), frozenset({0}))),
    ("softmax_s8", BOTH, Case("softmax", SoftmaxAttrs(), ((1, 10),))),
    ("softmax_table_s8", BOTH, Case("softmax", SoftmaxAttrs(), ((16, 16),))),
    ("linear_sum_s8", ALL, Case("add", AddAttrs(), ((1, 4, 4, 8), (1, 4, 4, 8)))),
    ("linear_sum_rows_s8", ALL, Case("add", AddAttrs(), ((1, 4, 4, 8), (1, 1, 1, 8)))),
]


RECURRENT = [
    ("lstm_block_s8", "lstm_quads_s8", f"{LSTM}: 17 to 7"),
    ("lstm_block_s8", "lstm_quads_s8", f"{LSTM}: exponent 7 of x"),
    ("lstm_s8", "lstm_quads_s8", f"{LSTM}: exponent 8 of h"),
    ("lstm_block_s8", "lstm_quads_s8", f"{LSTM}: exponent -30 of h"),
    ("lstm_s8", "lstm_quads_s8", f"{LSTM}: exponent -31 of x"),
    ("lstm_s8", "lstm_quads_s8", f"{LSTM}: cell scale 2^-30"),
    ("lstm_s8", "lstm_quads_s8", f"{LSTM}: hidden scale 2^-30"),
    ("lstm_block_s8", "lstm_quads_s8", f"{LSTM}: hidden scale just above 2^-7"),
    ("lstm_block_s8", "lstm_quads_s8", f"{LSTM}: hidden scale 1.9999"),
    ("lstm_s8", "lstm_quads_s8", f"{LSTM}: sums beyond shared halves"),
    ("lstm_s8", "lstm_quads_s8", f"{LSTM}: -128 beside negative weights"),
    ("lstm_block_s8", "lstm_quads_s8", f"{LSTM}: one input and many units"),
    ("lstm_block_s4", "lstm_quads_s4", f"{LSTM}: 17 to 9, four bits"),
    ("lstm_block_s4", "lstm_quads_s4", f"{LSTM}: exponent 7 of x, four bits"),
    ("lstm_s8", "lstm_quads_s4", f"{LSTM}: exponent 8 of h, four bits"),
    ("lstm_block_s4", "lstm_quads_s8", f"{LSTM}: -8 beside negative weights, four bits"),
    ("lstm_block_s4", "lstm_quads_s8", f"{LSTM}: sums below 2^19, four bits"),
    ("lstm_block_s8", "lstm_quads_s8", f"{LSTM}: sums of 2^19, four bits"),
    ("lstm_block_s16", "lstm_quads_s16", f"{LSTM}: clip 0.3, time first, int16"),
    ("lstm_block_s16", "lstm_quads_s16", f"{LSTM}: shift 16 of x, int16"),
    ("lstm_s16", "lstm_s16", f"{LSTM}: shift 15 of h, int16"),
    ("lstm_block_s16", "lstm_quads_s16", f"{LSTM}: shift 32 of h, int16"),
    ("lstm_s16", "lstm_s16", f"{LSTM}: shift 33 of x, int16"),
    ("lstm_s16", "lstm_quads_s16", f"{LSTM}: cell scale 2^-30, int16"),
    ("lstm_block_s16", "lstm_quads_s16", f"{LSTM}: sums below 2^30, int16"),
    ("lstm_s16", "lstm_s16", f"{LSTM}: sums from 2^31, int16"),
    ("svdf_block_s8", "svdf_quads_s8", "svdf: 17 units"),
    ("svdf_block_s8_s16", "svdf_quads_s8_s16", "svdf: exponent 7"),
    ("svdf_s8_s16", "svdf_quads_s8_s16", "svdf: exponent 8"),
    ("svdf_s8_s16", "svdf_quads_s8_s16", "svdf: sums beyond shared halves"),
    ("svdf_s8", "svdf_quads_s8", "svdf: -128 beside negative weights"),
]
"""Kernel of scalar and DSP cores, that of cores with vectors, and a case."""


@cache
def made():
    return recurrent()


@pytest.mark.parametrize(("packed", "vectors", "name"), RECURRENT, ids=[r[2] for r in RECURRENT])
def test_recurrent_ops_take_the_kernel_of_their_scales(packed, vectors, name):
    kinds = {"scalar": packed, "dsp": packed, "mve": vectors}
    node = made()[name].graph.bind(0)
    for kind, kernel in kinds.items():
        assert choose(node, Target(InstructionSet(kind))).name == f"tinyrt_{kernel}"


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("sums from 2^30", ("dsp", "mve")), ("-128 beside negative weights", ("scalar", "mve"))],
)
def test_what_one_set_packs_alone(name, kinds):
    node = made()[f"{LSTM}: {name}, int16"].graph.bind(0)
    targets = {kind: Target(InstructionSet(kind)) for kind in ("scalar", "dsp", "mve")}
    packed = [k for k, target in targets.items() if choose(node, target).name != "tinyrt_lstm_s16"]
    assert packed == list(kinds)


def _plain(graph):
    """Scales that no packed kernel refuses: the output's is above the sums'."""
    values = dict(graph.values)
    values["out"] = replace(values["out"], q=QParams((2.0,), 0))
    return replace(graph, values=values)


@pytest.mark.parametrize(
    ("kernel", "core", "case"),
    [(kernel, core, case) for kernel, cores, case in LAYERS for core in cores],
)
def test_layers_take_the_kernel_of_their_shape(tmp_path, kernel, core, case):
    built = build_s8(case, np.random.default_rng(0))
    weighted = OPS[case.op].quant is Quant.WEIGHTED
    graph = _plain(built.graph) if weighted else built.graph
    project = export_graph(graph, tmp_path / "project", core=core)
    assert project.kernels[0] == f"tinyrt_{kernel}"


def test_taps_that_fill_words_cost_no_rest():
    """By hand, from the constants of a core with DSP instructions; nine taps cost it."""
    k = COSTS[InstructionSet.DSP]
    turn, turn_taps = k.row_turn
    row = k.row_tap * 8 + turn * ceil(8 / turn_taps)
    blocks = ceil(8 * QUAD / k.row_channels)
    assert lstm_cost(InstructionSet.DSP, 3, 8, 8) == 3 * (k.unit * 8 + blocks * 2 * row)
    more = lstm_cost(InstructionSet.DSP, 3, 9, 8) - lstm_cost(InstructionSet.DSP, 3, 8, 8)
    assert more == 3 * blocks * k.rest
