"""How much vector kernels copy at once, and the direction of their lines."""

from __future__ import annotations

from tinyrt.backends.c.mve.packing import LANES, Axes, lines_of, padded, turned
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.window import Window

MAX_SCRATCH = 2048
"""Most bytes that a convolution copies at once, unless one window is larger."""

MAX_PIXELS = 4096
"""Bytes that a pointwise convolution copies at once."""

MAX_DEPTHWISE_SCRATCH = 4096
"""Bytes up to which a depthwise convolution copies eight channels of the whole image."""


def convolution_lines(window: Window) -> Axes:
    """Axes of a convolution's lines and points; rows and columns where nothing is copied."""
    return (0, 1) if window.kernel == (1, 1) else lines_of(window)


def points_at_once(node: BoundNode, window: Window) -> int:
    """Points of an output line that are computed together."""
    if window.kernel == (1, 1):
        return _pixels_at_once(node, window)
    lines, points = convolution_lines(window)
    if window.dilation[points] != 1:
        return 1
    fitting = MAX_SCRATCH // (window.kernel[lines] * node.input(1).shape[3])
    together = 1 + (fitting - window.kernel[points]) // window.stride[points]
    return max(1, min(window.out[points], together))


def _pixels_at_once(node: BoundNode, window: Window) -> int:
    """Pixels of a pointwise convolution for which the weights are read once.

    With strides: the pixels of a line. For a small image, for a few rows, or with groups, which
    come one after the other: all pixels. Otherwise: as many as the kernel copies at once, so that
    the output may overwrite the input.
    """
    x, y = node.input(0), node.output
    if window.stride != (1, 1):
        return window.out[1]
    pixels = window.out[0] * window.out[1]
    if window.on_rows or max(x.size, y.size) <= MAX_PIXELS or x.shape[3] != node.input(1).shape[3]:
        return pixels
    parts = -(-pixels * x.shape[3] // MAX_PIXELS)
    return padded(-(-pixels // parts), 2)


def copied_bytes(node: BoundNode, window: Window) -> int:
    """Bytes of the copy that ``tinyrt_conv2d_s8`` makes."""
    c_in = node.input(1).shape[3]
    at_once = points_at_once(node, window)
    if window.kernel == (1, 1):
        copied = window.stride == (1, 1) and at_once < window.out[0] * window.out[1]
        return at_once * c_in if copied else 0
    lines, points = convolution_lines(window)
    read = (at_once - 1) * window.stride[points] + window.kernel[points]
    return read * window.kernel[lines] * c_in


def depthwise_line_bytes(window: Window) -> int:
    """Bytes that the copy of one line has, for a window that is turned."""
    reach = (window.out[1] - 1) * window.stride[1] + (window.kernel[1] - 1) * window.dilation[1]
    return (reach + 1) * LANES


def depthwise_extent(window: Window) -> int:
    """Lines from a window's first to its last."""
    return (window.kernel[0] - 1) * window.dilation[0] + 1


def depthwise_band(window: Window) -> int:
    """Output lines that are computed from one copy of their input, for a window that is turned.

    There may be fewer, where an op is given a few rows.
    """
    # Where no line is read twice, bands need not be long.
    is_read_once = depthwise_extent(window) <= window.stride[0] and not window.on_rows
    most_bytes = MAX_DEPTHWISE_SCRATCH // 4 if is_read_once else MAX_DEPTHWISE_SCRATCH
    fitting = most_bytes // depthwise_line_bytes(window) - depthwise_extent(window)
    most = max(1, 1 + fitting // window.stride[0])
    return most if window.on_rows else min(window.out[0], most)


def depthwise_bits(node: BoundNode) -> int:
    """Bits of a weight as the kernel reads it."""
    return {DType.INT4: 4, DType.INT16: 16}.get(node.input(1).dtype, 8)


def depthwise_bytes(node: BoundNode, window: Window) -> int:
    """Bytes of the copy that ``tinyrt_depthwise_conv2d_s8`` makes."""
    window = turned(window, lines_of(window))
    band = min(depthwise_band(window), window.out[0])
    lines = (band - 1) * window.stride[0] + depthwise_extent(window)
    widened = window.kernel[0] * window.kernel[1] * LANES
    return lines * depthwise_line_bytes(window) + (widened if depthwise_bits(node) == 4 else 0)
