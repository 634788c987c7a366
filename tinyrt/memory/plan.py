"""The arena plan as data: where every activation lies, and the user's options for memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tinyrt.errors import BudgetError
from tinyrt.ir import Graph
from tinyrt.memory.lifetimes import Buffer
from tinyrt.memory.placing.problem import ALIGNMENT
from tinyrt.memory.regions import ARENA, Region
from tinyrt.memory.segments import Segment
from tinyrt.text import shown_name


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """The user's options for memory.

    Attributes:
        regions: the memories, the cheapest to use first; one of any size by default.
        outside: values with memory outside the arena, besides the states.
        alignment: what offsets are multiples of, in bytes; a word at least.

    """

    regions: tuple[Region, ...] = (Region(ARENA),)
    outside: frozenset[str] = frozenset()
    alignment: int = ALIGNMENT

    def __post_init__(self) -> None:
        names = [region.name for region in self.regions]
        if not names or len(set(names)) != len(names):
            raise BudgetError(
                f"memory regions are named {', '.join(names) or 'not at all'}",
                expected="at least one, each with a name of its own",
            )
        if self.alignment < ALIGNMENT or self.alignment & (self.alignment - 1):
            raise BudgetError(
                f"tensors cannot be aligned to {self.alignment}",
                expected=f"a power of two of at least {ALIGNMENT}",
            )


MAX_NAMED = 10
"""Tensors that an error names."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time at which memory is needed.

    Attributes:
        node: the op that runs.
        sizes: name as shown to the user, and live bytes, largest first. Of a ring, only rows still
            to be read count.

    """

    node: int
    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, node: int, sizes: Mapping[str, int]) -> Moment:
        """The moment at which node ``node`` runs and these bytes of each buffer are live."""
        pairs = ((shown_name(name), nbytes) for name, nbytes in sizes.items() if nbytes)
        return cls(node, tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))))


@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """Where every activation lies.

    Attributes:
        offsets: value name (or scratch name) -> byte offset in its region.
        arena_bytes: size of the arena; of all regions together.
        lower_bound: best known lower bound of the bytes of any placement of these buffers.
        buffers: the placed buffers.
        optimal: whether it is proven that no placement of these buffers takes less.
        regions: name and size of each region, in the order of their cost.
        region_of: value or scratch name -> its region's place in that order, where not the first.
        views: value -> the value whose bytes it shares, and the first of these bytes.
        idle: nodes without work: their output's bytes are in place already.
        outside: values that have no place in the arena.
        segments: ops that run row by row, in order; their buffers are alive at all of their nodes.
        peak: with segments, the moment with the most live bytes.

    """

    offsets: dict[str, int]
    arena_bytes: int
    lower_bound: int
    buffers: tuple[Buffer, ...]
    optimal: bool = False
    regions: tuple[Region, ...] = (Region(ARENA),)
    region_of: dict[str, int] = field(default_factory=dict)
    views: dict[str, tuple[str, int]] = field(default_factory=dict)
    idle: frozenset[int] = frozenset()
    outside: frozenset[str] = frozenset()
    segments: tuple[Segment, ...] = ()
    peak: Moment | None = None

    def region_bytes(self, region: int) -> int:
        """Bytes used of a region."""
        return self.regions[region].nbytes or 0

    def start_of(self, name: str) -> int:
        """Byte offset of a value if all regions are laid one behind the other."""
        region = self.region_of.get(name, 0)
        return sum(self.region_bytes(r) for r in range(region)) + self.offsets[name]

    def linear_offsets(self) -> dict[str, int]:
        """Byte offset of every value if all regions are laid one behind the other."""
        return {name: self.start_of(name) for name in self.offsets}

    def alive_bytes(self, steps: int) -> list[int]:
        """Bytes in use while each of ``steps`` nodes runs; shared bytes count once."""
        starts = [self.start_of(b.names[0]) for b in self.buffers]
        spans = [(start, start + b.nbytes) for start, b in zip(starts, self.buffers, strict=True)]
        edges = np.unique(np.array(spans, np.int64))
        pieces = np.diff(edges)
        changes: dict[int, list[tuple[slice, int]]] = {}
        for b, span in zip(self.buffers, spans, strict=True):
            where = slice(*np.searchsorted(edges, span))
            # Inputs are live before the first step, even if nothing reads them.
            changes.setdefault(max(b.first, 0), []).append((where, 1))
            changes.setdefault(max(b.last, 0) + 1, []).append((where, -1))
        holders, total, sums = np.zeros(len(pieces), np.int64), 0, []
        for step in range(steps):
            for where, change in changes.get(step, ()):
                total -= int(pieces[where] @ (holders[where] > 0))
                holders[where] += change
                total += int(pieces[where] @ (holders[where] > 0))
            sums.append(total)
        return sums

    def fullest(self) -> Moment:
        """The step at which most of the arena is in use: its buffers prevent a smaller arena."""
        if self.peak is not None:
            return self.peak
        alive = self.alive_bytes(1 + max([0, *(b.first for b in self.buffers)]))
        step = max(range(len(alive)), key=lambda step: (alive[step], -step))
        buffers = [b for b in self.buffers if b.first <= step <= b.last]
        return Moment.of(step, {b.names[0]: b.nbytes for b in buffers})


def require_budget(graph: Graph, plan: ArenaPlan, max_arena: int) -> None:
    """Raise unless the arena fits.

    Raises:
        BudgetError: it does not fit; the error names the op and the tensors in the way.

    """
    if plan.arena_bytes <= max_arena:
        return
    moment = plan.fullest()
    named = [f"'{name}' {nbytes:,}" for name, nbytes in moment.sizes[:MAX_NAMED]]
    rest = sum(nbytes for _, nbytes in moment.sizes[MAX_NAMED:])
    named += [f"and others {rest:,}"] * (rest > 0)
    tensors = ", ".join(named)
    raise BudgetError(
        f"the arena needs {plan.arena_bytes:,} bytes, {plan.arena_bytes - max_arena:,} too many",
        op=_what_runs(graph, plan, moment.node),
        tensor=f"alive at this op, in bytes: {tensors}",
        expected=f"at most {max_arena:,}",
        hint=f"{_way_out(graph, plan)}, or lower this op's resolution or channels",
    )


def _what_runs(graph: Graph, plan: ArenaPlan, step: int) -> str | None:
    segment = next((s for s in plan.segments if s.first <= step < s.stop), None)
    if not graph.nodes:
        return None
    op = graph.bind(step).describe()
    if segment is None:
        return op
    return f"{op}, row by row with #{segment.first} to #{segment.stop - 1}"


def _way_out(graph: Graph, plan: ArenaPlan) -> str:
    """The options that may make the arena smaller and are not in use yet."""
    in_arena = [name for name in graph.fed if name in plan.offsets]
    ways = ["run ops row by row (--by-rows)"] * (not plan.segments)
    ways += ["take the input row by row (--input-rows)"] * (len(graph.fed) == 1 and bool(in_arena))
    ways += ["keep inputs in memory of your own (--input-outside)"] * bool(in_arena)
    return ", ".join(ways) or "split it from the branch that waits"
