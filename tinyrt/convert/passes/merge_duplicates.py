"""Common subexpressions."""

from __future__ import annotations

from tinyrt.convert.passes.common import bypass
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule


def merge_duplicates(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(x), f(x): the second reads the first's result."""
    for other in graph.consumers(node.inputs[0]) if node.inputs else ():
        if other is node:
            return None
        if (other.op, other.inputs, other.attrs) == (node.op, node.inputs, node.attrs):
            return bypass(graph, node, other.outputs[0])
    return None


MERGE_DUPLICATES = Rule("merge_duplicates", (), merge_duplicates)
