"""Weights that have more steps than int8 holds, as those around a zero point of uint8 may."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tinyrt.convert.weight_parts import LEAST, MOST, PartsOp, in_parts, least_of, parts_of, runs_of
from tinyrt.ir import BoundNode, Graph, Node, RewriteLog, Value
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.quantize.imported.integers import weight_steps

STEP = "weights_in_parts"
"""The name of this step in the log."""


def with_weights_in_parts(graph: Graph, names: Container[str], log: RewriteLog) -> Graph:
    """The float graph in which weights of some ops are sums of parts, each within int8.

    Depthwise convolutions in parts take more than twice the instructions: only those of their
    channels are in parts whose weights are wide.

    Args:
        graph: its weights lie on grids.
        names: outputs of ops whose weights are wider than int8, and which roundings read.
        log: the ops are added to it, with the number of their parts.

    """
    rewrite = _Rewrite(graph)
    for node in graph.bound():
        if node.output.name not in names:
            rewrite.nodes.append(node.node)
            continue
        steps = weight_steps(node.input(1)).astype(np.int16)
        count = len(parts_of(steps, least_of(node.op, steps)))
        rewrite.split(node)
        reason = f"its weights are wider than int8, and so sums of {count} parts"
        log.note(STEP, node.name, reason)
    return graph.with_nodes(rewrite.nodes, rewrite.values.values())


class _Rewrite:
    """The nodes so far, and the values that are new."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}

    def split(self, node: BoundNode) -> None:
        """The op, or several side by side if it is depthwise."""
        if node.op != "depthwise_conv2d":
            self._in_parts(node)
            return
        (rounding, *_) = self._graph.consumers(node.output.name)
        rounded = []
        for first, end in _runs_of(node):
            piece = self._piece(node, first, end)
            self._in_parts(piece)
            y = self._add(replace(piece.output, name=f"{node.output.name}/rounded"))
            self.nodes.append(
                replace(rounding, name=y.name, inputs=(piece.output.name,), outputs=(y.name,))
            )
            rounded.append(y.name)
        attrs = ConcatenationAttrs(len(node.output.shape) - 1)
        self.nodes.append(
            Node("concatenation", node.name, tuple(rounded), node.node.outputs, attrs)
        )

    def _piece(self, node: BoundNode, first: int, end: int) -> BoundNode:
        """A depthwise convolution of a run of its input's channels."""
        x, y = node.input(0), node.output
        times = y.shape[-1] // x.shape[-1]
        shape = (*x.shape[:-1], end - first)
        part = self._add(replace(x, name=f"{x.name}/channels", shape=shape))
        attrs = SliceAttrs((0,) * (len(shape) - 1) + (first,), shape, (1,) * len(shape))
        self.nodes.append(Node("slice", part.name, (x.name,), (part.name,), attrs))
        at = slice(first * times, end * times)
        constants = [self._add(_channels(v, at)) for v in node.inputs[1:] if v is not None]
        wide = (*y.shape[:-1], (end - first) * times)
        output = self._add(replace(y, name=f"{y.name}/channels", shape=wide))
        inputs = (part, *constants)
        names = tuple(v.name for v in inputs)
        new = replace(node.node, name=output.name, inputs=names, outputs=(output.name,))
        return BoundNode(node.index, new, inputs, (output,))

    def _in_parts(self, node: BoundNode) -> None:
        weights = node.input(1)
        steps = weight_steps(weights).astype(np.int16)
        parts = parts_of(steps, least_of(node.op, steps))
        if len(parts) == 1:
            self.nodes.append(node.node)
            return
        op = in_parts(node, node.input(0), parts, self._add)
        stacked = self._add(_on_grid(weights, op))
        x, _, *bias = op.node.inputs
        self.nodes += [*op.nodes, replace(op.node, inputs=(x, stacked.name, *bias))]

    def _add(self, value: Value) -> Value:
        named = replace(value, name=self._graph.unique_name(value.name, self.values))
        self.values[named.name] = named
        return named


def _runs_of(node: BoundNode) -> list[tuple[int, int]]:
    """First and end of each run of input channels with wide weights, and of those between them."""
    ends = {0, node.input(0).shape[-1], *(end for run in _wide_runs(node) for end in run)}
    return list(pairwise(sorted(ends)))


def _wide_runs(node: BoundNode) -> list[tuple[int, int]]:
    """First and end of each run of a depthwise layer's input channels whose weights are wide."""
    steps, channels = weight_steps(node.input(1)), node.input(0).shape[-1]
    rest = steps - np.clip(steps, LEAST, MOST)
    wide = rest.reshape(-1, channels, steps.shape[-1] // channels).any(axis=(0, 2))
    return runs_of(np.flatnonzero(wide)) if wide.any() else []


def _channels(value: Value, at: slice) -> Value:
    """A run of the last dimension of weights or a bias."""
    assert value.data is not None, "weights and biases are constants"
    data = np.ascontiguousarray(value.data[..., at])
    q = value.q
    if q is not None and q.axis is not None:
        q = replace(q, scales=q.scales[at])
    return Value.constant(f"{value.name}/channels", data, q)


def _on_grid(weights: Value, op: PartsOp) -> Value:
    """The parts as real numbers, on the weights' grid."""
    q = weights.q
    assert q is not None, "they lie on a grid"
    if q.axis is not None and op.channel_axis is not None:
        q = replace(q, axis=op.channel_axis)
    shape = [-1 if i == q.axis else 1 for i in range(op.weights.ndim)]
    scales = np.asarray(q.scales, np.float64)
    real = op.weights * scales.reshape(shape if q.axis is not None else ())
    return Value.constant(f"{weights.name}/parts", real.astype(np.float32), q)
