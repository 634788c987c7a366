"""Which layers RISC-V cores with vectors take by strips of channels."""

from dataclasses import replace

import numpy as np
import pytest

from tests.backends.c.test_choice import conv, dense, depthwise
from tests.ops.build import build_s8
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.kernel import Data, Params, call
from tinyrt.backends.c.parts.cost import instructions_of as cost_of
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.parts.strips import instructions_of
from tinyrt.backends.c.rvv.strips import _places, fit_pairs
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.shared.window import Window

TARGET = target_of(find_core("rv32imcv"), Optimize.BALANCED)


def kernel_of(case, weights=DType.INT8, change=None):
    graph = build_s8(case, np.random.default_rng(0), weights=weights).graph
    if change is not None:
        w = graph.value("in1")
        graph = replace(graph, values=graph.values | {"in1": replace(w, data=change(w.data))})
    return choose(graph.bind(0), TARGET)


def lowest(w):
    return np.full_like(w, -128)


LAYERS = {
    "windows": (conv((1, 9, 9, 3), (8, 3, 3, 3)), "tinyrt_conv2d_strips_s8"),
    "pixels": (conv((1, 9, 9, 3), (8, 1, 1, 3)), "tinyrt_dense_strips_s8"),
    "pixels apart": (conv((1, 9, 9, 3), (8, 1, 1, 3), stride=2), "tinyrt_conv2d_strips_s8"),
    "columns apart": (conv((1, 9, 9, 3), (8, 1, 1, 3), stride=(1, 2)), "tinyrt_conv2d_strips_s8"),
    "rows apart": (conv((1, 9, 9, 3), (8, 1, 1, 3), stride=(2, 1)), "tinyrt_conv2d_strips_s8"),
    "channels": (depthwise(8, 3), "tinyrt_depthwise_strips_s8"),
    "rows": (dense(3, 16, 8), "tinyrt_dense_strips_s8"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_go_by_strips(name):
    case, kernel = LAYERS[name]
    assert kernel_of(case).name == kernel
    for others in ({"weights": DType.INT4}, {"change": lowest}):
        assert "strips" not in kernel_of(case, **others).name


@pytest.mark.parametrize(
    ("dilation", "in_place"), [((1, 1), 1), ((1, 2), 0), ((2, 1), 0), ((2, 2), 0)]
)
@pytest.mark.parametrize("layer", ["convolution", "depthwise"])
def test_windows_with_gaps_are_copied(layer, dilation, in_place):
    made = {
        "convolution": conv((1, 9, 9, 3), (8, 3, 3, 3), dilation=dilation),
        "depthwise": depthwise(8, 3, dilation=dilation),
    }
    (one,) = kernel_of(made[layer]).calls
    assert params_of(one)["in_place"] == in_place


@pytest.mark.parametrize(
    "case",
    [conv((1, 9, 9, 8), (8, 3, 3, 4)), depthwise(8, 3, filters=2)],
    ids=["groups", "filters"],
)
def test_others_take_the_scalar_kernels(case):
    assert "strips" not in kernel_of(case).name


@pytest.mark.parametrize(
    ("rows", "c_out", "four_taps"), [(1, 8, 24), (2, 17, 35), (4, 16, 57), (2, 33, 2 * 35)]
)
def test_four_taps_cost_what_their_instructions_are(rows, c_out, four_taps):
    shorter, longer = (
        instructions_of(kernel_of(dense(rows, c_in, c_out)).calls[0]) for c_in in (8, 12)
    )
    assert longer - shorter == four_taps


@pytest.mark.parametrize(
    ("taps", "fits"),
    [
        ([127, 128], True),
        ([128, 127], True),
        ([-128, 127], True),
        ([-128, -128], False),
        ([1, -128, -128, 1], True),
        ([1, -128, -128], True),
        ([-128], True),
    ],
)
def test_pairs_of_taps_fit_halves(taps, fits):
    """Pairs begin at even places; the least byte times itself, twice, is one too many."""
    row = np.array(taps).clip(-128, 127).astype(np.int8).reshape(1, -1, 1)
    assert fit_pairs(row) is fits
    both = np.concatenate([np.zeros_like(row), row], axis=0)
    assert fit_pairs(both) is fits


@pytest.mark.parametrize(
    ("wide", "least", "fits"),
    [(3, (2, 3), False), (3, (3, 4), False), (3, (1, 2), True), (4, (3, 4), True)],
)
def test_pairs_of_a_window_fit_halves_where_it_is_copied_too(wide, least, fits):
    """A copy is a single row of taps: its pairs may be an end of a row and the next one's begin."""

    def change(w):
        taps = np.zeros((len(w), w[0].size), np.int8)
        taps[:, least] = -128
        return taps.reshape(w.shape)

    kernel = kernel_of(conv((1, 9, 9, 1), (8, 2, wide, 1)), change=change)
    assert ("strips" in kernel.name) is fits


@pytest.mark.parametrize("name", LAYERS)
def test_outputs_of_a_step_lie_on_no_inputs_of_it(name):
    """Each strip of channels reads them again, behind the outputs of the strip before it."""
    case, _ = LAYERS[name]
    assert not any(step.reads_first for step in kernel_of(case).sweep())


@pytest.mark.parametrize("layer", [conv((1, 1, 9, 3), (3, 3, 3, 3)), depthwise(8, 3)])
def test_pixels_of_a_row_are_not_cut_where_outputs_lie_on_inputs(layer):
    """A part would read what the part before it wrote: its rows lie under the windows."""
    row = replace(layer, shapes=((1, 1, *layer.shapes[0][2:]), *layer.shapes[1:]))
    image = replace(layer, shapes=((1, 5, *layer.shapes[0][2:]), *layer.shapes[1:]))
    for case, overlaps, cut in (
        (row, True, False),
        (row, False, True),
        (image, True, True),
        (image, False, True),
    ):
        (one,) = kernel_of(case).calls
        assert (cut_of(one, TARGET.isa, overlaps) is not None) is cut


@pytest.mark.parametrize(
    ("c_out", "width", "copies"), [(16, 9, 4), (16, 3, 2), (16, 1, 1), (17, 9, 2), (17, 1, 1)]
)
def test_scratch_has_a_window_of_each_pixel_at_once(c_out, width, copies):
    kernel = kernel_of(conv((1, 9, width, 3), (c_out, 3, 3, 3)))
    assert kernel.scratch_bytes == copies * 27


X, Y = (Value(name, DType.INT8, (1 << 20,), QParams((0.5,))) for name in "xy")
TABLES = {name: Data(name, np.zeros(70)) for name in ("bias", "mult", "shift")}
IMAGES = {
    "x": {"n": 2, "h": 4, "w": 6, "c": 4},
    "y": {"n": 2, "h": 3, "w": 5, "c": 33},
    "window": {"kernel_h": 3, "kernel_w": 2, "stride_h": 1, "stride_w": 2}
    | {"pad_top": 1, "pad_left": 0},
}
STRIP = {"rows": 3, "run": 8, "c_out": 33, **TABLES}
"""Of two strips, of three rows of eight taps each."""
TWO, ONE = (48 + 17 * n + 3 * (2 * (13 + 11 * n) + 9 + n) for n in (2, 1))
COPY = 30 + 3 * 45


def strips_call(kernel, *data, **fields):
    return call(f"tinyrt_{kernel}_strips_s8", Params("p_t", fields), X, *data, Y)


# Of three rows of windows two begin inside the input and end there, of five columns three.
COSTS = {
    "fours and a pair": (
        strips_call("dense", rows=6, strips=STRIP | {"c_out": 16}),
        48 + 17 * 4 + 3 * (2 * 57 + 9 + 4) + TWO,
    ),
    "pairs and one": (strips_call("dense", rows=5, strips=STRIP), 2 * 2 * TWO + 2 * ONE),
    "windows": (
        strips_call("conv2d", in_place=1, strips=STRIP, **IMAGES),
        (30 - 2 * 2 * 3) * COPY + 6 * (40 + 2 * 2 * TWO + 2 * ONE),
    ),
    "windows beyond the last row": (
        strips_call("conv2d", in_place=1, strips=STRIP, **IMAGES | {"y": IMAGES["y"] | {"h": 4}}),
        (40 - 2 * 2 * 3) * COPY + 8 * (40 + 2 * 2 * TWO + 2 * ONE),
    ),
    "copied windows": (
        strips_call("conv2d", in_place=0, strips=STRIP, **IMAGES),
        30 * COPY + 6 * (40 + 2 * 2 * TWO + 2 * ONE),
    ),
    "channels": (
        strips_call("depthwise", in_place=1, strips=STRIP | {"rows": 6}, **IMAGES),
        (30 - 2 * 2 * 3) * COPY + 30 * (40 + 2 * (48 + 17 + 3 * 17)),
    ),
}


@pytest.mark.parametrize("name", COSTS)
def test_every_strip_is_counted(name):
    one, by_hand = COSTS[name]
    assert instructions_of(one) == by_hand
    assert cost_of(one, None, None, TARGET.isa) == 120 + by_hand


def test_rows_are_cut_by_as_many_as_are_computed_at_once():
    fields = {"rows": 9, "strips": STRIP | {"rows": 1, "c_out": 16}}
    cut = cut_of(strips_call("dense", **fields), TARGET.isa, True)
    assert cut.units == 3
    part = cut.part(1, 3)
    assert params_of(part)["rows"] == 5
    assert [arg.skip for arg in part.args[1:]] == [4 * 8, 4 * 16]


def test_a_row_is_cut_by_strips_of_channels():
    def dense_of(c_out, rows=1):
        fields = {"rows": rows, "strips": STRIP | {"c_out": c_out}}
        return strips_call("dense", Data("w", np.zeros(8 * c_out)), **fields)

    cut = cut_of(dense_of(70), TARGET.isa, True)
    assert (cut.units, cut.last) == (3, 6 / 32)
    for a, b in ((0, 1), (1, 3)):
        part = cut.part(a, b)
        strips = params_of(part)["strips"]
        assert strips["c_out"] == min(32 * b, 70) - 32 * a
        assert [strips[name].skip for name in TABLES] == [32 * a] * 3
        assert [arg.skip for arg in part.args[1:]] == [0, 32 * a, 32 * a]
    assert cut_of(dense_of(32), TARGET.isa, True) is None
    assert cut_of(dense_of(70, rows=2), TARGET.isa, True) is None


def test_taps_of_a_channel_lie_where_image_and_copy_have_them():
    """Of windows of two by two, in an input of nine columns of four channels."""
    attrs = {"dilation": (3, 2), "padding": "VALID"}
    window = Window.of((9, 9), (2, 2), (1, 1), **attrs)
    image = [4 * (9 * 3 * row + 2 * column) for row in (0, 1) for column in (0, 1)]
    assert _places(window, (1, 9, 9, 4)).tolist() == [*image, 0, 4, 8, 12]
