"""conv2d, depthwise_conv2d and fully_connected on int16 activations, with int64 accumulators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.numba.abi import (
    Call,
    Int,
    row_of,
    s8_at,
    s16_at,
    s32_at,
    s64_at,
    subroutine,
)
from tinyrt.backends.numba.fixedpoint import requant
from tinyrt.backends.numba.pairs import (
    MAX_PAIRS,
    SUM_BYTES,
    TILE_PIXELS,
    TILE_VECTORS,
    VECTOR_BYTES,
    in_pairs,
    pair_tile,
)
from tinyrt.backends.numba.rows import Border, Images
from tinyrt.backends.numba.vector import LANES
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.fully_connected import FullyConnectedS16
from tinyrt.ops.shared.requant import Requant, WideRequant
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionS16

SUMMED = 510
"""Products of int16 and int8 that an int32 sum holds."""

TWO_BYTES = 2


class Runs(NamedTuple):
    """The elements that each output sums.

    Attributes:
        pixels: outputs of an image, the first element that each reads at ``offsets``.
        steps: runs of ``length`` weights per output, each from a further element at ``places``.
        groups: of channels.

    """

    pixels: int
    offsets: int
    steps: int
    places: int
    length: int
    groups: int


class Scales(NamedTuple):
    """Bias, mantissa and shift, each of all channels; ``wide`` tells of which kind; limits."""

    constants: int
    wide: int
    low: int
    high: int


class Row(NamedTuple):
    """Arguments of all three kernels.

    Attributes:
        scratch: one image inside its border, where ``copied`` is not 0.
        sums: address of a tile's sums in scratch memory, in bytes from its start.

    """

    x: int
    y: int
    scratch: int
    copied: int
    images: Images
    border: Border
    runs: Runs
    w: int
    c_out: int
    scales: Scales
    sums: int


_tile = pair_tile(TILE_PIXELS, TILE_VECTORS)
_single = pair_tile(1, TILE_VECTORS)


@subroutine
def _dot(x: int, w: int, length: int) -> Int:
    """The sum of products, accumulated in int32 over runs that fit it."""
    total = np.int64(0)
    a, b = s16_at(x), s8_at(w)
    for start in range(0, length, SUMMED):
        part = np.int32(0)
        for i in range(start, min(start + SUMMED, length)):
            part += np.int32(a[i]) * np.int32(b[i])
        total += part
    return total


@subroutine
def _scaled(p: Row, channel: int, total: Int) -> np.int16:
    """``clamp(requant(total + bias))``."""
    constants = s64_at(p.scales.constants)
    mult, shift = constants[p.c_out + channel], constants[2 * p.c_out + channel]
    acc = total + constants[channel]
    if p.scales.wide:
        scaled = (acc * mult + (np.int64(1) << (shift - 1))) >> shift
    else:
        left = max(shift, 0)
        scaled = requant(acc, mult, left, left - shift)
    return np.int16(min(max(scaled, p.scales.low), p.scales.high))


@subroutine
def _store(p: Row, sums: int, y: int, first: int, count: int) -> None:
    """Requantise the sums of some channels of one pixel."""
    total, out = s64_at(sums), s16_at(y + TWO_BYTES * first)
    if not p.scales.wide:
        for c in range(count):
            out[c] = _scaled(p, first + c, total[c])
        return
    at = p.scales.constants + 8 * first
    bias, mult, shift = s64_at(at), s64_at(at + 8 * p.c_out), s64_at(at + 16 * p.c_out)
    for c in range(count):
        acc = (total[c] + bias[c]) * mult[c] + (np.int64(1) << (shift[c] - 1))
        out[c] = np.int16(min(max(acc >> shift[c], p.scales.low), p.scales.high))


@subroutine
def _sums_of(p: Row, image: int, offsets: int, pixels: int, w: int, w_bytes: int) -> None:
    """The sums of a tile, or of one pixel, over all runs."""
    sums, places = p.scratch + p.sums, s64_at(p.runs.places)
    clear, pairs = s64_at(sums), (p.runs.length + 1) // 2
    for i in range(pixels * TILE_VECTORS * LANES):
        clear[i] = 0
    for s in range(p.runs.steps):
        for start in range(0, pairs, MAX_PAIRS):
            some = min(MAX_PAIRS, pairs - start)
            at, run = places[s] + 2 * start, w + (s * pairs + start) * VECTOR_BYTES
            if pixels == 1:
                _single(image, offsets, at, some, run, w_bytes, sums)
            else:
                _tile(image, offsets, at, some, run, w_bytes, sums)


def tiled_s16(address: int) -> None:
    """As ``product_s16`` without groups: tiles of pixels and channels, over weights in pairs."""
    p = row_of(address, Row)
    block = TILE_VECTORS * LANES
    w_bytes = p.runs.steps * ((p.runs.length + 1) // 2) * VECTOR_BYTES
    for n in range(p.images.batch):
        image = _image(p, n)
        for first in range(0, p.c_out, block):
            w, count = p.w + first // LANES * w_bytes, min(block, p.c_out - first)
            i = 0
            while i < p.runs.pixels:
                pixels = TILE_PIXELS if p.runs.pixels - i >= TILE_PIXELS else 1
                _sums_of(p, image, p.runs.offsets + 8 * i, pixels, w, w_bytes)
                for k in range(pixels):
                    y = p.y + TWO_BYTES * (n * p.runs.pixels + i + k) * p.c_out
                    _store(p, p.scratch + p.sums + 8 * block * k, y, first, count)
                i += pixels


@subroutine
def _image(p: Row, n: int) -> int:
    """The address of image ``n``, copied into its border where it has one."""
    source = p.x + TWO_BYTES * n * p.images.height * p.images.width * p.images.channels
    if not p.copied:
        return source
    row, inner = p.border.width * p.images.channels, p.images.width * p.images.channels
    target = s16_at(p.scratch)
    for i in range(p.border.height * row):
        target[i] = 0
    for h in range(p.images.height):
        x = s16_at(source + TWO_BYTES * h * inner)
        start = (p.border.top + h) * row + p.border.left * p.images.channels
        for i in range(inner):
            target[start + i] = x[i]
    return p.scratch


def product_s16(address: int) -> None:
    """Every output channel of a pixel reads the same runs: convolutions and dense layers."""
    p = row_of(address, Row)
    offsets, places = s64_at(p.runs.offsets), s64_at(p.runs.places)
    per_group = p.c_out // p.runs.groups
    c_in = p.images.channels // p.runs.groups
    for n in range(p.images.batch):
        image = _image(p, n)
        for i in range(p.runs.pixels):
            y = s16_at(p.y + TWO_BYTES * (n * p.runs.pixels + i) * p.c_out)
            for c in range(p.c_out):
                first = offsets[i] + c // per_group * c_in
                total = np.int64(0)
                for s in range(p.runs.steps):
                    x = image + TWO_BYTES * (first + places[s])
                    total += _dot(x, p.w + (c * p.runs.steps + s) * p.runs.length, p.runs.length)
                y[c] = _scaled(p, c, total)


@subroutine
def _depthwise_sums(p: Row, image: int, offset: Int) -> None:
    """Sums of all channels of one pixel, in int32, which holds them."""
    sums, places = s32_at(p.scratch + p.copied), s64_at(p.runs.places)
    for c in range(p.c_out):
        sums[c] = np.int32(0)
    for s in range(p.runs.steps):
        x, w = s16_at(image + TWO_BYTES * (offset + places[s])), s8_at(p.w + s * p.c_out)
        for c in range(p.c_out):
            sums[c] = np.int32(sums[c] + np.int32(x[c]) * np.int32(w[c]))


def depthwise_s16(address: int) -> None:
    """Output channel ``c * m + j`` reads input channel ``c`` only."""
    p = row_of(address, Row)
    offsets, places = s64_at(p.runs.offsets), s64_at(p.runs.places)
    sums = s64_at(p.scratch + p.copied)
    narrow = s32_at(p.scratch + p.copied)
    copies = p.c_out // p.images.channels
    fits = copies == 1 and p.runs.steps <= SUMMED
    for n in range(p.images.batch):
        image = _image(p, n)
        for i in range(p.runs.pixels):
            if fits:
                _depthwise_sums(p, image, offsets[i])
                y = s16_at(p.y + TWO_BYTES * (n * p.runs.pixels + i) * p.c_out)
                for c in range(p.c_out):
                    y[c] = _scaled(p, c, np.int64(narrow[c]))
                continue
            for c in range(p.c_out):
                sums[c] = 0
            for s in range(p.runs.steps):
                x = s16_at(image + TWO_BYTES * (offsets[i] + places[s]))
                w = s8_at(p.w + s * p.c_out)
                if copies == 1:
                    for c in range(p.c_out):
                        sums[c] += np.int32(x[c]) * np.int32(w[c])
                else:
                    for c in range(p.c_out):
                        sums[c] += np.int32(x[c // copies]) * np.int32(w[c])
            y = s16_at(p.y + TWO_BYTES * (n * p.runs.pixels + i) * p.c_out)
            for c in range(p.c_out):
                y[c] = _scaled(p, c, sums[c])


def pack_conv2d(node: BoundNode, p: ConvolutionS16, workspace: Workspace) -> Call:
    """Runs along a row of the kernel where taps are neighbours in memory, else single taps."""
    weights = workspace.weights(node)
    _, _, kw, c_in = weights.shape
    groups = node.input(0).shape[3] // c_in
    joined = groups == 1 and p.window.dilation[1] == 1
    length = kw * c_in if joined else c_in
    places = _taps(node, p.window)[:, ::kw] if joined else _taps(node, p.window)
    runs = _runs(_starts(node, p.window), places.reshape(-1), length, groups, workspace)
    row = _windowed(node, p, runs, workspace, odd=length % 2 == 1)
    if groups > 1:
        return Call(product_s16, row._replace(w=workspace.pack(weights)))
    return _tiled(row, weights, workspace)


def pack_depthwise(node: BoundNode, p: ConvolutionS16, workspace: Workspace) -> Call:
    """One run of all channels per tap; sums lie behind the copied image."""
    c_out, taps = node.output.shape[3], _taps(node, p.window).reshape(-1)
    runs = _runs(_starts(node, p.window), taps, c_out, 1, workspace)
    row = _windowed(node, p, runs, workspace, odd=False)
    copied = -(-row.copied // 8) * 8
    workspace.need_scratch(copied + 8 * c_out)
    weights = workspace.pack(workspace.weights(node))
    return Call(depthwise_s16, row._replace(copied=copied, w=weights))


def pack_dense(node: BoundNode, p: FullyConnectedS16, workspace: Workspace) -> Call:
    """Pack a dense layer: each row of the input is a pixel."""
    weights = workspace.weights(node)
    length = weights.shape[1]
    rows = node.input(0).size // length
    starts = np.arange(rows, dtype=np.int64) * length
    runs = _runs(starts, np.zeros(1, np.int64), length, 1, workspace)
    images, border = Images(1, 1, rows, length), Border(1, rows, top=0, left=0, fill=0)
    copied = TWO_BYTES * rows * length if length % 2 else 0
    row = _row(node, p.requant, workspace, images, border, runs, copied)
    return _tiled(row, weights, workspace)


def _tiled(row: Row, weights: NDArray[np.int8], workspace: Workspace) -> Call:
    """With weights in pairs, and sums behind what is copied of the input."""
    pairs = in_pairs(weights.reshape(row.c_out, row.runs.steps, row.runs.length))
    vectors = -len(pairs) % TILE_VECTORS
    pairs = np.pad(pairs, ((0, vectors), *((0, 0),) * 4))
    sums = -(-row.copied // 64) * 64 + 64
    workspace.need_scratch(sums + TILE_PIXELS * TILE_VECTORS * SUM_BYTES)
    return Call(tiled_s16, row._replace(w=workspace.pack(pairs), sums=sums))


def _padded(node: BoundNode, window: Window) -> tuple[int, int]:
    _, height, width, _ = node.input(0).shape
    return (
        window.before[0] + height + window.after[0],
        window.before[1] + width + window.after[1],
    )


def _taps(node: BoundNode, window: Window) -> NDArray[np.int64]:
    """(1, taps) offsets of the kernel's taps from its first, in elements."""
    channels, width = node.input(0).shape[3], _padded(node, window)[1]
    rows = np.arange(window.kernel[0], dtype=np.int64) * window.dilation[0] * width
    columns = np.arange(window.kernel[1], dtype=np.int64) * window.dilation[1]
    return (rows[:, None] + columns).reshape(1, -1) * channels


def _starts(node: BoundNode, window: Window) -> NDArray[np.int64]:
    """The element of the padded image that each output's window begins at."""
    channels, width = node.input(0).shape[3], _padded(node, window)[1]
    rows = np.arange(window.out[0], dtype=np.int64) * window.stride[0] * width
    columns = np.arange(window.out[1], dtype=np.int64) * window.stride[1]
    return (rows[:, None] + columns).reshape(-1) * channels


def _runs(
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    length: int,
    groups: int,
    workspace: Workspace,
) -> Runs:
    """Runs of that length, at these places from where each output's window starts."""
    return Runs(
        pixels=len(starts),
        offsets=workspace.pack(starts),
        steps=len(places),
        places=workspace.pack(np.ascontiguousarray(places)),
        length=length,
        groups=groups,
    )


def _windowed(
    node: BoundNode, p: ConvolutionS16, runs: Runs, workspace: Workspace, *, odd: bool
) -> Row:
    """A convolution; ``odd`` runs read one element more, which only a copy has behind it."""
    window, images = p.window, Images(*node.input(0).shape)
    height, width = _padded(node, window)
    bordered = odd or any((*window.before, *window.after))
    copied = TWO_BYTES * height * width * images.channels if bordered else 0
    workspace.need_scratch(copied)
    border = Border(height, width, *window.before, fill=0)
    return _row(node, p.requant, workspace, images, border, runs, copied)


def _row(
    node: BoundNode,
    requant: WideRequant | Requant,
    workspace: Workspace,
    images: Images,
    border: Border,
    runs: Runs,
    copied: int,
) -> Row:
    """All but the weights, and where sums lie."""
    x, y = node.input(0), node.output
    bias = workspace.bias(node)
    wide = isinstance(requant, WideRequant)
    shift = requant.right if isinstance(requant, WideRequant) else requant.shift
    bias_column = np.zeros(y.shape[-1], np.int64) if bias is None else bias.astype(np.int64)
    constants = np.stack([bias_column, requant.mult.astype(np.int64), shift.astype(np.int64)])
    return Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        copied=copied,
        images=images,
        border=border,
        runs=runs,
        w=0,
        c_out=y.shape[-1],
        scales=Scales(workspace.pack(constants), int(wide), requant.act_min, requant.act_max),
        sums=0,
    )
