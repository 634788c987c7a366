"""Ops that miss one thing that a faster kernel asks for: each takes one that does without."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.backends.c.test_choice import LSTM, _plain, conv, depthwise, recurrent
from tests.backends.c.test_computed_weights import computed
from tests.ops.build import Case, build_s8
from tests.ops.quantised import node_of, s8, s16, value, weights
from tinyrt.backends.c.blocks.groups import groups_of
from tinyrt.backends.c.blocks.more import more_of
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices, Target
from tinyrt.backends.c.mve.layout import MAX_PIXELS, points_at_once
from tinyrt.backends.c.mve.planes import MAX_PLACE, planes_of
from tinyrt.errors import UnsupportedError
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops import prepared
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.shared.windowed import ConvolutionS8

SCALAR, DSP, MVE, AVX2 = (InstructionSet(name) for name in ("scalar", "dsp", "mve", "avx2"))
M4, M55 = Target(DSP), Target(MVE)
PLAIN_SUM = Choices(frozenset(), frozenset({0}))


def added(scales=(0.1, 0.05, 0.2), activation="NONE", zp=0):
    a, b, y = (s8(1, 8, scale=scale, zp=zp) for scale in scales)
    return node_of("add", AddAttrs(activation), [a, b], [y])


FAR = (0.1, 0.05, 1e6)
LIMITED = ("linear_sum_s8", "clamp_s8")
SUMS = {
    "one rounding": (added(), M4, ["linear_sum_s8"]),
    "one rounding on vectors": (added(), M55, ["linear_sum_s8"]),
    "limits": (added(activation="RELU"), M4, [*LIMITED]),
    "limits on vectors": (added(activation="RELU"), M55, ["add_s8"]),
    "the upper limit": (added(activation="RELU_N1_TO_1", zp=-128), M4, [*LIMITED]),
    "the upper limit on vectors": (added(activation="RELU_N1_TO_1", zp=-128), M55, ["add_s8"]),
    "chosen without": (added(), replace(M4, choices=PLAIN_SUM), ["sum_s8"]),
    "chosen without on vectors": (added(), replace(M55, choices=PLAIN_SUM), ["add_s8"]),
    "far scales": (added(FAR), replace(M4, choices=PLAIN_SUM), ["add_s8"]),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_take_the_kernel_of_their_roundings(name):
    node, target, kernels = SUMS[name]
    calls = choose(node, target).calls
    assert [c.function for c in calls] == [f"tinyrt_{kernel}" for kernel in kernels]


def whole_numbers(op, attrs, dtype=DType.INT32):
    ports = [Value(name, dtype, (4,)) for name in "aby"]
    return node_of(op, attrs, ports[:2], ports[2:])


def test_integers_without_scales_take_the_kernel_of_integers():
    assert choose(whole_numbers("add", AddAttrs()), M4).name == "tinyrt_zip_s32"
    assert choose(whole_numbers("add", AddAttrs(), DType.FLOAT32), M4).name == "tinyrt_zip_f32"
    with pytest.raises(UnsupportedError, match="squared_difference has no C kernel for int32"):
        assert choose(whole_numbers("squared_difference", NoAttrs()), M4).calls


@pytest.mark.parametrize("isa", [SCALAR, DSP, MVE, AVX2])
def test_filters_of_one_channel_that_the_model_computes_are_read_as_they_lie(isa):
    graph = build_s8(depthwise(1, 6, filters=16), np.random.default_rng(0)).graph
    node = computed(_plain(graph), 1).bind(0)
    assert choose(node, Target(isa)).name == "tinyrt_depthwise_conv2d_plain_s8"


@pytest.mark.parametrize("isa", [SCALAR, DSP, MVE])
def test_a_bias_that_the_model_computes_is_read_as_it_lies(isa):
    bias = value(DType.INT32, 4, scale=0.01)
    inputs = [s8(1, 8), weights(4, 8), bias]
    node = node_of("fully_connected", FullyConnectedAttrs(), inputs, [s8(1, 4)])
    assert choose(node, Target(isa)).name == "tinyrt_fully_connected_plain_s8"


cases = cache(recurrent)


@pytest.mark.parametrize("isa", InstructionSet)
def test_every_set_has_a_kernel_for_an_lstm_of_int16(isa):
    node = replace(cases()[f"{LSTM}: shift 16 of x, int16"].graph).bind(0)
    names = {SCALAR: "block", DSP: "block", MVE: "quads"}
    expected = f"tinyrt_lstm_{names[isa]}_s16" if isa in names else "tinyrt_lstm_s16"
    assert choose(node, Target(isa)).name == expected


def test_weights_of_four_bits_are_read_once():
    """Whatever they are: those of 8 bits that no half holds have taps that are read again."""
    w = np.full((4, 8), -128, np.int8)
    w[0] = -1
    case = conv((1, 5, 5, 8), (4, 1, 1, 8))
    node = build_s8(case, np.random.default_rng(0)).graph.bind(0)
    p = prepared(node, ConvolutionS8)
    kinds = {}
    for dtype, data in ((DType.INT8, w), (DType.INT8, w // 2), (DType.INT4, w)):
        other = replace(node.input(1), dtype=dtype, data=data.reshape(4, 1, 1, 8))
        bound = replace(node, inputs=(node.input(0), other, *node.inputs[2:]))
        scales = replace(p.requant, shift=p.requant.shift * 0 - 8)
        kinds[dtype, int(data.min())] = more_of(bound, p.x_zp, scales, M4) is not None
    assert kinds == {(DType.INT8, -128): True, (DType.INT8, -64): False, (DType.INT4, -128): False}


def test_groups_are_of_stored_weights():
    case = conv((1, 5, 5, 8), (8, 3, 3, 4))
    node = build_s8(case, np.random.default_rng(0)).graph.bind(0)
    p, w = prepared(node, ConvolutionS8), node.input(1)
    scales = replace(p.requant, shift=p.requant.shift * 0 - 8)
    wide = replace(w, dtype=DType.INT16, data=w.data.astype(np.int16))
    for other, found in ((w, True), (wide, True), (replace(w, data=None), False)):
        bound = replace(node, inputs=(node.input(0), other, *node.inputs[2:]))
        assert (groups_of(bound, p.x_zp, scales, DSP) is not None) is found


M3, M0 = (target_of(find_core(core), Optimize.BALANCED) for core in ("cortex-m3", "cortex-m0"))
SLICED = replace(M0, in_one_go=1e6)


def mostly_zeros(*shape):
    """Weights of which only the first four taps of each channel are any."""
    w = np.zeros(shape, np.int8)
    w[:, :4] = 3
    return w


def dense(rows, w, target, dtype=DType.INT8):
    layer = Value("b", dtype, w.shape, QParams((0.5,)), w)
    attrs, x = FullyConnectedAttrs(), s8(rows, w.shape[1], scale=0.01)
    node = node_of("fully_connected", attrs, [x, layer], [s8(rows, len(w), scale=2.0)])
    return choose(node, target)


ONES, ZEROS, WHOLE_ROW = (
    np.full((8, 64), 3, np.int8),
    mostly_zeros(8, 64),
    np.full((8, 34_000), 127),
)
DENSE = {
    "four rows": (4, ONES, M3, "dense_four_s8"),
    "four rows without zeros": (4, ZEROS, M3, "dense_sparse_s8"),
    "a row in parts": (1, ONES, SLICED, "dense_row_part_s8"),
    "a row without zeros in parts": (1, ZEROS, SLICED, "dense_row_sparse_s8"),
    "a row of sums that are too long": (
        1,
        WHOLE_ROW.astype(np.int8),
        M0,
        "fully_connected_plain_s8",
    ),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense_layers_take_the_kernel_of_how_their_weights_are_stored(name):
    rows, w, target, kernel = DENSE[name]
    assert dense(rows, w, target).name == f"tinyrt_{kernel}"


FOUR, PAIRS = [(256, 32)], [(128, 16), (256, 32)]
"""Where each step of four rows of 64 stops: the bytes read, and written."""


@pytest.mark.parametrize(
    ("rows", "w", "target", "scratch", "steps"),
    [
        (4, ONES, M3, 3 * 4 * 64, FOUR),
        (4, ONES, M0, 3 * 4 * 64, FOUR),
        (4, ONES, SLICED, 3 * 4 * (64 + 1), FOUR),
        (4, ONES, M4, 2 * 2 * 64, PAIRS),
        (4, ZEROS, M3, 2 * 4 * 64, PAIRS),
        (4, ZEROS, M0, 2 * 4 * 64, PAIRS),
        (4, ZEROS, SLICED, 2 * 4 * 64, PAIRS),
        (4, ZEROS, M4, 2 * 2 * 64, PAIRS),
        (1, ONES, M4, 0, None),
        (1, ONES, SLICED, 4, None),
        (1, ZEROS, SLICED, 0, None),
    ],
)
def test_dense_layers_copy_as_many_rows_at_once_as_their_kernel_takes(
    rows, w, target, scratch, steps
):
    """Words of taps of four rows, or a word (with the DSP extension half of one) of two."""
    kernel = dense(rows, w, target)
    sweep = kernel.sweep()
    stops = sweep and [(step.reads[0][1], step.writes[1]) for step in sweep]
    assert (kernel.scratch_bytes, stops) == (scratch, steps)
    assert sweep is None or all(step.reads_first for step in sweep)


NARROW = {
    "a row": (1, ONES, M0, "dense_row_s4"),
    "a row in parts": (1, ONES, SLICED, "dense_row_s4"),
    "four rows": (4, ONES, M3, "dense_s4"),
    "rows without zeros": (4, mostly_zeros(8, 512), M3, "dense_sparse_s8"),
    "sums that are too long": (1, np.full((4, 2400), 7, np.int8), M4, "dense_row_s8"),
}


@pytest.mark.parametrize("name", NARROW)
def test_weights_of_four_bits_take_their_own_kernels_or_those_of_bytes(name):
    rows, w, target, kernel = NARROW[name]
    assert dense(rows, w, target, DType.INT4).name == f"tinyrt_{kernel}"


def test_code_that_is_to_fit_other_scales_takes_no_signs_of_sums():
    node = _plain(build_s8(depthwise(8, 3), np.random.default_rng(0)).graph).bind(0)
    names = [choose(node, replace(M4, choices=c)).name for c in (None, Choices(*[frozenset()] * 2))]
    assert names == ["tinyrt_depthwise3x3_signed_s8", "tinyrt_depthwise3x3_s8"]


# Layers on vectors


def planes(x, kernel, stride=1, **attrs):
    shapes = x, (1, *kernel, x[3]), (x[3],)
    attrs = DepthwiseConv2dAttrs(stride=(stride, stride), padding="SAME", **attrs)
    case = Case("depthwise_conv2d", attrs, shapes, frozenset({1, 2}))
    node = build_s8(case, np.random.default_rng(0)).graph.bind(0)
    return planes_of(node, prepared(node, ConvolutionS8).window)


def test_lines_lie_side_by_side_where_windows_have_one_column_and_so_does_the_output():
    assert planes((1, 9, 1, 8), (5, 1)).column == 0
    assert planes((1, 1, 9, 8), (1, 5)).column == 0
    assert planes((1, 9, 4, 8), (3, 1)).column != 0
    assert planes((1, 9, 4, 8), (5, 1)) is None


@pytest.mark.parametrize(
    ("channels", "fits"), [(MAX_PLACE // 15, True), (MAX_PLACE // 15 + 1, False)]
)
def test_outputs_of_a_loop_are_no_further_apart_than_their_places_tell(channels, fits):
    """A column of 16 outputs, one channel after the other."""
    found = planes((1, 16, 1, channels), (3, 1))
    assert (found is not None and found.column == 0) is fits


def test_rows_that_are_too_long_for_places_are_no_planes():
    channels = 8192
    assert planes((1, 3, 2, channels), (3, 3)) is not None
    wide = planes((1, 3, 6, channels), (3, 3))
    assert wide is None


@pytest.mark.parametrize(("c_in", "all_of_them"), [(4, True), (8, False)])
def test_pixels_with_groups_come_all_at_once(c_in, all_of_them):
    side = int((MAX_PIXELS / 8) ** 0.5) + 2
    shapes = (1, side, side, 8), (8, 1, 1, c_in), (8,)
    case = Case("conv2d", Conv2dAttrs(), shapes, frozenset({1, 2}))
    node = build_s8(case, np.random.default_rng(0)).graph.bind(0)
    window = prepared(node, ConvolutionS8).window
    assert (points_at_once(node, window) == side * side) is all_of_them


def test_pixels_with_steps_on_vectors_are_read_to_the_last():
    """What overlaps the input is planned by that: every second of six rows and columns."""
    case = conv((1, 6, 6, 8), (8, 1, 1, 8), stride=2)
    node = build_s8(case, np.random.default_rng(0)).graph.bind(0)
    sweep = choose(node, M55).sweep()
    assert max(step.reads[0][1] for step in sweep if step.reads[0]) >= (4 * 6 + 5) * 8


EVEN = (0.01,)
WIDE = {
    "groups of vectors": ((16, 3, 3, 4), EVEN * 16, True),
    "groups of halves": ((12, 3, 3, 4), EVEN * 12, False),
    "one channel of a coarse scale": ((16, 3, 3, 4), (*EVEN * 15, 0.5), False),
    "one channel of a fine scale": ((16, 3, 3, 4), (*EVEN * 15, 2.0**-20), False),
}


@pytest.mark.parametrize("name", WIDE)
def test_int16_on_vectors_is_raised_in_whole_groups_and_scales_that_fit(name):
    w, scales, raised = WIDE[name]
    inputs = [s16(1, 5, 5, 8, scale=1.0), weights(*w, scale=scales, axis=0)]
    node = node_of("conv2d", Conv2dAttrs(padding="SAME"), inputs, [s16(1, 5, 5, w[0], scale=1.0)])
    assert choose(node, M55).name == f"tinyrt_conv2d{'_raised' if raised else ''}_s16"
