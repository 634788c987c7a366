"""What scales and shifts channels becomes one layer, which rounds once and has exact factors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import (
    Array,
    channel_vector,
    is_private,
    scale_and_shift,
    split_constant,
)
from tinyrt.ir import DType, Graph, Node, Shape, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops import verify
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.methods.turned import layer_name
from tinyrt.quantize.schemes import ACTIVATIONS, named_schemes

LAYERS = ("fully_connected", "conv2d")
"""What reads the answers of a norm that is smoothed: factors move into the weights there."""


def merge_affine(
    graph: Graph, config: QuantConfig, chosen: Callable[[str], bool] = lambda name: True
) -> Graph:
    """X * factors + shifts = depthwise(x): a window of one pixel, a weight for each channel.

    In int8 a product by itself and a sum by itself each round to 256 steps, and the factors share
    one scale. The layer's weights have a scale each, and its bias 32 bits: its output alone is
    rounded. Layer norms leave such pairs where a residual sum reads them, too, as in BERT. Where
    layers alone read them, ``equalize`` has better uses for them.

    Args:
        graph: an optimised float graph.
        config: the user's choices; where activations are no int8, or patterns name an op, it stays.
        chosen: whether the sum of that output, with its product, is merged.

    """
    if ACTIVATIONS[config.scheme] is not DType.INT8:
        return graph
    named = named_schemes(graph, config)
    nodes: list[Node] = []
    values: list[Value] = []
    gone: set[str] = set()
    for node in graph.nodes:
        pair = _pair(graph, node) if node.output not in named else None
        if pair is not None and pair[0].output not in named and chosen(pair[0].output):
            last, factors, shifts = pair
            layer, made = _layer(graph, node, last, factors, shifts)
            nodes += layer
            values += made
            gone.add(last.output)
        elif node.output not in gone:
            nodes.append(node)
    return verify(drop_unused_values(graph.with_nodes(nodes, values))) if gone else graph


def _pair(graph: Graph, node: Node) -> tuple[Node, Array, Array] | None:
    """The sum behind a product by one factor a channel, with the factors and what is added."""
    first = _by_channel(graph, node) if node.op == "mul" else None
    if first is None or fused_activation(node) != "NONE" or not is_private(graph, node.output):
        return None
    (last,) = graph.consumers(node.output)
    second = _by_channel(graph, last) if last.op in ("add", "sub") else None
    if second is None or all(n.op in LAYERS for n in graph.consumers(last.output)):
        return None
    (factors, _), (signs, shifts) = first, second
    return last, factors * signs, shifts


def _by_channel(graph: Graph, node: Node) -> tuple[Array, Array] | None:
    """Factors and shifts of an op with one constant operand; None where these differ otherwise."""
    split = split_constant(graph, node)
    if split is None:
        return None
    position, constant = split
    if constant.size == 1:
        return None  # tables have functions of one number
    shape = graph.value(node.inputs[position]).shape
    vector = channel_vector(constant, shape)
    if vector is None or len(shape) < 2:
        return None
    return scale_and_shift(node.op, vector, position)


def _layer(
    graph: Graph, first: Node, last: Node, factors: Array, shifts: Array
) -> tuple[list[Node], list[Value]]:
    """The layer between reshapes, in place of both ops; its constants and what lies in between."""
    output, source = (
        graph.value(last.output),
        next(graph.value(name) for name in first.inputs if not graph.value(name).is_constant),
    )
    channels = output.shape[-1]
    image: Shape = (1, 1, math.prod(output.shape[:-1]), channels)
    name = output.name
    weights = Value.constant(
        graph.unique_name(f"{name}.weights"), factors.astype(np.float32).reshape(1, 1, 1, channels)
    )
    bias = Value.constant(graph.unique_name(f"{name}.bias"), shifts.astype(np.float32))
    x = replace(source, name=graph.unique_name(f"{name}.rows"), shape=image)
    y = replace(output, name=graph.unique_name(layer_name(name)), shape=image)
    attrs = DepthwiseConv2dAttrs(padding="VALID", activation=fused_activation(last))
    nodes = [
        Node("reshape", x.name, (source.name,), (x.name,), ReshapeAttrs(image)),
        Node("depthwise_conv2d", y.name, (x.name, weights.name, bias.name), (y.name,), attrs),
        Node("reshape", last.name, (y.name,), last.outputs, ReshapeAttrs(output.shape)),
    ]
    return nodes, [weights, bias, x, y]
