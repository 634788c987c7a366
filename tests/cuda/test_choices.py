"""What device code is written for: the fast form where that is exact, else the general one."""

import numpy as np
import pytest

from tests.ops.quantised import graph_of, s8, value, weights
from tinyrt.backends.cuda.choice import emitter_of
from tinyrt.backends.cuda.fold import fold_pair
from tinyrt.backends.cuda.layout import ALIGNMENT, BANKS, Shape, stride_of
from tinyrt.backends.cuda.program import generate
from tinyrt.backends.cuda.widen import widen_inputs
from tinyrt.ir import DType
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs

VALUES = np.arange(-128, 128)


def test_answers_of_no_linear_function_are_not_folded():
    either = (VALUES[:, None] ^ VALUES).astype(np.int8)
    assert fold_pair(either, (-128, 127), 1.0, 1.0) is None
    total = np.clip(VALUES[:, None] + VALUES, -128, 127).astype(np.int8)
    assert fold_pair(total, (-128, 127), 1.0, 1.0) is not None


@pytest.mark.parametrize(("scale", "folds"), [(0.1, True), (300.0, False)])
def test_sums_of_far_scales_are_not_folded(scale, folds):
    x = s8(1, 256, scale=0.1)
    graph = graph_of("add", AddAttrs(), [x, s8(1, 256, scale=scale)], [s8(1, 256, scale=0.1)])
    source = generate(graph, Shape(threads=64, fused=False)).source
    assert ("folded_sums<" in source) is folds


@pytest.mark.parametrize(
    ("channels", "kernel", "width"),
    [(3, 3, 4), (2, 3, 4), (1, 4, 4), (1, 3, 1), (4, 3, 4)],
    ids=["3 to 4", "2 to 4", "a row of the kernel", "1 would become 4", "4 fit"],
)
def test_inputs_are_widened_where_that_does_not_double_them_twice(channels, kernel, width):
    x, y = s8(1, 8, 8, channels), s8(1, 8, 8, 4)
    graph = graph_of("conv2d", Conv2dAttrs(), [x, weights(4, 3, kernel, channels)], [y])
    wide, widenings = widen_inputs(graph)
    assert wide.input_values[0].shape[3] == width
    assert bool(widenings) is (width != channels)


@pytest.mark.parametrize(("dtype", "has"), [(DType.INT8, True), (DType.UINT8, False)])
def test_types_that_device_code_lacks_are_left_to_others(dtype, has):
    x = value(dtype, 2, 3)
    node = graph_of("reshape", ReshapeAttrs((3, 2)), [x], [value(dtype, 3, 2)]).bind(0)
    assert (emitter_of(node) is not None) is has


@pytest.mark.parametrize(
    ("op", "attrs", "shape", "work"),
    [
        # A warp takes up to 32 pixels of 16 channels: fewer where warps would be idle.
        ("conv2d", Conv2dAttrs(), (1, 5, 7, 16), {32: 2 * 32, 64: 2 * 32, 256: 5 * 32}),
        ("conv2d", Conv2dAttrs(), (2, 5, 7, 16), {32: 3 * 32, 64: 3 * 32, 256: 9 * 32}),
        ("conv2d", Conv2dAttrs(), (2, 5, 7, 40), {32: 9 * 32, 256: 9 * 32}),
        ("conv2d", Conv2dAttrs(), (1, 40, 40, 16), {32: 50 * 32, 256: 50 * 32}),
        ("conv2d", Conv2dAttrs(), (1, 1, 3, 300), {32: 19 * 32, 256: 19 * 32}),
        # A thread takes four channels of one column, of four rows, two or one.
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), (1, 5, 7, 16), {32: 56, 64: 84, 256: 140}),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), (2, 8, 3, 8), {24: 24, 32: 48, 256: 96}),
    ],
)
def test_as_many_threads_as_there_are_have_something_to_do(op, attrs, shape, work):
    c = shape[3]
    w = weights(c, 1, 1, c) if op == "conv2d" else weights(1, 3, 3, c)
    graph = graph_of(op, attrs, [s8(*shape), w], [s8(*shape)])
    for threads, wanted in work.items():
        program = generate(graph, Shape(threads=threads, samples=1, fused=False))
        (found,) = (phase for phase in program.phases if op in phase.title)
        assert found.work == wanted
        (kernel,) = (kernel for kernel in program.kernels if op in kernel.title)
        assert kernel.parts == -(-wanted // threads)


def test_only_dimensions_with_a_border_are_compared():
    attrs = PadAttrs(((0, 0), (2, 1), (0, 0)))
    graph = graph_of("pad", attrs, [s8(2, 3, 4)], [s8(2, 6, 4)])
    source = generate(graph, Shape(threads=64, fused=False)).source
    inside = "static_cast<u32>(i / 4 % 6 - 2) < 3u ? "
    assert inside in source
    assert "&& " + inside not in source
    assert inside[:-2] + "&&" not in source


@pytest.mark.parametrize("arena", [1, 100, 128, 4097])
def test_arenas_side_by_side_begin_in_different_banks(arena):
    """Four of them share no bank in what they begin with; one alone is as small as can be."""
    beside, alone = stride_of(arena, 4), stride_of(arena, 1)
    assert sorted(i * beside % BANKS for i in range(4)) == [0, 32, 64, 96]
    assert arena <= beside < arena + 2 * BANKS
    assert arena <= alone < arena + ALIGNMENT
    assert alone % ALIGNMENT == 0
