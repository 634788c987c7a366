"""Dead code and identities."""

from __future__ import annotations

import numpy as np

from tinyrt.convert.passes.common import bypass, constant_data, split_constant
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.transpose import TransposeAttrs


def remove_dead(graph: Graph, node: Node) -> Patch | None:
    """A node whose outputs nothing reads goes."""
    is_read = any(o in graph.outputs or graph.consumers(o) for o in node.outputs)
    return None if is_read else Patch(remove=(node,))


def remove_identity(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(x) = x: reshape to the same shape, pad by nothing, x + 0, x * 1, max(x, -inf), ... go."""
    if fused_activation(node) != "NONE":
        return None
    position = _neutral_operand(graph, node) if node.op in NEUTRAL else _unchanged(graph, node)
    return None if position is None else bypass(graph, node, node.inputs[position])


def _neutral_operand(graph: Graph, node: Node) -> int | None:
    """The operand that a binary op with a neutral constant returns unchanged."""
    split = split_constant(graph, node)
    if split is None or (split[0] == 1 and node.op == "sub"):
        return None
    position, constant = split
    low, high = NEUTRAL[node.op]
    is_neutral = np.all((low <= constant) & (constant <= high))
    return position if is_neutral and _keeps_shape(graph, node, position) else None


def _keeps_shape(graph: Graph, node: Node, position: int) -> bool:
    return graph.value(node.inputs[position]).shape == graph.value(node.output).shape


def _unchanged(graph: Graph, node: Node) -> int | None:
    """The operand that an op which moves or chooses data leaves as it is."""
    if node.op == "select_v2":
        return _chosen(graph, node)
    if node.op in ("reshape", "pad"):
        is_same = _keeps_shape(graph, node, 0)
    elif node.op == "transpose":
        perm = node.attrs_as(TransposeAttrs).perm
        is_same = perm == tuple(sorted(perm))
    elif node.op == "concatenation":
        is_same = len(node.inputs) == 1
    else:
        pool = node.attrs_as(Pool2dAttrs)
        is_same = pool.kernel == pool.stride == (1, 1)
    return 0 if is_same else None


def _chosen(graph: Graph, node: Node) -> int | None:
    """The operand that a condition which is known takes everywhere."""
    truth = constant_data(graph, node.inputs[0])
    if truth is None or truth.all() != truth.any():
        return None
    position = 1 if truth.all() else 2
    return position if _keeps_shape(graph, node, position) else None


GREATEST = float(np.finfo(np.float32).max)
"""What exporters write in place of infinity, where they mean no limit."""

NEUTRAL = {
    "add": (0.0, 0.0),
    "sub": (0.0, 0.0),
    "mul": (1.0, 1.0),
    "maximum": (-np.inf, -GREATEST),
    "minimum": (GREATEST, np.inf),
}
"""Binary ops -> the constants that change nothing, from the least to the greatest."""

REMOVE_DEAD = Rule("remove_dead", (), remove_dead)
REMOVE_IDENTITY = Rule(
    "remove_identity",
    (
        *(*NEUTRAL, "reshape", "transpose", "pad", "concatenation", "select_v2"),
        *("max_pool2d", "average_pool2d"),
    ),
    remove_identity,
)
