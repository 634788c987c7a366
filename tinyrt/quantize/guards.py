"""A float model's guards against NaN, which integers do not need."""

from __future__ import annotations

from tinyrt.convert.passes.common import bypass
from tinyrt.convert.passes.patterns import op_before
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Stage, rewrite
from tinyrt.ops import verify


def remove_guard(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X != x ? c : x = x, where x is no NaN: integers are none.

    PyTorch guards softmax in this way: a row that is masked entirely would give NaN.
    """
    guard = op_before(graph, node.inputs[0], "not_equal")
    x = node.inputs[2]
    if guard is None or guard.inputs != (x, x):
        return None
    if graph.value(x).shape != graph.value(node.output).shape:
        return Refusal(node.name, "it makes its operand larger")
    return bypass(graph, node, x)


REMOVE_GUARD = Rule("remove_guard", ("select_v2",), remove_guard)


def without_guards(graph: Graph) -> Graph:
    """The graph without guards against NaN."""
    return rewrite(graph, (REMOVE_GUARD, REMOVE_DEAD), lambda g: verify(g, Stage.FLOAT))
