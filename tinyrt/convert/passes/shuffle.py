"""Channels that change places: one gather, in place of a reshape, a transpose and a reshape."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.passes.common import (
    Names,
    bypass,
    constant_data,
    is_private,
    producer,
    spend_on_arrays,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

Indices = NDArray[np.int64]

MAX_DIMS = 4
"""TFLM's STRIDED_SLICE cuts no more."""

FILTERS = ("conv2d", "fully_connected")
"""Ops whose rows of weights each compute one output channel of all that they read."""

PLACE = 64
"""Bytes of a place in an order: as an element, as a number, and in lists of them."""


def shuffle_to_gather(graph: Graph, node: Node) -> Patch | Refusal | None:
    """join(transpose(split(x))) = gather(x), where only parts of one dimension change places."""
    transpose = producer(graph, node, op="transpose")
    split = producer(graph, transpose, op="reshape") if transpose is not None else None
    if transpose is None or split is None:
        return None
    perm = transpose.attrs_as(TransposeAttrs).perm
    source, output = graph.value(split.inputs[0]), graph.value(node.output)
    wide = graph.value(split.output).shape
    moved = [i for i, axis in enumerate(perm) if axis != i] or [0]
    first, behind = moved[0], moved[-1] + 1
    before, size = math.prod(wide[:first]), math.prod(wide[first:behind])
    axes = (i for i, d in enumerate(source.shape) if d == size)
    axis = next((i for i in axes if math.prod(source.shape[:i]) == before), None)
    if axis is None:
        return Refusal(node.name, "more than the parts of one dimension change places")
    spend_on_arrays(f"the order of '{source.name}'", size, itemsize=PLACE)
    local = [i - first for i in perm[first:behind]]
    indices = np.arange(size).reshape(wide[first:behind]).transpose(local).reshape(-1)
    attrs = GatherAttrs(axis, tuple(indices.tolist()), (size,))
    if output.shape == source.shape:
        gather = Node("gather", node.name, (source.name,), node.outputs, attrs)
        return Patch(remove=(node,), add=(gather,))
    name = Names(graph).new(f"{output.name}.shuffled")
    gather = Node("gather", name, (source.name,), (name,), attrs)
    last = replace(node, inputs=(name,), attrs=ReshapeAttrs(output.shape))
    return Patch(remove=(node,), add=(gather, last), values=(replace(source, name=name),))


def merge_gathers(graph: Graph, node: Node) -> Patch | Refusal | None:
    """gather(gather(x, i), j) = gather(x, i[j]), and slice(gather(x, i)) with the part of i."""
    first = producer(graph, node, op="gather")
    attrs = first.attrs_as(GatherAttrs) if first is not None else None
    if first is None or attrs is None or len(attrs.shape) != 1:
        return None
    places = _places(graph, node, attrs.axis)
    if places is None:
        return Refusal(node.name, f"it does not pick along the axis of '{first.name}' alone")
    if not all(n.op == node.op for n in graph.consumers(first.output)):
        return Refusal(node.name, f"others read the output of '{first.name}' whole")
    indices = tuple(attrs.indices[i] for i in places)
    merged = GatherAttrs(attrs.axis, indices, (len(indices),))
    gather = Node("gather", node.name, first.inputs, node.outputs, merged)
    return Patch(remove=(node,), add=(gather,))


def _places(graph: Graph, node: Node, axis: int) -> tuple[int, ...] | None:
    """What a gather or a slice picks along the axis; None where it does more."""
    if node.op == "gather":
        attrs = node.attrs_as(GatherAttrs)
        return attrs.indices if attrs.axis == axis and len(attrs.shape) == 1 else None
    cut, shape = node.attrs_as(SliceAttrs), graph.value(node.inputs[0]).shape
    sizes = (*shape[:axis], cut.size[axis], *shape[axis + 1 :])
    ones = (*cut.strides[:axis], *cut.strides[axis + 1 :])
    if cut.size != sizes or cut.dropped or any(stride != 1 for stride in ones):
        return None
    begin, stride = cut.begin[axis], cut.strides[axis]
    return tuple(begin + i * stride for i in range(cut.size[axis]))


def gather_into_layer(graph: Graph, node: Node) -> Patch | Refusal | None:
    """gather(conv(x, w, b), i) = conv(x, w[i], b[i])."""
    layer, attrs = producer(graph, node), node.attrs_as(GatherAttrs)
    if layer is None or layer.op not in FILTERS:
        return None
    shape = graph.value(layer.output).shape
    if attrs.axis != len(shape) - 1 or len(attrs.shape) != 1:
        return None
    if not is_private(graph, layer.output):
        return Refusal(node.name, f"the output of '{layer.name}' has other readers")
    kernel = graph.value(layer.inputs[1])
    if layer.op == "conv2d" and kernel.shape[-1] != graph.value(layer.inputs[0]).shape[-1]:
        return Refusal(node.name, f"'{layer.name}' computes its channels in groups")
    names, values, inputs = Names(graph), [], [layer.inputs[0]]
    for name in layer.inputs[1:]:
        data = constant_data(graph, name)
        if name and data is None:
            return Refusal(node.name, f"the weights of '{layer.name}' are not constant")
        if data is not None:
            size = len(attrs.indices) * math.prod(data.shape[1:])
            spend_on_arrays(f"the weights of '{layer.name}'", size)
            values.append(_picked(graph.value(name), names, attrs.indices))
        inputs.append(values[-1].name if name else name)
    new_layer = replace(layer, name=node.name, inputs=tuple(inputs), outputs=node.outputs)
    return Patch(remove=(layer, node), add=(new_layer,), values=tuple(values))


def shuffle_rows(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(split(conv(x, w, b))) = split(conv(x, w[i], b[i])), where channels alone move."""
    split = producer(graph, node, op="reshape")
    layer = producer(graph, split) if split is not None else None
    if split is None or layer is None or layer.op not in FILTERS:
        return None
    wide, channels = graph.value(split.output).shape, graph.value(layer.output).shape[-1]
    rows = _order_of_channels(wide, node.attrs_as(TransposeAttrs).perm, channels)
    if rows is None:
        return None
    if not is_private(graph, layer.output) or not is_private(graph, split.output):
        return Refusal(node.name, f"the output of '{layer.name}' has other readers")
    kernel, *more = (graph.value(name) for name in layer.inputs[1:] if name)
    reads_all = layer.op != "conv2d" or kernel.shape[-1] == graph.value(layer.inputs[0]).shape[-1]
    if not reads_all or any(value.data is None for value in (kernel, *more)):
        return Refusal(node.name, f"'{layer.name}' has groups, or weights that are not constant")
    names, order = Names(graph), tuple(rows.reshape(-1).tolist())
    size = math.prod(kernel.shape) + channels * len(more)
    spend_on_arrays(f"the weights of '{layer.name}'", size)
    values = [_picked(value, names, order) for value in (kernel, *more)]
    whole = replace(graph.value(layer.output), name=names.new(f"{layer.output}.shuffled"))
    inputs = (layer.inputs[0], *(value.name for value in values))
    shape = ReshapeAttrs(graph.value(node.output).shape)
    nodes = (
        replace(layer, name=whole.name, inputs=inputs, outputs=(whole.name,)),
        Node("reshape", node.name, (whole.name,), node.outputs, shape),
    )
    return Patch(remove=(split, node, layer), add=nodes, values=(*values, whole))


def _order_of_channels(wide: Shape, perm: tuple[int, ...], channels: int) -> Indices | None:
    """The channels in the order that the transpose of a split brings them to; None where more move.

    Channels are the last dimensions that are not 1; those before stay where they are.
    """
    real = [axis for axis, size in enumerate(wide) if size != 1]
    starts = (i for i in range(len(real)) if math.prod(wide[a] for a in real[i:]) == channels)
    start = next(starts, None)
    moved = [axis for axis in perm if wide[axis] != 1]
    if start is None or moved[:start] != real[:start] or moved == real:
        return None
    order = np.arange(channels).reshape([wide[axis] for axis in real[start:]])
    return order.transpose([real.index(axis) - start for axis in moved[start:]])


def _picked(value: Value, names: Names, rows: tuple[int, ...]) -> Value:
    """The rows of a constant, each with its scale."""
    q = value.q
    if q is not None and q.axis is not None:
        q = replace(q, scales=tuple(q.scales[i] for i in rows))
    assert value.data is not None
    name = names.new(f"{value.name.removesuffix('.picked')}.picked")
    return Value.constant(name, value.data[list(rows)], q)


def gather_to_slice(graph: Graph, node: Node) -> Patch | Refusal | None:
    """gather(x, (i, i + s, i + 2s, ...)) = slice(x); all of x in its order is x."""
    attrs, shape = node.attrs_as(GatherAttrs), graph.value(node.inputs[0]).shape
    if len(attrs.shape) != 1 or len(shape) > MAX_DIMS:
        return None
    axis, indices = attrs.axis, attrs.indices
    steps = {b - a for a, b in itertools.pairwise(indices)} or {1}
    if len(steps) > 1 or max(steps) < 1:
        return None
    if len(indices) == shape[axis]:
        return bypass(graph, node, node.inputs[0])
    begin, size, strides = [0] * len(shape), list(shape), [1] * len(shape)
    begin[axis], size[axis], strides[axis] = indices[0], len(indices), max(steps)
    cut = SliceAttrs(tuple(begin), tuple(size), tuple(strides))
    return Patch(remove=(node,), add=(replace(node, op="slice", attrs=cut),))


SHUFFLE_ROWS = Rule("shuffle_rows", ("transpose",), shuffle_rows)
SHUFFLE_TO_GATHER = Rule("shuffle_to_gather", ("reshape",), shuffle_to_gather)
MERGE_GATHERS = Rule("merge_gathers", ("gather", "slice"), merge_gathers)
GATHER_INTO_LAYER = Rule("gather_into_layer", ("gather",), gather_into_layer)
GATHER_TO_SLICE = Rule("gather_to_slice", ("gather",), gather_to_slice)
