"""Gathers that cut an image into patches are one transpose, which meets its neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import Names, is_private, producer
from tinyrt.convert.passes.merge_through import MOST_DIMENSIONS
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.shapes import axis_of
from tinyrt.ops.transpose import TransposeAttrs


def gather_to_transpose(graph: Graph, node: Node) -> Patch | Refusal | None:
    """gather(x, ((0, s, ...), (1, 1 + s, ...), ...)) = transpose(split(x)), along several axes."""
    if not _has_table(node) or _goes_on(graph, node):
        return None  # the last gather of a chain begins
    chain = [node]
    while (before := producer(graph, chain[0], op="gather")) and _goes_on(graph, before):
        chain.insert(0, before)
    # Each dimension of x as the sizes of its parts, and the order in which they are wanted.
    parts = [[size] for size in graph.value(chain[0].inputs[0]).shape]
    order = [(axis, 0) for axis in range(len(parts))]
    for gather in chain:
        attrs = gather.attrs_as(GatherAttrs)
        count, steps = attrs.shape
        at = axis_of(attrs.axis, len(order))
        axis, i = order[at]
        if not _is_even(attrs, parts[axis][i]):
            return Refusal(node.name, f"the places of '{gather.name}' are not all, in even steps")
        parts[axis][i : i + 1] = [steps, count]
        order = [(a, k + 1 if a == axis and k > i else k) for a, k in order]
        order[at : at + 1] = [(axis, i + 1), (axis, i)]
    if len(order) > MOST_DIMENSIONS:
        return Refusal(node.name, f"it would have to move {len(order)} dimensions at once")
    stored, output = sorted(order), graph.value(node.output)
    split = tuple(parts[axis][i] for axis, i in stored)
    name = Names(graph).new(f"{output.name}.split")
    perm = TransposeAttrs(tuple(stored.index(place) for place in order))
    nodes = (
        Node("reshape", name, chain[0].inputs, (name,), ReshapeAttrs(split)),
        Node("transpose", node.name, (name,), node.outputs, perm),
    )
    return Patch(remove=tuple(chain), add=nodes, values=(replace(output, name=name, shape=split),))


def _goes_on(graph: Graph, node: Node) -> bool:
    """Whether a gather of a table reads what this one picks by a table, and nothing else does."""
    (name,) = node.outputs
    nodes = (node, *graph.consumers(name)) if is_private(graph, name) else ()
    return bool(nodes) and all(n.op == "gather" and _has_table(n) for n in nodes)


def _has_table(gather: Node) -> bool:
    return len(gather.attrs_as(GatherAttrs).shape) == 2


def _is_even(attrs: GatherAttrs, size: int) -> bool:
    """Whether the places are all, counted up in columns."""
    count, steps = attrs.shape
    places = np.arange(count * steps).reshape(steps, count).T.reshape(-1)
    return count * steps == size and np.array_equal(places, attrs.indices)


GATHER_TO_TRANSPOSE = Rule("gather_to_transpose", ("gather",), gather_to_transpose)
