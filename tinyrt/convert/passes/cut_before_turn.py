"""What is cut from a turned tensor and turned back is cut from the tensor itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import groupby

from tinyrt.convert.passes.alive import most_alive
from tinyrt.convert.passes.common import Names, inverse, is_private, moves_only_units, producer
from tinyrt.convert.passes.heads import MAX_DIMS
from tinyrt.convert.passes.merge_through import common_parts, parts_of
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs


@dataclass(frozen=True, slots=True)
class _Piece:
    """Neighbouring dimensions of one size, and which of their elements a slice takes."""

    count: int
    begin: int
    size: int

    @property
    def is_whole(self) -> bool:
        return self.size == self.count


def cut_before_turn(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(slice(transpose(x, p)), q) = slice(x) where q undoes p, also around reshapes.

    The slice moves no more elements than the transpose did. The first one stays for other readers,
    and so both are there at once: it stays away from where most memory is needed.
    """
    cut = _before(graph, node, "slice")
    first = _before(graph, cut, "transpose") if cut is not None else None
    perm = node.attrs_as(TransposeAttrs).perm
    if cut is None or first is None or moves_only_units(graph.value(node.inputs[0]).shape, perm):
        return None
    joined = _cut_of_source(graph, first, cut, node)
    if isinstance(joined, Refusal):
        return joined
    nodes, values = _cut_first(graph, first, joined, node)
    gone, at = _read_alone(graph, node, first), graph.nodes.index(first)
    order = [*graph.nodes[:at], *nodes, *graph.nodes[at:]]
    after = [n for n in order if not any(n is other for other in gone)]
    if most_alive(graph, after, values) > most_alive(graph, graph.nodes):
        return Refusal(node.name, "more memory would be needed where most is")
    return Patch(remove=(node,), add=nodes, values=values)


def _cut_of_source(graph: Graph, first: Node, cut: Node, node: Node) -> list[_Piece] | Refusal:
    """What ``node`` takes of each dimension of what ``first`` turns, in the order it is stored."""
    turned, back = graph.value(first.output).shape, graph.value(node.inputs[0]).shape
    whole = graph.value(cut.inputs[0]).shape
    fine = common_parts(turned, whole)
    pieces = _pieces(fine, whole, cut.attrs_as(SliceAttrs)) if fine is not None else None
    if fine is None or pieces is None:
        return Refusal(node.name, f"'{cut.name}' cuts through what '{first.name}' moves")
    ahead, behind = parts_of(turned, fine), parts_of(back, tuple(p.size for p in pieces))
    if ahead is None or behind is None:
        return Refusal(node.name, f"it splits what '{cut.name}' cuts")
    perm = inverse(first.attrs_as(TransposeAttrs).perm)
    stored = [part for axis in perm for part in ahead[axis]]
    moved = [part for axis in node.attrs_as(TransposeAttrs).perm for part in behind[axis]]
    if [i for i in stored if pieces[i].size != 1] != [i for i in moved if pieces[i].size != 1]:
        return Refusal(node.name, f"it does not undo '{first.name}'")
    joined = _joined([pieces[i] for i in stored])
    if len(joined) > MAX_DIMS:
        return Refusal(node.name, f"more than {MAX_DIMS} dimensions would be cut")
    return joined


def _cut_first(
    graph: Graph, first: Node, joined: list[_Piece], node: Node
) -> tuple[tuple[Node, ...], tuple[Value, ...]]:
    """What comes in place of ``node``: a slice between reshapes, and the values in between."""
    source, names = graph.value(first.inputs[0]), Names(graph)
    name, counts = names.new(f"{source.name}.parted"), tuple(p.count for p in joined)
    parted = replace(source, name=name, shape=counts)
    sizes = tuple(p.size for p in joined)
    part = replace(source, name=names.new(f"{node.output}.cut"), shape=sizes)
    attrs = SliceAttrs(tuple(p.begin for p in joined), sizes, (1,) * len(joined))
    shape = graph.value(node.output).shape
    nodes = (
        Node("reshape", parted.name, first.inputs, (parted.name,), ReshapeAttrs(parted.shape)),
        Node("slice", part.name, (parted.name,), (part.name,), attrs),
        Node("reshape", node.name, (part.name,), node.outputs, ReshapeAttrs(shape)),
    )
    return nodes, (parted, part)


def _read_alone(graph: Graph, node: Node, first: Node) -> list[Node]:
    """The node, and what is in front of it as far as ``first`` that nothing else reads."""
    gone = [node]
    while gone[-1] is not first and is_private(graph, gone[-1].inputs[0]):
        gone += [maker for maker in [producer(graph, gone[-1])] if maker is not None]
    return gone


def _before(graph: Graph, node: Node, op: str) -> Node | None:
    """The node of that op in front, or in front of a reshape there."""
    reshape = producer(graph, node, op="reshape")
    return producer(graph, node if reshape is None else reshape, op=op)


def _pieces(fine: Shape, whole: Shape, cut: SliceAttrs) -> list[_Piece] | None:
    """What a slice of ``whole`` takes of its parts; None where it takes no range of each."""
    parts = parts_of(whole, fine)
    if parts is None or set(cut.strides) != {1}:
        return None
    pieces = [_Piece(count, 0, count) for count in fine]
    for part, count, begin, size in zip(parts, whole, cut.begin, cut.size, strict=True):
        if size == count:
            continue
        rows = math.prod(fine[i] for i in part[1:])
        if begin % rows or size % rows:
            return None
        pieces[part[0]] = _Piece(fine[part[0]], begin // rows, size // rows)
    return pieces


def _joined(pieces: list[_Piece]) -> list[_Piece]:
    """The same cut of fewer dimensions: those that are taken whole join their neighbours."""
    joined = []
    for is_whole, run in groupby(pieces, lambda piece: piece.is_whole):
        if is_whole:
            count = math.prod(piece.count for piece in run)
            joined.append(_Piece(count, 0, count))
        else:
            joined += run
    return joined


CUT_BEFORE_TURN = Rule("cut_before_turn", ("transpose",), cut_before_turn)
