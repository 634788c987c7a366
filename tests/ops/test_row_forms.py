"""Which ops run row by row: those of one image whose rows depend on rows of their inputs alone."""

import pytest

from tests.ops.quantised import constant, f32, graph_of, s8, s16, value, weights
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs

IMAGE, TWO, ROW, COLUMN = (1, 4, 5, 2), (2, 4, 5, 2), (1, 1, 5, 2), (1, 4, 1, 2)
BORDER = ((0, 0), (1, 1), (1, 1), (0, 0))


def along(*shape):
    return constant(DType.INT8, *shape)


def flags(*shape):
    return value(DType.BOOL, *shape, scale=0.0)


def layer(shape, make=s8):
    return ("conv2d", Conv2dAttrs(), [make(*shape), weights(2, 3, 3, 2)], [make(*shape)])


def pair(a, b, y=IMAGE):
    return ("add", AddAttrs(), [a, b], [s8(*y)])


def join(axis, *inputs, y):
    return ("concatenation", ConcatenationAttrs(axis), inputs, [s8(*y)])


def average(out, **attrs):
    """The mean of windows as large as the image."""
    return ("average_pool2d", Pool2dAttrs(IMAGE[1:3], **attrs), [s8(*IMAGE)], [s8(1, *out, 2)])


def border(x, y, value=0.0):
    return ("pad", PadAttrs(BORDER, value), [x], [y])


ROWS = {
    "a convolution": layer(IMAGE),
    "a constant per channel": pair(s8(*IMAGE), along(2)),
    "a constant row": pair(s8(*IMAGE), along(1, 1, 5, 2)),
    "a row for all rows": pair(s8(*IMAGE), s8(*ROW)),
    "a join of channels": join(3, s8(*IMAGE), s8(*IMAGE), y=(1, 4, 5, 4)),
    "an average": ("mean", MeanAttrs((1, 2), True), [s8(*IMAGE)], [s8(1, 1, 1, 2)]),
    "an average under one window": average((1, 1)),
    "a border": border(s8(*IMAGE, zp=3), s8(1, 6, 7, 2, zp=3)),
    "a border of int16": border(s16(*IMAGE), s16(1, 6, 7, 2)),
}

WHOLE = {
    "a convolution of two images": layer(TWO),
    "a float convolution": ("conv2d", Conv2dAttrs(), [f32(*IMAGE), f32(2, 3, 3, 2)], [f32(*IMAGE)]),
    "a pool of two images": ("max_pool2d", Pool2dAttrs((3, 3)), [s8(*TWO)], [s8(*TWO)]),
    "a constant per row": pair(s8(*IMAGE), along(4, 1, 1)),
    "a column for all columns": pair(s8(*IMAGE), s8(*COLUMN)),
    "sums of two images": pair(s8(*TWO), s8(*TWO), TWO),
    "a join of rows": join(1, s8(*IMAGE), s8(*IMAGE), y=(1, 8, 5, 2)),
    "a join with a constant": join(3, s8(*IMAGE), along(*IMAGE), y=(1, 4, 5, 4)),
    "a join of two images": join(3, s8(*TWO), s8(*TWO), y=(2, 4, 5, 4)),
    "an average of two images": ("mean", MeanAttrs((1, 2), True), [s8(*TWO)], [s8(2, 1, 1, 2)]),
    "averages as large as the image": average(IMAGE[1:3], padding="SAME"),
    "an average that is rounded as on uint8": average((1, 1), legacy=True),
    "a border of two images": border(s8(*TWO), s8(2, 6, 7, 2)),
    "running sums of rows": ("cumsum", CumsumAttrs(2), [s8(*IMAGE)], [s8(*IMAGE, scale=2.0)]),
    "a comparison": ("less", NoAttrs(), [s8(*IMAGE), s8(*IMAGE)], [flags(*IMAGE)]),
    "a choice by a constant": (
        "select_v2",
        NoAttrs(),
        [constant(DType.BOOL, *IMAGE, scale=0.0), s8(*IMAGE), s8(*IMAGE)],
        [s8(*IMAGE)],
    ),
    "an image that is quantised": ("quantize", QuantizeAttrs(), [f32(*IMAGE)], [s8(*IMAGE)]),
    "a border of a number in int16": border(s16(*IMAGE), s16(1, 6, 7, 2), 1.0),
    "an op on no image": ("tanh", NoAttrs(), [s8(3, 4)], [s8(3, 4, scale=1 / 128)]),
}


@pytest.mark.parametrize("name", ROWS | WHOLE)
def test_only_they_have_a_form_by_rows(name):
    node = graph_of(*(ROWS | WHOLE)[name]).bind(0)
    assert (OPS[node.op].row_op(node) is not None) is (name in ROWS)
