"""Products with and sums of constants per channel into the weights behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import (
    AFFINE,
    CHANNEL_AXIS,
    Array,
    Names,
    channel_vector,
    derived,
    is_private,
    producer,
    scale_and_shift,
    spend_on_arrays,
    split_constant,
    weights_and_bias,
)
from tinyrt.convert.passes.fold_batchnorm import affine_of
from tinyrt.ir import Graph, Node, Patch, QParams, Refusal, Rule, Value
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionAttrs


def fold_before(graph: Graph, node: Node) -> Patch | Refusal | None:
    """conv(x*k + s, w, b) = conv(x, w*k, b + sum(w*s)), unless a border of zeros is in between."""
    maker = producer(graph, node)
    affine = _affine(graph, maker) if maker is not None else None
    if maker is None or affine is None:
        return None
    if isinstance(affine, Refusal):
        return Refusal(node.name, affine.reason)
    source, factor, shift = affine
    if not is_private(graph, maker.output):
        return Refusal(node.name, f"the output of '{maker.name}' has other readers")
    w, bias = weights_and_bias(graph, node)
    if w is None or bias is None:
        return Refusal(node.name, "its weights are not constant")
    if np.any(shift) and _has_border(graph, node):
        return Refusal(node.name, f"what '{maker.name}' adds is not in its border of zeros")
    factors, shifts = (_along_weights(node, w, v) for v in (factor, shift))
    if factors is None or shifts is None:
        return Refusal(node.name, f"it does not read the channels of '{maker.name}' one by one")
    spend_on_arrays(f"the weights of '{node.name}'", 6 * w.size)
    names, old = Names(graph), graph.value(node.inputs[1])
    new_w = derived(names, old.name, w * factors, _rescaled(old, factor))
    added = (w * shifts).astype(np.float64)
    axis = CHANNEL_AXIS[node.op]
    total = added.sum(axis=tuple(i for i in range(w.ndim) if i != axis))
    wish = node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] else f"{node.output}.bias"
    values, inputs = [new_w], [source, new_w.name, *node.inputs[2:]]
    if np.any(shift):
        values.append(derived(names, wish, bias + total))
        inputs[2:] = [values[-1].name]
    return Patch(
        remove=(maker, node), add=(replace(node, inputs=tuple(inputs)),), values=tuple(values)
    )


def _affine(graph: Graph, maker: Node) -> tuple[str, Array, Array] | Refusal | None:
    """The operand that is scaled and shifted; factor and shift per channel, in float64."""
    if maker.op == "batch_norm":
        parameters = affine_of(graph, maker)
        return None if parameters is None else (maker.inputs[0], *parameters)
    if maker.op not in AFFINE:
        return None
    split = split_constant(graph, maker)
    if split is None:
        return None
    source = graph.value(maker.inputs[split[0]])
    vector = channel_vector(split[1], source.shape)
    activation = fused_activation(maker)
    if activation != "NONE":
        return Refusal("", f"'{maker.name}' has a fused {activation}")
    if vector is None:
        return Refusal("", f"the constant of '{maker.name}' is not one per channel")
    return source.name, *scale_and_shift(maker.op, vector.astype(np.float64), split[0])


def _has_border(graph: Graph, node: Node) -> bool:
    """Whether some output sees less than the whole kernel, or a border of zeros."""
    if node.op == "fully_connected":
        return False
    if node.op == "transpose_conv":
        return True
    _, height, width, _ = graph.value(node.inputs[0]).shape
    _, *kernel, _ = graph.value(node.inputs[1]).shape
    taps = kernel[0], kernel[1]
    attrs = node.attrs_as(ConvolutionAttrs)
    window = Window.of((height, width), taps, attrs.stride, attrs.padding, attrs.dilation)
    return max(*window.before, *window.after) > 0


def _along_weights(node: Node, w: Array, vector: Array) -> Array | None:
    """One number per input channel, in a shape that broadcasts to the weights."""
    channels = len(vector)
    if node.op == "depthwise_conv2d":
        return np.repeat(vector, w.shape[3] // channels)
    if w.shape[-1] == channels:
        return vector
    if node.op != "conv2d":
        return None
    groups = channels // w.shape[3]
    parts = np.repeat(vector.reshape(groups, w.shape[3]), w.shape[0] // groups, axis=0)
    return parts[:, None, None, :]


def _rescaled(weights: Value, factor: Array) -> QParams | None:
    """The grid of the weights after one positive factor for all; None after several."""
    q = weights.q
    if q is None or len(set(factor.tolist())) != 1 or not factor[0] > 0:
        return None
    scales = tuple(float(np.float32(s * factor[0])) for s in q.scales)
    return replace(q, scales=scales) if min(scales) > 0 else None


FOLD_BEFORE = Rule("fold_before", tuple(CHANNEL_AXIS), fold_before)
