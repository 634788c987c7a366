"""The arithmetic of ``tinyrt.fixedpoint`` on single values, for compiled loops.

``tests/interpreter`` pins every function to its namesake there.
"""

from __future__ import annotations

import numpy as np

from tinyrt.backends.numba.abi import Int, subroutine
from tinyrt.fixedpoint import INT32_MAX, INT32_MIN


@subroutine
def rounding_divide_by_pot(x: Int, exponent: Int) -> Int:
    """``x / 2**exponent``, halves away from zero."""
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + np.int64(x < 0)
    return (x >> exponent) + np.int64((x & mask) > threshold)


@subroutine
def rounding_doubling_high_mul(a: Int, b: Int) -> Int:
    """``round(a * b / 2**31)`` of int32 operands, saturated."""
    return min((a * b + (1 << 30)) >> 31, INT32_MAX)


@subroutine
def requant(x: Int, mult: Int, left: Int, right: Int) -> Int:
    """``x * mult * 2**(left - right - 31)``, rounded twice; ``left`` or ``right`` is 0."""
    shifted = np.int64(np.int32(x << left))
    return rounding_divide_by_pot((shifted * mult + (1 << 30)) >> 31, right)


@subroutine
def saturate(x: Int, low: Int, high: Int) -> np.int8:
    """The nearest int8 within the limits."""
    return np.int8(min(max(x, low), high))


@subroutine
def saturating_left_shift(x: Int, exponent: Int) -> Int:
    """``x * 2**exponent``, saturated to int32."""
    return min(max(x << exponent, INT32_MIN), INT32_MAX)
