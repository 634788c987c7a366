"""arg_max and arg_min on int16: files have them on the real values that the integers stand for.

No runtime has ARG_MAX on int16. Scales are positive and a float32 tells all multiples of one apart,
so that both orders are the same, ties included: written, a dequantize stands in front of the op;
read, the op takes the integers themselves, of int8 as well, and needs no memory for floats.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph, Node, Value
from tinyrt.ops.arg import CHOICES
from tinyrt.ops.shared.spec import NoAttrs


def places_in_float(graph: Graph) -> Graph:
    """The graph with a dequantize in front of each such op on int16."""
    nodes: list[Node] = []
    values: list[Value] = []
    for node in graph.bound():
        x = node.optional(0)
        if node.op not in CHOICES or x is None or x.dtype is not DType.INT16:
            nodes.append(node.node)
            continue
        name = graph.unique_name(f"{node.output.name}/real")
        values.append(Value(name, DType.FLOAT32, x.shape))
        nodes.append(Node("dequantize", name, (x.name,), (name,), NoAttrs()))
        nodes.append(replace(node.node, inputs=(name,)))
    return graph.with_nodes(nodes, values) if values else graph


def places_in_integers(graph: Graph) -> Graph:
    """The graph with each such op on the integers themselves, where it reads a dequantize."""
    integers = {n.output.name: n.input(0).name for n in graph.bound() if _serves_order(graph, n)}
    if not integers:
        return graph
    nodes = [
        replace(node, inputs=tuple(integers.get(name, name) for name in node.inputs))
        for node in graph.nodes
        if node.output not in integers
    ]
    values = {name: value for name, value in graph.values.items() if name not in integers}
    return replace(graph, nodes=tuple(nodes), values=values)


def _serves_order(graph: Graph, node: BoundNode) -> bool:
    """Whether the node dequantises for such ops alone, and keeps the order of its input."""
    if node.op != "dequantize" or node.output.name in graph.outputs:
        return False
    x, readers = node.input(0), graph.consumers(node.output.name)
    if x.is_constant or x.q is None or len(x.q.scales) != 1:
        return False
    limits = np.finfo(np.float32)
    is_finite = float(limits.tiny) <= x.q.scale <= float(limits.max) / 2**16
    return is_finite and bool(readers) and all(n.op in CHOICES for n in readers)
