"""Weights as the 32-bit words that the kernels read.

Two channels share one 16-bit half: ``256 * w1 + w0``. Scalar cores read one word for each quad of
channels and tap: the halves of channels (0, 1) and (2, 3). Cores with dual multiplies read two
words for each two taps: the halves of channels (0, 1) for both taps, then those of channels (2, 3).
Of every four taps the even ones come first there, as the activations do when their bytes are
widened in pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import QUAD, padded
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.fixedpoint import INT8_MIN


def column_bytes(taps: int, isa: InstructionSet) -> int:
    """Bytes of each of two columns of so many taps, a multiple of four."""
    return taps * (4 if isa is InstructionSet.SCALAR else 2)


def single_bytes(taps: int, isa: InstructionSet) -> int:
    """Bytes of a column that is multiplied alone."""
    return taps * (4 if isa is InstructionSet.SCALAR else 1)


def fit_halves(w: NDArray[np.int8]) -> bool:
    """Whether two channels' weights always fit into one half: not -128 above a negative one."""
    pairs = np.pad(w, ((0, len(w) % 2), (0, 0))).reshape(-1, 2, w.shape[1])
    return not ((pairs[:, 1] == INT8_MIN) & (pairs[:, 0] < 0)).any()


def pair_weights(w: NDArray[np.int8], isa: InstructionSet) -> NDArray[np.int32]:
    """Weights (c_out, taps) as words; both are padded to multiples of four with zeros."""
    c_out, taps = w.shape
    rows, columns = padded(c_out), padded(taps)
    wide = np.pad(w, ((0, rows - c_out), (0, columns - taps))).astype(np.int64)
    pairs = wide.reshape(rows // 2, 2, columns)
    halves = pairs[:, 1] * 256 + pairs[:, 0]
    scalar = isa is InstructionSet.SCALAR
    return int32_words(_words_scalar(halves) if scalar else _words_pairs(halves))


def eight_at_a_time(words: NDArray[np.int32], padded_taps: int, taps: int) -> NDArray[np.int32]:
    """The scalar cores' words as kernels for rows read them: eight channels by tap."""
    by_quad = words.reshape(-1, 2, padded_taps)
    return by_quad[:, :, :taps].transpose(0, 2, 1).ravel()


def rows_at_a_time(words: NDArray[np.int32], padded_taps: int, taps: int) -> NDArray[np.int32]:
    """The scalar cores' words as ``tinyrt_dense_row_long_s8`` reads them: a last quad by itself."""
    quads = words.reshape(-1, padded_taps)
    pairs = len(quads) // 2 * 2
    eights = eight_at_a_time(quads[:pairs].ravel(), padded_taps, taps)
    return np.concatenate([eights, quads[pairs:, :taps].ravel()])


def _words_scalar(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """(channel pairs, taps) -> words (quads, taps)."""
    low, high = halves[0::2], halves[1::2]
    return _word(low, high).ravel()


def _words_pairs(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """(channel pairs, taps) -> words (quads, taps / 2, channel pairs)."""
    pairs, taps = halves.shape
    words = pair_words(halves).reshape(pairs // 2, 2, taps // 2)
    return words.transpose(0, 2, 1).ravel()


def pair_words(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, taps) -> words (n, taps / 2), even ones of every four taps before odd ones."""
    n, taps = halves.shape
    even_first = halves.reshape(n, taps // QUAD, 2, 2).transpose(0, 1, 3, 2)
    return _word(even_first[..., 0], even_first[..., 1]).reshape(n, taps // 2)


def tap_words(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, taps) -> words (n, taps / 2), one tap after the other."""
    return _word(halves[:, 0::2], halves[:, 1::2])


def _word(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two 16-bit halves in a word."""
    return np.asarray((low & 0xFFFF) | (high << 16), np.int64)


def int32_words(words: NDArray[np.int64]) -> NDArray[np.int32]:
    """The low 32 bits."""
    return words.astype(np.uint64).astype(np.uint32).view(np.int32)
