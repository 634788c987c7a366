"""A layer that mixes heads, between two transposes, becomes windows over heads as they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import (
    Array,
    Names,
    inverse,
    is_private,
    moves_only_units,
    producer,
    spend_on_arrays,
    weights_and_bias,
)
from tinyrt.convert.passes.heads_into_layer import reads_rows
from tinyrt.convert.passes.unroll_heads import MAX_HEADS
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.transpose import TransposeAttrs

LANES = 8
"""Channels that kernels compute at once; more would repeat a head's weights more often."""

FEWEST_LANES = 6

PER_CHANNEL = 12
"""Bytes of a channel's bias, multiplier and shift beside its weights."""


def mix_heads(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(transpose(x) @ w.T) = join(w[0] . x, w[1] . x, ...), a window over heads for each.

    The transposes undo each other. Elements of a head lie side by side, as channels that have the
    same weights: each head keeps the scale of its row, and its bias.
    """
    layer = producer(graph, node)
    first = producer(graph, layer, op="transpose") if layer is not None else None
    if layer is None or first is None or layer.op not in ("fully_connected", "conv2d"):
        return None
    w, bias = weights_and_bias(graph, layer)
    source, perm = graph.value(first.inputs[0]), first.attrs_as(TransposeAttrs).perm
    if w is None or bias is None or not reads_rows(layer, w.shape):
        return None
    if inverse(perm) != node.attrs_as(TransposeAttrs).perm or w.shape[-1] != source.shape[perm[-1]]:
        return None
    if moves_only_units(source.shape, perm) or math.prod(source.shape[: perm[-1]]) != 1:
        return None
    if max(len(w), w.shape[-1]) > MAX_HEADS:
        return Refusal(node.name, f"more than {MAX_HEADS} heads would cost more code than moves")
    if not is_private(graph, first.output) or not is_private(graph, layer.output):
        return Refusal(node.name, f"what '{layer.name}' reads or gives has other readers")
    elements = math.prod(source.shape[perm[-1] + 1 :])
    lanes = _lanes(elements)
    if lanes * (w.shape[-1] + PER_CHANNEL) > elements:
        return Refusal(node.name, "weights of windows would take more bytes than a head")
    spend_on_arrays(f"the weights of '{layer.name}'", lanes * (w.size + len(w)), itemsize=4)
    rows = w.reshape(len(w), -1)
    return _mixed(graph, (first, layer, node), rows, bias, (elements // lanes, lanes))


def _lanes(elements: int) -> int:
    """How many of a head's elements are channels of an image: a divisor."""
    if elements % LANES == 0:
        return LANES
    return next(n for n in range(min(FEWEST_LANES, elements), elements + 1) if elements % n == 0)


def _mixed(
    graph: Graph, old: Sequence[Node], w: Array, bias: Array, sizes: tuple[int, int]
) -> Patch:
    """Heads as lines of an image of (rows, channels), a window of one column for each new head."""
    first, layer, last = old
    source, output = graph.value(first.inputs[0]), graph.value(last.output)
    names, heads = Names(graph), w.shape[1]
    image = replace(source, name=names.new(f"{source.name}.image"), shape=(1, heads, *sizes))
    nodes = [_reshaped(source.name, image.name, image.shape)]
    values, parts = [image], []
    attrs = DepthwiseConv2dAttrs(padding="VALID", activation=fused_activation(layer))
    for row, shift in zip(w, bias, strict=True):
        taps = np.repeat(row[None, :, None, None], sizes[1], axis=3)
        weights = Value.constant(names.new(f"{layer.inputs[1]}.head"), taps)
        shifts = np.full(sizes[1], shift, np.float32)
        offsets = Value.constant(names.new(f"{layer.output}.bias.head"), shifts)
        head = replace(output, name=names.new(f"{output.name}.head"), shape=(1, 1, *sizes))
        inputs = (image.name, weights.name, offsets.name)
        nodes.append(Node("depthwise_conv2d", head.name, inputs, (head.name,), attrs))
        values += [weights, offsets, head]
        parts.append(head.name)
    joined = replace(output, name=names.new(f"{output.name}.joined"), shape=(1, len(w), *sizes))
    join = ConcatenationAttrs(1)
    nodes += [
        Node("concatenation", joined.name, tuple(parts), (joined.name,), join),
        _reshaped(joined.name, last.output, output.shape),
    ]
    return Patch(remove=tuple(old), add=tuple(nodes), values=(*values, joined))


def _reshaped(source: str, name: str, shape: Shape) -> Node:
    return Node("reshape", name, (source,), (name,), ReshapeAttrs(shape))


MIX_HEADS = Rule("mix_heads", ("transpose",), mix_heads)
