"""Depthwise convolutions with vectors: eight channels at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.nibbles import pack_nibbles
from tinyrt.backends.c.fields import window_fields
from tinyrt.backends.c.kernel import Calls, Data, Fields, Kernel, Params, Scratch, call
from tinyrt.backends.c.mve.cost import depthwise_cost
from tinyrt.backends.c.mve.layout import depthwise_band, depthwise_bits, depthwise_bytes
from tinyrt.backends.c.mve.packing import (
    LANES,
    Axes,
    constants,
    lines_of,
    only_positive,
    padded,
    turned,
    turned_fields,
)
from tinyrt.fixedpoint import INT8_MIN
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import Sweep, row_bands, whole_images
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window


def depthwise_kernel(node: BoundNode, window: Window, x_zp: int, requant: Requant) -> Kernel:
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
            "requant": _requant_fields(requant),
        }
        params = Params("tinyrt_depthwise_conv2d_s8_params", fields)
        x, y = node.input(0), node.output
        return (call(f"tinyrt_depthwise_conv2d_s{bits}", params, x, *data, Scratch(), y),)

    return Kernel(
        calls,
        depthwise_bytes(node, window),
        lambda: _sweep(node, window),
        cost=lambda: depthwise_cost(node, window),
    )


def _packed(node: BoundNode, x_zp: int, axes: Axes, bits: int) -> tuple[tuple[Data, Data], int]:
    """Weights and bias, and whether the products of two taps always fit 16 bits."""
    w, bias = constants(node, x_zp)
    taps = w[0].transpose(*axes, 2).reshape(-1, w.shape[3])
    blocks = np.pad(taps, ((0, 0), (0, padded(w.shape[3], LANES) - w.shape[3])))
    eights = blocks.reshape(len(taps), -1, LANES).transpose(1, 0, 2)
    packed = pack_nibbles(in_halves(eights)) if bits == 4 else eights
    # Only two products of -128 and -128 have a sum that needs more than 16 bits.
    pairs = int(((taps == INT8_MIN).sum(axis=0) < 2).all())
    return (Data("w", packed), Data("bias", evens_first(bias).astype(np.int32))), pairs


def _sweep(node: BoundNode, window: Window) -> Sweep | None:
    """Eight channels at a time: the input lines of a band, then its output lines.

    Channels keep apart, so that each is a plane. Lines that are columns have a sweep only where
    one band is the whole image.
    """
    axes = lines_of(window)
    lined = turned(window, axes)
    band = depthwise_band(lined)
    if node.input(0).shape[3] != node.output.shape[3]:
        return None
    if band == lined.out[0]:
        return whole_images(node)
    return row_bands(node, window, band) if axes == (0, 1) else None


def in_halves(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights of four bits (blocks, ...): of each block the first half in low nibbles."""
    low, high = np.split(w.reshape(len(w), -1), 2, axis=1)
    return np.stack([low, high], axis=2)


def evens_first(channels: NDArray[Any]) -> NDArray[Any]:
    """One number per channel, of every eight the even ones before the odd ones; zeros added."""
    eights = np.pad(channels, (0, padded(len(channels), LANES) - len(channels))).reshape(-1, LANES)
    return np.concatenate([eights[:, 0::2], eights[:, 1::2]], axis=1).ravel()


def _requant_fields(requant: Requant) -> Fields:
    """``tinyrt_requant_params`` with channels as ``evens_first`` puts them."""
    mult, shift = evens_first(requant.mult), evens_first(requant.shift)
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
