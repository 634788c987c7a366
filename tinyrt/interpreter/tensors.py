"""Where a graph's tensors lie: constants in the model file, activations in one planned arena.

Model inputs have memory of their own beside the arena, as they may have on a device: ops that reuse
their place would overwrite them, and a program may set an input once and invoke many times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import Graph
from tinyrt.memory import ArenaPlan, plan_memory


def place_tensors(
    graph: Graph, *, overlap: bool = False, apart: bool = False
) -> tuple[ArenaPlan, dict[str, NDArray[Any]]]:
    """Plan an arena and allocate it.

    Args:
        graph: a verified graph.
        overlap: let outputs lie on inputs as on a device, for ops that read before they write.
        apart: give every activation memory of its own instead, so that none is overwritten.

    Returns:
        The plan, and every value of the graph by name; constants are as the graph has them.

    """
    plan = plan_memory(graph, overlap=overlap)
    arena = np.zeros(plan.arena_bytes, np.uint8)
    tensors = {v.name: v.data for v in graph.values.values() if v.data is not None}
    for name in plan.outside:
        value = graph.value(name)
        tensors[name] = np.zeros(value.shape, value.dtype.numpy)
    for name, offset in plan.offsets.items():
        if name in graph.values:
            value = graph.value(name)
            outside = apart or name in graph.inputs
            home = np.zeros(value.nbytes, np.uint8) if outside else arena[offset:]
            tensors[name] = home[: value.nbytes].view(value.dtype.numpy).reshape(value.shape)
    return plan, tensors
