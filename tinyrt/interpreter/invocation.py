"""What one invocation of an allocated model does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.program import Program, Step, Tensors
from tinyrt.ir import BoundNode, Graph

OnOp = Callable[[BoundNode, NDArray[Any]], None]
"""Called after each op with the node and its output."""


def invocation(program: Program, graph: Graph, tensors: Tensors, on_op: OnOp | None) -> Step:
    """The program, or what runs it op by op for a watcher, and keeps the graph's states.

    A small model takes a microsecond: what can be known before is not looked up in each call.
    """
    steps = program.run if on_op is None else partial(_watched, program, graph, tensors, on_op)
    return partial(_stateful, steps, graph, tensors) if graph.states else steps


def _watched(program: Program, graph: Graph, tensors: Tensors, on_op: OnOp) -> None:
    for node in graph.bound():
        program.run_op(node.index)
        on_op(node, tensors[node.output.name])


def _stateful(steps: Step, graph: Graph, tensors: Tensors) -> None:
    steps()
    for before, after in graph.states:
        np.copyto(tensors[before], tensors[after])
