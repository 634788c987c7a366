"""Layers whose output is split become one layer for each part, which has a range of its own.

Layers that read the same input were merged on the way here, which saves reading it again. Together
they share one scale: a head of boxes beside one of scores, ten times as large, would keep a tenth
of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph, Node, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops import verify
from tinyrt.ops.slice import SliceAttrs
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import ACTIVATIONS, has_constant_weights, named_schemes

APART = 2.0
"""How many times the narrowest part's range the widest one must be: less costs below a bit."""


def split_heads(graph: Graph, ranges: Mapping[str, Range], config: QuantConfig) -> Graph:
    """The graph with a layer for each part of a layer whose parts differ in range.

    The parts keep their names, and so their ranges. Layers that the user's patterns name, whose
    activations are no int8, or that share their weights with others stay whole.

    Args:
        graph: an optimised float graph.
        ranges: value name -> range, from calibration.
        config: the user's choices.

    """

    def apart(node: BoundNode) -> Apart | None:
        parts = parts_of(graph, node)
        if not parts or not _differ([ranges[part.output] for part in parts]):
            return None
        return layers_of(graph, node, parts)

    return taken_apart(graph, config, apart)


@dataclass(frozen=True, slots=True)
class Apart:
    """What stands in place of a layer and of the ops behind it.

    Attributes:
        gone: outputs of these ops.
        nodes: what computes the parts.
        values: constants, and what lies in between.

    """

    gone: set[str]
    nodes: list[Node] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)


def taken_apart(
    graph: Graph, config: QuantConfig, apart: Callable[[BoundNode], Apart | None]
) -> Graph:
    """The graph with what ``apart`` finds, for layers that no pattern of the user's names.

    Args:
        graph: an optimised float graph.
        config: the user's choices; where activations are no int8, everything stays.
        apart: layer -> what stands in its place; None where it stays.

    """
    if ACTIVATIONS[config.scheme] is not DType.INT8:
        return graph
    named = named_schemes(graph, config)
    nodes: list[Node] = []
    values: list[Value] = []
    gone: set[str] = set()
    for node in graph.bound():
        found = apart(node) if node.output.name not in named else None
        if found is not None:
            gone |= found.gone
            nodes += found.nodes
            values += found.values
        elif node.output.name not in gone:
            nodes.append(node.node)
    return verify(drop_unused_values(graph.with_nodes(nodes, values))) if gone else graph


def can_be_cut(graph: Graph, node: BoundNode) -> bool:
    """Whether it is a layer whose constants are its own."""
    if node.op not in ("conv2d", "fully_connected") or not has_constant_weights(node):
        return False
    return all(len(graph.consumers(v.name)) == 1 for v in node.inputs[1:] if v is not None)


def cut_constants(graph: Graph, node: BoundNode, name: str, rows: slice) -> list[Value]:
    """A layer's weights and bias for some of its channels, by a name of theirs."""
    return [
        Value.constant(graph.unique_name(f"{name}.{kind}"), np.ascontiguousarray(v.data[rows]))
        for kind, v in zip(("weights", "bias"), node.inputs[1:], strict=False)
        if v is not None and v.data is not None
    ]


def layers_of(graph: Graph, node: BoundNode, parts: Sequence[Node]) -> Apart:
    """A layer for each of the slices that a layer's output is split into."""
    found = Apart({part.output for part in parts})
    for part in parts:
        layer, constants = _layer(graph, node, part)
        found.nodes.append(layer)
        found.values.extend(constants)
    return found


def parts_of(graph: Graph, node: BoundNode) -> tuple[Node, ...]:
    """The slices along the channels that the layer's output is split into; none if it is not."""
    name = node.output.name
    readers = graph.consumers(name)
    if not can_be_cut(graph, node) or name in graph.outputs or len(readers) < 2:
        return ()
    return tuple(readers) if all(_is_part(reader, node.output) for reader in readers) else ()


def _is_part(reader: Node, whole: Value) -> bool:
    if reader.op != "slice":
        return False
    attrs = reader.attrs_as(SliceAttrs)
    whole_rows = attrs.size[:-1] == whole.shape[:-1] and set(attrs.strides) == {1}
    return whole_rows and not attrs.dropped


def _differ(ranges: list[Range]) -> bool:
    widths = [r.width for r in ranges]
    return max(widths) > APART * min(widths)


def _layer(graph: Graph, node: BoundNode, part: Node) -> tuple[Node, list[Value]]:
    """The layer that computes one part, and its constants."""
    attrs, name = part.attrs_as(SliceAttrs), part.output
    rows = slice(attrs.begin[-1], attrs.begin[-1] + attrs.size[-1])
    values = cut_constants(graph, node, name, rows)
    inputs = (node.input(0).name, *(v.name for v in values))
    return replace(node.node, name=name, inputs=inputs, outputs=(name,)), values
