"""Weights wider than int8 -> sums of parts within int8, each of which reads the input.

``x * (w1 + w2) = [x, x] * [w1, w2]``: the input's channels are repeated, and the parts of the
weights lie one behind the other. Further parts read only those channels in which they are not zero.
A depthwise layer's rows are repeated instead, with rows of the parts' taps in turn and a stride as
many times as long: it stays depthwise. Steps between its rows of taps become rows of zeros. Nothing
is rounded, so that the op's integers stay what they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, Node, Value
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.window import Window
from tinyrt.ops.slice import SliceAttrs

LEAST, MOST = -128, 127
"""What a part's elements lie between."""

LEAST_IN_PAIRS = -127
"""The same where kernels multiply by the weights of two channels at once: of -128 above a negative
one, no 16 bits hold both, and the general kernel takes ten times the instructions."""

MAX_ROWS_BETWEEN = 4
"""How many times as many rows of taps zeros between them may make: beyond, groups cost less."""

MAX_RUNS = 8
"""Runs of channels that are taken out one by one; of more, everything between first and last is."""


def parts_of(steps: NDArray[np.int16], least: int = LEAST) -> list[NDArray[np.int16]]:
    """Arrays from ``least`` to 127 whose sum the weights are: one where that suffices."""
    parts: list[NDArray[np.int16]] = []
    rest = steps
    while not parts or rest.any():
        parts.append(np.clip(rest, least, MOST))
        rest = rest - parts[-1]
    return parts


def least_of(op: str, steps: NDArray[np.int16]) -> int:
    """The least element of a part: of convolutions a channel's -128 must not meet a negative one.

    Args:
        op: its name.
        steps: its weights, output channels first.

    """
    fits = steps.min(initial=0) >= LEAST and steps.max(initial=0) <= MOST
    if op != "conv2d" or fits:
        # Where one part suffices, a second one would cost cores with vectors more than it saves.
        return LEAST
    even, odd = steps[0::2], steps[1::2]
    clash = (odd <= LEAST) & (even[: len(odd)] < 0)
    return LEAST_IN_PAIRS if clash.any() else LEAST


@dataclass(slots=True)
class PartsOp:
    """An op with weights (input 1), on an input whose channels are repeated.

    Attributes:
        node: the op: its input 0 is replaced, input 1 is still the old weights.
        weights: the parts in the new op's layout.
        channel_axis: their dimension of output channels, None where it is the old one.
        nodes: what repeats the channels, in execution order.

    """

    node: Node
    weights: NDArray[Any]
    channel_axis: int | None = None
    nodes: list[Node] = field(default_factory=list)


def in_parts(
    node: BoundNode,
    x: Value,
    parts: Sequence[NDArray[Any]],
    add: Callable[[Value], Value],
) -> PartsOp:
    """The op on parts of its weights.

    Args:
        node: conv2d, depthwise_conv2d, fully_connected or transpose_conv.
        x: its input (n, h, w, c), or (..., k) of a dense layer.
        parts: at least two arrays of the weights' shape.
        add: adds a value to the graph, under a name like its own that nothing has.

    """
    return _Repeater(node, x, add).run(parts)


class _Repeater:
    """One op being rewritten."""

    def __init__(self, node: BoundNode, x: Value, add: Callable[[Value], Value]) -> None:
        self._node, self._x, self._add = node, x, add
        self._nodes: list[Node] = []

    def run(self, parts: Sequence[NDArray[Any]]) -> PartsOp:
        op, x, axis = self._node.op, self._x, None
        node = self._node.node
        if op == "depthwise_conv2d":
            step = self._node.attrs_as(DepthwiseConv2dAttrs).dilation[0]
            apart = [_with_rows_between(part, step) for part in parts]
            if apart[0].shape[1] <= MAX_ROWS_BETWEEN * parts[0].shape[1]:
                return self._by_row(x, apart)
            groups, axis = x.shape[-1], 0
            parts = [np.moveaxis(part[0], -1, 0)[..., None] for part in parts]
            a = self._node.attrs_as(DepthwiseConv2dAttrs)
            attrs = Conv2dAttrs(a.stride, a.padding, a.dilation, a.activation)
            node = replace(node, op="conv2d", attrs=attrs)
        else:
            length = parts[0].shape[-1]
            if op == "fully_connected" and x.shape[-1] != length:
                x = self._reshaped(x, (math.prod(x.shape) // length, length))
            groups = x.shape[-1] // length
        if groups > 1:
            wide, weights = self._by_group(x, groups, parts), np.concatenate(parts, axis=-1)
        else:
            wide, weights = self._where_needed(x, parts)
        node = replace(node, inputs=(wide.name, *node.inputs[1:]))
        return PartsOp(node, weights, axis, self._nodes)

    def _by_row(self, x: Value, parts: Sequence[NDArray[Any]]) -> PartsOp:
        """A depthwise layer with each row of the input repeated; rows of taps have no steps."""
        n, h, w, c = x.shape
        times = len(parts)
        _, kernel_h, *rest = parts[0].shape
        a = self._node.attrs_as(DepthwiseConv2dAttrs)
        lines = np.stack(parts, axis=2).reshape(1, kernel_h * times, *rest)
        window = Window.of((h, w), (kernel_h, rest[0]), a.stride, a.padding, (1, a.dilation[1]))
        padding = max((window.out[0] - 1) * a.stride[0] + kernel_h - h, 0)
        if a.padding == "SAME" and padding % 2:
            # SAME has the odd row below. Repeated, half of it would be above, where zeros meet it.
            lines = np.pad(lines, ((0, 0), (times - 1, 0), (0, 0), (0, 0)))
        apart = self._reshaped(x, (n, h, 1, w * c))
        both = self._joined([apart] * times, axis=2)
        image = self._reshaped(both, (n, h * times, w, c))
        attrs = replace(a, stride=(a.stride[0] * times, a.stride[1]), dilation=(1, a.dilation[1]))
        node = self._node.node
        node = replace(node, attrs=attrs, inputs=(image.name, *node.inputs[1:]))
        return PartsOp(node, lines, None, self._nodes)

    def _by_group(self, x: Value, groups: int, parts: Sequence[Any]) -> Value:
        """Each group's channels beside themselves."""
        n, h, w, c = x.shape
        apart = self._reshaped(x, (n, h, w, groups, c // groups))
        both = self._joined([apart] * len(parts))
        return self._reshaped(both, (n, h, w, len(parts) * c))

    def _where_needed(self, x: Value, parts: Sequence[NDArray[Any]]) -> tuple[Value, NDArray[Any]]:
        """All channels, and behind them those that the other parts read."""
        values, weights = [x], [parts[0]]
        for part in parts[1:]:
            used = part.any(axis=tuple(range(part.ndim - 1)))
            for first, end in runs_of(np.flatnonzero(used)):
                values.append(self._channels(x, first, end))
                weights.append(part[..., first:end])
        return self._joined(values), np.concatenate(weights, axis=-1)

    def _channels(self, x: Value, first: int, end: int) -> Value:
        if end - first == x.shape[-1]:
            return x
        shape = (*x.shape[:-1], end - first)
        begin = (0,) * len(shape)
        attrs = SliceAttrs((*begin[:-1], first), shape, (1,) * len(shape))
        return self._made("slice", f"{x.name}/channels", [x], shape, attrs)

    def _joined(self, values: Sequence[Value], axis: int = -1) -> Value:
        first = values[0]
        shape = list(first.shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        attrs = ConcatenationAttrs(axis % len(shape))
        return self._made("concatenation", f"{first.name}/repeated", values, tuple(shape), attrs)

    def _reshaped(self, x: Value, shape: tuple[int, ...]) -> Value:
        return self._made("reshape", f"{x.name}/reshaped", [x], shape, ReshapeAttrs(shape))

    def _made(
        self, op: str, wish: str, inputs: Sequence[Value], shape: tuple[int, ...], attrs: Any
    ) -> Value:
        y = self._add(replace(inputs[0], name=wish, shape=shape))
        self._nodes.append(Node(op, y.name, tuple(v.name for v in inputs), (y.name,), attrs))
        return y


def _with_rows_between(part: NDArray[Any], step: int) -> NDArray[Any]:
    """Weights (1, rows, columns, channels) with zeros in place of steps between rows of taps."""
    rows = (part.shape[1] - 1) * step + 1
    apart = np.zeros((1, rows, *part.shape[2:]), part.dtype)
    apart[:, ::step] = part
    return apart


def runs_of(places: NDArray[np.int64]) -> list[tuple[int, int]]:
    """First and end of each run of ascending places, or of all if there are too many runs."""
    breaks = np.flatnonzero(np.diff(places) > 1) + 1
    runs = [(int(run[0]), int(run[-1]) + 1) for run in np.split(places, breaks)]
    return runs if len(runs) <= MAX_RUNS else [(runs[0][0], runs[-1][1])]
