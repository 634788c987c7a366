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
        shaped: the reshape behind that one, if there is one.
        axis: the dimension of the turned tensor that is cut.
        cut_axis: the same in what is cut, behind the reshape.
        cuts: first and last element of each part along it -> the slices of no others. The first one
            takes the whole part.

    """

    layer: BoundNode
    split: Node
    turn: Node
    shaped: Node | None
    axis: int
    cut_axis: int
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
    between = [turned.shaped] if turned.shaped is not None else []
    found = Apart({n.output for n in (turned.split, turned.turn, *between, *cuts)})
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
    if split is None or turn is None:
        return None
    shaped = _only_reader(graph, turn.output, "reshape")
    whole = graph.value((shaped or turn).output)
    if whole.name in graph.outputs:
        return None
    shape, turned = (graph.value(n.output).shape for n in (split, turn))
    for axis, place in enumerate(turn.attrs_as(TransposeAttrs).perm):
        cut_axis = axis if shaped is None else _in_front(turned, axis, whole.shape)
        if cut_axis is not None and math.prod(shape[place:]) == node.output.shape[-1]:
            parts = _parts(whole.shape, cut_axis, graph.consumers(whole.name))
            count = whole.shape[cut_axis]
            # Of the turned tensor, each part takes whole rows, too.
            if parts is not None and not any(end * turned[axis] % count for _, end in parts):
                return Turned(node, split, turn, shaped, axis, cut_axis, parts)
    return None


def _in_front(turned: Shape, axis: int, shaped: Shape) -> int | None:
    """A reshape's first dimension that is not 1; None if ``axis`` is not that of ``turned``."""
    first, found = (
        next((i for i, size in enumerate(shape) if size != 1), None) for shape in (turned, shaped)
    )
    return found if first == axis else None


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
    places = sorted(parts)
    if len(parts) < 2:
        return None
    begins, ends = zip(*places, strict=True)
    if (0, *ends) != (*begins, shape[axis]):
        return None
    heads = [part[0].attrs_as(SliceAttrs).size for part in parts.values()]
    whole = all(size[i] == n for size in heads for i, n in enumerate(shape) if i != axis)
    return {place: parts[place] for place in places} if whole else None


def _differ(turned: Turned, ranges: Mapping[str, Range]) -> bool:
    found = [ranges[part[0].output] for part in turned.cuts.values()]
    highs, lows = [max(r.high, 0.0) for r in found], [min(r.low, 0.0) for r in found]
    narrowest = min(high - low for high, low in zip(highs, lows, strict=True))
    return max(highs) - min(lows) > APART * narrowest


def _part(graph: Graph, turned: Turned, place: tuple[int, int]) -> tuple[list[Node], list[Value]]:
    """The layer, the moves and the cuts of one part; the constants and the values in between."""
    layer, (first, *others), (begin, end) = turned.layer, turned.cuts[place], place
    name, attrs = first.output, turned.turn.attrs_as(TransposeAttrs)
    wide, whole = (graph.value(name) for name in (turned.split.output, first.inputs[0]))
    at, count = attrs.perm[turned.axis], whole.shape[turned.cut_axis]
    inner = layer.output.shape[-1] // count
    rows = slice(begin * inner, end * inner)
    constants = cut_constants(graph, layer, name, rows)
    width = (end - begin) * inner
    dense = replace(
        layer.output,
        name=graph.unique_name(layer_name(name)),
        shape=(*layer.output.shape[:-1], width),
    )
    heads = (end - begin) * wide.shape[at] // count
    split = replace(
        wide,
        name=graph.unique_name(f"{name}.heads"),
        shape=(*wide.shape[:at], heads, *wide.shape[at + 1 :]),
    )
    inputs = (layer.input(0).name, *(v.name for v in constants))
    nodes = [
        replace(layer.node, name=dense.name, inputs=inputs, outputs=(dense.name,)),
        Node("reshape", split.name, (dense.name,), (split.name,), ReshapeAttrs(split.shape)),
    ]
    moves, values = _moves(graph, turned, first, split)
    # Other slices take the part as it is before the first one drops dimensions.
    source = moves[-1 - bool(first.attrs_as(SliceAttrs).dropped)].output
    for cut in others:
        old = cut.attrs_as(SliceAttrs)
        starts = tuple(b - begin * (i == turned.cut_axis) for i, b in enumerate(old.begin))
        moves.append(replace(cut, inputs=(source,), attrs=replace(old, begin=starts)))
    return [*nodes, *moves], [*constants, dense, split, *values]


def _moves(
    graph: Graph, turned: Turned, first: Node, split: Value
) -> tuple[list[Node], list[Value]]:
    """What moves a part and shapes it as its slice does; the values on the way."""
    cut, attrs = first.attrs_as(SliceAttrs), turned.turn.attrs_as(TransposeAttrs)
    shapes = [tuple(split.shape[axis] for axis in attrs.perm)]
    shapes += [cut.size] if turned.shaped is not None else []
    shapes += [graph.value(first.output).shape] if cut.dropped else []
    names = [graph.unique_name(f"{first.output}.{wish}") for wish in ("turned", "whole")]
    names = [*names[: len(shapes) - 1], first.output]
    moved = [replace(split, name=n, shape=shape) for n, shape in zip(names, shapes, strict=True)]
    nodes = [Node("transpose", names[0], (split.name,), (names[0],), attrs)]
    for source, value in pairwise(moved):
        shaped = ReshapeAttrs(value.shape)
        nodes.append(Node("reshape", value.name, (source.name,), (value.name,), shaped))
    return nodes, moved[:-1]
