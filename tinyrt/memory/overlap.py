"""How far an output may reach into an input that its op is the last to read."""

from __future__ import annotations

from tinyrt.ir import Graph
from tinyrt.memory.lifetimes import Buffer, view_roots
from tinyrt.ops import OPS
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.sweep import Sweep

Leads = dict[tuple[int, int], int]
"""(index of the output's buffer, index of the input's) -> bytes by which the output must begin
before the input, at least; the two may then overlap."""


def lead_of(sweep: Sweep, i: int) -> int:
    """Bytes by which the output must begin before input ``i``.

    Writes must stay behind reads: what a step writes must end where no later step reads, nor the
    step itself unless it reads first.
    """
    lead = 0
    lowest: int | None = None
    for step in reversed(sweep):
        read = step.reads[i]
        here = lowest
        if read is not None:
            here = read[0] if lowest is None else min(lowest, read[0])
        limit = lowest if step.reads_first else here
        if limit is not None:
            lead = max(lead, step.writes[1] - limit)
        lowest = here
    return lead


def leads(graph: Graph, found: list[Buffer], isa: InstructionSet) -> Leads:
    """Every pair of buffers that may overlap, with the distance that makes it safe."""
    roots = view_roots(graph)
    home = {name: i for i, buffer in enumerate(found) for name in buffer.names}
    allowed: Leads = {}
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
                allowed[home[node.output.name], source] = lead_of(sweep, i)
    return allowed
