"""The convolution of images as matrix products, and its derivatives.

What each output reads is gathered into the rows of a matrix, block of images by block, so that the
matrix stays in the cache; the block's buffer serves for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tinyrt.ir import Shape
from tinyrt.ops.function import Array, bilinear_triple
from tinyrt.ops.window import Window

BLOCK = 2**18
"""Elements of a block's matrix: 1 MiB in float32, a second-level cache's size."""


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
    padded = window.pad(x)
    y = np.empty((len(x), *window.out, c_out), np.result_type(x, w))
    for ins, outs in shapes.groups():
        weights = np.ascontiguousarray(w[outs].reshape(outs.stop - outs.start, -1).T)
        for images, columns in _columns(window, padded[..., ins]):
            y[images, ..., outs] = (columns @ weights).reshape(y[images, ..., outs].shape)
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
    for ins, outs in shapes.groups():
        rows = grad[..., outs].reshape(-1, outs.stop - outs.start)
        for i, j, where in shapes.window.taps():
            padded[(*where, ins)] += (rows @ w[outs, i, j]).reshape(*grad.shape[:3], -1)
    return shapes.window.crop(padded, shapes.x)


def _dw(shapes: Shapes, x: Array, grad: Array) -> Array:
    padded = shapes.window.pad(x)
    dw = np.zeros(shapes.w, grad.dtype)
    for ins, outs in shapes.groups():
        for images, columns in _columns(shapes.window, padded[..., ins]):
            rows = grad[images, ..., outs].reshape(len(columns), -1)
            dw[outs] += (rows.T @ columns).reshape(dw[outs].shape)
    return dw


def _columns(window: Window, padded: Array) -> Iterator[tuple[slice, Array]]:
    """Blocks of images, each with what its outputs read, (outputs, taps * channels).

    A block's matrix is valid until the next is asked for.
    """
    n, *_, c = padded.shape
    patches = window.patches(padded)
    if window.kernel == window.stride == (1, 1):
        yield slice(0, n), patches.reshape(-1, c)
        return
    per_image = patches[0].size
    block = min(n, max(1, BLOCK // per_image))
    buffer = np.empty((block, *patches.shape[1:]), padded.dtype)
    for start in range(0, n, block):
        images = slice(start, min(start + block, n))
        columns = buffer[: images.stop - start]
        np.copyto(columns, patches[images])
        yield images, columns.reshape(-1, per_image // (window.out[0] * window.out[1]))


CONVOLUTION = bilinear_triple("convolution", convolve, _dx, _dw)
