"""Parts that are all moved alike are cut from one turned tensor: torch.nn.MultiheadAttention."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import Names, is_private, moves_only_units, permuted
from tinyrt.convert.passes.heads import MAX_DIMS, in_order
from tinyrt.convert.passes.merge_through import parts_of
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs


def turn_parts(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(split(x[:, i])) = transpose(split(x))[i], for all i of a dimension of x."""
    source = graph.value(node.inputs[0])
    axis, cuts = _axis(graph, node), graph.consumers(source.name)
    if axis is None or cuts[0] is not node:
        return None
    chains = [_behind(graph, cut) for cut in cuts if _axis(graph, cut) == axis]
    moved = [chain for chain in chains if chain is not None]
    begins = sorted(chain[0].attrs_as(SliceAttrs).begin[axis] for chain in moved)
    if begins != [*range(source.shape[axis])] or len(moved) < len(cuts):
        return Refusal(node.name, f"not all parts of '{source.name}' are split and turned")
    first = (axis, *(i for i in range(len(source.shape)) if i != axis))
    turn = moved[0][-1]
    wide = (len(moved), *graph.value(turn.inputs[0]).shape)
    parts = parts_of(permuted(source.shape, first), wide)
    alike = {(graph.value(turn.inputs[0]).shape, turn.attrs) for *_, turn in moved}
    if len(alike) > 1 or parts is None or len(wide) > MAX_DIMS:
        return Refusal(node.name, f"the parts of '{source.name}' are not all moved alike")
    if moves_only_units(wide[1:], turn.attrs_as(TransposeAttrs).perm):
        return Refusal(node.name, f"turned parts of '{source.name}' are as they were")
    # What each dimension of x is split into, in the order of its dimensions.
    order = [part for i in range(len(source.shape)) for part in parts[first.index(i)]]
    wanted = (0, *(i + 1 for i in turn.attrs_as(TransposeAttrs).perm))
    names = Names(graph)
    inner = replace(source, name=names.new(f"{source.name}.parts"), shape=permuted(wide, order))
    whole = replace(source, name=names.new(f"{source.name}.turned"), shape=permuted(wide, wanted))
    perm = TransposeAttrs(tuple(order.index(i) for i in wanted))
    nodes = (
        Node("reshape", inner.name, (source.name,), (inner.name,), ReshapeAttrs(inner.shape)),
        Node("transpose", whole.name, (inner.name,), (whole.name,), perm),
        *(_cut(cut.attrs_as(SliceAttrs).begin[axis], whole, turn) for cut, *_, turn in moved),
    )
    removed = in_order(graph, tuple(n for chain in moved for n in chain))
    return Patch(remove=removed, add=nodes, values=(inner, whole))


def _axis(graph: Graph, cut: Node) -> int | None:
    """The dimension of which a slice takes one element; None where it is first, last or no such."""
    if cut.op != "slice":
        return None
    attrs, shape = cut.attrs_as(SliceAttrs), graph.value(cut.inputs[0]).shape
    axes = [i for i, size in enumerate(shape) if attrs.size[i] != size]
    is_one = len(axes) == 1 and 0 < axes[0] < len(shape) - 1 and attrs.size[axes[0]] == 1
    return axes[0] if is_one and set(attrs.strides) == {1} else None


def _behind(graph: Graph, cut: Node) -> tuple[Node, ...] | None:
    """A slice with the transpose that alone follows it, or follows a reshape behind it."""
    chain = [cut]
    while is_private(graph, chain[-1].output):
        chain.append(graph.consumers(chain[-1].output)[0])
        if chain[-1].op == "transpose":
            return tuple(chain)
        if chain[-1].op != "reshape" or len(chain) > 2:
            return None
    return None


def _cut(i: int, whole: Value, turn: Node) -> Node:
    """The i-th part of what has been turned, in place of a turned part."""
    begin, size = (i, *(0 for _ in whole.shape[1:])), (1, *whole.shape[1:])
    attrs = SliceAttrs(begin, size, tuple(1 for _ in size), (0,))
    return Node("slice", turn.name, (whole.name,), turn.outputs, attrs)


TURN_PARTS = Rule("turn_parts", ("slice",), turn_parts)
