"""One row by three products for four channels, for cores without dual multiplies.

Of four channels' weights a tap has a word, each raised by 128 so that none has a sign, and borrows
from none beside it:

    u0 + 2**8 * u1 + 2**16 * u2 + 2**24 * u3

Its upper half, ``u2 + 2**8 * u3``, takes one instruction, and so does the word whose bytes change
places in each half, ``u1 + 2**8 * u0 + 2**16 * u3 + 2**24 * u2``. Sums of products with these three
hold the channels' sums, modulo 2**32. Accumulators stay below ``2**23``, as for all packed layers:
24 bits hold each, and 96 bits hold four, whatever their values. What 128 adds is the same for all
channels, 128 times the sum of the activations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.block import Block, Packed
from tinyrt.backends.c.blocks.layer import QUAD, pack_requant
from tinyrt.backends.c.blocks.words import int32_words

CHANNELS = 2 * QUAD
"""Output channels that are computed together."""

SUMS = 3
"""Sums of four channels."""

SUM_BYTES = 4
"""Bytes of the activations' sum, which parts of a layer keep."""


def fits(channels: int) -> bool:
    """Whether so many output channels, padded, are whole groups of those computed together."""
    return channels % CHANNELS == 0


def words(w: NDArray[np.int8], channels: int) -> NDArray[np.int32]:
    """Weights (c_out, taps) of so many channels, padded by zeros: two words to a tap."""
    wide = np.pad(w, ((0, channels - len(w)), (0, 0)))
    raised = wide.view(np.uint8) ^ 0x80
    by_tap = raised.reshape(-1, CHANNELS, w.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(by_tap).ravel().view("<i4").astype(np.int32)


def first_words(first: NDArray[np.int64]) -> NDArray[np.int32]:
    """The three sums of every four channels that begin with these values."""
    s0, s1, s2, s3 = first.reshape(-1, QUAD).T
    upper, swapped = s2 + (s3 << 8), s1 + (s0 << 8) + (s3 << 16) + (s2 << 24)
    return int32_words(np.stack([s0 + (s1 << 8) + (upper << 16), upper, swapped], 1).ravel())


def pack(block: Block) -> Packed:
    """The layer's constants."""
    layer = block.layer
    first = np.pad(layer.first_sums(block.x_zp), (0, block.channels - layer.c_out))
    return Packed(words(layer.w, block.channels), first_words(first), pack_requant(layer))
