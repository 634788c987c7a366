"""Tensors that share bytes so that an op has no work: slices and concatenations in place."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

from tinyrt.ir import BoundNode, Graph
from tinyrt.memory.lifetimes import Buffer
from tinyrt.memory.placing.problem import Tie
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.slice import SliceAttrs

Ties = dict[int, Tie]


def slice_offset(node: BoundNode) -> int | None:
    """The offset in bytes of a slice's output within its input; None where it must be copied.

    The output must be one piece of the input. Along the innermost dimension that the slice cuts, it
    may take any part. Along each dimension outside of that, it may take one element only.
    """
    if node.op != "slice" or node.input(0).is_constant:
        return None
    x, attrs = node.input(0), node.attrs_as(SliceAttrs)
    axes = range(len(x.shape))
    innermost = max((i for i in axes if attrs.size[i] != x.shape[i]), default=0)
    in_one_piece = math.prod(attrs.size[:innermost]) == 1
    forward = all(s == 1 or n == 1 for s, n in zip(attrs.strides, attrs.size, strict=True))
    if not in_one_piece or not forward:
        return None
    rows = [math.prod(x.shape[i + 1 :]) for i in axes]
    begin = sum(first * row for first, row in zip(attrs.begin, rows, strict=True))
    return int(begin * x.dtype.itemsize)


def ties_of(graph: Graph, buffers: list[Buffer], alignment: int) -> dict[int, Ties]:
    """Node's index -> the ties that leave the node no work, for all nodes that can have ties.

    Args:
        graph: the model.
        buffers: its buffers.
        alignment: what distances between tied buffers must be multiples of.

    """
    slices = _slice_ties(graph, buffers, alignment)
    tied = {b for ties in slices.values() for b in ties}
    return slices | _join_ties(graph, buffers, alignment, tied)


def _slice_ties(graph: Graph, buffers: list[Buffer], alignment: int) -> dict[int, Ties]:
    """Slice's index -> the tie of its output to its input, for slices that need no copy."""
    home = _homes(buffers)
    ties: dict[int, Ties] = {}
    for node in graph.bound():
        offset = slice_offset(node)
        if offset is None or offset % alignment or node.output.name in graph.outputs:
            continue
        x, y = home.get(node.input(0).name), home.get(node.output.name)
        if x is not None and y is not None:
            ties[node.index] = {y: (x, offset)}
    return ties


def _join_ties(
    graph: Graph, buffers: list[Buffer], alignment: int, in_use: Collection[int]
) -> dict[int, Ties]:
    """Concatenation's index -> the ties of its inputs to its output.

    Each input must be one piece of the output; its own op then writes it there. Model inputs and
    outputs get no tie: they may lie outside the arena. Nor do the buffers ``in_use``, which have a
    tie already.
    """
    home = _homes(buffers)
    ports = {*graph.inputs, *graph.outputs}
    tied = set(in_use)
    joins: dict[int, Ties] = {}
    for node in graph.bound():
        ties = dict(_parts(node, home)) if node.op == "concatenation" else {}
        if not ties or len(ties) != len(node.inputs):
            continue
        names = {name for b in (*ties, home[node.output.name]) for name in buffers[b].names}
        if names & ports or tied & ties.keys() or any(d % alignment for _, d in ties.values()):
            continue
        tied |= ties.keys()
        joins[node.index] = ties
    return joins


def _parts(node: BoundNode, home: Mapping[str, int]) -> Iterator[tuple[int, Tie]]:
    axis = node.attrs_as(ConcatenationAttrs).axis
    whole = home.get(node.output.name)
    if whole is None or math.prod(node.output.shape[:axis]) != 1:
        return
    offset = 0
    for value in node.operands:
        if value.name in home:
            yield home[value.name], (whole, offset)
        offset += value.nbytes


def _homes(buffers: list[Buffer]) -> dict[str, int]:
    """Value -> its buffer, for the value that the buffer was made for and for reshapes of it."""
    return {name: i for i, buffer in enumerate(buffers) for name in buffer.names}
