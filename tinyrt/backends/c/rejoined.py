"""Layers whose weights are in parts -> layers with weights of 16 bits, for kernels that take them.

A file knows weights of int8 alone. Wider ones are parts there, each of which reads channels of its
own, or rows of a depthwise layer, which ``concatenation`` copies once more. The packed kernels hold
depthwise filters of 3 x 3 taps in 16 bits, whatever they are stored in, and read taps of a
convolution again where they lie. For them the parts are added up, and nothing is copied:
``sum(x * w1) + sum(x * w2) = sum(x * (w1 + w2))``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.depthwise import filters_of
from tinyrt.backends.c.blocks.groups import groups_of
from tinyrt.backends.c.blocks.layer import BLOCK_SETS
from tinyrt.backends.c.blocks.more import more_of, takes_more
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.mve.more import takes
from tinyrt.backends.c.one_channel import along_rows, is_rather_convolution
from tinyrt.ir import BoundNode, DType, Graph, Node, Value
from tinyrt.ops import prepared
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import WEIGHT_AXIS as DEPTHWISE_AXIS
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.depthwise_conv2d import window_of as depthwise_window
from tinyrt.ops.shared.windowed import ConvolutionAttrs, ConvolutionS8
from tinyrt.ops.slice import SliceAttrs

MAX_WIDE = (1 << 14) - 1
"""Bound of absolute weights: kernels double them within 16 bits."""


MAX_PLAIN_ROWS = 3
"""Rows of taps that have fast kernels as they are, whatever is zero among them."""

MAX_IN_VECTORS = 255
"""The same for vectors: products with int8 fit in 16 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class _Whole:
    """A layer with its weights added up: what it reads, attributes, and weights."""

    x: Value
    attrs: ConvolutionAttrs
    data: NDArray[np.int32]


def rejoined(graph: Graph, target: Target) -> Graph:
    """The graph as the kernels of a target take it; the same one where nothing changes."""
    if target.isa not in BLOCK_SETS and not _has_vectors(target):
        return graph
    parts = _Parts(graph, target)
    replaced: dict[int, Node] = {}
    values = dict(graph.values)
    for node in graph.bound():
        found = parts.whole(node)
        if found is not None:
            w = found.input(1)
            named = replace(w, name=graph.unique_name(w.name, values))
            values[named.name] = named
            inputs = (found.input(0).name, named.name, *node.node.inputs[2:])
            replaced[node.index] = replace(found.node, inputs=inputs)
    if not replaced:
        return graph
    nodes = [replaced.get(i, node) for i, node in enumerate(graph.nodes)]
    return _without_unread(replace(graph, nodes=tuple(nodes), values=values))


class _Parts:
    """Layers of a graph whose weights are in parts.

    What moves data between a value and a layer keeps its scale: the graph was verified.
    """

    def __init__(self, graph: Graph, target: Target) -> None:
        self._graph, self._target = graph, target
        self._makers = {name: node for node in graph.nodes for name in node.outputs}

    def whole(self, node: BoundNode) -> BoundNode | None:
        """The layer on what it reads, with whole weights; None unless they are in parts."""
        is_layer = node.op in ("conv2d", "depthwise_conv2d") and len(node.inputs) > 1
        w = node.input(1) if is_layer else None
        if w is None or w.data is None or w.dtype is not DType.INT8:
            return None
        if node.op == "conv2d":
            found = self._channels(node) or self._groups(node)
        else:
            found = self._lines(node)
        found = found or self._as_it_is(node)
        if found is None or np.abs(found.data).max() > MAX_WIDE:
            return None
        bound = _bound(node, found)
        return bound if _has_kernel(bound, self._target) else None

    def _as_it_is(self, node: BoundNode) -> _Whole | None:
        """Of a layer on uint8 whose weights fit int8, in code for blobs: later ones may not."""
        w = node.input(1)
        if self._target.choices is None or w.q is None or not w.q.product_f32:
            return None
        attrs = replace(node.attrs_as(ConvolutionAttrs), wide=True)
        return _Whole(node.input(0), attrs, np.asarray(w.data, np.int32))

    def _groups(self, node: BoundNode) -> _Whole | None:
        """Of a convolution that reads each group's channels as often as there are parts."""
        image, w = node.input(0), node.input(1)
        joined = self._reshaped(image)
        maker = None if joined is None else self._makers.get(joined.name)
        if maker is None or maker.attrs != ConcatenationAttrs(4):
            return None
        times, apart = len(maker.inputs), self._graph.value(maker.inputs[0])
        x = self._reshaped(apart)
        if x is None or len(x.shape) != 4 or set(maker.inputs) != {apart.name}:
            return None
        *outer, channels = x.shape
        groups = image.shape[-1] // w.shape[-1]
        in_groups = apart.shape == (*outer, groups, channels // groups)
        if not in_groups or image.shape != (*outer, channels * times):
            return None
        parts = np.asarray(w.data).reshape(*w.shape[:-1], times, channels // groups)
        whole = np.asarray(parts.sum(axis=3, dtype=np.int32))
        a = node.attrs_as(Conv2dAttrs)
        if channels == groups:
            own = DepthwiseConv2dAttrs(a.stride, a.padding, a.dilation, a.activation, wide=True)
            return _Whole(x, own, whole.transpose(3, 1, 2, 0))
        return _Whole(x, replace(a, wide=True), whole)

    def _lines(self, node: BoundNode) -> _Whole | None:
        """Of a depthwise layer that reads each row as often as there are parts."""
        x, times = self._rows_read(node.input(0))
        w, a = node.input(1), node.attrs_as(DepthwiseConv2dAttrs)
        if x is None or a.stride[0] % times or a.dilation[0] != 1:
            return None
        attrs = replace(a, stride=(a.stride[0] // times, a.stride[1]), wide=True)
        # Rows of zeros above, where SAME had half of an odd row there.
        above = times - 1 if w.shape[1] % times else 0
        data = np.asarray(w.data)
        if (w.shape[1] - above) % times or data[:, :above].any():
            return None
        lines = data[:, above:].reshape(1, -1, times, *w.shape[2:])
        whole, step = _without_rows_between(np.asarray(lines.sum(axis=2, dtype=np.int32)))
        attrs = replace(attrs, dilation=(step, a.dilation[1]))
        mine = depthwise_window(attrs, x.shape, whole.shape)
        old = depthwise_window(a, node.input(0).shape, w.shape)
        alike = mine.out == old.out and old.before[0] - above == times * mine.before[0]
        return _Whole(x, attrs, whole) if alike else None

    def _rows_read(self, image: Value) -> tuple[Value | None, int]:
        """The image whose rows are repeated, and how often; None where none are."""
        joined = self._reshaped(image)
        maker = None if joined is None else self._makers.get(joined.name)
        if joined is None or maker is None:
            return None, 1
        times, apart = len(maker.inputs), self._graph.value(maker.inputs[0])
        x = self._reshaped(apart)
        if x is None or len(x.shape) != 4 or set(maker.inputs) != {apart.name}:
            return None, 1
        n, h, w, c = x.shape
        in_lines = apart.shape == (n, h, 1, w * c) and image.shape == (n, h * times, w, c)
        is_repeated = maker.attrs == ConcatenationAttrs(2)
        return (x, times) if in_lines and is_repeated else (None, 1)

    def _reshaped(self, value: Value) -> Value | None:
        """What a reshape made the value of; None where none did."""
        maker = self._makers.get(value.name)
        is_reshape = maker is not None and maker.op == "reshape"
        return self._graph.value(maker.inputs[0]) if maker is not None and is_reshape else None

    def _channels(self, node: BoundNode) -> _Whole | None:
        """Of a convolution that reads some channels as often as there are parts."""
        maker = self._makers.get(node.input(0).name)
        joined, w = node.input(0), node.input(1)
        grouped = w.shape[-1] != joined.shape[-1]
        if maker is None or maker.attrs != ConcatenationAttrs(3) or grouped:
            return None
        x = self._graph.value(maker.inputs[0])
        reads = [self._read(x, name) for name in maker.inputs]
        if len(reads) < 2:
            return None
        whole = np.zeros((*w.shape[:-1], x.shape[-1]), np.int32)
        first = 0
        for read in reads:
            if read is None:
                return None
            stop = first + read.stop - read.start
            whole[..., read] += np.asarray(w.data)[..., first:stop]
            first = stop
        attrs = replace(node.attrs_as(Conv2dAttrs), wide=True)
        return _Whole(x, attrs, whole)

    def _read(self, x: Value, name: str) -> slice | None:
        """Which channels of x a value is; None where it is anything else."""
        channels = x.shape[-1]
        if name == x.name:
            return slice(0, channels)
        maker = self._makers.get(name)
        if maker is None or maker.op != "slice" or maker.inputs[0] != x.name:
            return None
        a = maker.attrs_as(SliceAttrs)
        first, count = a.begin[-1], a.size[-1]
        own = SliceAttrs((0,) * 3 + (first,), (*x.shape[:-1], count), (1,) * 4)
        return slice(first, first + count) if a == own else None


def _bound(node: BoundNode, found: _Whole) -> BoundNode:
    """The layer with its weights added up: depthwise again, if it was made one of groups."""
    w = node.input(1)
    op = "depthwise_conv2d" if isinstance(found.attrs, DepthwiseConv2dAttrs) else "conv2d"
    q = w.q
    if op != node.op and q is not None and q.axis is not None:
        q = replace(q, axis=DEPTHWISE_AXIS)
    wide = Value.constant(f"{w.name}/whole", found.data.astype(np.int16), q)
    made = replace(node.node, op=op, attrs=found.attrs)
    inputs = found.x, wide, *node.inputs[2:]
    return BoundNode(node.index, made, inputs, node.outputs)


def _without_rows_between(w: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Weights (1, rows, columns, channels) whose rows of zeros are steps, and the step."""
    rows = w.shape[1]
    for step in range(rows - 1, 1, -1):
        others = np.arange(rows) % step != 0
        if rows > MAX_PLAIN_ROWS and (rows - 1) % step == 0 and not w[:, others].any():
            return w[:, ::step], step
    return w, 1


def _has_vectors(target: Target) -> bool:
    """Whether vector kernels take a layer whole: they are not cut."""
    return target.isa is InstructionSet.MVE and math.isinf(target.in_one_go)


def _has_kernel(node: BoundNode, target: Target) -> bool:
    """Whether there is a kernel for the layer as a whole."""
    p = prepared(node, ConvolutionS8)
    layer = p.x_zp, p.requant, target.isa
    if node.op == "conv2d":
        if target.isa is InstructionSet.MVE:
            return takes(node, p.window, target)
        plain = p.window.dilation == (1, 1) and node.input(0).shape[3] == node.input(1).shape[3]
        if plain and takes_more(target) and more_of(node, *layer[:2], target) is not None:
            return True
        return takes_more(target) and groups_of(node, *layer) is not None
    if target.isa is InstructionSet.MVE:
        fits = np.abs(np.asarray(node.input(1).data, np.int32)).max() <= MAX_IN_VECTORS
        return fits and not is_rather_convolution(node, along_rows(p.window), target.isa)
    if is_rather_convolution(node, p.window, target.isa):
        return False
    return filters_of(node, p.window, *layer) is not None


def _without_unread(graph: Graph) -> Graph:
    """Without nodes that only made what is no longer read."""
    kept: list[Node] = []
    read: set[str] = set(graph.outputs)
    for node in reversed(graph.nodes):
        if read.intersection(node.outputs):
            kept.append(node)
            read.update(node.inputs)
    used: dict[str, Any] = dict.fromkeys((*graph.inputs, *graph.outputs))
    used.update((n, None) for node in kept for n in (*node.inputs, *node.outputs))
    values = {name: value for name, value in graph.values.items() if name in used}
    return replace(graph, nodes=tuple(reversed(kept)), values=values)
