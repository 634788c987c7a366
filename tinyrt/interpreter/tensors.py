"""Where a graph's tensors lie: constants in the model file, activations in one planned arena.

Model inputs have memory of their own beside the arena, as they may have on a device: ops that reuse
their place would overwrite them, and a program may set an input once and invoke many times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import BudgetError
from tinyrt.ir import Graph
from tinyrt.memory import ArenaPlan, plan_memory

MAX_MEMORY = 1 << 30
"""Bytes that a model's activations may take where nobody says otherwise: a file that asks for more
is more likely to be broken than in need of it."""


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
    max_memory: int = MAX_MEMORY,
    plan: ArenaPlan | None = None,
) -> Placed:
    """Plan an arena and allocate it.

    Args:
        graph: a verified graph.
        overlap: let outputs lie on inputs as on a device, for ops that read before they write.
        apart: give every activation memory of its own instead, so that none is overwritten.
        max_memory: bytes that the activations may take.
        plan: the plan to follow; one is made if not given.

    Raises:
        BudgetError: they take more; nothing was allocated.

    """
    activations = [v for v in graph.values.values() if not v.is_constant]
    for value in activations:
        _require(value.nbytes, max_memory, value.describe())
    if plan is None:
        plan = plan_memory(graph, overlap=overlap)
    kept = sum(v.nbytes for v in activations if apart or v.name in graph.inputs)
    _require(plan.arena_bytes + kept, max_memory, "inputs and arena")
    arena = np.zeros(plan.arena_bytes, np.uint8)
    rings = {name for segment in plan.segments for name in segment.rings}
    tensors = {v.name: v.data for v in graph.values.values() if v.data is not None}
    for name in dict.fromkeys((*plan.offsets, *plan.outside, *graph.inputs)):
        if name in graph.values and name not in rings:
            value = graph.value(name)
            outside = apart or name in graph.inputs or name in plan.outside
            home = np.zeros(value.nbytes, np.uint8) if outside else arena[plan.start_of(name) :]
            tensors[name] = home[: value.nbytes].view(value.dtype.numpy).reshape(value.shape)
    return Placed(plan, arena, tensors)


def _require(nbytes: int, max_memory: int, what: str) -> None:
    if nbytes > max_memory:
        raise BudgetError(
            f"the model asks for {nbytes:,} bytes",
            tensor=what,
            expected=f"at most {max_memory:,}",
            hint="raise --max-memory if you trust the file, or run smaller batches",
        )
