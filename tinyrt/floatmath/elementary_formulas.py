"""Elementary functions, written in operations for which IEEE 754 defines every bit.

Each function takes and returns float64, with an error of at most four units in the last place. The
formulas have no branches, so the same code serves NumPy arrays and the single numbers of compiled
loops (``elementary_loops``). Both run the same operations in the same order. Callers use
``elementary``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

ROUND = 6755399441055744.0
"""1.5 * 2**52: added to x, it leaves the whole number nearest to x in the lowest bits."""
ROUND_BITS = int(np.float64(ROUND).view(np.int64))
SIGN = -(2**63)
MIN_NORMAL = 2.0**-1022
INFINITY, NAN = math.inf, math.nan

# log(2) in two parts; the first has so few bits that its products with whole numbers are exact.
LOG_2 = (float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33"))
PER_LOG_2 = float.fromhex("0x1.71547652b82fep+0")
QUARTER_TURN = (
    float.fromhex("0x1.921fb54400000p+0"),
    float.fromhex("0x1.0b4611a600000p-34"),
    float.fromhex("0x1.3198a2e037073p-69"),
)
PER_QUARTER_TURN = float.fromhex("0x1.45f306dc9c883p-1")
LARGEST_ANGLE = 2.0**19
"""Largest angle for sin and cos: up to here, multiples of a quarter turn's parts are exact."""
ROOT_HALF_BITS = int(np.float64(math.sqrt(0.5)).view(np.int64))

# Series coefficients from the highest power down. LOG, SIN and COS are in the squared argument.
EXP = tuple(1 / math.factorial(k) for k in range(13, 1, -1))
EXPM1 = tuple(1 / math.factorial(k) for k in range(16, 1, -1))
LOG = tuple(2 / k for k in range(23, 2, -2))
SIN = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(9, 0, -1))
COS = tuple((-1) ** k / math.factorial(2 * k) for k in range(9, 0, -1))

PART = np.array([0.0] + [1 / k for k in range(1, 17)])
ERF_STEPS = 8
"""Table entries of erf per unit of x."""
ERF_END = 6.0
"""From here on, erf is 1."""
# fmt: off
ERF = np.array([
    0.0, 0.1403162048013338, 0.27632639016823696, 0.4041169094348223, 0.5204998778130465,
    0.623240882188418, 0.7111556336535151, 0.7840750610598597, 0.8427007929497149,
    0.8883882317017078, 0.9229001282564583, 0.9481700727820903, 0.9661051464753108,
    0.9784437332399837, 0.9866716712191824, 0.9919900576701199, 0.9953222650189527,
    0.9973459706405177, 0.9985372834133188, 0.9992170617821089, 0.999593047982555,
    0.9997946242638588, 0.9998993780778803, 0.9999521451602562, 0.9999779095030014,
    0.9999901032653747, 0.9999956972205363, 0.9999981847185726, 0.9999992569016276,
    0.9999997048598075, 0.9999998862727434, 0.999999957486056, 0.9999999845827421,
    0.9999999945765992, 0.9999999981494259, 0.9999999993875167, 0.9999999998033839,
    0.9999999999387839, 0.9999999999815149, 0.9999999999945866, 0.9999999999984626,
    0.9999999999995766, 0.9999999999998869, 0.9999999999999707, 0.9999999999999927,
    0.9999999999999982, 0.9999999999999996, 0.9999999999999999, 1.0,
])
# fmt: on
"""erf at 0, 1/8, ... 6."""


def bits(x: Any) -> Any:
    """The bits of a float64, as int64."""
    return np.float64(x).view(np.int64)


def choose(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``."""
    return np.where(condition, a, b)


def magnitude(x: Any) -> Any:
    """The absolute value."""
    return np.int64(bits(x) & ~SIGN).view(np.float64)


def with_sign(size: Any, x: Any) -> Any:
    """``size``, which is not negative, with the sign of ``x``."""
    return np.int64(bits(size) | (bits(x) & SIGN)).view(np.float64)


def power_of_two(n: Any) -> Any:
    """``2**n`` for n from -1022 to 1023."""
    return np.int64((n + 1023) << 52).view(np.float64)


def horner(x: Any, coefficients: Any) -> Any:
    """The polynomial at ``x``; coefficients from the highest power down."""
    total = coefficients[0] + 0.0 * x
    for c in coefficients[1:]:
        total = total * x + c
    return total


def exp(x: Any) -> Any:
    """The exponential: ``2**n`` times that of ``x - n log(2)``."""
    within = np.minimum(np.maximum(x, -746.0), 710.0)
    shifted = within * PER_LOG_2 + ROUND
    n, whole = bits(shifted) - ROUND_BITS, shifted - ROUND
    r = (within - whole * LOG_2[0]) - whole * LOG_2[1]
    powers = horner(r, EXP) * (r * r) + r + 1.0
    half = n >> 1
    return powers * power_of_two(half) * power_of_two(n - half)


def expm1(x: Any) -> Any:
    """``exp(x) - 1``, accurate near 0 too."""
    small = np.minimum(np.maximum(x, -0.35), 0.35)
    near = horner(small, EXPM1) * (small * small) + small
    return choose(x == small, near, exp(x) - 1.0)


def log(x: Any) -> Any:
    """The logarithm from the float's exponent and the series of ``log((1 + s) / (1 - s))``."""
    tiny = x < MIN_NORMAL
    word = bits(choose(tiny, x * 2.0**54, x))
    exponent = (word - ROOT_HALF_BITS) >> 52
    f = np.int64(word - (exponent << 52)).view(np.float64) - 1.0
    n = np.float64(exponent) - choose(tiny, 54.0, 0.0)
    s, half = f / (2.0 + f), 0.5 * f * f
    square = s * s
    rest = s * (half + horner(square, LOG) * square) + n * LOG_2[1]
    y = n * LOG_2[0] - ((half - rest) - f)
    finite = choose(x > 0.0, y, choose(x == 0.0, -INFINITY, NAN))
    return choose(x < INFINITY, finite, x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent from ``exp(2 |x|)``."""
    t = expm1(2.0 * np.minimum(magnitude(x), 22.0))
    return with_sign(t / (t + 2.0), x)


def erf(x: Any) -> Any:
    """The error function by its Taylor series about the nearest table entry."""
    size = np.minimum(magnitude(x), ERF_END)
    shifted = choose(size == size, size, 0.0) * ERF_STEPS + ROUND
    at = (shifted - ROUND) / ERF_STEPS
    h = size - at
    # Derivatives of exp(-x**2) follow from the two before: f'' = -2 x f' - 2 f, and so on.
    back, onward = -2.0 * h * h, -2.0 * at * h
    before, term = 1.0 + 0.0 * h, onward
    total = before + term * 0.5
    for n in range(1, 15):
        before, term = term, (onward * term + back * before) * PART[n + 1]
        total = total + term * PART[n + 2]
    slope = exp(-at * at) * (2.0 / math.sqrt(math.pi))
    return with_sign(ERF[bits(shifted) - ROUND_BITS] + slope * (h * total), x)


def sin(x: Any) -> Any:
    """For sizes up to ``LARGEST_ANGLE``."""
    return turned(x, 0)


def cos(x: Any) -> Any:
    """For sizes up to ``LARGEST_ANGLE``."""
    return turned(x, 1)


def turned(x: Any, quarters: Any) -> Any:
    """The sine of ``x`` plus ``quarters`` quarter turns."""
    shifted = x * PER_QUARTER_TURN + ROUND
    whole = shifted - ROUND
    q = bits(shifted) - ROUND_BITS + quarters
    r = ((x - whole * QUARTER_TURN[0]) - whole * QUARTER_TURN[1]) - whole * QUARTER_TURN[2]
    square = r * r
    sine = horner(square, SIN) * square * r + r
    cosine = horner(square, COS) * square + 1.0
    result = choose((q & 1) == 0, sine, cosine)
    return choose((q & 2) == 0, result, -result)
