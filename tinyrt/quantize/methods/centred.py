"""What a layer norm's centring rounds is the same for all channels, and layers do not see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.passes.common import Names
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops import verify
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.quantize.centring import centred_pairs
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.schemes import ACTIVATIONS


def blind_to_shifts(graph: Graph, config: QuantConfig) -> Graph:
    """W (x - mean) = (W - mean of each row) (x - mean): what is added to all channels is lost.

    Where the centred tensor has the steps of what it is centred from (``with_equal_steps``), it is
    rounded by the same amount in all channels. Weights that other layers read, too, stay: there
    would be two of them.

    Args:
        graph: an optimised float graph.
        config: the user's choices; where activations are no int8, it stays.

    """
    if ACTIVATIONS[config.scheme] is not DType.INT8:
        return graph
    names, made = Names(graph), dict[str, Value]()
    pairs = centred_pairs(graph)
    layers = {layer.output: layer.inputs[1] for name in pairs for layer in _layers(graph, name)}
    for name in dict.fromkeys(layers.values()):
        if name not in graph.outputs and all(n.output in layers for n in graph.consumers(name)):
            wide = _constant(graph, name).astype(np.float64)
            data = (wide - wide.mean(axis=1, keepdims=True)).astype(np.float32)
            made[name] = Value.constant(names.new(f"{name}.centred"), data)
    if not made:
        return graph
    nodes = [
        replace(node, inputs=(node.inputs[0], made[node.inputs[1]].name, *node.inputs[2:]))
        if layers.get(node.output) in made
        else node
        for node in graph.nodes
    ]
    return verify(drop_unused_values(graph.with_nodes(nodes, made.values())))


def _layers(graph: Graph, centred: str) -> Iterator[Node]:
    """Dense layers of constant weights that read it, or it times one factor for all channels."""
    for node in graph.consumers(centred):
        if node.op == "fully_connected":
            yield from _dense(graph, node, centred)
        elif node.op == "mul" and fused_activation(node) == "NONE":
            factor = node.inputs[1] if node.inputs[0] == centred else node.inputs[0]
            if graph.value(factor).shape[-1:] == (1,):
                for reader in graph.consumers(node.output):
                    yield from _dense(graph, reader, node.output)


def _dense(graph: Graph, node: Node, x: str) -> Iterator[Node]:
    """The node, if it is such a layer and its rows are as long as those of ``x``."""
    if node.op == "fully_connected" and node.inputs[0] == x:
        w = graph.value(node.inputs[1])
        if w.data is not None and w.shape[-1] == graph.value(x).shape[-1]:
            yield node


def _constant(graph: Graph, name: str) -> NDArray[Any]:
    data = graph.value(name).data
    assert data is not None, "such layers have constant weights"
    return data
