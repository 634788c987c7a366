"""Dead code and identities."""

from __future__ import annotations

import numpy as np

from tinyrt.convert.passes.common import bypass, split_constant
from tinyrt.ir import BoundNode, Graph, Node, Patch, Refusal, Rule


def remove_dead(graph: Graph, node: Node) -> Patch | None:
    """A node whose outputs nothing reads goes."""
    is_read = any(o in graph.outputs or graph.consumers(o) for o in node.outputs)
    return None if is_read else Patch(remove=(node,))


def remove_identity(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(x) = x: reshape to the same shape, pad by nothing, x + 0, x * 1, ... go."""
    bound = graph.bind(graph.nodes.index(node))
    position = _identity_of(graph, bound)
    return None if position is None else bypass(graph, node, node.inputs[position])


def _identity_of(graph: Graph, bound: BoundNode) -> int | None:
    """Which input the node returns unchanged."""
    node, attrs = bound.node, bound.attrs
    if getattr(attrs, "activation", "NONE") != "NONE":
        return None
    if node.op in NEUTRAL:
        split = split_constant(graph, node)
        if split is None or (split[0] == 1 and node.op == "sub"):
            return None
        position, constant = split
        same = bound.input(position).shape == bound.output.shape
        return position if same and np.all(constant == NEUTRAL[node.op]) else None
    if node.op in ("reshape", "pad"):
        is_identity = bound.input(0).shape == bound.output.shape
    elif node.op == "transpose":
        is_identity = attrs.perm == tuple(sorted(attrs.perm))
    elif node.op == "concatenation":
        is_identity = len(node.inputs) == 1
    else:
        is_identity = attrs.kernel == attrs.stride == (1, 1)
    return 0 if is_identity else None


NEUTRAL = {"add": 0.0, "sub": 0.0, "mul": 1.0}
"""Binary ops -> the constant that changes nothing."""

REMOVE_DEAD = Rule("remove_dead", (), remove_dead)
REMOVE_IDENTITY = Rule(
    "remove_identity",
    (*NEUTRAL, "reshape", "transpose", "pad", "concatenation", "max_pool2d", "average_pool2d"),
    remove_identity,
)
