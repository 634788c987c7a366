"""What calls cost by their own fields: sizes that differ by axis, two images, channels left."""

import numpy as np
import pytest

from tests.ops.quantised import f32, node_of, s8, s16, weights
from tinyrt.backends.c.blocks.cost import (
    TilePairs,
    dense_cost,
    depthwise_list_cost,
    slide_cost,
    window_cost,
    winograd_cost,
)
from tinyrt.backends.c.blocks.four_cost import SMALL_FOURS, dense_four_cost, window_four_cost
from tinyrt.backends.c.blocks.row_cost import (
    dense_row_cost,
    lstm_cost,
    narrow_lstm_cost,
    plain_depthwise_cost,
    plain_groups_cost,
    svdf_cost,
    wide_conv_cost,
    wide_lstm_cost,
)
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Kernel, Params, call
from tinyrt.backends.c.mve import cost as mve
from tinyrt.backends.c.parts.cost import instructions_of
from tinyrt.backends.c.parts.pace import AS_SAID, SMALL, Pace
from tinyrt.backends.c.parts.windows import groups_of
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.spec import NoAttrs

DSP, SCALAR, MVE = (InstructionSet(name) for name in ("dsp", "scalar", "mve"))
X = Value("x", DType.INT8, (2, 4, 6, 4), QParams((0.5,)))
Y = Value("y", DType.INT8, (2, 3, 5, 6), QParams((0.5,)))
KERNEL = {"kernel_h": 3, "kernel_w": 2}
STEPS = {"stride_h": 1, "stride_w": 2, "dilation_h": 1, "dilation_w": 1}
IMAGES = {
    "x": dict(zip("nhwc", X.shape, strict=True)),
    "y": dict(zip("nhwc", Y.shape, strict=True)),
    "window": KERNEL | STEPS | {"pad_top": 1, "pad_left": 0},
}
BLOCK = {"c_out": 6, "taps": 24, "w": Data("w", np.zeros(30)), "init": Data("init", np.zeros(8))}
CONVOLUTION = IMAGES | {"block": BLOCK}
MATRIX = {"rows": 3, "c_in": 24, "block": BLOCK}
WIDE = IMAGES | {"groups": 2, "taps": 19}
LSTM = {"shape": {"samples": 2, "steps": 3, "c_in": 7, "units": 20}}
SVDF = {"batches": 2, "c_in": 5, "units": 3, "rank": 2, "memory": 9}
SLIDE = {
    **{"channels": 3, "stride": 1, "images": 2, "y_zp": -128},
    **{"across": {"y_count": 7, "x_step": 8, "y_step": 8}, "along": {"y_count": 9}},
}
PRODUCT = {"length": 20, "c_out": 8, "rounding": 1}
MOST, PIXELS = 2 * 3 * 5 * 6, 2 * 3 * 5
assert max(X.size, Y.size) == X.size == 192


def cost(function, fields=None, isa=DSP, *args, node=None, pace=None):
    """Without what a call is set up for."""
    one = call(f"tinyrt_{function}", Params("p_t", fields or {}), *args, X, Y)
    other = Kernel(lambda: (call("f"),))
    found = instructions_of(one, node, other, isa, **({"pace": pace} if pace else {}))
    return found - 120 * (pace.factor(one, False) if pace else 1)


def kept(isa, whole, words=30):
    """Of 24 taps of two fours of channels so many words: loops, and their share."""
    loops = {DSP: 0.22, SCALAR: 0.1}[isa]
    return whole * (loops + words / 48)


WINDOWS = {isa: window_cost(isa, PIXELS, (3, 2), 4, 6) for isa in (DSP, SCALAR)}
MANY = {"w": Data("w", np.zeros(48))}
PACKED = {
    "windows of int4": (cost("window_block_s4", CONVOLUTION), 1.35 * WINDOWS[DSP]),
    "windows without a sign": (
        cost("window_block_relu_s8", CONVOLUTION),
        window_cost(DSP, PIXELS, (3, 2), 4, 6, True),
    ),
    "windows without zeros": (
        cost("window_block_sparse_s8", CONVOLUTION),
        kept(DSP, WINDOWS[DSP]),
    ),
    "scalar windows without zeros": (
        cost("window_block_sparse_s8", CONVOLUTION, SCALAR),
        kept(SCALAR, WINDOWS[SCALAR]),
    ),
    "windows without a zero": (
        cost("window_block_sparse_s8", CONVOLUTION | {"block": BLOCK | MANY}),
        WINDOWS[DSP],
    ),
    "four pixels": (
        cost("window_four_relu_s8", CONVOLUTION, SCALAR),
        window_four_cost(groups_of(IMAGES), (3, 2), 4, 6, True),
    ),
    "four rows": (cost("dense_four_s8", MATRIX, SCALAR), dense_four_cost(3, 24, 6)),
    "tiles": (
        cost("winograd_s8", CONVOLUTION),
        winograd_cost(DSP, TilePairs.of(2, (4, 6), (3, 5), (1, 0)), 4, 6),
    ),
    "a matrix of int4": (cost("dense_s4", MATRIX), 1.35 * dense_cost(DSP, 3, 24, 6)),
    "a matrix without zeros": (
        cost("dense_sparse_s8", MATRIX),
        kept(DSP, dense_cost(DSP, 3, 24, 6)),
    ),
    "a row": (cost("dense_row_s8", MATRIX, SCALAR), dense_row_cost(SCALAR, 24, 6)),
    **{
        f"a row without zeros, {isa}": (
            cost("dense_row_sparse_s8", MATRIX, isa),
            kept(isa, dense_row_cost(isa, 24, 6, halves=True)),
        )
        for isa in (DSP, SCALAR)
    },
    "a row of int4": (cost("dense_row_s4", MATRIX), 1.35 * dense_row_cost(DSP, 24, 6)),
    "a long row": (
        cost("dense_row_long_s8", MATRIX, SCALAR),
        dense_row_cost(SCALAR, 24, 6, halves=True),
    ),
    "LSTM": (cost("lstm_block_s8", LSTM), lstm_cost(DSP, 6, 7, 20)),
    "LSTM of int4": (cost("lstm_block_s4", LSTM), narrow_lstm_cost(DSP, 6, 7, 20)),
    "LSTM of int16": (cost("lstm_block_s16", LSTM), wide_lstm_cost(DSP, 6, 7, 20)),
    "SVDF": (cost("svdf_block_s8", SVDF), 2 * svdf_cost(DSP, 5, 3, 18, (6, 1))),
    "SVDF of int16": (cost("svdf_block_s8_s16", SVDF), 2 * svdf_cost(DSP, 5, 3, 18, (6, 2))),
    "columns of int16": (
        cost("conv2d_block_s16", WIDE | {"direct": 0}),
        wide_conv_cost(DSP, 2 * PIXELS, (6, 19), 3),
    ),
    "no columns": (
        cost("conv2d_block_s16", WIDE | {"direct": 1}),
        wide_conv_cost(DSP, 2 * PIXELS, (0, 19), 3),
    ),
    "planes": (
        cost("depthwise3x3_s8", SLIDE),
        2 * slide_cost(DSP, (7, 9), 3, 1, relu=True),
    ),
    "planes with a sign": (
        cost("depthwise3x3_s8", SLIDE | {"y_zp": -127}),
        2 * slide_cost(DSP, (7, 9), 3, 1),
    ),
    "planes of other steps": (
        cost("depthwise3x3_s8", SLIDE | {"stride": 2, "across": SLIDE["across"] | {"x_step": 6}}),
        2 * slide_cost(DSP, (7, 9), 3, 2),
    ),
    "signed planes": (
        cost("depthwise3x3_signed_s8", SLIDE),
        2 * slide_cost(DSP, (7, 9), 3, 1, signed=True),
    ),
    "lists": (
        cost("depthwise_block_s8", IMAGES | {"line_bytes": 0}),
        2 * depthwise_list_cost(DSP, (3, 5), (3, 2), 6, 1, border=False),
    ),
    "lists of int4 at a border": (
        cost("depthwise_block_s4", IMAGES | {"line_bytes": 1}),
        2 * 1.35 * depthwise_list_cost(DSP, (3, 5), (3, 2), 6, 1, border=True),
    ),
    **{
        f"{name} lists": (
            cost(f"depthwise_block_{name}_s8", IMAGES | {"line_bytes": 0}),
            2 * 1.2 * depthwise_list_cost(DSP, (3, 5), (3, 2), 6, 1, border=False),
        )
        for name in ("fine", "spread")
    },
    "sums": (cost("sum_s8"), 14 * 192),
    "linear sums": (cost("linear_sum_s8", isa=SCALAR), 10 * 192),
    "tables": (cost("lut_s8"), 4.25 * 192),
    "limits": (cost("clamp_s8"), 2.25 * 192),
    "averages": (cost("average_short_s8", IMAGES), MOST * (24 + 3 * 6)),
    "long averages": (cost("average_pool2d_s8", IMAGES), MOST * (50 + 6 * 3 + 4.6 * 6)),
    "averages of int16": (
        cost("average_pool2d_s16", IMAGES),
        PIXELS * (4 + 2.5 * 2) * (20 + 4 * 3 + 3.1 * 6),
    ),
}
MORE = {"layer": CONVOLUTION | {"rows": 3, "groups": 2}, "more": {"count": 5, "taps": 0}}
SUMMED = MORE | {"more": {"count": 5}}
AGAIN = {
    "windows": (
        cost("window_more_s8", MORE),
        PIXELS * 8 * 5 + window_cost(DSP, PIXELS, (1, 1), 24, 6),
    ),
    "sums of windows": (
        cost("window_more_relu_s8", SUMMED),
        PIXELS * (8 * 5 + 1.6 * 24) + window_cost(DSP, PIXELS, (1, 1), 24, 6, True),
    ),
    "a matrix": (
        cost("dense_more_relu_s8", MORE),
        3 * 8 * 5 + dense_cost(DSP, 3, 24, 6, True),
    ),
    "four pixels": (
        cost("window_four_more_relu_s8", MORE, SCALAR, pace=Pace({}, 1.5, SMALL_FOURS)),
        1.5
        * (PIXELS * 8 * 5 + window_four_cost(groups_of(IMAGES), (1, 1), 24, 6, True, SMALL_FOURS)),
    ),
}
DENSE = node_of(
    "fully_connected", FullyConnectedAttrs(), [s8(3, 24), weights(6, 24), None], [s8(3, 6)]
)
FLOATS = node_of("add", NoAttrs(), [f32(2, 7), f32(2, 7)], [f32(2, 7)])
ROWS = node_of("softmax", NoAttrs(), [s8(3, 5)], [s8(3, 5)])
SUM16 = node_of("add", NoAttrs(), [s16(3, 7), s16(3, 7)], [s16(3, 7)])
WALK = {"dims": [3, 4], "run": 5}
GENERAL = {
    "softmax": (cost("softmax_s8", node=ROWS), 300 * 3 + 260 * 15 - 120),
    "runs of bytes": (cost("move", WALK, node=SUM16), 12 * (18 + 2.8 * 5)),
    "an element": (cost("reshape", node=SUM16), 4 * 21),
    "channels of int16": (
        cost("depthwise_conv2d_s16", IMAGES, node=SUM16),
        plain_depthwise_cost(PIXELS, 6, (3, 2)),
    ),
    "groups of int16": (
        cost("conv2d_s16", WIDE | {"direct": 0}, node=SUM16),
        plain_groups_cost(DSP, 2 * PIXELS, (6, 19), 3),
    ),
    "pixels of int16": (
        cost("conv2d_s16", WIDE | {"direct": 1}, SCALAR, node=SUM16),
        plain_groups_cost(SCALAR, 2 * PIXELS, (0, 19), 3),
    ),
    "groups": (cost("group_block_s8", MATRIX, node=DENSE), 2.2 * 3 * 24 * 6 + 40 * 18),
    "sums of groups": (
        cost("group_block_more_s8", MORE, node=DENSE),
        2.2 * 3 * 24 * 6 + 40 * 18 + PIXELS * (1.6 * 48 + 8 * 2),
    ),
    "floats": (cost("add_f32", node=FLOATS), 250 * 14),
    "floats without a unit": (cost("add_f32", isa=SCALAR, node=FLOATS), 12 * 250 * 14),
    "any other": (cost("f", node=DENSE), 8 * 3 * 24 * 6 + 40 * 72),
}
VECTORS = {
    "functions": (cost("tanh_short_s16", isa=MVE), 3.1 * 192),
    "a matrix": (
        cost("fully_connected_s8", MATRIX | {"product": PRODUCT}, MVE),
        130 + mve.product_cost(3, 20, 8, plain=True) - 120,
    ),
    "a matrix without a sign": (
        cost("fully_connected_s8", MATRIX | {"product": PRODUCT | {"rounding": 0}}, MVE),
        130 + mve.product_cost(3, 20, 8, plain=False) - 120,
    ),
    "a row": (
        cost("fully_connected_row_s8", {"product": PRODUCT}, MVE),
        130 + mve.row_cost(20, 8) - 120,
    ),
    "few averages": (
        cost("average_few_s8", IMAGES, MVE),
        PIXELS * (78 + 1 * (34 + 7.6 * 6)),
    ),
    "maxima of int16": (
        cost("max_pool2d_s16", IMAGES | {"y": IMAGES["y"] | {"c": 9}}, MVE),
        PIXELS * (60 + 2 * (16 + 7.6 * 6)),
    ),
    "averages": (cost("average_pool2d_s8", IMAGES, MVE), MOST * (20 + 1.2 * 6)),
    "weights of int16": (
        cost("conv2d_raised_s16", WIDE | {"direct": 0}, MVE),
        2 * PIXELS * (60 + 1 * (47 + 10 * 19 / 8) + 6 * (34 + 0.6 * 4 / 2)),
    ),
    "pixels of int16": (
        cost("conv2d_raised_s16", WIDE | {"direct": 1, "y": IMAGES["y"] | {"c": 10}}, MVE),
        2 * PIXELS * (60 + 2 * (47 + 10 * 19 / 8)),
    ),
    "LSTM": (cost("lstm_quads_s8", LSTM, MVE), mve.lstm_cost(6, 7, 20) - 120),
    "LSTM of int16": (cost("lstm_quads_s16", LSTM, MVE), mve.lstm_cost(6, 7, 20, 16) - 120),
    "SVDF": (cost("svdf_quads_s8", SVDF, MVE), 2 * mve.svdf_cost(5, 3, 18, 6, 1) - 120),
    "SVDF of int16": (
        cost("svdf_quads_s8_s16", SVDF, MVE),
        2 * mve.svdf_cost(5, 3, 18, 6, 2) - 120,
    ),
    "linear sums": (cost("linear_sum_s8", isa=MVE), 2.1 * 192),
    "tables": (cost("lut_s8", isa=MVE, node=SUM16), 2 * (130 + 4 * 21) - 120),
    "sums of int16": (
        cost("add_s16", {"shape": {"dims": [3, 7]}}, MVE, node=SUM16),
        3 * (97 + 33 * 2),
    ),
}
CASES = {
    f"{part}: {name}": row
    for part, rows in (
        ("packed", PACKED),
        ("again", AGAIN),
        ("general", GENERAL),
        ("vectors", VECTORS),
    )
    for name, row in rows.items()
}


@pytest.mark.parametrize("name", CASES)
def test_a_call_costs_what_its_sizes_say(name):
    found, expected = CASES[name]
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("channels", "factor"), [(4, 3.2), (5, 2.3)])
def test_windows_of_eight_bytes_a_row_are_copied_in_short_runs(channels, factor):
    fields = CONVOLUTION | {"x": IMAGES["x"] | {"c": channels}}
    one = call("tinyrt_window_block_s8", Params("p_t", fields), X, Y)
    plain, slow = (
        instructions_of(one, FLOATS, Kernel(lambda: (one,)), SCALAR, pace=pace)
        for pace in (AS_SAID, SMALL)
    )
    assert slow == pytest.approx(factor * plain)


def test_a_whole_call_on_vectors_costs_what_its_kernel_says():
    one = call("tinyrt_conv2d_s8", Params("p_t", IMAGES), X, Y)
    assert instructions_of(one, DENSE, Kernel(lambda: (one,), cost=lambda: 7.0), MVE) == 7


@pytest.mark.parametrize(
    ("name", "factor"), [("dense_row_long_s8", 3), ("dense_row_s8", 2), ("dense_s8", 1), ("add", 9)]
)
def test_a_core_s_factor_is_that_of_the_longest_beginning(name, factor):
    both = {"dense": 1.0, "dense_row": 2.0, "dense_row_long": 3.0}
    for factors in (both, dict(reversed(both.items()))):
        assert Pace(factors, 9.0).factor(call(f"tinyrt_{name}"), False) == factor
