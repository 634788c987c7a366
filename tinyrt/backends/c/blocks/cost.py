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


@dataclass(frozen=True, slots=True)
class Line:
    """Linear costs of a depthwise kernel: of an output, of a line of outputs, and of a channel."""

    output: float
    line: float
    channel: float


@dataclass(frozen=True, slots=True)
class Costs:
    """The constants of one instruction set.

    Attributes:
        two_pixels: per tap of four channels and two pixels.
        block: per four channels of two pixels, without taps: first sums, eight requantisations.
        widen: per element copied to a column.
        pixel: per pixel of a dense layer, without the above.
        patch: per pixel of a window, without the above, and per row of the window.
        row_channels: output channels that a row's kernel computes at a time.
        row_tap: per tap of these channels.
        row_turn: instructions per turn of that loop, without taps, and taps per turn.
        row_block: per block of these channels, without taps.
        slide: for the 3 x 3 depthwise kernel, by stride.
        entry_taps: taps per entry of a depthwise list.
        entry: per entry for four channels and one output.
        four: per output of four channels, without entries.
        listed: per list of four channels, and per entry of the list.
        row: per row of a list with a border, and per copied input row.
        add: per output of a sum.
        clamp: per clamped output.

    """

    two_pixels: float
    block: float
    widen: float
    pixel: float
    patch: tuple[float, float]
    row_channels: int
    row_tap: float
    row_turn: tuple[float, int]
    row_block: float
    slide: dict[int, Line]
    entry_taps: int
    entry: float
    four: float
    listed: tuple[float, float]
    row: tuple[float, float]
    add: float
    clamp: float


_BY_SET: dict[str, tuple[Any, Any]] = {
    "two_pixels": (6, 13),
    "block": (123, 124),
    "widen": (2, 2.5),
    "pixel": (41, 48),
    "patch": ((130, 35), (130, 35)),
    "row_channels": (4, 8),
    "row_tap": (4.25, 17),
    "row_turn": ((2, 16), (3, 8)),
    "row_block": (73, 175),
    "slide": (
        {1: Line(25, 79, 212), 2: Line(35, 78, 170)},
        {1: Line(32, 100, 300), 2: Line(38, 81, 280)},
    ),
    "entry_taps": (2, 1),
    "entry": (20, 15),
    "four": (51, 62),
    "listed": ((345, 26), (118, 28.5)),
    "row": ((230, 270), (290, 190)),
    "add": (7, 10),
    "clamp": (2.25, 8),
}
"""Constant -> its value on DSP cores, and on scalar ones."""

COSTS = {
    isa: Costs(**{name: values[i] for name, values in _BY_SET.items()})
    for i, isa in enumerate((InstructionSet.DSP, InstructionSet.SCALAR))
}
"""The constants of each instruction set."""


def dense_cost(isa: InstructionSet, rows: int, taps: int, c_out: int) -> float:
    """``tinyrt_dense_s8`` over an even number of rows or pixels."""
    k = COSTS[isa]
    return _products(k, rows, padded(taps), c_out) + rows * (k.widen * taps + k.pixel)


def window_cost(isa: InstructionSet, pixels: int, kernel: Pair, c_in: int, c_out: int) -> float:
    """``tinyrt_window_block_s8`` over an even number of output pixels."""
    k = COSTS[isa]
    taps = kernel[0] * kernel[1] * c_in
    patch = k.widen * taps + k.patch[0] + k.patch[1] * kernel[0]
    return _products(k, pixels, padded(taps), c_out) + pixels * patch


def _products(k: Costs, pixels: int, taps: int, c_out: int) -> float:
    loop = k.two_pixels * taps + 3 * ceil(taps / TURN_TAPS)
    return pixels / 2 * ceil(c_out / QUAD) * (loop + k.block)


def dense_row_cost(isa: InstructionSet, taps: int, c_out: int) -> float:
    """``tinyrt_dense_row_s8``."""
    k = COSTS[isa]
    turn, turn_taps = k.row_turn
    loop = k.row_tap * taps + turn * ceil(taps / turn_taps)
    return 45 + ceil(c_out / k.row_channels) * (loop + k.row_block)


def slide_cost(isa: InstructionSet, out: Pair, channels: int, stride: int) -> float:
    """``tinyrt_depthwise3x3_s8`` over lines along the second axis of the output."""
    line = COSTS[isa].slide[stride]
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
