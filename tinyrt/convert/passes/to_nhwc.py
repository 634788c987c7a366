"""Transposes move towards each other and cancel: the layout of whole regions flips."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tinyrt.convert.passes.common import Names, constant_data, inverse, permuted
from tinyrt.convert.passes.region import Perm, Region, channels_last, flip_pays, region_around
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops.transpose import TransposeAttrs


def flip_region(graph: Graph, node: Node, *, interface: bool) -> Patch | Refusal:
    """f(transpose(x), transpose(y), ...) = transpose(f(x, y, ...)), for whole regions of such f."""
    perm = node.attrs.perm
    for seed, flip in ((node.outputs[0], inverse(perm)), (node.inputs[0], perm)):
        region = region_around(graph, seed, flip)
        if flip_pays(graph, region, interface=interface):
            return _Flip(graph, region).patch()
    return Refusal(node.name, "moving it would leave more transposes")


class _Flip:
    """The nodes and values of a graph with one region flipped."""

    def __init__(self, graph: Graph, region: Region) -> None:
        self.graph = graph
        self.region = region
        self.perm = region.perm
        self.names = Names(graph)
        self.values: dict[str, Value] = {}
        self.inside: dict[str, str] = {}
        self.outside: dict[str, str] = {}
        self.behind: dict[int, list[Node]] = {}
        self.at_start: list[Node] = []

    def patch(self) -> Patch:
        for name in self.region.members:
            self._turn(name)
        nodes = [*self.at_start]
        for node in self.graph.nodes:
            nodes += [self._rewritten(node), *self.behind.get(id(node), [])]
        return Patch(remove=self.graph.nodes, add=tuple(nodes), values=tuple(self.values.values()))

    def _turn(self, name: str) -> None:
        """Settle under which names a member is read inside and outside."""
        if name in self.region.entries:
            self.inside[name] = self.region.entries[name].inputs[0]
        elif name in self.region.sources:
            wish = self.names.new(name + _suffix(self.perm))
            self.inside[name] = self._insert(name, name, self.perm, wish)
        else:
            self._turn_computed(name)

    def _turn_computed(self, name: str) -> None:
        is_output = name in self.graph.outputs
        new = self.names.new(name + _suffix(self.perm)) if is_output else name
        old = name if is_output else self.names.new(name + _suffix(inverse(self.perm)))
        self.inside[name] = new
        if name in self.region.outside:
            self.outside[name] = self._insert(name, new, inverse(self.perm), old)
        value = self.graph.value(name)
        self.values[new] = replace(value, name=new, shape=permuted(value.shape, self.perm))

    def _insert(self, member: str, source: str, perm: Perm, name: str) -> str:
        """A transpose right behind the op that computes the member."""
        value = self.graph.value(member)
        shape = permuted(value.shape, perm) if perm == self.perm else value.shape
        self.values[name] = replace(value, name=name, shape=shape)
        node = Node("transpose", name, (source,), (name,), TransposeAttrs(perm))
        maker = self.graph.producer(member)
        where = self.at_start if maker is None else self.behind.setdefault(id(maker), [])
        where.append(node)
        return name

    def _rewritten(self, node: Node) -> Node:
        """The node after the flip; a transpose that cancels becomes an identity."""
        if id(node) in self.region.nodes:
            return replace(
                node,
                inputs=tuple(self._operand(n) for n in node.inputs),
                outputs=tuple(self.inside[n] for n in node.outputs),
                attrs=_turned_attrs(node, self.perm),
            )
        if any(node is leaving for leaving in self.region.exits):
            attrs = TransposeAttrs(tuple(range(len(self.perm))))
            return replace(node, inputs=(self.inside[node.inputs[0]],), attrs=attrs)
        return replace(node, inputs=tuple(self.outside.get(n, n) for n in node.inputs))

    def _operand(self, name: str) -> str:
        data = constant_data(self.graph, name)
        if data is None:
            return self.inside[name]
        if data.size == 1:
            return name
        if name not in self.inside:
            full = data.reshape((1,) * (len(self.perm) - data.ndim) + data.shape)
            turned = self.names.new(name + _suffix(self.perm))
            self.values[turned] = Value.constant(turned, full.transpose(self.perm))
            self.inside[name] = turned
        return self.inside[name]


def _turned_attrs(node: Node, perm: Perm) -> Any:
    """A node's attributes for operands permuted by ``perm``."""
    attrs, where = node.attrs, inverse(perm)
    if node.op == "pad":
        return replace(attrs, paddings=tuple(attrs.paddings[i] for i in perm))
    if node.op == "concatenation":
        return replace(attrs, axis=where[attrs.axis])
    if node.op == "mean":
        return replace(attrs, axes=tuple(sorted(where[a] for a in attrs.axes)))
    return attrs


def _suffix(perm: Perm) -> str:
    """What a tensor's name gets when it is stored in another layout too."""
    last = channels_last(len(perm))
    return ".nhwc" if perm == last else ".nchw" if perm == inverse(last) else ".transposed"


def turn_input(graph: Graph, node: Node) -> Patch | Refusal | None:
    """An input that is only read through transposes to channels-last takes that layout."""
    source = graph.value(node.inputs[0])
    perm = channels_last(len(source.shape))
    if source.name not in graph.inputs or node.attrs.perm != perm or len(perm) < 3:
        return None
    readers = graph.consumers(source.name)
    if source.name in graph.outputs or any(
        n.op != "transpose" or n.attrs.perm != perm for n in readers
    ):
        return Refusal(node.name, f"the input '{source.name}' has other readers")
    turned = replace(source, shape=permuted(source.shape, perm))
    identity = TransposeAttrs(tuple(range(len(perm))))
    nodes = (replace(n, attrs=identity) if n in readers else n for n in graph.nodes)
    return Patch(remove=graph.nodes, add=tuple(nodes), values=(turned,))


def turn_output(graph: Graph, node: Node) -> Patch | Refusal | None:
    """An output that is a transpose from channels-last takes that layout."""
    output = graph.value(node.outputs[0])
    perm = channels_last(len(output.shape))
    if output.name not in graph.outputs or node.attrs.perm != inverse(perm) or len(perm) < 3:
        return None
    if graph.consumers(output.name):
        return Refusal(node.name, f"the output '{output.name}' has other readers")
    turned = replace(output, shape=permuted(output.shape, perm))
    identity = replace(node, attrs=TransposeAttrs(tuple(range(len(perm)))))
    return Patch(remove=(node,), add=(identity,), values=(turned,))


FLIP_REGIONS = Rule(
    "flip_regions", ("transpose",), lambda graph, node: flip_region(graph, node, interface=True)
)
FLIP_INNER_REGIONS = Rule(
    "flip_regions", ("transpose",), lambda graph, node: flip_region(graph, node, interface=False)
)
TURN_INPUT = Rule("turn_input", ("transpose",), turn_input)
TURN_OUTPUT = Rule("turn_output", ("transpose",), turn_output)
