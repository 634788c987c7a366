"""Attention within windows of an image: one move cuts windows and brings heads to the front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tinyrt.convert.passes.common import Names, inverse, permuted
from tinyrt.convert.passes.layouts import Perm, layouts
from tinyrt.convert.passes.merge_through import MOST_DIMENSIONS, common_parts, parts_of
from tinyrt.convert.passes.moves import Move
from tinyrt.convert.passes.region import region_around
from tinyrt.convert.passes.rows_behind import RowsBehind, first_feature, rows_behind
from tinyrt.convert.passes.to_nhwc import flipped
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.transpose import TransposeAttrs

LINE = 32
"""Bytes that are copied while a move goes on to its next line, on a Cortex-M4."""


def heads_before_windows(graph: Graph, node: Node) -> Patch | Refusal | None:
    """Products of matrices (window, head) are those of (head, window), in another order.

    Where heads come first, those of queries, keys and values lie one behind the other: what moves
    them has a dimension less.
    """
    rows = rows_behind(graph, node)
    if not isinstance(rows, RowsBehind):
        return rows
    first = rows.ends[0]
    perm = _heads_first(graph, first, rows.count)
    if perm == tuple(range(len(perm))):
        return None
    region = region_around(graph, (first.output, perm), _by_matrix)
    if not region.nodes:
        return None
    is_free = not any(region.outside.values()) and region.members.keys().isdisjoint(graph.outputs)
    if not is_free or {*region.sources, *region.entries} != {end.output for end in rows.ends}:
        return Refusal(node.name, f"what '{first.name}' moves is read in its order")
    moves = _moves(graph, node, rows, region.members)
    return moves if isinstance(moves, Refusal) else flipped(graph, region)


def windows_behind_layers(graph: Graph, node: Node) -> Patch | Refusal | None:
    """move(f(transpose(x))) = move'(f(x)), where f computes each row by itself."""
    rows = rows_behind(graph, node)
    if not isinstance(rows, RowsBehind):
        return rows
    moves = _moves(graph, node, rows, {})
    if isinstance(moves, Refusal):
        return moves
    names, turned = Names(graph), graph.value(node.output)
    same = replace(node, op="reshape", attrs=ReshapeAttrs(turned.shape))
    swaps: list[tuple[Node, tuple[Node, ...]]] = [(node, (same,))]
    values: list[Value] = []
    for end, move in zip(rows.ends, moves, strict=True):
        source, output = graph.value(end.inputs[0]), graph.value(end.output)
        parted = replace(source, name=names.new(f"{source.name}.windows"), shape=move.shape)
        moved = replace(
            source, name=names.new(f"{output.name}.moved"), shape=permuted(move.shape, move.perm)
        )
        values += [parted, moved]
        steps = (
            Node("reshape", parted.name, end.inputs, (parted.name,), ReshapeAttrs(move.shape)),
            Node("transpose", moved.name, (parted.name,), (moved.name,), TransposeAttrs(move.perm)),
            Node("reshape", end.name, (moved.name,), end.outputs, ReshapeAttrs(output.shape)),
        )
        swaps.append((end, steps))
    return Patch(swaps=tuple(swaps), values=tuple(values))


def _heads_first(graph: Graph, end: Node, rows: int) -> Perm:
    """What brings the parts of rows before rows, in the output of ``end`` but for its matrices."""
    wide, perm = graph.value(end.inputs[0]).shape, end.attrs_as(TransposeAttrs).perm
    first = first_feature(wide, rows) or 0
    outer = range(len(perm) - 2)
    order = *sorted(outer, key=lambda axis: perm[axis] < first), len(perm) - 2, len(perm) - 1
    return _units_stay(graph.value(end.output).shape, order)


def _by_matrix(graph: Graph, node: Node, name: str, perm: Perm) -> Mapping[str, Perm] | None:
    """As ``layouts``, and through products, whose matrices may come in any order."""
    if node.op != "batch_matmul":
        found = layouts(graph, node, name, perm)
        if found is None or node.op != "reshape":
            return found
        return {n: _units_stay(graph.value(n).shape, other) for n, other in found.items()}
    rank = len(perm)
    names = [n for n in (*node.inputs, node.output) if not graph.value(n).is_constant]
    if perm[-2:] != (rank - 2, rank - 1) or any(len(graph.value(n).shape) != rank for n in names):
        return None
    return dict.fromkeys(names, perm)


def _units_stay(shape: Shape, perm: Perm) -> Perm:
    """The same move, where dimensions of size 1 stay in their places."""
    large = (axis for axis in perm if shape[axis] != 1)
    return tuple(axis if size == 1 else next(large) for axis, size in enumerate(shape))


def _moves(
    graph: Graph, turn: Node, rows: RowsBehind, flips: Mapping[str, Perm]
) -> list[Move] | Refusal:
    """What brings rows in the order in which ``turn`` reads them to where each end has them.

    Args:
        graph: the graph.
        turn: moves rows.
        rows: behind it.
        flips: outputs of ends that are permuted, and by what.

    """
    made = [_move(graph, turn, end, rows.count, flips.get(end.output)) for end in rows.ends]
    refused = next((move for move in made if isinstance(move, Refusal)), None)
    if refused is not None:
        return refused
    moves = [move for move in made if isinstance(move, Move)]
    old = [
        Move.of(graph.value(n.inputs[0]).shape, n.attrs_as(TransposeAttrs).perm)
        for n in (turn, *rows.ends)
    ]
    more = sum(move.lines for move in moves) - sum(move.lines for move in old)
    if LINE * more > graph.value(turn.output).size:
        return Refusal(turn.name, "one move of such short lines would take longer than two")
    return moves


def _move(graph: Graph, turn: Node, end: Node, rows: int, flip: Perm | None) -> Move | Refusal:
    """What ``turn`` and ``end`` do together, where what the latter gives may be permuted."""
    own, wide = graph.value(turn.output).shape, graph.value(end.inputs[0]).shape
    own, first = own[: first_feature(own, rows)], first_feature(wide, rows)
    fine = common_parts(own, wide[:first])
    split, join = (parts_of(s, fine) if fine else None for s in (own, wide[:first]))
    if fine is None or split is None or join is None:
        return Refusal(end.name, f"it splits what '{turn.name}' moves")
    sizes = (*fine, *wide[len(join) :])
    # Parts of rows, in the order in which they lie before ``turn``, and features as they are.
    rows_first = inverse(turn.attrs_as(TransposeAttrs).perm)[: len(own)]
    stored = [part for axis in rows_first for part in split[axis]] + [*range(len(fine), len(sizes))]
    parts = [*join, *([i] for i in range(len(fine), len(sizes)))]
    perm = end.attrs_as(TransposeAttrs).perm
    perm = perm if flip is None else permuted(perm, flip)
    order = [stored.index(part) for axis in perm for part in parts[axis]]
    move = Move.of([sizes[part] for part in stored], order)
    if len(move.shape) > MOST_DIMENSIONS:
        return Refusal(end.name, f"it would have to move {len(move.shape)} dimensions at once")
    return move


HEADS_BEFORE_WINDOWS = Rule("heads_before_windows", ("transpose",), heads_before_windows)
WINDOWS_BEHIND_LAYERS = Rule("windows_behind_layers", ("transpose",), windows_behind_layers)
