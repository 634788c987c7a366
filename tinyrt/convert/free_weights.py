"""Dense layers whose weights the model computes -> products of two activations.

TensorFlow's converter writes a product of two activations so, as in attention, where it is told to
unfold BATCH_MATMUL. The integers of both ops are the same.
"""

from __future__ import annotations

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph, Node, Value
from tinyrt.ops import OPS
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs

TYPES = (
    (DType.FLOAT32, DType.FLOAT32),
    (DType.INT8, DType.INT8),
    (DType.INT16, DType.INT8),
)
"""Element types of input and weights on which both ops compute the same."""

CLAMPS = {spec.traits.activation: name for name, spec in OPS.items() if spec.traits.activation}
"""Fused activation -> the op that it is on its own."""


def products_of_activations(graph: Graph) -> Graph:
    """The graph with a batch_matmul for each dense layer that reads its weights from other ops."""
    free = set(graph.inputs)
    nodes: list[Node] = []
    values: list[Value] = []
    for node in graph.bound():
        if not free.isdisjoint(node.node.inputs):
            free.update(node.node.outputs)
        if node.op == "fully_connected" and node.node.inputs[1] in free and _fits(node):
            more, added = _product(graph, node)
            nodes += more
            values += added
        else:
            nodes.append(node.node)
    return graph.with_nodes(nodes, values) if values else graph


def _fits(node: BoundNode) -> bool:
    """Whether the types are those of a product, of one scale each, and no bias is added to it."""
    x, weights, bias = node.input(0), node.input(1), node.optional(2)
    is_plain = bias is None or (bias.data is not None and not np.any(bias.data))
    has_one_scale = weights.q is None or len(weights.q.scales) == 1
    alike = (x.dtype, weights.dtype) in TYPES and node.output.dtype is x.dtype
    return alike and has_one_scale and is_plain


def _product(graph: Graph, node: BoundNode) -> tuple[list[Node], list[Value]]:
    """Rows of the input, their products with rows of the weights, the activation, the shape."""
    x, weights, y = node.input(0), node.input(1), node.output
    activation = node.attrs_as(FullyConnectedAttrs).activation
    outs, width = weights.shape
    rows = x.size // width
    nodes: list[Node] = []
    values: list[Value] = []

    def add(op: str, like: Value, shape: tuple[int, ...], attrs: object, *inputs: Value) -> Value:
        name = graph.unique_name(f"{y.name}/{op}")
        values.append(Value(name, like.dtype, shape, like.q))
        nodes.append(Node(op, name, tuple(v.name for v in inputs), (name,), attrs))
        return values[-1]

    flat = add("reshape", x, (rows, width), ReshapeAttrs((rows, width)), x)
    shape = (rows, outs)
    made = add("batch_matmul", y, shape, BatchMatmulAttrs(adj_y=True), flat, weights)
    if activation != "NONE":
        made = add(CLAMPS[activation], y, shape, NoAttrs(), made)
    nodes.append(Node("reshape", y.name, (made.name,), (y.name,), ReshapeAttrs(y.shape)))
    return nodes, values
