"""What kernels nearly take: columns, wide weights, strides, instruction sets and choices."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.quantised import constant, f32, node_of, s8
from tinyrt.backends.c.blocks.cost import slide_cost
from tinyrt.backends.c.blocks.more import takes_more
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices, Params, Target
from tinyrt.backends.c.mve.more import MAX_COLUMN, takes
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.rejoined import _has_kernel, _has_vectors
from tinyrt.backends.c.x86.products import _Lined
from tinyrt.ir import DType
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.shared.window import Window

SCALAR, DSP, MVE, AVX2 = (InstructionSet(name) for name in ("scalar", "dsp", "mve", "avx2"))
CHOSEN = Choices(frozenset(), frozenset())

CONVOLUTIONS = {
    "wide weights": ((2, 3, 4), 1, 200, True),
    "wide ones below 0": ((2, 3, 4), 1, -129, True),
    "the least byte": ((2, 3, 4), 1, -128, False),
    "the greatest byte": ((2, 3, 4), 1, 127, False),
    "with steps between taps": ((2, 3, 4), 2, 200, True),
    "the longest column": ((2, 2, MAX_COLUMN // 2), 1, 200, True),
    "a longer one": ((2, 2, MAX_COLUMN // 2 + 1), 1, 200, False),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_vectors_read_taps_again_where_weights_are_wide(name):
    (height, width, channels), dilation, number, taken = CONVOLUTIONS[name]
    w = constant(DType.INT16, 4, height, width, channels, fill=number, scale=0.1)
    attrs = Conv2dAttrs(padding="VALID", dilation=(dilation, dilation))
    window = Window.of((9, 9), (height, width), (1, 1), "VALID", attrs.dilation)
    node = node_of("conv2d", attrs, [s8(1, 9, 9, channels), w], [s8(1, *window.out, 4)])
    assert takes(node, window, Target(MVE)) is taken
    # In code for blobs later weights may be wide where these are not.
    assert takes(node, window, Target(MVE, choices=CHOSEN)) is (name != "a longer one")


@pytest.mark.parametrize(("kernel", "channels", "gathers"), [((3, 3), 5, 0), ((1, 1), 15, 1)])
def test_points_that_fill_a_vector_are_gathered_where_they_are_whole_windows(
    kernel, channels, gathers
):
    """Of fifteen places of a point one is read again."""
    w = constant(DType.INT16, 4, *kernel, channels, scale=0.1)
    w.data[0, 0, 0, 2] = 200
    y = s8(1, 7 - kernel[0], 10 - kernel[1], 4, scale=50.0)
    node = node_of("conv2d", Conv2dAttrs(), [s8(1, 6, 9, channels), w], [y])
    (call,) = choose(node, Target(MVE)).calls
    p = params_of(call)
    assert (p["column_bytes"], p["count"], p["gathers"]) == (15, 1, gathers)


@pytest.mark.parametrize(("width", "filters"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_images_of_one_column_and_as_many_channels_are_rows(width, filters):
    w = constant(DType.FLOAT32, 1, 3, 1, 2 * filters)
    attrs = DepthwiseConv2dAttrs(padding="VALID")
    x, y = f32(1, 6, width, 2), f32(1, 4, width, 2 * filters)
    (call,) = choose(node_of("depthwise_conv2d", attrs, [x, w], [y]), Target(DSP)).calls
    (params,) = (arg for arg in call.args if isinstance(arg, Params))
    turned = width == 1 and filters == 1
    assert call.function == "tinyrt_depthwise_few_f32"
    assert (params.fields["x"]["h"], params.fields["x"]["w"]) == ((1, 6) if turned else (6, width))


@pytest.mark.parametrize(
    ("x_width", "kernel", "turned"), [(1, 1, True), (1, 3, False), (2, 1, False)]
)
def test_columns_are_rows_where_windows_have_one_column_too(x_width, kernel, turned):
    w = constant(DType.INT8, 1, 3, kernel, 2)
    window = Window.of((6, x_width), (3, kernel), (1, 1), "SAME", (1, 1))
    ports = [s8(1, 6, x_width, 2), w], [s8(1, 6, x_width, 2)]
    lined = _Lined.of(node_of("depthwise_conv2d", DepthwiseConv2dAttrs(), *ports), window)
    assert lined.x == ((1, 1, 6, 2) if turned else (1, 6, x_width, 2))
    assert lined.w.shape == ((1, 3, 2) if turned else (3, kernel, 2))
    assert lined.window.kernel == lined.w.shape[:2]


@pytest.mark.parametrize(("stride", "cheaper"), [(1, True), (2, False)])
def test_outputs_without_a_sign_are_cheaper_for_windows_side_by_side(stride, cheaper):
    plain, relu = (slide_cost(DSP, (8, 8), 4, stride, relu=relu) for relu in (False, True))
    assert (relu < plain) is cheaper
    assert relu <= plain


@pytest.mark.parametrize("isa", [SCALAR, DSP, MVE, AVX2])
@pytest.mark.parametrize("chosen", [None, CHOSEN])
def test_layers_that_are_cut_take_no_kernel_of_the_whole(isa, chosen):
    whole = replace(Target(isa), choices=chosen)
    assert takes_more(whole) is (isa in (SCALAR, DSP))
    assert _has_vectors(whole) is (isa is MVE)
    part = replace(whole, in_one_go=1000.0)
    assert not takes_more(part)
    assert not _has_vectors(part)


def pointwise(least, dilation=1):
    """Sums of bytes of one sign, which a shift by 8 bits brings to a byte."""
    w = np.full((4, 1, 1, 8), least, np.int8)
    w[0] = -1
    held = replace(constant(DType.INT8, *w.shape, scale=0.1), data=w)
    attrs = Conv2dAttrs(dilation=(dilation, dilation))
    return node_of("conv2d", attrs, [s8(1, 5, 5, 8), held], [s8(1, 5, 5, 4, scale=2.56)])


def by_channel(channels, filters, kernel=3):
    w = constant(DType.INT8, 1, kernel, kernel, channels * filters, scale=0.1)
    ports = [s8(1, 9, 9, channels), w], [s8(1, 9, 9, channels * filters)]
    return node_of("depthwise_conv2d", DepthwiseConv2dAttrs(padding="SAME"), *ports)


WHOLE = {
    "taps that are read again": (pointwise(-128), DSP, True),
    "taps that are read once": (pointwise(-64), DSP, True),
    "taps with steps between them": (pointwise(-128, 2), DSP, False),
    "another set": (pointwise(-128), AVX2, False),
    "vectors that read no tap again": (pointwise(-128), MVE, False),
    "channels on vectors": (by_channel(16, 1), MVE, True),
    "one channel on vectors": (by_channel(1, 16), MVE, False),
}


@pytest.mark.parametrize("name", WHOLE)
def test_layers_whose_weights_are_wide_have_a_kernel_of_the_whole(name):
    node, isa, found = WHOLE[name]
    assert _has_kernel(node, Target(isa)) is found
