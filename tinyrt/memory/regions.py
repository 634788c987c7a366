"""Several memory regions: the region of each buffer, and the bytes used of each region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinyrt.errors import BudgetError
from tinyrt.ir import BoundNode, Graph
from tinyrt.memory.lifetimes import Buffer, scratch_name, view_roots
from tinyrt.memory.placing.place import Placement, place, place_in_order
from tinyrt.memory.placing.problem import Problem
from tinyrt.ops import OPS

ARENA = "arena"
"""Name of the only region if the user gives none."""

NO_LIMIT = 1 << 62
"""More bytes than any program has."""


@dataclass(frozen=True, slots=True)
class Region:
    """A memory that buffers may lie in.

    Attributes:
        name: as the generated C calls it.
        nbytes: bytes that may be used; None for any number.

    """

    name: str
    nbytes: int | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where every buffer lies.

    Attributes:
        region: of each buffer, its region's place in the order of cost.
        offsets: of each buffer, from its region's start.
        placements: the placement of each region.

    """

    region: list[int]
    offsets: list[int]
    placements: list[Placement]


def assign(
    problem: Problem, regions: Sequence[Region], traffic: Sequence[float], enough: int = 0
) -> Assignment:
    """Divide buffers among regions: those with the most traffic go to the first, fastest regions.

    Args:
        problem: what to place.
        regions: in the order of their cost, the cheapest to use first.
        traffic: for each buffer, bytes read and written per inference.
        enough: as for ``place``.

    Raises:
        BudgetError: the buffers do not fit, or are too many.

    """
    if len(regions) == 1 and regions[0].nbytes is None:
        placement = place(problem, enough)
        return Assignment([0] * len(problem.buffers), placement.offsets, [placement])
    if problem.crowded:
        raise BudgetError(
            f"{len(problem.buffers):,} tensors are too many to divide among regions",
            expected="fewer that are kept at the same time, or one region",
        )
    overflow: list[BudgetError] = []
    for order in _orders(problem, traffic):
        try:
            return _fill(problem, regions, order)
        except BudgetError as error:
            overflow.append(error)
    raise overflow[0]


def _orders(problem: Problem, traffic: Sequence[float]) -> list[list[int]]:
    """Orders of groups for the first region, most urgent first: by traffic, then by size."""

    def use(g: int) -> float:
        group = problem.groups[g]
        return -sum(traffic[b] for b in group.members) / group.nbytes

    def size(g: int) -> float:
        return -problem.groups[g].nbytes

    def span(g: int) -> float:
        members = [problem.buffers[b] for b in problem.groups[g].members]
        return -sum(b.nbytes * (b.last - b.first + 1) for b in members)

    keys: list[Callable[[int], float]] = [use, size, span]
    return [sorted(range(len(problem.groups)), key=lambda g: (key(g), g)) for key in keys]


def _fill(problem: Problem, regions: Sequence[Region], order: list[int]) -> Assignment:
    remaining = order
    region = [0] * len(problem.buffers)
    offsets = [0] * len(problem.buffers)
    placements = []
    for r, memory in enumerate(regions):
        last = r == len(regions) - 1
        chosen = remaining if last else _that_fit(problem, memory, remaining)
        remaining = [g for g in remaining if g not in chosen]
        part, members = problem.part(chosen)
        placement = place(part, memory.nbytes or 0)
        placements.append(placement)
        if memory.nbytes is not None and placement.nbytes > memory.nbytes:
            raise _too_small(part, memory, placement)
        for b, offset in zip(members, placement.offsets, strict=True):
            region[b], offsets[b] = r, offset
    return Assignment(region, offsets, placements)


def _that_fit(problem: Problem, memory: Region, order: list[int]) -> list[int]:
    """The groups, taken in this order, that a quick placement fits into the region."""
    if memory.nbytes is None:
        return order
    chosen: list[int] = []
    for g in order:
        if problem.groups[g].nbytes > memory.nbytes:
            continue
        part, _ = problem.part([*chosen, g])
        largest_first = sorted(range(len(part.groups)), key=lambda i: (-part.groups[i].nbytes, i))
        if part.size(place_in_order(part, largest_first)) <= memory.nbytes:
            chosen.append(g)
    return chosen


def _too_small(part: Problem, memory: Region, placement: Placement) -> BudgetError:
    def alive(step: int) -> list[Buffer]:
        return [b for b in part.buffers if b.first <= step <= b.last]

    step = max(part.steps(), key=lambda s: sum(b.nbytes for b in alive(s)))
    names = ", ".join(
        f"'{b.names[0]}' {b.nbytes:,}" for b in sorted(alive(step), key=lambda b: -b.nbytes)
    )
    return BudgetError(
        f"region '{memory.name}' would need {placement.nbytes:,} bytes",
        tensor=f"kept in it at step {max(step, 0)}, in bytes: {names}",
        expected=f"at most {memory.nbytes:,}",
        hint="make a region larger, or add one: --region name=size",
    )


def traffic_of(graph: Graph, buffers: Sequence[Buffer]) -> list[float]:
    """Approximate bytes that kernels read from and write to each buffer, to order buffers by.

    A kernel reads an input byte once for each multiplication; output channels computed together
    share one read.
    """
    roots = view_roots(graph)
    used: dict[str, float] = {name: graph.value(name).nbytes for name in graph.inputs}
    for node in graph.bound():
        reads = _reads(node)
        used[scratch_name(node.index)] = reads
        out = roots.get(node.output.name, node.output.name)
        if out == node.output.name:
            used[out] = node.output.nbytes
        for value in node.inputs:
            if value is not None and not value.is_constant:
                name = roots.get(value.name, value.name)
                used[name] = used.get(name, 0) + max(value.nbytes, reads)
    return [used.get(buffer.names[0], buffer.nbytes) for buffer in buffers]


def _reads(node: BoundNode) -> float:
    spec = OPS[node.op]
    shared = node.output.shape[-1] if spec.weight_axis == 0 and node.output.shape else 1
    return spec.macs(node) / shared
