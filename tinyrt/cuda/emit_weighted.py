"""How ops with weights are written for a GPU: packed for tensor cores, or plain."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.cuda.writer import C_TYPES, DeviceWriter, index_of
from tinyrt.ir import BoundNode, DType, Shape, Value
from tinyrt.ops.batch_matmul import BatchMatmulS8, BatchMatmulS16
from tinyrt.ops.conv2d import Conv2dS8, Conv2dS16
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dS8, DepthwiseConv2dS16
from tinyrt.ops.emit import strides_of
from tinyrt.ops.fully_connected import FullyConnectedS8, FullyConnectedS16
from tinyrt.ops.requant import Requant, WideRequant
from tinyrt.ops.spec import Array, qparams
from tinyrt.ops.transpose_conv import TransposeConvS8, TransposeConvS16
from tinyrt.ops.window import Window

PIECE = 64
"""Elements of a row that a warp multiplies at once: two products of 32."""

MOST_PLAIN_SHIFT = 31

PIXEL_TILES = {1: (4, 2, 1), 2: (4, 2, 1), 4: (2, 1)}
"""Tiles of 8 pixels that a warp may compute at once, by tiles of channels."""

MOST_MASKED = 31
"""Taps whose presence one register says."""

CHANNEL = np.dtype([("offset", "<i8"), ("mult", "<i4"), ("shift", "<i4")])
"""What a kernel reads of one output channel; ``Channel`` of ``requant.cuh``."""


def window_ints(window: Window, x: Value, y: Value) -> dict[str, int | bool]:
    """Constants of a sliding window."""
    (images, ih, iw, c), (_, oh, ow, n) = x.shape, y.shape
    reach = [
        (out - 1) * s + (k - 1) * d + 1 - before
        for out, s, k, d, before in zip(
            window.out, window.stride, window.kernel, window.dilation, window.before, strict=True
        )
    ]
    return {
        "IMAGES": images, "IH": ih, "IW": iw, "C": c, "OH": oh, "OW": ow, "N": n,
        "KH": window.kernel[0], "KW": window.kernel[1],
        "SY": window.stride[0], "SX": window.stride[1],
        "DY": window.dilation[0], "DX": window.dilation[1],
        "PT": window.before[0], "PL": window.before[1],
        "PADDED": any(window.before) or reach[0] > ih or reach[1] > iw,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Channels:
    """Requantisation of all output channels.

    Attributes:
        plain: whether the short form of ``requant.cuh`` is exact for all of them.
        array: one ``CHANNEL`` each, padded.
        ints: constants of the struct.

    """

    plain: bool
    array: NDArray[np.void]
    ints: dict[str, int | bool]


def channels_of(
    requant: Requant, w: NDArray[np.int8], bias: Array | None, x_zp: int, padded: int
) -> Channels:
    """Requantisation for int8 kernels that sum raw inputs: the zero point goes into the bias.

    Args:
        requant: multipliers and clamp.
        w: weights (c_out, everything else).
        bias: (c_out,) or None.
        x_zp: the input's zero point.
        padded: channels to make room for.

    """
    wide = w.astype(np.int64)
    given = np.zeros(len(w), np.int64) if bias is None else bias.astype(np.int64)
    folded = given - x_zp * wide.sum(axis=1)
    magnitude = np.abs(wide).sum(axis=1)
    mult = requant.mult.astype(np.int64)
    shift = np.where(mult == 0, -1, requant.shift.astype(np.int64))
    most = np.abs(given) + magnitude * max(abs(-128 - x_zp), abs(127 - x_zp))
    right = np.clip(-shift, 1, MOST_PLAIN_SHIFT)
    ends = most + (np.int64(2 * abs(requant.y_zp) + 1) << (right - 1)) + 1
    plain = bool(
        np.all((shift <= -1) & (shift >= -MOST_PLAIN_SHIFT))
        and np.all(ends < 2**31)
        and np.all(magnitude * 128 < 2**31)
    )
    array = np.zeros(padded, CHANNEL)
    array["shift"] = 1
    array["offset"][: len(w)] = folded * mult + (1 << 30) if plain else folded
    array["mult"][: len(w)] = mult
    array["shift"][: len(w)] = right if plain else shift
    return Channels(plain, array, {"PLAIN": plain, "X_ZP": x_zp, **_clamp_ints(requant)})


def _clamp_ints(requant: Requant) -> dict[str, int | bool]:
    return {"Y_ZP": requant.y_zp, "ACT_MIN": requant.act_min, "ACT_MAX": requant.act_max}


def channel_tiles(channels: int) -> int:
    """Tiles of 16 channels that a warp computes at once: least padding, then as many as can be."""
    return min((4, 2, 1), key=lambda tiles: -(-channels // (16 * tiles)) * tiles)


def pack_dense(w: NDArray[np.int8], tiles: int) -> NDArray[np.int8]:
    """Weights (c_out, k) as the lanes of ``dense.cuh`` read them, one behind the other.

    A group is ``16 * tiles`` channels; row ``r`` of tile ``j`` is the group's channel
    ``2 * tiles * (r % 8) + 2 * j + r // 8``. For each group, piece of 64, tile and half piece, lane
    ``4 g + t`` reads 16 bytes: four of row ``g`` and four of row ``g + 8`` from ``16 t`` on (in the
    second half from ``16 t + 8``), then the four behind these. A last piece of at most 32 is one
    half, in which lanes begin at ``8 t``.
    """
    c_out, k = w.shape
    width = 16 * tiles
    groups = -(-c_out // width)
    pieces = (k + 31) // PIECE
    padded = np.zeros((groups * width, PIECE * (pieces + 1)), np.int8)
    padded[:c_out, :k] = w
    row = np.arange(16)
    channel = 2 * tiles * (row % 8) + row // 8 + 2 * np.arange(tiles)[:, None]
    ordered = padded.reshape(groups, width, -1)[:, channel]  # (groups, tiles, 16, k)
    whole = ordered[..., : PIECE * pieces].reshape(groups, tiles, 2, 8, pieces, 4, 2, 2, 4)
    # rows as (upper or lower, g), k as (piece, t, half, word, byte)
    parts = [whole.transpose(0, 4, 1, 6, 3, 5, 7, 2, 8).reshape(groups, -1)]
    if k > PIECE * pieces:
        last = ordered[..., PIECE * pieces : PIECE * pieces + 32]
        rows = last.reshape(groups, tiles, 2, 8, 4, 2, 4)
        parts.append(rows.transpose(0, 1, 3, 4, 5, 2, 6).reshape(groups, -1))
    return np.concatenate(parts, axis=1)


def emit_dense(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, w: DeviceWriter
) -> None:
    """Write ``dense``: an implicit matrix product."""
    x, weights, bias, y = node.input(0), node.input(1), node.optional(2), node.output
    n, oh, ow, c_out = y.shape
    flat = np.asarray(weights.data).reshape(c_out, -1)
    tiles = channel_tiles(c_out)
    groups = -(-c_out // (16 * tiles))
    pixels = w.samples * oh * ow * n
    # As many pixels as registers have room for, but no fewer warps than there are.
    pixel_tiles = next(
        p for p in PIXEL_TILES[tiles] if p == 1 or -(-pixels // (8 * p)) * groups * 32 >= w.threads
    )
    channels = channels_of(requant, flat, _data(bias), x_zp, groups * 16 * tiles)
    k = flat.shape[1]
    unit = next(u for u in (16, 8, 4, 1) if x.shape[3] % u == 0)
    shape_ints = window_ints(window, x, y)
    taps = window.kernel[0] * window.kernel[1]
    masked = bool(shape_ints["PADDED"]) and window.dilation == (1, 1) and taps <= MOST_MASKED
    ints = {
        **shape_ints, **channels.ints, "PADDING": w.paddings[x_zp], "MASKED": masked,
        "K": k, "FULL_K": k % 32 == 0,
        "CT": tiles, "PX": pixel_tiles, "UNIT": unit,
    }  # fmt: skip
    packed = pack_dense(flat, tiles)
    blobs = {"weights": packed, "channels": channels.array}
    work = -(-oh * ow * n // (8 * pixel_tiles)) * groups * 32
    w.op("dense", "dense", work, ints=ints, tensors={"x": x, "y": y}, blobs=blobs)


def pack_depthwise(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights (kh, kw, c) as ``depthwise.cuh`` reads them.

    Returns:
        (c / 4, kh, groups of 4 taps, 4 channels, 4 bytes): a channel's weights of four taps; where
        the kernel is one tap wide, its only weight at the channel's own byte.

    """
    kh, kw, c = w.shape
    groups = -(-kw // 4)
    packed = np.zeros((c // 4, kh, groups, 4, 4), np.int8)
    quads = w.reshape(kh, kw, c // 4, 4)
    for i in range(kw):
        for j in range(4):
            packed[:, :, i // 4, j, j if kw == 1 else i % 4] = quads[:, i, :, j].T
    return packed


def emit_depthwise(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, w: DeviceWriter
) -> None:
    """Write ``depthwise``: four channels and up to four rows of outputs per thread."""
    x, weights, bias, y = node.input(0), node.input(1), node.optional(2), node.output
    images, oh, ow, c = y.shape
    flat = np.asarray(weights.data)[0]
    channels = channels_of(requant, flat.reshape(-1, c).T, _data(bias), x_zp, c)
    units = w.samples * images * ow * (c // 4)
    rows = next(r for r in (4, 2, 1) if r == 1 or -(-oh // r) * units >= w.threads)
    ints = {**window_ints(window, x, y), **channels.ints, "R": rows}
    blobs = {"weights": pack_depthwise(flat), "channels": channels.array}
    work = images * -(-oh // rows) * ow * (c // 4)
    w.op("depthwise", "depthwise", work, ints=ints, tensors={"x": x, "y": y}, blobs=blobs)


def plain_channels(requant: Requant | WideRequant, bias: Array | None) -> Array:
    """Requantisation for plain kernels, which sum centred inputs."""
    array = np.zeros(len(requant.mult), CHANNEL)
    array["offset"] = 0 if bias is None else bias
    array["mult"] = requant.mult
    array["shift"] = requant.shift if isinstance(requant, Requant) else requant.right
    return array


def _plain_types(x: Value, y: Value, wide: bool) -> dict[str, str]:
    # Sums of int8 wrap around as registers do; those of int16 have 64 bits.
    acc = "i64" if wide or x.dtype is DType.INT16 else "i32"
    return {"X": C_TYPES[x.dtype], "Y": C_TYPES[y.dtype], "Acc": acc}


def emit_plain(
    kernel: str,
    node: BoundNode,
    ints: dict[str, int | bool],
    weights: Array,
    requant: Requant | WideRequant,
    w: DeviceWriter,
) -> None:
    """Write ``plain_convolution`` or ``transposed_convolution``: one output per thread.

    Args:
        kernel: which.
        node: the op.
        ints: what the kernel takes of shapes and the input's zero point.
        weights: (c_out, kh, kw, c_in / groups).
        requant: multipliers and clamp.
        w: the writer.

    """
    x, bias, y = node.input(0), node.optional(2), node.output
    wide = isinstance(requant, WideRequant)
    ints |= {
        "WIDE": wide,
        "Y_ZP": requant.y_zp if isinstance(requant, Requant) else 0,
        "ACT_MIN": requant.act_min,
        "ACT_MAX": requant.act_max,
    }
    blobs = {"weights": weights, "channels": plain_channels(requant, _data(bias))}
    types = _plain_types(x, y, wide)
    tensors = {"x": x, "y": y}
    w.op(kernel, "plain", y.size, ints=ints, tensors=tensors, types=types, blobs=blobs)


def emit_conv2d(node: BoundNode, p: Conv2dS8 | Conv2dS16, w: DeviceWriter) -> None:
    """Write a convolution: on the tensor cores, but for groups and int16."""
    x, weights, y = node.input(0), node.input(1), node.output
    window, requant, (_, x_zp) = p.window, p.requant, qparams(x)
    per_group = weights.shape[3]
    if x.dtype is DType.INT8 and per_group == x.shape[3] and isinstance(requant, Requant):
        emit_dense(node, window, x_zp, requant, w)
        return
    groups = x.shape[3] // per_group
    ints = {
        **window_ints(window, x, y), "C_GROUP": per_group,
        "PER_GROUP": y.shape[3] // groups, "X_ZP": x_zp,
    }  # fmt: skip
    emit_plain("plain_convolution", node, ints, np.asarray(weights.data), requant, w)


def emit_depthwise_conv2d(
    node: BoundNode, p: DepthwiseConv2dS8 | DepthwiseConv2dS16, w: DeviceWriter
) -> None:
    """Write a depthwise convolution: in registers, but for odd channels and int16."""
    x, weights, y = node.input(0), node.input(1), node.output
    window, requant, (_, x_zp) = p.window, p.requant, qparams(x)
    multiplier = y.shape[3] // x.shape[3]
    fits = x.dtype is DType.INT8 and multiplier == 1 and x.shape[3] % 4 == 0
    if fits and isinstance(requant, Requant):
        emit_depthwise(node, window, x_zp, requant, w)
        return
    ints = {
        **window_ints(window, x, y), "C_GROUP": 1,
        "PER_GROUP": multiplier, "X_ZP": x_zp,
    }  # fmt: skip
    per_channel = np.ascontiguousarray(np.asarray(weights.data).transpose(3, 1, 2, 0))
    emit_plain("plain_convolution", node, ints, per_channel, requant, w)


def emit_fully_connected(
    node: BoundNode, p: FullyConnectedS8 | FullyConnectedS16, w: DeviceWriter
) -> None:
    """Write a matrix product as a convolution of one tap over rows of ``k`` channels."""
    x, weights = node.input(0), node.input(1)
    requant, (_, x_zp) = p.requant, qparams(x)
    c_out, k = weights.shape
    rows = x.size // k
    window = Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0), (rows, 1))
    seen = _reshaped(node, (1, rows, 1, k), (1, rows, 1, c_out))
    if x.dtype is DType.INT8 and isinstance(requant, Requant):
        emit_dense(seen, window, x_zp, requant, w)
        return
    ints = {
        **window_ints(window, seen.input(0), seen.output),
        "C_GROUP": k, "PER_GROUP": c_out, "X_ZP": x_zp,
    }  # fmt: skip
    emit_plain("plain_convolution", seen, ints, np.asarray(weights.data), requant, w)


def _reshaped(node: BoundNode, x: Shape, y: Shape) -> BoundNode:
    """The node with its input and output in other shapes."""
    first, *others = node.inputs
    assert first is not None, "a dense layer has an input"
    output = replace(node.output, shape=y)
    return replace(node, inputs=(replace(first, shape=x), *others), outputs=(output,))


def emit_transpose_conv(
    node: BoundNode, p: TransposeConvS8 | TransposeConvS16, w: DeviceWriter
) -> None:
    """Write a transposed convolution; its window slides over the output."""
    x, weights, y = node.input(0), node.input(1), node.output
    attrs = node.attrs
    kernel = (weights.shape[1], weights.shape[2])
    window = Window.of(attrs.size, kernel, attrs.stride, attrs.padding)
    requant, (_, x_zp) = p.requant, qparams(x)
    ints = {
        "IMAGES": x.shape[0], "IH": x.shape[1], "IW": x.shape[2], "C": x.shape[3],
        "OH": y.shape[1], "OW": y.shape[2], "N": y.shape[3],
        "KH": window.kernel[0], "KW": window.kernel[1],
        "SY": window.stride[0], "SX": window.stride[1],
        "PT": window.before[0], "PL": window.before[1], "X_ZP": x_zp,
    }  # fmt: skip
    emit_plain("transposed_convolution", node, ints, np.asarray(weights.data), requant, w)


def emit_batch_matmul(node: BoundNode, p: BatchMatmulS8 | BatchMatmulS16, w: DeviceWriter) -> None:
    """Write a product of two activations."""
    a, b, y = node.input(0), node.input(1), node.output
    batch, (rows, columns) = y.shape[:-2], y.shape[-2:]
    inner = a.shape[-2 if p.attrs.adj_x else -1]
    steps = {
        "a": (rows if p.attrs.adj_x else 1, 1 if p.attrs.adj_x else inner, 0),
        "b": (1 if p.attrs.adj_y else columns, 0, inner if p.attrs.adj_y else 1),
    }
    functions = {}
    for name, value in (("a", a), ("b", b)):
        lead = (1,) * (len(batch) + 2 - len(value.shape)) + value.shape
        batches = [0 if d == 1 else s for d, s in zip(lead, strides_of(lead), strict=True)][:-2]
        walk = index_of((*batch, rows, columns), (*batches, *steps[name][1:]))
        functions[f"int {name}_at(int i)"] = walk if "i" in walk else f"(void)i, {walk}"
    wide = isinstance(p, BatchMatmulS16)
    low, high = (-32768, 32767) if wide else (-128, 127)
    channels = np.zeros(1, CHANNEL)
    channels["mult"], channels["shift"] = (
        p.mult,
        p.right if isinstance(p, BatchMatmulS16) else p.shift,
    )
    zeros = (0, 0, 0) if isinstance(p, BatchMatmulS16) else (p.a_zp, p.b_zp, p.y_zp)
    ints: dict[str, int | bool] = {
        "SIZE": y.size, "K": inner, "A_STEP": steps["a"][0], "B_STEP": steps["b"][0],
        "A_ZP": zeros[0], "B_ZP": zeros[1], "Y_ZP": zeros[2],
        "WIDE": wide, "ACT_MIN": low, "ACT_MAX": high,
    }  # fmt: skip
    w.op(
        "matrix_product",
        "plain",
        y.size,
        ints=ints,
        tensors={"a": a, "b": b, "y": y},
        types=_plain_types(a, y, wide),
        blobs={"channels": channels},
        functions=functions,
    )


def _data(value: Value | None) -> Array | None:
    return None if value is None else np.asarray(value.data)
