"""Which ops of a model run row by row, and where everything lies then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tinyrt.ir import Graph
from tinyrt.memory.arena import MemoryOptions
from tinyrt.memory.extents import extents_of
from tinyrt.memory.lifetimes import Buffer, buffers, scratch_bytes, scratch_name
from tinyrt.memory.overlap import leads
from tinyrt.memory.packing import Packing
from tinyrt.memory.segments import Segment, build, row_ops
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.rows import RowOp

QUICK_TRIES = 20
"""Orders in which each candidate's buffers are placed."""

FINAL_TRIES = 600
"""Orders in which the buffers of the best candidates are placed."""

FINALISTS = 3
"""Candidates that are placed in so many orders."""

CALL_WORK = 200
"""What calling a kernel for one more row costs, in bytes that could be moved instead."""

STATE_NAME = "state"
"""The buffer for where a segment stands between two rows that are pushed."""

COUNTER_BYTES = 4
"""One counter of the state, and the position in the schedule."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """A model with segments, placed.

    Attributes:
        segments: in order.
        offsets: buffer -> byte offset.
        arena_bytes: size of the arena.
        lower_bound: bytes that no placement of these buffers can do without.
        buffers: what was placed; those of a segment are alive at all of its nodes.

    """

    segments: tuple[Segment, ...]
    offsets: dict[str, int]
    arena_bytes: int
    lower_bound: int
    buffers: tuple[Buffer, ...]


def choose_segments(
    graph: Graph,
    isa: InstructionSet,
    options: MemoryOptions,
    *,
    most: int,
    enough: int = 0,
    pushed: str | None = None,
) -> Streamed | None:
    """The segments that make the smallest arena, placed; None if no arena is smaller than ``most``.

    Args:
        graph: a verified graph.
        isa: whose kernels' scratch memory the arena must hold.
        options: ports outside the arena, and alignment.
        most: bytes that the arena must be smaller than.
        enough: bytes that are few enough: of arenas that take no more, the one is chosen that
            costs the least work.
        pushed: a model input that comes row by row, and is not held.

    """
    asked = most
    model = _Model(graph, isa, options)
    found: list[_Candidate] = []
    for first, stop in _ranges(graph, model.ops, pushed):
        if model.kept_outside(first, stop) >= most:
            continue
        segment = build(graph, model.ops, first, stop, pushed)
        if segment is None:
            continue
        candidate = _Candidate(model, (segment,))
        if candidate.bound < most:
            candidate.place(QUICK_TRIES)
            found.append(candidate)
            most = max(min(most, candidate.size), enough + 1)
    fitting = [c for c in found if c.size <= enough]
    if fitting:
        return min(fitting, key=lambda c: c.work).finished()
    # The quick placement says little about those whose bounds are close to the best.
    promising = sorted(found, key=lambda c: (c.bound, c.size))[:FINALISTS]
    for candidate in promising:
        candidate.place(FINAL_TRIES)
    best = min(found, key=lambda c: (c.size, c.work), default=None)
    return best.finished() if best is not None and best.size < asked else None


def place_segments(
    graph: Graph, isa: InstructionSet, options: MemoryOptions, segments: tuple[Segment, ...]
) -> Streamed:
    """A model with just these segments, placed."""
    return _Candidate(_Model(graph, isa, options), segments).finished()


def _ranges(
    graph: Graph, ops: Sequence[RowOp | None], pushed: str | None
) -> Iterator[tuple[int, int]]:
    """Runs of ops that work row by row; with a pushed input, those that hold all its readers."""
    if pushed is not None:
        readers = [i for i, n in enumerate(graph.nodes) if pushed in n.inputs]
        if readers:
            for stop in range(readers[-1] + 1, len(ops) + 1):
                yield readers[0], stop
        return
    for first in range(len(ops)):
        stop = first
        while stop < len(ops) and ops[stop] is not None:
            stop += 1
            yield first, stop


class _Model:
    """What all candidates share.

    Attributes:
        graph: the model.
        ops: of its nodes, see ``row_ops``.
        buffers: of the plan without segments.
        leads: outputs and inputs that may overlap then, by their names.
        alignment: what offsets are multiples of.

    """

    def __init__(self, graph: Graph, isa: InstructionSet, options: MemoryOptions) -> None:
        self.graph = graph
        self.ops = row_ops(graph)
        self.alignment = options.alignment
        self.buffers = buffers(graph, isa, options.outside)
        names = [b.names[0] for b in self.buffers]
        found = leads(graph, self.buffers, isa)
        self.leads = {(names[y], names[x]): lead for (y, x), lead in found.items()}
        extents = extents_of(graph, self.buffers, (), {})
        self._kept = Packing(extents, found, options.alignment).kept
        self._isa = isa
        self._scratch: dict[int, int] = {}

    def kept_outside(self, first: int, stop: int) -> int:
        """Bytes that nodes outside of a segment cannot do without."""
        before, behind = self._kept[1 : first + 1], self._kept[stop + 1 :]
        return int(max(before.max(initial=0), behind.max(initial=0)))

    def row_scratch(self, segments: Sequence[Segment]) -> dict[int, int]:
        """Node in a segment -> scratch bytes of its kernel for one row."""
        stages = [s for segment in segments for s in segment.stages]
        nodes = [s.node for s in stages if s.node is not None and s.fold is None]
        for node in nodes:
            if node.index not in self._scratch:
                self._scratch[node.index] = scratch_bytes(node, self._isa)
        return {n.index: self._scratch[n.index] for n in nodes}

    def whole_buffers(self, segments: Sequence[Segment]) -> list[Buffer]:
        """Tensors held whole, scratch memory of nodes outside of segments, and the state."""
        absent = {name for s in segments for name in s.rings}
        absent |= {scratch_name(i) for s in segments for i in range(s.first, s.stop)}
        found = [b for b in self.buffers if b.names[0] not in absent]
        for s in segments:
            if s.pushed is not None:
                found = [b for b in found if b.names[0] != s.pushed]
                found.append(Buffer((STATE_NAME,), state_bytes(s), s.first, s.stop - 1))
        return found


class _Candidate:
    """A choice of segments, with the problem of placing its buffers."""

    def __init__(self, model: _Model, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        self.found = model.whole_buffers(segments)
        scratch = model.row_scratch(segments)
        self._extents = extents_of(model.graph, self.found, segments, scratch)
        index = {b.names[0]: i for i, b in enumerate(self.found)}
        inside = {i for s in segments for i in range(s.first, s.stop)}
        allowed = {
            (index[y], index[x]): lead
            for (y, x), lead in model.leads.items()
            if y in index and x in index and self.found[index[y]].first not in inside
        }
        self._packing = Packing(self._extents, allowed, model.alignment)
        self.bound = self._packing.bound
        self.work = sum(_work(s) for s in segments)
        self.size = 0
        self._at: dict[int, int] = {}

    def place(self, tries: int) -> None:
        """Place everything in as few bytes as so many orders give."""
        self._at = self._packing.pack(tries)
        self.size = self._packing.size(self._at)

    def finished(self) -> Streamed:
        """The placement, once it is the one to take."""
        self.place(FINAL_TRIES)
        offsets: dict[str, int] = {}
        placed: list[Buffer] = list(self.found)
        for i, name in enumerate(self._extents.names):
            if i < len(self.found):
                offsets.update(dict.fromkeys(self.found[i].names, self._at[i]))
                continue
            offsets[name] = self._at[i]
            segment = next(s for s in self.segments if _belongs(name, s))
            nbytes = self._extents.nbytes[i]
            placed.append(Buffer((name,), nbytes, segment.first, segment.stop - 1))
        return Streamed(self.segments, offsets, self.size, self.bound, tuple(placed))


def _work(segment: Segment) -> int:
    """Bytes that are moved and calls that are made because ops run row by row, as one figure."""
    calls = sum(step.run for step in segment.steps) * CALL_WORK
    rings = [segment.ring_of(step.stage) for step in segment.steps if step.shift]
    return calls + sum(r.nbytes - r.row_bytes for r in rings if r is not None)


def _belongs(name: str, segment: Segment) -> bool:
    scratch = {scratch_name(i) for i in range(segment.first, segment.stop)}
    return name in segment.rings or name in scratch


def state_bytes(segment: Segment) -> int:
    """Bytes of the position in the schedule, and of one counter for each tensor held whole."""
    moving = sum(access.stride != 0 for access in segment.accesses())
    return COUNTER_BYTES * (1 + moving)
