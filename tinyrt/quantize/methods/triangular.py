"""Roots of inverse matrices, block by block: the order of every sum is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath.products import matmul

Batch = NDArray[np.float64]
BLOCK = 64
"""Rows that are eliminated together, so that most of the work are products of matrices."""


def inverse_root(matrices: Batch) -> Batch:
    """The upper triangular F with positive diagonal and ``F' F = inv(M)``, for each matrix M.

    ``M = U U'`` for one upper triangular U, computed from its last column on; F is its inverse.

    Args:
        matrices: (count, n, n), symmetric and positive definite.

    """
    n = matrices.shape[1]
    rest, upper, inverse = matrices.copy(), np.zeros_like(matrices), np.zeros_like(matrices)
    for start in range((n - 1) // BLOCK * BLOCK, -1, -BLOCK):
        own, after, before = slice(start, start + BLOCK), slice(start + BLOCK, n), slice(0, start)
        root = _root(rest[:, own, own])
        block = inverse[:, own, own] = _inverse(root)
        upper[:, before, own] = above = matmul(rest[:, before, own], block.swapaxes(1, 2))
        rest[:, before, before] -= matmul(above, above.swapaxes(1, 2))
        reached = matmul(upper[:, own, after], inverse[:, after, after])
        inverse[:, own, after] = -matmul(block, reached)
    return inverse


def _root(block: Batch) -> Batch:
    """The upper triangular U with ``U U' = M``, column by column from the last."""
    rest, upper = block.copy(), np.zeros_like(block)
    for k in range(block.shape[1] - 1, -1, -1):
        upper[:, k, k] = np.sqrt(rest[:, k, k])
        column = upper[:, :k, k] = rest[:, :k, k] / upper[:, k, k, None]
        rest[:, :k, :k] -= column[:, :, None] * column[:, None, :]
    return upper


def _inverse(upper: Batch) -> Batch:
    """Of a triangular matrix, row by row from the last."""
    inverse = np.zeros_like(upper)
    for k in range(upper.shape[1] - 1, -1, -1):
        reached = (upper[:, k, k + 1 :, None] * inverse[:, k + 1 :]).sum(axis=1)
        inverse[:, k] = -reached
        inverse[:, k, k] = 1.0
        inverse[:, k] /= upper[:, k, k, None]
    return inverse
