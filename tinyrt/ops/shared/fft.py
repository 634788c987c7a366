"""Fourier transforms of real signals, rounded as in KISS FFT, which TFLM computes them with.

A signal of n samples is transformed as n / 2 complex numbers, by stages of radix 4, 2, 3 and 5. On
integers each stage divides by its radix first, so that nothing overflows: the spectrum is that of
the signal divided by n. Complex numbers are pairs along a last axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import DType

Array = NDArray[Any]

RADICES = (2, 3, 4, 5)
"""Stages that TFLM has: others would ask for memory while the model runs."""

DTYPES = (DType.INT16, DType.INT32, DType.FLOAT32)
"""Element types of signals."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How complex numbers of an element type are added and multiplied.

    Attributes:
        dtype: the element type.

    """

    dtype: DType

    @property
    def most(self) -> int:
        """What stands for 1 in integers."""
        return int(np.iinfo(self.dtype.numpy).max)

    @property
    def is_float(self) -> bool:
        """Whether nothing is rounded to integers."""
        return self.dtype is DType.FLOAT32

    def wide(self, x: Array) -> Array:
        """Elements as they are computed with."""
        return x.astype(np.float32 if self.is_float else np.int64)

    def wrapped(self, x: Array) -> Array:
        """Sums as the element type holds them."""
        return self.wide(x.astype(self.dtype.numpy))

    def rounded(self, products: Array) -> Array:
        """Products of an element and a fraction as elements; half is rounded up."""
        if self.is_float:
            return products
        bits = self.most.bit_length()
        return self.wrapped((products + (1 << (bits - 1))) >> bits)

    def divided(self, x: Array, by: int) -> Array:
        """``x / by`` on integers; floats are left as they are."""
        return x if self.is_float else self.rounded(x * (self.most // by))

    def half(self, x: Array) -> Array:
        """``x / 2``, of a sum that int16 need not hold; integers are rounded down."""
        if self.is_float:
            return x * np.float32(0.5)
        return self.wrapped((self.wrapped(x) if self.dtype is DType.INT32 else x) >> 1)

    def times(self, a: Array, b: Array) -> Array:
        """Complex products."""
        (ar, ai), (br, bi) = (np.moveaxis(z, -1, 0) for z in (a, b))
        return self.rounded(np.stack([ar * br - ai * bi, ar * bi + ai * br], -1))

    def roots(self, phases: list[float]) -> Array:
        """``exp(i * phase)``."""
        pairs = np.array([(math.cos(phase), math.sin(phase)) for phase in phases])
        pairs = pairs if self.is_float else np.floor(0.5 + self.most * pairs)
        return pairs.reshape(-1, 2).astype(self.dtype.numpy)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Constants of the transform of a real signal.

    Attributes:
        factors: the stages' radices, the outermost one first.
        twiddles: the roots of unity of n / 2, (n / 2, 2).
        split: those that take the transforms of even and odd samples apart, (n / 4, 2).

    """

    factors: tuple[int, ...]
    twiddles: Array
    split: Array


def factors_of(count: int) -> tuple[int, ...]:
    """Radices whose product is ``count``: fours, a two, then what is left in ascending order."""
    found, factor, highest = [], 4, math.isqrt(count)
    while count > 1:
        while count % factor:
            factor = {4: 2, 2: 3}.get(factor, factor + 2)
            factor = count if factor > highest else factor
        count //= factor
        found.append(factor)
    return tuple(found)


@lru_cache(maxsize=16)
def tables(dtype: DType, length: int, inverse: bool) -> Tables:
    """The constants for signals of ``length`` samples."""
    count, sign = length // 2, -1.0 if inverse else 1.0
    arithmetic = Arithmetic(dtype)
    phases = [sign * (-2 * math.pi * i / count) for i in range(count)]
    split = [sign * (-math.pi * ((i + 1) / count + 0.5)) for i in range(count // 2)]
    return Tables(factors_of(count), arithmetic.roots(phases), arithmetic.roots(split))


def rfft(x: Array, length: int) -> Array:
    """Signals (..., n) of at most ``length`` samples, zeros behind them -> (..., length + 2).

    Returns:
        Real and imaginary parts in turn, from frequency 0 to half the length.

    """
    dtype = DType.of(x.dtype)
    a, t, count = Arithmetic(dtype), tables(dtype, length, inverse=False), length // 2
    padded = np.zeros((*x.shape[:-1], length), x.dtype)
    padded[..., : x.shape[-1]] = x
    z = _transform(a, a.wide(padded).reshape(*x.shape[:-1], count, 2), t, inverse=False)
    y = np.zeros((*x.shape[:-1], count + 1, 2), z.dtype)
    low = a.divided(z[..., 0, :], 2)
    y[..., 0, 0] = a.wrapped(low[..., 0] + low[..., 1])
    y[..., count, 0] = a.wrapped(low[..., 0] - low[..., 1])
    k = np.arange(1, count // 2 + 1)
    near, far = a.divided(z[..., k, :], 2), a.divided(_conjugate(a, z[..., count - k, :]), 2)
    both = a.wrapped(near + far)
    turned = a.times(a.wrapped(near - far), a.wide(t.split)[k - 1])
    y[..., k, :] = a.half(both + turned)
    y[..., count - k, :] = a.half((both - turned) * np.array([1, -1], both.dtype))
    return y.reshape(*x.shape[:-1], length + 2).astype(x.dtype)


def irfft(x: Array, length: int) -> Array:
    """Spectra (..., length + 2) as of ``rfft`` -> signals (..., length)."""
    dtype = DType.of(x.dtype)
    a, t, count = Arithmetic(dtype), tables(dtype, length, inverse=True), length // 2
    spectrum = a.wide(x).reshape(*x.shape[:-1], count + 1, 2)
    z = np.empty((*x.shape[:-1], count, 2), spectrum.dtype)
    first, last = spectrum[..., 0, 0], spectrum[..., count, 0]
    z[..., 0, :] = a.divided(a.wrapped(np.stack([first + last, first - last], -1)), 2)
    k = np.arange(1, count // 2 + 1)
    near = a.divided(spectrum[..., k, :], 2)
    far = a.divided(_conjugate(a, spectrum[..., count - k, :]), 2)
    even = a.wrapped(near + far)
    odd = a.times(a.wrapped(near - far), a.wide(t.split)[k - 1])
    z[..., k, :] = a.wrapped(even + odd)
    z[..., count - k, :] = _conjugate(a, a.wrapped(even - odd))
    y = _transform(a, z, t, inverse=True).reshape(*x.shape[:-1], length)
    return (y / np.float32(length) if a.is_float else y).astype(x.dtype)


def _conjugate(a: Arithmetic, z: Array) -> Array:
    return a.wrapped(z * np.array([1, -1], z.dtype))


def _transform(a: Arithmetic, z: Array, t: Tables, inverse: bool, stage: int = 0) -> Array:
    """Complex numbers (..., n, 2) -> their transform; what stands behind later stages is less."""
    radix, count = t.factors[stage], z.shape[-2]
    # Of every ``radix`` numbers, the first, the second, ...: a transform of each.
    parts = np.swapaxes(z.reshape(*z.shape[:-2], count // radix, radix, 2), -3, -2)
    if stage + 1 < len(t.factors):
        parts = _transform(a, parts, t, inverse, stage + 1)
    step = math.prod(t.factors[:stage])
    places = step * np.arange(count // radix)
    w = a.wide(t.twiddles)
    first, *others = (a.divided(parts[..., q, :, :], radix) for q in range(radix))
    turned = [a.times(part, w[q * places]) for q, part in enumerate(others, 1)]
    roots = w[step * count // radix * np.arange(1, 3)] if radix > 2 else w[:0]
    joined = _STAGES[radix](a, [first, *turned], roots, -1 if inverse else 1)
    return a.wrapped(np.stack(joined, -3)).reshape(z.shape)


def _two(a: Arithmetic, z: list[Array], roots: Array, sign: int) -> list[Array]:
    del a, roots, sign
    return [z[0] + z[1], z[0] - z[1]]


def _three(a: Arithmetic, z: list[Array], roots: Array, sign: int) -> list[Array]:
    del sign
    both = z[1] + z[2]  # less than 1, of what is divided by the radix
    turned = _by_minus_i(a.rounded((z[1] - z[2]) * roots[0, 1]))
    rest = z[0] - (both * np.float32(0.5) if a.is_float else both >> 1)
    return [z[0] + both, rest - turned, rest + turned]


def _four(a: Arithmetic, z: list[Array], roots: Array, sign: int) -> list[Array]:
    del a, roots
    even, odd, both = z[0] + z[2], z[0] - z[2], z[1] + z[3]
    turned = _by_minus_i(z[1] - z[3]) * np.array(sign, z[0].dtype)
    return [even + both, odd + turned, even - both, odd - turned]


def _five(a: Arithmetic, z: list[Array], roots: Array, sign: int) -> list[Array]:
    del sign
    (p, p_turned), (q, q_turned) = roots
    outer, inner, outwards, inwards = z[1] + z[4], z[2] + z[3], z[1] - z[4], z[2] - z[3]
    near = z[0] + a.rounded(outer * p) + a.rounded(inner * q)
    far = z[0] + a.rounded(outer * q) + a.rounded(inner * p)
    near_turned = _by_minus_i(a.rounded(outwards * p_turned) + a.rounded(inwards * q_turned))
    far_turned = _by_minus_i(a.rounded(inwards * p_turned) - a.rounded(outwards * q_turned))
    return [
        z[0] + outer + inner,
        near - near_turned,
        far + far_turned,
        far - far_turned,
        near + near_turned,
    ]


_STAGES = {2: _two, 3: _three, 4: _four, 5: _five}
"""Radix -> ``(arithmetic, parts, the first two roots of unity, direction)`` -> the parts joined."""


def _by_minus_i(z: Array) -> Array:
    """``-i * z``."""
    return np.stack([z[..., 1], -z[..., 0]], -1)
