"""Depthwise layers whose weights are in parts -> layers with weights of 16 bits.

A file knows weights of int8 alone. Wider ones are parts there, each of which reads its own copy of
every row: ``concatenation``, and a ``depthwise_conv2d`` over rows of the parts' taps in turn. The
packed kernels for 3 x 3 taps hold weights in 16 bits, whatever they are stored in. For them the parts
are added up again, and rows are read once: ``sum(x * w1) + sum(x * w2) = sum(x * (w1 + w2))``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tinyrt.backends.c.blocks.depthwise import filters_of
from tinyrt.backends.c.blocks.layer import BLOCK_SETS
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.one_channel import is_rather_convolution
from tinyrt.ir import BoundNode, DType, Graph, Node, Value
from tinyrt.ops import prepared
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs, window_of
from tinyrt.ops.shared.windowed import ConvolutionS8


MAX_WIDE = (1 << 14) - 1
"""Bound of absolute weights: kernels double them within 16 bits."""


def rejoined(graph: Graph, isa: InstructionSet) -> Graph:
    """The graph as the kernels of an instruction set take it; the same one where nothing changes."""
    if isa not in BLOCK_SETS:
        return graph
    makers = {name: node for node in graph.nodes for name in node.outputs}
    replaced: dict[int, Node] = {}
    values = dict(graph.values)
    for node in graph.bound():
        found = _whole(graph, makers, node, isa) if node.op == "depthwise_conv2d" else None
        if found is not None:
            x, attrs, w = found
            w = replace(w, name=graph.unique_name(w.name, values))
            values[w.name] = w
            inputs = (x, w.name, *node.node.inputs[2:])
            replaced[node.index] = replace(node.node, inputs=inputs, attrs=attrs)
    if not replaced:
        return graph
    nodes = [replaced.get(i, node) for i, node in enumerate(graph.nodes)]
    return _without_unread(replace(graph, nodes=tuple(nodes), values=values))


def _whole(
    graph: Graph, makers: dict[str, Node], node: BoundNode, isa: InstructionSet
) -> tuple[str, DepthwiseConv2dAttrs, Value] | None:
    """What the layer reads, its attributes and weights; None unless it is one of parts."""
    source, times = _rows_read(graph, makers, node.input(0))
    w, a = node.input(1), node.attrs_as(DepthwiseConv2dAttrs)
    if source is None or w.data is None or w.dtype is not DType.INT8 or a.stride[0] % times:
        return None
    x = graph.value(source)
    attrs = replace(a, stride=(a.stride[0] // times, a.stride[1]), wide=True)
    # Rows of zeros above, where SAME had half of an odd row there.
    above = times - 1 if w.shape[1] % times else 0
    data = np.asarray(w.data)
    if (w.shape[1] - above) % times or data[:, :above].any():
        return None
    lines = data[:, above:].reshape(1, -1, times, *w.shape[2:])
    whole = lines.sum(axis=2, dtype=np.int32)
    mine = window_of(attrs, x.shape, whole.shape)
    old = window_of(a, node.input(0).shape, w.shape)
    if mine.out != old.out or old.before[0] - above != times * mine.before[0]:
        return None
    if np.abs(whole).max() > MAX_WIDE:
        return None
    wide = Value.constant(f"{w.name}/whole", whole.astype(np.int16), w.q)
    made = replace(node.node, attrs=attrs)
    bound = BoundNode(node.index, made, (x, wide, *node.inputs[2:]), node.outputs)
    return (source, attrs, wide) if _has_kernel(bound, isa) else None


def _has_kernel(node: BoundNode, isa: InstructionSet) -> bool:
    """Whether there is a kernel for the layer as a whole."""
    p = prepared(node, ConvolutionS8)
    if is_rather_convolution(node, p.window, isa):
        return False
    return filters_of(node, p.window, p.x_zp, p.requant, isa) is not None


def _rows_read(graph: Graph, makers: dict[str, Node], image: Value) -> tuple[str | None, int]:
    """Name of the image whose rows are repeated, and how often; no name where none are."""
    joined = _reshaped(graph, makers, image)
    maker = None if joined is None else makers.get(joined.name)
    if joined is None or maker is None or maker.op != "concatenation":
        return None, 1
    times, axis = len(maker.inputs), _axis(maker)
    apart = graph.value(maker.inputs[0])
    x = _reshaped(graph, makers, apart)
    if x is None or len(x.shape) != 4 or set(maker.inputs) != {apart.name} or axis != 2:
        return None, 1
    n, h, w, c = x.shape
    in_lines = apart.shape == (n, h, 1, w * c) and image.shape == (n, h * times, w, c)
    is_moved = apart.q == joined.q == image.q == x.q
    return (x.name, times) if in_lines and is_moved and times > 1 else (None, 1)


def _axis(node: Node) -> int:
    return node.attrs_as(ConcatenationAttrs).axis


def _reshaped(graph: Graph, makers: dict[str, Node], value: Value) -> Value | None:
    """What a reshape made the value of; None where none did."""
    maker = makers.get(value.name)
    is_reshape = maker is not None and maker.op == "reshape"
    return graph.value(maker.inputs[0]) if maker is not None and is_reshape else None


def _without_unread(graph: Graph) -> Graph:
    """Without nodes that only made what is no longer read."""
    kept: list[Node] = []
    read: set[str] = set(graph.outputs)
    for node in reversed(graph.nodes):
        if read.intersection(node.outputs):
            kept.append(node)
            read.update(node.inputs)
    used: dict[str, Any] = dict.fromkeys((*graph.inputs, *graph.outputs))
    used.update((n, None) for node in kept for n in (*node.inputs, *node.outputs))
    values = {name: value for name, value in graph.values.items() if name in used}
    return replace(graph, nodes=tuple(reversed(kept)), values=values)
