"""How far an output may reach into an input whose last reader is its op."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tinyrt.ir import BoundNode, Graph
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.lifetimes import Buffer, view_roots
from tinyrt.memory.sweep import Sweep, planes_of

Interval = tuple[int, int]
"""Offsets, or distances between offsets, between these two."""

MAX_SWEPT = 250_000
"""Total steps of kernels' sweeps in a model; ops after this limit overlap nothing."""


@dataclass(frozen=True, slots=True)
class Lead:
    """Where an output may begin so that it may overlap its op's input.

    Attributes:
        least: bytes by which the output must begin before the input, at least.
        exact: whether it must begin exactly so many bytes before: where planes interleave, a plane
            may overwrite only itself.

    """

    least: int
    exact: bool = False

    def forbidden_output(self, nbytes: int, x_bytes: int) -> list[Interval]:
        """Distances (exclusive) from the input at which an output of ``nbytes`` must not begin."""
        low, here, high = -nbytes, -self.least, x_bytes
        return [(low, here), (here, high)] if self.exact else [(max(low, here), high)]


Leads = dict[tuple[int, int], Lead]
"""(index of the output's buffer, index of the input's) -> lead, for pairs that may overlap."""


def lead_of(sweep: Sweep, i: int) -> int:
    """Bytes by which the output must begin before input ``i``.

    Writes must stay behind reads: the bytes that a step writes must end before all bytes that later
    steps read, and before its own reads unless the step reads first.
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


def starts_together(sweep: Sweep, i: int, nbytes: int) -> bool:
    """Whether the output may begin at the start of input ``i``, which has ``nbytes`` bytes.

    No step may write bytes that a later step reads, or that it reads itself unless it reads first.
    """
    needed = np.zeros(nbytes, np.bool_)
    for step in reversed(sweep):
        read, write = slice(*(step.reads[i] or (0, 0))), slice(*step.writes)
        if not step.reads_first:
            needed[read] = True
        if needed[write].any():
            return False
        needed[read] = True
    return True


def _lead(sweep: Sweep, i: int, nbytes: int) -> Lead | None:
    if planes_of(sweep) == 1:
        return Lead(lead_of(sweep, i))
    return Lead(0, exact=True) if starts_together(sweep, i, nbytes) else None


def leads(graph: Graph, buffers: list[Buffer], kernels: Kernels) -> Leads:
    """Every pair of buffers that may overlap, with the distance that makes it safe."""
    roots = view_roots(graph)
    home = {name: i for i, buffer in enumerate(buffers) for name in buffer.names}
    allowed: Leads = {}
    steps_left = MAX_SWEPT
    for node in graph.bound():
        target = home.get(node.output.name)
        if target is None or node.output.name in roots or steps_left <= 0:
            continue
        below = _last_read(node, buffers, home)
        if not below:
            continue
        # Plans of one graph with different values outside the arena share most leads.
        key = "leads", node.index, kernels, tuple(below)
        steps, ahead = graph.noted(key, partial(_leads_of, node, kernels, tuple(below)))
        steps_left -= steps
        allowed |= {(target, below[i]): lead for i, lead in ahead.items()}
    return allowed


def _leads_of(
    node: BoundNode, kernels: Kernels, inputs: tuple[int, ...]
) -> tuple[int, dict[int, Lead]]:
    """Steps of the node's sweep, and input number -> lead for the inputs that may overlap."""
    sweep = kernels.sweep(node)
    if sweep is None:
        return 0, {}
    by_input = {i: _lead(sweep, i, node.input(i).nbytes) for i in inputs}
    return len(sweep), {i: lead for i, lead in by_input.items() if lead is not None}


def _last_read(node: BoundNode, buffers: list[Buffer], home: dict[str, int]) -> dict[int, int]:
    """Input number -> its buffer, for inputs that have no later reader."""
    activations = [v.name for v in node.inputs if v is not None and not v.is_constant]
    below = {}
    for i, value in enumerate(node.inputs):
        # An op that reads one tensor twice would need a lead that is safe for both reads.
        source = home.get(value.name) if value and activations.count(value.name) == 1 else None
        if value is None or source is None:
            continue
        if buffers[source].last == node.index:
            below[i] = source
    return below
