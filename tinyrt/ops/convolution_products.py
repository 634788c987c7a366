"""Float convolutions and their derivatives by compiled tiles, parts of the images by threads.

How the images are cut depends on their sizes alone, and with it the bits. Operands are float32 or
float64 arrays of one type.
"""

from __future__ import annotations

import numpy as np

from tinyrt.ops import buffers, convolution_tables
from tinyrt.ops.convolution import Shapes
from tinyrt.ops.convolution_loops import products
from tinyrt.ops.convolution_tables import Products
from tinyrt.ops.function import Array
from tinyrt.ops.parallel import each_part


def convolve(shapes: Shapes, x: Array, w: Array) -> Array:
    """The convolution of ``x`` with ``w``; shapes as ``Shapes`` says."""
    x, w = _floats(x, w)
    y = buffers.empty((len(x), *shapes.window.out, shapes.w[0]), x.dtype)
    _into(y, x, _by_group(w, shapes), convolution_tables.outputs(shapes, x.itemsize))
    return y


def dx(shapes: Shapes, grad: Array, w: Array) -> Array:
    """The derivative in x."""
    grad, w = _floats(grad, w)
    y = buffers.empty((len(grad), *shapes.x[1:]), grad.dtype)
    by_group = _by_group(w, shapes)
    for part in convolution_tables.input_parts(shapes, grad.itemsize):
        weights = by_group[:, part.taps[0]][:, :, part.taps[1]]
        _into(y, grad, weights.transpose(0, 1, 2, 4, 3), part)
    return y


def dw(shapes: Shapes, x: Array, grad: Array) -> Array:
    """The derivative in w."""
    x, grad = _floats(x, grad)
    plan = convolution_tables.weight_sums(shapes, x.itemsize)
    groups = shapes.group_count
    columns, item = shapes.w[0] // groups, x.itemsize

    def add_up(part: slice) -> Array:
        sums = np.zeros((groups, plan.count, columns), x.dtype)
        strides = (grad[0].nbytes, columns * item, shapes.w[0] * item)
        _run(plan, x[part], groups, grad[part], strides, sums, sums, (0, sums[0].nbytes), columns)
        return sums

    total = np.asarray(sum(each_part(len(x), x.nbytes + grad.nbytes, add_up)))
    parted = total.reshape(groups, *shapes.w[1:], columns)
    return np.ascontiguousarray(parted.transpose(0, 4, 1, 2, 3)).reshape(shapes.w)


def _floats(*operands: Array) -> list[Array]:
    dtype = np.result_type(*operands, np.float32)
    return [np.ascontiguousarray(a, dtype) for a in operands]


def _by_group(w: Array, shapes: Shapes) -> Array:
    """(groups, kh, kw, c_in / groups, c_out / groups)."""
    return w.reshape(shapes.group_count, -1, *shapes.w[1:]).transpose(0, 2, 3, 4, 1)


def _into(y: Array, x: Array, weights: Array, plan: Products) -> None:
    """Fill the plan's places of ``y`` (n, h, w, c) with sums over channels and taps."""
    groups, columns = len(weights), weights.shape[4]
    matrices = np.ascontiguousarray(weights)
    zeros = np.zeros(groups * columns, x.dtype)
    row = columns * x.itemsize
    strides = (0, matrices.nbytes // groups, row)

    def fill(part: slice) -> None:
        out = y[part]
        _run(plan, x[part], groups, matrices, strides, zeros, out, (out[0].nbytes, row), columns)

    each_part(len(x), x.nbytes + y.nbytes, fill)


def _run(
    plan: Products,
    x: Array,
    groups: int,
    w: Array,
    w_bytes: tuple[int, int, int],
    start: Array,
    y: Array,
    y_bytes: tuple[int, int],
    columns: int,
) -> None:
    products(
        x,
        plan.border,
        (groups, x.shape[3] // groups * x.itemsize),
        plan.tables,
        plan.count,
        w.ctypes.data,
        w_bytes,
        start.ctypes.data,
        y.ctypes.data,
        y_bytes,
        columns,
    )
