"""Which elements of an input an output is computed from, axis by axis.

An op that moves elements reads the element at a sum: each axis adds the offset of its index. This
form takes little memory. It also gives quickly the first and the last element from which a range
of outputs is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ends = tuple[int, int]
"""The first and the last element of a range."""


@dataclass(frozen=True, slots=True)
class Steps:
    """An axis with a constant distance between elements of neighbouring indices.

    Attributes:
        count: number of indices.
        step: elements from one index to the next.
        first: the first index that has an element, namely the axis's first element.
        stop: end of the indices that have an element; ``count`` by default.

    """

    count: int
    step: int
    first: int = 0
    stop: int | None = None

    def ends(self, start: int, stop: int) -> Ends | None:
        """The first and last element of indices [start, stop); None if they have none."""
        start = max(start, self.first) - self.first
        stop = min(stop, self.count if self.stop is None else self.stop) - self.first
        if start >= stop:
            return None
        here, there = start * self.step, (stop - 1) * self.step
        return (here, there) if here <= there else (there, here)


@dataclass(frozen=True, slots=True)
class Table:
    """An axis that looks up the elements of each index in tables.

    Attributes:
        low: the first element of each index.
        high: the last element of each index.

    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def of(cls, *places: NDArray[np.int64]) -> Table:
        """An axis whose indices each read one element from each of these tables."""
        every = np.stack(places)
        return cls(every.min(axis=0), every.max(axis=0))

    @classmethod
    def between(cls, low: int, high: int) -> Table:
        """An axis of one index, which reads all elements from ``low`` to ``high``."""
        return cls(np.array([low]), np.array([high]))

    @property
    def count(self) -> int:
        """Number of indices."""
        return len(self.low)

    def ends(self, start: int, stop: int) -> Ends | None:
        """As ``Steps.ends``."""
        if start >= min(stop, self.count):
            return None
        return int(self.low[start:stop].min()), int(self.high[start:stop].max())


Places = Sequence[Steps | Table]
"""For each axis of the output, the last one fastest: the elements of one input per index."""


def ends_of(places: Places, start: int, stop: int) -> Ends | None:
    """The first and the last element that outputs [start, stop) are computed from."""
    if start >= stop:
        return None
    if not places:
        return 0, 0
    axis, inner = places[0], places[1:]
    size = math.prod(other.count for other in inner)
    (first, begin), (last, end) = divmod(start, size), divmod(stop, size)
    if first == last:
        blocks = [(axis.ends(first, first + 1), begin, end)]
    else:
        # One index cut off in front, then whole indices, then one cut off at the end.
        whole = first + (begin > 0)
        blocks = [
            (axis.ends(first, whole), begin, size),
            (axis.ends(whole, last), 0, size),
            (axis.ends(last, last + 1), 0, end),
        ]
    spans = []
    for outer, begin, end in blocks:
        ends = None if outer is None else ends_of(inner, begin, end)
        if outer is not None and ends is not None:
            spans.append((outer[0] + ends[0], outer[1] + ends[1]))
    return (min(e[0] for e in spans), max(e[1] for e in spans)) if spans else None
