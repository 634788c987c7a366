"""resize_bilinear in int8."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.numba.abi import Call, f32_at, row_of, s8_at, s64_at
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.resize import FRACTION_BITS, Axis, BilinearLegacyS8, BilinearS8, FloatAxis

HALF = 1 << (2 * FRACTION_BITS - 1)


class Row(NamedTuple):
    """Arguments of both kernels.

    For each row and column of the output there are two places and two shares in 1/1024; where it
    is computed as on uint8, behind the places of all of them a float32 of each.
    """

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


def resize_legacy_s8(address: int) -> None:
    """Weighted mean of values 128 higher, in float32, halves up, 128 lower again."""
    p = row_of(address, Row)
    row, column = s64_at(p.row_at), s64_at(p.column_at)
    down, across = f32_at(p.row_at + 16 * p.rows), f32_at(p.column_at + 16 * p.columns)
    one, half = np.float32(1), np.float32(0.5)
    at = p.y
    for n in range(p.images):
        x = p.x + n * p.image_bytes
        for i in range(p.rows):
            top, bottom = x + row[2 * i], x + row[2 * i + 1]
            lower = down[i]
            upper = one - lower
            for j in range(p.columns):
                left, right = column[2 * j], column[2 * j + 1]
                a, b = s8_at(top + left), s8_at(top + right)
                c, d = s8_at(bottom + left), s8_at(bottom + right)
                y = s8_at(at)
                later = across[j]
                first = one - later
                for k in range(p.channels):
                    total = np.float32(a[k] + 128) * upper * first
                    total += np.float32(c[k] + 128) * lower * first
                    total += np.float32(b[k] + 128) * upper * later
                    total += np.float32(d[k] + 128) * lower * later
                    y[k] = np.int8(np.int64(total + half) - 128)
                at += p.channels


def pack(node: BoundNode, p: BilinearS8 | BilinearLegacyS8, workspace: Workspace) -> Call:
    """Pack the positions of each output's neighbouring rows and columns, and their weights."""
    n, height, width, channels = node.input(0).shape

    def table(axis: Axis | FloatAxis, step: int) -> int:
        places = [axis.first * step, axis.second * step]
        if isinstance(axis, FloatAxis):
            return workspace.pack(
                np.concatenate([_bytes_of(np.stack(places, axis=1)), _bytes_of(axis.share)])
            )
        return workspace.pack(np.stack([*places, axis.first_share, axis.second_share], axis=1))

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
    legacy = isinstance(p, BilinearLegacyS8)
    return Call(resize_legacy_s8 if legacy else resize_bilinear_s8, row)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1)
