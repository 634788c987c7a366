"""Random layers for loops of dual-multiply cores: windows in colour, depthwise ones, and rows."""

from __future__ import annotations

from tests.ops.build import Case, Rng
from tests.ops.cases.windowed import activation, pair
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs

CONSTANT = frozenset({1, 2})
KERNELS = ((3, 3, 3), (3, 1, 9), (3, 9, 1), (2, 7, 2))
"""Rows, columns and channels."""

KERNEL = "tinyrt_window_block_relu_s8"


def nines(rng: Rng) -> Case:
    """Three rows of nine bytes, from maps that have no such window inside up to wide ones; and
    windows of as many padded taps in two rows."""
    height, width, c_in = KERNELS[int(rng.integers(0, len(KERNELS)))]
    padding = str(rng.choice(["SAME", "VALID"]))
    least = (1, 1) if padding == "SAME" else (height, width)
    size = int(rng.integers(least[0], 9)), int(rng.integers(least[1], 24))
    x = (int(rng.choice([1, 1, 1, 2])), *size, c_in)
    c_out = int(rng.integers(2, 14))
    attrs = Conv2dAttrs(stride=pair(rng, 1, 3), padding=padding, activation=activation(rng))
    return Case("conv2d", attrs, (x, (c_out, height, width, c_in), (c_out,)), CONSTANT)


def as_many_taps(rng: Rng) -> Case:
    """Windows of as many padded taps as three rows of nine, in other rows; they lie inside."""
    height, width, c_in = ((2, 7, 2), (5, 5, 1), (1, 27, 1), (1, 9, 3))[int(rng.integers(0, 4))]
    x = (2, height + int(rng.integers(2, 5)), width + int(rng.integers(4, 9)), c_in)
    attrs = Conv2dAttrs(padding="VALID", activation=activation(rng))
    return Case("conv2d", attrs, (x, (5, height, width, c_in), (5,)), CONSTANT)


def every_other(rng: Rng) -> Case:
    """Depthwise filters of 3 x 3 and stride 2, with and without borders."""
    padding = str(rng.choice(["SAME", "VALID"]))
    least = 3 if padding == "VALID" else 1
    size, channels = (int(rng.integers(least, 12)), int(rng.integers(least, 12))), 4
    channels *= int(rng.integers(1, 4))
    attrs = DepthwiseConv2dAttrs(stride=(2, 2), padding=padding, activation=activation(rng))
    shapes = ((1, *size, channels), (1, 3, 3, channels), (channels,))
    return Case("depthwise_conv2d", attrs, shapes, CONSTANT)


def single_rows(rng: Rng) -> Case:
    """A dense layer of one row, of taps that are any multiple of four or none."""
    c_in, c_out = int(rng.integers(1, 90)), int(rng.integers(2, 20))
    if rng.random() < 0.7:
        c_in = 4 * int(rng.integers(1, 24))
    attrs = FullyConnectedAttrs(activation=activation(rng))
    return Case("fully_connected", attrs, ((1, c_in), (c_out, c_in), (c_out,)), CONSTANT)


LAYERS = {
    "nines": nines,
    "as many taps": as_many_taps,
    "every other": every_other,
    "rows": single_rows,
}
