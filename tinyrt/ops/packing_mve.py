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
from tinyrt.ir import BoundNode
from tinyrt.ops.emit import (
    Fields,
    check_accumulator,
    nhwc,
    requant_fields,
    strides_of,
    window_fields,
)
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import CWriter
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
"""Bytes up to which a convolution copies a whole column of the image."""


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


def product_fields(
    c: CWriter, requant: Requant, w: NDArray[np.int8], bias: NDArray[np.int64], groups: int
) -> tuple[Fields, tuple[str, str]]:
    """``tinyrt_product_s8_params``, and the packed weights and bias.

    Args:
        c: the writer.
        requant: of all channels.
        w: filters (channels, length).
        bias: one per channel.
        groups: how many groups the channels form; each is padded for itself.

    """
    per_group = len(w) // groups
    parts = [slice(i, i + per_group) for i in range(0, len(w), per_group)]
    rest = padded(per_group, QUAD) - per_group
    packed_w = np.concatenate([pack_filters(w[part]).ravel() for part in parts])
    packed_bias = np.concatenate([np.pad(bias[part], (0, rest)) for part in parts])
    fields: Fields = {
        "length": w.shape[1],
        "c_out": per_group,
        "only_positive": int(only_positive(requant)),
        "requant": requant_fields(c, requant),
    }
    return fields, (c.packed("w", packed_w), c.packed("bias", packed_bias.astype(np.int32)))


def only_positive(requant: Requant) -> bool:
    """Whether results below zero are all clamped to the same output, and no exponent is positive.

    Their rounding does not matter then.
    """
    return requant.act_min >= requant.y_zp and bool(requant.shift.max() <= 0)


def emit_fully_connected(node: BoundNode, x_zp: int, requant: Requant, c: CWriter) -> None:
    """Write the call of ``tinyrt_fully_connected_s8``."""
    w, bias = constants(node, x_zp, channel_axis=0)
    product, packed = product_fields(c, requant, w, bias, groups=1)
    fields = {"rows": node.input(0).size // w.shape[1], "product": product}
    params = c.params("tinyrt_fully_connected_s8_params", fields)
    c.call(
        "tinyrt_fully_connected_s8",
        params,
        c.pointer(node.input(0)),
        *packed,
        c.pointer(node.output),
    )


def band_of(node: BoundNode, window: Window) -> int:
    """Outputs of a column that are computed from one copy of their input; 0: nothing is copied."""
    if window.kernel == (1, 1):
        return 0
    if window.dilation[0] != 1:
        return 1
    fitting = MOST_SCRATCH // row_bytes(node) - window.kernel[0]
    return max(1, min(window.out[0], 1 + fitting // window.stride[0]))


def row_bytes(node: BoundNode) -> int:
    """Bytes that one window reads of one row."""
    _, _, kernel_w, c_in = node.input(1).shape
    return kernel_w * c_in


def convolution_scratch(node: BoundNode, window: Window) -> int:
    """Bytes of the copy that ``tinyrt_conv2d_s8`` makes."""
    band = band_of(node, window)
    rows = (band - 1) * window.stride[0] + window.kernel[0]
    return rows * row_bytes(node) if band else 0


def emit_convolution(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, c: CWriter
) -> None:
    """Write the call of ``tinyrt_conv2d_s8``."""
    x, y = node.input(0), node.output
    w, bias = constants(node, x_zp, channel_axis=0)
    groups = x.shape[3] // w.shape[3]
    product, packed = product_fields(c, requant, w.reshape(len(w), -1), bias, groups)
    fields: Fields = {
        "x": nhwc(x.shape),
        "y": nhwc(y.shape),
        "window": window_fields(window),
        "groups": groups,
        "x_zp": x_zp,
        "band": band_of(node, window),
        "product": product,
    }
    params = c.params("tinyrt_conv2d_s8_params", fields)
    scratch = c.scratch() if convolution_scratch(node, window) else "NULL"
    c.call("tinyrt_conv2d_s8", params, c.pointer(x), *packed, scratch, c.pointer(y))


def lines_of(window: Window) -> tuple[int, int]:
    """Axes of a depthwise window's lines and points: (0, 1) for rows and columns, or (1, 0).

    The kernel computes two points of a line at once: lines go along the axis that wastes least.
    """

    def cost(axes: tuple[int, int]) -> tuple[int, int, int]:
        lines, points = axes
        pairs = window.out[lines] * -(-window.out[points] // 2)
        return pairs, window.out[lines], window.kernel[lines]

    return min(((0, 1), (1, 0)), key=cost)


def turned(window: Window) -> Window:
    """The window with lines and points as its rows and columns."""
    i, j = lines_of(window)
    pairs = (window.kernel, window.stride, window.dilation, window.before, window.after, window.out)
    return Window(*((pair[i], pair[j]) for pair in pairs))


def depthwise_line_bytes(window: Window) -> int:
    """Bytes that the copy of one line has, for a window that is turned."""
    reach = (window.out[1] - 1) * window.stride[1] + (window.kernel[1] - 1) * window.dilation[1]
    return (reach + 1) * LANES


def depthwise_extent(window: Window) -> int:
    """Lines from a window's first to its last."""
    return (window.kernel[0] - 1) * window.dilation[0] + 1


def depthwise_band(window: Window) -> int:
    """Output lines that are computed from one copy of their input, for a window that is turned."""
    fitting = MOST_DEPTHWISE_SCRATCH // depthwise_line_bytes(window) - depthwise_extent(window)
    return max(1, min(window.out[0], 1 + fitting // window.stride[0]))


def depthwise_scratch(window: Window) -> int:
    """Bytes of the copy that ``tinyrt_depthwise_conv2d_s8`` makes."""
    window = turned(window)
    lines = (depthwise_band(window) - 1) * window.stride[0] + depthwise_extent(window)
    return lines * depthwise_line_bytes(window)


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
    lined = turned(window)
    taps = w[0].transpose(i, j, 2).reshape(-1, w.shape[3])
    blocks = np.pad(taps, ((0, 0), (0, padded(w.shape[3], LANES) - w.shape[3])))
    fields: Fields = {
        "x": {"n": x.shape[0], "h": x.shape[1 + i], "w": x.shape[1 + j], "c": x.shape[3]},
        "y": {"n": y.shape[0], "h": y.shape[1 + i], "w": y.shape[1 + j], "c": y.shape[3]},
        "x_line_step": strides_of(x.shape)[1 + i],
        "x_point_step": strides_of(x.shape)[1 + j],
        "y_line_step": strides_of(y.shape)[1 + i],
        "y_point_step": strides_of(y.shape)[1 + j],
        "window": window_fields(lined),
        "x_zp": x_zp,
        "band": depthwise_band(lined),
        # Only two products of -128 and -128 have a sum that needs more than 16 bits.
        "tap_pairs": int(((taps == INT8_MIN).sum(axis=0) < 2).all()),
        "only_positive": int(only_positive(requant)),
        "requant": depthwise_requant(requant, c),
    }
    params = c.params("tinyrt_depthwise_conv2d_s8_params", fields)
    packed_w = c.packed("w", blocks.reshape(len(taps), -1, LANES).transpose(1, 0, 2))
    packed_bias = c.packed("bias", evens_first(bias).astype(np.int32))
    pointers = (c.pointer(x), packed_w, packed_bias, c.scratch(), c.pointer(y))
    c.call("tinyrt_depthwise_conv2d_s8", params, *pointers)
