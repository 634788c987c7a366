"""Backend ``reference``: the NumPy specification of every op, slow and beyond doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tinyrt.backends.program import Program, Step, StepList, Tensors
from tinyrt.errors import error_context
from tinyrt.ir import BoundNode, Graph
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import as_tuple, reference_kernel
from tinyrt.ops.shared.spec import Form, OpSpec, Outputs


def _references(spec: OpSpec[Any]) -> dict[Form, Callable[..., Outputs]]:
    floats = {Form.FLOAT: spec.ref_f32} if spec.ref_f32 is not None else {}
    return floats | {form: integer.ref for form, integer in spec.forms.items()}


KERNELS: Mapping[str, Mapping[Form, Callable[..., Outputs]]] = {
    op: _references(spec) for op, spec in OPS.items()
}
"""Op -> form -> its reference."""


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
        for output, result in zip(outputs, as_tuple(kernel(*inputs)), strict=True):
            np.copyto(output, result, casting="no")

    return step
