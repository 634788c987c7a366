"""How int8 convolutions are written for a GPU: packed for tensor cores, or depthwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.cuda.fold import fold
from tinyrt.backends.cuda.writer import DeviceWriter
from tinyrt.ir import BoundNode, Value
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.spec import Array
from tinyrt.ops.shared.window import Window

PIECE = 64
"""Elements of a row that a warp multiplies at once: two products of 32."""

MAX_PLAIN_SHIFT = 31

GENERAL, PLAIN, FOLDED = range(3)
"""``FORM`` of ``requant.cuh``."""

PIXEL_TILES = {1: (4, 2, 1), 2: (4, 2, 1), 4: (2, 1)}
"""Tiles of 8 pixels that a warp may compute at once, by tiles of channels."""

MAX_MASKED = 31
"""Taps whose presence fits one register, one bit each."""

CHANNEL = np.dtype([("offset", "<i8"), ("mult", "<u4"), ("shift", "<i4")])
"""One output channel's constants; ``Channel`` of ``requant.cuh``."""


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
        form: ``FOLDED``, ``PLAIN`` or ``GENERAL`` of ``requant.cuh``: the shortest that is exact
            for all of them.
        array: one ``CHANNEL`` each, padded.
        ints: constants of the struct.

    """

    form: int
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
    biases = np.zeros(len(w), np.int64) if bias is None else bias.astype(np.int64)
    folded = biases - x_zp * wide.sum(axis=1)
    magnitude = np.abs(wide).sum(axis=1)
    mult = requant.mult.astype(np.int64)
    shift = np.where(mult == 0, -1, requant.shift.astype(np.int64))
    most = np.abs(biases) + magnitude * max(abs(-128 - x_zp), abs(127 - x_zp))
    rounding = np.clip(-shift, 1, MAX_PLAIN_SHIFT)
    ends = most + (np.int64(2 * abs(requant.y_zp) + 1) << (rounding - 1)) + 1
    plain = bool(np.all((shift <= -1) & (shift >= -MAX_PLAIN_SHIFT)) and np.all(ends < 2**31))
    array = np.zeros(padded, CHANNEL)
    array["shift"] = 1
    own = array[: len(w)]
    folded_form = fold(requant, folded, *_reach(wide))
    if folded_form is not None:
        form, own["mult"] = FOLDED, folded_form.mult
        own["offset"] = folded_form.offset - (folded_form.mult.astype(np.int64) << 31)
    elif plain:
        # Twice the product, whose upper word is then the doubling one; it may wrap around.
        form, own["mult"], own["shift"] = PLAIN, 2 * mult, rounding
        own["offset"] = 2 * (folded * mult + (1 << 30)) - (mult << 32)
    else:
        form, own["offset"], own["mult"], own["shift"] = GENERAL, folded, mult, shift
    right = 0 if folded_form is None else folded_form.right
    ints = {"FORM": form, "RIGHT": right, "X_ZP": x_zp, **_clamp_ints(requant)}
    return Channels(form, array, ints)


def _reach(w: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least and the greatest sum of products with int8, per row."""
    above, below = np.maximum(w, 0).sum(axis=1), np.minimum(w, 0).sum(axis=1)
    return -128 * above + 127 * below, 127 * above - 128 * below


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


def pixel_table(window: Window, x: Value) -> NDArray[np.int32]:
    """Where each output pixel's first tap lies, and which of its taps lie inside, a bit each."""
    (_, ih, iw, c), (kh, kw) = x.shape, window.kernel
    rows, columns = (
        np.arange(out) * stride - before
        for out, stride, before in zip(window.out, window.stride, window.before, strict=True)
    )
    offsets = (rows[:, None] * iw + columns) * c
    inside = ((rows[:, None] + np.arange(kh)) % (1 << 31) < ih)[:, None, :, None] & (
        (columns[:, None] + np.arange(kw)) % (1 << 31) < iw
    )[None, :, None, :]  # (oh, ow, kh, kw)
    bits = inside.reshape(*offsets.shape, kh * kw) @ (1 << np.arange(kh * kw))
    return np.stack([offsets, bits], axis=-1).astype(np.int32)


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
    channels = channels_of(requant, flat, data_of(bias), x_zp, groups * 16 * tiles)
    k = flat.shape[1]
    unit = next(u for u in (16, 8, 4, 1) if x.shape[3] % u == 0)
    shape_ints = window_ints(window, x, y)
    taps = window.kernel[0] * window.kernel[1]
    masked = bool(shape_ints["PADDED"]) and window.dilation == (1, 1) and taps <= MAX_MASKED
    ints = {
        **shape_ints, **channels.ints, "PADDING": w.paddings[x_zp], "MASKED": masked,
        "K": k, "FULL_K": k % 32 == 0,
        "CT": tiles, "PX": pixel_tiles, "UNIT": unit,
    }  # fmt: skip
    packed = pack_dense(flat, tiles)
    blobs = {"weights": packed, "channels": channels.array}
    if masked:
        blobs["pixels"] = pixel_table(window, x)
    # Tiles hold pixels of all samples: a sample's share of them.
    work = -(-(-(-pixels // (8 * pixel_tiles)) * groups * 32) // w.samples)
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
    channels = channels_of(requant, flat.reshape(-1, c).T, data_of(bias), x_zp, c)
    units = w.samples * images * ow * (c // 4)
    rows = next(r for r in (4, 2, 1) if r == 1 or -(-oh // r) * units >= w.threads)
    ints = {**window_ints(window, x, y), **channels.ints, "R": rows}
    blobs = {"weights": pack_depthwise(flat), "channels": channels.array}
    work = images * -(-oh // rows) * ow * (c // 4)
    w.op("depthwise", "depthwise", work, ints=ints, tensors={"x": x, "y": y}, blobs=blobs)


def data_of(value: Value | None) -> Array | None:
    """A constant's array, where there is one."""
    return None if value is None else np.asarray(value.data)
