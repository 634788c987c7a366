"""Which layers RISC-V cores with vectors take by strips of channels."""

from dataclasses import replace

import numpy as np
import pytest

from tests.backends.c.test_choice import conv, dense, depthwise
from tests.ops.build import build_s8
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.strips import instructions_of
from tinyrt.backends.c.rvv.strips import fit_pairs
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ir import DType

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
        (call,) = kernel_of(case).calls
        assert (cut_of(call, TARGET.isa, overlaps) is not None) is cut


@pytest.mark.parametrize(
    ("c_out", "width", "copies"), [(16, 9, 4), (16, 3, 2), (16, 1, 1), (17, 9, 2), (17, 1, 1)]
)
def test_scratch_has_a_window_of_each_pixel_at_once(c_out, width, copies):
    kernel = kernel_of(conv((1, 9, width, 3), (c_out, 3, 3, 3)))
    assert kernel.scratch_bytes == copies * 27
