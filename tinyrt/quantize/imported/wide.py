"""Weights that have more steps than int8 holds, as those around a zero point of uint8 may."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import numpy as np

from tinyrt.convert.weight_parts import PartsOp, in_parts, parts_of
from tinyrt.ir import Graph, Node, RewriteLog, Value
from tinyrt.quantize.imported.integers import weight_steps

STEP = "weights_in_parts"
"""The name of this step in the log."""


def with_weights_in_parts(graph: Graph, names: Container[str], log: RewriteLog) -> Graph:
    """The float graph in which weights of some ops are sums of parts, each within int8.

    Args:
        graph: its weights lie on grids.
        names: outputs of ops whose weights are wider than int8.
        log: the ops are added to it, with the number of their parts.

    """
    values: dict[str, Value] = {}
    nodes: list[Node] = []

    def add(value: Value) -> Value:
        named = replace(value, name=graph.unique_name(value.name, values))
        values[named.name] = named
        return named

    for node in graph.bound():
        if node.output.name not in names:
            nodes.append(node.node)
            continue
        weights = node.input(1)
        parts = parts_of(weight_steps(weights).astype(np.int16))
        op = in_parts(node, node.input(0), parts, add)
        stacked = add(_on_grid(weights, op))
        x, _, *bias = op.node.inputs
        nodes += [*op.nodes, replace(op.node, inputs=(x, stacked.name, *bias))]
        reason = f"its weights are wider than int8, and so sums of {len(parts)} parts"
        log.note(STEP, node.name, reason)
    return graph.with_nodes(nodes, values.values())


def _on_grid(weights: Value, op: PartsOp) -> Value:
    """The parts as real numbers, on the weights' grid."""
    q = weights.q
    assert q is not None, "they lie on a grid"
    if q.axis is not None and op.channel_axis is not None:
        q = replace(q, axis=op.channel_axis)
    shape = [-1 if i == q.axis else 1 for i in range(op.weights.ndim)]
    real = op.weights * np.asarray(q.scales, np.float64).reshape(
        shape if q.axis is not None else ()
    )
    return Value.constant(f"{weights.name}/parts", real.astype(np.float32), q)
