"""Bounds behind ops with weights: of the sums, at each kind of place, and of what they become."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.values.interval import FLOATS, Array, Bounds
from tinyrt.fixedpoint import INT32_MAX, INT32_MIN
from tinyrt.ir import BoundNode
from tinyrt.ops import OPS, conv2d, depthwise_conv2d
from tinyrt.ops.shared.activation import activate, fused_activation
from tinyrt.ops.shared.requant import Requant, Steps, WideRequant
from tinyrt.ops.shared.window import Window

SUMS = frozenset({"conv2d", "depthwise_conv2d", "fully_connected", "transpose_conv"})

BLOCK = 1 << 17
"""Weights that are looked at together, so that large layers take no more memory."""

HUGE = 1e200
"""Stands for infinity in sums of floats: times the least weight it still exceeds every float32."""

WIDE_LIMIT = 1 << 47
"""What sums of 64 bits must stay below."""


def summed(node: BoundNode, known: Mapping[str, Bounds]) -> Bounds | None:
    """The bounds of the outputs; None where weights or biases are computed by the model."""
    w, bias = node.input(1), node.optional(2)
    if w.data is None or (bias is not None and bias.data is None):
        return None
    low, high = sums_of(node, known[node.input(0).name])
    if node.output.dtype in FLOATS:
        with np.errstate(over="ignore"):
            ends = [end.astype(np.float32) for end in (low, high)]
        return Bounds.around(*(activate(end, fused_activation(node)) for end in ends))
    requant = OPS[node.op].prepared(node).requant
    fits = _fits(low, high, requant)
    least, most = (requant.apply(np.where(fits, end, 0)) for end in (low, high))
    return Bounds(
        np.where(fits, least, requant.act_min).min(axis=0).astype(np.int64),
        np.where(fits, most, requant.act_max).max(axis=0).astype(np.int64),
    )


def _fits(low: Array, high: Array, requant: Requant | Steps | WideRequant) -> NDArray[np.bool_]:
    """Where the sums stay in the bits that requantisation takes: beyond, order is lost."""
    if isinstance(requant, WideRequant):
        return np.asarray((low >= -WIDE_LIMIT) & (high < WIDE_LIMIT))
    left = 0 if isinstance(requant, Steps) else np.maximum(requant.shift.astype(np.int64), 0)
    return np.asarray((low >= INT32_MIN >> left) & (high <= INT32_MAX >> left))


def zero_point_of(node: BoundNode) -> int:
    """The number in input 0 that adds nothing to a sum; padding has it."""
    q = node.input(0).q
    return 0 if q is None else q.zero_point


def sums_of(node: BoundNode, x: Bounds) -> tuple[Array, Array]:
    """Least and greatest sum, with bias: (kinds of places, channels).

    Places differ by which taps of the window lie in the padding, where they add nothing.
    """
    zp, bias = zero_point_of(node), node.optional(2)
    low, high = _by_taps(node, *(_finite(end - zp) for end in (x.low, x.high)))
    if node.op == "transpose_conv":
        # Which taps reach an output depends on its place: each one may, or may not.
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    places = [np.einsum("ohw,rh,qw->rqo", taps, *_places(node)) for taps in (low, high)]
    first = 0 if bias is None or bias.data is None else bias.data
    least, most = (sums.reshape(-1, sums.shape[-1]) + first for sums in places)
    return least, most


def _finite(ends: Array) -> Array:
    return np.clip(ends, -HUGE, HUGE) if ends.dtype.kind == "f" else ends


def _by_taps(node: BoundNode, low: Array, high: Array) -> tuple[Array, Array]:
    """Least and greatest share of each tap in each sum: (output channels, height, width).

    Args:
        node: the op.
        low: least element of each input channel, minus the zero point.
        high: greatest element, likewise.

    """
    w = np.asarray(node.input(1).data)
    w, groups = by_output(node, w), 1
    if node.op == "fully_connected":
        rows = w.shape[-1] // math.gcd(w.shape[-1], len(low))
        low = np.tile(low, rows).reshape(-1, w.shape[-1]).min(axis=0)
        high = np.tile(high, rows).reshape(-1, w.shape[-1]).max(axis=0)
    else:
        groups = len(low) // w.shape[-1]
    group = np.arange(len(w)) // (len(w) // groups)
    low, high = (end.reshape(groups, 1, 1, -1) for end in (low, high))
    step = max(1, BLOCK // w[0].size)
    shares = []
    for at in range(0, len(w), step):
        block, of = w[at : at + step].astype(low.dtype), group[at : at + step]
        at_low, at_high = block * low[of], block * high[of]
        rises = block > 0
        least = np.where(rises, at_low, at_high).sum(axis=-1)
        shares.append((least, np.where(rises, at_high, at_low).sum(axis=-1)))
    least, most = (np.concatenate(part) for part in zip(*shares, strict=True))
    return least, most


def by_output(node: BoundNode, w: Array) -> Array:
    """Weights as (output channels, height, width, input channels of a group)."""
    if node.op == "depthwise_conv2d":
        return w.transpose(3, 1, 2, 0)
    return w if w.ndim == 4 else w[:, None, None]


def window_of(node: BoundNode) -> Window | None:
    """The window that slides over the input; None where there is none."""
    x, w = node.input(0).shape, node.input(1).shape
    if node.op == "conv2d":
        return conv2d.window_of(node.attrs_as(conv2d.Conv2dAttrs), x, w)
    if node.op == "depthwise_conv2d":
        attrs = node.attrs_as(depthwise_conv2d.DepthwiseConv2dAttrs)
        return depthwise_conv2d.window_of(attrs, x, w)
    return None


def _places(node: BoundNode) -> tuple[Array, Array]:
    """Taps inside the input: (kinds of rows, height), (kinds of columns, width)."""
    window = window_of(node)
    if window is None:
        w = by_output(node, np.asarray(node.input(1).data))
        return np.ones((1, w.shape[1]), np.int64), np.ones((1, w.shape[2]), np.int64)
    rows, columns = (_inside(window, i, node.input(0).shape[1 + i]) for i in (0, 1))
    return rows, columns


def _inside(window: Window, i: int, size: int) -> Array:
    """For each kind of row or column of the output, which of the window's taps read the input."""
    first = np.arange(window.out[i]) * window.stride[i] - window.before[i]
    reads = first[:, None] + np.arange(window.kernel[i]) * window.dilation[i]
    return np.unique((reads >= 0) & (reads < size), axis=0).astype(np.int64)
