"""Convolutions of images: whole numbers with NumPy, floats with compiled loops.

For whole numbers, the elements that each output reads are copied into one row of a matrix (im2col).
This is done for one block of images at a time, so that the matrix stays in the cache. NumPy's
linear algebra library multiplies the matrices. It chooses the order of the sums, so the sums must
be exact. Sums of floats are not exact: compiled loops fix their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

import numpy as np

from tinyrt.floatmath import buffers
from tinyrt.floatmath.function import Array, bilinear_triple
from tinyrt.floatmath.parallel import each_block
from tinyrt.ops.shared.convolution_shapes import Shapes
from tinyrt.ops.shared.window import Window

BLOCK_BYTES = 2**20
"""Bytes of the im2col matrix of a block: about the size of a second-level cache."""

Result = TypeVar("Result")


def convolve(shapes: Shapes, x: Array, w: Array) -> Array:
    """Sum over taps and input channels: (n, out_h, out_w, c_out).

    The sums must be exact in the operands' type.
    """
    window, c_out = shapes.window, shapes.w[0]
    y = buffers.empty((len(x), *window.out, c_out), np.result_type(x, w))
    for ins, outs in shapes.groups():
        weights = np.ascontiguousarray(w[outs].reshape(outs.stop - outs.start, -1).T)

        def multiply(images: slice, columns: Array, outs: slice = outs, b: Array = weights) -> None:
            if outs == slice(0, c_out):
                np.matmul(columns, b, out=y[images].reshape(-1, c_out))
            else:
                y[images, ..., outs] = (columns @ b).reshape(y[images, ..., outs].shape)

        _by_columns(window, x[..., ins], multiply)
    return y


def adjoint(shapes: Shapes, grad: Array, w: Array) -> Array:
    """The derivative in x: each tap adds gradient times weights to the elements that it read.

    The sums must be exact in the operands' type.
    """
    padded = shapes.window.padded_zeros(shapes.x, grad.dtype)

    def carry(images: slice) -> None:
        for ins, outs in shapes.groups():
            rows = grad[images, ..., outs].reshape(-1, outs.stop - outs.start)
            for i, j, where in shapes.window.taps():
                part = (rows @ w[outs, i, j]).reshape(*grad[images].shape[:3], -1)
                padded[images][(*where, ins)] += part

    each_block(len(grad), padded.nbytes + 2 * grad.nbytes, carry)
    return shapes.window.crop(padded, shapes.x)


def _by_columns(window: Window, x: Array, work: Callable[[slice, Array], Result]) -> list[Result]:
    """Call ``work`` for each block of images with its matrix (outputs, taps * channels)."""
    size = math.prod(window.kernel) * x.shape[3]

    def block(images: slice) -> Result:
        patches = window.patches(window.pad(x[images]))
        # The reshape copies, unless the patches are contiguous as in 1 x 1 convolutions.
        return work(images, patches.reshape(-1, size))

    nbytes = len(x) * math.prod(window.out) * size * x.itemsize
    return each_block(len(x), nbytes, block, BLOCK_BYTES)


def _compiled() -> ModuleType:
    # Importing Numba is slow, and only floats need it.
    from tinyrt.ops.shared import convolution_products

    return convolution_products


CONVOLUTION = bilinear_triple(
    "convolution",
    lambda *operands: _compiled().convolve(*operands),
    lambda *operands: _compiled().dx(*operands),
    lambda *operands: _compiled().dw(*operands),
)
"""Float convolution and its derivatives: compiled loops read the windows without copying them."""


def biased(shapes: Shapes, x: Array, w: Array, bias: Array | None) -> Array:
    """``CONVOLUTION.y`` plus the bias (c_out,), if there is one."""
    # The loops multiply weights with the padding's zeros: NaN for a weight that is not finite.
    if shapes.window.is_padded and not np.isfinite(w).all():
        return _without_padding(shapes, x, w, bias)
    y: Array = _compiled().convolve(shapes, x, w, bias)
    return y


def _without_padding(shapes: Shapes, x: Array, w: Array, bias: Array | None) -> Array:
    """The sum over taps that lie within the image, as C kernels compute it."""
    start = np.zeros(shapes.w[0], w.dtype) if bias is None else bias
    y = np.empty((len(x), *shapes.window.out, shapes.w[0]), np.result_type(x, start))
    y[:] = start
    _, height, width, _ = shapes.x
    for i, j, _ in shapes.window.taps():
        written, read = shapes.window.within((height, width), (i, j))
        for ins, outs in shapes.groups():
            with np.errstate(invalid="ignore"):
                y[(*written, outs)] += x[(*read, ins)] @ w[outs, i, j].T
    return y


def bias_gradient(grad: Array) -> Array:
    """The sum over images and pixels (n, h, w, c_out) -> (c_out,), of an array or a tensor."""
    if not isinstance(grad, np.ndarray):
        return grad.sum(axis=(0, 1, 2))
    total: Array = _compiled().channel_sums(grad)
    return total
