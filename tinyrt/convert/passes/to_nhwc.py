"""Transposes move towards each other and cancel: the layout of whole regions flips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tinyrt.convert.passes.common import (
    Names,
    constant_data,
    inverse,
    moves_only_units,
    permuted,
    reordered,
)
from tinyrt.convert.passes.fold_transpose import absorbs_transpose
from tinyrt.convert.passes.layouts import ROWS, Perm, channels_last
from tinyrt.convert.passes.region import (
    LayoutRegion,
    flip_pays,
    permutes,
    regions_around,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops import OPS
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.traits import Dims
from tinyrt.ops.transpose import TransposeAttrs


def flip_region(graph: Graph, node: Node, *, interface: bool) -> Patch | Refusal:
    """f(transpose(x), transpose(y), ...) = transpose(f(x, y, ...)), for whole regions of such f."""
    perm = node.attrs_as(TransposeAttrs).perm
    for seed, flip in ((node.output, inverse(perm)), (node.inputs[0], perm)):
        for region in regions_around(graph, seed, flip):
            if flip_pays(graph, region, interface=interface):
                return flipped(graph, region)
    return Refusal(node.name, "moving it would leave more transposes")


def flipped(graph: Graph, region: LayoutRegion) -> Patch:
    """The region permuted, with transposes where it meets what is not."""
    return _Flip(graph, region).patch()


class _Flip:
    """The nodes and values of a graph with one region flipped."""

    def __init__(self, graph: Graph, region: LayoutRegion) -> None:
        self.graph = graph
        self.region = region
        self.names = Names(graph)
        self.values: dict[str, Value] = {}
        self.inside: dict[str, str] = {}
        self.constants: dict[tuple[str, Perm], str] = {}
        self.outside: dict[str, str] = {}
        self.exits = {id(node) for node in region.exits}
        self.makers: dict[int, Node] = {}
        self.behind: dict[int, list[Node]] = {}
        self.at_start: list[Node] = []

    def patch(self) -> Patch:
        for name in self.region.members:
            self._turn(name)
        nodes = {**self.region.nodes, **self.makers}
        readers = (n for name in self.outside for n in self.graph.consumers(name))
        nodes.update((id(node), node) for node in (*self.region.exits, *readers))
        # Constants are turned as the nodes that read them are rewritten.
        swaps = tuple(
            (node, (self._rewritten(node), *self.behind.get(id(node), ())))
            for node in nodes.values()
        )
        start = self.graph.nodes[0] if self.at_start else None
        return Patch(
            add=tuple(self.at_start),
            values=tuple(self.values.values()),
            anchor=start,
            swaps=swaps,
        )

    def _turn(self, name: str) -> None:
        """Settle under which names a member is read inside and outside."""
        value, perm = self.graph.value(name), self.region.members[name]
        new_value = replace(value, shape=permuted(value.shape, perm))
        if name in self.region.entries:
            self.inside[name] = self.region.entries[name].inputs[0]
        elif name in self.region.sources:
            self.inside[name] = self.names.new(name + _suffix(perm))
            self._insert(name, name, perm, replace(new_value, name=self.inside[name]))
        else:
            self._turn_computed(value, new_value, perm)

    def _turn_computed(self, value: Value, new_value: Value, perm: Perm) -> None:
        """The member keeps its name in the new layout, unless it is an output of the model."""
        name, back = value.name, inverse(perm)
        is_output = name in self.graph.outputs
        self.inside[name] = self.names.new(name + _suffix(perm)) if is_output else name
        if name in self.region.outside:
            self.outside[name] = name if is_output else self.names.new(name + _suffix(back))
            old = replace(value, name=self.outside[name])
            self._insert(name, self.inside[name], back, old)
        self.values[self.inside[name]] = replace(new_value, name=self.inside[name])

    def _insert(self, member: str, source: str, perm: Perm, output: Value) -> None:
        """A transpose right behind the op that computes the member."""
        self.values[output.name] = output
        node = Node("transpose", output.name, (source,), (output.name,), TransposeAttrs(perm))
        maker = self.graph.producer(member)
        if maker is None:
            self.at_start.append(node)
        else:
            self.makers[id(maker)] = maker
            self.behind.setdefault(id(maker), []).append(node)

    def _rewritten(self, node: Node) -> Node:
        """The node after the flip; a transpose that cancels becomes an identity."""
        if id(node) in self.region.nodes:
            return self._turned(node)
        if id(node) in self.exits:
            attrs = TransposeAttrs(tuple(range(len(self.graph.value(node.inputs[0]).shape))))
            return replace(node, inputs=(self.inside[node.inputs[0]],), attrs=attrs)
        inputs = tuple(self.outside.get(n, n) for n in node.inputs)
        return node if inputs == node.inputs else replace(node, inputs=inputs)

    def _turned(self, node: Node) -> Node:
        """An op of the region, on values that are permuted."""
        perms = self.region.members
        outputs = tuple(self.inside.get(n, n) for n in node.outputs)
        if node.op == "reshape":
            shape, order = self.graph.value(node.output).shape, perms.get(node.output)
            attrs = ReshapeAttrs(shape if order is None else permuted(shape, order))
            source = self._operand(node.inputs[0])
            return replace(node, inputs=(source,), outputs=outputs, attrs=attrs)
        perm = next(perms[n] for n in (*node.inputs, *node.outputs) if n in perms)
        if node.op in ROWS:
            source = self._operand(node.inputs[0])
            return replace(node, inputs=(source, *node.inputs[1:]), outputs=outputs)
        inputs = tuple(self._operand(n, perm) for n in node.inputs)
        return replace(node, inputs=inputs, outputs=outputs, attrs=turned_attrs(node, perm))

    def _operand(self, name: str, perm: Perm = ()) -> str:
        """What an op of the region reads; ``perm`` is what its constants are permuted by."""
        data = constant_data(self.graph, name)
        if data is None:
            return self.inside.get(name, name)
        if data.size == 1:
            return name
        if (name, perm) not in self.constants:
            full = data.reshape((1,) * (len(perm) - data.ndim) + data.shape)
            new_name = self.names.new(name + _suffix(perm))
            value = self.graph.value(name)
            self.values[new_name] = reordered(value, new_name, full.transpose(perm))
            self.constants[name, perm] = new_name
        return self.constants[name, perm]


def turned_attrs(node: Node, perm: Perm) -> object:
    """A node's attributes for operands permuted by ``perm``."""
    attrs: Any = node.attrs  # of any op that works in any layout
    dims = OPS[node.op].traits.dims or {}
    changes = {name: _TURNED[kind](getattr(attrs, name), perm) for name, kind in dims.items()}
    return replace(attrs, **changes) if changes else attrs


_TURNED: Mapping[Dims, Callable[[Any, Perm], Any]] = {
    Dims.AXIS: lambda axis, perm: inverse(perm)[axis],
    Dims.AXES: lambda axes, perm: tuple(sorted(inverse(perm)[axis] for axis in axes)),
    Dims.EACH: permuted,
}
"""How numbers that belong to dimensions follow a permutation."""


def _suffix(perm: Perm) -> str:
    """What a tensor's name gets when it is stored in another layout too."""
    last = channels_last(len(perm))
    return ".nhwc" if perm == last else ".nchw" if perm == inverse(last) else ".transposed"


def turn_input(graph: Graph, node: Node) -> Patch | Refusal | None:
    """An input that is only read through transposes to channels-last takes that layout.

    Other readers may be such as absorb a transpose, which they get.
    """
    source = graph.value(node.inputs[0])
    perm = channels_last(len(source.shape))
    if source.name not in graph.inputs or not permutes(node, perm) or len(perm) < 3:
        return None
    readers = graph.consumers(source.name)
    others = [n for n in readers if not permutes(n, perm)]
    absorb = not moves_only_units(source.shape, perm) and all(
        absorbs_transpose(graph, n, inverse(perm)) for n in others
    )
    if source.name in graph.outputs or (others and not absorb):
        return Refusal(node.name, f"the input '{source.name}' has other readers")
    new_source = replace(source, shape=permuted(source.shape, perm))
    back = replace(source, name=Names(graph).new(source.name + _suffix(inverse(perm))))
    attrs = TransposeAttrs(inverse(perm))
    nodes = [Node("transpose", back.name, (source.name,), (back.name,), attrs)] if others else []
    for reader in graph.nodes:
        if any(reader is n for n in others):
            inputs = tuple(back.name if n == source.name else n for n in reader.inputs)
            nodes.append(replace(reader, inputs=inputs))
        elif source.name in reader.inputs:
            nodes.append(replace(reader, attrs=TransposeAttrs(tuple(range(len(perm))))))
        else:
            nodes.append(reader)
    return Patch(remove=graph.nodes, add=tuple(nodes), values=(new_source, back))


def turn_output(graph: Graph, node: Node) -> Patch | Refusal | None:
    """An output that is a transpose from channels-last takes that layout."""
    output = graph.value(node.output)
    perm = channels_last(len(output.shape))
    if output.name not in graph.outputs or not permutes(node, inverse(perm)) or len(perm) < 3:
        return None
    if graph.consumers(output.name):
        return Refusal(node.name, f"the output '{output.name}' has other readers")
    new_output = replace(output, shape=permuted(output.shape, perm))
    identity = replace(node, attrs=TransposeAttrs(tuple(range(len(perm)))))
    return Patch(remove=(node,), add=(identity,), values=(new_output,))


FLIP_REGIONS = Rule(
    "flip_regions", ("transpose",), lambda graph, node: flip_region(graph, node, interface=True)
)
FLIP_INNER_REGIONS = Rule(
    "flip_regions", ("transpose",), lambda graph, node: flip_region(graph, node, interface=False)
)
TURN_INPUT = Rule("turn_input", ("transpose",), turn_input)
TURN_OUTPUT = Rule("turn_output", ("transpose",), turn_output)
