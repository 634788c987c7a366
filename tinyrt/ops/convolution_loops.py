"""Compiled loops of float convolutions: all outputs of some images, as tiles of products.

The same loops compute a convolution and its derivatives; see ``convolution_tables``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.ops.compiled import compiled
from tinyrt.ops.float_tile import ROWS, VECTOR_BYTES, product_tile

_WIDEST = len(ROWS)
_one, _two, _three, _four = (product_tile(min(v, _WIDEST)) for v in (1, 2, 3, 4))


@compiled
def products(
    x: Any,
    border: Any,
    groups: Any,
    tables: Any,
    count: int,
    w: int,
    w_bytes: Any,
    start: int,
    y: int,
    y_bytes: Any,
    columns: int,
) -> None:
    """Products of what is read of each image with a matrix, for each group of channels.

    Args:
        x: images (n, h, w, c), C-contiguous.
        border: rows above and columns to the left, height and width with zeros around.
        groups: how many there are, and the bytes from one's channels in ``x`` to the next's.
        tables: rows, steps, starts and places; what they hold is said in ``product_tile``.
        count: rows of the products; the tables end in copies of the last, to fill a tile.
        w: address of the first matrix.
        w_bytes: from one image's matrix to the next's, from group to group, from row to row.
        start: address of what the sums of the first group start from.
        y: address of the first image's and group's result.
        y_bytes: from one image's results to the next's, from group to group.
        columns: of each matrix.

    """
    n, height, width, c = x.shape
    top, left, padded_height, padded_width = border
    pads = padded_height > height or padded_width > width
    around = np.zeros((padded_height, padded_width, c) if pads else (0, 0, 0), x.dtype)
    for i in range(n):
        image = x.ctypes.data + i * height * width * c * x.itemsize
        if pads:
            around[top : top + height, left : left + width] = x[i]
            image = around.ctypes.data
        for g in range(groups[0]):
            _product(
                x,
                image + g * groups[1],
                tables,
                count,
                w + i * w_bytes[0] + g * w_bytes[1],
                w_bytes[2],
                start + g * y_bytes[1],
                y + i * y_bytes[0] + g * y_bytes[1],
                columns,
            )


@compiled
def _product(
    like: Any,
    x: int,
    tables: Any,
    count: int,
    w: int,
    w_bytes: int,
    start: int,
    y: int,
    columns: int,
) -> None:
    rows, steps, starts, places = tables
    k, s = steps.size, steps.ctypes.data
    lanes = VECTOR_BYTES // like.itemsize
    first = 0
    while first < columns:
        left = columns - first
        vectors = min(_WIDEST, (left + lanes - 1) // lanes)
        height = ROWS[vectors - 1]
        shift = first * like.itemsize
        wv, sv, yv = w + shift, start + shift, y + shift
        for i in range(0, count, height):
            r = rows.ctypes.data + 8 * i
            b = starts.ctypes.data + 8 * i
            p = places.ctypes.data + 8 * i
            if vectors == 1:
                _one(like, x, r, s, k, wv, w_bytes, sv, b, yv, p, left)
            elif vectors == 2:
                _two(like, x, r, s, k, wv, w_bytes, sv, b, yv, p, left)
            elif vectors == 3:
                _three(like, x, r, s, k, wv, w_bytes, sv, b, yv, p, left)
            else:
                _four(like, x, r, s, k, wv, w_bytes, sv, b, yv, p, left)
        first += vectors * lanes
