"""Products of float matrices with the same bits on any CPU and with any number of threads.

An element is the sum of its products in order of the inner index, in segments of 64 that are added
up. Each product is added without being rounded first (FMA). Libraries of linear algebra choose
another order of the sum for each CPU, so their last bits differ.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from tinyrt.floatmath import buffers
from tinyrt.floatmath.buffers import address
from tinyrt.floatmath.function import Array
from tinyrt.floatmath.parallel import PART_BYTES, each_part

PANEL = 64
"""Columns of a panel: panels of large matrices are copied contiguously, to stay in the cache."""
PACKED_ROWS, PACKED_BYTES = 48, 2**17
"""Least rows and bytes of a matrix for which copying panels pays."""


def matmul(a: Array, b: Array) -> Array:
    """``a @ b`` for each matrix of (..., m, k) and (..., k, n), of float32 or float64."""
    if a.dtype != b.dtype or a.dtype not in (np.float32, np.float64):
        dtype = np.result_type(a, b, np.float32)
        a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    if b.ndim == 2 and a.ndim > 2:
        # All matrices of a share b: one product with the rows of all of them.
        rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
        product = matmul(rows, b)
        return product.reshape(*a.shape[:-1], b.shape[1])
    if a.ndim == b.ndim == 2:
        return np.asarray(_products(a[None], b[None])[0])
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left, right = (
        np.broadcast_to(x, (*leading, *x.shape[-2:])).reshape(math.prod(leading), *x.shape[-2:])
        for x in (a, b)
    )
    return _products(left, right).reshape(*leading, a.shape[-2], b.shape[-1])


def orthogonalised(matrix: Array) -> Array:
    """Q of the matrix's QR decomposition, by Householder reflections with sums in a fixed order."""
    rest, q = matrix.copy(), np.eye(len(matrix))
    for k in range(len(matrix) - 1):
        mirror = rest[k:, k].copy()
        mirror[0] += math.copysign(math.sqrt((mirror * mirror).sum()), mirror[0])
        mirror *= math.sqrt(2 / (mirror * mirror).sum())
        rest[k:] -= mirror[:, None] * (mirror[:, None] * rest[k:]).sum(axis=0)
        q[:, k:] -= (q[:, k:] * mirror).sum(axis=1)[:, None] * mirror
    return q


def _products(a: Array, b: Array) -> Array:
    """(count, m, k) times (count, k, n), C-contiguous."""
    if not a.size or not b.size:
        return np.zeros((len(a), a.shape[1], b.shape[2]), a.dtype)
    if _has_lines(b):
        return _product(a, b)
    # (b.T @ a.T).T has the same bits; the form with the smaller copies is computed.
    turned = 0 if _has_lines(a.swapaxes(1, 2)) else a.size
    if turned + len(a) * a.shape[1] * b.shape[2] < b.size:
        y = _product(b.swapaxes(1, 2), a.swapaxes(1, 2))
        return np.ascontiguousarray(y.swapaxes(1, 2))
    return _product(a, b)


def _has_lines(b: Array) -> bool:
    return b.strides[2] == b.itemsize or b.shape[2] == 1


def _product(a: Array, b: Array) -> Array:
    (count, m, k), n = a.shape, b.shape[2]
    y = buffers.empty((count, m, n), a.dtype)
    if n > PANEL and m >= PACKED_ROWS and b[0].nbytes > PACKED_BYTES:
        parts = [np.s_[:, :, first : first + PANEL] for first in range(0, n, PANEL)]
        panels = [(np.ascontiguousarray(b[part]), y[part]) for part in parts]
    else:
        panels = [(b if _has_lines(b) else np.ascontiguousarray(b), y)]
    # Approximate cost in bytes of a pass over memory.
    cost = a.nbytes + y.nbytes + y.size * k // 4
    if cost < 2 * PART_BYTES:
        _into(a, panels)
    elif count > 1:
        each_part(count, cost, lambda i: _into(a[i], [(w[i], z[i]) for w, z in panels]))
    else:
        each_part(m, cost, lambda rows: _into(a[:, rows], [(w, z[:, rows]) for w, z in panels]))
    return y


def _into(a: Array, panels: list[tuple[Array, Array]]) -> None:
    """Multiply ``a`` with each panel (count, k, n) into its result; columns are contiguous."""
    multiply = _multiply()
    for b, y in panels:
        start = np.zeros(b.shape[2], b.dtype)
        places = (address(a), address(b), address(y))
        multiply(start, places, a.strides, b.strides, y.strides, a.shape)


@cache
def _multiply() -> Any:
    # Importing Numba is slow.
    from tinyrt.floatmath.matrix_loops import multiply

    return multiply
