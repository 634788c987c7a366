"""Tables of offsets for windows that slide over a padded input."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import Shape
from tinyrt.ops.window import Pair, Window


def padded_shape(window: Window, x: Shape) -> Pair:
    """Height and width of an input (n, h, w, c) with its border."""
    (top, left), (bottom, right) = window.before, window.after
    return x[1] + top + bottom, x[2] + left + right


def pixel_offsets(window: Window, padded: Pair, channels: int) -> NDArray[np.int32]:
    """For each output pixel, row by row, the byte of the padded input that its window starts at."""
    rows = np.arange(window.out[0]) * window.stride[0] * padded[1]
    columns = np.arange(window.out[1]) * window.stride[1]
    return ((rows[:, None] + columns).reshape(-1) * channels).astype(np.int32)


def tap_offsets(window: Window, padded: Pair, channels: int) -> NDArray[np.int32]:
    """For each tap, row by row, its distance in bytes from the window's start."""
    rows = np.arange(window.kernel[0]) * window.dilation[0] * padded[1]
    columns = np.arange(window.kernel[1]) * window.dilation[1]
    return ((rows[:, None] + columns).reshape(-1) * channels).astype(np.int32)
