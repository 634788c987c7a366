"""add and sub as one linear sum with one rounding, where that provably gives every output.

There are 65,536 pairs of int8 inputs. ``linear_sum_of`` looks for two factors and an addend so that
``(a_factor * a + b_factor * b + addend) >> 21`` equals the reference, with its six roundings, for
every pair. The reference rounds halves away from 0; factors that are larger by a few parts in a
million do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ops.add import AddS8, add_ref, sub_ref

SUM_BITS = 21
"""Fractional bits of a sum: the limit of DSP cores' saturating shift is a constant."""

RAISED = 8
"""Bits by which DSP cores' factors are raised."""

HALVES = 2**20 + 2**15
"""What vector cores take from a sum, as they have no shift that rounds down."""

INT32_MAX = 2**31 - 1

INPUTS = np.arange(INT8_MIN, INT8_MAX + 1, dtype=np.int64)

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LinearSum:
    """``tinyrt_linear_sum``, as the kernel takes it."""

    a_factor: int
    b_factor: int
    addend: int


@lru_cache(maxsize=64)
def linear_sum_of(p: AddS8, op: str, dsp: bool) -> LinearSum | None:
    """The sum with one rounding, clamped to int8 only, where it equals the reference.

    Args:
        p: constants of the op; its clamp does not matter.
        op: ``add`` or ``sub``.
        dsp: multiply as DSP cores do, in another way than scalar ones and vectors.

    """
    p = replace(p, act_min=INT8_MIN, act_max=INT8_MAX)
    ref = {"add": add_ref, "sub": sub_ref}[op]
    outputs = ref(p, INPUTS.astype(np.int8)[:, None], INPUTS.astype(np.int8)).astype(np.int64)
    to_output = 2.0 ** (p.left_shift + p.y_shift - 31) * p.y_mult
    a_ratio = 2.0 ** (p.a_shift - 31) * p.a_mult * to_output
    b_ratio = 2.0 ** (p.b_shift - 31) * p.b_mult * to_output
    return _linear_sum(outputs, a_ratio, -b_ratio if op == "sub" else b_ratio, dsp)


def _linear_sum(outputs: Integers, a_ratio: float, b_ratio: float, dsp: bool) -> LinearSum | None:
    """Factors and addend that give all outputs, int64 [256, 256], or ``None``.

    The ratios are those of the inputs' scales to the output's.
    """
    bias = -INT8_MIN if dsp else 0
    least = np.where(outputs > INT8_MIN, (outputs + bias) << SUM_BITS, -(2**62))
    most = np.where(outputs < INT8_MAX, (outputs + bias + 1) << SUM_BITS, 2**62)
    products = _raised_products if dsp else _plain_products
    ratios = np.array([a_ratio, b_ratio]) * 2.0 ** (SUM_BITS + (RAISED if dsp else 0))
    for a_factor, b_factor in _factors(ratios, dsp):
        if max(a_factor, abs(b_factor)) > INT32_MAX:
            return None
        addend = _addend(products, a_factor, b_factor, least, most)
        if addend is not None:
            return LinearSum(a_factor, b_factor, addend)
    return None


def _factors(ratios: NDArray[np.float64], dsp: bool) -> list[tuple[int, int]]:
    """Pairs of factors to try, the nearest ones first."""
    if dsp:
        steps = [0.0] + [sign * 2.0**-bits for bits in range(23, 17, -1) for sign in (1, -1)]
        near = [[round(float(r) * (1 + step)) for step in steps] for r in ratios]
    else:
        steps = [0, 1, -1, 2, -2, 3, -3, 4, -4, 6, 8]
        near = [[round(float(r)) + int(step) for step in steps] for r in ratios]
    order = sorted(product(range(len(steps)), repeat=2), key=max)
    return [(near[0][i], near[1][j]) for i, j in order]


def _plain_products(factor: int) -> Integers:
    return factor * INPUTS


def _raised_products(factor: int) -> Integers:
    return (factor * (INPUTS << RAISED)) >> 16


def _addend(
    products: Callable[[int], Integers],
    a_factor: int,
    b_factor: int,
    least: Integers,
    most: Integers,
) -> int | None:
    """The middle one of the addends with which every sum lies between its limits."""
    a, b = products(a_factor), products(b_factor)
    sums = a[:, None] + b
    low, high = int((least - sums).max()), int((most - sums).min())
    if low >= high:
        return None
    addend = (low + high - 1) // 2
    parts = (sums, sums + addend, b + addend, np.array(addend))
    reach = max(int(np.abs(part).max()) for part in parts)
    return addend if reach <= INT32_MAX - HALVES else None
