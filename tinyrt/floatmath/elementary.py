"""Exponential, logarithmic and trigonometric functions and powers with the same bits everywhere.

NumPy and the C library have separate code for each CPU, so their last bits differ from one CPU to
the next. The functions here run the same operations in the same order everywhere; see
``elementary_formulas``. All compute in float64. A float32 result is rounded once more and is nearly
always the nearest float32.
"""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.floatmath import buffers
from tinyrt.floatmath import elementary_formulas as formulas
from tinyrt.floatmath.function import Array
from tinyrt.floatmath.parallel import each_part

FEW = 4096
"""Arrays up to this many elements use NumPy unless Numba is imported: importing Numba is slow."""
PASSES = 8
"""Approximate cost of one element, in passes over its bytes in memory."""
WHOLE_POWERS = 64
"""Largest magnitude of an exponent that is computed by multiplication."""
PI_BITS = 1200
"""Bits of pi after the point: enough to reduce the largest float64 to an angle below a turn."""


def exp(x: ArrayLike) -> Array:
    """``e**x``."""
    return _apply("exp", x)


def expm1(x: ArrayLike) -> Array:
    """``e**x - 1``, accurate near 0 too."""
    return _apply("expm1", x)


def log(x: ArrayLike) -> Array:
    """The natural logarithm; -inf at 0, NaN below."""
    return _apply("log", x)


def log10(x: ArrayLike) -> Array:
    """The decimal logarithm; -inf at 0, NaN below."""
    return log(x) * (1 / math.log(10))


def tanh(x: ArrayLike) -> Array:
    """The hyperbolic tangent."""
    return _apply("tanh", x)


def erf(x: ArrayLike) -> Array:
    """``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x."""
    return _apply("erf", x)


def sin(x: ArrayLike) -> Array:
    """The sine, x in radians; NaN where x is not finite."""
    return _turned("sin", x)


def cos(x: ArrayLike) -> Array:
    """The cosine, x in radians; NaN where x is not finite."""
    return _turned("cos", x)


def power(a: ArrayLike, b: ArrayLike) -> Array:
    """``a**b``; NaN where a is negative and b is not whole.

    A scalar exponent up to ``WHOLE_POWERS`` that is a multiple of 1/2 is computed by multiplication
    and a square root. Other exponents go through the logarithm in float64: float32 results are as
    good as a C library's, float64 results may lack the last 12 bits.
    """
    common = np.result_type(a, b)  # a Python number does not widen an array
    dtype = common if common.kind == "f" else np.dtype(np.float64)
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(all="ignore"):
        if y.ndim == 0 and abs(float(y)) <= WHOLE_POWERS and float(2 * y).is_integer():
            whole = math.floor(abs(float(y)))
            result = whole_power(x, whole, np.ones_like(x) if whole == abs(y) else np.sqrt(x))
            result = 1 / result if y < 0 else result
        else:
            result = _by_logarithm(x, y)
        return np.asarray(result.astype(dtype))


def whole_power(x: Any, exponent: int, start: Any = 1.0) -> Any:
    """``start * x**exponent`` by multiplication alone; the exponent is at least 0."""
    while exponent:
        if exponent & 1:
            start = start * x
        x, exponent = x * x, exponent >> 1
    return start


def _by_logarithm(x: Array, y: Array) -> Array:
    result = exp(y * log(np.abs(x)))
    whole, odd = np.floor(y) == y, np.floor(y / 2) * 2 != y
    signed = np.where(np.signbit(x) & whole & odd, -result, result)
    result = np.where((x < 0) & np.isfinite(x * y) & ~whole, np.nan, signed)
    one = (y == 0) | (x == 1) | ((x == -1) & np.isinf(y))
    return np.where(one, 1.0, result)


def _apply(name: str, operand: ArrayLike) -> Array:
    x = np.asarray(operand)
    dtype = x.dtype if x.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    flat = np.ascontiguousarray(x, dtype).reshape(-1)
    if x.size <= FEW and "numba" not in sys.modules:
        with np.errstate(all="ignore"):
            y = np.asarray(getattr(formulas, name)(flat.astype(np.float64)), dtype)
        return y.reshape(x.shape)
    from tinyrt.floatmath.elementary_loops import LOOPS

    loop, y = LOOPS[name], buffers.empty(flat.shape, dtype)
    each_part(flat.size, PASSES * flat.nbytes, lambda part: loop(flat[part], y[part]))
    return y.reshape(x.shape)


def _turned(name: str, operand: ArrayLike) -> Array:
    """A function of angles; whole turns are first removed from angles above ``LARGEST_ANGLE``."""
    x = np.asarray(operand)
    large = ~(np.abs(x) <= formulas.LARGEST_ANGLE)
    if not large.any():
        return _apply(name, x)
    within = np.array(x, np.float64)
    within[large] = [_less_turns(float(v)) for v in within[large]]
    return np.asarray(_apply(name, within), np.result_type(x, np.float32))


def _less_turns(x: float) -> float:
    """The remainder of ``x`` divided by two pi, rounded once."""
    if not math.isfinite(x):
        return math.nan
    top, bottom = abs(x).as_integer_ratio()
    rest = (top << PI_BITS) // bottom % (2 * _pi())
    return math.copysign(rest / (1 << PI_BITS), x)


@cache
def _pi() -> int:
    """``pi * 2**PI_BITS``, by Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""
    spare = 32

    def arc(n: int) -> int:
        power, total, k = (1 << PI_BITS + spare) // n, 0, 0
        while power:
            total += (-power if k & 1 else power) // (2 * k + 1)
            power, k = power // (n * n), k + 1
        return total

    return (16 * arc(5) - 4 * arc(239)) >> spare
