"""An inference in slices: which calls are made between two looks at the clock, and their code.

Ops are cut into parts of about so many instructions at most (``tinyrt.backends.c.parts``); parts of
one pattern become a stage that runs several rounds, and small neighbours share a stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tinyrt.backends.c.kernel import Call, Kernel
from tinyrt.backends.c.parts.cost import instructions_of
from tinyrt.backends.c.parts.cutting import MARGIN, Part, cut_of, divided
from tinyrt.backends.c.parts.pace import pace_of
from tinyrt.backends.c.parts.rounds import Stage, stages_of
from tinyrt.errors import UnsupportedError, error_context
from tinyrt.export.code import Statement
from tinyrt.export.target import Core
from tinyrt.export.writer import ModelWriter
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.memory import ArenaPlan

MIN_LIMIT = 1_000
"""Least instructions of a slice that may be asked for: the code around slices takes a hundred."""

BY_FORMULA = ("tinyrt_window_four_", "tinyrt_fully_connected_sparse_")
"""Kernels whose parts differ: fours of pixels at a border take more than others, and channels have
more blocks of weights that are not zero."""

SLICES_HEADER = "tinyrt_slices"
"""The header with the C code that goes from slice to slice; it has no source file."""

NOTHING = Stage(Part(Call("", ()), 0))
"""The stage of a model that computes nothing: its outputs are its inputs' bytes."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A stage of an inference.

    Attributes:
        nodes: the ops that it computes, or computes a part of.
        instructions: of a round, estimated.
        repeats: how often it runs, and with which stages before it.
        is_alone: whether it is in no pattern.
        statements: its code.

    """

    nodes: tuple[int, ...]
    instructions: int
    repeats: Stage
    is_alone: bool
    statements: tuple[Statement, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Slices:
    """An inference in slices.

    Attributes:
        limit: most instructions of a slice that were asked for.
        stages: in their order.
        names: index of a node -> how messages call it.

    """

    limit: int
    stages: tuple[Slice, ...]
    names: dict[int, str] = field(repr=False)

    @property
    def count(self) -> int:
        """Slices of an inference, all rounds counted."""
        return len(self.in_order())

    def in_order(self) -> list[Slice]:
        """The stage of every slice, in the order in which they run."""
        order: list[Slice] = []
        at, rounds, turns = 0, 0, 0
        while at < len(self.stages):
            order.append(self.stages[at])
            repeats = self.stages[at].repeats
            if repeats.rounds > 1:
                rounds += 1
                if rounds < repeats.rounds:
                    at -= repeats.back
                    continue
                rounds = 0
            if repeats.turns > 1:
                turns += 1
                if turns < repeats.turns:
                    at -= repeats.turn_back
                    continue
                turns = 0
            at += 1
        return order

    @property
    def longest(self) -> Slice:
        """The slice with the most instructions, as estimated."""
        return max(self.stages, key=lambda stage: stage.instructions)

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data, for ``--json``."""
        longest = self.longest
        return {
            "limit": self.limit,
            "count": self.count,
            "longest": {
                "instructions": longest.instructions,
                "ops": list(longest.nodes),
                "names": [self.names[i] for i in longest.nodes],
            },
        }


def write_slices(
    writer: ModelWriter, graph: Graph, plan: ArenaPlan, core: Core, limit: int
) -> Slices:
    """Write the calls of every op, cut into slices.

    Raises:
        UnsupportedError: an op runs row by row, has no C kernel or could overflow, or cannot be cut
            into slices of ``limit`` instructions.

    """
    if plan.segments:
        first = graph.bind(plan.segments[0].first)
        raise UnsupportedError(
            "ops that run row by row cannot be cut into slices",
            op=first.describe(),
            expected="an arena with room for whole tensors",
            hint="leave out --slices, or --max-arena, --by-rows and --input-rows",
        )
    writer.functions.append(SLICES_HEADER)
    stages: list[Slice] = []
    for node in graph.bound():
        with error_context(op=node.describe()):
            for stage in _stages(writer, node, plan, core, limit):
                if stages and _fit(stages[-1], stage, limit):
                    stages[-1] = _joined(stages[-1], stage)
                else:
                    stages.append(stage)
    stages = stages or [Slice((), 0, NOTHING, True, ())]
    names = {node.index: node.describe() for node in graph.bound()}
    return Slices(limit, tuple(stages), names)


def _fit(one: Slice, other: Slice, limit: int) -> bool:
    """Whether two neighbours are in no pattern, and short enough for one stage."""
    alone = one.is_alone and other.is_alone
    return alone and one.instructions + other.instructions <= MARGIN * limit


def _joined(one: Slice, other: Slice) -> Slice:
    return replace(
        one,
        nodes=tuple(dict.fromkeys((*one.nodes, *other.nodes))),
        instructions=one.instructions + other.instructions,
        statements=(*one.statements, *other.statements),
    )


def _stages(
    writer: ModelWriter, node: BoundNode, plan: ArenaPlan, core: Core, limit: int
) -> Iterator[Slice]:
    """The stages of one op; none for a view."""
    kernel = writer.kernel_of(node)
    if kernel is None:
        return
    parts = list(_parts(node, kernel, plan, core, limit))
    longest = max(part.instructions for part in parts)
    if longest > limit:
        raise _too_long(node, kernel, longest, limit)
    stages = stages_of(parts)
    patterned = {i - n for i, s in enumerate(stages) for n in range(s.reach + 1) if s.repeats}
    for number, stage in enumerate(stages):
        with writer.variant(f"_{number}" if len(stages) > 1 else "") as statements:
            if not number:
                writer.begin(node)
            writer.write_part(node, (stage.part.call,))
        count, alone = round(stage.part.instructions), number not in patterned
        yield Slice((node.index,), count, stage, alone, tuple(statements))


def _parts(
    node: BoundNode, kernel: Kernel, plan: ArenaPlan, core: Core, limit: int
) -> Iterator[Part]:
    isa, pace = core.general_isa, pace_of(core.name)
    cut = partial(cut_of, isa=isa, overlaps=_overlaps(node, plan))

    def cost_of(part: Call) -> float | None:
        by_formula = part.function.startswith(BY_FORMULA) and "_part_" not in part.function
        return instructions_of(part, node, kernel, isa, pace=pace) if by_formula else None

    for call in kernel.calls:
        whole = instructions_of(call, node, kernel, isa, pace=pace)
        yield from divided(call, whole, limit, cut, cost_of)


def _overlaps(node: BoundNode, plan: ArenaPlan) -> bool:
    """Whether a node's output lies on one of its inputs."""
    region, first, end = _place(node.output, plan)
    inputs = [_place(v, plan) for v in node.inputs if v is not None and not v.is_constant]
    return any(r == region and a < end and first < b for r, a, b in inputs)


def _place(value: Value, plan: ArenaPlan) -> tuple[int, int, int]:
    """A tensor's region, first byte and end; those of nothing for one outside of the arena."""
    root, start = plan.views.get(value.name, (value.name, 0))
    if root not in plan.offsets:
        return -1, 0, 0
    at = plan.offsets[root] + start
    return plan.region_of.get(root, 0), at, at + value.nbytes


def _too_long(node: BoundNode, kernel: Kernel, longest: float, limit: int) -> UnsupportedError:
    needed = round(longest)
    return UnsupportedError(
        f"a slice takes about {needed:,} instructions: {kernel.name} cannot be cut further",
        tensor=node.output.describe(),
        expected=f"at most {limit:,}",
        hint=f"ask for slices of {needed:,}, or make the tensor smaller",
    )


def check_limit(limit: int) -> None:
    """Check how long slices may be.

    Raises:
        UnsupportedError: so short that the code around them would take most of the time.

    """
    if limit < MIN_LIMIT:
        raise UnsupportedError(
            f"slices of {limit:,} instructions are too short",
            expected=f"at least {MIN_LIMIT:,}",
        )
