"""Integers of 64 bits become integers of 32 where all that they can be fits: devices compute those.

Tensors that ops read and write together change together, as a region. A cast, and the choice of a
place, ends a region at no cost: each has either width. Elsewhere a cast is added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tinyrt import budget
from tinyrt.convert.passes.common import Names
from tinyrt.convert.values.bounds import bounds_of
from tinyrt.convert.values.interval import Bounds
from tinyrt.convert.values.width import ARITHMETIC, SHORT, WIDE, beyond, fits, reach
from tinyrt.ir import BoundNode, DType, Graph, Node, RewriteLog, TensorType, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops import OPS, ops_where, verify
from tinyrt.ops.arg import CHOICES, ArgAttrs
from tinyrt.ops.cast import CastAttrs

NARROW = "narrow_integers"
"""The pass's name."""

ALIKE = ops_where(lambda spec: spec.traits.elementwise or spec.traits.selects) - {"cast"}
"""Ops that give the same numbers in either width, as long as these fit."""


def narrow_integers(graph: Graph, log: RewriteLog) -> Graph:
    """The graph with int32 for int64 where that loses nothing; itself where nothing changes."""
    if all(v.is_constant or v.dtype is not WIDE for v in graph.values.values()):
        return graph
    bounds = bounds_of(graph)
    alike = {node.index: node for node in graph.bound() if _computes_alike(node, bounds)}
    regions = [r for r in _regions(graph, alike.values(), bounds) if _pays(graph, r, alike)]
    _note_unproven(graph, bounds, log)
    if not regions:
        return graph
    names = frozenset[str]().union(*regions)
    turned = {i for i, node in alike.items() if not names.isdisjoint(_wide_of(node))}
    for node in graph.bound():
        if node.index in turned or node.output.name in names:
            log.note(NARROW, node.name, "all its integers fit 32 bits, whatever comes")
    return _Narrowing(graph, names, turned).written()


def _wide_of(node: BoundNode) -> list[str]:
    """The activations of 64 bits that a node reads or writes."""
    values = (*node.inputs, *node.outputs)
    return [v.name for v in values if v is not None and v.dtype is WIDE and not v.is_constant]


def _computes_alike(node: BoundNode, bounds: Mapping[str, Bounds]) -> bool:
    """Whether a node of int64 has a form on int32, with the same answers."""
    if node.op not in ALIKE or not _wide_of(node) or beyond(node, bounds) is not None:
        return False
    inputs = [None if v is None else _short(v.type) for v in node.inputs]
    found = OPS[node.op].infer(node.attrs, inputs)
    return tuple(found) == tuple(_short(v.type) for v in node.outputs)


def _short(kind: TensorType) -> TensorType:
    return TensorType(SHORT, kind.shape) if kind.dtype is WIDE else kind


def _note_unproven(graph: Graph, bounds: Mapping[str, Bounds], log: RewriteLog) -> None:
    """Say of arithmetic that stays in 64 bits what may need them."""
    for node in graph.bound():
        value = beyond(node, bounds) if node.op in ARITHMETIC else None
        if value is not None:
            log.refused[NARROW, node.name] = f"'{value.name}' may be {reach(value, bounds)}"


def _regions(
    graph: Graph, alike: Iterable[BoundNode], bounds: Mapping[str, Bounds]
) -> list[set[str]]:
    """Tensors that fit, together with those that the same ops read and write."""
    made = (v for node in graph.bound() for v in node.outputs if v.dtype is WIDE)
    region_of = {v.name: {v.name} for v in made if fits(v, bounds)}
    for node in alike:
        first, *others = (region_of[name] for name in _wide_of(node))
        for other in others:
            if other is not first:
                first |= other
                region_of.update(dict.fromkeys(other, first))
    return list({id(region): region for region in region_of.values()}.values())


def _pays(graph: Graph, region: Collection[str], alike: Mapping[int, BoundNode]) -> bool:
    """Whether a region in 32 bits needs no more casts than in 64, or is what devices lack."""
    same = {node.output.name for node in alike.values()}
    added = removed = 0
    for name in region:
        maker, readers = graph.producer(name), graph.consumers(name)
        assert maker is not None
        ops = {node.op for node in (maker, *readers) if node.output in same}
        if ops & ARITHMETIC:
            return True
        removed += maker.op == "cast" and graph.value(maker.inputs[0]).dtype is SHORT
        removed += sum(_casts_short(node) and node.output not in graph.outputs for node in readers)
        added += not (maker.op in ("cast", *CHOICES) or maker.output in same)
        added += name in graph.outputs or any(
            node.op != "cast" and node.output not in same for node in readers
        )
    return added < removed or added == removed == 0


def _casts_short(node: Node) -> bool:
    return node.op == "cast" and node.attrs_as(CastAttrs).dtype is SHORT


@dataclass
class _Narrowing:
    """Writes a graph anew.

    Attributes:
        graph: the one before.
        names: its tensors of 64 bits that get 32.
        turned: which of its nodes read and write these and constants in 32 bits.
        nodes: those that are written.
        short: what is read in place of a tensor.
        constants: constant -> the same in 32 bits.

    """

    graph: Graph
    names: Collection[str]
    turned: Collection[int]
    nodes: list[Node] = field(default_factory=list)
    short: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fresh = Names(self.graph)
        self.values = dict(self.graph.values)
        others = [n for n in self.graph.bound() if n.index not in self.turned and n.op != "cast"]
        # What something still reads in 64 bits.
        self.needed = {*self.graph.outputs}.union(*(n.node.inputs for n in others))

    def written(self) -> Graph:
        """The new graph, verified."""
        for node in self.graph.bound():
            if node.index in self.turned:
                self._turn(node)
            elif node.op == "cast":
                self._cast(node)
            elif node.output.name in self.names and node.op in CHOICES:
                self._make(node, replace(node.attrs_as(ArgAttrs), dtype=SHORT))
            else:
                self._keep(node)
        graph = replace(self.graph, nodes=tuple(self.nodes), values=self.values)
        return verify(drop_unused_values(graph))

    def _turn(self, node: BoundNode) -> None:
        """Append a node that reads and gives 32 bits."""
        inputs = [
            self._constant(v) if v and v.is_constant and v.dtype is WIDE else self._read(name)
            for v, name in zip(node.inputs, node.node.inputs, strict=True)
        ]
        self._make(replace(node, node=replace(node.node, inputs=tuple(inputs))), node.attrs)

    def _cast(self, node: BoundNode) -> None:
        """A cast reads and writes either width; one that changes nothing goes."""
        source, name = node.node.inputs[0], node.output.name
        new = replace(node.node, inputs=(self._read(source),))
        if source in self.names and node.output.dtype is SHORT and name not in self.graph.outputs:
            self.short[name] = new.inputs[0]
        elif name not in self.names:
            self.nodes.append(new)
        elif node.input(0).dtype is SHORT:
            self.short[name] = new.inputs[0]
            if name in self.needed:
                self.nodes.append(new)
        else:
            self._make(replace(node, node=new), CastAttrs(SHORT))

    def _make(self, node: BoundNode, attrs: object) -> None:
        """Append a node that gives 32 bits, and casts to 64 for those that still read these."""
        outputs, casts = [], []
        for value in node.outputs:
            outputs.append(self._twin(value) if value.name in self.names else value.name)
            if outputs[-1] != value.name:
                casts.append(_cast_to(WIDE, outputs[-1], value.name))
        self.nodes.append(replace(node.node, outputs=tuple(outputs), attrs=attrs))
        self.nodes += casts

    def _keep(self, node: BoundNode) -> None:
        """Append a node as it is, and casts to 32 bits of what it gives in 64."""
        inputs = (name if name in self.names else self._read(name) for name in node.node.inputs)
        self.nodes.append(replace(node.node, inputs=tuple(inputs)))
        for value in node.outputs:
            if value.name in self.names:
                self.needed.add(value.name)
                twin = self._twin(value)
                self.nodes.append(_cast_to(SHORT, value.name, twin))

    def _twin(self, value: Value) -> str:
        """The tensor of 32 bits, under its own name where none of 64 is needed beside it."""
        needed = value.name in self.needed
        name = self.fresh.new(f"{value.name}.{SHORT.short}") if needed else value.name
        self.values[name] = replace(value, name=name, dtype=SHORT)
        self.short[value.name] = name
        return name

    def _read(self, name: str) -> str:
        return self.short.get(name, name)

    def _constant(self, value: Value) -> str:
        """The name of a constant in 32 bits."""
        if value.name not in self.constants:
            name = self.fresh.new(f"{value.name}.{SHORT.short}")
            budget.current().reserve(value.size * SHORT.itemsize, f"'{name}'")
            data = np.asarray(value.data).astype(SHORT.numpy)
            self.values[name] = replace(value, name=name, dtype=SHORT, data=data)
            self.constants[value.name] = name
        return self.constants[value.name]


def _cast_to(dtype: DType, source: str, name: str) -> Node:
    return Node("cast", f"{name}.{dtype.short}", (source,), (name,), CastAttrs(dtype))
