"""Transposes into the ops behind them that can read any order."""

from __future__ import annotations

import math
from dataclasses import replace

from tinyrt.convert.passes.common import (
    Array,
    Names,
    constant_data,
    inverse,
    is_private,
    moves_only_units,
    permuted,
    producer,
    spend_on_arrays,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.arg import CHOICES, ArgAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.transpose import TransposeAttrs


def absorbs_transpose(graph: Graph, node: Node, perm: tuple[int, ...]) -> bool:
    """Whether a rule of this file would let the node read ``x`` instead of its permuted input."""
    shape = graph.value(node.inputs[0]).shape
    if node.op in ("mean", *CHOICES):
        order = _order_of_rest(node, perm)
        return not _keeps_dims(node) and order == tuple(sorted(order))
    return node.op == "reshape" and _turned_weights(graph, node, shape, perm) is not None


def transpose_into_dense(graph: Graph, node: Node) -> Patch | Refusal | None:
    """reshape(transpose(x)) @ w.T = reshape(x) @ w'.T, where w' has its columns permuted alike."""
    transpose = producer(graph, node, op="transpose")
    readers = graph.consumers(node.output)
    if transpose is None or not any(n.op == "fully_connected" for n in readers):
        return None
    perm = transpose.attrs_as(TransposeAttrs).perm
    shape = graph.value(transpose.output).shape
    if moves_only_units(graph.value(transpose.inputs[0]).shape, perm):
        return None
    new_weights = _turned_weights(graph, node, shape, perm)
    if new_weights is None:
        return Refusal(
            node.name, "not all that reads it are products of rows with constant weights"
        )
    names, values, nodes = Names(graph), [], []
    for other in graph.nodes:
        if other is node:
            nodes.append(replace(node, inputs=transpose.inputs))
        elif id(other) in new_weights:
            x, w, *bias = other.inputs
            name = names.new(f"{w.removesuffix('.permuted')}.permuted")
            # Rows keep their places, and so their scales.
            values.append(Value.constant(name, new_weights[id(other)], graph.value(w).q))
            nodes.append(replace(other, inputs=(x, name, *bias)))
        else:
            nodes.append(other)
    return Patch(remove=graph.nodes, add=tuple(nodes), values=tuple(values))


def _turned_weights(
    graph: Graph, flat: Node, shape: Shape, perm: tuple[int, ...]
) -> dict[int, Array] | None:
    """New weights, by identity, of the fully connected readers of a reshape of ``shape``.

    None where there are other readers, or where undoing ``perm`` would move elements from one row
    of a product to another.
    """
    name, new_weights = flat.output, {}
    for reader in graph.consumers(name):
        w = constant_data(graph, reader.inputs[1]) if reader.op == "fully_connected" else None
        if w is None or reader.inputs.count(name) != 1:
            return None
        # The axis from which on the reshape makes rows.
        sizes = (i for i in range(len(shape)) if math.prod(shape[i:]) == w.shape[1])
        start = next(sizes, None)
        if start is None or perm[:start] != tuple(range(start)):
            return None
        spend_on_arrays(f"the weights of '{reader.name}'", w.size, itemsize=w.itemsize)
        columns = [0, *(i - start + 1 for i in inverse(perm)[start:])]
        parted = w.reshape(w.shape[0], *shape[start:])
        new_weights[id(reader)] = parted.transpose(columns).reshape(w.shape)
    return None if name in graph.outputs else new_weights


def transpose_into_mean(graph: Graph, node: Node) -> Patch | Refusal | None:
    """mean(transpose(x, p), axes) = transpose(mean(x, p[axes]), q), q the order of what is left."""
    transpose = producer(graph, node, op="transpose")
    if transpose is None or _keeps_dims(node):
        return None
    perm = transpose.attrs_as(TransposeAttrs).perm
    reduced = tuple(sorted(perm[a] for a in _axes(node)))
    attrs = node.attrs
    attrs = replace(attrs, axis=reduced[0]) if isinstance(attrs, ArgAttrs) else MeanAttrs(reduced)
    mean = replace(node, inputs=transpose.inputs, attrs=attrs)
    order = _order_of_rest(node, perm)
    if order == tuple(sorted(order)):
        return Patch(remove=(node,), add=(mean,))
    if not is_private(graph, transpose.output):
        return Refusal(node.name, f"the output of '{transpose.name}' has other readers")
    output = graph.value(node.output)
    name = Names(graph).new(f"{output.name}.{node.op}")
    value = replace(output, name=name, shape=permuted(output.shape, inverse(order)))
    transpose_after = Node("transpose", output.name, (name,), node.outputs, TransposeAttrs(order))
    return Patch(
        remove=(node,), add=(replace(mean, outputs=(name,)), transpose_after), values=(value,)
    )


def _axes(node: Node) -> tuple[int, ...]:
    """The axes along which a mean or a choice goes."""
    if isinstance(node.attrs, ArgAttrs):
        return (node.attrs.axis,)
    return node.attrs_as(MeanAttrs).axes


def _keeps_dims(node: Node) -> bool:
    return isinstance(node.attrs, MeanAttrs) and node.attrs.keep_dims


def _order_of_rest(mean: Node, perm: tuple[int, ...]) -> tuple[int, ...]:
    """The order of the remaining dimensions in the mean of a transpose."""
    reduced = {perm[a] for a in _axes(mean)}
    rest = [i for i in perm if i not in reduced]
    return tuple(sorted(rest).index(i) for i in rest)


TRANSPOSE_INTO_DENSE = Rule("transpose_into_dense", ("reshape",), transpose_into_dense)
TRANSPOSE_INTO_MEAN = Rule("transpose_into_mean", ("mean", *CHOICES), transpose_into_mean)
