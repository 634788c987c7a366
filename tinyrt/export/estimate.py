"""What an inference costs, estimated from the calls that are written."""

from __future__ import annotations

import math

from tinyrt.backends.c.kernel import Kernel
from tinyrt.backends.c.parts.cost import instructions_of
from tinyrt.backends.c.parts.pace import pace_of
from tinyrt.export.target import HOST, Core
from tinyrt.export.writer import ModelWriter
from tinyrt.ir import BoundNode, Graph
from tinyrt.memory import ArenaPlan


def instructions_estimated(
    writer: ModelWriter, graph: Graph, plan: ArenaPlan, core: Core
) -> tuple[float, ...] | None:
    """Instructions of each op; None on this machine, whose compilers know too many ways.

    Nor are ops estimated that run row by row: their calls depend on the rows that are there.
    """
    if core.prefix == HOST or plan.segments:
        return None
    kernels = [(node, writer.kernel_of(node)) for node in graph.bound()]
    return tuple(
        0.0 if kernel is None else kernel_estimated(node, kernel, core) for node, kernel in kernels
    )


def kernel_estimated(node: BoundNode, kernel: Kernel, core: Core) -> float:
    """Instructions of all calls of an op's kernel on a core."""
    isa, pace = core.general_isa, pace_of(core.name)
    return math.fsum(instructions_of(call, node, kernel, isa, pace=pace) for call in kernel.calls)
