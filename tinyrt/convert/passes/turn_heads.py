"""Queries, keys and values whose heads are moved alike are moved at once: BERT, GPT-2, Llama."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tinyrt.convert.passes.alive import most_alive
from tinyrt.convert.passes.common import Names, is_private
from tinyrt.convert.passes.heads import in_order
from tinyrt.convert.passes.merge_siblings import is_sibling, joined_layer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs


@dataclass(frozen=True, slots=True)
class _Heads:
    """Channels that a reshape splits into heads, and a transpose that brings these to the front."""

    split: Node
    turn: Node
    tokens: int
    count: int
    depth: int


def merge_heads(graph: Graph, node: Node) -> Patch | Refusal | None:
    """turn(x @ w1.T), turn(x @ w2.T) = cut(turn(x @ [w1, w2].T)), where turn gathers heads."""
    siblings = [n for n in graph.consumers(node.inputs[0]) if is_sibling(graph, node, n)]
    behind = [(n, heads) for n in siblings if (heads := _heads(graph, n.output)) is not None]
    if len(behind) < 2 or behind[0][0] is not node:
        return None
    parts = [heads for _, heads in behind]
    if not _are_alike(parts):
        return Refusal(node.name, "its heads and its siblings' differ in depth")
    names, layers = Names(graph), [n for n, _ in behind]
    layer, values = joined_layer(graph, layers, names)
    return _turned(graph, values[-1], parts, names, layers, (layer,), values)


def turn_heads(graph: Graph, node: Node) -> Patch | Refusal | None:
    """turn(x[:, a:b]), turn(x[:, b:c]) = cut(turn(x[:, a:c])), where turn gathers heads."""
    whole = graph.value(node.inputs[0])
    cuts = graph.consumers(whole.name)
    if cuts[0] is not node or whole.name in graph.outputs or not _cut_channels(whole, cuts):
        return None
    ordered = sorted(cuts, key=_begin)
    read = [(n, _heads(graph, n.output)) for n in ordered]
    runs = [[*run] for is_turned, run in groupby(read, lambda n: n[1] is not None) if is_turned]
    run = max(runs, key=len, default=[])
    parts = [heads for _, heads in run if heads is not None]
    if len(parts) < 2:
        return None
    if not _are_alike(parts):
        return Refusal(node.name, f"the heads in '{whole.name}' differ in depth")
    names, before = Names(graph), [n for n, _ in run]
    if len(run) == len(cuts):
        return _turned(graph, whole, parts, names, before)
    cut, part = _cut_once(graph, whole, before, names)
    return _turned(graph, part, parts, names, before, (cut,), (part,))


def _cut_once(graph: Graph, whole: Value, cuts: Sequence[Node], names: Names) -> tuple[Node, Value]:
    """Channels that slices cut one behind the other, cut at once."""
    channels = sum(graph.value(n.output).shape[-1] for n in cuts)
    part = replace(whole, name=names.new(f"{whole.name}.part"), shape=(*whole.shape[:-1], channels))
    begin = (*(0 for _ in whole.shape[1:]), _begin(cuts[0]))
    attrs = SliceAttrs(begin, part.shape, (1,) * len(begin))
    return Node("slice", part.name, (whole.name,), (part.name,), attrs), part


def _begin(cut: Node) -> int:
    return cut.attrs_as(SliceAttrs).begin[-1]


def _heads(graph: Graph, name: str) -> _Heads | None:
    """What alone reads a value of channels and makes heads of it; None for anything else."""
    nodes: list[Node] = []
    for op in ("reshape", "transpose"):
        last = nodes[-1].output if nodes else name
        if not is_private(graph, last) or graph.consumers(last)[0].op != op:
            return None
        nodes.append(graph.consumers(last)[0])
    split, turn = nodes
    sizes = exchanged(graph.value(split.output).shape, turn.attrs_as(TransposeAttrs).perm)
    if sizes is None or math.prod(sizes[1:]) != graph.value(name).shape[-1]:
        return None
    return _Heads(split, turn, *sizes)


def exchanged(shape: Shape, perm: Sequence[int]) -> tuple[int, int, int] | None:
    """The sizes (a, b, c) of a transpose that is (a, b, c) -> (b, a, c); None for any other."""
    real = [axis for axis, size in enumerate(shape) if size != 1]
    places = [real.index(axis) for axis in perm if shape[axis] != 1]
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] + 1 == place:
            runs[-1].append(place)
        else:
            runs.append([place])
    if len(runs) != 3 or not runs[1][0] < runs[0][0] < runs[2][0]:
        return None
    b, a, c = (math.prod(shape[real[place]] for place in run) for run in runs)
    return a, b, c


def _cut_channels(whole: Value, cuts: Sequence[Node]) -> bool:
    """Whether slices of the channels cut all of a value, none of it twice."""
    attrs = [n.attrs_as(SliceAttrs) for n in cuts if n.op == "slice"]
    if len(attrs) < len(cuts) or len(cuts) < 2:
        return False
    at = 0
    for begin, size in sorted((cut.begin[-1], cut.size[-1]) for cut in attrs):
        if begin != at:
            return False
        at += size
    return at == whole.shape[-1] and all(
        cut.size[:-1] == whole.shape[:-1] and set(cut.strides) == {1} and not cut.dropped
        for cut in attrs
    )


def _are_alike(parts: Sequence[_Heads]) -> bool:
    return len({(heads.tokens, heads.depth) for heads in parts}) == 1


def _turned(
    graph: Graph,
    whole: Value,
    parts: Sequence[_Heads],
    names: Names,
    before: Sequence[Node],
    layer: tuple[Node, ...] = (),
    made: tuple[Value, ...] = (),
) -> Patch | Refusal:
    """One move of all heads in ``whole``, and the cuts behind it; ``before`` goes, too.

    Heads come first, so that each cut is one piece of what has been turned.
    """
    (tokens, depth), count = (parts[0].tokens, parts[0].depth), sum(p.count for p in parts)
    split = replace(whole, name=names.new(f"{whole.name}.heads"), shape=(1, tokens, count, depth))
    turned = replace(whole, name=names.new(f"{whole.name}.turned"), shape=(1, count, tokens, depth))
    nodes = [
        *layer,
        Node("reshape", split.name, (whole.name,), (split.name,), ReshapeAttrs(split.shape)),
        Node("transpose", turned.name, (split.name,), (turned.name,), TransposeAttrs((0, 2, 1, 3))),
    ]
    values, at = [*made, split, turned], 0
    for part in parts:
        size = (1, part.count, tokens, depth)
        cut = replace(turned, name=names.new(f"{part.turn.output}.cut"), shape=size)
        attrs = SliceAttrs((0, at, 0, 0), size, (1, 1, 1, 1))
        shape = ReshapeAttrs(graph.value(part.turn.output).shape)
        nodes += [
            Node("slice", cut.name, (turned.name,), (cut.name,), attrs),
            Node("reshape", part.turn.name, (cut.name,), part.turn.outputs, shape),
        ]
        values.append(cut)
        at += part.count
    old = in_order(graph, (*before, *(n for part in parts for n in (part.split, part.turn))))
    first = graph.nodes.index(old[-1])
    rest = [n for n in graph.nodes[first:] if not any(n is other for other in old)]
    if most_alive(graph, [*graph.nodes[:first], *nodes, *rest], values) > most_alive(
        graph, graph.nodes
    ):
        return Refusal(old[-1].name, "more memory would be needed where most is")
    return Patch(remove=old, add=tuple(nodes), values=tuple(values))


MERGE_HEADS = Rule("merge_heads", ("fully_connected",), merge_heads)
TURN_HEADS = Rule("turn_heads", ("slice",), turn_heads)
