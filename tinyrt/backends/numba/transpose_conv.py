"""transpose_conv in int8."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba.abi import Call, row_of, s8_at, s64_at
from tinyrt.backends.numba.fixedpoint import requant, saturate
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.transpose_conv import TransposeConvS8, window_of


class Row(NamedTuple):
    """Arguments of ``transpose_conv_s8``.

    ``quant`` has four numbers for each output channel, ``zeros`` what the input's zero point adds
    up to for each channel and tap.
    """

    x: int
    y: int
    batch: int
    height: int
    width: int
    c_in: int
    out_height: int
    out_width: int
    c_out: int
    kernel_height: int
    kernel_width: int
    stride_height: int
    stride_width: int
    top: int
    left: int
    w: int
    quant: int
    zeros: int
    y_zp: int
    act_min: int
    act_max: int


def transpose_conv_s8(address: int) -> None:
    """``clamp(requant(bias + sum((x - x_zp) * w)) + y_zp)``, over the taps that meet a pixel."""
    p = row_of(address, Row)
    quant, zeros = s64_at(p.quant), s64_at(p.zeros)
    taps = p.kernel_height * p.kernel_width
    for place in range(p.batch * p.out_height * p.out_width):
        column, line = place % p.out_width, place // p.out_width
        row, n = line % p.out_height, line // p.out_height
        y = s8_at(p.y + place * p.c_out)
        for c in range(p.c_out):
            total = quant[4 * c]
            for tap in range(taps):
                down = row + p.top - tap // p.kernel_width
                right = column + p.left - tap % p.kernel_width
                i, j = down // p.stride_height, right // p.stride_width
                if down < 0 or right < 0 or i >= p.height or j >= p.width:
                    continue
                if down % p.stride_height or right % p.stride_width:
                    continue
                x = s8_at(p.x + ((n * p.height + i) * p.width + j) * p.c_in)
                w = s8_at(p.w + (c * taps + tap) * p.c_in)
                products = np.int32(0)
                for k in range(p.c_in):
                    products += np.int32(x[k]) * np.int32(w[k])
                total += products - zeros[c * taps + tap]
            scaled = requant(total, quant[4 * c + 1], quant[4 * c + 2], quant[4 * c + 3])
            y[c] = saturate(scaled + p.y_zp, p.act_min, p.act_max)


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
        height=x.shape[1],
        width=x.shape[2],
        c_in=x.shape[3],
        out_height=y.shape[1],
        out_width=y.shape[2],
        c_out=y.shape[3],
        kernel_height=window.kernel[0],
        kernel_width=window.kernel[1],
        stride_height=window.stride[0],
        stride_width=window.stride[1],
        top=window.before[0],
        left=window.before[1],
        w=workspace.pack(weights),
        quant=workspace.pack(quant.astype(np.int64)),
        zeros=workspace.pack(p.x_zp * weights.sum(axis=3, dtype=np.int64)),
        y_zp=p.requant.y_zp,
        act_min=p.requant.act_min,
        act_max=p.requant.act_max,
    )
    return Call(transpose_conv_s8, row)
