"""Weights of four bits in the order in which the C kernels of scalar and DSP cores read them.

As ``words``, but for the halves: the four channels of a quad share one, a nibble each:
``h = 4096 * w3 + 256 * (w2 + 8) + 16 * (w1 + 8) + (w0 + 8)``. Products of a column x are summed
with h, with its low byte, with ``h & 0x0F00`` and with ``h & 0x000F``: three extractions for two
taps of four channels and as many columns as there are. Each channel's sum follows exactly from
differences of these four:

* ``s0 = C - 8 X``, with C the sum over the lowest nibbles and X that of the column,
* ``s1 = (B - C) / 16 - 8 X``, with B that over low bytes,
* ``s2 = E / 256 - 8 X``, with E that over the third nibbles in their place,
* ``s3 = (A - B - E) / 4096`` modulo ``2**20``, with A that over halves: ``|s3| < 2**19``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.block import Block, Packed, is_mostly_padding
from tinyrt.backends.c.blocks.layer import (
    MAX_SINGLE_SUM,
    QUAD,
    Layer,
    pack_requant,
    padded,
    simplify,
)
from tinyrt.backends.c.blocks.words import int32_words, pair_words, tap_words
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.fixedpoint import INT8_MIN
from tinyrt.ir.types import pack_int4
from tinyrt.ops.shared.requant import Requant

MAX_FOURTH_SUM = 1 << 19
"""Bound of the absolute sums of products, without bias, in the fourth channel of a quad."""

MAX_NARROW_SUM = 1 << 23
"""Bound of the absolute sums over nibbles, with the first value: 256 times a sum fits 32 bits."""


@dataclass(frozen=True, eq=False)
class NibbleBlock(Block):
    """A layer for ``tinyrt_block_s4``, with weights from -8 to 7.

    Attributes:
        left_shift: bits by which all accumulators are raised beyond one.

    """

    left_shift: int = 0

    bits: ClassVar[int] = 4

    @property
    def raised(self) -> int:
        """One bit at least."""
        return 1 + self.left_shift

    def pack(self, first: NDArray[np.int64]) -> Packed:
        """Words of quads of channels."""
        requant = pack_requant(self.layer, more=1)
        return Packed(nibble_words(self.layer.w, self.isa), nibble_starts(first), requant)


def nibble_block(
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    x_zp: int,
    requant: Requant,
    isa: InstructionSet,
) -> NibbleBlock | None:
    """A layer with weights (c_out, taps) from -8 to 7.

    Returns:
        None if the layer must take the kernels for int8: its sums are too large, its output scale
        is finer than its accumulators', or too much of it would be padding.

    """
    layer = simplify(w, bias, x_zp, requant, MAX_SINGLE_SUM, raises=False)
    if layer is None or is_mostly_padding(w):
        return None
    left_shift = max(0, -int(layer.shift.min()))
    raised = _raised(layer, left_shift) if left_shift else layer
    if raised is None:
        return None
    if not nibbles_fit(raised.w, raised.first_sums(x_zp)):
        return None
    return NibbleBlock(raised, x_zp, isa, left_shift=left_shift)


def nibble_words(w: NDArray[np.int8], isa: InstructionSet) -> NDArray[np.int32]:
    """Weights (c_out, taps) from -8 to 7 as words of quads of channels."""
    wide = _quads(w).astype(np.int64)
    nibbles = wide[:, :3] + 8
    halves = 4096 * wide[:, 3] + 256 * nibbles[:, 2] + 16 * nibbles[:, 1] + nibbles[:, 0]
    words = pair_words(halves) if isa is InstructionSet.DSP else tap_words(halves)
    return int32_words(words.ravel())


def nibble_starts(first: NDArray[np.int64]) -> NDArray[np.int32]:
    """First values of the sums of quads, as ``tinyrt_block_s4`` reads them."""
    starts = first.reshape(-1, QUAD) * np.array([1, 16, 256, 1], np.int64)
    starts[:, 1] += starts[:, 0]
    return int32_words(starts.ravel())


def nibbles_fit(w: NDArray[np.int8], first: NDArray[np.int64]) -> bool:
    """Whether sums over nibbles keep within what the kernels hold.

    Args:
        w: weights (c_out, taps).
        first: sums begin with these.

    """
    fourth = np.abs(_quads(w)[:, 3].astype(np.int64)).sum(axis=1) * -INT8_MIN
    largest = np.abs(first).max() + 15 * -INT8_MIN * padded(w.shape[1])
    return bool(fourth.max() < MAX_FOURTH_SUM and largest < MAX_NARROW_SUM)


def _quads(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """(c_out, taps) -> (quads, channels of a quad, taps), padded with zeros."""
    c_out, taps = w.shape
    full = np.pad(w, ((0, padded(c_out) - c_out), (0, padded(taps) - taps)))
    return full.reshape(-1, QUAD, full.shape[1])


def _raised(layer: Layer, left_shift: int) -> Layer | None:
    """The layer for a kernel that raises all accumulators by so many bits.

    Channels of one output, which ``simplify`` gave the bias ``4 * q``, shift 1 and mantissa
    ``2**30``, get what gives q behind the raise, too.

    Returns:
        None if other channels are to be raised by fewer bits.

    """
    constant = (layer.w == 0).all(axis=1) & (layer.shift == 1) & (layer.mult == 1 << 30)
    if (layer.shift[~constant] != -left_shift).any():
        return None
    return replace(
        layer,
        bias=np.where(constant, layer.bias >> min(left_shift, 2), layer.bias),
        shift=np.where(constant, max(1, left_shift - 1), 0),
    )


def pack_nibbles(w: NDArray[Any]) -> NDArray[np.int8]:
    """Weights of four bits, two to a byte, the first one in the low nibble; a zero may be added."""
    return pack_int4(np.asarray(w, np.int8)).view(np.int8)


FILTER3_NIBBLES = [0, 1, 2, 6, 3, 4, 5, 7]
"""Taps of a 3 x 3 filter, row by row, in the order of a word's nibbles; the last tap lies outside.

Nibbles four apart are the pairs of one column of the filter's upper rows, and of its last row.
"""


def pack_filters_s4(w: NDArray[Any]) -> NDArray[np.int8]:
    """Filters of 3 x 3, (channels, 9) row by row, as ``tinyrt_filter3_nibbles`` reads them.

    Returns:
        Nine bytes for two channels: the first one's word, both of their last taps, the other's
        word; five bytes for an odd last channel.

    """
    channels = len(w)
    pairs = np.pad(w, ((0, channels % 2), (0, 0))).reshape(-1, 2, 9)
    words = pairs[:, :, FILTER3_NIBBLES]
    nine = np.concatenate([words[:, 0], pairs[:, :, 8], words[:, 1]], axis=1)
    return pack_nibbles(nine)[: (channels * 9 + 1) // 2]
