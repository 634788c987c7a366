"""Bring a float model into the form that a quantised one was made from, tensor by tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.channels.lost import Lost
from tinyrt.convert.values.interval import channels_of
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.ir import BoundNode, Graph, Shape, Value
from tinyrt.ops import is_weighted
from tinyrt.quantize.explain.restored import other_shape, restored
from tinyrt.quantize.methods.channels import Space, affine_constant, free_spaces
from tinyrt.quantize.methods.equalize import ChannelMap, in_new_channels
from tinyrt.quantize.methods.layers import (
    by_output,
    input_channels,
    is_padded,
    per_output,
    weight_axis,
)
from tinyrt.quantize.ranges import dequantize_weights

Constants = tuple[NDArray[np.float32], ...]
"""Weights, and bias where there is one."""

MIN_LIKENESS = 0.9
"""Cosine of two weight rows below which one is no multiple of the other."""
MIN_FACTOR = 0.03
"""Rescaled channels differ by more than this; rounding to int8 moves a row's size by less."""
MAX_STEPS = 3.0
"""Rounding alone changes a sum of products by less than this times the root of its squares."""
MIN_SHIFT = 0.2
"""Shifted channels differ by more than this part of their bias and weights; corrections by less."""


def require_pair(graph: Graph, quantized: Graph) -> None:
    """Raise ``UnsupportedError`` unless the first model is float and the second quantised."""
    if any(v.q is not None for v in graph.values.values()):
        raise UnsupportedError("the first model is quantised", hint="name the float model first")
    if all(v.q is None for v in quantized.values.values()):
        raise UnsupportedError(
            "the second model is not quantised", hint="name the quantised model second"
        )


def as_quantized(graph: Graph, quantized: Graph, lost: Mapping[str, Lost] | None = None) -> Graph:
    """The float model with its channels rescaled and shifted as the quantised one's are.

    The factors follow from the weights, layer by layer: a row of float weights divided by the
    quantised one. Without equalisation the model comes back as it is.

    Args:
        graph: the float model.
        quantized: the model made from it; tensors are matched by name.
        lost: the channels that the quantised model lost.

    Raises:
        DataError: the two have no tensors of the same name, or one has another shape.

    """
    lost = lost or {}
    quantized = restored(quantized, graph, lost)
    partners = _partners(graph, quantized)
    maps: dict[str, ChannelMap] = {}
    spaces = [space for space in free_spaces(graph) if space.is_free]
    free = frozenset(name for space in spaces for name in space.tensors)
    for space in spaces:
        channel_map = None
        if not space.producers:
            channel_map = _smoothed(quantized, space, partners, free)
        elif space.producers[0].output.name in partners:
            partner = partners[space.producers[0].output.name]
            channel_map = _map(quantized, space, partner, maps, lost)
        if channel_map is not None:
            maps.update(dict.fromkeys(space.tensors, channel_map))
    return in_new_channels(graph, maps) if maps else graph


def _partners(graph: Graph, quantized: Graph) -> dict[str, BoundNode]:
    """Output name -> the quantised model's node, for the float model's nodes."""
    nodes = {node.output.name: node for node in quantized.bound()}
    partners = {}
    for node in graph.bound():
        other = nodes.get(node.output.name)
        if other is None or other.op != node.op:
            continue
        _require_all_channels(node, other)
        if other.output.shape != node.output.shape:
            raise other_shape(node.output, other.output)
        partners[node.output.name] = other
    if not any(is_weighted(node) for node in partners.values()):
        raise DataError(
            "the two models have no layers of the same name",
            expected="the float model that the quantised one was made from",
            hint="quantise the float model again with tinyrt, which keeps the names",
        )
    return partners


def _require_all_channels(node: BoundNode, other: BoundNode) -> None:
    """Raise ``DataError`` where the quantised model has lost channels: it does not say which."""
    for value, cut in zip((node.output, *node.inputs), (other.output, *other.inputs), strict=False):
        if value is not None and cut is not None and _is_cut(value.shape, cut.shape):
            raise DataError(
                "the tensor has fewer channels in the quantised model",
                tensor=value.describe(),
                expected=cut.describe(),
                hint="pass the float model that it was made from; if this is it, quantise it "
                "again, for the file does not say which channels were cut",
            )


def _is_cut(shape: Shape, other: Shape) -> bool:
    """Whether they differ in nothing but fewer channels of the second."""
    has_channels = len(shape) == len(other) > 0
    return has_channels and shape[:-1] == other[:-1] and shape[-1] > other[-1]


def stored_constant(graph: Graph, name: str) -> Value:
    """The constant, or the narrower one that it is widened from before use."""
    value = graph.value(name)
    producer = graph.producer(name)
    if value.data is None and producer is not None and producer.op == "dequantize":
        return graph.value(producer.inputs[0])
    return value


def quantized_constants(graph: Graph, node: BoundNode) -> Constants:
    """Real weights, and bias where there is one, of a weighted node of a quantised model.

    Raises:
        UnsupportedError: the weights are no constants.

    """
    x, bias = node.input(0), node.optional(2)
    weights = stored_constant(graph, node.input(1).name)
    if weights.data is None:
        raise UnsupportedError(
            "the layer's weights are no constants",
            op=node.describe(),
            tensor=weights.describe(),
            hint="freeze the weights, then convert again",
        )
    real = _real(weights)
    stored = stored_constant(graph, bias.name) if bias is not None else None
    if stored is None or stored.data is None:
        return (real,)
    if x.q is None or weights.q is None:
        return real, _real(stored)
    scales = x.q.scale * np.asarray(weights.q.scales)
    return real, (stored.data * scales).astype(np.float32)


def _real(value: Value) -> NDArray[np.float32]:
    assert value.data is not None, "asked of constants only"
    if value.q is None:
        return value.data.astype(np.float32)
    return dequantize_weights(value.data - np.int32(value.q.zero_point), value.q)


def _smoothed(
    quantized: Graph, space: Space, partners: Mapping[str, BoundNode], free: frozenset[str]
) -> ChannelMap | None:
    """The map of a space behind a layer norm.

    Columns of a reader's weights have grown by its factors; where the readers' rows may be rescaled
    as well (``free``), the norm's own factors have shrunk by them, which int8 tells less exactly.
    """
    for node in space.consumers:
        name = node.output.name
        if node.op == "fully_connected" and name in partners and name not in free:
            weights = per_output(node)
            stored = quantized_constants(quantized, partners[name])[0]
            steps = _steps(stored_constant(quantized, partners[name].input(1).name))
            size = (weights**2).sum(axis=0)
            doubt = np.sqrt((weights**2 * steps[:, None] ** 2).sum(axis=0))
            return _column_map(size, (weights * stored).sum(axis=0), doubt)
    for node in space.affine:
        at, partner = affine_constant(node), partners.get(node.output.name)
        if node.op != "mul" or at is None or partner is None:
            continue
        if partner.input(at).is_constant:
            rows = _real(node.input(at)).reshape(-1).astype(np.float64)
            stored_rows = _real(partner.input(at)).reshape(-1).astype(np.float64)
            doubt = np.abs(stored_rows) * _steps(partner.input(at))
            return _column_map(stored_rows**2, rows * stored_rows, doubt)
    return None


def _steps(value: Value) -> NDArray[np.float64]:
    return np.asarray(value.q.scales if value.q is not None else [0.0])


def _column_map(
    size: NDArray[np.float64], product: NDArray[np.float64], doubt: NDArray[np.float64]
) -> ChannelMap | None:
    """Factors that are quotients; None where they are 1, as far as rounding lets one tell."""
    nonzero = (size > 0) & (product > 0)
    scale = np.where(nonzero, product / np.where(size > 0, size, 1), 1.0)
    changed = nonzero & _is_rescaled(size, product, doubt)
    return ChannelMap(scale, np.zeros(len(scale))) if changed.any() else None


def _is_rescaled(
    size: NDArray[np.float64], product: NDArray[np.float64], doubt: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Where weights differ in size by more than their rounding explains."""
    return np.abs(product - size) > np.maximum(MAX_STEPS * doubt, MIN_FACTOR * size)


def _map(
    quantized: Graph,
    space: Space,
    partner: BoundNode,
    maps: Mapping[str, ChannelMap],
    lost: Mapping[str, Lost],
) -> ChannelMap | None:
    """The space's map, None where its channels are as they were."""
    node = space.producers[0]
    before, at = maps.get(node.input(0).name), input_channels(node)
    weights = plain = per_output(node)
    bias_value = node.optional(2)
    bias: NDArray[Any] = np.zeros(len(weights))
    if bias_value is not None and bias_value.data is not None:
        bias = bias_value.data.astype(np.float64)
    if before is not None:
        bias = bias + (weights * before.shift[at]).sum(axis=1)
        weights = weights * before.scale[at]
    held, kept = (part[at] for part in _held(lost, partner.input(0)))
    known = weights * kept
    bias = bias + (weights * held).sum(axis=1)
    constants = quantized_constants(quantized, partner)
    stored = by_output(constants[0], weight_axis(partner)).astype(np.float64)
    size, product = (known**2).sum(axis=1), (known * stored).sum(axis=1)
    like = product > MIN_LIKENESS * np.sqrt(size * ((stored * kept) ** 2).sum(axis=1))
    always, rows = _held(lost, partner.output)
    # A lost channel's weights are gone; what it held tells its factor.
    told = ~rows & (always * bias > 0)
    scale = np.where(like, size / np.where(like, product, 1), 1.0)
    scale = np.where(told, bias / np.where(told, always, 1), scale)
    steps = _steps(stored_constant(quantized, partner.input(1).name))
    if not (rows & like & _is_rescaled(size, product, np.sqrt(size) * steps)).any():
        scale = np.ones(space.channels)
    shift: NDArray[Any] = np.zeros(space.channels)
    if len(constants) > 1 and not any(is_padded(n) for n in space.consumers):
        offset = bias - (constants[1] + (plain * held).sum(axis=1)) * scale
        offset = np.where(rows, offset, 0.0)
        if len(space.tensors) == 1 and (np.abs(offset) > MIN_SHIFT * np.sqrt(size)).any():
            shift = offset
    if (scale == 1).all() and (shift == 0).all():
        return None
    return ChannelMap(scale, shift)


def _held(lost: Mapping[str, Lost], value: Value) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What a tensor's lost channels held, 0 for others, and which of its channels are left."""
    entry = lost.get(value.name)
    if entry is None:
        channels = channels_of(value.shape)
        return np.zeros(channels), np.ones(channels, np.bool_)
    return np.nan_to_num(entry.held(value.q)), entry.kept
