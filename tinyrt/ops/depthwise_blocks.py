"""Depthwise convolutions on packed constants: what their kernels need, and their calls.

Filters of 3 x 3 with one stride for both axes have a kernel that takes one channel's plane after
the other, with the whole filter in registers, and slides along the longer axis: every activation is
read once for each of the lines of outputs that it takes part in. A line of outputs may take the
place of a line of inputs, of which one channel's elements are saved: one line of one channel is all
the working memory.

Others take four channels' planes after the other, along rows, over a list of taps with widened
weights, dilated or not. Where the window reaches over the input's border, these channels of input
rows are copied once into as many lines as the window is high, with the zero point around them: then
no output needs to know of the border. So are they where several filters read one input channel: the
copy repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.ops.blocks import BLOCK_SETS, constants_of, emit_clamp, requant_arrays
from tinyrt.ops.emit import Fields, nhwc, window_fields
from tinyrt.ops.packing import (
    BLOCK,
    MOST_SINGLE_SUM,
    PackedRequant,
    pack_requant,
    simplify,
)
from tinyrt.ops.packing_s4 import pack_filters_s4, pack_nibbles
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import CWriter, InstructionSet
from tinyrt.ops.sweep import Sweep, planes_by_lines, planes_by_rows
from tinyrt.ops.window import Window

TAPS_PER_ENTRY = {InstructionSet.SCALAR: 1, InstructionSet.DSP: 2}
"""Taps of one ``tinyrt_tap_entry``: an offset for each, and one word for each of four channels."""

LONG_ROW = 16
"""Columns from which on a row is a long one."""

FILTER_ORDER = [0, 1, 3, 4, 2, 6, 5, 7, 8]
"""Taps of a 3 x 3 filter, row by row, in the order that makes pairs of one column of four bytes."""


FACTOR_BIT = 1 << 5
"""In shifts beside weights of four bits, what stands for a factor of two of a channel's weights."""


@dataclass(frozen=True, slots=True)
class DepthwiseBlock:
    """A layer for ``tinyrt_depthwise_block_s8``.

    Attributes:
        w: weights (taps, channels).
        bits: of a weight as the kernel reads it.
        init: ``bias - x_zp * sum(w)`` for each channel.
        requant: mantissas and shifts.
        line_bytes: of four channels of one padded input row; 0 where rows are read in place.
        sliding: whether ``tinyrt_depthwise3x3_s8`` takes the layer.

    """

    w: NDArray[np.int8]
    bits: int
    init: NDArray[np.int32]
    requant: PackedRequant
    line_bytes: int
    sliding: bool


def depthwise_block(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, isa: InstructionSet
) -> DepthwiseBlock | None:
    """The packed layer; None where only the general kernel will do."""
    x, y, constants = node.input(0), node.output, constants_of(node)
    if isa not in BLOCK_SETS or constants is None:
        return None
    channels = y.shape[3]
    single = channels == x.shape[3]
    w, bias = constants
    by_channel = w.reshape(-1, channels).T
    layer, sliding = None, single and slides(window)
    if sliding:
        layer = simplify(by_channel, bias, x_zp, requant, MOST_SINGLE_SUM)
    if layer is None and channels % BLOCK == 0:
        sliding = False
        layer = simplify(by_channel, bias, x_zp, requant, MOST_SINGLE_SUM, raises=False)
    if layer is None:
        return None
    init = (layer.bias - x_zp * layer.w.sum(axis=1)).astype(np.int32)
    lines = _line_bytes(window, single)
    if node.input(1).dtype is not DType.INT4:
        requantised = pack_requant(layer, more=int(sliding))
        return DepthwiseBlock(layer.w.T.astype(np.int8), 8, init, requantised, lines, sliding)
    narrow = layer.w >> layer.raised[:, None] if sliding else layer.w
    requantised = pack_requant(layer, more=1 + layer.raised * FACTOR_BIT if sliding else 0)
    return DepthwiseBlock(narrow.T.astype(np.int8), 4, init, requantised, lines, sliding)


def slides(window: Window) -> bool:
    """Whether the window is one of ``tinyrt_depthwise3x3_s8``."""
    plain = window.kernel == (3, 3) and window.dilation == (1, 1)
    return plain and window.stride in ((1, 1), (2, 2))


def few_rows(window: Window, x: Shape) -> bool:
    """Whether ``tinyrt_depthwise_rows3_s8`` takes the layer: a few short rows of a segment.

    Where rows are long, setting out for each of them costs little, and the kernel for whole tensors
    serves for them, too.
    """
    columns = window.before[1] == window.after[1] == 1
    return window.on_rows and window.stride == (1, 1) and columns and 1 < x[2] < LONG_ROW


def slides_down(window: Window, x: Shape) -> bool:
    """Whether that kernel slides along columns: setting out costs, and they are the longer lines.

    Only where outputs lie as inputs do, so that they may overwrite these.
    """
    return window.out == x[1:3] and x[1] > x[2]


def _line_bytes(window: Window, single: bool) -> int:
    """Bytes of a line; none where each channel has a single filter that never leaves the input."""
    if single and not any((*window.before, *window.after)):
        return 0
    return ((window.out[1] - 1) * window.stride[1] + _reach(window, 1)) * BLOCK


def _reach(window: Window, axis: int) -> int:
    """Rows (0) or columns (1) from the window's first tap to its last."""
    return (window.kernel[axis] - 1) * window.dilation[axis] + 1


def pack_filters(w: NDArray[np.int8], down: bool, bits: int = 8) -> NDArray[np.int8]:
    """Filters of 3 x 3, (taps, channels), as the kernel for weights of so many bits reads them.

    Those of eight are (channels, 9), see ``tinyrt_load_filter3_s8``; for four, see
    ``pack_filters_s4``.
    """
    planes = w.reshape(3, 3, -1)
    lines = planes.transpose(1, 0, 2) if down else planes
    taps = lines.reshape(9, -1)
    return pack_filters_s4(taps.T) if bits == 4 else taps[FILTER_ORDER].T


def depthwise_scratch(
    block: DepthwiseBlock | None, window: Window, x: Shape, isa: InstructionSet
) -> int:
    """Bytes of the saved line, or of the tap list and the lines."""
    if block is None:
        return 0
    if block.sliding:
        return max(x[1:3]) if window.stride == (1, 1) and not few_rows(window, x) else 0
    return _list_bytes(window, isa) + _reach(window, 0) * block.line_bytes


def _list_bytes(window: Window, isa: InstructionSet) -> int:
    per_entry = TAPS_PER_ENTRY[isa]
    entries = -(-window.kernel[0] * window.kernel[1] // per_entry)
    return entries * 4 * (per_entry + BLOCK)


def depthwise_sweep(node: BoundNode, window: Window, block: DepthwiseBlock) -> Sweep | None:
    """The order in which the packed kernels read and write.

    None for a few rows, and where several filters read one channel.
    """
    x, y = node.input(0).shape, node.output.shape
    if x[3] != y[3]:
        return None
    if block.sliding:
        return (
            None if few_rows(window, x) else planes_by_lines(node, window, slides_down(window, x))
        )
    return planes_by_rows(node, window, copied=block.line_bytes > 0)


def emit_depthwise(
    node: BoundNode,
    block: DepthwiseBlock,
    window: Window,
    x_zp: int,
    requant: Requant,
    c: CWriter,
) -> None:
    """Write the call of ``tinyrt_depthwise3x3_s8``, ``_rows3_s8`` or ``_block_s8``."""
    if block.sliding:
        _emit_slides(node, block, window, x_zp, requant, c)
    else:
        _emit_blocks(node, block, window, x_zp, requant, c)
    emit_clamp(node, requant.act_min, requant.act_max, c)


def _emit_slides(
    node: BoundNode, block: DepthwiseBlock, window: Window, x_zp: int, requant: Requant, c: CWriter
) -> None:
    x, y = node.input(0), node.output
    down = slides_down(window, x.shape) and not few_rows(window, x.shape)
    rows, columns = (_axis(x.shape, y.shape, window, axis) for axis in (0, 1))
    few = few_rows(window, x.shape)
    if few:
        rows = {name: rows[name] for name in ("x_step", "y_step")}
    fields: Fields = {
        "images": x.shape[0],
        "channels": x.shape[3],
        "stride": window.stride[0],
        "along": rows if down else columns,
        "across": columns if down else rows,
        "x_zp": x_zp,
        "w": c.packed("w", pack_filters(block.w, down, block.bits)),
        **_constants(block, requant, c),
    }
    params = c.params("tinyrt_depthwise3x3_s8_params", fields)
    if few:
        kernel = f"tinyrt_depthwise_rows3_s{block.bits}"
        c.call(kernel, params, str(window.out[0]), c.pointer(x), c.pointer(y))
        return
    saved = c.scratch()
    c.call(f"tinyrt_depthwise3x3_s{block.bits}", params, c.pointer(x), saved, c.pointer(y))


def _axis(x: Shape, y: Shape, window: Window, axis: int) -> Fields:
    """``tinyrt_axis`` of rows (0) or columns (1)."""
    count = slice(2 + axis, 4)
    return {
        "x_count": x[1 + axis],
        "x_step": int(np.prod(x[count])),
        "y_count": y[1 + axis],
        "y_step": int(np.prod(y[count])),
        "pad": window.before[axis],
    }


def _constants(block: DepthwiseBlock, requant: Requant, c: CWriter) -> Fields:
    return {
        "init": c.packed("init", block.init),
        **requant_arrays(block.requant, c),
        "y_zp": requant.y_zp,
    }


def _emit_blocks(
    node: BoundNode, block: DepthwiseBlock, window: Window, x_zp: int, requant: Requant, c: CWriter
) -> None:
    x, y, w = node.input(0), node.output, block.w
    fields: Fields = {
        "x": nhwc(x.shape),
        "y": nhwc(y.shape),
        "window": window_fields(window),
        "x_zp": x_zp,
        "line_bytes": block.line_bytes,
        "w": c.packed("w", pack_nibbles(w) if block.bits == 4 else w),
        **_constants(block, requant, c),
    }
    lines = f"{c.scratch()} + {_list_bytes(window, c.isa)}" if block.line_bytes else "NULL"
    params = c.params("tinyrt_depthwise_block_s8_params", fields)
    taps = f"(tinyrt_tap_entry *)(void *)({c.scratch()})"
    fine = "_fine" if block.requant.shift.min() < 1 else ""
    kind = fine if x.shape[3] == y.shape[3] else "_spread"
    kernel = f"tinyrt_depthwise_block{kind}_s{block.bits}"
    c.call(kernel, params, c.pointer(x), taps, lines, c.pointer(y))
