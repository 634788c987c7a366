"""Sums and scalings of the columns of float matrices, as batch normalisation needs them.

Each function makes one pass over memory; array expressions need several. Threads share the rows.
The rows are split into parts by their sizes alone, so the result has the same bits with any number
of threads. Rows are (n, c), float32 or float64; all other operands are (c,) of the same type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import buffers, column_loops
from tinyrt.floatmath.crew import Shared
from tinyrt.floatmath.parallel import PART_BYTES, part_size

Array = NDArray[Any]

WIDE = 64
"""Columns of a row whose own cost no longer shows."""
MANY = 2**16
"""Elements from which on it pays to look at several narrow rows as one."""


def totals(rows: Array) -> Array:
    """Column sums, (c,)."""
    total: Array = _over_parts(column_loops.totals, 1, (rows,))[0]
    return total


def squares(rows: Array, centre: Array) -> Array:
    """Column sums of ``(rows - centre)**2``, (c,)."""
    total: Array = _over_parts(column_loops.squares, 1, (rows,), centre)[0]
    return total


def products(rows: Array, grad: Array, centre: Array) -> Array:
    """Column sums of ``grad`` (n, c) and of ``grad * (rows - centre)``, (2, c)."""
    return _over_parts(column_loops.products, 2, (rows, grad), centre)


def statistics(rows: Array, epsilon: float) -> Array:
    """Mean, variance and ``1 / sqrt(variance + epsilon)`` of each column, (3, c)."""
    if rows.nbytes >= 2 * PART_BYTES:
        mean = totals(rows) / len(rows)
        variance = squares(rows, mean) / len(rows)
        return np.stack([mean, variance, 1 / np.sqrt(variance + epsilon)])
    found = np.zeros((3, rows.shape[1]), rows.dtype)
    numbers = np.array([len(rows), epsilon], rows.dtype)
    column_loops.statistics(np.ascontiguousarray(rows), numbers, found)
    return found


def normalised_gradients(
    rows: Array,
    grad: Array,
    mean: Array,
    inverse_std: Array,
    gamma: Array,
    beta: Array | None = None,
) -> tuple[Array, Array, Array]:
    """What ``(rows - mean) * inverse_std * gamma + beta`` passes on to rows, gamma and beta.

    Mean and deviation are those of the rows, and depend on them. With ``n`` the normalised rows and
    averages over the batch, ``dx = gamma / std * (grad - mean(grad) - n * mean(grad * n))`` (Ioffe
    & Szegedy 2015, section 3, collected). With ``beta``, a ReLU follows, and ``grad`` is that of
    its result.
    """
    count, factors = rows.dtype.type(len(rows)), np.empty((3, len(mean)), rows.dtype)
    if rows.nbytes + grad.nbytes >= 2 * PART_BYTES:
        if beta is None:
            sums, of_rows = products(rows, grad, mean)
        else:
            behind = (mean, gamma * inverse_std, beta)
            sums, of_rows = _over_parts(column_loops.products_relu, 2, (rows, grad), *behind)
        column_loops.gradient_factors(of_rows, sums, inverse_std, gamma, count, factors)
        if beta is None:
            dx = combined(rows, grad, mean, *factors)
        else:
            dx = _per_row(column_loops.combine_relu, (rows, grad), mean, *factors, beta)
        return dx, of_rows * inverse_std, sums
    rows, grad = _contiguous((rows, grad))
    dx, both = np.empty_like(rows), np.zeros((1, 2, len(mean)), rows.dtype)
    given = (rows, grad, mean, inverse_std, gamma)
    if beta is None:
        column_loops.gradients(*given, count, dx, both, factors)
    else:
        column_loops.gradients_relu(*given, beta, count, dx, both, factors)
    return dx, both[0, 1], both[0, 0]


def scaled(rows: Array, centre: Array, scale: Array, shift: Array, *, relu: bool = False) -> Array:
    """``(rows - centre) * scale + shift``, (n, c); with ``relu``, 0 where that is below."""
    loop = column_loops.scale_relu if relu else column_loops.scale
    return _per_row(loop, (rows,), centre, scale, shift)


def combined(
    rows: Array, grad: Array, centre: Array, of_rows: Array, of_grad: Array, shift: Array
) -> Array:
    """``(rows - centre) * of_rows + grad * of_grad + shift``, (n, c)."""
    return _per_row(column_loops.combine, (rows, grad), centre, of_rows, of_grad, shift)


def _over_parts(kernel: Shared, count: int, matrices: tuple[Array, ...], *columns: Array) -> Array:
    """The ``count`` rows of sums that the kernel adds to, (count, c)."""
    matrices = _contiguous(matrices)
    rows = matrices[0]
    size = part_size(len(rows), sum(m.nbytes for m in matrices))
    sums = np.zeros((-(-len(rows) // max(size, 1)) or 1, count, rows.shape[1]), rows.dtype)
    kernel(len(rows), size, *matrices, *columns, sums)
    first, *others = sums
    return sum(others, start=first)


def _per_row(kernel: Shared, matrices: tuple[Array, ...], *columns: Array) -> Array:
    matrices = _contiguous(matrices)
    out = buffers.empty(matrices[0].shape, matrices[0].dtype)
    together, of_out = _side_by_side(*out.shape), out
    if together > 1:
        shape = len(out) // together, out.shape[1] * together
        of_out = out.reshape(shape)
        matrices = tuple(m.reshape(shape) for m in matrices)
        columns = tuple(np.concatenate([c] * together) for c in columns)
    size = part_size(len(of_out), (len(matrices) + 1) * out.nbytes)
    kernel(len(of_out), size, *matrices, *columns, of_out)
    return out


def _side_by_side(count: int, width: int) -> int:
    """How many rows are looked at as one, so that a loop over it is worth its start."""
    together = 1
    if count * width >= MANY:
        while 2 * width * together <= WIDE and count % (2 * together) == 0:
            together *= 2
    return together


def _contiguous(matrices: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(np.ascontiguousarray(m) for m in matrices)
