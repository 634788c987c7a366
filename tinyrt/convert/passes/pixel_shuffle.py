"""Pixels from channels, in PyTorch's order of channels: TFLite's op behind reordered weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import Names, constant_data, is_private, producer, spend_on_arrays
from tinyrt.ir import Graph, Node, Patch, QParams, Refusal, Rule, Value
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.transpose import TransposeAttrs

PERM = (0, 1, 4, 2, 5, 3)
"""(n, h, w, c, block, block) -> (n, h, block, w, block, c)."""


def pixel_shuffle(graph: Graph, node: Node) -> Patch | Refusal | None:
    """shuffle(conv(x, w)) = depth_to_space(conv(x, w')), where w' has its output channels moved."""
    transpose = producer(graph, node, op="transpose")
    split = producer(graph, transpose, op="reshape") if transpose is not None else None
    if transpose is None or split is None or transpose.attrs_as(TransposeAttrs).perm != PERM:
        return None
    n, h, w, c, block, _ = graph.value(split.output).shape
    before, after = graph.value(split.inputs[0]).shape, graph.value(node.output).shape
    whole = (n, h, w, c * block**2), (n, h * block, w * block, c)
    if (before, after) != whole:
        return None
    layer = producer(graph, split, op="conv2d")
    between = [transpose.output, split.output, split.inputs[0]]
    if layer is None or not all(is_private(graph, name) for name in between):
        return Refusal(node.name, "no convolution lies before it that nothing else reads")
    kernel = graph.value(layer.inputs[1])
    constants = [constant_data(graph, name) for name in layer.inputs[1:]]
    if kernel.shape[-1] != graph.value(layer.inputs[0]).shape[-1]:
        return Refusal(node.name, f"'{layer.name}' computes its channels in groups")
    order = np.arange(c * block**2).reshape(c, block, block).transpose(1, 2, 0).reshape(-1)
    names, values = Names(graph), []
    for name, data in zip(layer.inputs[1:], constants, strict=True):
        if data is None:
            return Refusal(node.name, f"the weights of '{layer.name}' are not constant")
        spend_on_arrays(f"the weights of '{layer.name}'", data.size)
        q = _moved(graph.value(name).q, order)
        values.append(Value.constant(names.new(f"{name}.shuffled"), data[order], q))
    inner = replace(graph.value(layer.output), name=names.new(f"{node.output}.channels"))
    inputs = (layer.inputs[0], *(value.name for value in values))
    new_layer = replace(layer, inputs=inputs, outputs=(inner.name,))
    attrs = BlockAttrs(block)
    pixels = Node("depth_to_space", node.name, (inner.name,), node.outputs, attrs)
    removed = (layer, split, transpose, node)
    return Patch(remove=removed, add=(new_layer, pixels), values=(*values, inner))


def _moved(q: QParams | None, order: np.ndarray) -> QParams | None:
    if q is None or q.axis is None:
        return q
    return replace(q, scales=tuple(q.scales[i] for i in order))


PIXEL_SHUFFLE = Rule("pixel_shuffle", ("reshape",), pixel_shuffle)
