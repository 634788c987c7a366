"""Depthwise convolutions with vectors: eight channels at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.nibbles import pack_nibbles
from tinyrt.backends.c.fields import window_fields
from tinyrt.backends.c.kernel import Calls, Data, Fields, Kernel, Params, Scratch, call
from tinyrt.backends.c.mve.cost import depthwise_cost, faster_planes, planes_cost
from tinyrt.backends.c.mve.layout import depthwise_band, depthwise_bits, depthwise_bytes
from tinyrt.backends.c.mve.packing import (
    LANES,
    Axes,
    constants,
    lines_of,
    only_positive,
    padded,
    rounding,
    turned,
    turned_fields,
)
from tinyrt.backends.c.mve.planes import Planes
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT16_MAX, INT16_MIN
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import Sweep, row_bands, whole_images
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Pair, Window


def depthwise_kernel(node: BoundNode, window: Window, x_zp: int, requant: Requant) -> Kernel:
    """The kernel for one channel after the other, or the one for eight at a time."""
    planes = faster_planes(node, window)
    if planes is not None:
        return _planes_kernel(node, planes, x_zp, requant)
    return _eights_kernel(node, window, x_zp, requant)


def _planes_kernel(node: BoundNode, planes: Planes, x_zp: int, requant: Requant) -> Kernel:
    """The kernel ``tinyrt_depthwise_planes_s8``."""

    def calls() -> Calls:
        data = node.noted_of_constants(
            ("planes", planes.axes), lambda: _in_order(node, x_zp, planes.axes)
        )
        fields: Fields = {
            **turned_fields(node, planes.axes),
            "window": window_fields(planes.window),
            "x_zp": x_zp,
            "band": planes.band,
            "column": planes.column,
            "positions": planes.positions,
            "rounding": rounding(requant),
            "requant": _requant_fields(requant, whole_eights),
        }
        params = Params("tinyrt_depthwise_planes_s8_params", fields)
        x, y = node.input(0), node.output
        return (call("tinyrt_depthwise_planes_s8", params, x, *data, Scratch(), y),)

    return Kernel(
        calls,
        planes.scratch_bytes(),
        lambda: _sweep(node, planes.window, planes.axes, planes.band),
        cost=lambda: planes_cost(node, planes, rounding(requant)),
    )


def _in_order(node: BoundNode, x_zp: int, axes: Axes) -> tuple[Data, Data]:
    """Weights and bias."""
    w, bias = constants(node, x_zp)
    return Data("w", _eights(w, axes)), Data("bias", whole_eights(bias).astype(np.int32))


def _eights(w: NDArray[np.int8], axes: Axes) -> NDArray[np.int8]:
    """Weights (1, kh, kw, channels) as (channels / 8, taps, 8), padded with zeros."""
    taps = w[0].transpose(*axes, 2).reshape(-1, w.shape[3])
    return whole_eights(taps).reshape(len(taps), -1, LANES).transpose(1, 0, 2)


def _eights_kernel(node: BoundNode, window: Window, x_zp: int, requant: Requant) -> Kernel:
    """The kernel ``tinyrt_depthwise_conv2d_s8``."""
    axes, bits = lines_of(window), depthwise_bits(node)
    lined = turned(window, axes)

    def calls() -> Calls:
        data, pairs = node.noted_of_constants(
            ("lanes", axes), lambda: _packed(node, x_zp, axes, bits)
        )
        fields: Fields = {
            **turned_fields(node, axes),
            "window": window_fields(lined),
            "x_zp": x_zp,
            "band": depthwise_band(lined),
            "tap_pairs": pairs,
            "only_positive": int(only_positive(requant)),
            "requant": _requant_fields(requant, evens_first),
        }
        params = Params("tinyrt_depthwise_conv2d_s8_params", fields)
        x, y = node.input(0), node.output
        kernel = f"tinyrt_depthwise_conv2d_{'wide_s8' if bits == 16 else f's{bits}'}"
        return (call(kernel, params, x, *data, Scratch(), y),)

    return Kernel(
        calls,
        depthwise_bytes(node, window),
        lambda: _sweep(node, lined, axes, depthwise_band(lined)),
        cost=lambda: depthwise_cost(node, window),
    )


def _packed(node: BoundNode, x_zp: int, axes: Axes, bits: int) -> tuple[tuple[Data, Data], int]:
    """Weights and bias, and whether the products of two taps always fit 16 bits."""
    w, bias = constants(node, x_zp)
    eights = _eights(w, axes)
    packed = pack_nibbles(in_halves(eights)) if bits == 4 else eights
    own = w.shape[1:3] if axes == (0, 1) else w.shape[2:0:-1]
    pairs = int(fit_in_pairs(eights, pairs_of(own)))
    return (Data("w", packed), Data("bias", evens_first(bias).astype(np.int32))), pairs


def pairs_of(kernel: Pair) -> list[Pair]:
    """Taps that the kernels add in 16 bits: neighbours in a line, and of 3 x 3 across lines."""
    rows, columns = kernel
    lines = [
        (i * columns + j, i * columns + j + 1) for i in range(rows) for j in range(columns - 1)
    ]
    return [*lines, (2, 3), (2, 5)] if kernel == (3, 3) else lines


def fit_in_pairs(w: NDArray[Any], pairs: list[Pair]) -> bool:
    """Whether products of pairs of taps of weights (blocks, taps, 8) with int8 add up to 16 bits.

    Of int8 weights, only two of -128 may not: they are counted wherever they are.
    """
    if w.dtype == np.int8:
        return bool(((w == INT8_MIN).sum(axis=1) < 2).all())
    ends = np.sort(np.stack([w * np.int32(INT8_MIN), w * np.int32(INT8_MAX)]), axis=0)
    first, second = (ends[:, :, [pair[i] for pair in pairs]] for i in (0, 1))
    least, greatest = first + second
    return bool((least >= INT16_MIN).all() and (greatest <= INT16_MAX).all())


def _sweep(node: BoundNode, lined: Window, axes: Axes, band: int) -> Sweep | None:
    """Eight channels at a time: the input lines of a band, then its output lines.

    Channels keep apart, so that each is a plane. Lines that are columns have a sweep only where
    one band is the whole image.
    """
    if node.input(0).shape[3] != node.output.shape[3]:
        return None
    if band >= lined.out[0]:
        return whole_images(node)
    return row_bands(node, lined, band) if axes == (0, 1) else None


def in_halves(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights of four bits (blocks, ...): of each block the first half in low nibbles."""
    low, high = np.split(w.reshape(len(w), -1), 2, axis=1)
    return np.stack([low, high], axis=2)


def whole_eights(channels: NDArray[Any]) -> NDArray[Any]:
    """Numbers (..., channels), with zeros up to a multiple of eight."""
    rest = padded(channels.shape[-1], LANES) - channels.shape[-1]
    return np.pad(channels, ((0, 0),) * (channels.ndim - 1) + ((0, rest),))


def evens_first(channels: NDArray[Any]) -> NDArray[Any]:
    """One number per channel, of every eight the even ones before the odd ones; zeros added."""
    eights = whole_eights(channels).reshape(-1, LANES)
    return np.concatenate([eights[:, 0::2], eights[:, 1::2]], axis=1).ravel()


def _requant_fields(requant: Requant, order: Callable[[NDArray[Any]], NDArray[Any]]) -> Fields:
    """``tinyrt_requant_params`` with channels in an order of whole eights."""
    mult, shift = order(requant.mult), order(requant.shift)
    alike = len(set(zip(requant.mult.tolist(), requant.shift.tolist(), strict=True))) == 1
    if alike:
        mult, shift = np.repeat(mult[:1], LANES), np.repeat(shift[:1], LANES)
    return {
        "mult": Data("mult", mult, "int32_t"),
        "shift": Data("shift", shift, "int8_t"),
        "step": 0 if alike else 1,
        "y_zp": requant.y_zp,
        "act_min": requant.act_min,
        "act_max": requant.act_max,
    }
