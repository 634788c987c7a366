"""Graph -> the dialect that readers of .tflite files expect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.indices import places_in_float
from tinyrt.convert.pointwise import spread
from tinyrt.convert.tflite.from_end import places_from_front
from tinyrt.convert.tflite.ops import codec_for
from tinyrt.ir import BoundNode, DType, Graph, Node, QParams, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import qparams

BIAS = {DType.INT8: np.int32, DType.INT16: np.int64}
"""Dtype of a quantised activation -> dtype of the bias beside it."""


def lower(graph: Graph) -> Graph:
    """The graph in that dialect."""
    return _with_own_states(_with_biases(places_in_float(places_from_front(spread(graph)))))


def _with_own_states(graph: Graph) -> Graph:
    """Each op with states that are constants has constants of its own: they become variables."""
    nodes: list[Node] = []
    values: list[Value] = []
    owned: set[str] = set()
    for node in graph.bound():
        inputs = list(node.node.inputs)
        for place in codec_for(node).encode(node).variables:
            value = node.input(place)
            if value.is_constant and value.name in owned:
                name = graph.unique_name(f"{node.output.name}/state{place}")
                values.append(replace(value, name=name))
                inputs[place] = name
            owned.add(value.name)
        nodes.append(replace(node.node, inputs=tuple(inputs)))
    return graph.with_nodes(nodes, values) if values else graph


def _with_biases(graph: Graph) -> Graph:
    """A bias of zeros wherever an op with weights has none.

    The schema lets it be absent, but several runtimes refuse such files or read past the inputs.
    """
    nodes: list[Node] = []
    values: list[Value] = []
    for node in graph.bound():
        if OPS[node.op].traits.biased and node.optional(2) is None:
            bias = _zeros(node, graph.unique_name(f"{node.output.name}/bias"))
            values.append(bias)
            inputs = (*node.node.inputs[:2], bias.name)
            nodes.append(replace(node.node, inputs=inputs))
        else:
            nodes.append(node.node)
    return graph.with_nodes(nodes, values) if values else graph


def _zeros(node: BoundNode, name: str) -> Value:
    channels = node.output.shape[-1]
    weights = node.input(1)
    dtype = BIAS.get(node.input(0).dtype)
    if dtype is None or weights.q is None:
        return Value.constant(name, np.zeros(channels, np.float32))
    x_scale, _ = qparams(node.input(0))
    scales = np.float32(x_scale) * np.asarray(weights.q.scales, np.float32)
    scales = np.maximum(scales, np.finfo(np.float32).tiny)
    q = QParams(tuple(float(s) for s in scales), 0, 0 if len(scales) > 1 else None)
    return Value.constant(name, np.zeros(channels, dtype), q)
