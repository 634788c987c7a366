"""Weights that the file stores in fewer bits than the op computes in: widened once, when opened."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.ir import Graph, Node, Value
from tinyrt.ops.evaluate import reference_kernel


def widen_weights(graph: Graph) -> tuple[Graph, int]:
    """The graph with its dequantised constants computed.

    Returns:
        The graph, and the bytes that these copies take.

    """
    nodes: list[Node] = []
    widened: list[Value] = []
    for node in graph.bound():
        data = node.input(0).data if node.op == "dequantize" else None
        if data is None or node.output.name in graph.outputs:
            nodes.append(node.node)
        else:
            widened.append(replace(node.output, data=reference_kernel(node)(data)))
    if not widened:
        return graph, 0
    return graph.with_nodes(nodes, widened), sum(v.nbytes for v in widened)
