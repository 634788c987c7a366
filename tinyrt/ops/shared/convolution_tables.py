"""Offset tables that turn float convolutions and their derivatives into matrix products.

In a convolution, each output reads a row of taps and channels. The product multiplies that row with
the weight matrix. The row is not copied: its element ``k`` lies at offset ``rows[i] + steps[k]`` of
the padded image, for row ``i``. All rows share the table of steps. The derivatives are products of
the same form:

- Derivative in the weights: rows and steps are exchanged, and the gradient is the matrix.
- Derivative in the input: the same taps reach all elements whose position modulo the stride is the
  same. For each such position, the derivative is a convolution with the gradient as its image and
  the weights of those taps as its matrix.

All tables are int64. Their offsets are in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath.tile import MAX_ROWS

if TYPE_CHECKING:
    from tinyrt.ops.shared.convolution_shapes import Shapes

Table = NDArray[np.int64]
Tables = tuple[Table, Table, Table, Table]


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """Tables of one matrix product; every image and group uses the same tables.

    Attributes:
        border: rows above and columns to the left of the image, height and width with both.
        tables: rows, steps, starts, places.
        count: rows of the product; copies of the last row pad the tables of rows.
        taps: the taps whose weights form the matrix, along height and along width.

    """

    border: tuple[int, int, int, int]
    tables: Tables
    count: int
    taps: tuple[list[int], list[int]]


@lru_cache(maxsize=64)
def outputs(shapes: Shapes, item: int) -> Products:
    """Tables of the convolution: a row per pixel, a step per tap and channel; weights as matrix.

    Args:
        shapes: shapes of the convolution.
        item: bytes of an element.

    """
    rows, steps, border = _reads(shapes, item)
    places = np.arange(rows.size) * shapes.w[0] * item
    return Products(
        border, _filled(rows, steps, np.zeros_like(rows), places), rows.size, _all(shapes)
    )


@lru_cache(maxsize=64)
def weight_sums(shapes: Shapes, item: int) -> Products:
    """Tables of the derivative in the weights: a row per tap and channel, a step per pixel.

    The sums are added to the values that the result already holds.
    """
    steps, rows, border = _reads(shapes, item)
    columns = shapes.w[0] if shapes.per_channel else shapes.w[0] // shapes.group_count
    places = np.arange(rows.size) * columns * item
    return Products(border, _filled(rows, steps, places, places), rows.size, _all(shapes))


@lru_cache(maxsize=64)
def input_parts(shapes: Shapes, item: int) -> list[Products]:
    """Tables of the derivative in the input: one convolution per position modulo the stride."""
    stride_h, stride_w = shapes.window.stride
    pairs = ((a, b) for a in range(stride_h) for b in range(stride_w))
    return [
        _input_part(shapes, item, a, b) for a, b in pairs if a < shapes.x[1] and b < shapes.x[2]
    ]


def _reads(shapes: Shapes, item: int) -> tuple[Table, Table, tuple[int, int, int, int]]:
    """Offset of each output's window, offsets of the elements within a window, and the border."""
    window, (_, height, width, c) = shapes.window, shapes.x
    (top, left), (bottom, right) = window.before, window.after
    border = (top, left, top + height + bottom, left + width + right)
    line, pixel = border[3] * c * item, c * item
    (out_h, out_w), (kh, kw) = window.out, window.kernel
    rows = _outer(
        np.arange(out_h) * window.stride[0] * line, np.arange(out_w) * window.stride[1] * pixel
    )
    steps = _outer(
        np.arange(kh) * window.dilation[0] * line,
        np.arange(kw) * window.dilation[1] * pixel,
        np.arange(shapes.w[3]) * item,
    )
    return rows, steps, border


def _input_part(shapes: Shapes, item: int, a: int, b: int) -> Products:
    """The derivative in the input elements whose position modulo the stride is (a, b)."""
    _, height, width, c = shapes.x
    c_out = shapes.w[0]
    (out_h, out_w), (sh, sw) = shapes.window.out, shapes.window.stride
    taps_h, shifts_h, top, bottom = _reached(shapes, 0, a, height)
    taps_w, shifts_w, left, right = _reached(shapes, 1, b, width)
    border = (top, left, top + out_h + bottom, left + out_w + right)
    line, pixel = border[3] * c_out * item, c_out * item
    rows = _outer(
        np.arange(-(-(height - a) // sh)) * line, np.arange(-(-(width - b) // sw)) * pixel
    )
    steps = _outer(
        (shifts_h + top) * line,
        (shifts_w + left) * pixel,
        np.arange(c_out // shapes.group_count) * item,
    )
    places = _outer(np.arange(a, height, sh) * width * c * item, np.arange(b, width, sw) * c * item)
    tables = _filled(rows, steps, np.zeros_like(rows), places)
    return Products(border, tables, rows.size, (taps_h, taps_w))


def _reached(shapes: Shapes, axis: int, first: int, size: int) -> tuple[list[int], Table, int, int]:
    """The taps that reach the elements ``first``, ``first + stride``, ... along an axis.

    Returns:
        The taps; for each tap, the output that reads element ``first`` through it; how many rows or
        columns of padding the gradient needs before its first and after its last output.

    """
    window = shapes.window
    stride, dilation = window.stride[axis], window.dilation[axis]
    from_tap = {k: first + window.before[axis] - k * dilation for k in range(window.kernel[axis])}
    taps = [k for k, reach in from_tap.items() if reach % stride == 0]
    shifts = np.array([from_tap[k] // stride for k in taps], np.int64)
    if not taps:
        return taps, shifts, 0, 0
    last = (size - 1 - first) // stride + int(shifts.max())
    return taps, shifts, max(0, -int(shifts.min())), max(0, last - window.out[axis] + 1)


def _outer(*parts: Table) -> Table:
    """The sums of all combinations of one element from each part, flat, in row-major order."""
    total = np.zeros((), np.int64)
    for part in parts:
        total = total[..., None] + part
    return total.reshape(-1)


def _filled(rows: Table, steps: Table, starts: Table, places: Table) -> Tables:
    def fill(table: Table) -> Table:
        return np.concatenate([table, np.repeat(table[-1:], MAX_ROWS - 1)])

    return fill(rows), np.ascontiguousarray(steps), fill(starts), fill(places)


def _all(shapes: Shapes) -> tuple[list[int], list[int]]:
    kh, kw = shapes.window.kernel
    return list(range(kh)), list(range(kw))
