"""What computes rows that a transpose moved, each by itself, up to transposes that move them on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tinyrt.convert.passes.common import ELEMENTWISE, moves_only_units
from tinyrt.convert.passes.heads_into_layer import reads_rows
from tinyrt.convert.passes.layouts import REDUCING
from tinyrt.ir import Graph, Node, Refusal, Shape
from tinyrt.ops.mean import MeanAttrs, axes_of
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

LAYERS = ("fully_connected", "conv2d")


@dataclass(slots=True)
class RowsBehind:
    """Values of rows.

    Attributes:
        count: of rows.
        members: names of the values, the moved one first.
        nodes: what computes them of each other.
        ends: the transposes that read them.

    """

    count: int
    members: list[str]
    nodes: list[Node] = field(default_factory=list)
    ends: list[Node] = field(default_factory=list)


def rows_behind(graph: Graph, turn: Node) -> RowsBehind | Refusal | None:
    """The rows behind a transpose that moves them whole; None where layers read none of them.

    Their order does not matter to what is between the transposes.
    """
    rows = _rows_of(graph, turn)
    if rows is None:
        return None
    refused = None
    for name in rows.members:  # which grows
        if name in graph.outputs:
            refused = f"'{name}' is an output of the model"
        for node in graph.consumers(name):
            if _turns(graph, node):
                rows.ends.append(node)
            elif not _keeps_rows(graph, node, rows.count):
                refused = f"'{node.name}' reads rows in their order"
            elif node.output not in rows.members:
                rows.nodes.append(node)
                rows.members.append(node.output)
    if not rows.ends or not any(node.op in LAYERS for node in rows.nodes):
        return None
    others = (n for node in (*rows.nodes, *rows.ends) for n in node.inputs if n)
    if any(n not in rows.members and not graph.value(n).is_constant for n in others):
        refused = "rows of others are read beside its own"
    return rows if refused is None else Refusal(turn.name, refused)


def first_feature(shape: Shape, rows: int) -> int | None:
    """The dimension behind those that count rows; None where a dimension has more than a row."""
    counts = (math.prod(shape[:axis]) for axis in range(len(shape) + 1))
    return next((axis for axis, count in enumerate(counts) if count == rows), None)


def _rows_of(graph: Graph, turn: Node) -> RowsBehind | None:
    """The moved rows, whose length is that of what a layer or a function reads there."""
    if not _turns(graph, turn):
        return None
    turned, perm = graph.value(turn.output), turn.attrs_as(TransposeAttrs).perm
    last = turned.name
    while (readers := graph.consumers(last)) and readers[0].op == "reshape":
        last = readers[0].output
    count = turned.size // (graph.value(last).shape or (1,))[-1]
    first = first_feature(turned.shape, count)
    if first is None or perm[first:] != tuple(range(first, len(perm))):
        return None
    return RowsBehind(count, [turned.name])


def _turns(graph: Graph, node: Node) -> bool:
    if node.op != "transpose":
        return False
    shape, perm = graph.value(node.inputs[0]).shape, node.attrs_as(TransposeAttrs).perm
    return not moves_only_units(shape, perm)


def _keeps_rows(graph: Graph, node: Node, rows: int) -> bool:
    """Whether each row of an op's output comes of the same rows of its inputs alone."""
    x, y = graph.value(node.inputs[0]).shape, graph.value(node.output).shape
    before, behind = first_feature(x, rows), first_feature(y, rows)
    if before is None or behind is None or len(node.outputs) > 1:
        return False
    if node.op in LAYERS:
        kernel, *more = (graph.value(n) for n in node.inputs[1:] if n)
        constant = all(value.is_constant for value in (kernel, *more))
        return constant and x[-1] == kernel.shape[-1] and reads_rows(node, kernel.shape)
    if node.op in REDUCING:
        return min(axes_of(node.attrs_as(MeanAttrs), x), default=0) >= before
    if node.op == "slice":
        attrs = node.attrs_as(SliceAttrs)
        return attrs.size[:before] == x[:before] and set(attrs.strides) == {1}
    if node.op in ELEMENTWISE:
        return all(_is_alike(graph, n, y, behind) for n in node.inputs)
    return node.op == "reshape"


def _is_alike(graph: Graph, name: str, shape: Shape, first: int) -> bool:
    """Whether an operand has the rows of a value of that shape, or one that is for all of them."""
    value = graph.value(name)
    rank = len(value.shape) - (len(shape) - first)
    own = value.shape[: max(rank, 0)]
    return math.prod(own) == 1 if value.is_constant else own == shape[:first]
