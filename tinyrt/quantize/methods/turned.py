"""Layers whose parts are moved at once become one layer for each part, moved by itself.

Queries, keys and values that one layer computes are turned to their heads in one move, and cut from
what has been turned. Together they share one scale. As many elements are moved in parts as in one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tinyrt.ir import BoundNode, Graph, Node, Shape, Value
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.methods.heads import Apart, can_be_cut, cut_constants, taken_apart
from tinyrt.quantize.ranges import Range

APART = 1.01
"""How many times the narrowest part's range that of all must be: less costs next to nothing."""


@dataclass(frozen=True, slots=True)
class Turned:
    """A layer whose channels are split, turned and cut along one dimension.

    Attributes:
        layer: the layer.
        split: the reshape behind it.
        turn: the transpose behind that.
        axis: the dimension of the turned tensor that is cut.
        cuts: first and last element of each part along it -> the slices of no others. The first one
            takes the whole part.

    """

    layer: BoundNode
    split: Node
    turn: Node
    axis: int
    cuts: Mapping[tuple[int, int], Sequence[Node]]


def split_turned(graph: Graph, ranges: Mapping[str, Range], config: QuantConfig) -> Graph:
    """The graph with a layer and a move for each part of what is turned, where these differ.

    Layers stay whole for the same reasons as in ``split_heads``.

    Args:
        graph: an optimised float graph.
        ranges: value name -> range, from calibration.
        config: the user's choices.

    """

    def apart(node: BoundNode) -> Apart | None:
        turned = turned_of(graph, node)
        return moved_of(graph, turned) if turned and _differ(turned, ranges) else None

    return taken_apart(graph, config, apart)


def moved_of(graph: Graph, turned: Turned) -> Apart:
    """A layer and a move for each part of what is turned."""
    cuts = (cut for part in turned.cuts.values() for cut in part)
    found = Apart({n.output for n in (turned.split, turned.turn, *cuts)})
    for place in turned.cuts:
        own, made = _part(graph, turned, place)
        found.nodes.extend(own)
        found.values.extend(made)
    return found


def with_moved(old: Graph, graph: Graph, ranges: Mapping[str, Range]) -> dict[str, Range]:
    """The ranges, and those of what ``split_turned`` has put in: it is moved on to what has one."""
    known = dict(ranges)
    for node in reversed(graph.nodes):
        if node.output not in old.values:
            known[node.output] = known[graph.consumers(node.output)[0].output]
    return known


def turned_of(graph: Graph, node: BoundNode) -> Turned | None:
    """What is behind a layer, if it is split, turned and cut to parts of its channels."""
    if not can_be_cut(graph, node):
        return None
    split = _only_reader(graph, node.output.name, "reshape")
    turn = _only_reader(graph, split.output, "transpose") if split is not None else None
    if split is None or turn is None or turn.output in graph.outputs:
        return None
    shape = graph.value(split.output).shape
    cuts = graph.consumers(turn.output)
    for axis, place in enumerate(turn.attrs_as(TransposeAttrs).perm):
        if math.prod(shape[place:]) == node.output.shape[-1]:
            parts = _parts(graph.value(turn.output).shape, axis, cuts)
            if parts is not None:
                return Turned(node, split, turn, axis, parts)
    return None


def layer_name(part: str) -> str:
    """What the layer of a part is called."""
    return f"{part}.layer"


def _only_reader(graph: Graph, name: str, op: str) -> Node | None:
    readers = graph.consumers(name)
    alone = len(readers) == 1 and name not in graph.outputs and readers[0].op == op
    return readers[0] if alone else None


def _parts(
    shape: Shape, axis: int, cuts: Sequence[Node]
) -> dict[tuple[int, int], Sequence[Node]] | None:
    """The slices by what they take along the axis; None where that is no partition of it."""
    parts: dict[tuple[int, int], list[Node]] = {}
    for cut in cuts:
        if cut.op != "slice" or set(cut.attrs_as(SliceAttrs).strides) != {1}:
            return None
        attrs = cut.attrs_as(SliceAttrs)
        is_whole = all(attrs.size[i] == n for i, n in enumerate(shape) if i != axis)
        part = parts.setdefault((attrs.begin[axis], attrs.begin[axis] + attrs.size[axis]), [])
        part.insert(0 if is_whole else len(part), cut)
    places = [(0, 0), *sorted(parts), (shape[axis], shape[axis])]
    if len(parts) < 2 or any(one[1] != two[0] for one, two in pairwise(places)):
        return None
    heads = [part[0].attrs_as(SliceAttrs).size for part in parts.values()]
    whole = all(size[i] == n for size in heads for i, n in enumerate(shape) if i != axis)
    return {place: parts[place] for place in sorted(parts)} if whole else None


def _differ(turned: Turned, ranges: Mapping[str, Range]) -> bool:
    found = [ranges[part[0].output] for part in turned.cuts.values()]
    highs, lows = [max(r.high, 0.0) for r in found], [min(r.low, 0.0) for r in found]
    narrowest = min(high - low for high, low in zip(highs, lows, strict=True))
    return max(highs) - min(lows) > APART * narrowest


def _part(graph: Graph, turned: Turned, place: tuple[int, int]) -> tuple[list[Node], list[Value]]:
    """The layer, the moves and the cuts of one part; the constants and the values in between."""
    layer, (first, *others), (begin, end) = turned.layer, turned.cuts[place], place
    name, attrs = first.output, turned.turn.attrs_as(TransposeAttrs)
    wide = graph.value(turned.split.output)
    at = attrs.perm[turned.axis]
    inner = layer.output.shape[-1] // wide.shape[at]
    rows = slice(begin * inner, end * inner)
    constants = cut_constants(graph, layer, name, rows)
    width = (end - begin) * inner
    dense = replace(
        layer.output,
        name=graph.unique_name(layer_name(name)),
        shape=(*layer.output.shape[:-1], width),
    )
    split = replace(
        wide,
        name=graph.unique_name(f"{name}.heads"),
        shape=(*wide.shape[:at], end - begin, *wide.shape[at + 1 :]),
    )
    drops = bool(first.attrs_as(SliceAttrs).dropped)
    shape = tuple(split.shape[axis] for axis in attrs.perm)
    part = replace(split, name=graph.unique_name(f"{name}.turned") if drops else name, shape=shape)
    inputs = (layer.input(0).name, *(v.name for v in constants))
    nodes = [
        replace(layer.node, name=dense.name, inputs=inputs, outputs=(dense.name,)),
        Node("reshape", split.name, (dense.name,), (split.name,), ReshapeAttrs(split.shape)),
        Node("transpose", part.name, (split.name,), (part.name,), attrs),
    ]
    if drops:
        attrs_of_whole = ReshapeAttrs(graph.value(name).shape)
        nodes.append(Node("reshape", name, (part.name,), (name,), attrs_of_whole))
    for cut in others:
        old = cut.attrs_as(SliceAttrs)
        starts = tuple(b - begin * (i == turned.axis) for i, b in enumerate(old.begin))
        nodes.append(replace(cut, inputs=(part.name,), attrs=replace(old, begin=starts)))
    return nodes, [*constants, dense, split, *([part] if drops else [])]
