"""Planning the arena: the offset of every activation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tinyrt.budget import current
from tinyrt.errors import VerifyError
from tinyrt.ir import Graph, Stage
from tinyrt.memory.check.plan import check_plan
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.lifetimes import buffers, outside_of, view_roots
from tinyrt.memory.placing.overlap import leads
from tinyrt.memory.placing.problem import Problem
from tinyrt.memory.placing.ties import slice_offset, ties_of
from tinyrt.memory.plan import ArenaPlan, MemoryOptions
from tinyrt.memory.regions import Assignment, Region, assign, traffic_of
from tinyrt.ops import verify

PLAN, PLACE = 200_000, 50_000
"""Work of planning and checking one op and one tensor, in units of ``budget``."""

MAX_PAIRS_PLANNED = 300_000
"""Limit of pairs of buffers, see ``place``, over all plans of a graph; beyond it, the planner tries
no further plan. A bound on work, not on time, so that every machine finds the same plan."""

MAX_DROPPED = 8
"""Up to so many ops in place, the planner tries plans without each one. Beyond, it tries one plan
without all of them."""


def plan_memory(
    graph: Graph,
    kernels: Kernels,
    *,
    overlap: bool = True,
    options: MemoryOptions | None = None,
    enough: int = 0,
    checked: bool = True,
) -> ArenaPlan:
    """Place every activation of the graph; deterministic.

    Args:
        graph: a verified graph.
        kernels: the target's; the arena holds their scratch memory.
        overlap: whether an op's output may overlap an input whose last reader it is, as far as its
            kernel's order of reads and writes allows, and whether slices and the inputs of
            concatenations may share bytes with the whole tensor.
        options: regions, ports outside the arena, alignment.
        enough: bytes that are few enough: the search for fewer ends there.
        checked: whether the plan must pass the independent check; an estimate need not.

    Raises:
        BudgetError: the regions are too small, or the ops too many.
        VerifyError: the plan failed the independent check (a defect in the planner).

    """
    options = options or MemoryOptions()
    work = PLAN * len(graph.nodes) + PLACE * len(graph.values)
    current().spend(work, f"planning {len(graph.nodes):,} ops")
    plans = _Plans(graph, kernels, overlap, options, enough)
    plan = plans.best()
    if not checked:
        return plan
    placed = {*plan.offsets, *plan.outside}
    verify(graph, Stage.PLANNED, placed=placed)
    check_regions(graph, plan)
    check_plan(
        graph,
        plan.linear_offsets(),
        plan.arena_bytes,
        kernels,
        overlap=overlap,
        idle=plan.idle,
        outside=plan.outside,
    )
    return plan


def aligned_for(graph: Graph, options: MemoryOptions) -> MemoryOptions:
    """The options with offsets aligned to the graph's largest element: 8 bytes for int64."""
    widest = max((v.dtype.itemsize for v in graph.values.values() if not v.is_constant), default=1)
    return replace(options, alignment=max(options.alignment, widest))


class _Plans:
    """The plans of one graph that differ in which slices and concatenations are in place."""

    def __init__(
        self,
        graph: Graph,
        kernels: Kernels,
        overlap: bool,
        options: MemoryOptions,
        enough: int,
    ) -> None:
        self.graph = graph
        self.options = aligned_for(graph, options)
        self.enough = enough
        self.pairs = 0
        outside = options.outside.union(*graph.states)
        self.outside = outside_of(graph, outside)
        self.buffers = buffers(graph, kernels, outside)
        self.leads = leads(graph, self.buffers, kernels) if overlap else {}
        self.ties = ties_of(graph, self.buffers, self.options.alignment) if overlap else {}
        self.traffic = traffic_of(graph, self.buffers)

    def best(self) -> ArenaPlan:
        """The smallest plan: all slices and concatenations in place, or without some of them."""
        chosen = set(self.ties)
        best = self._plan(chosen, self._problem(chosen))
        trials = [set[int]()] if chosen else []
        if len(chosen) <= MAX_DROPPED:
            trials += [chosen - {index} for index in sorted(chosen)]
        for trial in trials:
            if self.pairs > MAX_PAIRS_PLANNED:
                break
            problem = self._problem(trial)
            if problem.lower_bound() >= best.arena_bytes:
                continue  # none of its plans is smaller
            plan = self._plan(trial, problem)
            if plan.arena_bytes < best.arena_bytes:
                best = plan
        return best

    def _problem(self, idle: Collection[int]) -> Problem:
        ties = {b: tie for index in sorted(idle) for b, tie in self.ties[index].items()}
        problem = Problem(self.buffers, self.leads, ties, self.options.alignment)
        self.pairs += problem.pairs
        return problem

    def _plan(self, idle: Collection[int], problem: Problem) -> ArenaPlan:
        assigned = assign(problem, self.options.regions, self.traffic, self.enough)
        return self._as_plan(problem, assigned, frozenset(idle))

    def _as_plan(self, problem: Problem, assigned: Assignment, idle: frozenset[int]) -> ArenaPlan:
        names = [(i, name) for i, b in enumerate(self.buffers) for name in b.names]
        views = self._views(idle)
        nodes = enumerate(self.graph.nodes)
        sizes = [placement.nbytes for placement in assigned.placements]
        alone = assigned.placements[0] if len(sizes) == 1 else None
        return ArenaPlan(
            offsets={name: assigned.offsets[i] for i, name in names},
            arena_bytes=sum(sizes),
            lower_bound=alone.lower_bound if alone else problem.lower_bound(),
            buffers=tuple(self.buffers),
            optimal=alone is not None and alone.optimal,
            regions=tuple(
                Region(region.name, size)
                for region, size in zip(self.options.regions, sizes, strict=True)
            ),
            region_of={name: assigned.region[i] for i, name in names if assigned.region[i]},
            views=views,
            idle=idle | {i for i, node in nodes if node.output in views},
            outside=self.outside,
        )

    def _views(self, idle: Collection[int]) -> dict[str, tuple[str, int]]:
        """View (reshape or slice in place) -> the value that it is a part of, and its offset."""
        views: dict[str, tuple[str, int]] = {}
        aliases = view_roots(self.graph)
        for node in self.graph.bound():
            offset = slice_offset(node) if node.index in idle else None
            if node.output.name in aliases:
                offset = 0
            if offset is not None:
                root, start = views.get(node.input(0).name, (node.input(0).name, 0))
                views[node.output.name] = (root, start + offset)
        return views


def check_regions(graph: Graph, plan: ArenaPlan) -> None:
    """Raise unless every buffer ends within its own region."""
    for buffer in plan.buffers:
        for name in buffer.names:
            region = plan.region_of.get(name, 0)
            if plan.offsets[name] + buffer.nbytes > plan.region_bytes(region):
                raise VerifyError(
                    f"'{name}' ends outside of region '{plan.regions[region].name}'",
                    expected=f"within {plan.region_bytes(region):,} bytes",
                    file=graph.name,
                )
