"""Bounds that numbers of so many bits set: each holds, and the next one does not."""

import pytest

from tinyrt.backends import finishes
from tinyrt.backends.c import normalise, pools, rejoined, wide
from tinyrt.backends.c.blocks import layer, nibbles, summed
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.mve import planes, raised
from tinyrt.backends.numba import pairs
from tinyrt.backends.numba import wide as numba_wide

INT16, INT32, INT64 = ((1 << bits - 1) - 1 for bits in (16, 32, 64))
BYTE, HALF = 1 << 7, 1 << 15
"""The largest sizes of int8 and int16."""

IN_A_SUM = summed.MOST_IN_A_SUM[InstructionSet.DSP]
LEFT, RIGHT = normalise.PAIRS_SHIFTS[-1], -normalise.PAIRS_SHIFTS[0]

WIDTHS = {
    "places of outputs, below 0 for none": (planes.MAX_PLACE, lambda n: n, INT16),
    "weights that are doubled": (rejoined.MAX_WIDE, lambda n: 2 * n, INT16),
    "products with int8": (rejoined.MAX_IN_VECTORS, lambda n: n * BYTE, INT16),
    "a factor of differences": (LEFT, lambda n: 2 << n, INT16),
    "differences that go right": (RIGHT, lambda n: (0xFFFF << n) + ((1 << n) - 1 >> 1), INT32),
    "products of int16": (wide.MAX_NARROW_TAPS, lambda n: n * HALF * BYTE, INT32),
    "products of int16 by pairs": (pairs.MAX_PAIRS, lambda n: 2 * n * HALF * BYTE, INT32),
    "sums of 32 bits": (raised.MAX_ACCUMULATOR, lambda n: n - 1, INT32),
    "sums times 15 bits": (wide.MAX_ACCUMULATOR, lambda n: n << 15, 1 << 62),
    "sums that share a word": (layer.MAX_SUM, lambda n: (n << 8) - 1, INT32),
    "sums of nibbles": (nibbles.MAX_NARROW_SUM, lambda n: (n << 8) - 1, INT32),
    "sums of a fourth nibble": (nibbles.MAX_FOURTH_SUM, lambda n: 2 * n - 1, (1 << 20) - 1),
    "a shifted zero point": (finishes.MAX_RIGHT, lambda n: (1 << 62) + (257 << n + 31), INT64),
    "means by a byte": (pools.MOST_SHORT, lambda n: 2 * BYTE * n * n, (1 << 24) - 1),
}
"""What there are so many of -> the bound, what has to fit, and into what."""

BY_MORE = {
    "taps of a sum, by fours": (IN_A_SUM, 4, lambda n: n * BYTE, INT16),
    "products of int16, by twos": (numba_wide.SUMMED, 2, lambda n: n * HALF * BYTE, INT32),
    "means of columns": (pools.MOST_COLUMNS, 2, lambda n: (257 * n // 2 + 2) * n, 1 << 32),
}
"""The same with the number that is the next one."""


@pytest.mark.parametrize("name", WIDTHS)
def test_bounds_are_the_largest_that_fit(name):
    bound, size, most = WIDTHS[name]
    assert size(bound) <= most < size(bound + 1)


@pytest.mark.parametrize("name", BY_MORE)
def test_bounds_are_the_largest_multiples_that_fit(name):
    bound, step, size, most = BY_MORE[name]
    assert size(bound) <= most < size(bound + step)
