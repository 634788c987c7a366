"""fully_connected in int8."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.backends.finishes import Weighted
from tinyrt.backends.lanes import lanes_dense
from tinyrt.backends.numba.abi import Call, row_of, s8_at, s32_at
from tinyrt.backends.numba.border import flip
from tinyrt.backends.numba.finish import LANE_BYTES, QUANT_BYTES
from tinyrt.backends.numba.product import SHAPES, product, product_of
from tinyrt.backends.numba.rows import Output, Product
from tinyrt.backends.numba.tile import row_tile
from tinyrt.backends.numba.vector import LANES
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import wrap_int32
from tinyrt.ir import BoundNode, Value
from tinyrt.ops.fully_connected import FullyConnectedS8
from tinyrt.ops.shared.requant import Steps

MANY, TWO, ONE = (shape.vectors for shape in SHAPES if shape.pixels == 1)
"""Vectors of a tile of a single row, as ``tiles_of`` takes them."""

_many, _two, _one = (row_tile(vectors) for vectors in (MANY, TWO, ONE))


class Row(NamedTuple):
    """Arguments of ``fully_connected_s8``: sizes, and addresses of what ``pack`` prepared."""

    x: int
    y: int
    scratch: int
    length: int
    w: int
    quant: int
    product: Product


def fully_connected_s8(address: int) -> None:
    """Compute all rows."""
    p = row_of(address, Row)
    flip(p.x, p.scratch, p.product.pixels * p.length)
    product(p.scratch, p.w, p.quant, p.y, p.product)


class SingleRow(NamedTuple):
    """Arguments of ``fully_connected_row_s8``: ``steps`` of four elements."""

    x: int
    y: int
    steps: int
    channels: int
    w: int
    quant: int
    out: Output


def fully_connected_row_s8(address: int) -> None:
    """Compute a single row, of which no copy is needed."""
    p = row_of(address, SingleRow)
    c = 0
    while c < p.channels:
        left, v = p.channels - c, c // LANES
        w, quant = p.w + v * p.steps * LANE_BYTES, p.quant + v * QUANT_BYTES
        if left > (MANY - 1) * LANES:
            _many(p.x, p.steps, w, quant, p.y + c, left, p.out)
            c += MANY * LANES
        elif left > LANES:
            _two(p.x, p.steps, w, quant, p.y + c, left, p.out)
            c += TWO * LANES
        else:
            _one(p.x, p.steps, w, quant, p.y + c, left, p.out)
            c += LANES


class LegacyRow(NamedTuple):
    """Arguments of ``fully_connected_legacy_s8``; sums begin with what the zero point leaves."""

    x: int
    y: int
    rows: int
    length: int
    channels: int
    w: int
    begin: int
    last: int
    steps: int
    low: int


def fully_connected_legacy_s8(address: int) -> None:
    """All rows; each output is the number of steps below its sum, from the least output on."""
    p = row_of(address, LegacyRow)
    begin, last, y = s32_at(p.begin), s32_at(p.last), s8_at(p.y)
    for row in range(p.rows):
        x = s8_at(p.x + row * p.length)
        for c in range(p.channels):
            w = s8_at(p.w + c * p.length)
            total = np.int32(begin[c])
            for i in range(p.length):
                total += np.int32(x[i]) * np.int32(w[i])
            acc = np.int32(total)
            below, end = 0, p.steps
            while below < end:
                middle = (below + end) // 2
                if last[middle] < acc:
                    below = middle + 1
                else:
                    end = middle
            y[row * p.channels + c] = np.int8(p.low + below)


def _pack_legacy(node: BoundNode, x_zp: int, requant: Steps, workspace: Workspace) -> Call:
    x, y = node.input(0), node.output
    weights, bias = workspace.weights(node), workspace.bias(node)
    channels, length = weights.shape
    begin = -x_zp * weights.sum(axis=1, dtype=np.int64) + (0 if bias is None else bias)
    row = LegacyRow(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        rows=x.size // length,
        length=length,
        channels=channels,
        w=workspace.pack(weights),
        begin=workspace.pack(wrap_int32(begin).astype(np.int32)),
        last=workspace.pack(requant.last),
        steps=len(requant.last),
        low=requant.act_min,
    )
    return Call(fully_connected_legacy_s8, row)


def pack(node: BoundNode, p: FullyConnectedS8, workspace: Workspace) -> Call:
    """Weights in the order of the tiles."""
    if isinstance(p.requant, Steps):
        return _pack_legacy(node, p.x_zp, p.requant, workspace)
    x, y = node.input(0), node.output
    layer = Weighted(workspace.weights(node), workspace.bias(node), p.x_zp, p.requant)
    length = layer.w.shape[1]
    if is_single_row(x, length):
        return pack_row(node, layer, workspace)
    workspace.need_scratch(x.size)
    packed = lanes_dense(x.size // length, layer, SHAPES)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        length=length,
        w=workspace.pack(packed.w),
        quant=workspace.pack(packed.quant),
        product=product_of(packed, p.requant, len(layer.w), 1, workspace),
    )
    return Call(fully_connected_s8, row)


def is_single_row(x: Value, length: int) -> bool:
    """Whether a tensor is one row of that length, which consists of whole steps of four."""
    return x.size == length and length % 4 == 0


def pack_row(node: BoundNode, layer: Weighted, workspace: Workspace) -> Call:
    """``fully_connected_row_s8`` and its arguments, for weights (channels, length)."""
    packed = lanes_dense(1, layer, SHAPES)
    row = SingleRow(
        x=workspace.tensor(node.input(0)),
        y=workspace.tensor(node.output),
        steps=len(packed.steps),
        channels=len(layer.w),
        w=workspace.pack(packed.w),
        quant=workspace.pack(packed.quant),
        out=Output.of(layer.requant, packed.finish),
    )
    return Call(fully_connected_row_s8, row)
