"""The graph without the channels that go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tinyrt.convert.channels.keep import links_of
from tinyrt.convert.channels.layers import bias_type, folded_bias, is_layer
from tinyrt.convert.channels.links import Kept, with_fewer
from tinyrt.convert.values.interval import FLOATS, Array, Bounds, channels_of
from tinyrt.ir import BoundNode, Graph, Node, QParams, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops import OPS, verify


def without(graph: Graph, keeps: Mapping[str, Kept], bounds: Mapping[str, Bounds]) -> Graph:
    """The graph with these channels alone, which gives the same answers.

    Args:
        graph: a verified graph.
        keeps: name of an activation -> which of its channels stay, as ``Keeper`` finds them.
        bounds: of the activations.

    Raises:
        VerifyError: the channels do not fit together.

    """
    cutter = _Cutter(graph, keeps, bounds)
    nodes = [cutter.node(node) for node in graph.bound()]
    values = {**graph.values, **cutter.values}
    return verify(drop_unused_values(replace(graph, values=values, nodes=tuple(nodes))))


def cuts_of(node: BoundNode, index: int, keeps: Mapping[str, Kept]) -> dict[int, Kept]:
    """Dimension of a constant -> what stays along it, for those that are cut with channels.

    Args:
        node: the node that reads it, with all channels.
        index: its position.
        keeps: name of an activation -> which of its channels stay.

    """
    y, value = keeps[node.output.name], node.input(index)
    last = len(value.shape) - 1
    if is_layer(node):
        x = keeps[node.input(0).name]
        return {0: y, last: np.tile(x, value.shape[-1] // len(x))} if index == 1 else {0: y}
    if node.op == "depthwise_conv2d":
        return {last: y}
    kept = np.zeros(channels_of(value.shape), np.bool_)
    found = [link for link in links_of(node) or () if link.index == index]
    for link in found:
        np.logical_or.at(kept, link.taken, y[link.given])
    return {last: kept} if found else {}


class _Cutter:
    """The smaller graph, as it grows.

    Attributes:
        values: by name, those that are new or have changed.

    """

    def __init__(
        self, graph: Graph, keeps: Mapping[str, Kept], bounds: Mapping[str, Bounds]
    ) -> None:
        self._graph, self._keeps, self._bounds = graph, keeps, bounds
        self.values: dict[str, Value] = {}
        # What a constant has become, by what stays of it: nodes that agree share it.
        self._cut: dict[tuple[str, tuple[tuple[int, bytes], ...]], str] = {}

    def node(self, node: BoundNode) -> Node:
        """The node on fewer channels."""
        names = (*node.node.inputs, *node.node.outputs)
        if all(self._keeps[name].all() for name in names if name in self._keeps):
            return node.node
        new = self._layer(node) if is_layer(node) else self._linked(node)
        inputs = [self._value(name).type if name else None for name in new.inputs]
        (type_,) = OPS[node.op].infer(new.attrs, inputs)
        self.values[node.output.name] = replace(node.output, shape=type_.shape)
        return new

    def _value(self, name: str) -> Value:
        return self.values.get(name) or self._graph.value(name)

    def _layer(self, node: BoundNode) -> Node:
        """A layer with the rows of its weights that stay, and their columns."""
        x, w, bias = node.input(0), node.input(1), node.optional(2)
        inputs = [x.name, self._constant(w, cuts_of(node, 1, self._keeps))]
        sums = folded_bias(node, self._bounds[x.name], ~self._keeps[x.name])
        if sums is not None:
            inputs.append(self._new_bias(node, sums).name)
        elif bias is not None:
            inputs.append(self._constant(bias, cuts_of(node, 2, self._keeps)))
        return replace(node.node, inputs=tuple(inputs))

    def _new_bias(self, node: BoundNode, sums: Array) -> Value:
        """The bias with what removed channels add, of the channels that stay."""
        rows, dtype, bias = self._keeps[node.output.name], bias_type(node), node.optional(2)
        x, w = node.input(0).q, node.input(1).q
        q = None
        if x is not None and w is not None and dtype not in FLOATS:
            scales = np.float32(x.scale) * np.asarray(w.scales, np.float32)
            scales = scales if w.axis is None else scales[rows]
            q = QParams(tuple(float(s) for s in scales), 0, None if w.axis is None else 0)
        wish = f"{node.output.name}.bias" if bias is None else bias.name
        return self._add(Value.constant(wish, sums[rows].astype(dtype.numpy), q), bias)

    def _linked(self, node: BoundNode) -> Node:
        """A node that hands channels on, with those of its constants that go with the others."""
        y, inputs = self._keeps[node.output.name], list(node.node.inputs)
        first = y
        for i, value in enumerate(node.inputs):
            if value is not None and value.data is not None:
                inputs[i] = self._constant(value, cuts_of(node, i, self._keeps))
            elif value is not None and i == 0:
                first = self._keeps[value.name]
        return replace(node.node, inputs=tuple(inputs), attrs=with_fewer(node, first, y))

    def _constant(self, value: Value, cuts: Mapping[int, Kept]) -> str:
        """The name of a constant with what stays along some dimensions."""
        if all(kept.all() for kept in cuts.values()):
            return value.name
        key = (value.name, tuple((axis, kept.tobytes()) for axis, kept in cuts.items()))
        if key not in self._cut:
            self._cut[key] = self._add(_without(value, cuts), value).name
        return self._cut[key]

    def _add(self, value: Value, source: Value | None) -> Value:
        """Add a constant, which keeps the name of its source where nobody else needs that."""
        name = value.name
        others = source is not None and len(self._graph.consumers(name)) > 1
        if source is None or others or name in self.values:
            name = self._graph.unique_name(f"{name}.cut" if source else name, self.values)
        self.values[name] = replace(value, name=name)
        return self.values[name]


def _without(value: Value, cuts: Mapping[int, Kept]) -> Value:
    data, q = np.asarray(value.data), value.q
    for axis, kept in cuts.items():
        data = np.compress(kept, data, axis=axis)
        if q is not None and q.axis == axis:
            q = replace(
                q, scales=tuple(s for s, stays in zip(q.scales, kept, strict=True) if stays)
            )
    return replace(value, shape=data.shape, q=q, data=data)
