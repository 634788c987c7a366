"""Rows of weights as quads of output channels, for rows of int16 that are read where they lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import QUAD
from tinyrt.backends.c.blocks.words import int32_words, tap_words
from tinyrt.backends.c.isa import InstructionSet

MAX_SUM = {
    InstructionSet.SCALAR: 1 << 30,
    InstructionSet.DSP: 1 << 31,
    InstructionSet.MVE: 1 << 31,
}
"""What sums stay below. Cortex-M0 makes products of 64 bits from halves, with a bit to spare."""


def row16_words(rows: NDArray[np.int8], isa: InstructionSet) -> NDArray[np.int32]:
    """Rows of weights, a quad's side by side, as ``tinyrt_dot_row16`` reads them.

    Args:
        rows: (4 units, taps), unit by unit.
        isa: a scalar one, for which a word has a tap's four weights; or DSP, for which two words
            have two taps', in halves that channels share as in ``words``.

    """
    quads = rows.reshape(-1, QUAD, rows.shape[1])
    if isa is InstructionSet.SCALAR:
        return np.ascontiguousarray(quads.transpose(0, 2, 1)).view("<i4").ravel()
    even = np.pad(quads, ((0, 0), (0, 0), (0, rows.shape[1] % 2))).astype(np.int64)
    halves = (even[:, 1::2] * 256 + even[:, 0::2]).reshape(-1, even.shape[2])
    words = tap_words(halves).reshape(len(quads), 2, -1)
    return int32_words(words.transpose(0, 2, 1).ravel())
