"""transpose_conv in int8."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba.abi import Call, row_of, s8_at, s64_at
from tinyrt.backends.numba.fixedpoint import requant, saturate
from tinyrt.backends.numba.rows import Output, Slide
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.transpose_conv import TransposeConvS8, window_of


class Weights(NamedTuple):
    """Addresses of weights, biases, multipliers and shifts.

    ``quant`` has four numbers for each output channel, ``zeros`` what the input's zero point adds
    up to for each channel and tap.
    """

    w: int
    quant: int
    zeros: int


class Row(NamedTuple):
    """Arguments of ``transpose_conv_s8``: windows slide over the output."""

    x: int
    y: int
    batch: int
    rows: Slide
    columns: Slide
    c_in: int
    c_out: int
    weights: Weights
    out: Output


def transpose_conv_s8(address: int) -> None:
    """``clamp(requant(bias + sum((x - x_zp) * w)) + y_zp)``, over the taps that meet a pixel."""
    p = row_of(address, Row)
    quant, zeros = s64_at(p.weights.quant), s64_at(p.weights.zeros)
    taps = p.rows.kernel * p.columns.kernel
    for place in range(p.batch * p.rows.outputs * p.columns.outputs):
        column, line = place % p.columns.outputs, place // p.columns.outputs
        row, n = line % p.rows.outputs, line // p.rows.outputs
        y = s8_at(p.y + place * p.c_out)
        for c in range(p.c_out):
            total = quant[4 * c]
            for tap in range(taps):
                down = row + p.rows.before - tap // p.columns.kernel
                right = column + p.columns.before - tap % p.columns.kernel
                i, j = down // p.rows.stride, right // p.columns.stride
                if down < 0 or right < 0 or i >= p.rows.inputs or j >= p.columns.inputs:
                    continue
                if down % p.rows.stride or right % p.columns.stride:
                    continue
                x = s8_at(p.x + ((n * p.rows.inputs + i) * p.columns.inputs + j) * p.c_in)
                w = s8_at(p.weights.w + (c * taps + tap) * p.c_in)
                products = np.int32(0)
                for k in range(p.c_in):
                    products += np.int32(x[k]) * np.int32(w[k])
                total += products - zeros[c * taps + tap]
            scaled = requant(total, quant[4 * c + 1], quant[4 * c + 2], quant[4 * c + 3])
            y[c] = saturate(scaled + p.out.zero_point, p.out.low, p.out.high)


def pack(node: BoundNode, p: TransposeConvS8, workspace: Workspace) -> Call:
    """Weights as they are; bias, mantissa and shifts of each output channel side by side."""
    x, y, window = node.input(0), node.output, window_of(p.attrs, node.input(1).shape)
    weights, bias, shift = workspace.weights(node), workspace.bias(node), p.requant.shift
    sums = np.zeros(y.shape[3], np.int64) if bias is None else bias
    quant = np.stack([sums, p.requant.mult, np.maximum(shift, 0), np.maximum(-shift, 0)], axis=1)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        batch=x.shape[0],
        rows=Slide.of(window, x.shape[1], y.shape[1], 0),
        columns=Slide.of(window, x.shape[2], y.shape[2], 1),
        c_in=x.shape[3],
        c_out=y.shape[3],
        weights=Weights(
            w=workspace.pack(weights),
            quant=workspace.pack(quant.astype(np.int64)),
            zeros=workspace.pack(p.x_zp * weights.sum(axis=3, dtype=np.int64)),
        ),
        out=Output.of(p.requant),
    )
    return Call(transpose_conv_s8, row)
