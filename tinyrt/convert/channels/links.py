"""Which channels of an op's inputs its output's channels are made of, one by one.

A tensor's channels are its last dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.values.interval import channels_of
from tinyrt.ir import BoundNode, Shape
from tinyrt.ops import ops_where
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.shapes import axis_of
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

Labels = NDArray[np.intp]
Kept = NDArray[np.bool_]

ELEMENTWISE = ops_where(lambda spec: spec.traits.elementwise)

BY_CHANNEL = frozenset(
    {"average_pool2d", "max_pool2d", "resize_bilinear", "resize_nearest_neighbor"}
)
"""Ops whose channels are those of their input, whatever their attributes."""


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """Channels of an input that are handed on: they leave the graph with those of the output.

    Attributes:
        index: the input's position.
        taken: the input's channels, in pairs with ``given``.
        given: the output's.

    """

    index: int
    taken: Labels
    given: Labels


def links(node: BoundNode) -> tuple[Link, ...] | None:
    """The links of a node; None where all channels of its inputs and outputs have to stay."""
    y = channels_of(node.output.shape)
    same = (Link(0, np.arange(y), np.arange(y)),)
    if node.op in ELEMENTWISE:
        # An input of one channel that is repeated keeps it.
        return tuple(
            Link(i, np.arange(y), np.arange(y))
            for i, value in enumerate(node.inputs)
            if value is not None and channels_of(value.shape) == y
        )
    if node.op == "depthwise_conv2d":
        every = np.arange(y)
        return (Link(0, every // (y // node.input(0).shape[-1]), every),)
    if node.op == "concatenation":
        return _joined(node)
    if node.op == "reshape":
        return _reshaped(node.input(0).shape, node.output.shape)
    if node.op == "slice":
        attrs = node.attrs_as(SliceAttrs)
        last = len(attrs.size) - 1
        if attrs.strides[-1] != 1 or last in attrs.dropped:
            return None
        return (Link(0, attrs.begin[-1] + np.arange(y), np.arange(y)),)
    return same if node.op in BY_CHANNEL or _keeps_last(node) else None


def _keeps_last(node: BoundNode) -> bool:
    """Whether an op on some dimensions leaves the last one alone."""
    attrs, rank = node.attrs, len(node.input(0).shape)
    if isinstance(attrs, MeanAttrs):
        return rank - 1 not in {axis_of(axis, rank) for axis in attrs.axes}
    if isinstance(attrs, TransposeAttrs):
        return attrs.perm[-1:] == (rank - 1,)
    if isinstance(attrs, PadAttrs | MirrorPadAttrs):
        return tuple(attrs.paddings[-1]) == (0, 0)
    return isinstance(attrs, GatherAttrs) and axis_of(attrs.axis, rank) != rank - 1


def _joined(node: BoundNode) -> tuple[Link, ...]:
    rank, y = len(node.output.shape), node.output.shape[-1]
    along = axis_of(node.attrs_as(ConcatenationAttrs).axis, rank) == rank - 1
    found, start = [], 0
    for i, value in enumerate(node.operands):
        count = value.shape[-1]
        found.append(Link(i, np.arange(count), start + np.arange(count)))
        start = (start + count) % y if along else 0
    return tuple(found)


def _reshaped(x: Shape, y: Shape) -> tuple[Link, ...] | None:
    """Channels of a reshape: elements keep their order, so that one count divides the other."""
    few, many = sorted((channels_of(x), channels_of(y)))
    if not x or not y or many % few:
        return None
    every = np.arange(many)
    repeated = every % few
    taken, given = (repeated, every) if channels_of(x) == few else (every, repeated)
    return (Link(0, taken, given),)


def with_fewer(node: BoundNode, x: Kept, y: Kept) -> object:
    """The attributes of a node with links, whose input and output have lost channels."""
    attrs = node.attrs
    if isinstance(attrs, ReshapeAttrs) and attrs.new_shape[-1] != -1:
        return ReshapeAttrs((*attrs.new_shape[:-1], int(y.sum())))
    if isinstance(attrs, SliceAttrs):
        begin = int(x[: attrs.begin[-1]].sum())
        return replace(
            attrs, begin=(*attrs.begin[:-1], begin), size=(*attrs.size[:-1], int(y.sum()))
        )
    return attrs
