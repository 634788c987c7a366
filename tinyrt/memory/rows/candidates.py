"""One choice of segments: its live ranges, its cost, and the placement of its buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from tinyrt.errors import BudgetError
from tinyrt.ir import BoundNode, Graph
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.lifetimes import Buffer, buffers, scratch_name
from tinyrt.memory.placing.overlap import leads
from tinyrt.memory.plan import MemoryOptions, Moment
from tinyrt.memory.regions import NO_LIMIT, traffic_of
from tinyrt.memory.rows.build import MAX_STAGES, build, row_ops
from tinyrt.memory.rows.costs import Cost, added_code, added_instructions
from tinyrt.memory.rows.divide import Division, divide
from tinyrt.memory.rows.extents import Clock, extents_of
from tinyrt.memory.rows.packing import Packing
from tinyrt.memory.segments import Segment
from tinyrt.text import own_name

STATE_NAME = own_name("state")
"""The buffer that holds a segment's position between two pushed rows."""

COUNTER_BYTES = 4
"""One counter of the state."""

PROGRESS_BYTES = 12
"""The position in the schedule."""


MAX_CELLS = 2_000_000
"""Limit of buffers times steps of one candidate: 32 MB of extents. Larger segments are not
considered."""

KEPT_CELLS = 20_000
"""Cells up to which a candidate keeps its extents; larger ones are computed again when needed."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How far the search for segments goes.

    Attributes:
        tries: orders in which the buffers of the best candidates are placed.
        first_tries: orders in which the buffers of every candidate are placed.
        finalists: runs of ops that the search examines closely.
        several: whether there may be more than one segment.
        steps: total steps of all segments that the search examines. A bound on work, not on time,
            so that every machine finds the same segments.
        checked: whether the plan must pass the independent check, as a plan for use must.

    """

    tries: int
    first_tries: int
    finalists: int
    several: bool
    steps: int
    checked: bool


THOROUGH = Effort(4000, 20, 3, several=True, steps=400_000, checked=True)
"""For a program."""

QUICK = Effort(200, 2, 1, several=False, steps=20_000, checked=False)
"""For an estimate: an upper bound of the arena's size."""


@dataclass(frozen=True, slots=True)
class PlacedSegments:
    """A model with segments, placed.

    Attributes:
        segments: in order.
        offsets: buffer -> byte offset.
        region_of: buffer -> its region's place in the order of cost.
        sizes: bytes of each region.
        lower_bound: bytes that no placement of these buffers can do without.
        buffers: the placed buffers; those of a segment are live at all of its nodes.
        peak: the moment with the most live bytes.

    """

    segments: tuple[Segment, ...]
    offsets: dict[str, int]
    region_of: dict[str, int]
    sizes: tuple[int, ...]
    lower_bound: int
    buffers: tuple[Buffer, ...]
    peak: Moment


class Model:
    """What all candidates share.

    Attributes:
        graph: the model.
        ops: row-by-row forms of its nodes, see ``row_ops``.
        buffers: the buffers of the plan without segments.
        leads: outputs and inputs that may overlap in that plan, by their names.
        effort: how far the search goes.
        regions: the memories, the cheapest to use first.
        alignment: what offsets are multiples of.

    """

    def __init__(
        self,
        graph: Graph,
        kernels: Kernels,
        options: MemoryOptions,
        effort: Effort = THOROUGH,
    ) -> None:
        self.graph, self.effort = graph, effort
        self.ops = row_ops(graph)
        # A state and its next value share their bytes: an update would change what later rows read.
        states = {name for pair in graph.states for name in pair}
        for i, node in enumerate(graph.nodes):
            if states.intersection((*node.inputs, *node.outputs)):
                self.ops[i] = None
        self.regions = options.regions
        self.alignment = options.alignment
        self._steps_left = effort.steps
        self._rows = [0, *accumulate(map(_rows_of, graph.bound()))]
        self.buffers = buffers(graph, kernels, options.outside)
        if len(self.buffers) * len(graph.nodes) > MAX_CELLS:
            raise BudgetError(
                f"{len(graph.nodes):,} ops are too many to find out which of them can run by rows",
                expected=f"fewer, with {len(self.buffers):,} tensors at most about "
                f"{MAX_CELLS // len(self.buffers):,}",
                hint="leave out --by-rows and --input-rows",
            )
        names = [b.names[0] for b in self.buffers]
        by_index = leads(graph, self.buffers, kernels)
        self.leads = {(names[y], names[x]): lead for (y, x), lead in by_index.items()}
        extents = extents_of(graph, self.buffers, (), {})
        self._live = Packing(extents, by_index, options.alignment).live
        self.kernels = kernels
        self._scratch: dict[tuple[int, int], int] = {}
        self._candidates: dict[tuple[int, int, str | None], Candidate | None] = {}

    def candidate(self, first: int, stop: int, pushed: str | None) -> Candidate | None:
        """The model with these nodes as its only segment; None where they cannot form one."""
        key = first, stop, pushed
        if key not in self._candidates:
            segment = self.build(*key)
            self._candidates[key] = None if segment is None else Candidate(self, (segment,))
        return self._candidates[key]

    def build(
        self, first: int, stop: int, pushed: str | None, times: int = 1, early: bool = False
    ) -> Segment | None:
        """A segment, see ``build.build``; also None once the search has used up its work."""
        steps = self._rows[stop] - self._rows[first]
        cells = steps * (len(self.buffers) + stop - first)
        if stop - first > MAX_STAGES or cells > MAX_CELLS or steps > self._steps_left:
            return None
        self._steps_left -= steps
        return build(self.graph, self.ops, first, stop, pushed, times, early)

    def live_outside(self, first: int, stop: int) -> int:
        """The least bytes that nodes outside of a segment need."""
        before, behind = self._live[1 : first + 1], self._live[stop + 1 :]
        return int(max(before.max(initial=0), behind.max(initial=0)))

    def live_alone(self, pushed: str | None) -> list[int]:
        """For each node, the live bytes while it runs on whole tensors.

        Readers of a pushed input cannot run so: the input is never there as a whole.
        """
        live = [int(n) for n in self._live[1:-1]]
        for i, node in enumerate(self.graph.nodes):
            if pushed is not None and pushed in node.inputs:
                live[i] = NO_LIMIT
        return live

    def live_across(self, pushed: str | None) -> list[int]:
        """For each node, and for the end: live bytes of tensors just before it.

        A segment can begin or end there only if the arena has room for them.
        """
        others = [b for b in self.buffers if b.names[0] != pushed]
        boundaries = range(len(self.graph.nodes) + 1)
        return [sum(b.nbytes for b in others if b.first < i <= b.last) for i in boundaries]

    def row_scratch(self, segments: Sequence[Segment]) -> dict[int, int]:
        """Node in a segment -> scratch bytes of its kernel, for the batch that takes the most."""
        return {
            stage.node.index: max(self._scratch_of(stage.node.index, n) for n in counts)
            for segment in segments
            for stage, counts in zip(segment.stages, segment.counts(), strict=True)
            if stage.node is not None and stage.fold is None
        }

    def _scratch_of(self, index: int, rows: int) -> int:
        key = index, rows
        if key not in self._scratch:
            op = self.ops[index]
            assert op is not None
            self._scratch[key] = self.kernels.scratch_bytes(op.on_rows(rows))
        return self._scratch[key]

    def whole_buffers(self, segments: Sequence[Segment]) -> list[Buffer]:
        """Tensors held whole, scratch memory of nodes outside of segments, and the state."""
        absent = {name for s in segments for name in s.rings}
        absent |= {scratch_name(i) for s in segments for i in range(s.first, s.stop)}
        buffers = [b for b in self.buffers if b.names[0] not in absent]
        for s in segments:
            if s.pushed is not None:
                buffers = [b for b in buffers if b.names[0] != s.pushed]
                # To the very end: a row too many is refused by what the state says.
                end = len(self.graph.nodes)
                buffers.append(Buffer((STATE_NAME,), state_bytes(s), s.first, end))
        return buffers


class Candidate:
    """A choice of segments, with the problem of placing its buffers."""

    def __init__(self, model: Model, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        self.buffers = model.whole_buffers(segments)
        scratch = model.row_scratch(segments)
        self._model, self._graph, self._scratch = model, model.graph, scratch
        self.size = 0
        self._at: dict[int, int] = {}
        self._tries = 0
        self._small_packing: Packing | None = None
        packing = self._packing()
        if packing.extents.low.size <= KEPT_CELLS:
            self._small_packing = packing
        self.bound = packing.bound
        begin = Clock.of(self._graph, segments).begins[segments[0].first + 1]
        self.peak = int(packing.live[begin : begin + len(segments[0].steps)].max())
        """Live bytes at the fullest step of the first segment."""

    def _packing(self) -> Packing:
        """The problem of placing the buffers."""
        if self._small_packing is not None:
            return self._small_packing
        model = self._model
        extents = extents_of(model.graph, self.buffers, self.segments, self._scratch)
        index = {b.names[0]: i for i, b in enumerate(self.buffers)}
        inside = {i for s in self.segments for i in range(s.first, s.stop)}
        allowed = {
            (index[y], index[x]): lead
            for (y, x), lead in model.leads.items()
            if y in index and x in index and self.buffers[index[y]].first not in inside
        }
        return Packing(extents, allowed, model.alignment)

    @cached_property
    def instructions(self) -> int:
        """Instructions that the segments add to the program."""
        return added_instructions(self._graph, self.segments, self._model.kernels)

    @cached_property
    def code(self) -> int:
        """Bytes of code that the segments add to the program."""
        return added_code(self._graph, self.segments, self._model.kernels)

    def is_cheap(self, base: Cost) -> bool:
        """Whether ``base`` may grow by this cost. Code comes last: it takes long to estimate."""
        added = Cost(self.instructions, 0)
        return added.is_cheap(base) and replace(added, code=self.code).is_cheap(base)

    def place(self, tries: int | None = None) -> None:
        """Place all buffers, trying this many orders; by default as many as the effort allows."""
        tries = self._model.effort.tries if tries is None else tries
        if self._tries >= tries:
            return
        self._tries = tries
        packing = self._packing()
        self._at = packing.pack(tries)
        self.size = packing.size(self._at)

    def finished(self) -> PlacedSegments:
        """The final placement, once this candidate is chosen.

        Raises:
            BudgetError: the buffers do not fit into the regions.

        """
        packing = self._packing()
        placed = list(self.buffers)
        sizes = zip(packing.extents.names, packing.extents.nbytes, strict=True)
        for name, nbytes in list(sizes)[len(placed) :]:
            segment = next(s for s in self.segments if _belongs(name, s))
            placed.append(Buffer((name,), nbytes, segment.first, segment.stop - 1))
        division = self._divided(placed, packing)
        where = [(i, name) for i, b in enumerate(placed) for name in b.names]
        return PlacedSegments(
            self.segments,
            {name: division.offsets[i] for i, name in where},
            {name: division.region[i] for i, name in where if division.region[i]},
            tuple(division.sizes),
            self.bound,
            tuple(placed),
            self._fullest(packing),
        )

    def _fullest(self, packing: Packing) -> Moment:
        """The moment with the most live bytes."""
        extents, time = packing.extents, int(packing.live.argmax())
        sizes = np.maximum(extents.high[:, time] - extents.low[:, time], 0).tolist()
        begins = Clock.of(self._graph, self.segments).begins
        node = max((i for i in range(len(self._graph.nodes)) if begins[i + 1] <= time), default=0)
        for segment in self.segments:
            if segment.first <= node < segment.stop:
                stage = segment.stages[segment.steps[time - begins[segment.first + 1]].stage]
                node = segment.first if stage.node is None else stage.node.index
        return Moment.of(node, dict(zip(extents.names, sizes, strict=True)))

    def _divided(self, placed: Sequence[Buffer], packing: Packing) -> Division:
        """Offsets in each region; buffers that a segment's steps move lie in one region."""
        regions = self._model.regions
        if len(regions) == 1 and regions[0].nbytes is None:
            self.place()
            return Division(
                [0] * len(placed), [self._at[i] for i in range(len(placed))], [self.size]
            )
        moved = [{*s.rings, *([STATE_NAME] if s.pushed is not None else [])} for s in self.segments]
        together = [[i for i, b in enumerate(placed) if b.names[0] in names] for names in moved]
        traffic = traffic_of(self._graph, placed)
        return divide(packing, together, regions, traffic, self._model.effort.tries)


def _rows_of(node: BoundNode) -> int:
    """The least number of steps that a node takes in a segment."""
    images = [
        v.shape[1] for v in (*node.inputs, node.output) if v is not None and len(v.shape) == 4
    ]
    return max(images, default=1)


def _belongs(name: str, segment: Segment) -> bool:
    scratch = {scratch_name(i) for i in range(segment.first, segment.stop)}
    return name in segment.rings or name in scratch


def state_bytes(segment: Segment) -> int:
    """Bytes of the position in the schedule, and of one counter for each tensor held whole."""
    moving = sum(access.is_whole and access.step > 0 for access in segment.accesses())
    return PROGRESS_BYTES + COUNTER_BYTES * moving
