"""A histogram of a stream of values, in fixed memory; it does not depend on the batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 4096
SMALLEST_EXPONENT = -140
"""Bins are at least ``2**-140`` wide: below it float32 has hardly a value."""
MAX_BITS = 40
"""Most bits of a bin's number, so that equal values do not narrow the bins for ever."""


class Histogram:
    """Counts in at most ``BINS`` bins, edge ``k`` at ``k * width``; the width is a power of two.

    Where values fall outside, the width doubles and neighbouring bins merge, which is exact: the
    counts depend on the values alone, not on their order. Zeros are counted apart, since a
    quantised tensor always represents zero exactly.

    Attributes:
        low: least value seen, zero included.
        high: greatest value seen, zero included.
        zeros: number of values that were exactly zero.
        first: number of the first bin: its lower edge is ``first * width``.
        counts: (BINS,) values per bin.
        exponent: ``width == 2.0 ** exponent``.

    """

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf
        self._least, self._most = np.inf, -np.inf
        self.zeros = 0
        self.first = 0
        self.exponent = SMALLEST_EXPONENT
        self.counts: NDArray[np.int64] = np.zeros(BINS, np.int64)

    @property
    def width(self) -> float:
        """Width of a bin."""
        return float(2.0**self.exponent)

    @property
    def centres(self) -> NDArray[np.float64]:
        """(BINS,) the middle of each bin."""
        return np.asarray((self.first + np.arange(BINS) + 0.5) * self.width, np.float64)

    def add(self, x: NDArray[Any]) -> None:
        """Count the values of an array of any shape."""
        values = np.asarray(x, np.float64).reshape(-1)
        self.low = min(self.low, float(values.min()))
        self.high = max(self.high, float(values.max()))
        nonzero = values[values != 0]
        self.zeros += values.size - nonzero.size
        if nonzero.size:
            self._least = min(self._least, float(nonzero.min()))
            self._most = max(self._most, float(nonzero.max()))
            self._cover()
            bins = np.floor(nonzero / self.width).astype(np.int64) - self.first
            self.counts += np.bincount(bins, minlength=BINS)

    def merge(self, other: Histogram) -> None:
        """Count what another one has counted, too: as if it had all been shown to this one."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.zeros += other.zeros
        if not other.counts.any():
            return
        self._least = min(self._least, other._least)
        self._most = max(self._most, other._most)
        self._cover()
        numbers = (other.first + np.flatnonzero(other.counts)) >> (self.exponent - other.exponent)
        np.add.at(self.counts, numbers - self.first, other.counts[other.counts > 0])

    def _cover(self) -> None:
        """Widen and shift the bins so that every value but zero has one."""
        exponent, least, most = self.exponent, self._least, self._most
        largest = max(-least, most)
        while np.floor(most / 2.0**exponent) - np.floor(
            least / 2.0**exponent
        ) >= BINS or largest >= 2.0 ** (exponent + MAX_BITS):
            exponent += 1
        numbers = (self.first + np.flatnonzero(self.counts)) >> (exponent - self.exponent)
        nonzero = self.counts[self.counts > 0]
        self.exponent = exponent
        self.first = int(np.floor(least / self.width))
        self.counts = np.zeros(BINS, np.int64)
        np.add.at(self.counts, numbers - self.first, nonzero)
