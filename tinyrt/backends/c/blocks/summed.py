"""Weights beyond int8 as int8 ones and a number that all weights of a channel have too little of.

``sum(x * w) = sum(x * (w - c)) + c * sum(x)``: behind a column's taps stands their sum, and meets
the number as its weight. How much that costs does not follow from the weights. So code for blobs
takes weights of any zero point like this, and so do convolutions in groups, each of which has few
taps. A column's elements have 16 bits on DSP cores: sums of many taps are several there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.block import PairBlock, is_mostly_padding
from tinyrt.backends.c.blocks.layer import Layer, reach, simplify
from tinyrt.backends.c.blocks.words import fit_halves
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Fields
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ops.shared.requant import Requant

MOST_IN_A_SUM = {InstructionSet.DSP: 252, InstructionSet.SCALAR: 1 << 12}
"""Taps of one sum, a multiple of four."""

MAX_TAPS = 1 << 12
"""Places of taps in two columns have 16 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class SummedLayer(Layer):
    """A layer's integers with sums behind its taps.

    Attributes:
        whole: weights (channels, taps), without what stands for sums.

    """

    whole: NDArray[np.int16]

    def first_sums(self, x_zp: int) -> NDArray[np.int64]:
        """The initial accumulators: ``bias - x_zp * sum(whole)``."""
        sums: NDArray[np.int64] = self.whole.sum(axis=1, dtype=np.int64)
        return self.bias - x_zp * sums

    def reach(self, x_zp: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Least and greatest accumulator of every channel."""
        return reach(self.whole, self.bias, x_zp)


def summed_block(
    w: NDArray[Any],
    bias: NDArray[np.int32] | None,
    x_zp: int,
    requant: Requant,
    isa: InstructionSet,
) -> PairBlock | None:
    """As ``pair_block`` of wide weights (c_out, taps); None, too, where no number fits a channel.

    Where its least and its greatest weight lie 255 apart, one may.
    """
    layer = simplify(w, bias, x_zp, requant, bits=16)
    if layer is None or layer.shift.min() < 1 or is_mostly_padding(layer.w):
        return None
    whole = np.asarray(layer.w, np.int64)
    # Of -128 there may be no room, so that none is there unless a channel's weights lie 255 apart.
    least, most = whole.max(axis=1) - INT8_MAX, whole.min(axis=1) + INT8_MAX
    number = np.maximum(np.minimum(0, most), least)
    count = len(runs_of(w.shape[1], isa))
    if np.abs(number).max() > INT8_MAX or w.shape[1] + count > MAX_TAPS:
        return None
    near, behind = whole - number[:, None], np.repeat(number[:, None], count, axis=1)
    own = np.hstack([near, behind])
    if own.min() < INT8_MIN or not fit_halves(own):
        return None
    own = own.astype(np.int8)
    parts = layer.mult, layer.shift, layer.raised
    return PairBlock(SummedLayer(own, layer.bias, *parts, whole.astype(np.int16)), x_zp, isa)


def runs_of(taps: int, isa: InstructionSet) -> NDArray[np.int64]:
    """How many taps each sum is of."""
    most = MOST_IN_A_SUM[isa]
    return np.diff([*range(0, taps, most), taps])


def sum_fields(taps: int, isa: InstructionSet) -> Fields:
    """``tinyrt_more_taps`` of sums behind so many taps."""
    runs = runs_of(taps, isa)
    written = place_of(taps + np.arange(len(runs)), isa)
    places = np.stack([runs, written], axis=1).ravel().astype(np.int16)
    return {"count": len(runs), "places": Data("sums", places, "int16_t")}


def place_of(taps: NDArray[np.int64], isa: InstructionSet) -> NDArray[np.int64]:
    """Bytes from the begin of one of two columns to these taps, see ``tinyrt_columns.h``."""
    if isa is InstructionSet.SCALAR:
        return np.asarray(8 * taps)
    return np.asarray(4 * (taps & ~3) + 8 * (taps & 1) + (taps & 2))
