"""Plans in which some ops run row by row."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.errors import UnsupportedError
from tinyrt.ir import Graph, Stage
from tinyrt.memory.arena import ArenaPlan, MemoryOptions, aligned_for, plan_memory
from tinyrt.memory.candidates import Streamed
from tinyrt.memory.check import check_plan
from tinyrt.memory.lifetimes import view_roots
from tinyrt.memory.regions import Region
from tinyrt.memory.segments import Segment
from tinyrt.memory.stream import choose_segments, place_segments
from tinyrt.ops import OPS, verify
from tinyrt.ops.isa import InstructionSet

WORTHWHILE = 95
"""Per cent of the arena without segments below which one with segments is worth its work."""

NO_LIMIT = 1 << 62
"""More bytes than any arena has."""


def plan_streamed(
    graph: Graph,
    isa: InstructionSet = InstructionSet.SCALAR,
    *,
    options: MemoryOptions | None = None,
    enough: int = 0,
    costly: bool = False,
) -> ArenaPlan:
    """The plan of the smallest arena, with segments where they help; deterministic and checked.

    Args:
        graph: a verified graph.
        isa: whose kernels' scratch memory the arena must hold.
        options: ports outside the arena, and alignment; there can be one region only.
        enough: bytes that are few enough: a plan without segments is taken if it takes no more,
            and one that costs more than the others only if none of them does.
        costly: whether a smaller arena is worth any number of instructions and bytes of code; else
            it may cost 3 % of either, as estimated in ``row_costs``.

    Raises:
        UnsupportedError: there are several regions.
        VerifyError: the plan failed the independent check (a defect in the planner).

    """
    options = _one_region(graph, options)
    whole = plan_memory(graph, isa, options=options)
    if whole.arena_bytes <= enough:
        return whole
    most = max(whole.arena_bytes * WORTHWHILE // 100, min(whole.arena_bytes, enough + 1))
    found = choose_segments(graph, isa, options, most=most, enough=enough, costly=costly)
    return whole if found is None else _checked(graph, isa, options, found)


def plan_pushed(
    graph: Graph,
    isa: InstructionSet = InstructionSet.SCALAR,
    *,
    options: MemoryOptions | None = None,
    enough: int = 0,
    costly: bool = False,
) -> ArenaPlan:
    """The plan of the smallest arena for a model whose input comes row by row and is never held.

    Args:
        graph: as for ``plan_streamed``.
        isa: likewise.
        options: likewise.
        enough: likewise.
        costly: likewise; where nothing is that cheap, 3 % more instructions and any code will do,
            and where nothing is that cheap either, the smallest arena is taken anyway.

    Raises:
        UnsupportedError: the input cannot come row by row, or there are several regions.
        VerifyError: the plan failed the independent check (a defect in the planner).

    """
    options = _one_region(graph, options)
    found = None
    if len(graph.inputs) == 1:
        pushed = graph.inputs[0]
        found = choose_segments(
            *(graph, isa, options),
            most=NO_LIMIT,
            enough=enough,
            pushed=pushed,
            costly=costly,
        )
    if found is None:
        rowwise = ", ".join(sorted(name for name, spec in OPS.items() if spec.rows is not None))
        raise UnsupportedError(
            "the model's input cannot come row by row",
            tensor=", ".join(v.describe() for v in graph.input_values),
            expected=f"one int8 input (1, h, w, c), read by {rowwise} or element-wise ops",
            hint="leave out --input-rows",
        )
    return _checked(graph, isa, options, found)


def plan_segments(graph: Graph, isa: InstructionSet, segments: tuple[Segment, ...]) -> ArenaPlan:
    """A plan with just these segments; deterministic and checked.

    Raises:
        VerifyError: the plan failed the independent check.

    """
    options = _one_region(graph, None)
    return _checked(graph, isa, options, place_segments(graph, isa, options, segments))


def _one_region(graph: Graph, options: MemoryOptions | None) -> MemoryOptions:
    options = options or MemoryOptions()
    if len(options.regions) > 1:
        raise UnsupportedError(
            f"ops cannot run row by row over {len(options.regions)} memory regions",
            expected="one region",
            hint="leave out --region, or --by-rows and --input-rows",
        )
    outside = options.outside.union(*graph.states)
    return replace(aligned_for(graph, options), outside=outside)


def _checked(
    graph: Graph, isa: InstructionSet, options: MemoryOptions, found: Streamed
) -> ArenaPlan:
    (region,) = options.regions
    roots = view_roots(graph)
    absent = options.outside | {s.pushed for s in found.segments if s.pushed is not None}
    outside = frozenset(n for n, v in graph.values.items() if roots.get(n, n) in absent)
    plan = ArenaPlan(
        found.offsets,
        found.arena_bytes,
        found.lower_bound,
        found.buffers,
        regions=(Region(region.name, found.arena_bytes),),
        views={view: (root, 0) for view, root in roots.items()},
        idle=frozenset(i for i, node in enumerate(graph.nodes) if node.outputs[0] in roots),
        outside=outside,
        segments=found.segments,
    )
    verify(graph, Stage.PLANNED, placed={*plan.offsets, *outside})
    check_plan(
        graph,
        plan.offsets,
        plan.arena_bytes,
        isa,
        idle=plan.idle,
        outside=outside,
        segments=plan.segments,
    )
    return plan
