"""Factors of attention move in front of what brings heads to their places, into the layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import (
    CHANNEL_AXIS,
    Names,
    is_private,
    producer,
    split_constant,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops.shared.activation import fused_activation

MOVES = ("reshape", "transpose")


def scale_before_moves(graph: Graph, node: Node) -> Patch | Refusal | None:
    """move(conv(x)) * c = move(conv(x) * c), for a number c and reshapes or transposes.

    The product then becomes part of the layer's weights.
    """
    split = split_constant(graph, node)
    if split is None or split[1].size != 1 or fused_activation(node) != "NONE":
        return None
    moves, layer = _moves_before(graph, node, split[0])
    if not moves or layer is None or layer.op not in CHANNEL_AXIS:
        return None
    if fused_activation(layer) != "NONE":
        return Refusal(node.name, f"'{layer.name}' clamps")
    if not all(is_private(graph, n.output) for n in (layer, *moves)):
        return Refusal(node.name, f"what '{layer.name}' computes has other readers")
    source, output = graph.value(layer.output), graph.value(node.output)
    if output.shape != graph.value(moves[-1].output).shape:
        return Refusal(node.name, "its constant adds dimensions")
    names = Names(graph)
    factor = Value.constant(names.new(f"{node.name}.factor"), np.reshape(split[1], (1,)))
    scaled = replace(source, name=names.new(f"{source.name}.scaled"))
    product = replace(
        node, name=scaled.name, inputs=(source.name, factor.name), outputs=(scaled.name,)
    )
    first = replace(moves[0], inputs=(scaled.name, *moves[0].inputs[1:]))
    moved = [first, *moves[1:]]
    moved[-1] = replace(moved[-1], name=node.name, outputs=node.outputs)
    return Patch(remove=(*moves, node), add=(product, *moved), values=(factor, scaled))


def _moves_before(graph: Graph, node: Node, i: int) -> tuple[list[Node], Node | None]:
    """The moves in front of an operand, in order, and what comes before them."""
    moves: list[Node] = []
    maker = producer(graph, node, i)
    while maker is not None and maker.op in MOVES:
        moves.insert(0, maker)
        maker = producer(graph, maker)
    return moves, maker


SCALE_BEFORE_MOVES = Rule("scale_before_moves", ("mul",), scale_before_moves)
