"""Sums and scalings of the columns of float matrices, as batch normalisation needs them.

Each function makes one pass over memory; array expressions need several. Threads share the rows.
The rows are split into parts by their sizes alone, so the result has the same bits with any number
of threads. Rows are (n, c), float32 or float64; all other operands are (c,) of the same type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import buffers
from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.parallel import PART_BYTES, each_part

Array = NDArray[Any]

WIDE = 64
"""Columns of a row whose own cost no longer shows."""
MANY = 2**16
"""Elements from which on it pays to look at several narrow rows as one."""


def totals(rows: Array) -> Array:
    """Column sums, (c,)."""
    total: Array = _over_parts(_total, 1, (rows,))[0]
    return total


def squares(rows: Array, centre: Array) -> Array:
    """Column sums of ``(rows - centre)**2``, (c,)."""
    total: Array = _over_parts(_squares, 1, (rows,), centre)[0]
    return total


def products(rows: Array, grad: Array, centre: Array) -> Array:
    """Column sums of ``grad`` (n, c) and of ``grad * (rows - centre)``, (2, c)."""
    return _over_parts(_products, 2, (rows, grad), centre)


def statistics(rows: Array, epsilon: float) -> Array:
    """Mean, variance and ``1 / sqrt(variance + epsilon)`` of each column, (3, c)."""
    if rows.nbytes >= 2 * PART_BYTES:
        mean = totals(rows) / len(rows)
        variance = squares(rows, mean) / len(rows)
        return np.stack([mean, variance, 1 / np.sqrt(variance + epsilon)])
    found = np.zeros((3, rows.shape[1]), rows.dtype)
    _statistics(np.ascontiguousarray(rows), np.array([len(rows), epsilon], rows.dtype), *found)
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
            sums, of_rows = _over_parts(_products_relu, 2, (rows, grad), *behind)
        _factors(of_rows, sums, inverse_std, gamma, count, factors)
        if beta is None:
            dx = combined(rows, grad, mean, *factors)
        else:
            dx = _per_row(_combine_relu, (rows, grad), mean, *factors, beta)
        return dx, of_rows * inverse_std, sums
    rows, grad = _contiguous((rows, grad))
    dx, (sums, of_rows) = np.empty_like(rows), np.zeros((2, len(mean)), rows.dtype)
    given = (rows, grad, mean, inverse_std, gamma)
    if beta is None:
        _gradients(*given, count, dx, of_rows, sums, factors)
    else:
        _gradients_relu(*given, beta, count, dx, of_rows, sums, factors)
    return dx, of_rows, sums


def scaled(rows: Array, centre: Array, scale: Array, shift: Array, *, relu: bool = False) -> Array:
    """``(rows - centre) * scale + shift``, (n, c); with ``relu``, 0 where that is below."""
    return _per_row(_scale_relu if relu else _scale, (rows,), centre, scale, shift)


def combined(
    rows: Array, grad: Array, centre: Array, of_rows: Array, of_grad: Array, shift: Array
) -> Array:
    """``(rows - centre) * of_rows + grad * of_grad + shift``, (n, c)."""
    return _per_row(_combine, (rows, grad), centre, of_rows, of_grad, shift)


def _over_parts(
    kernel: Callable[..., None], count: int, matrices: tuple[Array, ...], *columns: Array
) -> Array:
    """The ``count`` rows of sums that the kernel adds to, (count, c)."""
    matrices = _contiguous(matrices)
    shape, dtype = (count, matrices[0].shape[1]), matrices[0].dtype

    def add_up(part: slice) -> Array:
        totals = np.zeros(shape, dtype)
        kernel(*(m[part] for m in matrices), *columns, *totals)
        return totals

    nbytes = sum(m.nbytes for m in matrices)
    first, *others = each_part(len(matrices[0]), nbytes, add_up)
    return sum(others, start=first)


def _per_row(kernel: Callable[..., None], matrices: tuple[Array, ...], *columns: Array) -> Array:
    matrices = _contiguous(matrices)
    out = buffers.empty(matrices[0].shape, matrices[0].dtype)
    together, of_out = _side_by_side(*out.shape), out
    if together > 1:
        shape = len(out) // together, out.shape[1] * together
        of_out = out.reshape(shape)
        matrices = tuple(m.reshape(shape) for m in matrices)
        columns = tuple(np.concatenate([c] * together) for c in columns)

    def fill(part: slice) -> None:
        kernel(*(m[part] for m in matrices), *columns, of_out[part])

    each_part(len(of_out), (len(matrices) + 1) * out.nbytes, fill)
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


# Sums take four rows at a time, one after the other. So the order of a sum is that of the rows, but
# sums are loaded and stored a quarter as often, which costs more than the additions.


@compiled
def _total(rows: Any, total: Any) -> None:
    whole = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, whole, 4):
        a, b, d, e = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for c in range(rows.shape[1]):
            total[c] = total[c] + a[c] + b[c] + d[c] + e[c]
    for i in range(whole, rows.shape[0]):
        for c in range(rows.shape[1]):
            total[c] += rows[i, c]


@compiled
def _squares(rows: Any, centre: Any, squares: Any) -> None:
    whole = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, whole, 4):
        for c in range(rows.shape[1]):
            a, b = rows[i, c] - centre[c], rows[i + 1, c] - centre[c]
            d, e = rows[i + 2, c] - centre[c], rows[i + 3, c] - centre[c]
            squares[c] = squares[c] + a * a + b * b + d * d + e * e
    for i in range(whole, rows.shape[0]):
        for c in range(rows.shape[1]):
            value = rows[i, c] - centre[c]
            squares[c] += value * value


@compiled
def _products(rows: Any, grad: Any, centre: Any, sums: Any, products: Any) -> None:
    whole = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, whole, 4):
        for c in range(rows.shape[1]):
            a, b = rows[i, c] - centre[c], rows[i + 1, c] - centre[c]
            d, e = rows[i + 2, c] - centre[c], rows[i + 3, c] - centre[c]
            p, q, r, s = grad[i, c], grad[i + 1, c], grad[i + 2, c], grad[i + 3, c]
            sums[c] = sums[c] + p + q + r + s
            products[c] = products[c] + p * a + q * b + r * d + s * e
    for i in range(whole, rows.shape[0]):
        for c in range(rows.shape[1]):
            sums[c] += grad[i, c]
            products[c] += grad[i, c] * (rows[i, c] - centre[c])


@compiled
def _statistics(rows: Any, numbers: Any, mean: Any, variance: Any, inverse_std: Any) -> None:
    count, epsilon = numbers[0], numbers[1]
    _total(rows, mean)
    for c in range(mean.size):
        mean[c] /= count
    _squares(rows, mean, variance)
    for c in range(mean.size):
        variance[c] /= count
        inverse_std[c] = rows.dtype.type(1) / math.sqrt(variance[c] + epsilon)


@compiled
def _factors(
    products: Any, sums: Any, inverse_std: Any, gamma: Any, count: Any, factors: Any
) -> None:
    """Fill (3, c): of the centred rows, of the gradient, and of neither."""
    for c in range(sums.size):
        scale = gamma[c] * inverse_std[c]
        squared = inverse_std[c] * inverse_std[c]
        factors[0, c] = -scale * products[c] * squared / count
        factors[1, c] = scale
        factors[2, c] = -scale * sums[c] / count


@compiled
def _gradients(
    rows: Any,
    grad: Any,
    mean: Any,
    inverse_std: Any,
    gamma: Any,
    count: Any,
    dx: Any,
    products: Any,
    sums: Any,
    factors: Any,
) -> None:
    _products(rows, grad, mean, sums, products)
    _factors(products, sums, inverse_std, gamma, count, factors)
    _combine(rows, grad, mean, factors[0], factors[1], factors[2], dx)
    for c in range(products.size):
        products[c] *= inverse_std[c]


@compiled
def _scale(rows: Any, centre: Any, scale: Any, shift: Any, out: Any) -> None:
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[i, c] = (rows[i, c] - centre[c]) * scale[c] + shift[c]


@compiled
def _combine(
    rows: Any, grad: Any, centre: Any, of_rows: Any, of_grad: Any, shift: Any, out: Any
) -> None:
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            centred = rows[i, c] - centre[c]
            out[i, c] = centred * of_rows[c] + grad[i, c] * of_grad[c] + shift[c]


# The same with a ReLU behind. Whether it passes a gradient on is computed once more from the rows,
# by the same operations: that takes less than to read its result, and a pass less over memory.


@compiled
def _scale_relu(rows: Any, centre: Any, scale: Any, shift: Any, out: Any) -> None:
    zero = rows.dtype.type(0)
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            value = (rows[i, c] - centre[c]) * scale[c] + shift[c]
            out[i, c] = zero if value <= zero else value


@compiled
def _products_relu(
    rows: Any, grad: Any, centre: Any, scale: Any, shift: Any, sums: Any, products: Any
) -> None:
    zero, most = rows.dtype.type(0), rows.dtype.type(np.inf)
    whole = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, whole, 4):
        for c in range(rows.shape[1]):
            a, b = rows[i, c] - centre[c], rows[i + 1, c] - centre[c]
            d, e = rows[i + 2, c] - centre[c], rows[i + 3, c] - centre[c]
            p = grad[i, c] if zero < a * scale[c] + shift[c] < most else zero
            q = grad[i + 1, c] if zero < b * scale[c] + shift[c] < most else zero
            r = grad[i + 2, c] if zero < d * scale[c] + shift[c] < most else zero
            s = grad[i + 3, c] if zero < e * scale[c] + shift[c] < most else zero
            sums[c] = sums[c] + p + q + r + s
            products[c] = products[c] + p * a + q * b + r * d + s * e
    for i in range(whole, rows.shape[0]):
        for c in range(rows.shape[1]):
            a = rows[i, c] - centre[c]
            p = grad[i, c] if zero < a * scale[c] + shift[c] < most else zero
            sums[c] += p
            products[c] += p * a


@compiled
def _combine_relu(
    rows: Any,
    grad: Any,
    centre: Any,
    of_rows: Any,
    scale: Any,
    shift: Any,
    beta: Any,
    out: Any,
) -> None:
    """As ``_combine``; ``scale`` is the gradient's factor, and the norm's own."""
    zero, most = rows.dtype.type(0), rows.dtype.type(np.inf)
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            centred = rows[i, c] - centre[c]
            passed = grad[i, c] if zero < centred * scale[c] + beta[c] < most else zero
            out[i, c] = centred * of_rows[c] + passed * scale[c] + shift[c]


@compiled
def _gradients_relu(
    rows: Any,
    grad: Any,
    mean: Any,
    inverse_std: Any,
    gamma: Any,
    beta: Any,
    count: Any,
    dx: Any,
    products: Any,
    sums: Any,
    factors: Any,
) -> None:
    for c in range(products.size):
        factors[1, c] = gamma[c] * inverse_std[c]
    _products_relu(rows, grad, mean, factors[1], beta, sums, products)
    _factors(products, sums, inverse_std, gamma, count, factors)
    _combine_relu(rows, grad, mean, factors[0], factors[1], factors[2], beta, dx)
    for c in range(products.size):
        products[c] *= inverse_std[c]
