"""Depthwise convolutions as lines of outputs whose windows share columns of the input.

A column is four input rows of ``LANES`` channels. Windows of three rows that move by one row make
two lines of outputs from the same columns. Two pixels of eight channels lie in memory as one of
sixteen does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.finishes import LANES, Finish, Weighted, pack_finish
from tinyrt.backends.lanes import pack_taps, padded_shape
from tinyrt.ir import Shape
from tinyrt.ops.shared.window import Window

COLUMNS = 3
"""Columns of a window, and the most rows of it where it has two lines."""

ROWS = 4
"""Input rows in a column."""

MAX_FOURS = 4
"""Fours of taps that a strip keeps in registers."""


@dataclass(frozen=True, slots=True)
class LanesLines:
    """A depthwise convolution for kernels that go line by line.

    Attributes:
        together: lines of outputs that one pass over the columns makes.
        stride: columns from one output to the next.
        height: lines of an image.
        width: outputs of a line.
        channels: channels of an output.
        rows: where the rows of a column lie from its first.
        column: bytes from one column to the next.
        row_step: bytes of the padded input from one line's windows to the next line's.
        w: (vectors, COLUMNS, together, LANES, ROWS).
        quant: (1, vectors, QUANT, LANES).
        finish: how sums become outputs.

    """

    together: int
    stride: int
    height: int
    width: int
    channels: int
    rows: NDArray[np.int32]
    column: int
    row_step: int
    w: NDArray[np.int8]
    quant: NDArray[np.int32]
    finish: Finish


def lanes_lines(window: Window, x: Shape, layer: Weighted) -> LanesLines | None:
    """Pack a depthwise convolution as ``lanes_depthwise`` does; None where lines do not fit it."""
    _, kh, kw, channels = layer.w.shape
    together = 2 if window.stride[0] == window.dilation[0] == 1 and kh < ROWS else 1
    height, width = window.out
    paired = 2 * channels == LANES and width % 2 == 0
    stride = 2 * window.stride[1] if paired else window.stride[1]
    if kw != COLUMNS or kh > ROWS or window.dilation[1] != 1 or height < together:
        return None
    if (together, stride) not in ((2, 1), (1, 2), (2, 2)) or (paired and window.stride[1] != 1):
        return None
    line = padded_shape(window, x)[1] * channels
    rows = np.zeros(ROWS, np.int32)
    used = min(ROWS, kh + together - 1)
    rows[:used] = np.arange(used) * window.dilation[0] * line
    if paired:
        layer, width = _twice(layer), width // 2
    quant, finish = pack_finish(layer, 3)
    return LanesLines(
        together,
        stride,
        height,
        width,
        layer.w.shape[3],
        rows,
        channels,
        window.stride[0] * line,
        _columns(layer.w[0], together),
        quant,
        finish,
    )


@dataclass(frozen=True, slots=True)
class LanesStrip:
    """A depthwise convolution along the only axis of its images, for kernels with lanes.

    Attributes:
        fours: of taps.
        outputs: of an image.
        w: (vectors, fours, LANES, 4).
        quant: (1, vectors, QUANT, LANES).
        finish: how sums become outputs.

    """

    fours: int
    outputs: int
    w: NDArray[np.int8]
    quant: NDArray[np.int32]
    finish: Finish


def lanes_strip(window: Window, x: Shape, layer: Weighted) -> LanesStrip | None:
    """Pack a depthwise convolution of images that are one element high or wide; else None."""
    _, kh, kw, channels = layer.w.shape
    axis = 0 if x[2] == kw == 1 else 1
    fours = -(-kh * kw // ROWS)
    is_line = x[2 - axis] == layer.w.shape[2 - axis] == window.out[1 - axis] == 1
    moves_by_one = window.dilation[axis] == window.stride[axis] == 1
    if not (is_line and moves_by_one and fours <= MAX_FOURS):
        return None
    quant, finish = pack_finish(layer, 3)
    w = pack_taps(layer.w.reshape(-1, channels))
    return LanesStrip(fours, window.out[axis], w, quant, finish)


def _twice(layer: Weighted) -> Weighted:
    """The layer with each channel once more behind them all."""
    requant = replace(
        layer.requant, mult=np.tile(layer.requant.mult, 2), shift=np.tile(layer.requant.shift, 2)
    )
    bias = None if layer.bias is None else np.tile(layer.bias, 2)
    return replace(layer, w=np.tile(layer.w, 2), bias=bias, requant=requant)


def _columns(w: NDArray[np.int8], together: int) -> NDArray[np.int8]:
    """Weights (kh, kw, channels) by columns, a row lower for each line.

    Returns (vectors, kw, together, LANES, ROWS).
    """
    kh, kw, channels = w.shape
    lowered = np.zeros((kw, together, ROWS, channels), np.int8)
    for line in range(together):
        lowered[:, line, line : line + kh] = w.transpose(1, 0, 2)
    packed = pack_taps(lowered.reshape(-1, channels))
    return packed.reshape(packed.shape[0], kw, together, LANES, ROWS)
