"""What the packed int8 kernels cost: instructions on Cortex-M4 (DSP) and Cortex-M3 (scalar).

Each formula has the terms of its kernel's loops: so many instructions for a tap, for an output, and
for what is set out once. The exporter's rules (``docs/kernels.md``) take the cheapest kernel by
them. ``tests/firmware/test_costs.py`` compares them, and the choice, with what the emulator
counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from tinyrt.backends.c.blocks.layer import QUAD, padded
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.ops.shared.window import Pair

LOOK_UP = 4.25
"""Instructions of ``tinyrt_lut_s8`` per output."""

TURN_TAPS = 16
"""Taps per turn of an unrolled loop."""

FOUR = 4
"""Pixels that cores without dual multiplies compute at once."""

TILES, TILES_READ = (2, 4), (4, 6)
"""Rows and columns of the outputs of two tiles, and of the inputs that they read."""


@dataclass(frozen=True, slots=True)
class Line:
    """Linear costs of a depthwise kernel: of an output, of a line of outputs, and of a channel."""

    output: float
    line: float
    channel: float


@dataclass(frozen=True, slots=True)
class Winograd:
    """Costs of two tiles of a convolution.

    Attributes:
        tap: per input channel of four output channels.
        turn: per turn of that loop, and input channels of a turn.
        quad: per four output channels, without the above.
        set: per input channel that is transformed.
        tiles: for what is left.
        border: for the copy of inputs at the border: of any, and per input channel.

    """

    tap: float
    turn: tuple[float, int]
    quad: float
    set: float
    tiles: float
    border: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Costs:
    """The constants of one instruction set.

    Attributes:
        two_pixels: per tap of four channels and two pixels.
        block: per four channels of two pixels, without taps: first sums, eight requantisations.
        relu_block: the same where outputs take no sign.
        widen: per element of a dense layer that is copied to a column.
        pixel: per pixel of a dense layer, without the above.
        copy: per element of a window that is copied to a column.
        patch: per pixel of a window, without the above, and per row of the window.
        winograd: for convolutions of 3 x 3 by tiles.
        row_channels: output channels that a row's kernel computes at a time.
        row_tap: per tap of these channels.
        row_turn: instructions per turn of that loop, without taps, and taps per turn.
        row_set: of a row, without blocks.
        row_block: per block of these channels, without taps.
        relu_row_block: the same where outputs take no sign.
        slide: for the 3 x 3 depthwise kernel, by stride.
        relu_slide: the same with stride 1, two lines at once, where outputs take no sign.
        signed_slide: the same where they take one.
        entry_taps: taps per entry of a depthwise list.
        entry: per entry for four channels and one output.
        four: per output of four channels, without entries.
        listed: per list of four channels, and per entry of the list.
        row: per row of a list with a border, and per copied input row.
        add: per output of a sum.
        clamp: per clamped output.
        unit: per step and unit of an LSTM, without taps.
        rest: per row of a unit's weights that ends in the middle of a word.
        features: per filter of an SVDF without taps, and per byte of its state that moves on.
        time: per unit of an SVDF, per four bytes of its state, and per byte that is left.

    """

    two_pixels: float
    block: float
    relu_block: float
    widen: float
    pixel: float
    copy: float
    patch: tuple[float, float]
    winograd: Winograd
    row_channels: int
    row_tap: float
    row_turn: tuple[float, int]
    row_set: float
    row_block: float
    relu_row_block: float
    slide: dict[int, Line]
    relu_slide: Line
    signed_slide: Line
    entry_taps: int
    entry: float
    four: float
    listed: tuple[float, float]
    row: tuple[float, float]
    add: float
    clamp: float
    unit: float
    rest: float
    features: tuple[float, float]
    time: tuple[float, dict[int, float], float]


_BY_SET: dict[str, tuple[Any, Any]] = {
    "two_pixels": (6, 13),
    "block": (127, 124),
    "relu_block": (61, 77),
    "widen": (1.75, 2.5),
    "pixel": (29, 48),
    "copy": (2, 2.5),
    "patch": ((182, 5), (180, 3.5)),
    "winograd": (
        Winograd(88, (48, 16), 908, 96.3, 268, (91, 27)),
        Winograd(208, (48, 4), 974, 153.1, 243, (117, 26.3)),
    ),
    "row_channels": (4, 8),
    "row_tap": (4, 17),
    "row_set": (81, 45),
    "row_turn": ((2, 16), (3, 8)),
    "row_block": (56, 175),
    "relu_row_block": (48, 175),
    "slide": (
        {1: Line(25, 79, 212), 2: Line(35, 78, 170)},
        {1: Line(32, 100, 300), 2: Line(38, 81, 280)},
    ),
    "relu_slide": (Line(19.3, 22.5, 191), Line(32, 100, 300)),
    "signed_slide": (Line(20.8, 22.5, 191), Line(32, 100, 300)),
    "entry_taps": (2, 1),
    "entry": (20, 15),
    "four": (51, 62),
    "listed": ((345, 26), (118, 28.5)),
    "row": ((230, 270), (290, 190)),
    "add": (7, 10),
    "clamp": (2.25, 8),
    "unit": (351, 347),
    "rest": (24, 0),
    "features": ((24, 0.81), (25, 0.95)),
    "time": ((45.5, {1: 10.9, 2: 5.5}, 6.3), (32, {1: 21.2, 2: 10.6}, 5.3)),
}
"""Constant -> its value on DSP cores, and on scalar ones."""

COSTS = {
    isa: Costs(**{name: values[i] for name, values in _BY_SET.items()})
    for i, isa in enumerate((InstructionSet.DSP, InstructionSet.SCALAR))
}
"""The constants of each instruction set."""


def dense_cost(isa: InstructionSet, rows: int, taps: int, c_out: int, relu: bool = False) -> float:
    """``tinyrt_dense_s8``, or ``tinyrt_dense_relu_s8``, over an even number of rows or pixels."""
    k = COSTS[isa]
    return _products(k, rows, padded(taps), c_out, relu) + rows * (k.widen * taps + k.pixel)


def window_cost(
    isa: InstructionSet, pixels: int, kernel: Pair, c_in: int, c_out: int, relu: bool = False
) -> float:
    """``tinyrt_window_block_s8``, or ``_relu_s8``, over an even number of output pixels."""
    k = COSTS[isa]
    taps = kernel[0] * kernel[1] * c_in
    patch = k.copy * taps + k.patch[0] + k.patch[1] * kernel[0]
    return _products(k, pixels, padded(taps), c_out, relu) + pixels * patch


@dataclass(frozen=True, slots=True)
class TilePairs:
    """How often two tiles of outputs are computed.

    Attributes:
        count: in all.
        at_border: those that read beyond the input.

    """

    count: int
    at_border: int

    @classmethod
    def of(cls, images: int, x: Pair, out: Pair, before: Pair) -> TilePairs:
        """Those of a convolution of 3 x 3.

        Args:
            images: how many.
            x: height and width of the input.
            out: height and width of the output.
            before: padding rows above and columns to the left.

        """
        high, wide = (range(0, size, step) for size, step in zip(out, TILES, strict=True))
        rows = sum(before[0] <= y <= x[0] + before[0] - TILES_READ[0] for y in high)
        columns = sum(before[1] <= i <= x[1] + before[1] - TILES_READ[1] for i in wide)
        count = images * len(high) * len(wide)
        return cls(count, count - images * rows * columns)


def winograd_cost(isa: InstructionSet, pairs: TilePairs, c_in: int, c_out: int) -> float:
    """``tinyrt_winograd_s8``."""
    k = COSTS[isa].winograd
    quad = k.tap * c_in + k.turn[0] * ceil(c_in / k.turn[1]) + k.quad
    each = k.tiles + k.set * c_in + ceil(c_out / QUAD) * quad
    return pairs.count * each + pairs.at_border * (k.border[0] + k.border[1] * c_in)


def transform_share(isa: InstructionSet, c_in: int, c_out: int) -> float:
    """What of two tiles' cost the transform of their inputs is, at a border."""
    transform = winograd_cost(isa, TilePairs(1, 1), c_in, 0)
    return transform / winograd_cost(isa, TilePairs(1, 1), c_in, c_out)


def _products(k: Costs, pixels: int, taps: int, c_out: int, relu: bool) -> float:
    loop = k.two_pixels * taps + 3 * ceil(taps / TURN_TAPS)
    return pixels / 2 * ceil(c_out / QUAD) * (loop + (k.relu_block if relu else k.block))


def slide_cost(
    isa: InstructionSet,
    out: Pair,
    channels: int,
    stride: int,
    *,
    relu: bool = False,
    signed: bool = False,
) -> float:
    """``tinyrt_depthwise3x3_s8`` over lines along the second axis of the output.

    Args:
        isa: the instruction set.
        out: lines, and outputs of each.
        channels: planes.
        stride: of both axes.
        relu: whether outputs take no sign, and lie as inputs do.
        signed: whether the kernel is ``tinyrt_depthwise3x3_signed_s8``.

    """
    k = COSTS[isa]
    line = k.relu_slide if relu and stride == 1 else k.slide[stride]
    line = k.signed_slide if signed else line
    return channels * (line.channel + out[0] * (line.line + out[1] * line.output))


def depthwise_list_cost(
    isa: InstructionSet, out: Pair, kernel: Pair, channels: int, stride: int, border: bool
) -> float:
    """``tinyrt_depthwise_block_s8``; with a border, rows are copied."""
    k = COSTS[isa]
    entries = ceil(kernel[0] * kernel[1] / k.entry_taps)
    outputs = out[0] * out[1] * (k.entry * entries + k.four)
    rows = out[0] * (k.row[0] + stride * k.row[1]) if border else 0
    return channels / QUAD * (outputs + rows + k.listed[0] + k.listed[1] * entries)


def max_pool_cost(outputs: int, taps: int) -> float:
    """``tinyrt_max_pool2d_s8`` of DSP cores."""
    return outputs * (taps + 14)
