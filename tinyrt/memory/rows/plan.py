"""Plans in which some ops run row by row."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.errors import BudgetError, UnsupportedError
from tinyrt.ir import Graph, Stage
from tinyrt.memory.arena import aligned_for, check_regions, plan_memory
from tinyrt.memory.check.plan import check_plan
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.lifetimes import outside_of, view_roots
from tinyrt.memory.plan import ArenaPlan, MemoryOptions
from tinyrt.memory.regions import NO_LIMIT, Region
from tinyrt.memory.rows.build import is_image, row_ops
from tinyrt.memory.rows.candidates import THOROUGH, Effort, PlacedSegments
from tinyrt.memory.rows.choose import choose_segments, place_segments
from tinyrt.memory.segments import Segment
from tinyrt.ops import verify

WORTHWHILE = 95
"""An arena with segments pays if it takes less than this per cent of the arena without."""


def plan_by_rows(
    graph: Graph,
    kernels: Kernels,
    *,
    options: MemoryOptions | None = None,
    enough: int = 0,
    costly: bool = False,
    effort: Effort = THOROUGH,
) -> ArenaPlan:
    """The plan of the smallest arena, with segments where they help; deterministic.

    Args:
        graph: a verified graph.
        kernels: the target's; the arena holds their scratch memory.
        options: regions, ports outside the arena, and alignment. Where regions have sizes, one plan
            that fits is as good as another. Buffers that a segment's steps move lie in one region.
        enough: bytes that are few enough. A plan without segments is taken if it takes no more. A
            costly plan is taken only if no cheap plan fits.
        costly: whether a smaller arena may cost any number of instructions and bytes of code; else
            it may cost 3 % of either, as estimated in ``costs``.
        effort: how far the search goes; the plan of a quick one is an estimate, and not checked.

    Raises:
        BudgetError: the regions are too small.
        VerifyError: the plan failed the independent check (a defect in the planner).

    """
    options = _with_states(graph, options)
    whole, most = None, NO_LIMIT
    too_small: BudgetError | None = None
    try:
        whole = plan_memory(graph, kernels, options=options, enough=enough, checked=effort.checked)
        if whole.arena_bytes <= enough:
            return whole
        most = max(whole.arena_bytes * WORTHWHILE // 100, enough + 1)
    except BudgetError as error:
        too_small = error
        enough = min(enough or NO_LIMIT, sum(r.nbytes or NO_LIMIT for r in options.regions))
    plans = [] if whole is None else [whole]
    # The smallest plan in one region may not be the smallest once it is divided.
    divided = whole is None or len(options.regions) > 1
    for at_any_cost in dict.fromkeys((costly, True)) if divided else (costly,):
        try:
            placed = choose_segments(
                *(graph, kernels, options),
                most=most,
                enough=enough,
                costly=at_any_cost,
                effort=effort,
            )
            if placed is not None:
                plans.append(_as_plan(graph, kernels, options, placed, effort))
        except BudgetError as error:
            too_small = error
        if plans and (not enough or plans[-1].arena_bytes <= enough):
            break
    if not plans and too_small is not None:
        raise too_small
    return min(plans, key=lambda plan: plan.arena_bytes)


def plan_pushed(
    graph: Graph,
    kernels: Kernels,
    *,
    options: MemoryOptions | None = None,
    enough: int = 0,
    costly: bool = False,
    effort: Effort = THOROUGH,
) -> ArenaPlan:
    """The plan of the smallest arena for a model whose input comes row by row and is never held.

    Args:
        graph: as for ``plan_by_rows``.
        kernels: likewise.
        options: likewise.
        enough: likewise.
        costly: likewise. If no plan is that cheap, the plan may cost 3 % more instructions and any
            number of code bytes. If none is that cheap either, the smallest arena is taken.
        effort: likewise.

    Raises:
        UnsupportedError: the input cannot come row by row.
        BudgetError: the regions are too small.
        VerifyError: the plan failed the independent check (a defect in the planner).

    """
    options = _with_states(graph, options)
    limit = sum(region.nbytes or NO_LIMIT for region in options.regions)
    ways = {costly: enough, True: min(enough or limit, limit)} if len(graph.fed) == 1 else {}
    too_small: BudgetError | None = None
    for at_any_cost, few in ways.items():
        try:
            placed = choose_segments(
                *(graph, kernels, options),
                most=NO_LIMIT,
                enough=0 if few >= NO_LIMIT else few,
                pushed=graph.fed[0],
                costly=at_any_cost,
                effort=effort,
            )
            if placed is None:
                break
            return _as_plan(graph, kernels, options, placed, effort)
        except BudgetError as error:
            too_small = error
    if too_small is not None:
        raise too_small
    raise _not_by_rows(graph)


def _not_by_rows(graph: Graph) -> UnsupportedError:
    """The error that names the first obstacle to an input that comes row by row."""
    message, hint = "the model's input cannot come row by row", "leave out --input-rows"
    inputs = [graph.value(name) for name in graph.fed]
    names = ", ".join(value.describe() for value in inputs)
    if all(value.shape[:-2] in {(1,), (1, 1)} for value in inputs):
        hint = "a signal has rows if time is its height, (1, t, 1, c); or see convert --stream"
    if len(inputs) != 1 or not is_image(inputs[0]):
        expected = "one input: an image (1, h, w, c) of int8 or int16"
        return UnsupportedError(message, tensor=names, expected=expected, hint=hint)
    ops = row_ops(graph)
    readers = [i for i, node in enumerate(graph.nodes) if inputs[0].name in node.inputs]
    between = range(readers[0], readers[-1] + 1) if readers else range(0)
    for i in between:
        if ops[i] is None:
            op = graph.bind(i).describe()
            expected = "an op whose output rows each need a few rows of its inputs"
            return UnsupportedError(message, op=op, tensor=names, expected=expected, hint=hint)
    consumers = " and ".join(graph.bind(i).describe() for i in readers) or None
    expected = "readers that pad it alike, and take as many rows of it for one of the output"
    return UnsupportedError(message, op=consumers, tensor=names, expected=expected, hint=hint)


def plan_segments(
    graph: Graph,
    kernels: Kernels,
    segments: tuple[Segment, ...],
    options: MemoryOptions | None = None,
) -> ArenaPlan:
    """A plan with just these segments; deterministic and checked.

    Raises:
        BudgetError: the regions are too small.
        VerifyError: the plan failed the independent check.

    """
    options = _with_states(graph, options)
    return _as_plan(
        graph, kernels, options, place_segments(graph, kernels, options, segments), THOROUGH
    )


def _with_states(graph: Graph, options: MemoryOptions | None) -> MemoryOptions:
    options = options or MemoryOptions()
    outside = options.outside.union(*graph.states)
    return replace(aligned_for(graph, options), outside=outside)


def _as_plan(
    graph: Graph, kernels: Kernels, options: MemoryOptions, placed: PlacedSegments, effort: Effort
) -> ArenaPlan:
    roots = view_roots(graph)
    absent = options.outside | {s.pushed for s in placed.segments if s.pushed is not None}
    outside = outside_of(graph, absent)
    plan = ArenaPlan(
        placed.offsets,
        sum(placed.sizes),
        placed.lower_bound,
        placed.buffers,
        regions=tuple(
            Region(region.name, size)
            for region, size in zip(options.regions, placed.sizes, strict=True)
        ),
        region_of=placed.region_of,
        views={view: (root, 0) for view, root in roots.items()},
        idle=frozenset(i for i, node in enumerate(graph.nodes) if node.output in roots),
        outside=outside,
        segments=placed.segments,
        peak=placed.peak,
    )
    if not effort.checked:
        return plan
    verify(graph, Stage.PLANNED, placed={*plan.offsets, *outside})
    check_regions(graph, plan)
    check_plan(
        graph,
        plan.linear_offsets(),
        plan.arena_bytes,
        kernels,
        idle=plan.idle,
        outside=outside,
        segments=plan.segments,
    )
    return plan
