"""Channel spaces: tensors whose channels can be rescaled together without changing the model."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.ir import BoundNode, Graph
from tinyrt.ops import OPS, is_weighted
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.quantize.schemes import has_constant_weights

HOMOGENEOUS = ("NONE", "RELU")
"""Activations with ``f(s x) = s f(x)`` for every s > 0."""


@dataclass(frozen=True, slots=True)
class Space:
    """One set of channels.

    Attributes:
        tensors: the activations that have these channels along their last axis.
        producers: weighted nodes whose outputs they are.
        consumers: weighted nodes that read them.
        channels: how many.
        affine: nodes that multiply by, or add, a constant per channel, as a layer norm ends.

    """

    tensors: tuple[str, ...]
    producers: tuple[BoundNode, ...]
    consumers: tuple[BoundNode, ...]
    channels: int
    affine: tuple[BoundNode, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether a factor on one side can be undone on the other."""
        scaled = any(node.op == "mul" for node in self.affine)
        return bool(self.consumers) and (bool(self.producers) or scaled)


def free_spaces(graph: Graph) -> list[Space]:
    """Spaces between weighted layers alone: a factor on one side is undone on the other.

    Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", ICCV
    2019, section 4.1, pair layers through ReLU; here residual sums and poolings belong to the
    space as well.
    """
    root = {name: name for name, v in graph.values.items() if not v.is_constant}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    bound = [name for name in (*graph.inputs, *graph.outputs) if name in root]
    for node in graph.bound():
        data = [v.name for v in node.inputs if v is not None and not v.is_constant]
        if has_constant_weights(node):
            if fused_activation(node) not in HOMOGENEOUS:
                bound.append(node.output.name)
            if not _reads_by_channel(node):
                bound += data
        elif affine_constant(node) is not None and node.op == "mul":
            # The constant takes whatever factor the output has; the input keeps its own.
            bound += data
        elif _moves_channels(node) or affine_constant(node) is not None:
            for name in data:
                root[find(name)] = find(node.output.name)
        else:
            bound += [*data, node.output.name]
    tied = {find(name) for name in bound}
    members: dict[str, list[str]] = {}
    for name in root:
        if find(name) not in tied:
            members.setdefault(find(name), []).append(name)
    return [_space(graph, tuple(names)) for names in members.values()]


def affine_constant(node: BoundNode) -> int | None:
    """Which input of a product or a sum is a constant per channel, None if none is."""
    if node.op not in ("add", "mul") or fused_activation(node) not in HOMOGENEOUS:
        return None
    for i, value in enumerate(node.inputs):
        if value is not None and value.is_constant and node.input(1 - i).shape == node.output.shape:
            per_channel = value.shape[-1:] == node.output.shape[-1:] == (value.size,)
            return i if per_channel else None
    return None


def _space(graph: Graph, names: tuple[str, ...]) -> Space:
    weighted = [node for node in graph.bound() if is_weighted(node)]
    return Space(
        names,
        tuple(n for n in weighted if n.output.name in names),
        tuple(n for n in weighted if n.input(0).name in names),
        graph.value(names[0]).shape[-1],
        tuple(
            node
            for node in graph.bound()
            if node.output.name in names and affine_constant(node) is not None
        ),
    )


def _reads_by_channel(node: BoundNode) -> bool:
    """Whether each weight belongs to one channel along the input's last axis."""
    x, w = node.input(0), node.input(1)
    return node.op == "depthwise_conv2d" or w.shape[-1] == x.shape[-1]


def _moves_channels(node: BoundNode) -> bool:
    """Whether the op commutes with a positive factor per channel."""
    x, y = node.input(0), node.output
    if not OPS[node.op].traits.homogeneous or any(v is None or v.is_constant for v in node.inputs):
        return False
    if any(v is not None and v.shape[-1:] != y.shape[-1:] for v in node.inputs):
        return False
    if node.op == "mean":
        axes = node.attrs_as(MeanAttrs).axes
        return len(x.shape) - 1 not in {axis % len(x.shape) for axis in axes}
    return fused_activation(node) in HOMOGENEOUS
