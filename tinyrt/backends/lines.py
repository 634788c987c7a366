"""Depthwise convolutions as lines of outputs whose windows share what they read.

A column is four input rows of ``LANES`` channels. Windows of three rows that move by one row make
two lines of outputs from the same columns. Two pixels of eight channels lie in memory as one of
sixteen does. A strip is an image that is one element high or wide; its windows share taps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

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
        fours: of taps of a strip; 0 where windows have columns.
        together: lines of outputs that one pass over the columns makes.
        stride: columns from one output to the next.
        height: lines of an image.
        width: outputs of a line.
        channels: channels of an output.
        rows: where the rows of a column lie from its first.
        column: bytes from one column to the next.
        row_step: bytes of the padded input from one line's windows to the next line's.
        w: (vectors, COLUMNS, together, LANES, ROWS); of a strip (vectors, fours, LANES, 4).
        quant: (1, vectors, QUANT, LANES).
        finish: how sums become outputs.

    """

    fours: int
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


class LineKind(NamedTuple):
    """Lines that are made together, columns from output to output, whether those are two pixels."""

    together: int
    stride: int
    is_paired: bool


def line_kind(window: Window, channels: int) -> LineKind | None:
    """How a depthwise layer of so many channels goes line by line; None if it does not."""
    (kh, kw), (height, width) = window.kernel, window.out
    together = 2 if window.stride[0] == window.dilation[0] == 1 and kh < ROWS else 1
    is_paired = 2 * channels == LANES and width % 2 == 0 and window.stride[1] == 1
    stride = 2 if is_paired else window.stride[1]
    fits = kw == COLUMNS and kh <= ROWS and window.dilation[1] == 1 and height >= together
    if not fits or (together, stride) not in ((2, 1), (1, 2), (2, 2)):
        return None
    return LineKind(together, stride, is_paired)


def lanes_lines(window: Window, x: Shape, layer: Weighted) -> LanesLines | None:
    """Pack a depthwise convolution as ``lanes_depthwise`` does; None where lines do not fit it."""
    _, kh, _, channels = layer.w.shape
    kind = line_kind(window, channels)
    if kind is None:
        return None
    together, stride, is_paired = kind
    height, width = window.out
    line = padded_shape(window, x)[1] * channels
    rows = np.zeros(ROWS, np.int32)
    used = kh + together - 1
    rows[:used] = np.arange(used) * window.dilation[0] * line
    if is_paired:
        layer, width = _twice(layer), width // 2
    quant, finish = pack_finish(layer, 3)
    return LanesLines(
        fours=0,
        together=together,
        stride=stride,
        height=height,
        width=width,
        channels=layer.w.shape[3],
        rows=rows,
        column=channels,
        row_step=window.stride[0] * line,
        w=_columns(layer.w[0], together),
        quant=quant,
        finish=finish,
    )


def lanes_strip(window: Window, x: Shape, layer: Weighted) -> LanesLines | None:
    """Pack a depthwise convolution of images that are one element high or wide; else None."""
    _, kh, kw, channels = layer.w.shape
    axis = 0 if x[2] == kw == 1 else 1
    fours = -(-kh * kw // ROWS)
    is_line = x[2 - axis] == layer.w.shape[2 - axis] == window.out[1 - axis] == 1
    moves_by_one = window.dilation[axis] == window.stride[axis] == 1
    if not (is_line and moves_by_one and fours <= MAX_FOURS):
        return None
    quant, finish = pack_finish(layer, 3)
    return LanesLines(
        fours=fours,
        together=1,
        stride=1,
        height=1,
        width=window.out[axis],
        channels=channels,
        rows=np.zeros(ROWS, np.int32),
        column=channels,
        row_step=0,
        w=pack_taps(layer.w.reshape(-1, channels)),
        quant=quant,
        finish=finish,
    )


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
