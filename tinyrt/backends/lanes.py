"""Weights and constants as kernels with sixteen int32 lanes read them: numba's and x86's C kernels.

Inputs are copied as unsigned bytes, with the sign bit flipped (which adds 128), inside the border
that a window reaches into; tables of offsets say where in this copy each output and each step of
four bytes begins, so that one loop serves every window, stride and dilation. Output channels come
in vectors of ``LANES``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.finishes import LANES, Finish, Weighted, channel_vectors, pack_finish
from tinyrt.ir import Shape
from tinyrt.ops.shared.window import Pair, Window

SLACK = 64
"""Bytes behind the copy of an input that vector loads may touch."""


class TileShape(NamedTuple):
    """A block of sums that stays in registers with the weights and the inputs that it needs.

    Attributes:
        pixels: of a block.
        vectors: of channels.
        step: bytes of input that a lane takes at once. With eight, half of a vector's channels fill
            a register, and both halves of a sum are added at the end.

    """

    pixels: int
    vectors: int
    step: int = 4

    def cost(self, pixels: int) -> float:
        """Cycles of a step, for one vector of channels of that many pixels.

        Two products start in a cycle and take four; two vectors or spread inputs are loaded in one.
        """
        products, loads = self.pixels * self.vectors, self.pixels + self.vectors
        return -(-pixels // self.pixels) * max(products / 2, loads / 2, 4) / self.vectors


EIGHTS = TileShape(8, 1, 8)
"""For layers of a single vector of channels: half as many inputs are spread."""

AVX512 = (
    *(TileShape(*s) for s in ((6, 4), (8, 2), (3, 8), (10, 1), (1, 8), (1, 2), (1, 1))),
    EIGHTS,
)
AVX2 = tuple(TileShape(*s) for s in ((4, 1), (1, 4), (1, 2), (1, 1)))


def tiles_of(shapes: Sequence[TileShape], pixels: int, channels: int) -> list[int]:
    """The shapes whose tiles make a layer, one group of vectors of channels after the other."""
    found, left = [], channel_vectors(channels)
    while left:
        fit = [
            i
            for i, s in enumerate(shapes)
            if s.step == 4 and s.pixels <= pixels and s.vectors <= left
        ]
        found.append(min(fit, key=lambda i: shapes[i].cost(pixels)))
        left -= shapes[found[-1]].vectors
    return found


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


def step_offsets(segments: NDArray[Any], length: int, step: int = 4) -> NDArray[np.int32]:
    """Where each step of so many bytes lies, for runs of ``length`` bytes with these starts."""
    places = step * np.arange(-(-length // step))
    return (np.asarray(segments)[:, None] + places).reshape(-1).astype(np.int32)


def pack_weights(w: NDArray[np.int8], along: Sequence[int]) -> NDArray[np.int8]:
    """Weights of a product in the order of its steps.

    Args:
        w: (channels, segments, length): what each output channel multiplies with runs of input
            bytes; runs are filled up with zeros to whole steps of four.
        along: vectors of channels that a kernel reads side by side, one group after the other.

    Returns:
        (vectors * segments * ceil(length / 4), LANES, 4), channels filled up with zeros.

    """
    channels, segments, length = w.shape
    vectors, fours = channel_vectors(channels), -(-length // 4)
    if (channels, length) != (vectors * LANES, fours * 4):
        filled = np.zeros((vectors * LANES, segments, fours * 4), np.int8)
        filled[:channels, :, :length] = w
        w = filled
    by_step = w.reshape(vectors, LANES, segments * fours, 4).transpose(2, 0, 1, 3)
    groups = np.split(by_step, np.cumsum(along)[:-1], axis=1)
    return np.concatenate([group.reshape(-1, LANES, 4) for group in groups])


def pack_eights(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights (channels, taps) of one vector, by eights of taps: (2 * taps / 8, LANES, 4).

    A register holds eight bytes of each of eight channels.
    """
    channels, taps = w.shape
    filled = np.zeros((LANES, taps), np.int8)
    filled[:channels] = w
    return filled.reshape(2, LANES // 2, taps // 8, 8).transpose(2, 0, 1, 3).reshape(-1, LANES, 4)


def pack_taps(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Depthwise weights (taps, channels) by fours of taps: (vectors, taps / 4, LANES, 4)."""
    taps, channels = w.shape
    fours, vectors = -(-taps // 4), channel_vectors(channels)
    padded = np.zeros((fours * 4, vectors * LANES), np.int8)
    padded[:taps, :channels] = w
    return padded.reshape(fours, 4, vectors, LANES).transpose(2, 0, 3, 1)


@dataclass(frozen=True, slots=True)
class LanesProduct:
    """A convolution or dense layer for kernels with lanes.

    Attributes:
        offsets: where each output pixel's window begins.
        steps: where each step of four bytes lies from there.
        w: (groups, vectors * steps, LANES, 4), as ``pack_weights`` puts them.
        quant: (groups, vectors, QUANT, LANES).
        finish: how sums become outputs.
        tiles: which shapes of tiles make a group's channels, in their order.

    """

    offsets: NDArray[np.int32]
    steps: NDArray[np.int32]
    w: NDArray[np.int8]
    quant: NDArray[np.int32]
    finish: Finish
    tiles: NDArray[np.uint8]


def lanes_convolution(
    window: Window, x: Shape, layer: Weighted, shapes: Sequence[TileShape]
) -> LanesProduct:
    """Pack a convolution of ``x`` (n, h, w, c) with weights (c_out, kh, kw, c / groups)."""
    w = layer.w
    c_out, kh, kw, c_in = w.shape
    channels = x[3]
    groups = channels // c_in
    padded = padded_shape(window, x)
    # Taps of a row are neighbours in memory unless other channels or skipped pixels lie between.
    joined = groups == 1 and window.dilation[1] == 1
    length = kw * c_in if joined else c_in
    rows = np.arange(kh) * window.dilation[0] * padded[1] * channels
    columns = np.zeros(1, np.int64) if joined else np.arange(kw) * window.dilation[1] * channels
    parts = w.reshape(groups, c_out // groups, -1, length)
    quant, finish = pack_finish(layer, 0, groups)
    offsets = pixel_offsets(window, padded, channels)
    segments = (rows[:, None] + columns).reshape(-1)
    own = c_out // groups
    in_eights = length % EIGHTS.step == 0 and LANES // 2 < own <= LANES
    if in_eights and EIGHTS in shapes and len(offsets) >= EIGHTS.pixels:
        tiles = [shapes.index(EIGHTS)]
        steps = step_offsets(segments, length, EIGHTS.step)
        packed = [pack_eights(part.reshape(own, -1)) for part in parts]
    else:
        tiles = tiles_of(shapes, len(offsets), own)
        steps = step_offsets(segments, length)
        packed = [pack_weights(part, [shapes[i].vectors for i in tiles]) for part in parts]
    return LanesProduct(offsets, steps, np.stack(packed), quant, finish, np.array(tiles, np.uint8))


def lanes_dense(rows: int, layer: Weighted, shapes: Sequence[TileShape]) -> LanesProduct:
    """Pack the product of a matrix of that many rows with weights (c_out, length)."""
    w, length = layer.w, layer.w.shape[1]
    quant, finish = pack_finish(layer, 0)
    tiles = tiles_of(shapes, rows, len(w))
    along = [shapes[i].vectors for i in tiles]
    return LanesProduct(
        np.arange(rows, dtype=np.int32) * length,
        step_offsets(np.zeros(1, np.int64), length),
        pack_weights(w[:, None, :], along)[None],
        quant,
        finish,
        np.array(tiles, np.uint8),
    )


@dataclass(frozen=True, slots=True)
class LanesDepthwise:
    """A depthwise convolution for kernels with lanes.

    Attributes:
        offsets: where each output pixel's window begins.
        taps: where each tap lies from there, filled up to fours.
        w: (vectors, fours of taps, LANES, 4).
        quant: (1, vectors, QUANT, LANES).
        finish: how sums become outputs.

    """

    offsets: NDArray[np.int32]
    taps: NDArray[np.int32]
    w: NDArray[np.int8]
    quant: NDArray[np.int32]
    finish: Finish


def lanes_depthwise(window: Window, x: Shape, layer: Weighted) -> LanesDepthwise:
    """Pack a depthwise convolution of ``x`` (n, h, w, c) with weights (1, kh, kw, c_out)."""
    _, kh, kw, c_out = layer.w.shape
    padded = padded_shape(window, x)
    by_tap = layer.w.reshape(kh * kw, c_out)
    packed = pack_taps(by_tap)
    taps = np.zeros(packed.shape[1] * 4, np.int32)
    taps[: kh * kw] = tap_offsets(window, padded, c_out)
    quant, finish = pack_finish(layer, 3)
    return LanesDepthwise(pixel_offsets(window, padded, c_out), taps, packed, quant, finish)
