"""Cepstral coefficients (MFCC): a cosine transform of a frame's logarithms, in fixed point.

``c[k] = s[k] * sum(x[j] * cos(pi * k * (j + 0.5) / n))``, ``s[0] = sqrt(1 / n)``, the others
``sqrt(2 / n)``: the orthonormal DCT-II, as ``scipy.fft.dct(x, norm="ortho")`` defines it and
librosa's ``mfcc`` takes it.

Weights are int16 with as many fraction bits as keep every sum below ``2**31``, whatever the
logarithms are, and a sum, rounded half up, is a coefficient in the unit of the logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp.checks import require
from tinyrt.dsp.log_mel import LogMel
from tinyrt.ops.signal_filter_bank import SignalFilterBankLogAttrs, ref_log

MAX_BITS = 24
"""Of a weight's fraction; weights so small that they could have more have no use for them."""

S16_MAX, S32_MAX = (1 << 15) - 1, (1 << 31) - 1


@dataclass(frozen=True, slots=True, eq=False)
class CepstraTables:
    """Constants of the transform.

    Attributes:
        weights: int16 (coefficients, bands).
        bits: their fraction bits.

    """

    weights: NDArray[np.int16]
    bits: int


def cosines(coefficients: int, bands: int) -> NDArray[np.float64]:
    """The first rows of the orthonormal DCT-II, (coefficients, bands)."""
    k, j = np.arange(coefficients)[:, None], np.arange(bands)[None, :]
    rows = math.sqrt(2 / bands) * np.cos(np.pi * k * (j + 0.5) / bands)
    rows[0] = math.sqrt(1 / bands)
    return np.asarray(rows)


def cepstra_tables(front: LogMel) -> CepstraTables | None:
    """The constants of a front end's transform; None without.

    Raises:
        DataError: coefficients of the loudest frames do not fit an int16.

    """
    if front.coefficients is None or front.log_shift is None:
        return None
    exact, largest = cosines(front.coefficients, front.bands), largest_logarithm(front.log_shift)
    bits = next(b for b in range(MAX_BITS, -1, -1) if _fits(np.rint(exact * 2**b), largest, b))
    weights = np.rint(exact * 2.0**bits).astype(np.int16)
    most = (int(np.abs(weights.astype(np.int64)).sum(1).max()) * largest + half(bits)) >> bits
    expected = f"a smaller one: {front.bands} bands make coefficients up to {most:,}"
    require(most <= S16_MAX, "log_shift", front.log_shift, expected)
    return CepstraTables(weights, bits)


def half(bits: int) -> int:
    """What is added before a shift to the right by so many bits, for the nearest integer."""
    return (1 << bits) >> 1


def largest_logarithm(log_shift: int) -> int:
    """The largest feature of all bands that 32 bits hold."""
    loudest = np.array([(1 << 32) - 1], np.uint32)
    return int(ref_log(SignalFilterBankLogAttrs(0, 1 << log_shift), loudest)[0])


def _fits(weights: NDArray[np.float64], largest: int, bits: int) -> bool:
    """Whether weights fit an int16, and their sums an int32."""
    sums = np.abs(weights).sum(1).max() * largest + half(bits)
    return bool(np.abs(weights).max() <= S16_MAX and sums <= S32_MAX)


def cepstra_of(tables: CepstraTables, features: NDArray[Any]) -> NDArray[np.int16]:
    """Logarithms uint16 (..., bands) -> coefficients int16 (..., coefficients)."""
    sums = features.astype(np.int64) @ tables.weights.astype(np.int64).T
    return ((sums + half(tables.bits)) >> tables.bits).astype(np.int16)
