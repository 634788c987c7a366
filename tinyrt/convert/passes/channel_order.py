"""The order of channels, which weights can undo: from a gather on to all layers that read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.passes.common import (
    ELEMENTWISE,
    Array,
    Names,
    constant_data,
    spend_on_arrays,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops import ops_where
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs, axes_of
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.shapes import axis_of
from tinyrt.ops.slice import SliceAttrs

Order = NDArray[np.int64]
"""For each channel that a model reads, where it is stored."""

CHANNELWISE = ops_where(
    lambda spec: spec.traits.channelwise and spec.traits.dims is None and spec.arity[0] == 1
)
"""Pools and resizing."""

REDUCING = ops_where(lambda spec: "axes" in (spec.traits.dims or {}))


def order_channels(graph: Graph, node: Node) -> Patch | Refusal | None:
    """conv(f(gather(x, i)), w) = conv(f(gather(x, sorted i)), w'), w' with its columns moved."""
    attrs, rank = node.attrs_as(GatherAttrs), len(graph.value(node.inputs[0]).shape)
    if len(attrs.shape) != 1 or axis_of(attrs.axis, rank) != rank - 1:
        return None
    indices = np.asarray(attrs.indices)
    stored = np.argsort(indices, kind="stable")
    order = np.argsort(stored, kind="stable")
    if np.array_equal(order, np.arange(len(order))):
        return None
    walk = _Walk(graph, {node.output: order})
    reason = walk.run(node)
    if reason:
        return Refusal(node.name, reason)
    ascending = tuple(int(i) for i in indices[stored])
    gather = replace(node, attrs=GatherAttrs(attrs.axis, ascending, attrs.shape))
    swaps = ((node, (gather,)), *walk.swaps)
    return Patch(values=tuple(walk.values), swaps=swaps)


@dataclass
class _Walk:
    """What becomes of the readers of values whose channels are stored in another order."""

    graph: Graph
    orders: dict[str, Order]
    swaps: list[tuple[Node, tuple[Node, ...]]] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = Names(self.graph)

    def run(self, start: Node) -> str:
        """Follow the orders to where they end; gives the reason why one does not."""
        nodes = iter(self.graph.nodes)
        while next(nodes) is not start:
            pass
        for node in nodes:
            if not any(name in self.orders for name in node.inputs):
                continue
            follow = _FOLLOW.get(node.op)
            new = follow(self, node) if follow is not None else None
            if new is None:
                return f"'{node.name}' ({node.op}) needs the channels in their order"
            if new is not node:
                self.swaps.append((node, (new,)))
        left = [name for name in self.orders if name in self.graph.outputs]
        return f"the output '{left[0]}' needs its channels in their order" if left else ""

    def moved(self, name: str, data: Array, places: Order) -> str:
        """A new constant: another one with its last dimension in another order."""
        spend_on_arrays(f"the constant '{name}'", data.size)
        q = self.graph.value(name).q
        if q is not None and q.axis == data.ndim - 1:
            q = replace(q, scales=tuple(q.scales[i] for i in places))
        new_name = self.names.new(f"{name.removesuffix('.ordered')}.ordered")
        self.values.append(Value.constant(new_name, data[..., places], q))
        return new_name

    def channels(self, name: str) -> int:
        shape = self.graph.value(name).shape
        return shape[-1] if shape else 1


def _layer(walk: _Walk, node: Node) -> Node | None:
    """Weights take their columns from where the channels are stored."""
    x, w, *bias = node.inputs
    data = constant_data(walk.graph, w)
    if data is None or x not in walk.orders or data.shape[-1] != walk.channels(x):
        return None
    return replace(node, inputs=(x, walk.moved(w, data, np.argsort(walk.orders[x])), *bias))


def _depthwise(walk: _Walk, node: Node) -> Node | None:
    """One filter to a channel: they move as the channels do."""
    constants = [constant_data(walk.graph, name) for name in node.inputs[1:] if name]
    order = walk.orders.get(node.inputs[0])
    if order is None or any(c is None or c.shape[-1] != len(order) for c in constants):
        return None
    return _elementwise(walk, node)


def _elementwise(walk: _Walk, node: Node) -> Node | None:
    """All operands in one order; constants move, and what has one channel has any order."""
    orders = [walk.orders[name] for name in node.inputs if name in walk.orders]
    if any(not np.array_equal(order, orders[0]) for order in orders):
        return None
    places, inputs = np.argsort(orders[0]), []
    for name in node.inputs:
        data = constant_data(walk.graph, name)
        if name and name not in walk.orders and walk.channels(name) > 1:
            if data is None:
                return None
            name = walk.moved(name, data, places)
        inputs.append(name)
    walk.orders[node.output] = orders[0]
    return replace(node, inputs=tuple(inputs))


def _same(walk: _Walk, node: Node) -> Node | None:
    walk.orders[node.output] = walk.orders[node.inputs[0]]
    return node


def _pad(walk: _Walk, node: Node) -> Node | None:
    return _same(walk, node) if node.attrs_as(PadAttrs).paddings[-1] == (0, 0) else None


def _reduce(walk: _Walk, node: Node) -> Node | None:
    """Along the channels, no order matters."""
    rank = len(walk.graph.value(node.inputs[0]).shape)
    axes = axes_of(node.attrs_as(MeanAttrs), walk.graph.value(node.inputs[0]).shape)
    return node if rank - 1 in axes else _same(walk, node)


def _gather(walk: _Walk, node: Node) -> Node | None:
    attrs, order = node.attrs_as(GatherAttrs), walk.orders[node.inputs[0]]
    if len(attrs.shape) != 1:
        return None
    rank = len(walk.graph.value(node.inputs[0]).shape)
    if axis_of(attrs.axis, rank) != rank - 1:
        return _same(walk, node)
    return replace(node, attrs=replace(attrs, indices=tuple(order[list(attrs.indices)].tolist())))


def _slice(walk: _Walk, node: Node) -> Node | None:
    """A part of the channels is picked from where they are stored."""
    attrs, shape = node.attrs_as(SliceAttrs), walk.graph.value(node.inputs[0]).shape
    last = len(shape) - 1
    if last in attrs.dropped:
        return None
    whole = attrs.begin[last], attrs.size[last], attrs.strides[last]
    if whole == (0, shape[last], 1):
        return _same(walk, node)
    if attrs.dropped or attrs.size[:last] != shape[:last] or set(attrs.strides[:last]) - {1}:
        return None
    begin, size, stride = whole
    picks = walk.orders[node.inputs[0]][begin + stride * np.arange(size)]
    return replace(node, op="gather", attrs=GatherAttrs(last, tuple(picks.tolist()), (size,)))


def _join(walk: _Walk, node: Node) -> Node | None:
    """Joined along the channels, each operand keeps its order."""
    rank = len(walk.graph.value(node.output).shape)
    if node.attrs_as(ConcatenationAttrs).axis % rank != rank - 1:
        return _elementwise(walk, node)
    parts, start = [], 0
    for name in node.inputs:
        count = walk.channels(name)
        parts.append(start + walk.orders.get(name, np.arange(count)))
        start += count
    walk.orders[node.output] = np.concatenate(parts)
    return node


Follow = Callable[[_Walk, Node], Node | None]
"""The op behind another order, which is noted for its output unless it ends there."""

_FOLLOW: Mapping[str, Follow] = {
    "conv2d": _layer,
    "fully_connected": _layer,
    "depthwise_conv2d": _depthwise,
    "batch_norm": _depthwise,
    "pad": _pad,
    "gather": _gather,
    "slice": _slice,
    "concatenation": _join,
    **dict.fromkeys(REDUCING, _reduce),
    **dict.fromkeys(CHANNELWISE, _same),
    **dict.fromkeys(ELEMENTWISE, _elementwise),
}


ORDER_CHANNELS = Rule("order_channels", ("gather",), order_channels)
