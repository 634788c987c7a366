"""A compiled loop that multiplies float matrices tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.convolution_loops import product
from tinyrt.floatmath.tile import MAX_ROWS


@compiled
def multiply(
    start: Any, places: Any, a_strides: Any, b_strides: Any, y_strides: Any, a_shape: Any
) -> None:
    """``y`` (n, rows, columns) = ``start + a @ b`` of (n, rows, k) and (n, k, columns).

    Args:
        start: (columns,); its type is the type of all operands.
        places: addresses of ``a``, ``b`` and ``y``.
        a_strides: strides of ``a`` in bytes; any are allowed.
        b_strides: strides of ``b`` in bytes; its columns must be contiguous.
        y_strides: strides of ``y`` in bytes; its columns must be contiguous.
        a_shape: shape of ``a``; no operand may be empty.

    """
    n, count, k = a_shape
    filled = count + MAX_ROWS
    rows, to = np.empty(filled, np.int64), np.empty(filled, np.int64)
    for i in range(filled):
        at = min(i, count - 1)
        rows[i], to[i] = at * a_strides[1], at * y_strides[1]
    tables = (rows, np.arange(k) * a_strides[2], np.zeros(filled, np.int64), to)
    begun = np.int64(start.ctypes.data)
    for i in range(n):
        a, b = places[0] + i * a_strides[0], places[1] + i * b_strides[0]
        y = places[2] + i * y_strides[0]
        product(start, False, a, tables, count, b, b_strides[1], begun, y, start.size)
