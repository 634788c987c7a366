"""Offsets for buffers whose live parts change over time."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from tinyrt.memory.placing.overlap import Interval, Leads
from tinyrt.memory.rows.extents import FREE, Extents

TRIES = 300
"""Orders that are tried after the fixed ones, each a small change of the best."""

MAX_PLACED = 100_000
"""Limit of buffers placed over all these orders, so that large models do not take minutes."""

PATIENCE = 1_300
"""Orders without a smaller arena after which the search ends."""

Gaps = list[dict[int, list[Interval]]]
"""For each buffer and each other buffer live at the same time: open intervals of distances between
their offsets that are too small."""


def gaps_of(extents: Extents, leads: Leads) -> Gaps:
    """Distances at which live parts would overlap at some time.

    Args:
        extents: the live bytes of each buffer.
        leads: outputs and inputs, by their numbers, that may overlap, see ``overlap``.

    """
    count = len(extents.names)
    gaps: Gaps = [{} for _ in range(count)]
    for i in range(count):
        times = np.flatnonzero(extents.low[i] < FREE)
        if not times.size:
            continue
        # Most buffers are live for a short while: compare these times only.
        alive = slice(times[0], times[-1] + 1)
        # The farthest that i's live end lies past j's live begin, each counted from its own start.
        reach = (extents.high[i, alive] - extents.low[:, alive]).max(axis=1)
        back = (extents.high[:, alive] - extents.low[i, alive]).max(axis=1)
        for j in np.flatnonzero(reach > -FREE // 2).tolist():
            if j != i:
                gaps[i][j] = [(-int(reach[j]), int(back[j]))]
    for (y, x), lead in leads.items():
        close = lead.forbidden_output(extents.nbytes[y], extents.nbytes[x])
        gaps[y][x], gaps[x][y] = close, [(-high, -low) for low, high in close]
    return gaps


class Packing:
    """The problem of placing buffers in few bytes.

    Attributes:
        extents: the live bytes of each buffer.
        live: live bytes at each time, less the most that outputs and inputs can share.
        bound: lower bound of the bytes of any placement.

    """

    def __init__(self, extents: Extents, leads: Leads, alignment: int) -> None:
        self.extents = extents
        self._leads = leads
        self._alignment = alignment
        self.live = extents.live()
        for (y, x), lead in leads.items():
            y_bytes, x_bytes = extents.nbytes[y], extents.nbytes[x]
            shared = y_bytes + x_bytes - max(y_bytes, min(lead.least, y_bytes) + x_bytes)
            self.live[int((extents.low[y] < FREE).argmax())] -= shared
        self.bound = self.align(int(self.live.max()))

    def part(self, chosen: Sequence[int]) -> Packing:
        """The problem of placing these buffers alone, numbered anew in this order."""
        index = {i: position for position, i in enumerate(chosen)}
        leads = {
            (index[y], index[x]): lead
            for (y, x), lead in self._leads.items()
            if y in index and x in index
        }
        e = self.extents
        names, nbytes = [e.names[i] for i in chosen], [e.nbytes[i] for i in chosen]
        part = Extents(names, nbytes, e.low[list(chosen)], e.high[list(chosen)])
        return Packing(part, leads, self._alignment)

    def align(self, nbytes: int) -> int:
        """The next multiple of the alignment."""
        return -(-nbytes // self._alignment) * self._alignment

    @cached_property
    def gaps(self) -> Gaps:
        """Distances between buffers that are too small."""
        return gaps_of(self.extents, self._leads)

    def lowest(self, i: int, at: dict[int, int]) -> int:
        """The lowest offset at which buffer ``i`` fits beside those placed."""
        gaps = self.gaps[i].items()
        spans = [(at[j] + low, at[j] + high) for j, gap in gaps if j in at for low, high in gap]
        spans.sort()
        offset = 0
        for low, high in spans:
            if low >= offset:
                break
            if high > offset:
                offset = self.align(high)
        return offset

    def in_order(
        self, order: Sequence[int], most: int | None = None, before: Mapping[int, int] | None = None
    ) -> dict[int, int] | None:
        """Place each buffer in turn at the lowest free offset.

        Args:
            order: the buffers in the order of placing.
            most: limit in bytes: the result is None once a buffer ends beyond it.
            before: offsets of the first buffers of the order, which are placed already.

        """
        at = dict(before or {})
        for i in order[len(at) :]:
            at[i] = self.lowest(i, at)
            if most is not None and at[i] + self.extents.nbytes[i] > most:
                return None
        return at

    def size(self, at: dict[int, int]) -> int:
        """Bytes from the start to the end of the last buffer, aligned."""
        return self.align(max((at[i] + self.extents.nbytes[i] for i in at), default=0))

    def orders(self) -> list[list[int]]:
        """Orders in which buffers that are hard to place come first."""
        nbytes = self.extents.nbytes
        live = self.extents.low < FREE
        first, life = live.argmax(axis=1), live.sum(axis=1)
        weight = np.maximum(self.extents.high - self.extents.low, 0).sum(axis=1)
        keys: list[NDArray[np.int64] | list[int]] = [
            [-n for n in nbytes],
            -weight,
            -life,
            first,
            -first,
        ]
        indices = range(len(nbytes))
        return [sorted(indices, key=lambda i: (key[i], -nbytes[i], i)) for key in keys]

    def pack(self, tries: int = TRIES) -> dict[int, int]:
        """Offsets of all buffers in as few bytes as found; deterministic."""
        best: dict[int, int] = {}
        best_order: list[int] = []
        for order in self.orders():
            at = self.in_order(order)
            if at is not None and (not best or self.size(at) < self.size(best)):
                best, best_order = at, order
        shuffle = random.Random(0)
        most, since = self.size(best), 0
        for tried in range(min(tries, MAX_PLACED // max(len(best), 1))):
            if most <= self.bound or len(best_order) < 2 or tried - since > PATIENCE:
                break
            order = list(best_order)
            for _ in range(1 + shuffle.randrange(3)):
                moved = order.pop(shuffle.randrange(len(order)))
                order.insert(shuffle.randrange(len(order) + 1), moved)
            same = takewhile(lambda pair: pair[0] == pair[1], zip(order, best_order, strict=True))
            at = self.in_order(order, most, {i: best[i] for i, _ in same})
            if at is None:
                continue
            if self.size(at) < most:
                most, since = self.size(at), tried
            best, best_order = at, order
        return best
