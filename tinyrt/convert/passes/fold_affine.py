"""Products with and sums of constants per channel into the weights in front of them."""

from __future__ import annotations

from tinyrt.convert.passes.common import (
    AFFINE,
    CHANNEL_AXIS,
    channel_vector,
    producer,
    rescaled,
    scale_and_shift,
    split_constant,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.shared.activation import fused_activation


def fold_affine(graph: Graph, node: Node) -> Patch | Refusal | None:
    """conv(x, w, b) * c = conv(x, w*c, b*c), conv(x, w, b) + c = conv(x, w, b + c)."""
    split = split_constant(graph, node)
    if split is None:
        return None
    position, constant = split
    weighted = producer(graph, node, position)
    if weighted is None or weighted.op not in CHANNEL_AXIS:
        return None
    vector = channel_vector(constant, graph.value(weighted.output).shape)
    if vector is None:
        return Refusal(node.name, f"its constant {list(constant.shape)} is not one per channel")
    factor, shift = scale_and_shift(node.op, vector, position)
    return rescaled(graph, weighted, factor, shift, node, fused_activation(node))


FOLD_AFFINE = Rule("fold_affine", AFFINE, fold_affine)
