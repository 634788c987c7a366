"""Where the products of a float convolution and of its derivatives lie: the loops' tables.

A convolution multiplies what each output reads, a row of taps and channels, with the weights as a
matrix. Nothing is gathered for that: element ``k`` of row ``i`` lies at ``rows[i] + steps[k]`` of
the padded image, and the table of steps is the same for all rows. The derivatives are such
products, too:

- in the weights: rows and steps change places, the gradient is the matrix;
- in the input: elements whose place modulo the stride is the same are reached by the same taps, so
  with the gradient as image and those taps' weights as matrix they are a convolution each.

All tables are int64 and hold bytes.
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
    """Tables of products of one kind, for every image and group.

    Attributes:
        border: rows above and columns to the left of the image, height and width with both.
        tables: rows, steps, starts, places.
        count: rows of the product; their tables end in copies of the last.
        taps: the taps of which the matrix consists, along height and along width.

    """

    border: tuple[int, int, int, int]
    tables: Tables
    count: int
    taps: tuple[list[int], list[int]]


@lru_cache(maxsize=64)
def outputs(shapes: Shapes, item: int) -> Products:
    """Of the convolution: a row per pixel, a step per tap and channel, the weights as matrix.

    Args:
        shapes: of the convolution.
        item: bytes of an element.

    """
    rows, steps, border = _reads(shapes, item)
    places = np.arange(rows.size) * shapes.w[0] * item
    return Products(
        border, _filled(rows, steps, np.zeros_like(rows), places), rows.size, _all(shapes)
    )


@lru_cache(maxsize=64)
def weight_sums(shapes: Shapes, item: int) -> Products:
    """Of the derivative in the weights: a row per tap and channel, a step per pixel.

    Sums start from what the places hold.
    """
    steps, rows, border = _reads(shapes, item)
    columns = shapes.w[0] if shapes.per_channel else shapes.w[0] // shapes.group_count
    places = np.arange(rows.size) * columns * item
    return Products(border, _filled(rows, steps, places, places), rows.size, _all(shapes))


@lru_cache(maxsize=64)
def input_parts(shapes: Shapes, item: int) -> list[Products]:
    """Of the derivative in the input: a convolution of the gradient for each place in a stride."""
    stride_h, stride_w = shapes.window.stride
    pairs = ((a, b) for a in range(stride_h) for b in range(stride_w))
    return [
        _input_part(shapes, item, a, b) for a, b in pairs if a < shapes.x[1] and b < shapes.x[2]
    ]


def _reads(shapes: Shapes, item: int) -> tuple[Table, Table, tuple[int, int, int, int]]:
    """Where each output's window begins, where its elements lie from there, and the border."""
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
    """The elements at (a, b) modulo the stride."""
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
        The taps; for each, the output that reads the first element through it; how many outputs
        before the first one and after the last one are asked for.

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
    """All sums of one element of each part, in row-major order."""
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
