"""Transposes into the ops behind them that can read any order."""

from __future__ import annotations

import math
from dataclasses import replace

from tinyrt.convert.passes.common import (
    Names,
    constant_data,
    inverse,
    is_private,
    moves_only_units,
    permuted,
    producer,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.transpose import TransposeAttrs


def transpose_into_dense(graph: Graph, node: Node) -> Patch | Refusal | None:
    """reshape(transpose(x)) @ w.T = reshape(x) @ w'.T, where w' has its columns permuted alike."""
    transpose = producer(graph, node, op="transpose")
    if transpose is None or not _feeds_dense_only(graph, node.outputs[0]):
        return None
    shape, perm = graph.value(transpose.outputs[0]).shape, transpose.attrs.perm
    if moves_only_units(graph.value(transpose.inputs[0]).shape, perm):
        return None
    if not is_private(graph, transpose.outputs[0]):
        return Refusal(node.name, f"the output of '{transpose.name}' has other readers")
    readers = graph.consumers(node.outputs[0])
    names, values, weights = Names(graph), [], {}
    for reader in readers:
        w = constant_data(graph, reader.inputs[1])
        start = None if w is None else _first_column_axis(shape, w.shape[1])
        if w is None or start is None or perm[:start] != tuple(range(start)):
            return Refusal(node.name, f"'{transpose.name}' moves elements between rows")
        columns = [0, *(i - start + 1 for i in inverse(perm)[start:])]
        turned = w.reshape(w.shape[0], *shape[start:]).transpose(columns).reshape(w.shape)
        name = names.new(f"{reader.inputs[1].removesuffix('.permuted')}.permuted")
        values.append(Value.constant(name, turned))
        weights[id(reader)] = name
    nodes = []
    for other in graph.nodes:
        if other is node:
            nodes.append(replace(node, inputs=transpose.inputs))
        elif id(other) in weights:
            x, _, *bias = other.inputs
            nodes.append(replace(other, inputs=(x, weights[id(other)], *bias)))
        elif other is not transpose:
            nodes.append(other)
    return Patch(remove=graph.nodes, add=tuple(nodes), values=tuple(values))


def _feeds_dense_only(graph: Graph, name: str) -> bool:
    readers = graph.consumers(name)
    return name not in graph.outputs and all(
        n.op == "fully_connected" and n.inputs.count(name) == 1 for n in readers
    )


def _first_column_axis(shape: tuple[int, ...], columns: int) -> int | None:
    """The axis from which on a row-major reshape makes rows of that many elements."""
    return next((i for i in range(len(shape)) if math.prod(shape[i:]) == columns), None)


def transpose_into_mean(graph: Graph, node: Node) -> Patch | None:
    """mean(transpose(x, p), axes) = transpose(mean(x, p[axes]), q), q the order of what is left."""
    transpose = producer(graph, node, op="transpose")
    if transpose is None or node.attrs.keep_dims:
        return None
    perm = transpose.attrs.perm
    axes = tuple(sorted(perm[a] for a in node.attrs.axes))
    left = [i for i in perm if i not in axes]
    order = tuple(sorted(left).index(i) for i in left)
    output = graph.value(node.outputs[0])
    mean = replace(node, inputs=transpose.inputs, attrs=MeanAttrs(axes))
    if order == tuple(sorted(order)):
        return Patch(remove=(node,), add=(mean,))
    name = Names(graph).new(f"{output.name}.mean")
    value = replace(output, name=name, shape=permuted(output.shape, inverse(order)))
    turned = Node("transpose", output.name, (name,), node.outputs, TransposeAttrs(order))
    return Patch(remove=(node,), add=(replace(mean, outputs=(name,)), turned), values=(value,))


TRANSPOSE_INTO_DENSE = Rule("transpose_into_dense", ("reshape",), transpose_into_dense)
TRANSPOSE_INTO_MEAN = Rule("transpose_into_mean", ("mean",), transpose_into_mean)
