"""Concatenations that are cut or joined again: what is read comes from their parts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyrt.convert.passes.common import bypass, is_private, producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.concatenation import MAX_INPUTS, ConcatenationAttrs
from tinyrt.ops.shared.shapes import axis_of
from tinyrt.ops.slice import SliceAttrs


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a slice reads of a concatenation.

    Attributes:
        axis: along which it joins, counted from the front.
        names: the inputs that the slice reads anything of.
        start: where the first of these begins along the axis.
        length: of all these along the axis.

    """

    axis: int
    names: tuple[str, ...]
    start: int
    length: int


def _parts_read(graph: Graph, join: Node, attrs: SliceAttrs) -> _Parts:
    shape = graph.value(join.output).shape
    axis = axis_of(join.attrs_as(ConcatenationAttrs).axis, len(shape))
    last = attrs.begin[axis] + (attrs.size[axis] - 1) * attrs.strides[axis]
    low, high = sorted((attrs.begin[axis], last))
    names: list[str] = []
    start = length = at = 0
    for name in join.inputs:
        size = graph.value(name).shape[axis]
        if at <= high and at + size > low:
            start = start if names else at
            names.append(name)
            length += size
        at += size
    return _Parts(axis, tuple(names), start, length)


def slice_concatenation(graph: Graph, node: Node) -> Patch | Refusal | None:
    """slice(concatenation(x, y, z)) = slice(y), or concatenation(x, y) of those that it takes."""
    join = producer(graph, node, op="concatenation")
    if join is None:
        return None
    attrs = node.attrs_as(SliceAttrs)
    shape, parts = graph.value(join.output).shape, _parts_read(graph, join, attrs)
    moved = tuple(b - parts.start * (i == parts.axis) for i, b in enumerate(attrs.begin))
    whole = tuple(parts.length if i == parts.axis else d for i, d in enumerate(shape))
    takes_all = (moved, attrs.size, attrs.dropped) == ((0,) * len(shape), whole, ())
    output = graph.value(node.output)
    if any(graph.value(name).q != output.q for name in parts.names):
        return Refusal(node.name, f"'{join.name}' brings other grids together")
    if len(parts.names) == 1 and takes_all and set(attrs.strides) == {1}:
        return bypass(graph, node, parts.names[0])
    if len(parts.names) == 1:
        cut = replace(node, inputs=parts.names, attrs=replace(attrs, begin=moved))
        return Patch(remove=(node,), add=(cut,))
    if not takes_all:
        return Refusal(node.name, f"it cuts across what '{join.name}' joins")
    part = replace(join, name=node.name, inputs=parts.names, outputs=node.outputs)
    return Patch(remove=(node,), add=(part,))


def merge_concatenations(graph: Graph, node: Node) -> Patch | Refusal | None:
    """concatenation(concatenation(x, y), z) = concatenation(x, y, z) along one dimension."""
    output = graph.value(node.output)
    axis = axis_of(node.attrs_as(ConcatenationAttrs).axis, len(output.shape))
    for i, name in enumerate(node.inputs):
        inner = producer(graph, node, i, op="concatenation")
        if inner is None or graph.value(name).q != output.q:
            continue
        if axis_of(inner.attrs_as(ConcatenationAttrs).axis, len(output.shape)) != axis:
            continue
        if not is_private(graph, name) or node.inputs.count(name) > 1:
            return Refusal(node.name, f"the output of '{inner.name}' has other readers")
        inputs = (*node.inputs[:i], *inner.inputs, *node.inputs[i + 1 :])
        if len(inputs) > MAX_INPUTS:
            return Refusal(node.name, f"no op joins more than {MAX_INPUTS} parts")
        return Patch(remove=(inner, node), add=(replace(node, inputs=inputs),))
    return None


SLICE_CONCATENATION = Rule("slice_concatenation", ("slice",), slice_concatenation)
MERGE_CONCATENATIONS = Rule("merge_concatenations", ("concatenation",), merge_concatenations)
