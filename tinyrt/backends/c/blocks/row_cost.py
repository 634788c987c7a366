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
    """Costs of eight channels of one row on Cortex-M3.

    Attributes:
        tap: per tap.
        turn: per turn of that loop, and taps of a turn.
        block: without taps.
        sum: per activation that is added up first.

    """

    tap: float
    turn: tuple[float, int]
    block: float
    sum: float


ROW_BYTES = RowBytes(12, (3, 8), 214, 2.75)
"""Those of ``tinyrt_dense_row_s8`` on scalar cores."""


def dense_row_cost(
    isa: InstructionSet, taps: int, c_out: int, relu: bool = False, halves: bool = False
) -> float:
    """``tinyrt_dense_row_s8``, or ``tinyrt_dense_row_relu_s8``.

    Args:
        isa: the instruction set.
        taps: activations.
        c_out: outputs.
        relu: whether these take no sign.
        halves: whether two channels share a half on scalar cores, too, as for long sums and zeros.

    """
    k = COSTS[isa]
    if isa is InstructionSet.SCALAR and not halves:
        own = ROW_BYTES
        loop = own.tap * taps + own.turn[0] * ceil(taps / own.turn[1])
        return 45 + own.sum * taps + ceil(c_out / k.row_channels) * (loop + own.block)
    turn, turn_taps = k.row_turn
    loop = k.row_tap * taps + turn * ceil(taps / turn_taps)
    block = k.relu_row_block if relu else k.row_block
    return 45 + ceil(c_out / k.row_channels) * (loop + block)


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
