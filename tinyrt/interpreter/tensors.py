"""Where a graph's tensors lie: constants in the model file, activations in one planned arena.

Model inputs have memory of their own beside the arena, as they may have on a device: ops that reuse
their place would overwrite them, and a program may set an input once and invoke many times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.planning import kernels_of
from tinyrt.budget import Budget, current, limited
from tinyrt.errors import BudgetError
from tinyrt.ir import Graph
from tinyrt.memory import ArenaPlan, plan_memory


@dataclass(frozen=True, slots=True)
class Placed:
    """An arena, and the tensors in it.

    Attributes:
        plan: where everything lies.
        arena: the memory.
        tensors: every value of the graph by name, but those of which only rows are held;
            constants are as the graph has them.

    """

    plan: ArenaPlan
    arena: NDArray[np.uint8]
    tensors: dict[str, NDArray[Any]]


def place_tensors(
    graph: Graph,
    *,
    overlap: bool = False,
    apart: bool = False,
    outputs_apart: bool = False,
    budget: Budget | None = None,
    plan: ArenaPlan | None = None,
) -> Placed:
    """Plan an arena and allocate it.

    Args:
        graph: a verified graph.
        overlap: let outputs lie on inputs as on a device, for ops that read before they write.
        apart: give every activation memory of its own instead, so that none is overwritten.
        outputs_apart: give model outputs memory of their own, as inputs have it.
        budget: what the activations are taken from; the open one if not given.
        plan: the plan to follow; one is made if not given.

    Raises:
        BudgetError: they take more; nothing was allocated.

    """
    activations = [v for v in graph.values.values() if not v.is_constant]
    budget = budget or current()
    computed = (n for n in graph.outputs if outputs_apart and not graph.value(n).is_constant)
    own = tuple(dict.fromkeys((*graph.inputs, *computed)))
    for value in activations:
        _require(value.nbytes, budget, value.describe())
    if plan is None:
        with limited():
            plan = plan_memory(graph, kernels_of(InstructionSet.SCALAR), overlap=overlap)
    outside = {v.name for v in activations if apart or v.name in own or v.name in plan.outside}
    outside_bytes = sum(graph.value(name).nbytes for name in outside)
    _require(plan.arena_bytes + outside_bytes, budget, "inputs and arena")
    arena = budget.zeros(plan.arena_bytes, "the arena")
    rings = {name for segment in plan.segments for name in segment.rings}
    tensors = {v.name: v.data for v in graph.values.values() if v.data is not None}
    for name in dict.fromkeys((*plan.offsets, *plan.outside, *own)):
        if name in graph.values and name not in rings:
            value = graph.value(name)
            if name in outside:
                home = budget.zeros(value.nbytes, value.describe())
            else:
                home = arena[plan.start_of(name) :]
            tensors[name] = home[: value.nbytes].view(value.dtype.numpy).reshape(value.shape)
    return Placed(plan, arena, tensors)


def _require(nbytes: int, budget: Budget, what: str) -> None:
    try:
        budget.reserve(nbytes, "what the model computes")
    except BudgetError as error:
        error.tensor = what
        raise
