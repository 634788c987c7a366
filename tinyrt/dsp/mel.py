"""Frequencies in mel, in the float32 arithmetic that TFLM's ``microfrontend`` computes them with.

Weights of filters are quotients of small differences of these numbers, rounded: the last bit of a
logarithm counts. C libraries of microcontrollers, and glibc before 2.41, compute ``log1pf`` by the
steps of Sun's fdlibm; they are taken here in the same order, so that all machines agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = np.float32
Floats = NDArray[np.float32]

LN2_HIGH, LN2_LOW = F32(0.69313812256), F32(9.0580006145e-06)
"""The natural logarithm of 2: a part whose multiples are exact, and the rest."""

SERIES = tuple(
    map(F32, (0.6666666865, 0.4000000060, 0.2857142985, 0.2222219855, 0.1818357259, 0.1531383842,
              0.1479819864))
)  # fmt: skip
"""Of ``log((1 + s) / (1 - s)) = 2 s + s * R(s * s)``."""

SMALL = F32(np.sqrt(2) - 1)
"""Below, 1 + x is not scaled."""

TINY = F32(2**-29)


def log1p(x: Floats) -> Floats:
    """``ln(1 + x)`` of numbers from 0 on, as fdlibm rounds it; float32 of any shape."""
    one, two, half = F32(1), F32(2), F32(0.5)
    u = one + x
    mantissa, exponent = np.frexp(u)
    mantissa, exponent = mantissa.astype(np.float32) * two, exponent.astype(np.int64) - 1
    upper = mantissa >= F32(1.4142136)
    small = x < SMALL
    k = np.where(small, 0, exponent + upper).astype(np.float32)
    f = np.where(small, x, np.where(upper, mantissa * half, mantissa) - one)
    # What 1 + x lost where it was rounded; both differences are exact.
    c = np.where(small, F32(0), (x - (u - one)) / u)
    square = half * f * f
    s = f / (two + f)
    z = s * s
    rest = np.zeros_like(z)
    for factor in reversed(SERIES):
        rest = z * (factor + rest)
    inner = s * (square + rest)
    unscaled = f - (square - inner)
    scaled = k * LN2_HIGH - ((square - (inner + (k * LN2_LOW + c))) - f)
    return np.where(x < TINY, x, np.where(small, unscaled, scaled)).astype(np.float32)


def mel_of(hz: Any) -> Floats:
    """``1127 * ln(1 + hz / 700)``: numbers from 0 on, of any shape -> float32."""
    return F32(1127) * log1p(np.asarray(hz, np.float32) / F32(700))
