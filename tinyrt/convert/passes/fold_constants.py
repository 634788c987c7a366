"""Ops on constants alone are computed now."""

from __future__ import annotations

from tinyrt.ir import BoundNode, Graph, Node, Patch, Rule, Value
from tinyrt.ops.evaluate import folded


def fold_constants(graph: Graph, node: Node) -> Patch | None:
    """f(constants) = constant."""
    inputs = tuple(graph.value(n) if n else None for n in node.inputs)
    if not all(v is None or v.is_constant for v in inputs):
        return None
    outputs = tuple(graph.value(n) for n in node.outputs)
    results = zip(outputs, folded(BoundNode(0, node, inputs, outputs)), strict=True)
    return Patch(remove=(node,), values=tuple(Value.constant(v.name, x) for v, x in results))


FOLD_CONSTANTS = Rule("fold_constants", (), fold_constants)
