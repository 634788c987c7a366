"""What packed kernels of one row cost: dense layers, LSTM and SVDF, by formulas as in ``cost``."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tinyrt.backends.c.blocks.cost import COSTS, Costs
from tinyrt.backends.c.blocks.layer import QUAD
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.ops.shared.window import Pair


@dataclass(frozen=True, slots=True)
class RowBytes:
    """Costs of eight channels of one row on scalar cores.

    Attributes:
        set: of a row, without the below.
        tap: per tap.
        turn: per turn of that loop, and taps of a turn.
        block: without taps.
        sum: per activation that is added up first.

    """

    set: float
    tap: float
    turn: tuple[float, int]
    block: float
    sum: float


ROW_BYTES = RowBytes(45, 12, (3, 8), 214, 2.75)
SMALL_ROW_BYTES = RowBytes(80, 19.75, (0, 8), 481, 3.75)
RISCV_ROW_BYTES = RowBytes(79, 21.75, (0, 8), 272, 2.5)
"""Those of ``tinyrt_dense_row_s8`` on Cortex-M3, on Cortex-M0 and on RISC-V."""


def dense_row_cost(
    isa: InstructionSet,
    taps: int,
    c_out: int,
    relu: bool = False,
    halves: bool = False,
    own: RowBytes = ROW_BYTES,
) -> float:
    """``tinyrt_dense_row_s8``, or ``tinyrt_dense_row_relu_s8``.

    Args:
        isa: the instruction set.
        taps: activations.
        c_out: outputs.
        relu: whether these take no sign.
        halves: whether two channels share a half on scalar cores, too, as for long sums and zeros.
        own: the constants of eight channels there.

    """
    k = COSTS[isa]
    if isa is InstructionSet.SCALAR and not halves:
        loop = own.tap * taps + own.turn[0] * ceil(taps / own.turn[1])
        return own.set + own.sum * taps + ceil(c_out / k.row_channels) * (loop + own.block)
    turn, turn_taps = k.row_turn
    loop = k.row_tap * taps + turn * ceil(taps / turn_taps)
    block = k.relu_row_block if relu else k.row_block
    return k.row_set + ceil(c_out / k.row_channels) * (loop + block)


def _row(k: Costs, taps: int) -> float:
    """Products of a row with the channels that are computed together."""
    turn, turn_taps = k.row_turn
    whole = taps if k.row_channels > QUAD else taps - taps % QUAD
    rest = k.rest if taps != whole else 0
    return k.row_tap * whole + turn * ceil(whole / turn_taps) + rest


def lstm_cost(isa: InstructionSet, steps: int, c_in: int, units: int) -> float:
    """``tinyrt_lstm_block_s8``; the steps of all samples."""
    k = COSTS[isa]
    products = _row(k, c_in) + _row(k, units)
    return steps * (k.unit * units + ceil(units * QUAD / k.row_channels) * products)


@dataclass(frozen=True, slots=True)
class NarrowRow:
    """Costs of four channels of a row whose weights have four bits.

    Attributes:
        multiple: taps of which the loop takes any number.
        tap: per tap of the loop.
        turn: per turn of the loop, and taps of a turn.
        rest: where taps are left.
        sum: per activation that is added up first.
        unit: per unit of an LSTM, and step of it.

    """

    multiple: int
    tap: float
    turn: tuple[float, int]
    rest: float
    sum: float
    unit: float

    def taps(self, taps: int) -> float:
        """Products of a row with four channels."""
        left = taps % self.multiple
        turn, turn_taps = self.turn
        whole = taps - left
        return self.tap * whole + turn * ceil(whole / turn_taps) + (self.rest if left else 0)


NARROW_ROWS = {
    InstructionSet.DSP: NarrowRow(4, 4.75, (2, 16), 20, 1.75, 395),
    InstructionSet.SCALAR: NarrowRow(1, 9, (3, 4), 0, 4, 409),
}
"""Those of ``tinyrt_row_s4``, on Cortex-M4 and Cortex-M3."""


def narrow_lstm_cost(isa: InstructionSet, steps: int, c_in: int, units: int) -> float:
    """``tinyrt_lstm_block_s4``; the steps of all samples."""
    k = NARROW_ROWS[isa]
    products = units * (k.unit + k.taps(c_in) + k.taps(units))
    return steps * (products + k.sum * (c_in + units))


def svdf_cost(isa: InstructionSet, c_in: int, units: int, length: int, shape: Pair) -> float:
    """``tinyrt_svdf_block_s8`` or ``tinyrt_svdf_block_s8_s16``, of one sample.

    Args:
        isa: the instruction set.
        c_in: inputs.
        units: outputs.
        length: features of a unit.
        shape: filters, and bytes of a feature.

    """
    k = COSTS[isa]
    filters, size = shape
    per_unit, per_word, per_byte = k.time
    words, left = divmod(length * size, QUAD)
    time = per_unit + per_word[size] * words + per_byte * left / size
    rows = k.features[0] * filters + ceil(filters / k.row_channels) * _row(k, c_in)
    return rows + k.features[1] * units * length * size + units * time


@dataclass(frozen=True, slots=True)
class WideRow:
    """Costs of four channels of a row of int16.

    Attributes:
        multiple: taps of which the loop takes any number.
        tap: per tap of the loop.
        turn: per 16 taps.
        rest: where taps are left.
        quad: without taps, of outputs.
        pixel: per pixel of them.
        place: of a column's place, and for each of its elements.
        unit: per unit of an LSTM, and step of it.

    """

    multiple: int
    tap: float
    turn: float
    rest: float
    quad: float
    pixel: float
    place: tuple[float, float]
    unit: tuple[float, float]

    def taps(self, taps: int) -> float:
        """Products of a row with four channels."""
        left = taps % self.multiple
        whole = taps - left
        return self.tap * whole + self.turn * ceil(whole / 16) + (self.rest if left else 0)


WIDE_ROWS = {
    InstructionSet.DSP: WideRow(2, 4, 1.7, 24, 130, 97, (34, 2.7), (324, 48)),
    InstructionSet.SCALAR: WideRow(1, 9, 1.5, 0, 104, 16, (34, 2.9), (298, 38)),
}
"""Those of ``tinyrt_dot_row16``, on Cortex-M4 and Cortex-M3."""

PLAIN_TAP = {
    **{InstructionSet.DSP: (3, 5.3), InstructionSet.MVE: (0.6, 0.8)},
    InstructionSet.SCALAR: (3, 11),
}
"""Instructions of ``tinyrt_conv2d_s16`` for a tap: of the column, and of four channels."""


def wide_lstm_cost(isa: InstructionSet, steps: int, c_in: int, units: int) -> float:
    """``tinyrt_lstm_block_s16``; the steps of all samples."""
    k = WIDE_ROWS[isa]
    return steps * (k.unit[1] + units * (k.unit[0] + k.taps(c_in) + k.taps(units)))


LSTM_COSTS = {
    "lstm_block_s8": lstm_cost,
    "lstm_block_s4": narrow_lstm_cost,
    "lstm_block_s16": wide_lstm_cost,
}
"""What the kernels of an LSTM cost, by their names."""


def wide_conv_cost(isa: InstructionSet, pixels: int, column: Pair, channels: int) -> float:
    """``tinyrt_conv2d_block_s16``, of one group.

    Args:
        isa: the instruction set.
        pixels: of the output.
        column: places that are copied, or 0 where none are, and taps.
        channels: of the output.

    """
    k, (places, taps) = WIDE_ROWS[isa], column
    copied = places * k.place[0] + (k.place[1] * taps if places else 0)
    return pixels * (k.pixel + copied + ceil(channels / QUAD) * (k.quad + k.taps(taps)))


def plain_depthwise_cost(pixels: int, channels: int, kernel: Pair) -> int:
    """``tinyrt_depthwise_conv2d_s16``, channel by channel and tap by tap.

    Args:
        pixels: of the output.
        channels: of the output.
        kernel: rows and columns of taps.

    """
    rows, columns = kernel
    return pixels * (120 + channels * (86 + rows * (17 + 11 * columns)))


def plain_groups_cost(
    isa: InstructionSet, columns: int, sizes: tuple[int, int], channels: int
) -> float:
    """``tinyrt_conv2d_s16``, a column of each pixel and group at a time.

    Args:
        isa: the instruction set.
        columns: how many.
        sizes: places of one, or 0 where none are copied, and taps.
        channels: of the output of one group.

    """
    places, taps = sizes
    copy, four = PLAIN_TAP.get(isa, PLAIN_TAP[InstructionSet.SCALAR])
    copied = places * 36 + (copy * taps if places else 0)
    return columns * (160 + copied + four * taps * ceil(channels / QUAD) + 43 * channels)
