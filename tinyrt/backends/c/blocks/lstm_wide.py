"""LSTMs of int16 over packed weights: the four gates of a unit are a quad of output channels.

A sum that keeps within 32 bits is rescaled by one product, of which the upper half, rounded, is a
gate: its mantissa has 15 bits and is raised as far as its shift lacks of 32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import BLOCK_SETS
from tinyrt.backends.c.blocks.lstm import (
    LstmConstants,
    exact_units,
    side_by_side,
    unit_scale_fields,
)
from tinyrt.backends.c.blocks.row16 import MAX_SUM
from tinyrt.backends.c.blocks.words import fit_halves
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Fields
from tinyrt.ops.shared.requant import WideRequant
from tinyrt.ops.unidirectional_sequence_lstm import GATES, LstmInteger

SHIFTS = range(16, 33)
"""Shifts of which a product's upper half is the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class WideLstm:
    """An LSTM of int16 whose sums keep within 32 bits.

    Attributes:
        w: weights (4 units, c_in) of the input, gate by gate.
        r: those of the hidden state.
        start: first sums of the products with the input.
        from_x: mantissas of each gate.
        from_h: those of the hidden state's.

    """

    w: NDArray[np.int8]
    r: NDArray[np.int8]
    start: NDArray[np.int32]
    from_x: tuple[int, ...]
    from_h: tuple[int, ...]


def wide_lstm(constants: LstmConstants, p: LstmInteger, isa: InstructionSet) -> WideLstm | None:
    """The LSTM for kernels of packed weights; None where only the general kernel will do."""
    if isa not in MAX_SUM or not all(s.right[0] in SHIFTS for s in _scales(p)):
        return None
    w, r, start, _ = constants
    largest = max(_largest(w, start), _largest(r, np.zeros(len(r), np.int64)))
    if largest >= MAX_SUM[isa]:
        return None
    if isa in BLOCK_SETS and not exact_units(p):
        return None
    if isa is InstructionSet.DSP and not all(fit_halves(side_by_side(rows)) for rows in (w, r)):
        return None
    gates = [int(s.mult[0]) << (32 - int(s.right[0])) for s in _scales(p)]
    return WideLstm(w, r, start.astype(np.int32), tuple(gates[:4]), tuple(gates[4:]))


def _scales(p: LstmInteger) -> tuple[WideRequant, ...]:
    return tuple(s for s in (*p.from_x, *p.from_h) if isinstance(s, WideRequant))


def _largest(w: NDArray[np.int8], first: NDArray[np.int64]) -> int:
    """A bound of all sums, and on the way there."""
    return int(((np.abs(w.astype(np.int64)).sum(axis=1) << 15) + np.abs(first)).max())


def block_fields(lstm: WideLstm, p: LstmInteger) -> Fields:
    """The fields of ``tinyrt_lstm_block_s16_params`` with which it rescales."""
    sides = {"from_x": lstm.from_x, "from_h": lstm.from_h}
    gates: Fields = {n: dict(zip(GATES, mults, strict=True)) for n, mults in sides.items()}
    return gates | unit_scale_fields(p)
