"""Convolutions and dense layers on x86 hosts with vectors.

None keeps to an order of reads and writes: inputs are copied, and the arena of a host need not be
small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.fields import nhwc
from tinyrt.backends.c.general import check_accumulator
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Calls, Data, Fields, Kernel, Params, Scratch, call
from tinyrt.backends.finishes import LANES, SIGN, Finish, Weighted, pack_finish
from tinyrt.backends.lanes import (
    AVX2,
    AVX512,
    SLACK,
    LanesProduct,
    lanes_convolution,
    lanes_dense,
    pack_taps,
    padded_shape,
)
from tinyrt.backends.lines import lanes_lines, line_kind
from tinyrt.ir import BoundNode, Shape
from tinyrt.ops.shared.constants import stored_data
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.spec import Array
from tinyrt.ops.shared.window import Window

SHAPES = {InstructionSet.AVX512: AVX512, InstructionSet.AVX2: AVX2}
"""Tiles of products; ``tinyrt_lanes.h`` has the same in the same order."""

BYTES = "uint8_t *"
"""The type of scratch memory here."""


def convolution_kernel(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, isa: InstructionSet
) -> Kernel:
    """The kernel ``tinyrt_conv2d_x86``, which works in an image with its border."""
    x, y = node.input(0), node.output

    def calls() -> Calls:
        packed = lanes_convolution(window, x.shape, _weighted(node, x_zp, requant), SHAPES[isa])
        groups = len(packed.w)
        fields: Fields = {
            "x": nhwc(x.shape),
            "border": _border(x.shape, window, x_zp),
            "groups": groups,
            "product": _product(packed, requant, y.shape[3], groups),
        }
        params = Params("tinyrt_conv2d_x86_params", fields)
        return (call("tinyrt_conv2d_x86", params, x, Scratch(pointer=BYTES), y),)

    height, width = padded_shape(window, x.shape)
    return Kernel(calls, height * width * x.shape[3] + SLACK)


def dense_kernel(node: BoundNode, x_zp: int, requant: Requant, isa: InstructionSet) -> Kernel:
    """The kernel ``tinyrt_dense_x86``, which works in a copy of the input."""
    x, y = node.input(0), node.output

    def calls() -> Calls:
        layer = _weighted(node, x_zp, requant)
        c_out, length = layer.w.shape
        packed = lanes_dense(x.size // length, layer, SHAPES[isa])
        params = Params("tinyrt_product_x86_params", _product(packed, requant, c_out, 1))
        return (call("tinyrt_dense_x86", params, x.size, x, Scratch(pointer=BYTES), y),)

    return Kernel(calls, x.size + SLACK)


@dataclass(frozen=True, slots=True)
class _Lined:
    """A depthwise convolution whose windows slide along rows.

    Attributes:
        window: how they slide.
        x: the input's shape.
        w: (kernel_h, kernel_w, channels).

    """

    window: Window
    x: Shape
    w: Array

    @classmethod
    def of(cls, node: BoundNode, window: Window) -> _Lined:
        """Columns of single elements are rows: the memory is the same."""
        x, w = node.input(0).shape, stored_data(node.input(1))[0]
        if x[2] == 1 and w.shape[1] == 1:
            return cls(window.turned(), (x[0], x[2], x[1], x[3]), w.transpose(1, 0, 2))
        return cls(window, x, w)

    @property
    def fours(self) -> int:
        """Fours of the window's rows."""
        return -(-int(self.w.shape[0]) // 4)

    @property
    def image_bytes(self) -> int:
        """Bytes of an image with its border, a multiple of ``SLACK``."""
        pixels: int = math.prod(padded_shape(self.window, self.x))
        return -(-pixels * int(self.w.shape[2]) // SLACK) * SLACK + SLACK

    @property
    def taps_bytes(self) -> int:
        """Bytes of the taps of a row of windows."""
        _, width = padded_shape(self.window, self.x)
        return width * self.fours * 4 * LANES


def depthwise_kernel(node: BoundNode, window: Window, x_zp: int, requant: Requant) -> Kernel:
    """The kernel ``tinyrt_depthwise_lines_x86``, or ``tinyrt_depthwise_x86`` for other windows.

    Both work in an image with its border, the second one also in the taps of one row of windows.
    """
    if line_kind(window, node.output.shape[3]) is not None:
        return _lines_kernel(node, window, x_zp, requant)
    lined = _Lined.of(node, window)

    def calls() -> Calls:
        fields = _depthwise_fields(lined, _weighted(node, x_zp, requant))
        params = Params("tinyrt_depthwise_x86_params", fields)
        scratch = Scratch(pointer=BYTES), Scratch(lined.image_bytes, BYTES)
        return (call("tinyrt_depthwise_x86", params, node.input(0), *scratch, node.output),)

    return Kernel(calls, lined.image_bytes + lined.taps_bytes)


def _lines_kernel(node: BoundNode, window: Window, x_zp: int, requant: Requant) -> Kernel:
    x, channels = node.input(0), node.output.shape[3]

    def calls() -> Calls:
        lines = lanes_lines(window, x.shape, _weighted(node, x_zp, requant))
        assert lines is not None  # as its kind says
        fields: Fields = {
            "x": nhwc(x.shape),
            "border": _border(x.shape, window, x_zp),
            "copies": channels // x.shape[3],
            "w": Data("w", lines.w),
            "quant": Data("quant", lines.quant),
            "rows": Data("rows", lines.rows, "int32_t"),
            "together": lines.together,
            "stride": lines.stride,
            "height": lines.height,
            "width": lines.width,
            "channels": lines.channels,
            "column": lines.column,
            "row_step": lines.row_step,
            "out": _output(requant, lines.finish),
        }
        params = Params("tinyrt_depthwise_lines_x86_params", fields)
        scratch = Scratch(pointer=BYTES)
        return (call("tinyrt_depthwise_lines_x86", params, x, scratch, node.output),)

    return Kernel(calls, math.prod(padded_shape(window, x.shape)) * channels + SLACK)


def _depthwise_fields(lined: _Lined, layer: Weighted) -> Fields:
    """``tinyrt_depthwise_x86_params``."""
    window, channels = lined.window, lined.w.shape[2]
    _, width = padded_shape(window, lined.x)
    rows = np.arange(window.kernel[0]) * window.dilation[0] * width * channels
    # A column that is computed as a row has its taps in another order, and the same sums.
    quant, finish = pack_finish(layer, 3)
    return {
        "x": nhwc(lined.x),
        "border": _border(lined.x, window, layer.x_zp),
        "copies": channels // lined.x[3],
        "w": Data("w", pack_columns(lined.w)),
        "quant": Data("quant", quant),
        "rows": Data("rows", np.pad(rows, (0, 4 * lined.fours - len(rows))), "int32_t"),
        "fours": lined.fours,
        "kernel_h": window.kernel[0],
        "kernel_w": window.kernel[1],
        "dilation_w": window.dilation[1],
        "stride_h": window.stride[0],
        "stride_w": window.stride[1],
        "out_h": window.out[0],
        "out_w": window.out[1],
        "out": _output(layer.requant, finish),
    }


def pack_columns(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Depthwise weights (kh, kw, channels) by fours of rows: (vectors, kw, fours, LANES, 4)."""
    columns = [pack_taps(w[:, j]) for j in range(w.shape[1])]
    return np.stack(columns, axis=1)


def _weighted(node: BoundNode, x_zp: int, requant: Requant) -> Weighted:
    """The layer with its constants.

    Raises:
        UnsupportedError: they are computed at run time, or an accumulator could overflow.

    """
    check_accumulator(node, x_zp)
    bias = node.optional(2)
    weights = node.input(1).data
    assert weights is not None  # as check_accumulator says
    return Weighted(weights, None if bias is None else bias.data, x_zp, requant)


def _product(packed: LanesProduct, requant: Requant, channels: int, groups: int) -> Fields:
    """``tinyrt_product_x86_params``."""
    return {
        "w": Data("w", packed.w),
        "quant": Data("quant", packed.quant),
        "offsets": Data("offsets", packed.offsets, "int32_t"),
        "steps": Data("steps", packed.steps, "int32_t"),
        "tiles": Data("tiles", packed.tiles, "uint8_t"),
        "tile_count": len(packed.tiles),
        "pixels": len(packed.offsets),
        "step_count": len(packed.steps),
        "channels": channels // groups,
        "stride": channels,
        "out": _output(requant, packed.finish),
    }


def _output(requant: Requant, finish: Finish) -> Fields:
    """``tinyrt_output_x86``."""
    limits = {"act_min": requant.act_min, "act_max": requant.act_max}
    return {"zp": requant.y_zp, **limits, "finish": int(finish)}


def _border(x: Shape, window: Window, x_zp: int) -> Fields:
    """``tinyrt_border``."""
    height, width = padded_shape(window, x)
    top, left = window.before
    return {"h": height, "w": width, "top": top, "left": left, "fill": x_zp + SIGN}
