"""Which bytes of each buffer must be kept, step by step, while a model with segments runs.

A buffer need not be live as a whole. A ring holds only the rows that are still to be read, an
input dies from the front as its rows are copied, an output grows as its rows are written. So the
live part of a buffer is an interval of its bytes, which changes from step to step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import Graph
from tinyrt.memory.lifetimes import Buffer, scratch_name
from tinyrt.memory.segments import Access, RowStep, Segment

FREE = 1 << 40
"""More bytes than any arena has: the low end of a buffer's interval while none of it is live."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Times of a model: one for each node outside of segments, one for each step of a segment.

    Attributes:
        begins: the first time of each node; all nodes of a segment have the same one.
        ends: the last time of each node.
        count: number of times, with one before the first node and one after the last.

    """

    begins: tuple[int, ...]
    ends: tuple[int, ...]
    count: int

    @classmethod
    def of(cls, graph: Graph, segments: Sequence[Segment]) -> Clock:
        """The clock of a graph with these segments."""
        begins, ends, now, node = [0], [0], 1, 0
        starts = {s.first: s for s in segments}
        while node < len(graph.nodes):
            segment = starts.get(node)
            steps = 1 if segment is None else len(segment.steps)
            nodes = 1 if segment is None else segment.stop - segment.first
            begins += [now] * nodes
            ends += [now + steps - 1] * nodes
            now, node = now + steps, node + nodes
        return cls((*begins, now), (*ends, now), now + 1)

    def span(self, buffer: Buffer) -> tuple[int, int]:
        """The times [first, stop) at which a buffer is live."""
        return self.begins[buffer.first + 1], self.ends[buffer.last + 1] + 1


@dataclass(slots=True)
class Extents:
    """The live bytes of each buffer at each time.

    Attributes:
        names: of the buffers.
        nbytes: their sizes.
        low: (buffers, times) the first live byte; ``FREE`` where none is live.
        high: (buffers, times) the end of the live bytes; ``-FREE`` where none is live.

    """

    names: list[str]
    nbytes: list[int]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def live(self) -> NDArray[np.int64]:
        """Live bytes at each time."""
        live: NDArray[np.int64] = np.maximum(self.high - self.low, 0).sum(axis=0)
        return live


def extents_of(
    graph: Graph,
    buffers: Sequence[Buffer],
    segments: Sequence[Segment],
    scratch: Mapping[int, int],
) -> Extents:
    """The live bytes of each buffer of a model.

    Args:
        graph: the model.
        buffers: buffers of tensors that are held whole, and scratch memory of nodes outside of
            segments.
        segments: in order.
        scratch: node in a segment -> scratch bytes for one row.

    """
    clock = Clock.of(graph, segments)
    names, sizes = [b.names[0] for b in buffers], [b.nbytes for b in buffers]
    home = {name: i for i, b in enumerate(buffers) for name in b.names}
    rows: list[tuple[int, slice, _Places]] = []
    for segment in segments:
        begin = clock.begins[segment.first + 1]
        where = slice(begin, begin + len(segment.steps))
        own = {*segment.rings, *(scratch_name(i) for i in range(segment.first, segment.stop))}
        last = {n: buffers[i].last for n, i in home.items() if i < len(buffers)}
        behind = {n for n, step in last.items() if step >= segment.stop}
        for name, places in _places(graph, segment, scratch, behind).items():
            if name not in home and name not in own:
                continue  # it lies outside the arena
            if name not in home:
                home[name] = len(names)
                names.append(name)
                sizes.append(places.count * places.nbytes)
            rows.append((home[name], where, places))
    shape = len(names), clock.count
    extents = Extents(names, sizes, np.full(shape, FREE), np.full(shape, -FREE))
    for i, b in enumerate(buffers):
        begin, end = clock.span(b)
        extents.low[i, begin:end], extents.high[i, begin:end] = 0, b.nbytes
    for i, where, places in rows:
        extents.low[i, where], extents.high[i, where] = places.low, places.high
    return extents


class _Places:
    """Places for rows in one buffer and which are live, from a segment's end to its start.

    A place is live as long as a later step reads what it holds.
    """

    def __init__(self, count: int, nbytes: int, times: int, behind: bool) -> None:
        self.count, self.nbytes = count, nbytes
        self.all = (1 << count) - 1
        self.live = self.all if behind else 0
        self.low, self.high = [FREE] * times, [-FREE] * times
        self._since = times

    def touch(self, step: int, touched: int, live_before: int) -> None:
        """Record the places that a step touches, and the places that are live before it."""
        self.fill(step)
        during = touched | self.live | live_before
        # What an earlier call for the same step recorded is among these places.
        self.low[step] = _lowest(during) * self.nbytes
        self.high[step] = during.bit_length() * self.nbytes
        self.live = live_before

    def fill(self, step: int) -> None:
        """Record the live places of all steps back to this one."""
        if self._since > step and self.live:
            times = self._since - step
            self.low[step : self._since] = [_lowest(self.live) * self.nbytes] * times
            self.high[step : self._since] = [self.live.bit_length() * self.nbytes] * times
        self._since = step


def _lowest(places: int) -> int:
    return (places & -places).bit_length() - 1


def _places(
    graph: Graph, segment: Segment, scratch: Mapping[int, int], behind: Collection[str]
) -> dict[str, _Places]:
    """Follow the segment backwards: buffer name -> its places."""
    times = len(segment.steps)
    places: dict[str, _Places] = {}
    sums = {stage.writes.name for stage in segment.stages if stage.fold is not None}
    for access in segment.accesses():
        ring = segment.rings.get(access.name)
        if ring is not None:
            places[access.name] = _Places(ring.rows, ring.row_bytes, times, access.name in sums)
        elif access.name not in places:
            value = graph.value(access.name)
            rows = value.shape[1]
            places[access.name] = _Places(rows, value.nbytes // rows, times, access.name in behind)
    for stage in segment.stages:
        if stage.node is not None and scratch.get(stage.node.index, 0):
            name = scratch_name(stage.node.index)
            places[name] = _Places(1, scratch[stage.node.index], times, False)
    rows_left = [stage.rows for stage in segment.stages]
    for at in range(times - 1, -1, -1):
        step = segment.steps[at]
        stage = segment.stages[step.stage]
        target = places[stage.writes.name]
        ring = segment.ring_of(step.stage)
        block = ring.block if ring is not None else 1
        if step.run:
            rows_left[step.stage] -= step.count
            written = _mask(stage.writes, rows_left[step.stage], step, target)
            added_to = written if stage.fold is not None else 0
            target.touch(at, written, (target.live & ~written) | added_to)
            for read_access in stage.reads:
                if read_access is not None:
                    source = places[read_access.name]
                    read = _mask(read_access, rows_left[step.stage], step, source)
                    source.touch(at, read, source.live | read)
            if stage.node is not None and scratch_name(stage.node.index) in places:
                places[scratch_name(stage.node.index)].touch(at, 1, 0)
        if step.clear or step.fill:
            older = 0 if step.clear else (1 << (target.count - block)) - 1
            target.touch(at, target.all & ~older, target.live & older)
        if step.shift:
            target.touch(at, target.all, target.live << block & target.all)
    for entry in places.values():
        entry.fill(0)
    return places


def _mask(access: Access, row: int, step: RowStep, places: _Places) -> int:
    """The places that an access touches for a step's rows, which begin at ``row``."""
    start, stop = access.span(row, step.first, step.count)
    first, last = start // places.nbytes, (stop - 1) // places.nbytes
    return (1 << (last + 1)) - (1 << first)
