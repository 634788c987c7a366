"""Regions of a graph whose values share a layout, and what flipping one costs.

A region is a set of values connected by ops that work in any layout (element-wise ops, pad,
concatenation, mean). Storing all of its values permuted removes the transposes that led into and
out of it, and needs others where it meets ops that are tied to the old layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tinyrt.convert.passes.common import ELEMENTWISE, inverse, moves_only_units
from tinyrt.convert.passes.fold_transpose import absorbs_transpose
from tinyrt.ir import Graph, Node
from tinyrt.ops import ops_where
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.shared.traits import Dims
from tinyrt.ops.transpose import TransposeAttrs

Perm = tuple[int, ...]
Cost = tuple[int, int]
"""Transposes that move elements, and those that only move dimensions of size 1."""

REDUCING = ops_where(lambda spec: Dims.AXES in (spec.traits.dims or {}).values())
"""Ops along axes that stay with size 1, or go."""

TRANSPARENT = ELEMENTWISE | ops_where(lambda spec: spec.traits.dims is not None)
"""Ops that work in any layout, if their inputs and outputs share it."""


def channels_last(rank: int) -> Perm:
    """(n, c, ...) -> (n, ..., c)."""
    return (0, *range(2, rank), 1)


@dataclass(slots=True)
class LayoutRegion:
    """Values that share a layout, and what leads into and out of them.

    Attributes:
        seed: the value around which it was found.
        perm: what the values would be permuted by.
        nodes: the ops inside, by identity.
        members: the values inside that are not constant, in the order in which they were found.
        entries: members that a transpose with the inverse permutation computes, by name.
        sources: members that other ops outside compute, or that are inputs of the model.
        exits: transposes of members with the permutation.
        outside: members that others outside read, with the number of those nodes that can't
            absorb a transpose; outputs of the model are among the members.

    """

    seed: str
    perm: Perm
    nodes: dict[int, Node] = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)
    entries: dict[str, Node] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    exits: list[Node] = field(default_factory=list)
    outside: dict[str, int] = field(default_factory=dict)

    @property
    def leaving(self) -> list[str]:
        """Members that are read outside in the old layout, in which nothing else computes them."""
        return [m for m in self.outside if m not in self.sources]


def region_around(graph: Graph, seed: str, perm: Perm) -> LayoutRegion:
    """The region that contains a value of the same rank as the permutation.

    The result is noted: each transpose that leads into a region looks for the same one.
    """
    firsts = graph.noted(("regions", perm), dict[str, str])
    first = firsts.get(seed, seed)
    region = graph.noted(("region", first, perm), lambda: _region(graph, first, perm))
    if seed not in firsts:
        firsts.update(dict.fromkeys(region.members, first))
    return region


def _region(graph: Graph, seed: str, perm: Perm) -> LayoutRegion:
    region, pending = LayoutRegion(seed, perm), [seed]
    while pending:
        name = pending.pop()
        if name in region.members or not name or graph.value(name).is_constant:
            continue
        region.members[name] = None
        maker = graph.producer(name)
        for node in (*graph.consumers(name), *([maker] if maker is not None else [])):
            if id(node) not in region.nodes and _is_transparent(graph, node, len(perm)):
                region.nodes[id(node)] = node
                pending += [*node.inputs, *node.outputs]
    for name in region.members:
        _add_borders(graph, region, name)
    return region


def _is_transparent(graph: Graph, node: Node, rank: int) -> bool:
    if node.op not in TRANSPARENT or (
        node.op in REDUCING and not node.attrs_as(MeanAttrs).keep_dims
    ):
        return False
    if node.op == "gather" and len(node.attrs_as(GatherAttrs).shape) != 1:
        return False
    values = [graph.value(n) for n in (*node.inputs, *node.outputs)]
    return all(
        len(v.shape) == rank or (v.is_constant and len(v.shape) < rank and node.op in ELEMENTWISE)
        for v in values
    )


def _add_borders(graph: Graph, region: LayoutRegion, name: str) -> None:
    maker = graph.producer(name)
    back = inverse(region.perm)
    if maker is not None and permutes(maker, back):
        region.entries[name] = maker
    elif maker is None or id(maker) not in region.nodes:
        region.sources.append(name)
    for node in graph.consumers(name):
        if permutes(node, region.perm):
            region.exits.append(node)
        elif id(node) not in region.nodes:
            absorbs = absorbs_transpose(graph, node, back)
            region.outside[name] = region.outside.get(name, 0) + (not absorbs)
    if name in graph.outputs:
        region.outside.setdefault(name, 0)


def permutes(node: Node, perm: Perm) -> bool:
    """Whether the node is a transpose with that permutation."""
    return node.op == "transpose" and node.attrs_as(TransposeAttrs).perm == perm


def flip_pays(graph: Graph, region: LayoutRegion, *, interface: bool) -> bool:
    """Whether flipping the region leaves fewer transposes, or as many in better places.

    Better is behind the region's ops, or at the model's inputs, where they stay, if that brings
    the ops into channels-last and so to the convolutions that they may fuse with.

    Args:
        graph: the graph.
        region: what would flip.
        interface: whether inputs and outputs of the model turn channels-last for free.

    """
    key = ("flip_pays", region.seed, region.perm, interface)
    return graph.noted(key, lambda: _pays(graph, region, interface=interface))


def _pays(graph: Graph, region: LayoutRegion, *, interface: bool) -> bool:
    if not region.nodes or _meets_itself(region):
        return False
    to_last = region.perm == channels_last(len(region.perm))
    free = _free_borders(graph, region, interface=interface and to_last)
    old = _cost(graph, region, [*region.entries, *(n.inputs[0] for n in region.exits)])
    new = _cost(graph, region, (m for m in (*region.sources, *region.leaving) if m not in free))
    if new != old:
        return new < old
    feeds = {n.inputs[0] for n in region.entries.values()}
    sinks = not region.sources and not region.exits and not feeds & set(graph.inputs)
    hoists = not region.leaving and not region.entries and set(region.sources) <= set(graph.inputs)
    return to_last and (sinks or hoists)


def _free_borders(graph: Graph, region: LayoutRegion, *, interface: bool) -> set[str]:
    """Members whose new transposes other rules will take away."""
    leaving = {m for m in region.leaving if not region.outside[m]}
    if not interface:
        return leaving - set(graph.outputs)
    sources = (m for m in region.sources if not region.outside.get(m))
    return leaving | (set(sources) & set(graph.inputs) - set(graph.outputs))


def _meets_itself(region: LayoutRegion) -> bool:
    """Whether a transpose leads from the region back into it."""
    ends = {n.inputs[0] for n in region.entries.values()} | {n.outputs[0] for n in region.exits}
    return not ends.isdisjoint(region.members)


def _cost(graph: Graph, region: LayoutRegion, members: Iterable[str]) -> Cost:
    shapes = [graph.value(m).shape for m in members]
    light = sum(moves_only_units(shape, region.perm) for shape in shapes)
    return len(shapes) - light, light
