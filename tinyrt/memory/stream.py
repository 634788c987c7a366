"""Which ops of a model run row by row, and where everything lies then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tinyrt.ir import Graph
from tinyrt.memory.arena import MemoryOptions
from tinyrt.memory.extents import extents_of
from tinyrt.memory.lifetimes import Buffer, buffers, scratch_bytes, scratch_name
from tinyrt.memory.overlap import leads
from tinyrt.memory.packing import Packing
from tinyrt.memory.row_costs import Cost, added_code, added_instructions, whole_cost
from tinyrt.memory.segment_builder import build, row_ops
from tinyrt.memory.segments import Segment, Stage
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.rows import RowOp

QUICK_TRIES = 20
"""Orders in which each candidate's buffers are placed."""

FINAL_TRIES = 4000
"""Orders in which the buffers of the best candidates are placed."""

FINALISTS = 3
"""Runs of ops that are looked at closely."""

BATCHES = (2, 4, 8, 16)
"""Times that are tried as a batch."""

STATE_NAME = "state"
"""The buffer for where a segment stands between two rows that are pushed."""

NO_LIMIT = 1 << 62
"""More bytes than any program has."""

COUNTER_BYTES = 4
"""One counter of the state."""

PROGRESS_BYTES = 12
"""The position in the schedule."""


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
    costly: bool = False,
) -> Streamed | None:
    """The segments that make the smallest arena at little cost, placed.

    None if there is no arena that is smaller than ``most``.

    Args:
        graph: a verified graph.
        isa: whose kernels' scratch memory the arena must hold.
        options: ports outside the arena, and alignment.
        most: bytes that the arena must be smaller than.
        enough: bytes that are few enough: where no arena of so few is cheap, see ``row_costs``,
            one that costs more.
        pushed: a model input that comes row by row, and is not held.
        costly: whether a smaller arena is worth any cost.

    """
    model = _Model(graph, isa, options)
    found: list[_Candidate] = []
    least = most
    for first, stop in _ranges(graph, model.ops, pushed):
        if model.kept_outside(first, stop) > least:
            continue
        segment = build(graph, model.ops, first, stop, pushed)
        if segment is None:
            continue
        candidate = _Candidate(model, (segment,))
        if candidate.bound <= least:
            found.append(candidate)
        if candidate.bound < least:
            candidate.place(QUICK_TRIES)
            least = max(min(least, candidate.size), enough + 1)
    variants = [v for c in _promising(found) for v in _variants(model, c, most)]
    base = whole_cost(graph)
    best = _smallest(variants, most, base=None if costly else base)
    if best is None and pushed is not None:
        # Whoever cannot hold the input would rather spend flash than time.
        best = _smallest(variants, most, base=replace(base, code=NO_LIMIT))
        best = best or _smallest(variants, most)
    if enough and (best is None or best.size > enough):
        best = _smallest(variants, most, enough)
    return best.finished() if best is not None else None


def _promising(found: Sequence[_Candidate]) -> list[_Candidate]:
    """Runs of ops that small arenas can come from, and among those the ones with little work."""
    by_bound = sorted(found, key=lambda c: (c.bound, c.instructions))
    by_work = sorted(found, key=lambda c: c.instructions)
    return list(dict.fromkeys([*by_bound[:FINALISTS], *by_work[:FINALISTS]]))


def _variants(model: _Model, candidate: _Candidate, most: int) -> list[_Candidate]:
    """The same ops with other batches, and with rings that move earlier."""
    (segment,) = candidate.segments
    ways = [(1, True), *((n, early) for n in BATCHES for early in (True, False))]
    found = [candidate]
    # Vector kernels may ask for more scratch memory where a batch has fewer rows than others.
    alone = segment.pushed is not None and model.isa is InstructionSet.MVE
    for times, early in ways[:1] if alone else ways:
        other = build(
            *(model.graph, model.ops, segment.first, segment.stop, segment.pushed, times, early)
        )
        if other is None:
            continue
        variant = _Candidate(model, (other,))
        if variant.bound < most:
            found.append(variant)
    return found


def _smallest(
    found: Sequence[_Candidate], most: int, enough: int = 0, base: Cost | None = None
) -> _Candidate | None:
    """The candidate with the smallest arena below ``most``; the first that takes ``enough``.

    Args:
        found: in any order.
        most: bytes.
        enough: bytes.
        base: of the program to which little may be added; None where a candidate may cost anything.

    """
    best: _Candidate | None = None
    for candidate in sorted(found, key=lambda c: (c.bound, c.instructions)):
        if candidate.bound >= most:
            break
        if base is not None and not candidate.is_cheap(base):
            continue
        candidate.place(FINAL_TRIES)
        if candidate.size < most:
            best, most = candidate, candidate.size
        if candidate.size <= enough:
            break
    return best


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
        self.isa = isa
        self._scratch: dict[tuple[int, int], int] = {}

    def kept_outside(self, first: int, stop: int) -> int:
        """Bytes that nodes outside of a segment cannot do without."""
        before, behind = self._kept[1 : first + 1], self._kept[stop + 1 :]
        return int(max(before.max(initial=0), behind.max(initial=0)))

    def row_scratch(self, segments: Sequence[Segment]) -> dict[int, int]:
        """Node in a segment -> scratch bytes of its kernel for one row."""
        stages = [s for segment in segments for s in segment.stages]
        nodes = {s.batch.index: s for s in stages if s.batch is not None and s.fold is None}
        return {i: self._scratch_of(s) for i, s in nodes.items()}

    def _scratch_of(self, stage: Stage) -> int:
        assert stage.batch is not None
        key = stage.batch.index, stage.block
        if key not in self._scratch:
            self._scratch[key] = scratch_bytes(stage.batch, self.isa)
        return self._scratch[key]

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
        self._graph = model.graph
        self.size = 0
        self._at: dict[int, int] = {}
        self._tries = 0

    @cached_property
    def instructions(self) -> int:
        """What the segments add to the program."""
        return added_instructions(self._graph, self.segments)

    def is_cheap(self, base: Cost) -> bool:
        """Whether that much may be added to ``base``; the code is looked at last: it takes long."""
        added = Cost(self.instructions, 0)
        if added.is_cheap(base):
            added = replace(added, code=added_code(self._graph, self.segments))
        return added.is_cheap(base)

    def place(self, tries: int) -> None:
        """Place everything in as few bytes as so many orders give."""
        if self._tries >= tries:
            return
        self._tries = tries
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


def _belongs(name: str, segment: Segment) -> bool:
    scratch = {scratch_name(i) for i in range(segment.first, segment.stop)}
    return name in segment.rings or name in scratch


def state_bytes(segment: Segment) -> int:
    """Bytes of the position in the schedule, and of one counter for each tensor held whole."""
    moving = sum(access.held for access in segment.accesses())
    return PROGRESS_BYTES + COUNTER_BYTES * moving
