"""Layers that the packed kernels can take: known to fit first, packed when C is written.

The input's zero point is folded into the bias, ``init = bias - x_zp * sum(w)``, so that the kernels
multiply activations as they are; taps outside of the input read the zero point.

Channels that share a half, see ``words``, share an accumulator. A multiplication with
``256 * w1 + w0`` adds ``256 * s1 + s0`` to it; one with the half's sign-extended low byte gives
``s0``. At the end the kernel computes ``s1 = (sum - s0) / 256``. This takes half the byte
extractions of plain weights, and requires ``|s1| < 2**23``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import (
    MAX_PADDING,
    MAX_SINGLE_SUM,
    Layer,
    PackedRequant,
    pack_requant,
    padded,
    simplify,
)
from tinyrt.backends.c.blocks.words import fit_halves, int32_words, pair_weights
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.ops.shared.requant import Requant

Runs = list[tuple[int, int]]
"""First tap and end of each run of taps that are not all zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A layer's constants as its kernel reads them.

    Attributes:
        w: 32-bit words.
        init: first values of the accumulators.
        requant: mantissas and shifts.

    """

    w: NDArray[np.int32]
    init: NDArray[np.int32]
    requant: PackedRequant


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """A layer that one of the packed kernels can take.

    Attributes:
        layer: its integers.
        x_zp: the input's zero point.
        isa: the instruction set.
        runs: runs of taps of each block, by the block's channels and taps, see ``zeros``.

    """

    layer: Layer
    x_zp: int
    isa: InstructionSet
    runs: dict[tuple[int, int], list[Runs]] = field(default_factory=dict)

    bits: ClassVar[int] = 8
    """Bits of a weight; the kernels' names end in this number."""

    @property
    def raised(self) -> int:
        """Bits by which the kernel raises accumulators."""
        return 0

    @property
    def taps(self) -> int:
        """Elements of a column, padded."""
        return padded(self.layer.w.shape[1])

    @property
    def channels(self) -> int:
        """Output channels, padded."""
        return padded(self.layer.c_out)

    @property
    def nbytes(self) -> int:
        """Bytes of the words."""
        return self.channels * self.taps * self.bits // 8

    @cached_property
    def packed(self) -> Packed:
        """The layer's constants; packed once."""
        first = self.layer.first_sums(self.x_zp)
        padding = (0, self.channels - self.layer.c_out)
        return self.pack(np.pad(first, padding))

    @abstractmethod
    def pack(self, first: NDArray[np.int64]) -> Packed:
        """Pack the layer; ``first`` holds the initial accumulators of all channels, padded."""


class PairBlock(Block):
    """A layer for ``tinyrt_block_s8``.

    The initial accumulators of channels 0 and 2 of a quad are their own; those of channels 1 and 3
    are 256 times their own plus their neighbour's.
    """

    def pack(self, first: NDArray[np.int64]) -> Packed:
        """Words of pairs of channels."""
        init = pair_sums(first)
        return Packed(pair_weights(self.layer.w, self.isa), init, pack_requant(self.layer))


def pair_sums(first: NDArray[np.int64]) -> NDArray[np.int32]:
    """Initial accumulators of all channels, padded, as those of ``PairBlock``."""
    even, odd = first.reshape(-1, 2).T
    # The doubled words wrap as a register does.
    return int32_words(np.stack([even, odd * 256 + even], axis=1).ravel())


class LongBlock(Block):
    """A layer for ``tinyrt_block_long_s8``: larger sums, and shifts that may go left."""

    def pack(self, first: NDArray[np.int64]) -> Packed:
        """Words as for ``PairBlock``; accumulators begin with plain sums, one to a channel."""
        words = pair_weights(self.layer.w, self.isa)
        return Packed(words, int32_words(first), pack_requant(self.layer))


def is_mostly_padding(w: NDArray[np.int8]) -> bool:
    """Whether too much of a packed layer with weights (c_out, taps) would be padding zeros."""
    zeros = padded(w.shape[0]) * padded(w.shape[1]) - w.size
    return zeros > max(MAX_PADDING, w.size // 2)


def pair_block(
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    x_zp: int,
    requant: Requant,
    isa: InstructionSet,
) -> PairBlock | None:
    """A layer with weights (c_out, taps), taps in the order of the column's bytes.

    Returns:
        None if the layer must take the general kernel: its sums are too large, its output scale is
        finer than its accumulators', or too much of it would be padding.

    """
    layer = simplify(w, bias, x_zp, requant)
    if layer is None or layer.shift.min() < 1 or is_mostly_padding(w) or not fit_halves(layer.w):
        return None
    return PairBlock(layer, x_zp, isa)


def long_block(
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    x_zp: int,
    requant: Requant,
    isa: InstructionSet,
) -> LongBlock | None:
    """As ``pair_block`` for sums up to ``MAX_SINGLE_SUM`` and all scales."""
    layer = simplify(w, bias, x_zp, requant, MAX_SINGLE_SUM, raises=False)
    if layer is None or not fit_halves(layer.w):
        return None
    return LongBlock(layer, x_zp, isa)
