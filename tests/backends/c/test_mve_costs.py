"""What depthwise layers cost on a Cortex-M55, summed up by hand as their kernels' loops go."""

import numpy as np
import pytest

from tests.ops.build import Case, build_s8
from tests.ops.quantised import node_of, s8, weights
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.mve.cost import (
    CALL,
    convolution_cost,
    depthwise_cost,
    eights_cost,
    element_cost,
    faster_planes,
    kept_cost,
    more_cost,
    planes_cost,
    product_cost,
)
from tinyrt.backends.c.mve.layout import depthwise_bytes
from tinyrt.backends.c.mve.packing import lines_of
from tinyrt.backends.c.mve.planes import planes_of
from tinyrt.backends.c.planning import kernels_of
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs, window_of
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.shared.window import Window

PAIR = 62 + 3 * (9 + 25 + 16)
"""Two points of a kernel of three by three, of results that no activation cuts off."""

CASES = {
    # Two lines side by side, then the last one's pair and its point: three calls for five pairs.
    "three by three points": (5, 45 + 60 + 5 * (15 + 4 * 5) + 3 * 45 + 5 * PAIR, 5 * 5),
    # Six lines from one copy: ten copies, of which nine have two lines of the one before.
    "in ten bands": (
        61,
        45 + 10 * 60 + 61 * (15 + 4 * 61) + 9 * 2 * 2 * 61 + 31 * 45 + (29 * 59 + 30) * PAIR,
        8 * 61,
    ),
}
"""Name -> rows and columns of the input, instructions for eight channels, bytes filled at first."""

SIGNED = 1
"""How results are rounded that no activation cuts off: 33 instructions for eight of them."""

WEIGHTS = 25 + 14 * 9
"""Eight channels' weights of three by three."""

PLANES = {
    # Two groups of five points, less two behind the last one: eight windows are two fours.
    "one band": ((5, 5), (1, 1), "VALID", 5, WEIGHTS + 90 + 5 * (55 + 6 * 5) + 8 * (31 + 2 * 33)),
    # Fifteen pairs of lines, one at a time, of eight fours each; two of them from one copy.
    "bands": (
        (32, 32),
        (1, 1),
        "VALID",
        32,
        WEIGHTS + 8 * 90 + 32 * (55 + 6 * 32) + 8 * 15 * (31 + 8 * 33),
    ),
    # One pair of lines of two windows, which go to one place of the copy each but for every fourth.
    "stride 2": ((5, 5), (2, 2), "VALID", 3, WEIGHTS + 90 + 5 * (55 + 5 * 5) + 8 * (31 + 33)),
    # A column of padding between groups: two groups of four and three windows are two fours.
    "padded": ((3, 3), (1, 1), "SAME", 4, WEIGHTS + 90 + 3 * (55 + 6 * 3) + 8 * (31 + 2 * 33)),
}
"""Name -> rows and columns, strides, padding, windows from a group to the next, instructions."""


def depthwise(sides, attrs, kernel=(3, 3), channels=16, images=1):
    shapes = ((images, *sides, channels), (1, *kernel, channels), (channels,))
    case = Case("depthwise_conv2d", attrs, shapes, frozenset({1, 2}))
    node = build_s8(case, np.random.default_rng(0)).graph.bind(0)
    return node, window_of(attrs, node.input(0).shape, node.input(1).shape)


@pytest.mark.parametrize(("size", "block", "filled"), CASES.values(), ids=CASES)
def test_every_loop_of_eight_channels_is_counted(size, block, filled):
    node, window = depthwise((size, size), DepthwiseConv2dAttrs(padding="VALID"))
    assert eights_cost(node, window) == CALL + 150 + filled + 2 * block


@pytest.mark.parametrize(
    ("sides", "stride", "padding", "positions", "block"), PLANES.values(), ids=PLANES
)
def test_every_loop_of_one_channel_is_counted(sides, stride, padding, positions, block):
    node, window = depthwise(sides, DepthwiseConv2dAttrs(stride, padding))
    planes = planes_of(node, window)
    assert planes is not None
    assert planes.positions == positions
    assert planes.cost(SIGNED) == block
    places = positions * (-(-window.out[0] // 2) if planes.whole else 1)
    copy = planes.plane_bytes(window.out[0])
    set_up = 130 + 14 * places + copy + 48
    assert planes_cost(node, planes, SIGNED) == CALL + set_up + 2 * block


@pytest.mark.parametrize(("channels", "eights"), [(1, 1), (8, 1), (9, 2), (20, 3), (25, 4)])
def test_channels_that_fill_no_eight_cost_as_eight_do(channels, eights):
    attrs = DepthwiseConv2dAttrs(padding="VALID")
    node, window = depthwise((5, 5), attrs, channels=channels)
    planes = planes_of(node, window)
    block = PLANES["one band"][-1]
    assert planes_cost(node, planes, SIGNED) == CALL + planes.set_up() + eights * block
    _, block, filled = CASES["three by three points"]
    assert eights_cost(node, window) == CALL + 150 + filled + eights * block
    two, _ = depthwise((5, 5), attrs, channels=channels, images=2)
    assert planes_cost(two, planes, SIGNED) == element_cost(two)


@pytest.mark.parametrize(
    ("sides", "kernel", "stride", "has"),
    [
        ((30, 1), (15, 1), 1, True),
        ((30, 1), (16, 1), 1, False),
        ((30, 1), (14, 1), 2, True),
        ((30, 1), (15, 1), 2, False),
        ((9, 9), (3, 4), 1, True),
        ((9, 9), (3, 5), 1, False),
        ((9, 9), (4, 4), 1, False),
        ((9, 9), (3, 3), 2, True),
        ((9, 9), (3, 3), 3, False),
        ((9, 9), (2, 2), 2, True),
    ],
)
def test_two_lines_of_windows_lie_in_a_vector(sides, kernel, stride, has):
    attrs = DepthwiseConv2dAttrs((stride, stride), "VALID")
    assert (planes_of(*depthwise(sides, attrs, kernel)) is not None) == has


def test_the_copy_has_room_for_all_that_is_read():
    """Channels of 48 bytes, five fours of places and one to fill up, eight planes of three groups.

    The last vector begins three windows of four bytes behind the last plane, at most.
    """
    planes = planes_of(*depthwise((6, 5), DepthwiseConv2dAttrs(padding="SAME")))
    assert planes is not None
    assert (planes.window.out, planes.positions, planes.times(5)) == ((5, 6), 7, 5)
    plane = 2 * 7 * 4 + 8 * 4
    assert planes.scratch_bytes() == 8 * 48 + 6 * 16 + 8 * plane + 3 * 4 + 16


def test_a_window_over_lines_of_one_line_goes_along_the_other_axis():
    """Its taps come two at a time then, and a copy that is read once is short."""
    node, window = depthwise((8, 512), DepthwiseConv2dAttrs(padding="VALID"), (8, 1))
    assert lines_of(window) == (1, 0)
    assert depthwise_bytes(node, window) == 1024
    assert lines_of(window_of(DepthwiseConv2dAttrs(), (1, 1, 512, 8), (1, 1, 8, 8))) == (0, 1)


def convolved(x, w, stride=(1, 1), activation="NONE"):
    """A convolution without padding, and how it slides."""
    attrs = Conv2dAttrs(stride, "VALID", activation=activation)
    window = Window.of(x[1:3], w[1:3], stride, "VALID")
    y = s8(x[0], *window.out, w[0])
    return node_of("conv2d", attrs, [s8(*x), weights(*w), None], [y]), window


def products(patches, length, c_out, plain=True):
    return product_cost(patches, length, c_out, plain)


CONVOLUTIONS = {
    # Six lines of eight windows, of three rows each that read sixteen columns.
    "windows": (
        convolved((1, 8, 16, 5), (8, 3, 2, 5), (1, 2)),
        6 * (products(8, 30, 8) + 3 * (60 + 17 * 6)),
    ),
    "windows of two groups": (
        convolved((1, 8, 16, 12), (8, 3, 2, 6), (1, 2), "RELU"),
        2 * 6 * (products(8, 36, 4, False) + 3 * (60 + 7 * 16)),
    ),
    "windows of many channels": (
        convolved((1, 8, 16, 20), (8, 3, 2, 20), (1, 2)),
        6 * (products(8, 120, 8) + 3 * (60 + 7 * 16 * 2)),
    ),
    "pixels apart": (convolved((1, 9, 13, 8), (8, 1, 1, 8), (2, 3)), 5 * products(5, 8, 8)),
    "pixels in three copies": (
        convolved((1, 20, 30, 16), (8, 1, 1, 16)),
        3 * products(200, 16, 8) + 3 * 600,
    ),
    "pixels and a rest": (
        convolved((1, 20, 31, 16), (8, 1, 1, 16)),
        2 * products(208, 16, 8) + products(204, 16, 8) + 3 * 620,
    ),
    "few pixels": (convolved((1, 9, 12, 8), (8, 1, 1, 8)), products(108, 8, 8)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_every_patch_of_a_convolution_is_counted(name):
    (node, window), by_hand = CONVOLUTIONS[name]
    assert convolution_cost(node, window) == CALL + by_hand


def test_patches_without_zeros_cost_what_is_kept():
    node, window = convolved((1, 9, 12, 8), (8, 1, 1, 8))
    kept = np.array([1, 3]), 0
    assert convolution_cost(node, window, kept) == CALL + kept_cost(108, *kept)


# Two images, of two groups each of six channels.
AGAIN = {
    "windows": (
        (Window((3, 2), (1, 2), (1, 1), (0, 0), (0, 0), (4, 4)), 3, (30, 9)),
        (products(3, 30, 6) + products(1, 30, 6) + 3 * (60 + 17 * 3) + 6 * 8 * 2 + 100),
    ),
    "pixels": (
        (Window((1, 1), (1, 2), (1, 1), (0, 0), (0, 0), (4, 4)), 2, (16, 5)),
        2 * products(2, 16, 6) + 5 * 7 + 200,
    ),
    "longer pixels": (
        (Window((1, 1), (1, 2), (1, 1), (0, 0), (0, 0), (4, 4)), 2, (17, 5)),
        2 * products(2, 17, 6) + 60 + 17 * 2 + 6 * 7 + 200,
    ),
}


@pytest.mark.parametrize("name", AGAIN)
def test_every_tap_that_is_read_again_is_counted(name):
    (window, at_once, lengths), line = AGAIN[name]
    node, _ = convolved((2, 6, 9, 8), (12, 3, 2, 4))
    assert more_cost(node, window, at_once, lengths) == CALL + 2 * 2 * 4 * line


@pytest.mark.parametrize(
    ("inputs", "output", "instructions"),
    [(((2, 9), None), (2, 3), 4 * 6 + 12), (((2, 3), (1, 7)), (2, 7), 4 * 14)],
)
def test_other_kernels_cost_by_outputs_and_by_inputs_beyond_these(inputs, output, instructions):
    ports = [shape and s8(*shape) for shape in inputs]
    node = node_of("add", NoAttrs(), [*ports, weights(99)], [s8(*output)])
    assert element_cost(node) == CALL + instructions


# Windows, the channels' kernel without planes, and instructions of eight channels.
EIGHTS = {
    "no sign": ((5, 5), (3, 3), 1, "RELU", 60 + 5 * 35 + 3 * 45 + 5 * (53 + 81), 25),
    "one point": ((3, 3), (3, 3), 1, "NONE", 60 + 3 * 27 + 45 + PAIR, 9),
    "no line twice": (
        *((61, 61), (2, 2), 3, "NONE"),
        *(20 * 60 + 59 * (15 + 4 * 59) + 10 * 45 + 200 * (62 + 2 * 34), 2 * 59),
    ),
}


@pytest.mark.parametrize("name", EIGHTS)
def test_lines_of_eight_channels_are_counted_by_their_windows(name):
    sides, kernel, stride, activation, block, filled = EIGHTS[name]
    attrs = DepthwiseConv2dAttrs((stride, stride), "VALID", activation=activation)
    node, window = depthwise(sides, attrs, kernel)
    assert eights_cost(node, window) == CALL + 150 + filled + 2 * (45 + block)


@pytest.mark.parametrize(("activation", "rounding"), [("NONE", 1), ("RELU", 0)])
def test_a_depthwise_layer_costs_what_its_faster_layout_does(activation, rounding):
    attrs = DepthwiseConv2dAttrs(padding="VALID", activation=activation)
    node, window = depthwise((32, 32), attrs)
    planes = planes_of(node, window)
    cost = planes_cost(node, planes, rounding)
    assert cost < eights_cost(node, window)
    assert depthwise_cost(node, window) == cost
    assert faster_planes(node, window) == planes
    other, over = depthwise((9, 9), DepthwiseConv2dAttrs((3, 3), "VALID"))
    assert depthwise_cost(other, over) == eights_cost(other, over)


def test_code_that_calls_share_is_there_once():
    kernels = kernels_of(InstructionSet.MVE)
    convolution, addition = kernels.code_bytes(["conv2d"]), kernels.code_bytes(["add"])
    assert convolution > addition > 0
    assert kernels.code_bytes(["conv2d", "add", "relu", "conv2d"]) == convolution + addition
