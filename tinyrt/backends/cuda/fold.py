"""Requantisation as one multiply-add, where that provably equals the two steps.

Both forms are monotonic in the accumulator, so they are equal if they reach every output at the
same accumulator. The thresholds of the two steps are known exactly. The offsets that reach all of
them form an interval. Where it is empty for every multiplier tried, nothing is folded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ops.shared.requant import Requant

Int64s = NDArray[np.int64]

HIGH = 32
"""Outputs are the upper word of a sum of 64 bits."""

MAX_SHIFT = 22
"""Right shifts up to which no threshold overflows."""

MAX_RIGHT = 31
"""Bits of a multiplier."""

TRIES = 4
"""Multipliers tried on either side of the nearest one."""

RAISED = 8
"""Left shift of a sum's operands, so that one step of an operand may be several outputs."""


@dataclass(frozen=True, slots=True)
class Folded:
    """``y = (acc * mult + offset) >> 32 >> right``, per channel.

    Attributes:
        mult: (channels,) below 2**31.
        offset: (channels,) of 64 bits.
        right: shift of the upper word; 0 where multipliers of few bits are exact.

    """

    mult: NDArray[np.int32]
    offset: Int64s
    right: int


def thresholds(
    mult: Int64s, shift: Int64s, bias: Int64s, levels: Int64s, zero_point: int
) -> Int64s:
    """The least accumulator, without bias, that gives each level or more: (channels, levels).

    An output is the level ``k`` above the zero point or more where the doubling high product is at
    least ``k * 2**s - 2**(s - 1)``, and one more where ``k`` is not positive: halves are rounded
    away from zero. That product is at least ``h`` where ``acc * mult + 2**30 >= h * 2**31``.
    """
    right, k = -shift[:, None], levels - zero_point
    high = (k << right) - (1 << right >> 1) + ((k <= 0) & (right > 0))
    return -(-((high << 31) - (1 << 30)) // mult[:, None]) - bias[:, None]


def fold(requant: Requant, bias: Int64s, least: Int64s, most: Int64s) -> Folded | None:
    """One multiply-add per channel, or None where that is not exact.

    Channels with a constant output, such as dead channels, have the multiplier 0.

    Args:
        requant: the two steps.
        bias: (channels,) added to accumulators.
        least: (channels,) lower bound of the accumulators.
        most: (channels,) upper bound of the accumulators.

    """
    ends = [requant.apply(end + bias) for end in (least, most)]
    mult, shift = requant.mult.astype(np.int64), requant.shift.astype(np.int64)
    edges = np.maximum(abs(least + bias), abs(most + bias)).astype(np.float64)
    # What wraps is not monotonic: its ends may be the same where other answers are not.
    wraps = np.ldexp(edges, np.maximum(shift, 0)).max() >= 2**31
    if wraps or requant.act_min >= requant.act_max:
        return None
    same = ends[0] == ends[1]
    if np.any(~same & ((mult <= 0) | (shift > 0) | (shift < -MAX_SHIFT))):
        return None
    mult, shift = np.where(same, 1, mult), np.where(same, 0, shift)
    levels = np.arange(requant.act_min + 1, requant.act_max + 1, dtype=np.int64)
    reached = thresholds(mult, shift, bias, levels, requant.y_zp)
    reachable, first = reached <= most[:, None], np.maximum(reached, least[:, None])
    missable, last = reached > least[:, None], np.minimum(reached - 1, most[:, None])
    real = np.where(same, 0, np.ldexp(mult, shift + HIGH - 31))
    # First without a shift; then with all the bits that multipliers have room for.
    for right in (0, max(0, MAX_RIGHT - int(np.frexp(real.max())[1]))):
        goal = levels << HIGH + right
        multipliers, offset = (
            np.zeros(len(real), np.int64),
            ends[0].astype(np.int64) << HIGH + right,
        )
        solved = same.copy()
        for tried in _around(np.rint(np.ldexp(real, right)).astype(np.int64)):
            # Levels that all accumulators reach, or none, bound one side only.
            low = np.where(reachable, goal - first * tried[:, None], -(2**62)).max(axis=1)
            high = np.where(missable, goal - last * tried[:, None], 2**62).min(axis=1)
            good = ~solved & (low < high) & (tried > 0) & (tried < 2**31)
            multipliers[good], offset[good] = tried[good], ((low + high) // 2)[good]
            solved |= good
        if solved.all():
            return Folded(multipliers.astype(np.int32), offset, right)
    return None


def _around(nearest: Int64s) -> Iterator[Int64s]:
    yield nearest
    for distance in range(1, TRIES + 1):
        yield nearest + distance
        yield nearest - distance


@dataclass(frozen=True, slots=True)
class FoldedPair:
    """``y = ((a ^ a_flip) * 2**8 * a_mult + (b ^ b_flip) * 2**8 * b_mult + offset) >> 32``.

    All numbers but the answer are unsigned, and sums are modulo 2**64. Operands are flipped so that
    they count from 0 upwards or, where their share is negative, downwards.
    """

    a_mult: int
    b_mult: int
    a_flip: int
    b_flip: int
    offset: int


UPWARDS, DOWNWARDS = 0x80, 0x7F
"""XOR mask that maps int8 to 0..255, rising or falling."""


def fold_pair(
    answers: NDArray[np.int8], limits: tuple[int, int], a_real: float, b_real: float
) -> FoldedPair | None:
    """A linear function of two int8 as one sum, or None where that is not exact.

    Args:
        answers: (256, 256) what is wanted, by both operands from -128 on.
        limits: to which sums are limited afterwards.
        a_real: outputs per step of the first operand.
        b_real: outputs per step of the second.

    """
    if max(abs(a_real), abs(b_real)) >= 2**RAISED - 1:
        return None
    y = answers.astype(np.int64)
    flips = [UPWARDS if real >= 0 else DOWNWARDS for real in (a_real, b_real)]
    values = np.arange(INT8_MIN, INT8_MAX + 1)
    a, b = (((values & 0xFF) ^ flip).astype(np.int64) << RAISED for flip in flips)
    scale = 2.0 ** (HIGH - RAISED)
    nearest = round(abs(a_real) * scale), round(abs(b_real) * scale)
    for da, db in product((0, 1, -1, 2, -2), repeat=2):
        a_mult, b_mult = nearest[0] + da, nearest[1] + db
        total = a[:, None] * a_mult + b * b_mult
        low = ((y << HIGH) - total)[y > limits[0]].max(initial=-(2**62))
        high = (((y + 1) << HIGH) - total)[y < limits[1]].min(initial=2**62)
        if low < high and min(a_mult, b_mult) >= 0:
            offset = (int(low) + int(high)) // 2 % 2**64
            return FoldedPair(a_mult, b_mult, flips[0], flips[1], offset)
    return None
