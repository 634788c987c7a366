"""Backend ``reference``: the NumPy specification of every op, slow and beyond doubt."""

from __future__ import annotations

import numpy as np

from tinyrt.errors import error_context
from tinyrt.interpreter.program import Program, Step, StepList, Tensors
from tinyrt.ir import BoundNode, Graph
from tinyrt.ops.evaluate import as_tuple, reference_kernel


def prepare(graph: Graph, tensors: Tensors) -> Program:
    """One NumPy call per op.

    Raises:
        UnsupportedError: an op has no reference for its dtypes.

    """
    return StepList([reference_step(node, tensors) for node in graph.bound()])


def reference_step(node: BoundNode, tensors: Tensors) -> Step:
    """A call that reads the node's input tensors and writes its output tensors in place.

    Raises:
        UnsupportedError: the op has no reference for the node's dtypes.

    """
    with error_context(op=node.describe()):
        kernel = reference_kernel(node)
    inputs = [tensors[v.name] if v is not None else None for v in node.inputs]
    outputs = [tensors[v.name] for v in node.outputs]

    def step() -> None:
        for output, found in zip(outputs, as_tuple(kernel(*inputs)), strict=True):
            np.copyto(output, found, casting="no")

    return step
