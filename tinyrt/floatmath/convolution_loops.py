"""Compiled loops of float convolutions, which compute all outputs of some images tile by tile.

The same loops compute a convolution and its derivatives; see ``convolution_tables``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.crew import Span, shared
from tinyrt.floatmath.tile import ROWS, ROWS_PER_CHANNEL, VECTOR_BYTES, product_tile

_WIDEST = len(ROWS)
_one, _two, _three, _four = (product_tile(min(v, _WIDEST)) for v in (1, 2, 3, 4))
_per_channel = product_tile(1, per_channel=True)


@compiled
def products(
    span: Span,
    x: Any,
    border: Any,
    per_channel: bool,
    groups: Any,
    tables: Any,
    count: int,
    w: Any,
    w_bytes: Any,
    start: Any,
    y: Any,
    y_bytes: Any,
    columns: int,
) -> None:
    """For some images and each group of channels, the product of the elements read with a matrix.

    Args:
        span: the number of the part, which tells where its results lie, and its images.
        x: images (n, h, w, c), C-contiguous.
        border: rows above and columns to the left, height and width with zeros around.
        per_channel: whether column ``c`` of a product reads channel ``c`` alone.
        groups: number of groups, and bytes in ``x`` from a group's channels to the next group's.
        tables: rows, steps, starts and places, as in ``product_tile``.
        count: rows of the products; copies of the last row pad the tables to a full tile.
        w: the matrices, flat.
        w_bytes: strides of the matrices, in bytes: from image to image, group to group, row to row.
        start: the start values of the sums, flat; those of groups and parts lie as results do.
        y: the results, flat.
        y_bytes: strides of the results, in bytes: from image to image, group to group, part to
            part.
        columns: columns of each matrix.

    """
    (part, first, stop), (_, height, width, c) = span, x.shape
    top, left, padded_height, padded_width = border
    pads = padded_height > height or padded_width > width
    lanes, line = VECTOR_BYTES // x.itemsize, width * c
    around = np.zeros(padded_height * padded_width * c + lanes if pads else 0, x.dtype)
    aligned = -np.int64(around.ctypes.data) % VECTOR_BYTES // x.itemsize
    elements = x.reshape(x.size)
    w_at, start_at = np.int64(w.ctypes.data), np.int64(start.ctypes.data) + part * y_bytes[2]
    y_at = np.int64(y.ctypes.data) + part * y_bytes[2]
    for i in range(first, stop):
        image = np.int64(x.ctypes.data) + i * height * line * x.itemsize
        if pads:
            for row in range(height):
                source = elements[(i * height + row) * line :]
                inside = around[aligned + ((top + row) * padded_width + left) * c :]
                for k in range(line):
                    inside[k] = source[k]
            image = np.int64(around.ctypes.data) + aligned * x.itemsize
        for g in range(groups[0]):
            product(
                x,
                per_channel,
                image + g * groups[1],
                tables,
                count,
                w_at + i * w_bytes[0] + g * w_bytes[1],
                w_bytes[2],
                start_at + g * y_bytes[1],
                y_at + i * y_bytes[0] + g * y_bytes[1],
                columns,
            )


on_threads = shared(products)
"""``products`` of all images, as many of them at a time as ``crew.shared`` is told."""


@compiled
def product(
    like: Any,
    per_channel: bool,
    x: int,
    tables: Any,
    count: int,
    w: int,
    w_bytes: int,
    start: Any,
    y: int,
    columns: int,
) -> None:
    """One product of the tables' rows with the matrix at ``w``; arguments as in ``products``.

    Args:
        like: an array of the elements' type.
        per_channel: as in ``products``.
        x: address of the image.
        tables: as in ``products``.
        count: as in ``products``.
        w: address of the matrix.
        w_bytes: bytes from row to row of the matrix.
        start: address of the sums' start values.
        y: address of the result.
        columns: columns of the matrix.

    """
    rows, starts = np.int64(tables[0].ctypes.data), np.int64(tables[2].ctypes.data)
    places = np.int64(tables[3].ctypes.data)
    k, steps = tables[1].size, np.int64(tables[1].ctypes.data)
    lanes = VECTOR_BYTES // like.itemsize
    if per_channel:
        for i in range(0, 8 * count, 8 * ROWS_PER_CHANNEL):
            r, b, p = rows + i, starts + i, places + i
            for first in range(0, columns, lanes):
                at = first * like.itemsize
                left = columns - first
                _per_channel(
                    like, x + at, r, steps, k, w + at, w_bytes, start + at, b, y + at, p, left
                )
        return
    first = 0
    while first < columns:
        left = columns - first
        vectors = min(_WIDEST, (left + lanes - 1) // lanes)
        at = first * like.itemsize
        wv, sv, yv = w + at, start + at, y + at
        for i in range(0, 8 * count, 8 * ROWS[vectors - 1]):
            r, b, p = rows + i, starts + i, places + i
            if vectors == 1:
                _one(like, x, r, steps, k, wv, w_bytes, sv, b, yv, p, left)
            elif vectors == 2:
                _two(like, x, r, steps, k, wv, w_bytes, sv, b, yv, p, left)
            elif vectors == 3:
                _three(like, x, r, steps, k, wv, w_bytes, sv, b, yv, p, left)
            else:
                _four(like, x, r, steps, k, wv, w_bytes, sv, b, yv, p, left)
        first += vectors * lanes
