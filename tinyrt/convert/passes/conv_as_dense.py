"""Convolutions over an image of one pixel, between flat tensors, are dense layers."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import UNARY, Names, constant_data, is_private, producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.activation import fused_activation


def conv_as_dense(graph: Graph, node: Node) -> Patch | Refusal | None:
    """conv(x, w) of (n, 1, 1, c) by (k, 1, 1, c) = reshape(x @ w.T), where a reshape goes for it.

    Both cost the same instructions. Where no reshape would go, the convolution stays: presets may
    give a dense layer one scale in all.
    """
    x, output = graph.value(node.inputs[0]), graph.value(node.output)
    w = constant_data(graph, node.inputs[1])
    if w is None or x.shape[1:3] != (1, 1) or w.shape[1:] != (1, 1, x.shape[3]):
        return None
    before, behind = producer(graph, node, op="reshape"), _next(graph, node)
    is_flat = before is not None and len(graph.value(before.inputs[0]).shape) == 2
    if not is_flat and not _ends_flat(graph, node):
        return Refusal(node.name, "no reshape in front of it or behind it would go")
    names = Names(graph)
    weights = names.new(f"{node.inputs[1]}.rows")
    constant = Value.constant(weights, w.reshape(len(w), -1), graph.value(node.inputs[1]).q)
    dense = replace(
        node,
        op="fully_connected",
        inputs=(before.inputs[0] if before and is_flat else x.name, weights, *node.inputs[2:]),
        attrs=FullyConnectedAttrs(activation=fused_activation(node)),
    )
    shape = (x.shape[0], len(w))
    if behind is not None and _reshapes_to(behind) == shape:
        flat = replace(dense, outputs=behind.outputs)
        return Patch(remove=(node, behind), add=(flat,), values=(constant,))
    rows = replace(output, name=names.new(f"{output.name}.flat"), shape=shape)
    flat = replace(dense, outputs=(rows.name,))
    shaped = Node("reshape", output.name, (rows.name,), node.outputs, ReshapeAttrs(output.shape))
    return Patch(remove=(node,), add=(flat, shaped), values=(constant, rows))


def _next(graph: Graph, node: Node) -> Node | None:
    """The only reader of the node's output."""
    (name,) = node.outputs
    return graph.consumers(name)[0] if is_private(graph, name) else None


def _ends_flat(graph: Graph, node: Node) -> bool:
    """Whether element-wise ops, if any, and then a reshape to two dimensions follow."""
    reader = _next(graph, node)
    while reader is not None and reader.op in UNARY:
        reader = _next(graph, reader)
    shape = _reshapes_to(reader) if reader is not None else None
    return shape is not None and len(shape) == 2


def _reshapes_to(node: Node) -> Shape | None:
    """The new shape that a reshape gives; None for any other op."""
    return node.attrs_as(ReshapeAttrs).new_shape if node.op == "reshape" else None


CONV_AS_DENSE = Rule("conv_as_dense", ("conv2d",), conv_as_dense)
