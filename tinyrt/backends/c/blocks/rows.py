"""Rows of weights as quads of output channels, for kernels that read a row where it lies.

Their layout is that of ``block``: channels that share a half share a sum, too. The kernels' own
steps of requantisation are exact within bounds that ``is_exact`` states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import MAX_PADDING, MAX_SINGLE_SUM, MAX_SUM, QUAD, padded
from tinyrt.backends.c.blocks.words import eight_at_a_time, fit_halves, int32_words, pair_weights
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Fields
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN

T = TypeVar("T", bound=np.generic)

SHARED_BITS = 8
"""Bits by which an odd channel's sum is raised above its neighbour's."""

Scale = tuple[int, int]
"""Mantissa and exponent."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Products of rows of weights with one tensor.

    Attributes:
        w: weights (rows, taps).
        first: sums begin with these.

    """

    w: NDArray[np.int8]
    first: NDArray[np.int64]

    bits: ClassVar[int] = 8

    @property
    def reach(self) -> NDArray[np.int64]:
        """The largest absolute sum of each row, for all inputs."""
        positive = np.maximum(self.w, 0).sum(axis=1, dtype=np.int64)
        negative = np.minimum(self.w, 0).sum(axis=1, dtype=np.int64)
        low = self.first + positive * INT8_MIN + negative * INT8_MAX
        high = self.first + positive * INT8_MAX + negative * INT8_MIN
        return np.asarray(np.maximum(-low, high))

    def fits(self, scales: Sequence[Scale]) -> bool:
        """Whether sums, and steps of their requantisation, keep within what kernels hold.

        Args:
            scales: of the channels of every quad.

        """
        shared = bool(self.reach[1::2].max(initial=0) < MAX_SUM)
        return fit_halves(self.w) and shared and self.are_exact(scales)

    def are_exact(self, scales: Sequence[Scale]) -> bool:
        """Whether sums, and steps of their requantisation, keep within 32 bits."""
        each = zip(self.reach.tolist(), list(scales) * (len(self.w) // len(scales)), strict=True)
        return all(
            shift < SHARED_BITS
            and largest << max(shift, 0) < MAX_SINGLE_SUM
            and is_exact(largest, mult, shift)
            for largest, (mult, shift) in each
        )

    def words(self, isa: InstructionSet) -> NDArray[np.int32]:
        """Weights in the order in which kernels read them."""
        packed = pair_weights(_whole(self.w, isa), isa)
        if isa is not InstructionSet.SCALAR:
            return packed
        taps = self.w.shape[1]
        return eight_at_a_time(packed, padded(taps), taps)

    def starts(self, isa: InstructionSet) -> NDArray[np.int32]:
        """First sums as kernels read them: those of odd rows with their neighbour's."""
        pairs = _whole(self.first, isa).reshape(-1, 2).copy()
        pairs[:, 1] = (pairs[:, 1] << SHARED_BITS) + pairs[:, 0]
        return int32_words(pairs.ravel())

    def move(self, channel: int, shift: int) -> int:
        """How far a sum goes before it is multiplied: right for an odd channel, else left."""
        return odd_move(shift) if channel % 2 else even_move(shift)


def are_mostly_padding(rows: Sequence[Rows], isa: InstructionSet) -> bool:
    """Whether too much of the packed weights of an op would be zeros that are added."""
    size = sum(one.w.size for one in rows)
    packed = sum(one.words(isa).nbytes * 8 // one.bits for one in rows)
    return packed - size > max(MAX_PADDING, size // 2)


def is_exact(largest: int, mult: int, shift: int) -> bool:
    """Whether numbers up to this keep within 32 bits while kernels rescale them.

    With h = round(2 * value * 2**max(shift, 0) * mult / 2**32), that is of 2 * h + 2**-shift.
    """
    high = ((largest << max(shift, 0)) * mult >> 31) + 1
    right = max(-shift, 0)
    return 2 * high + (1 << right) < 1 << 31


def even_move(shift: int) -> int:
    """How far left an even row's sum goes before it is multiplied: doubled, at least."""
    return 1 + max(shift, 0)


def odd_move(shift: int) -> int:
    """How far right an odd row's sum goes, which is raised."""
    return SHARED_BITS - even_move(shift)


def rounding_fields(shift: int) -> Fields:
    """What is added before the second rounding's shift, and that shift."""
    right = max(-shift, 0)
    return {"rounding": 1 << right, "next": right + 1}


def _whole(rows: NDArray[T], isa: InstructionSet) -> NDArray[T]:
    """With rows of zeros, up to a multiple of what is computed at once."""
    at_once = 2 * QUAD if isa is InstructionSet.SCALAR else QUAD
    rest = -len(rows) % at_once
    return np.pad(rows, ((0, rest), *((0, 0),) * (rows.ndim - 1)))
