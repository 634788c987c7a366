"""Transposes on both sides of a reshape become one: channel shuffles, heads of attention."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

from tinyrt.convert.passes.common import Names, is_private, permuted, producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.transpose import TransposeAttrs

MOST_DIMENSIONS = 6
"""LiteRT's transposes have no more."""


@dataclass(frozen=True, slots=True)
class _Between:
    """A reshape between two transposes, which splits dimensions or joins them.

    Attributes:
        first: the transpose before it.
        reshape: the reshape.
        parts: the wide shape's dimensions that each one of the narrow shape is made of.

    """

    first: Node
    reshape: Node
    parts: list[list[int]]


def _between(graph: Graph, node: Node, splits: bool) -> _Between | Refusal | None:
    """The reshape before the transpose ``node``, one that splits or one that joins."""
    reshape = producer(graph, node, op="reshape")
    first = producer(graph, reshape, op="transpose") if reshape is not None else None
    if reshape is None or first is None:
        return None
    before, after = (graph.value(n).shape for n in (reshape.inputs[0], reshape.output))
    narrow, wide = (before, after) if splits else (after, before)
    if len(wide) <= len(narrow) and _real(wide) <= _real(narrow):
        return None
    parts = parts_of(narrow, wide)
    if parts is None:
        return None
    if not is_private(graph, reshape.output):
        return Refusal(node.name, f"the output of '{reshape.name}' has other readers")
    return _Between(first, reshape, parts)


def merge_around_split(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(split(transpose(x))) = transpose(split(x)), where the reshape splits dimensions."""
    match = _between(graph, node, splits=True)
    if not isinstance(match, _Between):
        return match
    first, split, parts = match.first, match.reshape, match.parts
    source, perm = graph.value(first.inputs[0]), first.attrs_as(TransposeAttrs).perm
    wide = graph.value(split.output).shape
    # The parts of each dimension of x, in its own order.
    order = [part for axis in range(len(perm)) for part in parts[perm.index(axis)]]
    name = Names(graph).new(f"{source.name}.split")
    shape = permuted(wide, order)
    inner = replace(source, name=name, shape=shape)
    reshape = replace(split, name=name, inputs=first.inputs, outputs=(name,))
    reshape = replace(reshape, attrs=ReshapeAttrs(shape))
    attrs = TransposeAttrs(tuple(order.index(i) for i in node.attrs_as(TransposeAttrs).perm))
    last = replace(node, inputs=(name,), attrs=attrs)
    return Patch(remove=(split, node), add=(reshape, last), values=(inner,))


def merge_around_join(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(join(transpose(x))) = join(transpose(x)), where the reshape joins dimensions."""
    match = _between(graph, node, splits=False)
    if not isinstance(match, _Between):
        return match
    order = [part for axis in node.attrs_as(TransposeAttrs).perm for part in match.parts[axis]]
    middle = graph.value(match.first.output)
    name = Names(graph).new(f"{middle.name}.turned")
    inner = replace(middle, name=name, shape=permuted(middle.shape, order))
    attrs = TransposeAttrs(permuted(match.first.attrs_as(TransposeAttrs).perm, order))
    transpose = replace(match.first, name=name, outputs=(name,), attrs=attrs)
    shape = graph.value(node.output).shape
    last = Node("reshape", node.name, (name,), node.outputs, ReshapeAttrs(shape))
    return Patch(remove=(match.reshape, node), add=(transpose, last), values=(inner,))


def merge_around_regroup(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(regroup(transpose(x))) = join(transpose(split(x))): the unfolding of patches."""
    regroup = producer(graph, node, op="reshape")
    first = producer(graph, regroup, op="transpose") if regroup is not None else None
    if regroup is None or first is None:
        return None
    before, after = (graph.value(n).shape for n in (regroup.inputs[0], regroup.output))
    if parts_of(before, after) is not None or parts_of(after, before) is not None:
        return None
    common = common_parts(before, after)
    if common is None:
        return Refusal(node.name, f"'{regroup.name}' splits a dimension into no common parts")
    if len(common) > MOST_DIMENSIONS:
        return Refusal(node.name, f"it would have to move {len(common)} dimensions at once")
    if not is_private(graph, regroup.output):
        return Refusal(node.name, f"the output of '{regroup.name}' has other readers")
    split, join = (parts_of(shape, common) or [] for shape in (before, after))
    source, perm = graph.value(first.inputs[0]), first.attrs_as(TransposeAttrs).perm
    order = [part for axis in range(len(perm)) for part in split[perm.index(axis)]]
    moved = [part for axis in node.attrs_as(TransposeAttrs).perm for part in join[axis]]
    names = Names(graph)
    parted = replace(source, name=names.new(f"{source.name}.split"), shape=permuted(common, order))
    turned = replace(source, name=names.new(f"{node.output}.turned"), shape=permuted(common, moved))
    shape = graph.value(node.output).shape
    attrs = TransposeAttrs(tuple(order.index(part) for part in moved))
    return Patch(
        remove=(regroup, node),
        add=(
            Node("reshape", parted.name, first.inputs, (parted.name,), ReshapeAttrs(parted.shape)),
            Node("transpose", turned.name, (parted.name,), (turned.name,), attrs),
            Node("reshape", node.name, (turned.name,), node.outputs, ReshapeAttrs(shape)),
        ),
        values=(parted, turned),
    )


def common_parts(one: Shape, other: Shape) -> Shape | None:
    """The fewest dimensions that those of both shapes are made of; None where there are none."""
    ends = sorted({math.prod(shape[:i]) for shape in (one, other) for i in range(len(shape) + 1)})
    if any(end % start for start, end in pairwise(ends)):
        return None
    return tuple(end // start for start, end in pairwise(ends))


def _real(shape: Shape) -> int:
    """How many dimensions are not 1."""
    return sum(size != 1 for size in shape)


def parts_of(narrow: Shape, wide: Shape) -> list[list[int]] | None:
    """Which dimensions of the wide shape each one of the narrow shape is made of.

    None where they are not made of dimensions that follow each other.
    """
    parts, at = [], 0
    for i, size in enumerate(narrow):
        part: list[int] = []
        product = 1
        is_last = i == len(narrow) - 1
        while at < len(wide) and (product < size or (wide[at] == 1 and (not part or is_last))):
            product *= wide[at]
            part.append(at)
            at += 1
        if product != size:
            return None
        parts.append(part)
    return parts if at == len(wide) else None


MERGE_AROUND_SPLIT = Rule("merge_around_split", ("transpose",), merge_around_split)
MERGE_AROUND_JOIN = Rule("merge_around_join", ("transpose",), merge_around_join)
MERGE_AROUND_REGROUP = Rule("merge_around_regroup", ("transpose",), merge_around_regroup)
