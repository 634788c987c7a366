"""Images whose channels fill no words, widened on their way into the arena.

Threads read four bytes at least. An image of three channels would be read byte by byte, nine times
over for a kernel of 3 x 3; so it is copied into the arena with a fourth channel, whose weights are
zero. An image of one channel is unfolded instead: what lies under a kernel's row becomes the
channels of one pixel, and the kernel one column wide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.ops import verify
from tinyrt.ops.conv2d import Conv2dAttrs, window_of
from tinyrt.ops.shared.spec import qparams

WORD = 4
"""Bytes that a thread reads at once, at least."""


@dataclass(frozen=True, slots=True)
class Widening:
    """How an input lies in the arena.

    Attributes:
        size: its elements there.
        at: C++ expression for where in the input element ``i`` comes from; -1 for ``fill``.
        fill: the input's zero point.

    """

    size: int
    at: str
    fill: int


def widen_inputs(graph: Graph) -> tuple[Graph, dict[str, Widening]]:
    """The graph with wider inputs where that helps, and how to get from one to the other."""
    widenings: dict[str, Widening] = {}
    for name in graph.inputs:
        readers = [n for n in graph.bound() if any(v and v.name == name for v in n.inputs)]
        if len(readers) == 1 and name not in graph.outputs and _is_dense(readers[0], name):
            changed = _unfolded(graph, readers[0]) or _padded(graph, readers[0])
            if changed is not None:
                graph, widenings[name] = changed
    return graph, widenings


def _is_dense(node: BoundNode, name: str) -> bool:
    """Whether the node is a convolution of that image on tensor cores."""
    if node.op != "conv2d" or node.input(0).name != name:
        return False
    x, w = node.input(0), node.input(1)
    whole = w.is_constant and w.shape[3] == x.shape[3]
    return x.dtype is DType.INT8 and x.shape[0] == 1 and whole and x.shape[3] % WORD != 0


def _unfolded(graph: Graph, node: BoundNode) -> tuple[Graph, Widening] | None:
    """One pixel per output column, its channels those under the kernel's row; for one channel."""
    x, w, attrs = node.input(0), node.input(1), node.attrs_as(Conv2dAttrs)
    (_, height, width, channels), (c_out, kh, kw, _) = x.shape, w.shape
    if channels != 1 or kw % WORD:
        return None
    window = window_of(attrs, x.shape, w.shape)
    columns = window.out[1]
    column = f"i / {kw} % {columns} * {attrs.stride[1]} + i % {kw} * {attrs.dilation[1]}"
    place = f"({column} - {window.before[1]})"
    at = f"static_cast<u32>{place} < {width}u ? i / {kw * columns} * {width} + {place} : -1"
    wide = replace(x, shape=(1, height, columns, kw))
    changed = replace(attrs, stride=(attrs.stride[0], 1), dilation=(attrs.dilation[0], 1))
    weights = np.asarray(w.data).reshape(c_out, kh, 1, kw)
    return _with(graph, node, wide, weights, changed), Widening(wide.size, at, qparams(x)[1])


def _padded(graph: Graph, node: BoundNode) -> tuple[Graph, Widening] | None:
    """Channels up to a multiple of four, where that does not double them."""
    x, w = node.input(0), node.input(1)
    channels = x.shape[3]
    more = -channels % WORD
    if more > channels:
        return None
    total = channels + more
    at = f"i % {total} < {channels} ? i / {total} * {channels} + i % {total} : -1"
    wide = replace(x, shape=(*x.shape[:3], total))
    weights = np.pad(np.asarray(w.data), ((0, 0), (0, 0), (0, 0), (0, more)))
    return _with(graph, node, wide, weights, node.attrs), Widening(wide.size, at, qparams(x)[1])


def _with(graph: Graph, node: BoundNode, x: Value, weights: np.ndarray, attrs: object) -> Graph:
    """The graph with another input, weights and attributes of the node that reads it."""
    old = node.input(1)
    w = replace(old, name=f"{old.name}.wide", shape=weights.shape, data=weights)
    inputs = tuple(w.name if name == old.name else name for name in node.node.inputs)
    nodes = list(graph.nodes)
    nodes[node.index] = replace(node.node, inputs=inputs, attrs=attrs)
    values = {**graph.values, x.name: x, w.name: w}
    return verify(replace(graph, nodes=tuple(nodes), values=values))
