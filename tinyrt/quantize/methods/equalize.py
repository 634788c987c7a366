"""Rescale and shift channels so that each uses its tensor's range, without changing the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import elementary
from tinyrt.ir import BoundNode, DType, Graph, Node, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops import OPS, is_weighted, verify
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.quantize.config import QuantConfig, Scheme
from tinyrt.quantize.methods.channels import Space, affine_constant, free_spaces
from tinyrt.quantize.methods.layers import input_channels, is_padded, per_output, weight_axis
from tinyrt.quantize.ranges import weight_max

Array = NDArray[Any]
Vector = NDArray[np.float64]

MAX_ROWS = 4096
BEYOND = 0.25
"""Share of the clipping noise seen on half of the samples that is left with all of them."""
EXPONENTS = np.linspace(0, 1, 11)
SMOOTHING = 0.5
"""Behind layer norms, factors must halve the noise: the norm's product is rounded, too."""
DEAD = 0.05
"""Range, relative to the widest, that a channel is credited with if it never left zero."""


@dataclass(frozen=True, slots=True)
class ChannelMap:
    """``x_new = (x - shift) / scale`` for the channels of one space."""

    scale: Vector
    shift: Vector


def equalize(
    graph: Graph,
    activations: Mapping[str, Array],
    config: QuantConfig,
    *,
    full_range: bool = False,
) -> Graph:
    """The same function with channels that are alike in range.

    For every space of channels between weighted layers, the layers before it are divided by a
    factor per channel and those behind it multiplied, with the factors of the least predicted
    noise. Factors follow the channels' activation ranges (Meller et al., "Same, Same But
    Different", ICML 2019, section 3) or balance them with the weights (Nagel et al.,
    "Data-Free Quantization Through Weight Equalization and Bias Correction", ICCV 2019, section
    4.1.1). Behind a layer norm, the factors go into its product and sum: these are the scales of
    Xiao et al., "SmoothQuant", ICML 2023, section 4. Where the layers behind are not padded,
    channels are centred first, or what a ReLU never falls below is taken off: the bias absorption
    of Nagel et al., section 4.1.3.

    Args:
        graph: an optimised float graph.
        activations: value name -> (samples, ...) what the float model computes.
        config: whether to rescale between weighted layers, behind layer norms, or both; whether
            dense layers have a scale per channel.
        full_range: take the ranges of all samples for those of all data. Otherwise what values
            beyond the range of half of the samples would lose counts: one large sample among few
            may then leave channels as they are that would gain.

    """
    maps: dict[str, ChannelMap] = {}
    for space in free_spaces(graph):
        if space.is_free and (config.smooth if space.affine else config.equalize):
            channel_map = _choose(space, activations, config, full_range)
            if not space.affine or (channel_map.scale != 1).any():
                maps.update(dict.fromkeys(space.tensors, channel_map))
    return in_new_channels(graph, maps)


def _choose(
    space: Space, activations: Mapping[str, Array], config: QuantConfig, full_range: bool
) -> ChannelMap:
    """The map of least predicted noise at the consumers."""
    rows = {name: activations[name].reshape(-1, space.channels) for name in space.tensors}
    shift = _shift(space, rows)
    # Ranges come from one half of the samples; their clipping noise is measured on the other.
    halves = [] if full_range else [_halves(activations[n], shift) for n in space.tensors]
    fitted = [even for even, _ in halves] or [r - shift for r in rows.values()]
    stats = [(x.min(axis=0), x.max(axis=0)) for x in fitted]
    squares = {name: ((r - shift) ** 2).mean(axis=0, dtype=np.float64) for name, r in rows.items()}
    outputs = {n.output.name: activations[n.output.name] for n in space.consumers}
    power = {name: float((y.astype(np.float64) ** 2).mean()) for name, y in outputs.items()}

    levels = 2**16 - 1 if config.scheme is Scheme.INT16X8 else 255

    def noise(scale: Vector) -> float:
        """Noise power at the consumers' outputs over their signal power, summed."""
        steps = [((high / scale).max() - (low / scale).min()) / levels for low, high in stats]
        own = scale**2 * sum(float(step * step) for step in steps) / 12
        for (low, high), (_, evaluated) in zip(stats, halves, strict=False):
            own = own + BEYOND * _cut_off(evaluated / scale, low / scale, high / scale) * scale**2
        total = 0.0
        for node in space.consumers:
            signal = power[node.output.name] or 1.0
            total += _consumer_noise(node, scale, own, squares[node.input(0).name], config) / signal
        return total

    unchanged, *others = _proposals(space, stats)
    scale = min(others, key=noise)
    threshold = SMOOTHING if space.affine else 1.0
    return ChannelMap(scale if noise(scale) < threshold * noise(unchanged) else unchanged, shift)


def _halves(x: Array, shift: Vector) -> tuple[Array, Array]:
    """Rows of channels of every other sample, and at most ``MAX_ROWS`` of those between."""
    between = x[1::2] if len(x) > 1 else x
    even, odd = (part.reshape(-1, x.shape[-1]) - shift for part in (x[::2], between))
    return even, odd[:: -(-len(odd) // MAX_ROWS)]


def _cut_off(x: Array, low: Vector, high: Vector) -> Vector:
    """Mean squared distance of each channel's values from the range of all channels."""
    clipped = np.clip(x, min(low.min(), 0.0), max(high.max(), 0.0))
    return np.asarray(((x - clipped) ** 2).mean(axis=0))


def _consumer_noise(
    node: BoundNode, scale: Vector, own: Vector, squares: Vector, config: QuantConfig
) -> float:
    """Mean noise power of a layer's outputs, from its input's rounding and from its weights'."""
    weights = per_output(node)  # (c_out, taps)
    at = input_channels(node)  # (c_out, taps): the channel that each weight reads
    passed = (weights**2 * own[at]).sum(axis=1)
    peaks = np.abs(weights * scale[at]).max(axis=1)
    if node.op == "fully_connected" and not config.per_channel_dense:
        peaks = np.full_like(peaks, peaks.max())
    narrow = config.scheme is Scheme.INT4 and OPS[node.op].int4_weights
    most = weight_max(DType.INT4 if narrow else DType.INT8)
    rounding = (peaks / most) ** 2 / 12 * (squares[at] / scale[at] ** 2).sum(axis=1)
    return float((passed + rounding).mean())


def _shift(space: Space, rows: Mapping[str, Array]) -> Vector:
    """The shift of every channel."""
    none = np.zeros(space.channels)
    if len(space.tensors) != 1 or space.affine or any(is_padded(n) for n in space.consumers):
        return none
    (values,) = rows.values()
    low, high = values.min(axis=0).astype(np.float64), values.max(axis=0).astype(np.float64)
    if fused_activation(space.producers[0]) == "NONE":
        return np.asarray((low + high) / 2)
    return np.asarray(np.maximum(low, 0.0))


def _proposals(space: Space, stats: list[tuple[Array, Array]]) -> Iterator[Vector]:
    """Scales to choose from; the first leaves everything as it is."""
    yield np.ones(space.channels)
    widths = [np.maximum(high, 0) - np.minimum(low, 0) for low, high in stats]
    relative = np.max([w / (w.max() or 1.0) for w in widths], axis=0).astype(np.float64)
    relative = np.where(relative > 0, relative, DEAD)
    peaks = np.zeros(space.channels)
    for node in space.consumers:
        np.maximum.at(peaks, input_channels(node), np.abs(per_output(node)))
    peaks = np.where(peaks > 0, peaks, peaks.max() or 1.0)
    for exponent in EXPONENTS:
        spread = elementary.power(relative, exponent)
        for scale in (spread, spread * elementary.power(peaks, exponent - 1)):
            yield scale / elementary.exp(elementary.log(scale).mean())


def in_new_channels(graph: Graph, maps: Mapping[str, ChannelMap]) -> Graph:
    """The graph with weights, biases and constants per channel in the new channels."""
    nodes: list[Node] = []
    values: list[Value] = []
    for node in graph.bound():
        before, after = maps.get(node.node.inputs[0]), maps.get(node.output.name)
        at = affine_constant(node)
        if at is not None and after is not None:
            inputs, constant = list(node.node.inputs), node.input(at)
            assert constant.data is not None, "found by affine_constant"
            divided = constant.data / after.scale.reshape(constant.shape)
            values.append(_constant(graph, node, at, divided))
            inputs[at] = values[-1].name
            nodes.append(replace(node.node, inputs=tuple(inputs)))
            continue
        if not is_weighted(node) or (before is None and after is None):
            nodes.append(node.node)
            continue
        new = [_constant(graph, node, i, a) for i, a in enumerate(_mapped(node, before, after), 1)]
        values += new
        nodes.append(replace(node.node, inputs=(node.node.inputs[0], *(v.name for v in new))))
    return verify(drop_unused_values(graph.with_nodes(nodes, values)))


def _constant(graph: Graph, node: BoundNode, i: int, data: Array) -> Value:
    constant = node.optional(i)
    wish = f"{constant.name}_equalized" if constant is not None else f"{node.output.name}_bias"
    # Layers may share a constant, but not its rescaled form.
    return Value.constant(graph.unique_name(f"{wish}_{node.index}"), data.astype(np.float32))


def _mapped(
    node: BoundNode, before: ChannelMap | None, after: ChannelMap | None
) -> tuple[Array, Array]:
    """``W s_in / s_out`` and ``(b + W m_in - m_out) / s_out``."""
    weights, at = per_output(node), input_channels(node)
    bias_value = node.optional(2)
    data = bias_value.data if bias_value is not None else None
    bias = np.zeros(len(weights)) if data is None else data.astype(np.float64)
    if before is not None:
        bias = bias + (weights * before.shift[at]).sum(axis=1)
        weights = weights * before.scale[at]
    if after is not None:
        bias = (bias - after.shift) / after.scale
        weights = weights / after.scale[:, None]
    axis, shape = weight_axis(node), node.input(1).shape
    channels_first = [shape[axis], *(n for i, n in enumerate(shape) if i != axis)]
    return np.moveaxis(weights.reshape(channels_first), 0, axis), bias
