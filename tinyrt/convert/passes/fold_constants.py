"""Ops on constants alone are computed now."""

from __future__ import annotations

from tinyrt.ir import BoundNode, Graph, Node, Patch, Rule, Value
from tinyrt.ops.evaluate import reference_kernel


def fold_constants(graph: Graph, node: Node) -> Patch | None:
    """f(constants) = constant."""
    inputs = tuple(graph.value(n) if n else None for n in node.inputs)
    if not all(v is None or v.is_constant for v in inputs):
        return None
    output = graph.value(node.outputs[0])
    kernel = reference_kernel(BoundNode(0, node, inputs, (output,)))
    result = kernel(*(None if v is None else v.data for v in inputs))
    return Patch(remove=(node,), values=(Value.constant(output.name, result),))


FOLD_CONSTANTS = Rule("fold_constants", (), fold_constants)
