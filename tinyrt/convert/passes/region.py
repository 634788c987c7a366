"""Regions of a graph whose values share a layout, and what flipping one costs.

A region is a set of values connected by ops that work in any layout (element-wise ops, pad,
concatenation, mean), or that follow any layout of one value with one of the other (reshape, sums
along dimensions that go). Storing all of its values permuted removes the transposes that led into
and out of it, and needs others where it meets ops that are tied to the old layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeGuard

from tinyrt.convert.passes.common import inverse, moves_only_units, permuted
from tinyrt.convert.passes.fold_transpose import absorbs_transpose
from tinyrt.convert.passes.layouts import TRANSPARENT, Perm, agree, channels_last, layouts
from tinyrt.ir import Graph, Node, Shape
from tinyrt.ops.transpose import TransposeAttrs

Cost = tuple[int, int]
"""Transposes that move elements, and those that only move dimensions of size 1."""

Inside = Callable[[Graph, Node, str, Perm], Mapping[str, Perm] | None]
"""By what the values of an op are permuted, if one of them is; None for an op outside."""


@dataclass(slots=True)
class LayoutRegion:
    """Values that share a layout, and what leads into and out of them.

    Attributes:
        seed: the value around which it was found, with what it would be permuted by.
        inside: which ops may be inside.
        nodes: the ops inside, by identity.
        members: the values inside that are not constant, in the order in which they were found,
            with what they would be permuted by.
        entries: members that a transpose with the inverse permutation computes, by name.
        sources: members that other ops outside compute, or that are inputs of the model.
        exits: transposes of members with their permutation.
        outside: members that others outside read, with the number of those nodes that can't
            absorb a transpose; outputs of the model are among the members.
        bent: other transposes at the border, each with the shape of what it would read then and
            the permutation that it would get.

    """

    seed: tuple[str, Perm]
    inside: Inside
    nodes: dict[int, Node] = field(default_factory=dict)
    members: dict[str, Perm] = field(default_factory=dict)
    entries: dict[str, Node] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    exits: list[Node] = field(default_factory=list)
    outside: dict[str, int] = field(default_factory=dict)
    bent: list[tuple[Node, Shape, Perm]] = field(default_factory=list)

    @property
    def leaving(self) -> list[str]:
        """Members that are read outside in the old layout, in which nothing else computes them."""
        return [m for m in self.outside if m not in self.sources]


def regions_around(graph: Graph, seed: str, perm: Perm) -> Iterator[LayoutRegion]:
    """The regions that contain a value, to be permuted: with reshapes inside, and without.

    They are noted: each transpose that leads into a region looks for the same one.
    """
    for inside in (layouts, _in_one_rank):
        yield region_around(graph, (seed, perm), inside)


def region_around(graph: Graph, seed: tuple[str, Perm], inside: Inside) -> LayoutRegion:
    """The region that contains a value, to be permuted, and of which ``inside`` says what is in."""
    firsts = graph.noted(("regions", inside), dict[tuple[str, Perm], tuple[str, Perm]])
    first = firsts.get(seed, seed)
    region = graph.noted(("region", inside, first), partial(_region, graph, first, inside))
    if seed not in firsts:
        firsts.update(dict.fromkeys(region.members.items(), first))
    return region


def _in_one_rank(graph: Graph, node: Node, name: str, perm: Perm) -> Mapping[str, Perm] | None:
    is_one = len(graph.value(node.output).shape) == len(perm)
    found = layouts(graph, node, name, perm) if node.op in TRANSPARENT and is_one else None
    return found if found is not None and set(found.values()) == {perm} else None


def _region(graph: Graph, seed: tuple[str, Perm], inside: Inside) -> LayoutRegion:
    region, pending = LayoutRegion(seed, inside), [seed[0]]
    known = dict([seed])
    while pending:
        name = pending.pop()
        region.members[name] = known[name]
        maker = graph.producer(name)
        for node in (*graph.consumers(name), *([maker] if maker is not None else [])):
            found = None
            if id(node) not in region.nodes:
                found = inside(graph, node, name, known[name])
            if found is None or not agree(graph, node, found, known):
                continue
            region.nodes[id(node)] = node
            new = {other: perm for other, perm in found.items() if other not in known}
            known.update(new)
            # What keeps its order is known, and no member.
            pending += [other for other, perm in new.items() if perm != tuple(range(len(perm)))]
    for name in region.members:
        _add_borders(graph, region, name)
    return region


def _add_borders(graph: Graph, region: LayoutRegion, name: str) -> None:
    maker, perm = graph.producer(name), region.members[name]
    back = inverse(perm)
    if maker is not None and permutes(maker, back):
        region.entries[name] = maker
    elif maker is None or id(maker) not in region.nodes:
        region.sources.append(name)
    for node in graph.consumers(name):
        if permutes(node, perm):
            region.exits.append(node)
        elif id(node) not in region.nodes:
            absorbs = _turns(node) or absorbs_transpose(graph, node, back)
            if _turns(node):
                shape = permuted(graph.value(name).shape, perm)
                new = permuted(back, node.attrs_as(TransposeAttrs).perm)
                region.bent.append((node, shape, new))
            region.outside[name] = region.outside.get(name, 0) + (not absorbs)
    if name in graph.outputs:
        region.outside.setdefault(name, 0)
    elif name in region.sources and name not in region.outside and _turns(maker):
        shape = graph.value(maker.inputs[0]).shape
        new = permuted(maker.attrs_as(TransposeAttrs).perm, perm)
        region.bent.append((maker, shape, new))


def _turns(node: Node | None) -> TypeGuard[Node]:
    return node is not None and node.op == "transpose"


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
    key = ("flip_pays", region.inside, region.seed, interface)
    return graph.noted(key, lambda: _pays(graph, region, interface=interface))


def _pays(graph: Graph, region: LayoutRegion, *, interface: bool) -> bool:
    if not region.nodes or _meets_itself(region):
        return False
    free = _free_borders(graph, region, interface=interface)
    bent = {id(node) for node, _, _ in region.bent}
    sources = [m for m in region.sources if id(graph.producer(m)) not in bent]
    gone = [*region.entries.values(), *region.exits, *(node for node, _, _ in region.bent)]
    old = _cost((graph.value(n.inputs[0]).shape, n.attrs_as(TransposeAttrs).perm) for n in gone)
    borders = [m for m in (*sources, *region.leaving) if m not in free]
    new = _cost(
        [
            *((graph.value(m).shape, region.members[m]) for m in borders),
            *((shape, perm) for _, shape, perm in region.bent),
        ]
    )
    if new != old or region.inside is layouts:
        return new < old  # ``sink_transpose`` would undo what moves over a reshape in a tie
    feeds = {n.inputs[0] for n in region.entries.values()}
    sinks = not region.sources and not region.exits and not feeds & set(graph.inputs)
    hoists = not region.leaving and not region.entries and set(region.sources) <= set(graph.inputs)
    to_last = all(perm == channels_last(len(perm)) for perm in region.members.values())
    return to_last and (sinks or hoists)


def _free_borders(graph: Graph, region: LayoutRegion, *, interface: bool) -> set[str]:
    """Members whose new transposes other rules will take away."""
    leaving = {m for m in region.leaving if not region.outside[m]}
    turning = {m for m, perm in region.members.items() if perm == channels_last(len(perm))}
    turning = turning if interface else set()
    outputs, inputs = set(graph.outputs), set(graph.inputs)
    sources = {m for m in region.sources if not region.outside.get(m)}
    if region.inside is layouts:
        sources = set()  # an input that is reshaped to an output would turn to and fro
    return (leaving - (outputs - turning)) | (sources & turning & inputs - outputs)


def _meets_itself(region: LayoutRegion) -> bool:
    """Whether a transpose leads from the region back into it."""
    ends = {n.inputs[0] for n in region.entries.values()} | {n.output for n in region.exits}
    ends |= {n.inputs[0] if n.output in region.members else n.output for n, _, _ in region.bent}
    return not ends.isdisjoint(region.members)


def _cost(transposes: Iterable[tuple[Shape, Perm]]) -> Cost:
    heavy = light = 0
    for shape, perm in transposes:
        if perm == tuple(range(len(perm))):
            continue
        if moves_only_units(shape, perm):
            light += 1
        else:
            heavy += 1
    return heavy, light
