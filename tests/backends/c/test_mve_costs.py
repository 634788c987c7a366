"""What depthwise layers cost on a Cortex-M55, summed up by hand as their kernels' loops go."""

import numpy as np
import pytest

from tests.ops.build import Case, build_s8
from tinyrt.backends.c.mve.cost import CALL, eights_cost, planes_cost
from tinyrt.backends.c.mve.layout import depthwise_bytes
from tinyrt.backends.c.mve.packing import lines_of
from tinyrt.backends.c.mve.planes import planes_of
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs, window_of

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


def depthwise(sides, attrs, kernel=(3, 3)):
    shapes = ((1, *sides, 16), (1, *kernel, 16), (16,))
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
