"""The convolution of images as matrix products, and its derivatives.

What each output reads is gathered into the rows of a matrix, block of images by block, so that the
matrix stays in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tinyrt.ir import Shape
from tinyrt.ops import buffers
from tinyrt.ops.function import Array, bilinear_triple
from tinyrt.ops.parallel import each_block
from tinyrt.ops.window import Window

BLOCK_BYTES = 2**20
"""Of a block's matrix: a second-level cache's size."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Shapes:
    """What the convolution and its derivatives know of their operands.

    Attributes:
        window: how the kernel slides.
        x: (n, h, w, c_in).
        w: (c_out, kh, kw, c_in / groups).

    """

    window: Window
    x: Shape
    w: Shape

    def groups(self) -> Iterator[tuple[slice, slice]]:
        """Input and output channels of each group."""
        c_out, _, _, c_in = self.w
        count = self.x[3] // c_in
        per_group = c_out // count
        for g in range(count):
            yield slice(g * c_in, (g + 1) * c_in), slice(g * per_group, (g + 1) * per_group)


def convolve(shapes: Shapes, x: Array, w: Array) -> Array:
    """Sum over taps and input channels: (n, out_h, out_w, c_out)."""
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


def _dx(shapes: Shapes, grad: Array, w: Array) -> Array:
    """Where the kernel moves by single steps, a convolution of the gradient, kernel reversed."""
    if shapes.window.stride != (1, 1):
        return _dx_by_taps(shapes, grad, w)
    reversed_w = np.empty(
        (shapes.x[3], *shapes.w[1:3], shapes.w[0] // _group_count(shapes)), w.dtype
    )
    for ins, outs in shapes.groups():
        reversed_w[ins] = w[outs, ::-1, ::-1].transpose(3, 1, 2, 0)
    window = shapes.window.reversed(shapes.x)
    return convolve(Shapes(window, grad.shape, reversed_w.shape), grad, reversed_w)


def _group_count(shapes: Shapes) -> int:
    return shapes.x[3] // shapes.w[3]


def _dx_by_taps(shapes: Shapes, grad: Array, w: Array) -> Array:
    """Each tap's weights carry the gradient back to the elements that the tap read."""
    padded = shapes.window.padded_zeros(shapes.x, grad.dtype)

    def carry(images: slice) -> None:
        for ins, outs in shapes.groups():
            rows = grad[images, ..., outs].reshape(-1, outs.stop - outs.start)
            for i, j, where in shapes.window.taps():
                part = (rows @ w[outs, i, j]).reshape(*grad[images].shape[:3], -1)
                padded[images][(*where, ins)] += part

    each_block(len(grad), padded.nbytes + 2 * grad.nbytes, carry)
    return shapes.window.crop(padded, shapes.x)


def _dw(shapes: Shapes, x: Array, grad: Array) -> Array:
    dw = np.zeros(shapes.w, grad.dtype)
    for ins, outs in shapes.groups():

        def product(images: slice, columns: Array, outs: slice = outs) -> Array:
            return np.asarray(grad[images, ..., outs].reshape(len(columns), -1).T @ columns)

        for part in _by_columns(shapes.window, x[..., ins], product):
            dw[outs] += part.reshape(dw[outs].shape)
    return dw


def _by_columns(window: Window, x: Array, work: Callable[[slice, Array], Result]) -> list[Result]:
    """Do work on blocks of images, each with what its outputs read, (outputs, taps * channels)."""
    size = math.prod(window.kernel) * x.shape[3]

    def block(images: slice) -> Result:
        patches = window.patches(window.pad(x[images]))
        # A copy unless the patches lie one behind the other, as pixels of pointwise layers do.
        return work(images, patches.reshape(-1, size))

    nbytes = len(x) * math.prod(window.out) * size * x.itemsize
    return each_block(len(x), nbytes, block, BLOCK_BYTES)


CONVOLUTION = bilinear_triple("convolution", convolve, _dx, _dw)
