"""Take a float model's layers apart as those of the model that was quantised from it are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, Graph, Node
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.methods.affine import merge_affine
from tinyrt.quantize.methods.centred import blind_to_shifts
from tinyrt.quantize.methods.heads import Apart, layers_of, parts_of, taken_apart
from tinyrt.quantize.methods.sums import Affine, nearest_factor, with_sums
from tinyrt.quantize.methods.turned import layer_name, moved_of, turned_of
from tinyrt.quantize.ranges import dequantize_weights

Array = NDArray[Any]


def as_parted(graph: Graph, quantized: Graph) -> tuple[Graph, Mapping[str, str]]:
    """The float model with the quantised one's layers, and each new layer's name -> the old one's.

    Args:
        graph: the optimised float model.
        quantized: the model made from it; tensors are matched by name.

    """
    graph, origins = _with_sums(graph, quantized)

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

    apart = taken_apart(parted, QuantConfig(), turned)
    return blind_to_shifts(apart, QuantConfig()), origins


def _with_sums(graph: Graph, quantized: Graph) -> tuple[Graph, dict[str, str]]:
    """The float model with norms and sums as layers, as the quantised one has them; origins."""
    origins: dict[str, str] = {}

    def merged(name: str) -> bool:
        # Where sums took it in, no layer of its own need be left.
        if _taps(quantized, name) is not None:
            origins[layer_name(name)] = name
            return True
        return any(_taps(quantized, node.output) is not None for node in graph.consumers(name))

    def factor(affine: Affine, node: Node, other: Node) -> float | None:
        taps = _taps(quantized, node.output)
        return None if taps is None or len(taps) < 2 else nearest_factor(taps)

    graph, sums = with_sums(merge_affine(graph, QuantConfig(), merged), factor)
    for found in sums:
        origins[found.layer] = found.node.output
        origins[found.scaled[0]] = found.other.output
    return graph, origins


def _taps(quantized: Graph, name: str) -> Array | None:
    """(taps, channels): the real weights of the layer by channel that stands for this sum."""
    maker = _maker(quantized, layer_name(name))
    if maker is None or maker.op != "depthwise_conv2d":
        return None
    value = quantized.value(maker.inputs[1])
    if value.q is None or value.data is None:
        return None
    real = dequantize_weights(value.data, value.q)
    return np.asarray(real.reshape(-1, real.shape[-1]))


def _has(quantized: Graph, node: BoundNode, name: str) -> bool:
    """Whether a layer of the same kind computes the tensor."""
    maker = _maker(quantized, name)
    return maker is not None and maker.op == node.op


def _maker(quantized: Graph, name: str) -> Node | None:
    return quantized.producer(name) if quantized.has_value(name) else None
