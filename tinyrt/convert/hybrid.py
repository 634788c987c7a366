"""Hybrid ops, float activations with integer weights -> float ops behind a dequantize."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops.shared.spec import NoAttrs

STORED = (DType.INT8, DType.INT4)


def dequantize_weights(graph: Graph) -> Graph:
    """The graph with float weights wherever an op on float32 reads constant integers with scales.

    Runtimes that have hybrid ops quantise activations as they run, sample by sample; here the
    weights are widened instead, which is what they approximate.
    """
    widened: dict[str, str] = {}
    nodes: list[Node] = []
    values: list[Value] = []
    for node in graph.bound():
        first = node.inputs[0] if node.inputs else None
        if node.op == "dequantize" or first is None or first.dtype is not DType.FLOAT32:
            nodes.append(node.node)
            continue
        inputs = list(node.node.inputs)
        for i, value in enumerate(node.inputs):
            if value is None or value.q is None or value.dtype not in STORED or value.data is None:
                continue
            if value.name not in widened:
                name = widened[value.name] = graph.unique_name(f"{value.name}/float")
                values.append(Value(name, DType.FLOAT32, value.shape))
                nodes.append(Node("dequantize", name, (value.name,), (name,), NoAttrs()))
            inputs[i] = widened[value.name]
        nodes.append(replace(node.node, inputs=tuple(inputs)))
    return graph.with_nodes(nodes, values) if values else graph
