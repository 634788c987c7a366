"""The arena plan: where every activation lies."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.errors import BudgetError
from tinyrt.ir import Graph, Stage
from tinyrt.memory.check import check_plan
from tinyrt.memory.lifetimes import Buffer, buffers, scratch_name
from tinyrt.memory.overlap import leads
from tinyrt.memory.place import Problem, place
from tinyrt.ops import verify
from tinyrt.ops.isa import InstructionSet


@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """Where every activation lies.

    Attributes:
        offsets: value name (or scratch name) -> byte offset in the arena.
        arena_bytes: size of the arena.
        lower_bound: bytes that no placement of these buffers can do without.
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
        """Bytes of the arena in use while node ``step`` runs; shared ones count once."""
        total = end = 0
        for start, stop in sorted(
            (self.offsets[b.names[0]], self.offsets[b.names[0]] + b.nbytes)
            for b in self.buffers
            if b.first <= step <= b.last
        ):
            total += max(0, stop - max(start, end))
            end = max(end, stop)
        return total

    def fullest_step(self) -> int:
        """The step at which most of the arena is in use: it stands in the way of a smaller one."""
        return max(
            {b.first for b in self.buffers}, key=lambda step: (self.alive_bytes(step), -step)
        )

    def alive_at(self, step: int) -> list[Buffer]:
        """Buffers that must be kept while node ``step`` runs, largest first."""
        alive = [b for b in self.buffers if b.first <= step <= b.last]
        return sorted(alive, key=lambda b: (-b.nbytes, b.names))


def require_budget(graph: Graph, plan: ArenaPlan, max_arena: int) -> None:
    """Raise unless the arena fits.

    Raises:
        BudgetError: it does not; the error names the op and the tensors in the way.

    """
    if plan.arena_bytes <= max_arena:
        return
    step = max(plan.fullest_step(), 0)
    tensors = ", ".join(f"'{b.names[0]}' {b.nbytes:,}" for b in plan.alive_at(step))
    raise BudgetError(
        f"the arena needs {plan.arena_bytes:,} bytes, {plan.arena_bytes - max_arena:,} too many",
        op=graph.bind(step).describe() if graph.nodes else None,
        tensor=f"alive at this op, in bytes: {tensors}",
        expected=f"at most {max_arena:,}",
        hint="lower this op's resolution or channels, or split it from the branch that waits",
    )


def plan_memory(
    graph: Graph, isa: InstructionSet = InstructionSet.SCALAR, *, overlap: bool = True
) -> ArenaPlan:
    """Place every activation of the graph; deterministic and checked.

    Args:
        graph: a verified graph.
        isa: whose kernels' scratch memory the arena must hold.
        overlap: whether an op's output may overlap an input that it is the last to read, as far
            as its kernel's order of reads and writes allows.

    Raises:
        VerifyError: the plan failed the independent check (a defect in the planner).

    """
    found = buffers(graph, isa)
    problem = Problem(found, leads(graph, found, isa) if overlap else {})
    at = place(problem)
    offsets = {name: offset for b, offset in zip(found, at, strict=True) for name in b.names}
    size = problem.size(dict(enumerate(at)))
    plan = ArenaPlan(offsets, size, problem.lower_bound(), tuple(found))
    verify(graph, Stage.PLANNED, placed=offsets)
    check_plan(graph, offsets, plan.arena_bytes, isa)
    return plan
