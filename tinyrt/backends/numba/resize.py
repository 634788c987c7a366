"""resize_bilinear in int8."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba.abi import Call, row_of, s8_at, s64_at
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.resize import FRACTION_BITS, Axis, BilinearS8

HALF = 1 << (2 * FRACTION_BITS - 1)


class Row(NamedTuple):
    """Arguments of ``resize_bilinear_s8``; for each row and column of the output, four tables."""

    x: int
    y: int
    images: int
    image_bytes: int
    rows: int
    row_at: int
    columns: int
    column_at: int
    channels: int


def resize_bilinear_s8(address: int) -> None:
    """Weighted mean of raw values, halves away from zero."""
    p = row_of(address, Row)
    row, column = s64_at(p.row_at), s64_at(p.column_at)
    at = p.y
    for n in range(p.images):
        x = p.x + n * p.image_bytes
        for i in range(p.rows):
            top, bottom = x + row[4 * i], x + row[4 * i + 1]
            for j in range(p.columns):
                left, right = column[4 * j], column[4 * j + 1]
                a, b = s8_at(top + left), s8_at(top + right)
                c, d = s8_at(bottom + left), s8_at(bottom + right)
                y = s8_at(at)
                for k in range(p.channels):
                    first = a[k] * column[4 * j + 2] + b[k] * column[4 * j + 3]
                    second = c[k] * column[4 * j + 2] + d[k] * column[4 * j + 3]
                    total = first * row[4 * i + 2] + second * row[4 * i + 3]
                    size = (abs(total) + HALF) >> (2 * FRACTION_BITS)
                    y[k] = np.int8(-size if total < 0 else size)
                at += p.channels


def pack(node: BoundNode, p: BilinearS8, workspace: Workspace) -> Call:
    """Pack the positions of each output's neighbouring rows and columns, and their weights."""
    n, height, width, channels = node.input(0).shape

    def table(axis: Axis, step: int) -> int:
        places = axis.first * step, axis.second * step, axis.first_share, axis.second_share
        return workspace.pack(np.stack(places, axis=1))

    row = Row(
        x=workspace.tensor(node.input(0)),
        y=workspace.tensor(node.output),
        images=n,
        image_bytes=height * width * channels,
        rows=len(p.rows.first),
        row_at=table(p.rows, width * channels),
        columns=len(p.columns.first),
        column_at=table(p.columns, channels),
        channels=channels,
    )
    return Call(resize_bilinear_s8, row)
