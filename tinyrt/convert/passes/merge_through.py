"""Transposes on both sides of a reshape become one: channel shuffles, heads of attention."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import Names, is_private, permuted, producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.transpose import TransposeAttrs


def merge_around_split(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(split(transpose(x))) = transpose(split(x)), where the reshape splits dimensions."""
    split = producer(graph, node, op="reshape")
    first = producer(graph, split, op="transpose") if split is not None else None
    if split is None or first is None:
        return None
    narrow, wide = (graph.value(n).shape for n in (split.inputs[0], split.outputs[0]))
    if len(wide) <= len(narrow):
        return None
    parts = _parts(narrow, wide)
    if parts is None:
        return Refusal(node.name, f"'{split.name}' does more than split dimensions")
    if not is_private(graph, split.outputs[0]):
        return Refusal(node.name, f"the output of '{split.name}' has other readers")
    source, perm = graph.value(first.inputs[0]), first.attrs.perm
    # The parts of each dimension of x, in its own order.
    order = [part for axis in range(len(perm)) for part in parts[perm.index(axis)]]
    name = Names(graph).new(f"{source.name}.split")
    shape = tuple(wide[i] for i in order)
    inner = replace(source, name=name, shape=shape)
    reshape = replace(split, name=name, inputs=first.inputs, outputs=(name,))
    reshape = replace(reshape, attrs=ReshapeAttrs(shape))
    attrs = TransposeAttrs(tuple(order.index(i) for i in node.attrs.perm))
    last = replace(node, inputs=(name,), attrs=attrs)
    return Patch(remove=(split, node), add=(reshape, last), values=(inner,))


def merge_around_join(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(join(transpose(x))) = join(transpose(x)), where the reshape joins dimensions."""
    join = producer(graph, node, op="reshape")
    first = producer(graph, join, op="transpose") if join is not None else None
    if join is None or first is None:
        return None
    wide, narrow = (graph.value(n).shape for n in (join.inputs[0], join.outputs[0]))
    if len(wide) <= len(narrow):
        return None
    parts = _parts(narrow, wide)
    if parts is None:
        return Refusal(node.name, f"'{join.name}' does more than join dimensions")
    if not is_private(graph, join.outputs[0]):
        return Refusal(node.name, f"the output of '{join.name}' has other readers")
    order = [part for axis in node.attrs.perm for part in parts[axis]]
    turned = graph.value(first.outputs[0])
    name = Names(graph).new(f"{turned.name}.turned")
    inner = replace(turned, name=name, shape=permuted(wide, order))
    perm = TransposeAttrs(permuted(first.attrs.perm, order))
    transpose = replace(first, name=name, outputs=(name,), attrs=perm)
    shape = graph.value(node.outputs[0]).shape
    attrs = ReshapeAttrs(shape)
    last = Node("reshape", node.name, (name,), node.outputs, attrs)
    return Patch(remove=(join, node), add=(transpose, last), values=(inner,))


def _parts(narrow: Shape, wide: Shape) -> list[list[int]] | None:
    """Which dimensions of the wide shape each one of the narrow shape is made of.

    None where they are not made of dimensions that follow each other.
    """
    parts, at = [], 0
    for i, size in enumerate(narrow):
        part: list[int] = []
        product = 1
        is_last = i == len(narrow) - 1
        while at < len(wide) and (not part or product < size or (is_last and wide[at] == 1)):
            product *= wide[at]
            part.append(at)
            at += 1
        if product != size:
            return None
        parts.append(part)
    return parts if at == len(wide) else None


MERGE_AROUND_SPLIT = Rule("merge_around_split", ("transpose",), merge_around_split)
MERGE_AROUND_JOIN = Rule("merge_around_join", ("transpose",), merge_around_join)
