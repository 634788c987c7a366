"""Attention head by head: what would be moved to heads and back is cut, and joined."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from tinyrt.convert.passes.alive import most_alive
from tinyrt.convert.passes.common import (
    BINARY,
    UNARY,
    Array,
    Names,
    is_private,
    moves_only_units,
    producer,
    reordered,
    spend_on_arrays,
)
from tinyrt.convert.passes.cut_before_turn import cut_before_turn
from tinyrt.convert.passes.turn_heads import exchanged
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

MAX_HEADS = 8
"""More cost more code, about 1.2 KB each on a Cortex-M4, than what lies in memory gets smaller."""

DEEPEST = 24
"""Ops between a product and what its heads are cut from: attention has three or four."""

PLACES = 4
"""How often the places of elements are there at once: as they lie, moved, of a head, compared."""

MOVES = ("reshape", "transpose", "slice")

BY_HEAD = UNARY | BINARY | {"batch_matmul", "softmax"}
"""Ops of which one head comes of one head of each input: matrices are the last two dimensions."""


def unroll_heads(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(x @ y) = join(x[0] @ y[0], x[1] @ y[1], ...), where heads come behind rows again.

    Softmax and element-wise ops in front are taken apart, too. A head is a slice of what the moves
    in front of it read. Where a layer reads the turned sums as they are, heads are joined one
    behind the other, if that saves two moves or more.
    """
    back = node if node.op == "transpose" else None
    product = producer(graph, node, op="batch_matmul") if back else node
    if product is None or (back is None and not _is_last_of_two_moves(graph, product)):
        return None
    shape = graph.value(product.output).shape
    large = [axis for axis, size in enumerate(shape[:-2]) if size != 1]
    sizes = tuple(size for size in shape if size != 1) if len(large) == 1 else ()
    if sizes != (*(shape[axis] for axis in large), *shape[-2:]):
        return None
    if back is not None and exchanged(shape, back.attrs_as(TransposeAttrs).perm) != sizes:
        return None
    if sizes[0] > MAX_HEADS:
        return Refusal(node.name, f"more than {MAX_HEADS} heads would cost more code than memory")
    if back is not None and not is_private(graph, product.output):
        return Refusal(node.name, f"the output of '{product.name}' has other readers")
    unrolled = _Unrolled(graph, Names(graph), large[0] - len(shape))
    unrolled.join([unrolled.head(product, i) for i in range(sizes[0])], node)
    gone = unrolled.gone | {node.output}
    removed = tuple(n for n in graph.nodes if n.output in gone)
    patch = Patch(remove=removed, add=tuple(unrolled.nodes), values=tuple(unrolled.values))
    after = _cut_unturned(_applied(graph, patch))
    saved = _moves(graph) - _moves(after)
    if saved < (1 if back is not None else 2):
        return Refusal(node.name, "it would save no more than one move")
    if most_alive(after, after.nodes) > most_alive(graph, graph.nodes):
        return Refusal(node.name, "more memory would be needed where most is")
    new = tuple(value for name, value in after.values.items() if name not in graph.values)
    return Patch(remove=graph.nodes, add=after.nodes, values=new)


def _is_last_of_two_moves(graph: Graph, product: Node) -> bool:
    """Whether no product and no move is behind, where it is taken apart, and two are in front."""
    if any(n.op in (*BY_HEAD, "transpose") for n in graph.consumers(product.output)):
        return False
    turns, names, seen = 0, [*product.inputs], set[str]()
    while names and turns < 2:
        maker = graph.producer(names.pop())
        if maker is not None and maker.op in (*BY_HEAD, *MOVES) and maker.output not in seen:
            seen.add(maker.output)
            turns += _turns(graph, maker)
            names += maker.inputs
    return turns > 1


def _moves(graph: Graph) -> int:
    return sum(_turns(graph, node) for node in graph.nodes)


class _Part(NamedTuple):
    """One head of a value; ``turned`` where its two dimensions are exchanged."""

    name: str
    turned: bool = False


class _Cut(NamedTuple):
    """Where a head begins in a source that is seen as a matrix, and whether it is turned."""

    source: Value
    matrix: Shape
    begin: tuple[int, int]
    turned: bool


@dataclass(slots=True)
class _Unrolled:
    """The ops of one head after the other.

    Attributes:
        graph: the graph.
        names: for new values.
        axis: the dimension of heads, counted from the last one.
        nodes: what comes.
        values: what these compute, and parts of constants.
        gone: the values that only whole heads have.

    """

    graph: Graph
    names: Names
    axis: int
    nodes: list[Node] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def head(self, product: Node, i: int) -> str:
        """Head ``i`` of a product, whoever reads the whole of it."""
        return self._by_head(product, i, 0)

    def join(self, heads: Sequence[str], last: Node) -> None:
        """All heads, in place of the product or of the move behind it."""
        output, shapes = self.graph.value(last.output), {v.name: v.shape for v in self.values}
        if last.op != "transpose":
            attrs = ConcatenationAttrs(len(output.shape) + self.axis)
            self.nodes.append(replace(last, op="concatenation", inputs=tuple(heads), attrs=attrs))
            return
        rows, depth = shapes[heads[0]][-2:]
        flat = ReshapeAttrs((rows, depth))
        parts = [self._new(output, "reshape", head, flat.new_shape, flat) for head in heads]
        joined = self.names.new(f"{output.name}.joined")
        self.values.append(replace(output, name=joined, shape=(rows, len(heads) * depth)))
        side = ConcatenationAttrs(1)
        self.nodes.append(Node("concatenation", joined, tuple(parts), (joined,), side))
        whole = ReshapeAttrs(output.shape)
        self.nodes.append(Node("reshape", last.name, (joined,), last.outputs, whole))

    def _part(self, name: str, i: int, depth: int, *, may_turn: bool = False) -> _Part:
        """Head ``i`` of a value."""
        value = self.graph.value(name)
        if len(value.shape) < -self.axis or value.shape[self.axis] == 1:
            return _Part(name)
        if value.data is not None:
            data = np.take(value.data, [i], self.axis)
            self.values.append(reordered(value, self.names.new(f"{name}.head"), data))
            return _Part(self.values[-1].name)
        maker = self.graph.producer(name)
        if maker is None or depth > DEEPEST or not self._works_by_head(maker):
            return self._cut(value, i, may_turn)
        return _Part(self._by_head(maker, i, depth + 1))

    def _by_head(self, maker: Node, i: int, depth: int) -> str:
        """Head ``i`` of what an op computes of heads."""
        attrs, by_matrix = maker.attrs, maker.op == "batch_matmul"
        found = [self._part(n, i, depth, may_turn=by_matrix) for n in maker.inputs]
        if isinstance(attrs, BatchMatmulAttrs):
            x, y = (part.turned for part in found)
            attrs = replace(attrs, adj_x=attrs.adj_x != x, adj_y=attrs.adj_y != y)
        self.gone.add(maker.output)
        one = self._one(self.graph.value(maker.output))
        inputs = tuple(part.name for part in found)
        self.nodes.append(
            replace(maker, name=one.name, inputs=inputs, outputs=(one.name,), attrs=attrs)
        )
        return one.name

    def _works_by_head(self, maker: Node) -> bool:
        """Whether one head of its output comes of one head of each input, and no one else reads."""
        return is_private(self.graph, maker.output) and maker.op in BY_HEAD

    def _one(self, value: Value) -> Value:
        shape = list(value.shape)
        shape[self.axis] = 1
        one = replace(value, name=self.names.new(f"{value.name}.head"), shape=tuple(shape))
        self.values.append(one)
        return one

    def _new(self, like: Value, op: str, source: str, shape: Shape, attrs: object) -> str:
        name = self.names.new(f"{like.name}.{op}")
        self.values.append(replace(like, name=name, shape=shape))
        self.nodes.append(Node(op, name, (source,), (name,), attrs))
        return name

    def _cut(self, value: Value, i: int, may_turn: bool) -> _Part:
        """Head ``i`` as a slice of what the value is moved from, if of nothing else then of it."""
        shape = list(value.shape)
        shape[self.axis] = 1
        places = ((s, np.take(at, i, self.axis)) for s, at in _moved(self.graph, value))
        cuts = (_slice_of(source, at, shape, may_turn) for source, at in places)
        source, matrix, begin, turned = next(cut for cut in cuts if cut is not None)
        size = (shape[-1], shape[-2]) if turned else (shape[-2], shape[-1])
        like = replace(source, name=f"{value.name}.head")
        flat = self._new(like, "reshape", source.name, matrix, ReshapeAttrs(matrix))
        part = self._new(like, "slice", flat, size, SliceAttrs(begin, size, (1, 1)))
        whole = (*shape[:-2], *size)
        return _Part(self._new(like, "reshape", part, whole, ReshapeAttrs(whole)), turned)


def _moved(graph: Graph, value: Value) -> Iterator[tuple[Value, Array]]:
    """What a value is moved from, and where its elements lie there.

    What no transpose has moved comes first, and of that what is nearest: it may be a part of what
    lies in memory farther off.
    """
    makers: list[Node] = []
    maker = graph.producer(value.name)
    while maker is not None and maker.op in MOVES:
        makers.append(maker)
        maker = graph.producer(maker.inputs[0])
    turns = [_turns(graph, node) for node in makers]
    for count in sorted(range(len(makers) + 1), key=lambda count: sum(turns[count:])):
        source = graph.value(makers[count - 1].inputs[0]) if count else value
        elements = math.prod(source.shape)
        spend_on_arrays(f"the places of '{value.name}'", PLACES * elements)
        places = np.arange(elements).reshape(source.shape)
        for node in reversed(makers[:count]):
            places = _move(node, places).reshape(graph.value(node.output).shape)
        yield source, places


def _turns(graph: Graph, node: Node) -> bool:
    attrs = node.attrs
    if not isinstance(attrs, TransposeAttrs):
        return False
    return not moves_only_units(graph.value(node.inputs[0]).shape, attrs.perm)


def _move(node: Node, x: Array) -> Array:
    attrs = node.attrs
    if isinstance(attrs, TransposeAttrs):
        return x.transpose(attrs.perm)
    if isinstance(attrs, SliceAttrs):
        taken = zip(attrs.begin, attrs.size, attrs.strides, strict=True)
        return x[tuple(slice(b, b + (n - 1) * s + 1, s) for b, n, s in taken)]
    return x


def _slice_of(source: Value, places: Array, shape: Sequence[int], may_turn: bool) -> _Cut | None:
    """The slice of a source that has its elements at these places; maybe turned."""
    elements = math.prod(source.shape)
    for turned in (False, True)[: 1 + may_turn]:
        found = places.reshape(shape[-2:])
        found = found.T if turned else found
        first = int(found[0, 0])
        columns = int(found[1, 0]) - first if len(found) > 1 else source.shape[-1]
        if columns < found.shape[1] or elements % columns:
            continue
        row, column = divmod(first, columns)
        rows, width = found.shape
        wanted = first + np.arange(rows)[:, None] * columns + np.arange(width)
        if column + width <= columns and np.array_equal(wanted, found):
            return _Cut(source, (elements // columns, columns), (row, column), turned)
    return None


def _applied(graph: Graph, patch: Patch) -> Graph:
    """The graph with the patch, without nodes that nothing reads any more."""
    at, gone = graph.nodes.index(patch.remove[-1]), {n.output for n in patch.remove}
    before, behind = (
        [n for n in part if n.output not in gone] for part in (graph.nodes[:at], graph.nodes[at:])
    )
    read, kept = set(graph.outputs), []
    for node in reversed([*before, *patch.add, *behind]):
        if any(name in read for name in node.outputs):
            kept.append(node)
            read.update(node.inputs)
    values = graph.values | {value.name: value for value in patch.values}
    ends = tuple(graph.inputs), tuple(graph.outputs)
    return Graph(graph.name, *ends, values, tuple(kept[::-1]), graph.states)


def _cut_unturned(graph: Graph) -> Graph:
    """The graph, where what was cut from turned heads and turned back is cut before."""
    for node in graph.nodes:
        found = cut_before_turn(graph, node) if node.op == "transpose" else None
        if isinstance(found, Patch):
            return _cut_unturned(_applied(graph, found))
    return graph


UNROLL_HEADS = Rule("unroll_heads", ("transpose", "batch_matmul"), unroll_heads)
