"""Convolutions and dense layers with vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.fields import requant_fields, window_fields
from tinyrt.backends.c.kernel import (
    Arg,
    Call,
    Calls,
    Data,
    Fields,
    Kernel,
    Null,
    Params,
    Scratch,
    Target,
    call,
)
from tinyrt.backends.c.mve.cost import convolution_cost
from tinyrt.backends.c.mve.layout import (
    convolution_lines,
    copied_bytes,
    points_at_once,
)
from tinyrt.backends.c.mve.more import more_kernel
from tinyrt.backends.c.mve.packing import (
    Axes,
    constants,
    pack_scales,
    packed_filters,
    product_fields,
    turned,
    turned_fields,
    whole_quads,
)
from tinyrt.backends.c.mve.zeros import (
    convolution_stored,
    dense_stored,
    fits,
    without_zeros,
)
from tinyrt.backends.c.weights import Stored, Weights
from tinyrt.ir import BoundNode, DType
from tinyrt.memory.sweep import Sweep, columns, windows
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

ROW_SCALES = ("mult", "shift", "step")
"""Fields of ``tinyrt_requant_params`` that a kernel of one row takes."""


def _packed(
    node: BoundNode, w: NDArray[np.int8], bias: NDArray[np.int64], requant: Requant, groups: int
) -> tuple[int, tuple[Data, Data]]:
    """A weight's bits, and the packed weights and scales.

    Args:
        node: the convolution or dense layer.
        w: filters (channels, length).
        bias: one per channel.
        requant: of all channels.
        groups: of channels.

    """
    per_group = len(w) // groups
    parts = [slice(i, i + per_group) for i in range(0, len(w), per_group)]
    bits, filters = packed_filters(node, [w[part] for part in parts])
    packed_w = np.concatenate([part.ravel() for part in filters])
    scales = [pack_scales(bias[part], requant.mult[part], requant.shift[part]) for part in parts]
    return bits, (Data("w", packed_w), Data("scales", np.concatenate(scales)))


def dense_kernel(node: BoundNode, x_zp: int, requant: Requant, target: Target) -> Kernel:
    """The kernel of one or several rows, which are read where they lie."""
    rows = node.input(0).size // node.input(1).shape[1]
    if not fits(node, 1):
        return Kernel(lambda: (_dense_call(node, x_zp, requant, rows),))
    stored = dense_stored(node, np.asarray(node.input(1).data), requant, rows, target)
    if stored.form is Weights.DENSE:
        return Kernel(lambda: (_dense_call(node, x_zp, requant, rows),), stored=stored)
    cost = stored.forms[Weights.BLOCKS].instructions
    return Kernel(
        lambda: (_kept_call(node, x_zp, requant, rows),), stored=stored, cost=lambda: cost
    )


def _dense_call(node: BoundNode, x_zp: int, requant: Requant, rows: int) -> Call:
    w, bias = constants(node, x_zp)
    c_out, length = w.shape
    x, y = node.input(0), node.output
    product = product_fields(length, c_out, requant)
    if rows > 1:
        bits, data = _packed(node, w, bias, requant, groups=1)
        params = Params("tinyrt_fully_connected_s8_params", {"rows": rows, "product": product})
        return call(f"tinyrt_fully_connected_s{bits}", params, x, *data, y)
    bits, (filters,) = packed_filters(node, [w])
    scales = requant_fields(requant)
    fields: Fields = {"product": product, **{name: scales[name] for name in ROW_SCALES}}
    params = Params("tinyrt_fully_connected_row_s8_params", fields)
    data = Data("w", filters), Data("bias", whole_quads(bias))
    return call(f"tinyrt_fully_connected_row_s{bits}", params, x, *data, y)


def _kept_call(node: BoundNode, x_zp: int, requant: Requant, rows: int) -> Call:
    """The call of ``tinyrt_fully_connected_sparse_s8``."""
    w, bias = constants(node, x_zp)
    product = product_fields(w.shape[1], w.shape[0], requant)
    params = Params("tinyrt_fully_connected_s8_params", {"rows": rows, "product": product})
    data = _kept(w, bias, requant)
    return call("tinyrt_fully_connected_sparse_s8", params, node.input(0), *data, node.output)


def _kept(w: NDArray[np.int8], bias: NDArray[np.int64], requant: Requant) -> tuple[Data, Data]:
    """Weights (channels, length) without zeros, and packed scales."""
    scales = pack_scales(bias, requant.mult, requant.shift)
    return Data("w", without_zeros(w)), Data("scales", scales)


def convolution_kernel(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, target: Target
) -> Kernel:
    """The kernel ``tinyrt_conv2d_s8``, one without zeros, or the one for weights beyond int8."""
    if node.input(1).dtype is DType.INT16:
        return more_kernel(node, window, x_zp, requant, target)
    axes = convolution_lines(window)
    scratch_bytes = copied_bytes(node, window)
    groups = node.input(0).shape[3] // node.input(1).shape[3]
    stored: Stored | None = None
    if fits(node, groups):
        filters = _turned(np.asarray(node.input(1).data), axes)
        stored = convolution_stored(node, window, filters, requant, target)
    kept = stored is not None and stored.form is Weights.BLOCKS

    def pack() -> tuple[str, tuple[Data, Data]]:
        w, bias = constants(node, x_zp)
        if kept:
            return "sparse_s8", _kept(_turned(w, axes), bias, requant)
        bits, data = _packed(node, _turned(w, axes), bias, requant, groups)
        return f"s{bits}", data

    def calls() -> Calls:
        form, data = node.noted_of_constants(("vectors", axes, kept), pack)
        w = node.input(1).shape
        fields: Fields = {
            **turned_fields(node, axes),
            "window": window_fields(turned(window, axes)),
            "groups": groups,
            "x_zp": x_zp,
            "at_once": points_at_once(node, window),
            "product": product_fields(w[1] * w[2] * w[3], w[0] // groups, requant),
        }
        params = Params("tinyrt_conv2d_s8_params", fields)
        scratch: Arg = Scratch() if scratch_bytes else Null()
        x, y = node.input(0), node.output
        return (call(f"tinyrt_conv2d_{form}", params, x, *data, scratch, y),)

    def cost() -> float:
        if stored is None:
            return convolution_cost(node, window)
        return stored.forms[stored.form].instructions

    return Kernel(calls, scratch_bytes, lambda: _sweep(node, window), stored=stored, cost=cost)


def _turned(w: NDArray[np.int8], axes: Axes) -> NDArray[np.int8]:
    """Filters (channels, length) in the order in which a copied window has their taps."""
    return w.transpose(0, 1 + axes[1], 1 + axes[0], 3).reshape(len(w), -1)


def _sweep(node: BoundNode, window: Window) -> Sweep | None:
    """Rows from the front, or some pixels of a pointwise convolution.

    Columns and groups come one after the other over the whole image.
    """
    x, w, y = node.input(0), node.input(1), node.output
    at_once = points_at_once(node, window)
    if x.shape[3] != w.shape[3] or convolution_lines(window) != (0, 1):
        return None
    if window.kernel == (1, 1) and window.stride == (1, 1):
        steps = columns(node, y.size // y.shape[3], at_once)
        return steps if copied_bytes(node, window) else None
    copied = window.kernel != (1, 1) and at_once == window.out[1]
    return windows(node, window, reads_first=copied)
