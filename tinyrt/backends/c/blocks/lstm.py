"""LSTMs over packed weights: the four gates of a unit are a quad of output channels.

Gates come in the order input, forget, cell, output, so that forget and output gates are the odd
channels, see ``rows``. Scalar cores compute two units at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import BLOCK_SETS
from tinyrt.backends.c.blocks.nibble_rows import NibbleRows
from tinyrt.backends.c.blocks.rows import Rows, Scale, are_mostly_padding, rounding_fields
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Fields
from tinyrt.ops.shared.requant import Requant, WideRequant
from tinyrt.ops.unidirectional_sequence_lstm import GATES, LstmInteger

T = TypeVar("T", bound=np.generic)

MAX_RIGHT = 30
"""Most that products of units go right: with half a step they stay below 2**31."""


@dataclass(frozen=True, slots=True, eq=False)
class LstmBlock:
    """An LSTM for ``tinyrt_lstm_block_s8``, or ``tinyrt_lstm_block_s4``.

    Attributes:
        x: the products with the input.
        h: the products with the hidden state.
        p: multipliers.

    """

    x: Rows
    h: Rows
    p: LstmInteger

    @property
    def kernel(self) -> str:
        """That of the weights' bits."""
        return f"tinyrt_lstm_block_s{self.x.bits}"

    def fits(self) -> bool:
        """Whether sums, and what they are rescaled to, keep within what the kernel holds."""
        x_scales, h_scales = gate_scales(self.p.from_x), gate_scales(self.p.from_h)
        return exact_units(self.p) and self.x.fits(x_scales) and self.h.fits(h_scales)

    def scale_fields(self) -> Fields:
        """The fields of ``tinyrt_lstm_block_s8_params`` with which it rescales."""
        return {
            "from_x": _gate_fields(self.x, gate_scales(self.p.from_x)),
            "from_h": _gate_fields(self.h, gate_scales(self.p.from_h)),
        } | unit_scale_fields(self.p)


def lstm_block(constants: LstmConstants, p: LstmInteger, isa: InstructionSet) -> LstmBlock | None:
    """The LSTM for a kernel of packed weights; None where only the general kernel will do.

    Where four bits hold all weights, they are stored so.
    """
    if isa not in BLOCK_SETS:
        return None
    w, r, start, restart = constants
    x, h = (side_by_side(w), side_by_side(start)), (side_by_side(r), side_by_side(restart))
    for kind in (NibbleRows, Rows):
        block = LstmBlock(kind(*x), kind(*h), p)
        if block.fits() and not are_mostly_padding((block.x, block.h), isa):
            return block
    return None


def exact_units(p: LstmInteger) -> bool:
    """Whether products of units are rescaled by shifts that the kernels take."""
    return all(1 <= -shift <= MAX_RIGHT for _, shift in (p.forget, p.update, p.output))


def unit_scale_fields(p: LstmInteger) -> Fields:
    """``tinyrt_lstm_unit_scale`` of each product of a unit."""
    scales = {"forget": p.forget, "update": p.update, "output": p.output}
    return {name: _unit_fields(scale) for name, scale in scales.items()}


LstmConstants = tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]
"""Weights of the input and of the hidden state, gate by gate, and what their sums begin with."""


def side_by_side(rows: NDArray[T]) -> NDArray[T]:
    """(4 units, ...), gate by gate, as (4 units, ...), unit by unit."""
    by_gate = rows.reshape(len(GATES), -1, *rows.shape[1:])
    return by_gate.swapaxes(0, 1).reshape(rows.shape)


def gate_scales(scales: tuple[Requant | WideRequant, ...]) -> tuple[Scale, ...]:
    """Mantissas and exponents of each gate, for int8."""
    return tuple((int(s.mult[0]), int(s.shift[0])) for s in scales if isinstance(s, Requant))


def _gate_fields(rows: Rows, scales: tuple[Scale, ...]) -> Fields:
    """``tinyrt_lstm_gate_scales``."""
    return {
        gate: _scale_fields(rows, scale, i)
        for i, (gate, scale) in enumerate(zip(GATES, scales, strict=True))
    }


def _unit_fields(scale: Scale) -> Fields:
    """``tinyrt_lstm_unit_scale``."""
    mult, shift = scale
    return {"mult": mult, "half": 1 << (-shift - 1), "right": -shift}


def _scale_fields(rows: Rows, scale: Scale, channel: int) -> Fields:
    """``tinyrt_lstm_scale``."""
    mult, shift = scale
    return {"mult": mult, "move": rows.move(channel, shift), **rounding_fields(shift)}
