"""How the layout of one value of an op settles those of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinyrt.convert.passes.common import ELEMENTWISE
from tinyrt.ir import Graph, Node, Shape
from tinyrt.ops import ops_where
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs, axes_of
from tinyrt.ops.shared.traits import Dims
from tinyrt.ops.shared.windowed import ConvolutionAttrs
from tinyrt.ops.slice import SliceAttrs

Perm = tuple[int, ...]
Group = tuple[list[int], list[int]]
"""Dimensions before a reshape, and those behind it that have the same elements."""

REDUCING = ops_where(lambda spec: {*(spec.traits.dims or {}).values()} == {Dims.AXES})
"""Ops along axes that stay with size 1, or go."""

TRANSPARENT = ELEMENTWISE | ops_where(lambda spec: spec.traits.dims is not None)
"""Ops that work in any layout, if their inputs and outputs share it."""

ROWS = ("softmax", "log_softmax", "conv2d", "fully_connected")
"""Ops along the last dimension, for which it does not matter in what order the rows come."""


def channels_last(rank: int) -> Perm:
    """(n, c, ...) -> (n, ..., c)."""
    return (0, *range(2, rank), 1)


def layouts(graph: Graph, node: Node, name: str, perm: Perm) -> dict[str, Perm] | None:
    """By what the op's other values are permuted, if ``name`` is by ``perm``.

    Constants are left out. None where the op is tied to a layout.
    """
    if node.op == "reshape":
        return _reshaped(graph, node, name, perm)
    gone = _gone(graph, node)
    if gone:
        return _reduced(graph, node, name, perm, gone)
    if node.op in ROWS:
        return _rows(graph, node, perm)
    if not _is_transparent(graph, node, len(perm)):
        return None
    names = (*node.inputs, *node.outputs)
    return {n: perm for n in names if n and not graph.value(n).is_constant}


def _is_transparent(graph: Graph, node: Node, rank: int) -> bool:
    if node.op not in TRANSPARENT:
        return False
    if node.op == "gather" and len(node.attrs_as(GatherAttrs).shape) != 1:
        return False
    values = [graph.value(n) for n in (*node.inputs, *node.outputs)]
    return all(
        len(v.shape) == rank or (v.is_constant and len(v.shape) < rank and node.op in ELEMENTWISE)
        for v in values
    )


def _rows(graph: Graph, node: Node, perm: Perm) -> dict[str, Perm] | None:
    """Rows may come in any order, where the last dimension stays the last."""
    x, y = node.inputs[0], node.output
    if perm[-1] != len(perm) - 1 or any(
        n and not graph.value(n).is_constant for n in node.inputs[1:]
    ):
        return None
    if node.op == "fully_connected" and not node.attrs_as(FullyConnectedAttrs).keep_num_dims:
        return None
    if node.op == "conv2d":
        attrs, kernel = node.attrs_as(ConvolutionAttrs), graph.value(node.inputs[1]).shape
        if kernel[1:3] != (1, 1) or attrs.stride != (1, 1):
            return None
    return {x: perm, y: perm}


def _gone(graph: Graph, node: Node) -> Sequence[int]:
    """The dimensions of an op's input that its output lacks."""
    if node.op == "slice":
        return node.attrs_as(SliceAttrs).dropped
    if node.op not in REDUCING or node.attrs_as(MeanAttrs).keep_dims:
        return ()
    return axes_of(node.attrs_as(MeanAttrs), graph.value(node.inputs[0]).shape)


def _reduced(
    graph: Graph, node: Node, name: str, perm: Perm, gone: Sequence[int]
) -> dict[str, Perm]:
    """Dimensions that go are in front of those that follow them."""
    x, y = node.inputs[0], node.output
    rank = len(graph.value(x).shape)
    rest = [axis for axis in range(rank) if axis not in gone]
    if name == x:
        return {x: perm, y: tuple(rest.index(axis) for axis in perm if axis in rest)}
    order: list[int] = []
    for i in perm:
        first = rest[i - 1] + 1 if i else 0
        order += range(first, rest[i] + 1)
    return {x: (*order, *(axis for axis in gone if axis > rest[-1])), y: perm}


def _reshaped(graph: Graph, node: Node, name: str, perm: Perm) -> dict[str, Perm] | None:
    x, y = node.inputs[0], node.output
    other = y if name == x else x
    found = through_reshape(graph.value(name).shape, graph.value(other).shape, perm)
    return None if found is None else {name: perm, other: found}


def through_reshape(before: Shape, after: Shape, perm: Perm) -> Perm | None:
    """The permutation q for which ``transpose(reshape(x), q)`` is a reshape of ``transpose(x, p)``.

    None where the permutation takes apart what the reshape joins or splits.
    """
    groups = groups_of(before, after)
    if groups is None:
        return None
    owner = {axis: i for i, (axes, _) in enumerate(groups) for axis in axes}
    large = [axis for axis in perm if before[axis] != 1]
    heavy = {owner[axis] for axis in large}
    order = [owner[axis] for axis in perm if before[axis] != 1 or owner[axis] not in heavy]
    order = list(dict.fromkeys(order))
    if [axis for i in order for axis in groups[i][0] if before[axis] != 1] != large:
        return None
    return tuple(axis for i in order for axis in groups[i][1])


def groups_of(before: Shape, after: Shape) -> list[Group] | None:
    """The least groups of neighbouring dimensions of two shapes that have as many elements."""
    if not before or not after:
        return None
    groups: list[Group] = []
    i = j = 0
    while i < len(before) and j < len(after):
        left, right = [i], [j]
        count, wanted = before[i], after[j]
        i, j = i + 1, j + 1
        while count != wanted:
            if count < wanted:
                count *= before[i]
                left.append(i)
                i += 1
            else:
                wanted *= after[j]
                right.append(j)
                j += 1
        groups.append((left, right))
    groups[-1][0].extend(range(i, len(before)))
    groups[-1][1].extend(range(j, len(after)))
    return groups


def agree(graph: Graph, node: Node, found: Mapping[str, Perm], known: Mapping[str, Perm]) -> bool:
    """Whether an op's layouts are those that its values have already.

    For a reshape, it does not matter where dimensions of size 1 are.
    """
    for name, perm in found.items():
        old, shape = known.get(name, perm), graph.value(name).shape
        if old != perm and not (
            node.op == "reshape"
            and [i for i in old if shape[i] != 1] == [i for i in perm if shape[i] != 1]
        ):
            return False
    return True
