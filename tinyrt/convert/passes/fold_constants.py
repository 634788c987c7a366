"""Ops on constants alone are computed now."""

from __future__ import annotations

from tinyrt.ir import Graph, Node, Patch, Rule, Value
from tinyrt.ops.evaluate import reference_kernel


def fold_constants(graph: Graph, node: Node) -> Patch | None:
    """f(constants) = constant."""
    bound = graph.bind(graph.nodes.index(node))
    if not all(v is None or v.is_constant for v in bound.inputs):
        return None
    arrays = [None if v is None else v.data for v in bound.inputs]
    result = reference_kernel(bound)(*arrays)
    return Patch(remove=(node,), values=(Value.constant(bound.output.name, result),))


FOLD_CONSTANTS = Rule("fold_constants", (), fold_constants)
