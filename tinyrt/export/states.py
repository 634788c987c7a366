"""The layout of a model's states on the device: in memory that the caller keeps.

A state and its next value share their bytes. Some models append the newest rows to a state and keep
all but the oldest as the next state. Then the whole window lies in the state memory: its rows move
towards its start, the new rows are written behind them, and nothing is copied back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tinyrt.ir import BoundNode, Graph, Node, Value
from tinyrt.memory.placing.problem import ALIGNMENT
from tinyrt.memory.placing.ties import slice_offset
from tinyrt.ops import verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.reshape import ReshapeAttrs


@dataclass(frozen=True, slots=True)
class Shift:
    """A concatenation that moves a window on.

    Attributes:
        tail: bytes of the window that move to its start.
        new: bytes of the new rows behind them.
        rows: the value that holds the new rows.
        window: the value that holds the whole window.

    """

    tail: int
    new: int
    rows: Value
    window: Value


@dataclass(frozen=True, slots=True)
class Fill:
    """A write of ``reset``: a run of bytes of one value."""

    offset: int
    nbytes: int
    byte: int


@dataclass(frozen=True, slots=True)
class StateLayout:
    """The state memory.

    Attributes:
        offsets: value -> its first byte, for all values that lie there.
        nbytes: the memory's size.
        shifts: concatenation's index -> the shift that replaces it.
        idle: nodes without work.
        fills: the initial contents of the memory.

    """

    offsets: dict[str, int]
    nbytes: int
    shifts: dict[int, Shift]
    idle: frozenset[int]
    fills: tuple[Fill, ...]


def lay_out(graph: Graph) -> StateLayout:
    """The state memory of a graph that ``settle`` has returned."""
    offsets: dict[str, int] = {}
    shifts: dict[int, Shift] = {}
    idle: set[int] = set()
    fills: list[Fill] = []
    end = 0
    for before, after in graph.states:
        value = graph.value(before)
        window = _shift(graph, before, after)
        nbytes = value.nbytes
        offsets[before] = offsets[after] = end
        if window is not None:
            index, cut, shift = window
            shifts[index] = shift
            idle.add(cut)
            nbytes = shift.window.nbytes
            offsets[shift.window.name] = end
            offsets[before] = offsets[after] = end + shift.new
        zero = value.q.zero_point if value.q else 0
        fills.append(Fill(end, nbytes, zero & 0xFF))
        end += -(-nbytes // ALIGNMENT) * ALIGNMENT
    return StateLayout(offsets, end, shifts, frozenset(idle), tuple(fills))


def settle(graph: Graph) -> Graph:
    """The graph with a copy at its end for each state that would change before its last reader.

    Likewise for each state whose next value is a constant.
    """
    nodes = list(graph.nodes)
    values: list[Value] = []
    for before, after in graph.states:
        if _shift(graph, before, after) is not None:
            continue
        reads = [i for i, node in enumerate(graph.nodes) if before in node.inputs]
        writes = [i for i, node in enumerate(graph.nodes) if after in node.outputs]
        if writes and (not reads or max(reads) < writes[0] or _updates(graph, max(reads), after)):
            continue
        value = graph.value(after)
        early = replace(value, name=graph.unique_name(f"{after}/early"))
        values += [early, replace(value, data=None)]
        renamed = {after: early.name}
        nodes = [
            replace(
                node,
                inputs=tuple(renamed.get(n, n) for n in node.inputs),
                outputs=tuple(renamed.get(n, n) for n in node.outputs),
            )
            for node in nodes
        ]
        attrs = ReshapeAttrs(value.shape)
        nodes.append(Node("reshape", f"{after}/settle", (early.name,), (after,), attrs))
    return verify(graph.with_nodes(nodes, values)) if values else graph


def _updates(graph: Graph, last: int, after: str) -> bool:
    """Whether the last reader of a state updates it in place."""
    return after in graph.nodes[last].outputs[1:]


def _shift(graph: Graph, before: str, after: str) -> tuple[int, int, Shift] | None:
    """A state's concatenation and the slice to its next value, if both move a window on."""
    join = _only(node for node in graph.bound() if before in node.node.inputs)
    cut = _only(node for node in graph.bound() if after in node.node.outputs)
    if join is None or cut is None or join.op != "concatenation" or len(join.inputs) != 2:
        return None
    window, rows = join.output, join.input(1)
    axis = join.attrs_as(ConcatenationAttrs).axis
    in_order = join.node.inputs[0] == before and math.prod(window.shape[:axis]) == 1
    if not in_order or rows.is_constant or rows.name == before or window.name in graph.outputs:
        return None
    if cut.node.inputs[0] != window.name or slice_offset(cut) != rows.nbytes:
        return None
    if rows.nbytes % ALIGNMENT:
        return None
    return join.index, cut.index, Shift(cut.output.nbytes, rows.nbytes, rows, window)


def _only(nodes: Iterator[BoundNode]) -> BoundNode | None:
    items = list(nodes)
    return items[0] if len(items) == 1 else None
