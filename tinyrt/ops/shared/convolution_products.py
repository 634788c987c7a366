"""Float convolutions and their derivatives with compiled tiles; threads share the images.

The images are split into parts by their sizes alone, so the result has the same bits with any
number of threads. All operands are float32, or all are float64.
"""

from __future__ import annotations

import math

import numpy as np

from tinyrt.floatmath import buffers, columns
from tinyrt.floatmath.convolution_loops import on_threads
from tinyrt.floatmath.function import Array
from tinyrt.floatmath.parallel import part_size
from tinyrt.ops.shared import convolution_tables
from tinyrt.ops.shared.convolution_shapes import Shapes
from tinyrt.ops.shared.convolution_tables import Products


def convolve(shapes: Shapes, x: Array, w: Array, bias: Array | None = None) -> Array:
    """The convolution of ``x`` with ``w``, plus (c_out,); shapes as ``Shapes`` says."""
    x, w, start = _floats(x, w, np.zeros(shapes.w[0], w.dtype) if bias is None else bias)
    y = buffers.empty((len(x), *shapes.window.out, shapes.w[0]), x.dtype)
    plan = convolution_tables.outputs(shapes, x.itemsize)
    _into(y, x, _matrices(shapes, w), start, plan, shapes.per_channel)
    return y


def dx(shapes: Shapes, grad: Array, w: Array) -> Array:
    """The derivative in x."""
    grad, w = _floats(grad, w)
    y = buffers.empty((len(grad), *shapes.x[1:]), grad.dtype)
    matrices, zeros = _matrices(shapes, w), np.zeros(y.shape[3], y.dtype)
    for part in convolution_tables.input_parts(shapes, grad.itemsize):
        weights = matrices[:, part.taps[0]][:, :, part.taps[1]]
        turned = weights if shapes.per_channel else weights.transpose(0, 1, 2, 4, 3)
        _into(y, grad, turned, zeros, part, shapes.per_channel)
    return y


def dw(shapes: Shapes, x: Array, grad: Array) -> Array:
    """The derivative in w."""
    x, grad = _floats(x, grad)
    plan = convolution_tables.weight_sums(shapes, x.itemsize)
    groups = _matrix_count(shapes)
    width, item = shapes.w[0] // groups, x.itemsize
    grad_bytes = (
        shapes.w[0] * math.prod(grad.shape[1:3]) * item,
        width * item,
        shapes.w[0] * item,
    )
    flat = grad.reshape(-1)
    by_group = groups, x.shape[3] // groups * item

    size = part_size(len(x), _cost(x, grad, plan, width * groups))
    sums = np.zeros((-(-len(x) // size), groups, plan.count, width), x.dtype)
    sums_bytes = (0, sums[0, 0].nbytes, sums[0].nbytes)
    on_threads(
        len(x),
        size,
        x,
        plan.border,
        shapes.per_channel,
        by_group,
        plan.tables,
        plan.count,
        flat,
        grad_bytes,
        sums.reshape(-1),
        sums.reshape(-1),
        sums_bytes,
        width,
    )
    first, *others = sums
    parted = sum(others, start=first).reshape(groups, *shapes.w[1:], width)
    return np.ascontiguousarray(parted.transpose(0, 4, 1, 2, 3)).reshape(shapes.w)


def _floats(*operands: Array) -> list[Array]:
    dtype = operands[0].dtype
    if dtype not in (np.float32, np.float64) or any(a.dtype != dtype for a in operands):
        dtype = np.result_type(*operands, np.float32)
    return [np.ascontiguousarray(a, dtype) for a in operands]


def _matrix_count(shapes: Shapes) -> int:
    return 1 if shapes.per_channel else shapes.group_count


def _matrices(shapes: Shapes, w: Array) -> Array:
    """(groups, kh, kw, c_in / groups, c_out / groups); (1, kh, kw, 1, c) if per channel."""
    return w.reshape(_matrix_count(shapes), -1, *shapes.w[1:]).transpose(0, 2, 3, 4, 1)


def channel_sums(grad: Array) -> Array:
    """The sum over images and pixels (n, h, w, c) -> (c,)."""
    return columns.totals(grad.reshape(-1, grad.shape[3]))


def _into(
    y: Array, x: Array, weights: Array, start: Array, plan: Products, per_channel: bool
) -> None:
    """Write the plan's products plus ``start`` (c,) to the plan's places of ``y`` (n, h, w, c)."""
    matrices = np.ascontiguousarray(weights)
    groups, width = len(matrices), matrices.shape[4]
    item = x.itemsize
    by_group, written = (groups, x.shape[3] // groups * item), y.reshape(-1)
    w_bytes = (0, matrices.nbytes // groups, width * item)
    y_bytes, flat = (math.prod(y.shape[1:]) * item, width * item, 0), matrices.reshape(-1)

    size = part_size(len(x), _cost(x, y, plan, y.shape[3]))
    on_threads(
        len(x),
        size,
        x,
        plan.border,
        per_channel,
        by_group,
        plan.tables,
        plan.count,
        flat,
        w_bytes,
        start,
        written,
        y_bytes,
        width,
    )


def _cost(x: Array, y: Array, plan: Products, channels: int) -> int:
    """Approximate cost in bytes of a pass over memory: the operands, and 1/4 byte per product."""
    products_per_image = plan.count * plan.tables[1].size * channels
    return x.nbytes + y.nbytes + len(x) * products_per_image // 4
