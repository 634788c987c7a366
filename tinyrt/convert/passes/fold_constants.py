"""Ops on constants alone are computed now."""

from __future__ import annotations

from collections.abc import Mapping

from tinyrt.ir import BoundNode, Graph, Node, Patch, Rule, Value
from tinyrt.ops.shared.evaluate import folded


def fold_constants(graph: Graph, node: Node) -> Patch | None:
    """f(constants) = constant; then also the ops whose inputs have all become constant."""
    constants: dict[str, Value] = {}
    folded_nodes: dict[str, Node] = {}
    open_reads: dict[str, int] = {}
    queue = [node]
    while queue:
        node = queue.pop()
        inputs = None if node.output in folded_nodes else _constants(graph, node, constants)
        if inputs is None:
            continue
        outputs = tuple(graph.value(n) for n in node.outputs)
        results = folded(BoundNode(0, node, inputs, outputs))
        constants |= {
            v.name: Value.constant(v.name, x) for v, x in zip(outputs, results, strict=True)
        }
        folded_nodes[node.output] = node
        for name in open_reads.keys() & node.inputs:
            open_reads[name] -= 1
            if not open_reads[name] and name not in graph.outputs:
                del constants[name]  # every consumer is computed: free its memory
        open_reads |= {value.name: len(graph.consumers(value.name)) for value in outputs}
        readers = [reader for value in outputs for reader in graph.consumers(value.name)]
        queue += reversed(readers)
    return (
        Patch(remove=tuple(folded_nodes.values()), values=tuple(constants.values()))
        if folded_nodes
        else None
    )


def _constants(
    graph: Graph, node: Node, constants: Mapping[str, Value]
) -> tuple[Value | None, ...] | None:
    """The node's inputs, if all are constant with ``constants`` in place."""
    inputs = tuple(constants.get(n) or graph.value(n) if n else None for n in node.inputs)
    return inputs if all(v is None or v.is_constant for v in inputs) else None


FOLD_CONSTANTS = Rule("fold_constants", (), fold_constants)
