"""Weights that the file stores in fewer bits than the op computes in: widened once, when opened."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tinyrt.budget import Budget
from tinyrt.errors import error_context
from tinyrt.ir import Graph, Node, Value
from tinyrt.ops.shared.evaluate import reference_kernel

WIDENING = 8
"""Bytes of intermediate arrays per element while one constant is widened."""


def widen_weights(graph: Graph, budget: Budget) -> tuple[Graph, int]:
    """The graph with its dequantised constants computed.

    Args:
        graph: a verified graph.
        budget: what the copies are taken from.

    Returns:
        The graph, and the bytes that these copies take.

    Raises:
        BudgetError: they take more.

    """
    nodes: list[Node] = []
    widened: list[Value] = []
    for node in graph.bound():
        data = node.input(0).data if node.op == "dequantize" else None
        if data is None or node.output.name in graph.outputs:
            nodes.append(node.node)
            continue
        what = f"the widened weights {node.output.describe()}"
        nbytes = node.output.nbytes + WIDENING * node.output.size
        with error_context(op=node.describe()):
            compute = partial(reference_kernel(node), data)
            wide = budget.computed(what, nbytes, compute, node.output.size)
        widened.append(replace(node.output, data=wide))
    if not widened:
        return graph, 0
    return graph.with_nodes(nodes, widened), sum(v.nbytes for v in widened)
