"""Compiled loops of the columns of float matrices: sums, scalings, and what norms do with both.

Loops over rows take the span of a part. Sums are added to ``sums[part]``, (quantities, c).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.crew import Span, shared

# Sums take four rows at a time, one after the other. So the order of a sum is that of the rows, but
# sums are loaded and stored a quarter as often, which costs more than the additions.


@compiled
def _total(span: Span, rows: Any, sums: Any) -> None:
    part, first, stop = span
    total, rows = sums[part, 0], rows[first:stop]
    whole = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, whole, 4):
        a, b, d, e = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for c in range(rows.shape[1]):
            total[c] = total[c] + a[c] + b[c] + d[c] + e[c]
    for i in range(whole, rows.shape[0]):
        for c in range(rows.shape[1]):
            total[c] += rows[i, c]


@compiled
def _squares(span: Span, rows: Any, centre: Any, sums: Any) -> None:
    part, first, stop = span
    squares, rows = sums[part, 0], rows[first:stop]
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
def _products(span: Span, rows: Any, grad: Any, centre: Any, both: Any) -> None:
    part, first, stop = span
    sums, products = both[part, 0], both[part, 1]
    rows, grad = rows[first:stop], grad[first:stop]
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
def statistics(rows: Any, numbers: Any, found: Any) -> None:
    """Fill (3, c) with mean, variance and ``1 / sqrt(variance + epsilon)`` of few rows."""
    whole, (count, epsilon) = (0, 0, rows.shape[0]), (numbers[0], numbers[1])
    mean, variance, inverse_std = found[0], found[1], found[2]
    _total(whole, rows, found.reshape(3, 1, mean.size))
    for c in range(mean.size):
        mean[c] /= count
    _squares(whole, rows, mean, found[1:].reshape(2, 1, mean.size))
    for c in range(mean.size):
        variance[c] /= count
        inverse_std[c] = rows.dtype.type(1) / math.sqrt(variance[c] + epsilon)


@compiled
def gradient_factors(
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
def gradients(
    rows: Any,
    grad: Any,
    mean: Any,
    inverse_std: Any,
    gamma: Any,
    count: Any,
    dx: Any,
    both: Any,
    factors: Any,
) -> None:
    """All of it for few rows: the gradient of the rows, sums (1, 2, c) of ``grad`` and products."""
    whole, sums, products = (0, 0, rows.shape[0]), both[0, 0], both[0, 1]
    _products(whole, rows, grad, mean, both)
    gradient_factors(products, sums, inverse_std, gamma, count, factors)
    _combine(whole, rows, grad, mean, factors[0], factors[1], factors[2], dx)
    for c in range(products.size):
        products[c] *= inverse_std[c]


@compiled
def _scale(
    span: Span,
    rows: Any,
    centre: Any,
    scale: Any,
    shift: Any,
    out: Any,
) -> None:
    rows, out = rows[span[1] : span[2]], out[span[1] : span[2]]
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[i, c] = (rows[i, c] - centre[c]) * scale[c] + shift[c]


@compiled
def _combine(
    span: Span,
    rows: Any,
    grad: Any,
    centre: Any,
    of_rows: Any,
    of_grad: Any,
    shift: Any,
    out: Any,
) -> None:
    rows, grad, out = rows[span[1] : span[2]], grad[span[1] : span[2]], out[span[1] : span[2]]
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            centred = rows[i, c] - centre[c]
            out[i, c] = centred * of_rows[c] + grad[i, c] * of_grad[c] + shift[c]


# The same with a ReLU behind. Whether it passes a gradient on is computed once more from the rows,
# by the same operations: that takes less than to read its result, and a pass less over memory.


@compiled
def _scale_relu(
    span: Span,
    rows: Any,
    centre: Any,
    scale: Any,
    shift: Any,
    out: Any,
) -> None:
    zero = rows.dtype.type(0)
    rows, out = rows[span[1] : span[2]], out[span[1] : span[2]]
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            value = (rows[i, c] - centre[c]) * scale[c] + shift[c]
            out[i, c] = zero if value <= zero else value


@compiled
def _products_relu(
    span: Span,
    rows: Any,
    grad: Any,
    centre: Any,
    scale: Any,
    shift: Any,
    both: Any,
) -> None:
    zero, most = rows.dtype.type(0), rows.dtype.type(np.inf)
    part, first, stop = span
    sums, products = both[part, 0], both[part, 1]
    rows, grad = rows[first:stop], grad[first:stop]
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
    span: Span,
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
    rows, grad, out = rows[span[1] : span[2]], grad[span[1] : span[2]], out[span[1] : span[2]]
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            centred = rows[i, c] - centre[c]
            passed = grad[i, c] if zero < centred * scale[c] + beta[c] < most else zero
            out[i, c] = centred * of_rows[c] + passed * scale[c] + shift[c]


@compiled
def gradients_relu(
    rows: Any,
    grad: Any,
    mean: Any,
    inverse_std: Any,
    gamma: Any,
    beta: Any,
    count: Any,
    dx: Any,
    both: Any,
    factors: Any,
) -> None:
    """As ``gradients``, with a ReLU behind."""
    whole, sums, products = (0, 0, rows.shape[0]), both[0, 0], both[0, 1]
    for c in range(products.size):
        factors[1, c] = gamma[c] * inverse_std[c]
    _products_relu(whole, rows, grad, mean, factors[1], beta, both)
    gradient_factors(products, sums, inverse_std, gamma, count, factors)
    _combine_relu(whole, rows, grad, mean, factors[0], factors[1], factors[2], beta, dx)
    for c in range(products.size):
        products[c] *= inverse_std[c]


totals = shared(_total)
squares = shared(_squares)
products = shared(_products)
products_relu = shared(_products_relu)
scale = shared(_scale)
scale_relu = shared(_scale_relu)
combine = shared(_combine)
combine_relu = shared(_combine_relu)
