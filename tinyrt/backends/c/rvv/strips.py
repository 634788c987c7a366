"""Convolutions and dense layers on RISC-V cores with vectors: output channels come in strips.

Weights lie tap by tap, with all channels of a tap side by side, so that registers of any length
read them. The products of two taps are added in halves before they are added to words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.fields import nhwc, window_fields
from tinyrt.backends.c.kernel import Calls, Data, Fields, Kernel, Params, Scratch, call
from tinyrt.backends.c.mve.packing import constants
from tinyrt.fixedpoint import INT8_MIN, INT16_MAX, wrap_int32
from tinyrt.ir import BoundNode, DType
from tinyrt.memory.sweep import Sweep, columns, limited, windows
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

AT_ONCE = 2
"""Taps whose products are added in halves."""

FEW, MOST_PIXELS = 16, 4
"""Channels up to which so many pixels are computed at once; of more channels, two."""


def fit_pairs(taps: NDArray[np.int8]) -> bool:
    """Whether halves hold the products of every two neighbours of each row, whatever they meet.

    Args:
        taps: weights (rows, run, channels).

    """
    size = np.abs(taps.astype(np.int32))
    even = taps.shape[1] // AT_ONCE * AT_ONCE
    pairs = size[:, :even].reshape(len(size), -1, AT_ONCE, size.shape[2]).sum(axis=2)
    return bool(pairs.max(initial=0) * -INT8_MIN <= INT16_MAX)


def _taps(node: BoundNode, window: Window) -> NDArray[np.int8] | None:
    """Weights (kernel_h, kernel_w * c_in, c_out) of a convolution, if these kernels take them."""
    w = node.input(1)
    if w.data is None or w.dtype is not DType.INT8:
        return None
    taps = np.asarray(w.data).transpose(1, 2, 3, 0).reshape(window.kernel[0], -1, w.shape[0])
    whole = taps.reshape(1, -1, w.shape[0])
    return taps if fit_pairs(taps) and fit_pairs(whole) else None


def _strips(node: BoundNode, x_zp: int, requant: Requant, rows: int, run: int, gap: int) -> Fields:
    _, bias = constants(node, x_zp)
    c_out = len(requant.mult)
    return {
        "rows": rows,
        "run": run,
        "gap": gap,
        "c_out": c_out,
        "stride": c_out,
        "bias": Data("bias", wrap_int32(bias).astype(np.int32)),
        "mult": Data("mult", np.asarray(requant.mult, np.int32)),
        "shift": Data("shift", np.asarray(requant.shift).astype(np.int8)),
        "y_zp": requant.y_zp,
        "act_min": requant.act_min,
        "act_max": requant.act_max,
    }


def pixels_at_once(channels: int, left: int) -> int:
    """How many of the neighbouring pixels that are left are computed at once."""
    return MOST_PIXELS if channels <= FEW and left >= MOST_PIXELS else min(left, 2)


def dense_kernel(node: BoundNode, x_zp: int, requant: Requant) -> Kernel | None:
    """The kernel ``tinyrt_dense_strips_s8``; None for weights that it does not take."""
    w = node.input(1)
    c_in = w.size // w.shape[0]
    if w.data is None or w.dtype is not DType.INT8:
        return None
    taps = np.asarray(w.data).reshape(1, w.shape[0], c_in).transpose(0, 2, 1)
    if not fit_pairs(taps):
        return None
    rows = node.input(0).size // c_in

    def calls() -> Calls:
        fields: Fields = {"rows": rows, "strips": _strips(node, x_zp, requant, 1, c_in, 0)}
        params = Params("tinyrt_dense_strips_s8_params", fields)
        data = Data("w", np.ascontiguousarray(taps[0]))
        return (call("tinyrt_dense_strips_s8", params, node.input(0), data, node.output),)

    def sweep() -> Sweep | None:
        # Each strip of channels reads all of these rows.
        steps = columns(node, rows, pixels_at_once(w.shape[0], rows))
        return steps and limited(step._replace(reads_first=False) for step in steps)

    return Kernel(calls, sweep=sweep)


def convolution_kernel(
    node: BoundNode, window: Window, x_zp: int, requant: Requant
) -> Kernel | None:
    """The kernel ``tinyrt_conv2d_strips_s8``, or that of a dense layer for single pixels."""
    if window.kernel == (1, 1) and window.stride == (1, 1):
        return dense_kernel(node, x_zp, requant)
    taps = _taps(node, window)
    if taps is None:
        return None
    x, (rows, run) = node.input(0), taps.shape[:2]

    def calls() -> Calls:
        strips = _strips(node, x_zp, requant, rows, run, x.shape[2] * x.shape[3] - run)
        fields = _image_fields(node, window, x_zp, strips)
        params = Params("tinyrt_conv2d_strips_s8_params", fields)
        data = Data("w", np.ascontiguousarray(taps.reshape(rows * run, -1)))
        return (call("tinyrt_conv2d_strips_s8", params, x, data, Scratch(), node.output),)

    copies = pixels_at_once(node.output.shape[3], node.output.shape[2])
    return Kernel(calls, copies * rows * run, _by_rows(node, window))


def depthwise_kernel(node: BoundNode, window: Window, x_zp: int, requant: Requant) -> Kernel | None:
    """The kernel ``tinyrt_depthwise_strips_s8``; None for layers that it does not take."""
    x, w, channels = node.input(0), node.input(1), node.output.shape[3]
    if w.data is None or w.dtype is not DType.INT8 or x.shape[3] != channels:
        return None
    taps = np.asarray(w.data).reshape(-1, channels)
    if not fit_pairs(taps[None]):
        return None

    def calls() -> Calls:
        strips = _strips(node, x_zp, requant, len(taps), channels, 0)
        places = Data("places", _places(window, x.shape), "int32_t")
        fields = _image_fields(node, window, x_zp, strips) | {"places": places}
        params = Params("tinyrt_conv2d_strips_s8_params", fields)
        data = Data("w", np.ascontiguousarray(taps))
        return (call("tinyrt_depthwise_strips_s8", params, x, data, Scratch(), node.output),)

    return Kernel(calls, taps.size, _by_rows(node, window))


def _by_rows(node: BoundNode, window: Window) -> Callable[[], Sweep | None]:
    return lambda: windows(node, window)


def _image_fields(node: BoundNode, window: Window, x_zp: int, strips: Fields) -> Fields:
    return {
        "x": nhwc(node.input(0).shape),
        "y": nhwc(node.output.shape),
        "window": window_fields(window),
        "x_zp": x_zp,
        "in_place": int(window.dilation == (1, 1)),
        "strips": strips,
    }


def _places(window: Window, x: tuple[int, ...]) -> NDArray[Any]:
    """Where each tap lies in an image, and in a copy."""
    (high, wide), (down, across), (_, _, width, channels) = window.kernel, window.dilation, x
    lines, points = np.mgrid[:high, :wide]
    image = (lines * down * width + points * across).ravel() * channels
    copy = np.arange(high * wide) * channels
    return np.concatenate([image, copy]).astype(np.int32)
