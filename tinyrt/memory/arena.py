"""Offsets of all buffers in one arena: the best of several greedy orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinyrt.ir import Graph, Stage
from tinyrt.memory.check import check_plan
from tinyrt.memory.lifetimes import Buffer, buffers, scratch_name
from tinyrt.ops import verify
from tinyrt.ops.spec import InstructionSet

ALIGNMENT = 4
"""Bytes that offsets are multiples of: a word, so that kernels may load words."""

# Large and long-lived buffers are hard to place late; which matters more depends on the graph.
_ORDERS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda b: (-b.nbytes, b.first),
    lambda b: (-b.nbytes * (b.last - b.first + 1), b.first),
    lambda b: (-(b.last - b.first), -b.nbytes),
    lambda b: (b.first, -b.nbytes),
    lambda b: (-b.last, -b.nbytes),
)


@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """Where every activation lies.

    Attributes:
        offsets: value name (or scratch name) -> byte offset in the arena.
        arena_bytes: size of the arena.
        lower_bound: bytes that are alive at the fullest step; no plan can need less.
        buffers: what was placed.

    """

    offsets: dict[str, int]
    arena_bytes: int
    lower_bound: int
    buffers: tuple[Buffer, ...]

    def scratch_offset(self, index: int) -> int:
        """Byte offset of node ``index``'s scratch memory; 0 where it has none."""
        return self.offsets.get(scratch_name(index), 0)

    def alive_bytes(self, step: int) -> int:
        """Bytes that must be kept while node ``step`` runs."""
        return sum(b.nbytes for b in self.buffers if b.first <= step <= b.last)


def plan_memory(graph: Graph, isa: InstructionSet = InstructionSet.SCALAR) -> ArenaPlan:
    """Place every activation of the graph; deterministic and checked.

    Args:
        graph: a verified graph.
        isa: whose kernels' scratch memory the arena must hold.

    Raises:
        VerifyError: the plan failed the independent check (a defect in the planner).

    """
    found = buffers(graph, isa)
    placements = [place(found, order) for order in _ORDERS]
    best = min(placements, key=lambda at: arena_size(found, at))
    offsets = {name: at for b, at in zip(found, best, strict=True) for name in b.names}
    plan = ArenaPlan(offsets, arena_size(found, best), lower_bound(found), tuple(found))
    verify(graph, Stage.PLANNED, placed=offsets)
    check_plan(graph, offsets, plan.arena_bytes, isa)
    return plan


def place(found: Sequence[Buffer], order: Callable[[Buffer], tuple[int, ...]]) -> list[int]:
    """Offsets of the buffers, each put at the lowest place that is free over its whole life."""
    at: dict[int, int] = {}
    for i in sorted(range(len(found)), key=lambda i: (order(found[i]), i)):
        taken = sorted(
            (at[j], at[j] + found[j].nbytes) for j in at if found[i].alive_with(found[j])
        )
        offset = 0
        for start, stop in taken:
            if offset + found[i].nbytes <= start:
                break
            offset = max(offset, align(stop))
        at[i] = offset
    return [at[i] for i in range(len(found))]


def arena_size(found: Sequence[Buffer], at: Sequence[int]) -> int:
    """Bytes from the arena's start to the end of the last buffer, aligned."""
    return align(max((o + b.nbytes for o, b in zip(at, found, strict=True)), default=0))


def lower_bound(found: Sequence[Buffer]) -> int:
    """Bytes alive at the fullest step."""
    steps = {b.first for b in found}
    return max(
        (sum(b.nbytes for b in found if b.first <= step <= b.last) for step in steps), default=0
    )


def align(nbytes: int) -> int:
    """The next multiple of ``ALIGNMENT``."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
