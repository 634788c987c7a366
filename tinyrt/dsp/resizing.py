"""Images of another size in integers, with pixels' middles at halves.

Both methods take the sides one after the other, so that a device needs two lines of the result's
width, or a line of sums. Against the same in real numbers, areas are rounded to nearest once;
bilinear bytes are within 0.63: half a step, two weights of 11 bits, and a line of 8 bits' fraction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

METHODS = ("area", "bilinear")

PART_BITS = 11
"""Of the fraction of a place between two pixels."""
LINE_BITS = 8
"""Of the fraction of a line that is resized across."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Which pixels of a side make each of the result's.

    Bilinear: pixel ``first`` and the next one, whose weight is ``part`` of ``2**PART_BITS``. Area:
    those from ``first`` to the next result's ``first``, of which ``part`` of as many parts as there
    are results belong to the one before; there is an entry behind the last.

    Attributes:
        first: uint16 (n,).
        part: uint16 (n,).

    """

    first: NDArray[np.uint16]
    part: NDArray[np.uint16]

    @classmethod
    def of(cls, method: str, size: int, count: int) -> Steps:
        """From ``size`` pixels to ``count``."""
        if method == "area":
            ends = np.arange(count + 1, dtype=np.int64) * size
            return cls(*(a.astype(np.uint16) for a in np.divmod(ends, count)))
        # Of a result's middle, in pixels' middles: ((i + 0.5) * size / count) - 0.5.
        twice = (2 * np.arange(count, dtype=np.int64) + 1) * size - count
        raised = ((twice << PART_BITS) + count) // (2 * count)
        raised = raised.clip(0, (size - 1) << PART_BITS)
        first = np.minimum(raised >> PART_BITS, size - 2)
        return cls(first.astype(np.uint16), (raised - (first << PART_BITS)).astype(np.uint16))


def resized(method: str, x: NDArray[np.uint8], down: Steps, across: Steps) -> NDArray[np.uint8]:
    """Bytes uint8 (height, width, channels) -> uint8 (rows, columns, channels)."""
    made = _by_areas if method == "area" else _between
    return made(x.astype(np.int64), down, across).astype(np.uint8)


def _between(x: NDArray[np.int64], down: Steps, across: Steps) -> NDArray[np.int64]:
    left = PART_BITS - LINE_BITS
    lines = (_mixed(x.swapaxes(0, 1), across) + (1 << (left - 1))) >> left
    bits = PART_BITS + LINE_BITS
    return (_mixed(lines.swapaxes(0, 1), down) + (1 << (bits - 1))) >> bits


def _mixed(x: NDArray[np.int64], steps: Steps) -> NDArray[np.int64]:
    """Along the first side, times ``2**PART_BITS``."""
    first, part = steps.first.astype(np.int64), steps.part.astype(np.int64)[:, None, None]
    mixed: NDArray[np.int64] = x[first] * ((1 << PART_BITS) - part) + x[first + 1] * part
    return mixed


def _by_areas(x: NDArray[np.int64], down: Steps, across: Steps) -> NDArray[np.int64]:
    total = x.shape[0] * x.shape[1]
    sums = _summed(_summed(x, down).swapaxes(0, 1), across).swapaxes(0, 1)
    means: NDArray[np.int64] = (sums + total // 2) // total
    return means


def _summed(x: NDArray[np.int64], steps: Steps) -> NDArray[np.int64]:
    """Along the first side: sums of pixels times the parts of each that count."""
    count = len(steps.first) - 1
    ends = steps.first.astype(np.int64) * count + steps.part
    # Sums from the first pixel to each end: whole pixels, and a part of the one behind.
    before = np.concatenate([np.zeros_like(x[:1]), np.cumsum(x, axis=0)]) * count
    whole, part = np.divmod(ends, count)
    behind = np.concatenate([x, np.zeros_like(x[:1])])[whole]
    summed: NDArray[np.int64] = np.diff(before[whole] + part[:, None, None] * behind, axis=0)
    return summed
