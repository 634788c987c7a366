"""Bounds of integers that are places or counts, and of rows that places pick."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinyrt.convert.values.interval import Bounds, channels_of
from tinyrt.ir import BoundNode
from tinyrt.ops.arg import CHOICES, ArgAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.shared.shapes import axis_of
from tinyrt.ops.shared.spec import is_integer

PLACES = frozenset({*CHOICES, "cumsum", "embedding", "topk_v2"})
"""Ops that find places, count or pick at places."""


def places(node: BoundNode, known: Mapping[str, Bounds]) -> Bounds | None:
    """The bounds of the output; None where sums have a scale."""
    x = node.input(0)
    if node.op == "embedding":
        return _rows(node, known)
    if node.op == "cumsum":
        return _counts(node, known)
    axis = node.attrs_as(ArgAttrs).axis if node.op in CHOICES else -1
    last = x.shape[axis_of(axis, len(x.shape))] - 1
    count = channels_of(node.output.shape)
    return Bounds(np.zeros(count, np.int64), np.full(count, last, np.int64))


def _rows(node: BoundNode, known: Mapping[str, Bounds]) -> Bounds:
    """As far apart as the table's elements: in each channel, where rows have channels."""
    table = node.input(0)
    of_table = Bounds.around(table.data) if table.data is not None else known[table.name]
    if len(table.shape) > node.attrs_as(EmbeddingAttrs).batch_dims + 1:
        return of_table
    count = channels_of(node.output.shape)
    return Bounds(np.repeat(of_table.low.min(), count), np.repeat(of_table.high.max(), count))


def _counts(node: BoundNode, known: Mapping[str, Bounds]) -> Bounds | None:
    """Sums of none to all of the elements along the axis."""
    x = node.input(0)
    if is_integer(node):
        return None
    n = x.shape[axis_of(node.attrs_as(CumsumAttrs).axis, len(x.shape))]
    low, high = n * min(0.0, known[x.name].low.min()), n * max(0.0, known[x.name].high.max())
    count = channels_of(node.output.shape)
    return Bounds(np.full(count, low), np.full(count, high))
