"""Convolutions with weights beyond int8, with vectors: some taps are read more than once.

What is left of a weight is the weight of another tap, which reads the same activation:
``x * (w1 + w2) = x * w1 + x * w2``. The kernel copies what windows read point by point, of each
point all lines of the window. Behind a point it puts once more what any channel of a group needs of
it. In code for blobs there is room for a few more places, which later weights may need.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.fields import nhwc, window_fields
from tinyrt.backends.c.kernel import Calls, Data, Fields, Kernel, Params, Scratch, Target, call
from tinyrt.backends.c.mve.cost import more_cost
from tinyrt.backends.c.mve.layout import MAX_SCRATCH, convolution_lines
from tinyrt.backends.c.mve.packing import (
    LANES,
    VECTOR,
    Axes,
    constants,
    pack_filters,
    pack_scales,
    padded,
    product_fields,
    turned,
    turned_fields,
)
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import Sweep, columns, windows
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

MAX_COLUMN = 1 << 12
"""Bytes of a point: places in it have 16 bits."""


def takes(node: BoundNode, window: Window, target: Target) -> bool:
    """Whether the kernel takes a convolution; in code for blobs, weights may be anything later."""
    lines, _ = convolution_lines(window)
    w = np.asarray(node.input(1).data)
    fits = w.min() >= INT8_MIN and w.max() <= INT8_MAX
    small = window.kernel[lines] * w.shape[3] <= MAX_COLUMN
    return small and (target.choices is not None or not fits)


def with_more(w: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.int16]]:
    """Weights (filters, places) -> int8 ones of all places, and the places that the last read."""
    rest = w.astype(np.int32)
    parts: list[NDArray[np.int32]] = []
    places = [np.zeros(0, np.int64)]
    used = np.arange(w.shape[1])
    while not parts or rest.any():
        part = np.clip(rest, INT8_MIN, INT8_MAX)
        if parts:
            used = np.flatnonzero(part.any(axis=0))
            places.append(used)
        parts.append(part[:, used])
        rest = rest - part
    return np.hstack(parts).astype(np.int8), np.concatenate(places).astype(np.int16)


Groups = tuple[list[NDArray[np.int8]], NDArray[np.int16]]
"""Of each group the filters (channels, length), and the places that are read again (groups, n)."""


def room_of(node: BoundNode, window: Window) -> int:
    """Places that code for blobs has room for: as many as cost no more than what is needed now."""
    _, again = _split(node, convolution_lines(window), 1)
    return padded(again.shape[1], LANES)


def _split(node: BoundNode, axes: Axes, least: int) -> Groups:
    """Filters of points one behind the other, each with more, of all groups as much.

    Args:
        node: the convolution.
        axes: of lines and points.
        least: how many places there are at least.

    """
    w = np.asarray(node.input(1).data)
    groups = node.input(0).shape[3] // w.shape[3]
    by_point = w.transpose(0, 1 + axes[1], 1 + axes[0], 3)
    length = w.shape[1 + axes[0]] * w.shape[3]
    found = [with_more(part.reshape(-1, length)) for part in np.split(by_point, groups)]
    count = max(least, *(len(places) for _, places in found))
    if w.shape[1:3] == (1, 1) and length + count <= VECTOR:
        count = VECTOR - length
    filters = [np.pad(own, ((0, 0), (0, count - len(places)))) for own, places in found]
    again = np.stack([np.pad(places, (0, count - len(places))) for _, places in found])
    return [own.reshape(len(w) // groups, -1) for own in filters], again


def more_kernel(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, target: Target
) -> Kernel:
    """The kernel ``tinyrt_conv2d_more_s8``."""
    axes = convolution_lines(window)
    least = 1 if target.choices is None else dict(target.choices.room).get(node.index, 1)
    filters, again = node.noted_of_constants(
        ("more vectors", axes, least), lambda: _split(node, axes, least)
    )
    as_line = window.kernel == window.stride == (1, 1) and not window.on_rows
    as_is = turned(window, axes), turned_fields(node, axes)
    image, shapes = _one_line(node) if as_line else as_is
    groups, count = again.shape
    column = image.kernel[0] * node.input(1).shape[3]
    step = column + count
    at_once = _at_once(image, step)
    scratch_bytes = _read(image, at_once) * step
    gathers = window.kernel == (1, 1) and step == VECTOR
    c_out, length = filters[0].shape

    def data() -> tuple[Data, Data]:
        bias, each = constants(node, x_zp)[1], range(0, groups * c_out, c_out)
        parts = [slice(i, i + c_out) for i in each]
        scales = [pack_scales(bias[p], requant.mult[p], requant.shift[p]).ravel() for p in parts]
        packed = np.concatenate([pack_filters(own).ravel() for own in filters])
        return Data("w", packed), Data("scales", np.concatenate(scales))

    def calls() -> Calls:
        layer: Fields = {
            **shapes,
            "window": window_fields(image),
            "groups": groups,
            "x_zp": x_zp,
            "at_once": at_once,
            "product": product_fields(length, c_out, requant),
        }
        places = Data("places", again.ravel(), "int16_t")
        own = {"column_bytes": column, "count": count, "gathers": int(gathers)}
        more: Fields = {**own, "places": places}
        params = Params("tinyrt_conv2d_more_s8_params", {"layer": layer, **more})
        x, y = node.input(0), node.output
        return (call("tinyrt_conv2d_more_s8", params, x, *data(), Scratch(), y),)

    def sweep() -> Sweep | None:
        if groups > 1:
            return None
        if as_line:
            return columns(node, node.output.size // c_out, at_once)
        in_order = axes == (0, 1)
        return windows(node, window, reads_first=at_once == window.out[1]) if in_order else None

    def cost() -> int:
        return more_cost(node, image, at_once, (length, count))

    return Kernel(calls, scratch_bytes, sweep, cost=cost)


def _read(window: Window, points: int) -> int:
    """Input points that some points of an output line read."""
    return (points - 1) * window.stride[1] + window.kernel[1]


def _at_once(window: Window, step: int) -> int:
    """Points that are computed from one copy, of points of so many bytes."""
    if window.dilation[1] != 1:
        return 1
    fitting = 1 + (MAX_SCRATCH // step - window.kernel[1]) // window.stride[1]
    # Points are computed two by two.
    return min(window.out[1], max(1, fitting - fitting % 2))


def _one_line(node: BoundNode) -> tuple[Window, Fields]:
    """Window, shapes and steps of a pointwise convolution whose pixels of all images are a line."""
    c_in, c_out = node.input(0).shape[3], node.output.shape[3]
    pixels = node.output.size // c_out
    fields: Fields = {}
    for name, channels in (("x", c_in), ("y", c_out)):
        fields[name] = nhwc((1, 1, pixels, channels))
        fields[f"{name}_line_step"] = pixels * channels
        fields[f"{name}_point_step"] = channels
    return Window.of((1, pixels), (1, 1), (1, 1), "VALID"), fields
