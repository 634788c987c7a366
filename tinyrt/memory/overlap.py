"""How far an output may reach into an input that its op is the last to read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tinyrt.ir import Graph
from tinyrt.memory.lifetimes import Buffer, view_roots
from tinyrt.ops import OPS
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.sweep import Span, Step, Sweep


@dataclass(frozen=True, slots=True)
class Leads:
    """Distances at which an output and an input of one op may overlap.

    Attributes:
        node: the op.
        before: sweeping forwards, the output must begin at least so many bytes before the input.
        after: sweeping backwards, it must begin at least so many bytes after the input's start;
            None where the kernel cannot.

    """

    node: int
    before: int
    after: int | None

    def allows(self, distance: int) -> bool:
        """Whether the output may begin ``distance`` bytes after the input's start."""
        return distance <= -self.before or self.is_backward(distance)

    def is_backward(self, distance: int) -> bool:
        """Whether only a backward sweep makes that distance safe."""
        return distance > -self.before and self.after is not None and distance >= self.after


Pairs = dict[tuple[int, int], Leads]
"""(index of the output's buffer, index of the input's) -> when the two may overlap."""


def leads_of(sweep: Sweep, i: int, node: int = 0) -> Leads:
    """The distances for input ``i`` of an op.

    Writes must stay behind reads: what a step writes must not lie where a later step reads, nor
    where the step itself does unless it reads first.
    """
    before = 0
    for step, reads in _with_pending_reads(sweep.steps, i):
        before = max(before, *(step.writes[1] - read[0] for read in reads), 0)
    after: int | None = None
    if sweep.reversible:
        after = 0
        for step, reads in _with_pending_reads(sweep.steps[::-1], i):
            after = max(after, *(read[1] - step.writes[0] for read in reads), 0)
    return Leads(node, before, after)


def _with_pending_reads(steps: tuple[Step, ...], i: int) -> Iterable[tuple[Step, list[Span]]]:
    """Each step with the span of input ``i`` that is still to be read while it writes."""
    pending: Span | None = None
    for step in reversed(steps):
        later = pending
        pending = _hull(pending, step.reads[i])
        span = later if step.reads_first else pending
        yield step, [span] if span is not None else []


def _hull(a: Span | None, b: Span | None) -> Span | None:
    if a is None or b is None:
        return a or b
    return min(a[0], b[0]), max(a[1], b[1])


def pairs(graph: Graph, found: list[Buffer], isa: InstructionSet) -> Pairs:
    """Every pair of buffers that may overlap, with the distances that make it safe."""
    roots = view_roots(graph)
    home = {name: i for i, buffer in enumerate(found) for name in buffer.names}
    allowed: Pairs = {}
    for node in graph.bound():
        sweep = OPS[node.op].sweep(node, isa)
        if sweep is None or node.output.name in roots:
            continue
        activations = [v.name for v in node.inputs if v is not None and not v.is_constant]
        for i, value in enumerate(node.inputs):
            # An op that reads one tensor twice would have to satisfy both readings.
            if value is None or activations.count(value.name) != 1:
                continue
            source = home[value.name]
            if found[source].last == node.index and found[source].nbytes == value.nbytes:
                allowed[home[node.output.name], source] = leads_of(sweep, i, node.index)
    return allowed
