"""Weights and constants in the order in which kernels with vectors read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.general import axes_of_a_channel, check_accumulator
from tinyrt.backends.c.kernel import Fields
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, wrap_int32
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.walks import strides_of
from tinyrt.ops.shared.window import Window

VECTOR = 16
"""Bytes of a vector."""

QUAD = 4
"""Output channels that a product computes at once: int32 lanes of a vector."""

LANES = 8
"""Channels that a depthwise convolution computes at once: int16 lanes of a vector."""

Axes = tuple[int, int]
"""Axes of lines and points: (0, 1) for rows and columns, or (1, 0)."""


def constants(node: BoundNode, x_zp: int) -> tuple[Any, NDArray[np.int64]]:
    """Weights, and the bias with the input's zero point folded in.

    Raises:
        UnsupportedError: weights are computed at run time, or an accumulator could overflow.

    """
    check_accumulator(node, x_zp)
    w, bias = node.input(1), node.optional(2)
    weights = np.asarray(w.data)
    first = 0 if bias is None else np.asarray(bias.data, np.int64)
    return weights, np.asarray(
        first - x_zp * weights.sum(axis=axes_of_a_channel(node), dtype=np.int64)
    )


def padded(size: int, multiple: int) -> int:
    """The next multiple."""
    return -(-size // multiple) * multiple


def pack_filters(w: NDArray[np.int8], block: int = VECTOR) -> NDArray[np.int8]:
    """Filters (channels, length) as (channels / 4, blocks, 4, block), padded with zeros.

    Args:
        w: weights.
        block: as many as a vector has activations.

    """
    channels, length = w.shape
    before, after = padded(length, block) - length, padded(channels, QUAD) - channels
    full = np.pad(w, ((0, after), (before, 0)))
    return full.reshape(-1, QUAD, full.shape[1] // block, block).transpose(0, 2, 1, 3)


def whole_quads(sums: NDArray[np.int64]) -> NDArray[np.int32]:
    """First sums (..., channels), padded with zeros to a multiple of four; they wrap."""
    rest = padded(sums.shape[-1], QUAD) - sums.shape[-1]
    return wrap_int32(np.pad(sums, ((0, 0),) * (sums.ndim - 1) + ((0, rest),))).astype(np.int32)


def pack_filters_s4(w: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """Filters of four bits as (channels / 4, blocks, 2, 16) bytes, two of a kind to a byte.

    A byte is ``16 * w1 + w0``.

    Returns:
        None where a byte does not hold that sum: -8 beside a negative weight.

    """
    wide = pack_filters(w).astype(np.int16)
    two = 16 * wide[:, :, 1::2] + wide[:, :, 0::2]
    return two.astype(np.int8) if two.min() >= INT8_MIN else None


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


def rounding(requant: Requant) -> int:
    """How ``tinyrt_product_s8_params`` rounds: 0, 1 or 2, the fastest that gives these outputs."""
    if (requant.act_min, requant.act_max) != (INT8_MIN, INT8_MAX):
        return 2
    if only_positive(requant):
        return 0
    return 1 if requant.shift.max() < 0 else 2


def product_fields(length: int, c_out: int, requant: Requant) -> Fields:
    """``tinyrt_product_s8_params``, of filters of so many bytes for each of a group's channels."""
    return {
        "length": length,
        "c_out": c_out,
        "rounding": rounding(requant),
        "y_zp": requant.y_zp,
        "act_min": requant.act_min,
        "act_max": requant.act_max,
    }


def pack_scales(
    bias: NDArray[np.int64], mult: NDArray[np.int32], shift: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Words (channels / 4, 9): four biases, four mantissas, and a word of bytes with the shifts."""
    rest = padded(len(bias), QUAD) - len(bias)
    biases, mantissas = (whole_quads(v.astype(np.int64)).reshape(-1, QUAD) for v in (bias, mult))
    shifts = np.pad(shift.astype(np.int8), (0, rest)).view("<i4").astype(np.int32)
    return np.concatenate([biases, mantissas, shifts[:, None]], axis=1)


def turned(window: Window, axes: Axes) -> Window:
    """The window with lines and points as its rows and columns."""
    i, j = axes
    pairs = (window.kernel, window.stride, window.dilation, window.before, window.after, window.out)
    kernel, stride, dilation, before, after, out = ((pair[i], pair[j]) for pair in pairs)
    return Window(kernel, stride, dilation, before, after, out, window.on_rows)


def turned_fields(node: BoundNode, axes: Axes) -> Fields:
    """Shapes and steps with lines and points as height and width."""
    i, j = axes
    shapes = (("x", node.input(0).shape), ("y", node.output.shape))
    fields: Fields = {}
    for name, shape in shapes:
        fields[name] = {"n": shape[0], "h": shape[1 + i], "w": shape[1 + j], "c": shape[3]}
    for name, shape in shapes:
        fields[f"{name}_line_step"] = strides_of(shape)[1 + i]
        fields[f"{name}_point_step"] = strides_of(shape)[1 + j]
    return fields


def lines_of(window: Window) -> Axes:
    """Axes of a window's lines and points.

    The kernels compute two points at once: of two lines, or both of the last line. Lines go along
    the axis that wastes least. For a few rows, whose number may change from call to call, lines go
    along the rows.
    """
    if window.on_rows:
        return 0, 1

    def cost(axes: Axes) -> tuple[int, int, int, int]:
        lines, points = axes
        pairs = point_pairs(window.out[lines], window.out[points])
        # Of a line's taps two are read at once, and lines of one tap are the dearest.
        alone = window.kernel[lines] if window.kernel[points] == 1 else 1
        return pairs, alone, window.out[lines], window.kernel[lines]

    return min(((0, 1), (1, 0)), key=cost)


def point_pairs(lines: int, points: int) -> int:
    """How often the depthwise kernel computes two points: those of a last line are side by side."""
    return lines // 2 * points + lines % 2 * -(-points // 2)
