"""Take a float model's layers apart as those of the model that was quantised from it are."""

from __future__ import annotations

from collections.abc import Mapping

from tinyrt.ir import BoundNode, Graph, Node
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.methods.affine import merge_affine
from tinyrt.quantize.methods.heads import Apart, layers_of, parts_of, taken_apart
from tinyrt.quantize.methods.turned import layer_name, moved_of, turned_of


def as_parted(graph: Graph, quantized: Graph) -> tuple[Graph, Mapping[str, str]]:
    """The float model with the quantised one's layers, and each new layer's name -> the old one's.

    Args:
        graph: the optimised float model.
        quantized: the model made from it; tensors are matched by name.

    """
    origins: dict[str, str] = {}

    def merged(name: str) -> bool:
        maker = _maker(quantized, layer_name(name))
        if maker is None or maker.op != "depthwise_conv2d":
            return False
        origins[maker.output] = name
        return True

    graph = merge_affine(graph, QuantConfig(), merged)

    def remembered(node: BoundNode, found: Apart) -> Apart:
        origins.update((n.output, node.output.name) for n in found.nodes if n.op == node.op)
        return found

    def heads(node: BoundNode) -> Apart | None:
        parts = parts_of(graph, node)
        alike = parts and all(_has(quantized, node, part.output) for part in parts)
        return remembered(node, layers_of(graph, node, parts)) if alike else None

    parted = taken_apart(graph, QuantConfig(), heads)

    def turned(node: BoundNode) -> Apart | None:
        found = turned_of(parted, node)
        names = [layer_name(cuts[0].output) for cuts in found.cuts.values()] if found else []
        alike = names and all(_has(quantized, node, name) for name in names)
        return remembered(node, moved_of(parted, found)) if found and alike else None

    return taken_apart(parted, QuantConfig(), turned), origins


def _has(quantized: Graph, node: BoundNode, name: str) -> bool:
    """Whether a layer of the same kind computes the tensor."""
    maker = _maker(quantized, name)
    return maker is not None and maker.op == node.op


def _maker(quantized: Graph, name: str) -> Node | None:
    return quantized.producer(name) if quantized.has_value(name) else None
