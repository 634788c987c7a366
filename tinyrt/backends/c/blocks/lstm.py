"""LSTMs over packed weights: the four gates of a unit are a quad of output channels.

Gates come in the order input, forget, cell, output, so that forget and output gates are the odd
channels, see ``block``. Scalar cores compute two units at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.block import is_mostly_padding
from tinyrt.backends.c.blocks.layer import BLOCK_SETS, MAX_SINGLE_SUM, MAX_SUM, QUAD, padded
from tinyrt.backends.c.blocks.words import eight_at_a_time, fit_halves, int32_words, pair_weights
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Fields
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.unidirectional_sequence_lstm import GATES, LstmInteger, joined

T = TypeVar("T", bound=np.generic)

SHARED_BITS = 8
"""Bits by which an odd gate's sum is raised above its neighbour's."""

MAX_PRODUCT = 1 << 30
"""Bound of the absolute products of two int16, which it is itself one of."""


@dataclass(frozen=True, slots=True, eq=False)
class Gates:
    """The gates' products with the input, or with the hidden state.

    Attributes:
        w: weights (4 units, taps), the gates of a unit as neighbours.
        first: sums begin with these.
        reach: the largest absolute sum of each gate.

    """

    w: NDArray[np.int8]
    first: NDArray[np.int64]
    reach: tuple[int, ...]

    @classmethod
    def of(cls, w: NDArray[np.int8], bias: NDArray[np.int64], zp: int) -> Gates:
        """The products with a tensor of zero point ``zp``; rows of weights are gate by gate."""
        rows = side_by_side(w)
        first = side_by_side(bias - zp * w.sum(axis=1, dtype=np.int64))
        high = INT8_MAX * np.maximum(rows, 0).sum(axis=1, dtype=np.int64)
        high += INT8_MIN * np.minimum(rows, 0).sum(axis=1, dtype=np.int64)
        low = INT8_MIN * np.maximum(rows, 0).sum(axis=1, dtype=np.int64)
        low += INT8_MAX * np.minimum(rows, 0).sum(axis=1, dtype=np.int64)
        reach = np.maximum(np.abs(first + high), np.abs(first + low))
        reach = np.maximum(reach, np.abs(first)).reshape(-1, len(GATES)).max(axis=0)
        return cls(rows, first, tuple(reach.tolist()))

    def fits(self, scales: tuple[Requant, ...]) -> bool:
        """Whether the kernel's sums hold the products, and its steps of requantisation these."""
        odd = max(self.reach[1::2]) < MAX_SUM
        exact = all(
            shift < SHARED_BITS
            and largest << max(shift, 0) < MAX_SINGLE_SUM
            and is_exact(largest, mult, shift)
            for largest, (mult, shift) in zip(self.reach, map(_pair, scales), strict=True)
        )
        return odd and exact and fit_halves(self.w) and not is_mostly_padding(self.w)

    def words(self, isa: InstructionSet) -> NDArray[np.int32]:
        """Weights in the order in which the kernel reads them."""
        packed = pair_weights(_whole(self.w, isa), isa)
        if isa is not InstructionSet.SCALAR:
            return packed
        taps = self.w.shape[1]
        return eight_at_a_time(packed, padded(taps), taps)

    def starts(self, isa: InstructionSet) -> NDArray[np.int32]:
        """First sums as the kernel reads them: those of odd gates with their neighbour's."""
        pairs = _whole(self.first, isa).reshape(-1, 2).copy()
        pairs[:, 1] = pairs[:, 1] * 256 + pairs[:, 0]
        return int32_words(pairs.ravel())


@dataclass(frozen=True, slots=True, eq=False)
class LstmBlock:
    """An LSTM for ``tinyrt_lstm_block_s8``.

    Attributes:
        x: the products with the input.
        h: the products with the hidden state.
        isa: the instruction set.
        p: multipliers.

    """

    x: Gates
    h: Gates
    isa: InstructionSet
    p: LstmInteger

    def scale_fields(self) -> Fields:
        """The fields of ``tinyrt_lstm_block_s8_params`` with which it rescales."""
        return {
            "from_x": _gate_scales(self.p.from_x),
            "from_h": _gate_scales(self.p.from_h),
            "forget": scale_fields(*self.p.forget),
            "update": scale_fields(*self.p.update),
            "output": scale_fields(*self.p.output),
        }


def lstm_block(node: BoundNode, p: LstmInteger, isa: InstructionSet) -> LstmBlock | None:
    """The LSTM for ``tinyrt_lstm_block_s8``; None where only the general kernel will do."""
    if isa not in BLOCK_SETS:
        return None
    bias = joined(node, 9).astype(np.int64)
    x = Gates.of(joined(node, 1), bias, p.x_zp)
    h = Gates.of(joined(node, 5), np.zeros_like(bias), p.h_zp)
    units = (p.forget, p.update, p.output)
    exact = all(shift <= 0 and is_exact(MAX_PRODUCT, mult, shift) for mult, shift in units)
    fits = exact and x.fits(_requants(p.from_x)) and h.fits(_requants(p.from_h))
    return LstmBlock(x, h, isa, p) if fits else None


def is_exact(largest: int, mult: int, shift: int) -> bool:
    """Whether numbers up to this keep within 32 bits while ``tinyrt_lstm_scale`` rescales them."""
    high = ((largest << max(shift, 0)) * mult >> 31) + 1
    right = max(-shift, 0)
    return right <= 30 and 2 * high + (1 << right) < 1 << 31


def scale_fields(mult: int, shift: int, odd: bool = False) -> Fields:
    """``tinyrt_lstm_scale``."""
    left, right = 1 + max(shift, 0), max(-shift, 0)
    move = SHARED_BITS - left if odd else left
    return {"mult": mult, "move": move, "rounding": 1 << right, "next": right + 1}


def side_by_side(rows: NDArray[T]) -> NDArray[T]:
    """(4 units, ...), gate by gate, as (4 units, ...), unit by unit."""
    by_gate = rows.reshape(len(GATES), -1, *rows.shape[1:])
    return by_gate.swapaxes(0, 1).reshape(rows.shape)


def _whole(rows: NDArray[T], isa: InstructionSet) -> NDArray[T]:
    """With rows of zeros, up to a multiple of what is computed at once."""
    at_once = 2 * QUAD if isa is InstructionSet.SCALAR else QUAD
    rest = -len(rows) % at_once
    return np.pad(rows, ((0, rest), *((0, 0),) * (rows.ndim - 1)))


def _requants(scales: tuple[object, ...]) -> tuple[Requant, ...]:
    return tuple(scale for scale in scales if isinstance(scale, Requant))


def _pair(scale: Requant) -> tuple[int, int]:
    return int(scale.mult[0]), int(scale.shift[0])


def _gate_scales(scales: tuple[object, ...]) -> Fields:
    return {
        gate: scale_fields(*_pair(scale), odd=i % 2 == 1)
        for i, (gate, scale) in enumerate(zip(GATES, _requants(scales), strict=True))
    }
