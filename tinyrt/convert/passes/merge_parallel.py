"""Convolutions side by side whose outputs are added become one: blocks as they are trained."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.convert.passes.common import (
    Array,
    Names,
    derived,
    is_private,
    producer,
    spend_on_arrays,
    weights_and_bias,
)
from tinyrt.convert.passes.fold_batchnorm import affine_of
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape
from tinyrt.ops.pad import PadAttrs, Paddings
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.window import Pair, Window
from tinyrt.ops.shared.windowed import ConvolutionAttrs
from tinyrt.ops.slice import SliceAttrs

CONVOLUTIONS = ("conv2d", "depthwise_conv2d")


@dataclass(frozen=True, slots=True)
class _Branch:
    """One operand of the sum, as a window over the value that all branches read.

    Attributes:
        source: that value.
        low: rows and columns from the first output's place to its first tap.
        taps: the window's height and width.
        stride: between outputs.
        dilation: between taps.
        w: the weights; a factor per channel where the branch is no convolution.
        bias: one per output channel.

    """

    source: str
    low: Pair
    taps: Pair
    stride: Pair
    dilation: Pair
    w: Array
    bias: Array


def merge_parallel(graph: Graph, node: Node) -> Patch | Refusal | None:
    """conv(x, v) + conv(x, w) = conv(x, v + w), also where one is a batch normalisation of x."""
    first, second = producer(graph, node, 0), producer(graph, node, 1)
    if first is None or second is None or first is second:
        return None
    layer = first if first.op in CONVOLUTIONS else second
    other = second if layer is first else first
    if layer.op not in CONVOLUTIONS or other.op not in (layer.op, "batch_norm"):
        return None
    one, two = _branch(graph, layer), _branch(graph, other)
    if one is None or two is None or one.source != two.source:
        return None
    if not all(is_private(graph, n.output) for n in (layer, other)):
        return Refusal(node.name, "the output of one of its convolutions has other readers")
    shapes = {graph.value(n.output).shape for n in (layer, other, node)}
    if len(shapes) > 1 or (two.w.ndim == 4 and one.w.shape[3] != two.w.shape[3]):
        return Refusal(node.name, "its convolutions differ in their groups or in their outputs")
    clamped = [n for n in (layer, other) if fused_activation(n) != "NONE"]
    if clamped:
        return Refusal(node.name, f"'{clamped[0].name}' has a fused {fused_activation(clamped[0])}")
    return _merged(graph, node, layer, one, two)


def _branch(graph: Graph, node: Node) -> _Branch | None:
    """The node as a window; None where its weights are not constant."""
    if node.op == "batch_norm":
        affine = affine_of(graph, node)
        one = (1, 1)
        return None if affine is None else _Branch(node.inputs[0], (0, 0), one, one, one, *affine)
    w, bias = weights_and_bias(graph, node)
    if w is None or bias is None:
        return None
    attrs = node.attrs_as(ConvolutionAttrs)
    taps = w.shape[1], w.shape[2]
    height, width = graph.value(node.inputs[0]).shape[1:3]
    window = Window.of((height, width), taps, attrs.stride, attrs.padding, attrs.dilation)
    source, (top, left) = _uncut(graph, node.inputs[0], bare=attrs.padding == "VALID")
    low = top - window.before[0], left - window.before[1]
    return _Branch(source, low, taps, attrs.stride, attrs.dilation, w, bias)


def _uncut(graph: Graph, name: str, *, bare: bool) -> tuple[str, Pair]:
    """What a convolution reads, before it is cut and a border of zeros is added; and from where.

    A border that the convolution adds itself (where it is not ``bare``) is none of what was cut.
    """
    rows = columns = 0
    maker = graph.producer(name)
    while bare and maker is not None and maker.op == "slice" and _is_plain(graph, maker):
        begin = maker.attrs_as(SliceAttrs).begin
        rows, columns = rows + begin[1], columns + begin[2]
        maker = graph.producer(name := maker.inputs[0])
    while maker is not None and maker.op == "pad":
        border = maker.attrs_as(PadAttrs)
        batch, (top, _), (left, _), channels = border.paddings
        if border.value != 0 or batch != (0, 0) or channels != (0, 0):
            break
        rows, columns = rows - top, columns - left
        maker = graph.producer(name := maker.inputs[0])
    return name, (rows, columns)


def _is_plain(graph: Graph, cut: Node) -> bool:
    """Whether a slice of an image cuts off rows and columns, and nothing else."""
    attrs, shape = cut.attrs_as(SliceAttrs), graph.value(cut.inputs[0]).shape
    whole = (attrs.size[0], attrs.size[-1]) == (shape[0], shape[-1])
    return whole and set(attrs.strides) == {1} and not attrs.dropped


def _merged(graph: Graph, node: Node, layer: Node, one: _Branch, two: _Branch) -> Patch | Refusal:
    frame = _frame(one, two)
    if frame is None:
        return Refusal(node.name, "the windows of its convolutions do not lie on one grid")
    area, areas = math.prod(frame.taps), [math.prod(b.taps) for b in (one, two)]
    if area > sum(areas):
        return Refusal(node.name, f"one window of {area} taps costs more than two of {areas}")
    source, output = graph.value(one.source), graph.value(node.output)
    paddings = _paddings(source.shape, output.shape, frame)
    if paddings is None:
        return Refusal(node.name, "its convolutions leave out the edge of what they read")
    kernel = one.w.shape[0], *frame.taps, one.w.shape[3]
    # In float64, and then in float32.
    spend_on_arrays(f"the weights of '{layer.name}'", 2 * math.prod(kernel))
    w = np.zeros(kernel)
    for branch in (one, two):
        part = branch.w if branch.w.ndim == 4 else _as_weights(branch.w, layer.op, kernel)
        gaps = zip(frame.low, branch.low, frame.dilation, strict=True)
        top, left = ((b - a) // d for a, b, d in gaps)
        w[:, top : top + part.shape[1], left : left + part.shape[2]] += part
    names = Names(graph)
    weights = derived(names, layer.inputs[1], w)
    bias = derived(names, f"{output.name}.bias", one.bias.astype(np.float64) + two.bias)
    shape = tuple(n + a + b for n, (a, b) in zip(source.shape, paddings, strict=True))
    padded = replace(source, name=names.new(f"{output.name}.padded"), shape=shape)
    pad = Node("pad", padded.name, (source.name,), (padded.name,), PadAttrs(paddings))
    attrs = replace(
        layer.attrs_as(ConvolutionAttrs),
        padding="VALID",
        dilation=frame.dilation,
        activation=fused_activation(node),
    )
    inputs = (padded.name, weights.name, bias.name)
    merged = Node(layer.op, node.name, inputs, node.outputs, attrs)
    return Patch(remove=(node,), add=(pad, merged), values=(weights, bias, padded))


def _frame(one: _Branch, two: _Branch) -> _Branch | None:
    """The least window that has all taps of both; None where no window has."""
    low, taps, dilation = [], [], []
    for axis in (0, 1):
        steps = {b.dilation[axis] for b in (one, two) if b.taps[axis] > 1} or {1}
        step, starts = max(steps), [b.low[axis] for b in (one, two)]
        if len(steps) > 1 or (starts[1] - starts[0]) % step:
            return None
        ends = [b.low[axis] + (b.taps[axis] - 1) * step for b in (one, two)]
        low.append(min(starts))
        taps.append((max(ends) - min(starts)) // step + 1)
        dilation.append(step)
    if one.stride != two.stride:
        return None
    pairs = [(pair[0], pair[1]) for pair in (low, taps, dilation)]
    return replace(one, low=pairs[0], taps=pairs[1], dilation=pairs[2])


def _paddings(source: Shape, output: Shape, frame: _Branch) -> Paddings | None:
    """The border that the window needs; None where it needs less than what there is."""
    borders = []
    for axis in (0, 1):
        size, out, before = source[axis + 1], output[axis + 1], -frame.low[axis]
        reach = (frame.taps[axis] - 1) * frame.dilation[axis] + 1
        last = (out - 1) * frame.stride[axis] + reach
        spare = size + before - last
        if before < 0 or spare >= frame.stride[axis]:
            return None
        borders.append((before, max(0, -spare)))
    return ((0, 0), *borders, (0, 0))


def _as_weights(factor: Array, op: str, kernel: tuple[int, ...]) -> Array:
    """One tap that multiplies each channel with a factor."""
    if op == "depthwise_conv2d":
        return factor.reshape(1, 1, 1, -1)
    c_out, _, _, c_in = kernel
    # A group's filters read its channels alone.
    w = np.zeros((c_out, 1, 1, c_in))
    w[np.arange(c_out), 0, 0, np.arange(c_out) % c_in] = factor
    return w


MERGE_PARALLEL = Rule("merge_parallel", ("add",), merge_parallel)
