"""Common subexpressions."""

from __future__ import annotations

from tinyrt.convert.passes.common import bypass
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule


def merge_duplicates(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(x), f(x): the second reads the first's result."""
    source = node.inputs[0]
    groups = graph.noted(("alike", source), lambda: _groups(graph, source))
    alike = groups[node.op, node.inputs, node.attrs]
    first = alike[0]
    if node is first:
        return None
    if not _is_inner(graph, node):
        return bypass(graph, node, first.output)
    # All in one patch: separate patches would invalidate each other.
    if node is not next(n for n in alike[1:] if _is_inner(graph, n)):
        return None
    twins = tuple(n for n in alike[1:] if _is_inner(graph, n))
    pairs = (pair for n in twins for pair in zip(n.outputs, first.outputs, strict=True))
    return Patch(remove=twins, rename=dict(pairs))


def _is_inner(graph: Graph, node: Node) -> bool:
    """Whether none of the node's outputs is an output of the model."""
    return not any(name in graph.outputs for name in node.outputs)


def _groups(graph: Graph, source: str) -> dict[tuple[str, tuple[str, ...], object], list[Node]]:
    """The consumers of a value by op, inputs and attributes; each list computes the same."""
    groups: dict[tuple[str, tuple[str, ...], object], list[Node]] = {}
    for node in graph.consumers(source):
        groups.setdefault((node.op, node.inputs, node.attrs), []).append(node)
    return groups


MERGE_DUPLICATES = Rule("merge_duplicates", (), merge_duplicates)
