"""Weights, constants and calls of the kernels for cores with MVE.

A vector instruction multiplies 16 weights with 16 activations and adds the products to one sum, so
a dense layer or convolution is packed in the order in which its windows lie in memory: 16 weights
of each of four output channels, then the next 16. The first block is filled up in front, with zero
weights, and the activations of its idle lanes are not read.

The input's zero point is folded into the bias: ``bias - x_zp * sum(w)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MIN
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.emit import (
    Fields,
    check_accumulator,
    requant_fields,
    strides_of,
    window_fields,
)
from tinyrt.ops.packing_s4 import pack_nibbles
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import CWriter
from tinyrt.ops.sweep import Sweep, columns, row_bands, whole_images, windows
from tinyrt.ops.window import Window

VECTOR = 16
"""Bytes of a vector."""

QUAD = 4
"""Output channels that a product computes at once: int32 lanes of a vector."""

LANES = 8
"""Channels that a depthwise convolution computes at once: int16 lanes of a vector."""

MOST_DEPTHWISE_SCRATCH = 4096
"""Bytes up to which a depthwise convolution copies eight channels of the whole image."""

MOST_SCRATCH = 2048
"""Bytes that a convolution copies at once, if one window is not more."""

MOST_PIXELS = 4096
"""Bytes that a pointwise convolution copies at once."""


def constants(node: BoundNode, x_zp: int, channel_axis: int) -> tuple[Any, NDArray[np.int64]]:
    """Weights, and the bias with the input's zero point folded in.

    Raises:
        UnsupportedError: weights are computed at run time, or an accumulator could overflow.

    """
    check_accumulator(node, x_zp, channel_axis)
    w, bias = node.input(1), node.optional(2)
    weights = np.asarray(w.data)
    others = tuple(i for i in range(weights.ndim) if i != channel_axis)
    first = 0 if bias is None else np.asarray(bias.data, np.int64)
    return weights, np.asarray(first - x_zp * weights.sum(axis=others, dtype=np.int64))


def padded(size: int, multiple: int) -> int:
    """The next multiple."""
    return -(-size // multiple) * multiple


def pack_filters(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Filters (channels, length) as (channels / 4, blocks, 4, 16), padded with zeros."""
    channels, length = w.shape
    before, after = padded(length, VECTOR) - length, padded(channels, QUAD) - channels
    full = np.pad(w, ((0, after), (before, 0)))
    return full.reshape(-1, QUAD, full.shape[1] // VECTOR, VECTOR).transpose(0, 2, 1, 3)


def pack_filters_s4(w: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """Filters of four bits as (channels / 4, blocks, 2, 16) bytes, two of a kind to a byte.

    A byte is ``16 * w1 + w0``.

    Returns:
        None where a byte does not hold that: -8 beside a weight below zero.

    """
    wide = pack_filters(w).astype(np.int16)
    two = 16 * wide[:, :, 1::2] + wide[:, :, 0::2]
    return two.astype(np.int8) if two.min() >= INT8_MIN else None


def product_fields(
    c: CWriter, node: BoundNode, requant: Requant, w: NDArray[np.int8], bias: NDArray[np.int64]
) -> tuple[int, Fields, tuple[str, str]]:
    """A weight's bits, ``tinyrt_product_s8_params``, and the packed weights and bias.

    Args:
        c: the writer.
        node: the convolution or dense layer.
        requant: of all channels.
        w: filters (channels, length).
        bias: one per channel.

    """
    groups = node.input(0).shape[3] // node.input(1).shape[3] if node.op == "conv2d" else 1
    per_group = len(w) // groups
    parts = [slice(i, i + per_group) for i in range(0, len(w), per_group)]
    rest = padded(per_group, QUAD) - per_group
    bits, filters = packed_filters(node, [w[part] for part in parts])
    packed_w = np.concatenate([part.ravel() for part in filters])
    packed_bias = np.concatenate([np.pad(bias[part], (0, rest)) for part in parts])
    fields: Fields = {
        "length": w.shape[1],
        "c_out": per_group,
        "only_positive": int(only_positive(requant)),
        "requant": requant_fields(c, requant),
    }
    return bits, fields, (c.packed("w", packed_w), c.packed("bias", packed_bias.astype(np.int32)))


def packed_filters(
    node: BoundNode, parts: list[NDArray[np.int8]]
) -> tuple[int, list[NDArray[np.int8]]]:
    """How many bits a weight takes, and the packed filters of each group."""
    if node.input(1).dtype is DType.INT4:
        narrow = [packed for part in parts if (packed := pack_filters_s4(part)) is not None]
        if len(narrow) == len(parts):
            return 4, narrow
    return 8, [pack_filters(part) for part in parts]


def only_positive(requant: Requant) -> bool:
    """Whether results below zero are all clamped to the same output, and no exponent is positive.

    Their rounding does not matter then.
    """
    return requant.act_min >= requant.y_zp and bool(requant.shift.max() <= 0)


def dense_scratch(node: BoundNode) -> int:
    """None: rows are read where they lie."""
    del node
    return 0


def emit_fully_connected(node: BoundNode, x_zp: int, requant: Requant, c: CWriter) -> None:
    """Write the call of ``tinyrt_fully_connected_s8``."""
    w, bias = constants(node, x_zp, channel_axis=0)
    bits, product, packed = product_fields(c, node, requant, w, bias)
    fields = {"rows": node.input(0).size // w.shape[1], "product": product}
    params = c.params("tinyrt_fully_connected_s8_params", fields)
    c.call(
        f"tinyrt_fully_connected_s{bits}",
        params,
        c.pointer(node.input(0)),
        *packed,
        c.pointer(node.output),
    )


def convolution_lines(window: Window) -> tuple[int, int]:
    """Axes of a convolution's lines and points; rows and columns where nothing is copied."""
    return (0, 1) if window.kernel == (1, 1) else lines_of(window)


def points_at_once(node: BoundNode, window: Window) -> int:
    """Points of an output line that are computed together."""
    if window.kernel == (1, 1):
        return pixels_at_once(node, window)
    lines, points = convolution_lines(window)
    if window.dilation[points] != 1:
        return 1
    fitting = MOST_SCRATCH // (window.kernel[lines] * node.input(1).shape[3])
    together = 1 + (fitting - window.kernel[points]) // window.stride[points]
    return max(1, min(window.out[points], together))


def pixels_at_once(node: BoundNode, window: Window) -> int:
    """Pixels of a pointwise convolution for which the weights are read once.

    All of a line with strides, all of a small image or a few rows, and all with groups, which come
    one after the other. Otherwise as many as are copied, so that the output may overwrite the
    input.
    """
    x, y = node.input(0), node.output
    if window.stride != (1, 1):
        return window.out[1]
    pixels = window.out[0] * window.out[1]
    if window.on_rows or max(x.size, y.size) <= MOST_PIXELS or x.shape[3] != node.input(1).shape[3]:
        return pixels
    parts = -(-pixels * x.shape[3] // MOST_PIXELS)
    return padded(-(-pixels // parts), 2)


def convolution_scratch(node: BoundNode, window: Window) -> int:
    """Bytes of the copy that ``tinyrt_conv2d_s8`` makes."""
    c_in = node.input(1).shape[3]
    at_once = points_at_once(node, window)
    if window.kernel == (1, 1):
        copied = window.stride == (1, 1) and at_once < window.out[0] * window.out[1]
        return at_once * c_in if copied else 0
    lines, points = convolution_lines(window)
    read = (at_once - 1) * window.stride[points] + window.kernel[points]
    return read * window.kernel[lines] * c_in


def convolution_sweep(node: BoundNode, window: Window) -> Sweep | None:
    """Rows from the front, or some pixels of a pointwise convolution.

    Columns and groups come one after the other over the whole image.
    """
    x, w, y = node.input(0), node.input(1), node.output
    at_once = points_at_once(node, window)
    if x.shape[3] != w.shape[3] or convolution_lines(window) != (0, 1):
        return None
    if window.kernel == (1, 1) and window.stride == (1, 1):
        steps = columns(node, y.size // y.shape[3], at_once)
        return steps if convolution_scratch(node, window) else None
    copied = window.kernel != (1, 1) and at_once == window.out[1]
    return windows(node, window, reads_first=copied)


def turned_fields(node: BoundNode, axes: tuple[int, int]) -> Fields:
    """Shapes and steps with lines and points as height and width."""
    i, j = axes
    fields: Fields = {}
    for name, shape in (("x", node.input(0).shape), ("y", node.output.shape)):
        fields[name] = {"n": shape[0], "h": shape[1 + i], "w": shape[1 + j], "c": shape[3]}
    for name, shape in (("x", node.input(0).shape), ("y", node.output.shape)):
        fields[f"{name}_line_step"] = strides_of(shape)[1 + i]
        fields[f"{name}_point_step"] = strides_of(shape)[1 + j]
    return fields


def emit_convolution(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, c: CWriter
) -> None:
    """Write the call of ``tinyrt_conv2d_s8``."""
    x, y = node.input(0), node.output
    w, bias = constants(node, x_zp, channel_axis=0)
    i, j = convolution_lines(window)
    filters = w.transpose(0, 1 + j, 1 + i, 3).reshape(len(w), -1)
    bits, product, packed = product_fields(c, node, requant, filters, bias)
    fields: Fields = {
        **turned_fields(node, (i, j)),
        "window": window_fields(turned(window, (i, j))),
        "groups": x.shape[3] // w.shape[3],
        "x_zp": x_zp,
        "at_once": points_at_once(node, window),
        "product": product,
    }
    params = c.params("tinyrt_conv2d_s8_params", fields)
    scratch = c.scratch() if convolution_scratch(node, window) else "NULL"
    c.call(f"tinyrt_conv2d_s{bits}", params, c.pointer(x), *packed, scratch, c.pointer(y))


def lines_of(window: Window) -> tuple[int, int]:
    """Axes of a depthwise window's lines and points: (0, 1) for rows and columns, or (1, 0).

    The kernel computes two points at once, of two lines or of the last one: lines go along the axis
    that wastes least; of a few rows, whose number may change from call to call, along those.
    """
    if window.on_rows:
        return 0, 1

    def cost(axes: tuple[int, int]) -> tuple[int, int, int]:
        lines, points = axes
        pairs = point_pairs(window.out[lines], window.out[points])
        return pairs, window.out[lines], window.kernel[lines]

    return min(((0, 1), (1, 0)), key=cost)


def point_pairs(lines: int, points: int) -> int:
    """How often the depthwise kernel computes two points: those of a last line are side by side."""
    return lines // 2 * points + lines % 2 * -(-points // 2)


def turned(window: Window, axes: tuple[int, int]) -> Window:
    """The window with lines and points as its rows and columns."""
    i, j = axes
    pairs = (window.kernel, window.stride, window.dilation, window.before, window.after, window.out)
    kernel, stride, dilation, before, after, out = ((pair[i], pair[j]) for pair in pairs)
    return Window(kernel, stride, dilation, before, after, out, window.on_rows)


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
    fitting = MOST_DEPTHWISE_SCRATCH // depthwise_line_bytes(window) - depthwise_extent(window)
    most = max(1, 1 + fitting // window.stride[0])
    return most if window.on_rows else min(window.out[0], most)


def depthwise_scratch(node: BoundNode, window: Window) -> int:
    """Bytes of the copy that ``tinyrt_depthwise_conv2d_s8`` makes."""
    window = turned(window, lines_of(window))
    band = min(depthwise_band(window), window.out[0])
    lines = (band - 1) * window.stride[0] + depthwise_extent(window)
    widened = window.kernel[0] * window.kernel[1] * LANES
    return lines * depthwise_line_bytes(window) + (widened if depthwise_bits(node) == 4 else 0)


def depthwise_bits(node: BoundNode) -> int:
    """Bits of a weight as the kernel reads it."""
    return 4 if node.input(1).dtype is DType.INT4 else 8


def in_halves(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights of four bits (blocks, ...): of each block the first half in low nibbles."""
    low, high = np.split(w.reshape(len(w), -1), 2, axis=1)
    return np.stack([low, high], axis=2)


def depthwise_sweep(node: BoundNode, window: Window) -> Sweep | None:
    """Eight channels at a time: the input lines of a band, then its output lines.

    Channels keep apart, so that each is a plane. Lines that are columns have a sweep only where
    one band is the whole image.
    """
    x, y = node.input(0), node.output
    lined = turned(window, lines_of(window))
    band = depthwise_band(lined)
    if x.shape[3] != y.shape[3]:
        return None
    if band == lined.out[0]:
        return whole_images(node)
    return row_bands(node, window, band) if lines_of(window) == (0, 1) else None


def evens_first(channels: NDArray[Any]) -> NDArray[Any]:
    """One number per channel, of every eight the even ones before the odd ones; zeros added."""
    eights = np.pad(channels, (0, padded(len(channels), LANES) - len(channels))).reshape(-1, LANES)
    return np.concatenate([eights[:, 0::2], eights[:, 1::2]], axis=1).ravel()


def depthwise_requant(requant: Requant, c: CWriter) -> Fields:
    """``tinyrt_requant_params`` with channels as ``evens_first`` puts them."""
    mult, shift = evens_first(requant.mult), evens_first(requant.shift)
    alike = len(set(zip(requant.mult.tolist(), requant.shift.tolist(), strict=True))) == 1
    if alike:
        mult, shift = np.repeat(mult[:1], LANES), np.repeat(shift[:1], LANES)
    return {
        "mult": c.array("int32_t", "mult", mult),
        "shift": c.array("int8_t", "shift", shift),
        "step": 0 if alike else 1,
        "y_zp": requant.y_zp,
        "act_min": requant.act_min,
        "act_max": requant.act_max,
    }


def emit_depthwise(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, c: CWriter
) -> None:
    """Write the call of ``tinyrt_depthwise_conv2d_s8``."""
    x, y = node.input(0), node.output
    w, bias = constants(node, x_zp, channel_axis=3)
    i, j = lines_of(window)
    lined = turned(window, lines_of(window))
    taps = w[0].transpose(i, j, 2).reshape(-1, w.shape[3])
    blocks = np.pad(taps, ((0, 0), (0, padded(w.shape[3], LANES) - w.shape[3])))
    fields: Fields = {
        **turned_fields(node, (i, j)),
        "window": window_fields(lined),
        "x_zp": x_zp,
        "band": depthwise_band(lined),
        # Only two products of -128 and -128 have a sum that needs more than 16 bits.
        "tap_pairs": int(((taps == INT8_MIN).sum(axis=0) < 2).all()),
        "only_positive": int(only_positive(requant)),
        "requant": depthwise_requant(requant, c),
    }
    params = c.params("tinyrt_depthwise_conv2d_s8_params", fields)
    bits = depthwise_bits(node)
    eights = blocks.reshape(len(taps), -1, LANES).transpose(1, 0, 2)
    packed_w = c.packed("w", pack_nibbles(in_halves(eights)) if bits == 4 else eights)
    packed_bias = c.packed("bias", evens_first(bias).astype(np.int32))
    pointers = (c.pointer(x), packed_w, packed_bias, c.scratch(), c.pointer(y))
    c.call(f"tinyrt_depthwise_conv2d_s{bits}", params, *pointers)
