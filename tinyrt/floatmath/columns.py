"""Sums and scalings of the columns of float matrices, as batch normalisation needs them.

Each function makes one pass over memory; array expressions need several. Threads share the rows.
The rows are split into parts by their sizes alone, so the result has the same bits with any number
of threads. Rows are (n, c), float32 or float64; all other operands are (c,) of the same type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import buffers
from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.parallel import each_part

Array = NDArray[Any]


def sums(rows: Array, centre: Array) -> Array:
    """Column sums of ``rows - centre`` and of ``(rows - centre)**2``, (2, c)."""
    return _over_parts(_sums, centre, rows)


def products(rows: Array, grad: Array, centre: Array) -> Array:
    """Column sums of ``grad`` (n, c) and of ``grad * (rows - centre)``, (2, c)."""
    return _over_parts(_products, centre, rows, grad)


def scaled(rows: Array, centre: Array, scale: Array, shift: Array) -> Array:
    """``(rows - centre) * scale + shift``, (n, c)."""
    return _per_row(_scale, (rows,), centre, scale, shift)


def combined(
    rows: Array, grad: Array, centre: Array, of_rows: Array, of_grad: Array, shift: Array
) -> Array:
    """``(rows - centre) * of_rows + grad * of_grad + shift``, (n, c)."""
    return _per_row(_combine, (rows, grad), centre, of_rows, of_grad, shift)


def _over_parts(kernel: Callable[..., None], centre: Array, *matrices: Array) -> Array:
    matrices = _contiguous(matrices)

    def add_up(part: slice) -> Array:
        totals = np.zeros((2, centre.size), centre.dtype)
        kernel(*(m[part] for m in matrices), centre, *totals)
        return totals

    nbytes = sum(m.nbytes for m in matrices)
    first, *others = each_part(len(matrices[0]), nbytes, add_up)
    return sum(others, start=first)


def _per_row(kernel: Callable[..., None], matrices: tuple[Array, ...], *columns: Array) -> Array:
    matrices = _contiguous(matrices)
    out = buffers.empty(matrices[0].shape, matrices[0].dtype)

    def fill(part: slice) -> None:
        kernel(*(m[part] for m in matrices), *columns, out[part])

    each_part(len(out), (len(matrices) + 1) * out.nbytes, fill)
    return out


def _contiguous(matrices: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(np.ascontiguousarray(m) for m in matrices)


@compiled
def _sums(rows: Any, centre: Any, sums: Any, squares: Any) -> None:
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            value = rows[i, c] - centre[c]
            sums[c] += value
            squares[c] += value * value


@compiled
def _products(rows: Any, grad: Any, centre: Any, sums: Any, products: Any) -> None:
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            sums[c] += grad[i, c]
            products[c] += grad[i, c] * (rows[i, c] - centre[c])


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
