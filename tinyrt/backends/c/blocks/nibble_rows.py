"""Rows of weights of four bits as quads of output channels, for ``tinyrt_row_s4``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.nibbles import nibble_starts, nibble_words, nibbles_fit
from tinyrt.backends.c.blocks.rows import Rows, Scale
from tinyrt.backends.c.isa import InstructionSet

NIBBLE = range(-8, 8)
"""Weights of four bits."""


def are_narrow(*weights: NDArray[np.int8]) -> bool:
    """Whether four bits hold all the weights."""
    return all(NIBBLE[0] <= w.min() and w.max() <= NIBBLE[-1] for w in weights)


@dataclass(frozen=True, slots=True, eq=False)
class NibbleRows(Rows):
    """Rows whose quads share a half for each tap, see ``nibbles``. There are whole quads."""

    bits: ClassVar[int] = 4

    def fits(self, scales: Sequence[Scale]) -> bool:
        """As ``Rows.fits``, and whether four bits hold the weights."""
        fit = are_narrow(self.w) and nibbles_fit(self.w, self.first)
        return fit and self.are_exact(scales)

    def words(self, isa: InstructionSet) -> NDArray[np.int32]:
        """Weights in the order in which kernels read them."""
        return nibble_words(self.w, isa)

    def starts(self, isa: InstructionSet) -> NDArray[np.int32]:
        """First values as kernels read them, the same for all."""
        del isa
        return nibble_starts(self.first)

    def move(self, channel: int, shift: int) -> int:
        """How far a sum goes left, which is doubled by what separates it from others."""
        del channel
        return max(shift, 0)
