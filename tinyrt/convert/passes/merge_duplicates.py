"""Common subexpressions."""

from __future__ import annotations

from tinyrt.convert.passes.common import bypass
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule


def merge_duplicates(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(x), f(x): the second reads the first's result."""
    if not node.inputs:
        return None
    source = node.inputs[0]
    firsts = graph.noted(("firsts", source), lambda: _firsts(graph, source))
    for other in firsts[_signature(node)]:
        if other is node:
            return None
        if other.attrs == node.attrs:
            return bypass(graph, node, other.outputs[0])
    return None


def _firsts(graph: Graph, source: str) -> dict[tuple[object, ...], list[Node]]:
    """The readers of a value that do something else than those before them."""
    found: dict[tuple[object, ...], list[Node]] = {}
    for node in graph.consumers(source):
        alike = found.setdefault(_signature(node), [])
        if all(other.attrs != node.attrs for other in alike):
            alike.append(node)
    return found


def _signature(node: Node) -> tuple[object, ...]:
    """What nodes that compute the same have in common, beside their attributes."""
    return node.op, node.inputs


MERGE_DUPLICATES = Rule("merge_duplicates", (), merge_duplicates)
