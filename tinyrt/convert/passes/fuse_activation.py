"""Clamps into the ops in front of them."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import ACTIVATIONS, is_private, producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops import ops_where
from tinyrt.ops.shared.activation import BOUNDS, fused_activation, with_activation

FUSING = ops_where(lambda spec: spec.traits.fuses)
"""Ops that clamp their output."""

_NAMED = {bounds: name for name, bounds in BOUNDS.items()}
_OPS = {activation: op for op, activation in ACTIVATIONS.items()}


def fuse_activation(graph: Graph, node: Node) -> Patch | Refusal | None:
    """relu(conv(x)) = conv(x, activation=RELU), relu6(relu(x)) = relu6(x), and their like."""
    first = producer(graph, node)
    if first is None or first.op not in (*FUSING, *ACTIVATIONS):
        return None
    if not is_private(graph, first.output):
        return Refusal(node.name, f"the output of '{first.name}' has other readers")
    before = ACTIVATIONS.get(first.op) or fused_activation(first)
    both = _intersection(before, ACTIVATIONS[node.op])
    if both is None:
        return Refusal(node.name, f"no activation clamps as {before}, then {node.op}, do")
    if first.op in ACTIVATIONS:
        fused = replace(first, op=_OPS[both], outputs=node.outputs)
    else:
        attrs = with_activation(first, both)
        fused = replace(first, outputs=node.outputs, attrs=attrs)
    return Patch(remove=(first, node), add=(fused,))


def _intersection(first: str, second: str) -> str | None:
    """The activation that clamps as both do; None where it has no name."""
    (low1, high1), (low2, high2) = BOUNDS[first], BOUNDS[second]
    return _NAMED.get((max(low1, low2), min(high1, high2)))


FUSE_ACTIVATION = Rule("fuse_activation", tuple(ACTIVATIONS), fuse_activation)
