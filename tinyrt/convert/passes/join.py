"""Element-wise ops and sums on joined dimensions work on the parts: norms of groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyrt.convert.passes.common import BINARY, ELEMENTWISE, Names, producer
from tinyrt.convert.passes.layouts import REDUCING, groups_of
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape
from tinyrt.ops.mean import MeanAttrs, axes_of
from tinyrt.ops.reshape import ReshapeAttrs


@dataclass(frozen=True, slots=True)
class _Join:
    """A reshape that joins dimensions.

    Attributes:
        node: the reshape.
        parts: for each dimension behind it, those before it that have the same elements;
            dimensions of size 1 are left out.

    """

    node: Node
    parts: dict[int, list[int]]


def _join(graph: Graph, node: Node, position: int) -> _Join | None:
    """The reshape that makes the operand, if it joins dimensions and splits none."""
    reshape = producer(graph, node, position, op="reshape")
    if reshape is None:
        return None
    before, after = (graph.value(n).shape for n in (reshape.inputs[0], reshape.output))
    parts = {}
    for whole, behind in groups_of(before, after) or ():
        large = [axis for axis in behind if after[axis] != 1]
        if len(large) > 1:
            return None
        parts.update({axis: [i for i in whole if before[i] != 1] for axis in large})
    joins = any(len(axes) > 1 for axes in parts.values())
    return _Join(reshape, parts) if joins else None


def sum_parts(graph: Graph, node: Node) -> Patch | None:
    """mean(join(x), axes) = reshape(mean(x, their parts))."""
    join = _join(graph, node, 0)
    if join is None:
        return None
    source, output = graph.value(join.node.inputs[0]), graph.value(node.output)
    attrs = node.attrs_as(MeanAttrs)
    axes = axes_of(attrs, graph.value(node.inputs[0]).shape)
    parts = tuple(part for axis in axes for part in join.parts.get(axis, ()))
    name = Names(graph).new(f"{output.name}.parts")
    shape = tuple(1 if i in parts else d for i, d in enumerate(source.shape))
    inner = replace(output, name=name, shape=shape)
    new = replace(
        node,
        name=name,
        inputs=(source.name,),
        outputs=(name,),
        attrs=replace(attrs, axes=parts, keep_dims=True),
    )
    last = Node("reshape", node.name, (name,), node.outputs, ReshapeAttrs(output.shape))
    return Patch(remove=(node,), add=(new, last), values=(inner,))


def sink_join(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(join(x), y) = join(f(x, y')), where y has one element along what is joined."""
    joins = [_join(graph, node, i) for i in (0, 1)]
    place = next((i for i, join in enumerate(joins) if join is not None), None)
    join = None if place is None else joins[place]
    if place is None or join is None or graph.value(node.inputs[1 - place]).is_constant:
        return None
    source, output = graph.value(join.node.inputs[0]), graph.value(node.output)
    joined = join.node.output
    if output.shape != graph.value(joined).shape:
        return Refusal(node.name, "it makes its operand larger")
    readers = graph.consumers(joined)
    if joined in graph.outputs or any(n.op not in ELEMENTWISE | REDUCING for n in readers):
        return Refusal(node.name, f"others read the output of '{join.node.name}' joined")
    names, other, added, values = Names(graph), node.inputs[1 - place], [], []
    if other == joined:
        second = source.name
    else:
        shape = _spread(join, source.shape, graph.value(other).shape, len(output.shape))
        if shape is None:
            return Refusal(node.name, "its operands differ along what is joined")
        second = names.new(f"{other}.parts")
        added.append(Node("reshape", second, (other,), (second,), ReshapeAttrs(shape)))
        values.append(replace(graph.value(other), name=second, shape=shape))
    name = names.new(f"{output.name}.parts")
    values.append(replace(output, name=name, shape=source.shape))
    inputs = (source.name, second) if place == 0 else (second, source.name)
    new = replace(node, name=name, inputs=inputs, outputs=(name,))
    last = Node("reshape", node.name, (name,), node.outputs, ReshapeAttrs(output.shape))
    return Patch(remove=(node,), add=(*added, new, last), values=tuple(values))


def _spread(join: _Join, source: Shape, other: Shape, rank: int) -> Shape | None:
    """The other operand's shape beside the parts; None where it has more than one along a join."""
    shape = [1] * len(source)
    for axis, size in enumerate((1,) * (rank - len(other)) + other):
        parts = join.parts.get(axis, [])
        if size != 1 and len(parts) != 1:
            return None
        if size != 1:
            shape[parts[0]] = size
    return tuple(shape)


SUM_PARTS = Rule("sum_parts", tuple(REDUCING), sum_parts)
SINK_JOIN = Rule("sink_join", tuple(BINARY), sink_join)
