"""Depthwise convolutions four channels at a time: what the packed kernel needs, and its call.

The general kernel reads the weights as they lie in the model. For each row of outputs and four
channels it lists the taps once, with their weights widened, and walks along the row. Filters of
3 x 3 have a kernel that slides along the row channel by channel, with the whole filter in
registers: there every activation is read once for each of the rows of outputs that it takes part
in. Where the window reaches over the input's border, input rows are copied once into as many lines
as the window is high, with the zero point around them: then no output needs to know of the border.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode
from tinyrt.ops.blocks import BLOCK_SETS, constants_of, emit_clamp, requant_arrays
from tinyrt.ops.emit import Fields, nhwc, window_fields
from tinyrt.ops.packing import (
    BLOCK,
    MOST_SINGLE_SUM,
    PackedRequant,
    pack_requant,
    simplify,
)
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import CWriter, InstructionSet
from tinyrt.ops.window import Window

TAPS_PER_ENTRY = {InstructionSet.SCALAR: 1, InstructionSet.DSP: 2}
"""Taps of one ``tinyrt_tap_entry``: an offset for each, and one word for each of four channels."""

FILTER_ORDER = [0, 1, 3, 4, 2, 6, 5, 7, 8]
"""Taps of a 3 x 3 filter, row by row, in the order that makes pairs of one column of four bytes."""


@dataclass(frozen=True, slots=True)
class DepthwiseBlock:
    """A layer for ``tinyrt_depthwise_block_s8``.

    Attributes:
        w: weights (taps, channels) where they are not those of the model.
        init: ``bias - x_zp * sum(w)`` for each channel.
        requant: mantissas and shifts.
        line_bytes: of one padded input row; 0 where the window never leaves the input.

    """

    w: NDArray[np.int8] | None
    init: NDArray[np.int32]
    requant: PackedRequant
    line_bytes: int


def depthwise_block(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, isa: InstructionSet
) -> DepthwiseBlock | None:
    """The packed layer; None where only the general kernel will do."""
    x, y, constants = node.input(0), node.output, constants_of(node)
    if isa not in BLOCK_SETS or constants is None or window.dilation != (1, 1):
        return None
    channels = x.shape[3]
    if y.shape[3] != channels or (channels % BLOCK and not slides(window)):
        return None
    w, bias = constants
    by_channel = w.reshape(-1, channels).T
    layer = simplify(by_channel, bias, x_zp, requant, MOST_SINGLE_SUM)
    if layer is None:
        return None
    init = (layer.bias - x_zp * layer.w.sum(axis=1)).astype(np.int32)
    changed = None if (layer.w == by_channel).all() else layer.w.T.astype(np.int8)
    return DepthwiseBlock(changed, init, pack_requant(layer), _line_bytes(window, channels))


def slides(window: Window) -> bool:
    """Whether ``tinyrt_depthwise3x3_s8`` takes the layer."""
    return window.kernel == (3, 3) and window.stride[1] <= 2


def _line_bytes(window: Window, channels: int) -> int:
    if not any((*window.before, *window.after)):
        return 0
    columns = (window.out[1] - 1) * window.stride[1] + window.kernel[1]
    return columns * channels


def pack_filters(w: NDArray[np.int8]) -> NDArray[np.int8]:
    """Filters of 3 x 3, (taps, channels), as ``tinyrt_load_filter3`` reads them: (channels, 12)."""
    return np.pad(w[FILTER_ORDER].T, ((0, 0), (0, 3)))


def _weights(node: BoundNode, block: DepthwiseBlock, window: Window, c: CWriter) -> str:
    w = node.input(1)
    if slides(window):
        rows = np.asarray(w.data).reshape(9, -1) if block.w is None else block.w
        return c.packed("w", pack_filters(rows))
    return c.pointer(w) if block.w is None else c.packed("w", block.w)


def depthwise_scratch(block: DepthwiseBlock | None, window: Window, isa: InstructionSet) -> int:
    """Bytes of the tap list and the lines."""
    if block is None:
        return 0
    return _list_bytes(window, isa) + window.kernel[0] * block.line_bytes


def _list_bytes(window: Window, isa: InstructionSet) -> int:
    if slides(window):
        return 0
    per_entry = TAPS_PER_ENTRY[isa]
    entries = -(-window.kernel[0] * window.kernel[1] // per_entry)
    return entries * 4 * (per_entry + BLOCK)


def emit_depthwise(
    node: BoundNode,
    block: DepthwiseBlock,
    window: Window,
    x_zp: int,
    requant: Requant,
    c: CWriter,
) -> None:
    """Write the call of ``tinyrt_depthwise3x3_s8`` or ``tinyrt_depthwise_block_s8``."""
    x, y = node.input(0), node.output
    line: Fields = {
        "x": nhwc(x.shape),
        "y": nhwc(y.shape),
        "window": window_fields(window),
        "x_zp": x_zp,
        "line_bytes": block.line_bytes,
    }
    fields: Fields = {
        "line": line,
        "w": _weights(node, block, window, c),
        "init": c.packed("init", block.init),
        **requant_arrays(block.requant, c),
        "y_zp": requant.y_zp,
    }
    lines = f"{c.scratch()} + {_list_bytes(window, c.isa)}" if block.line_bytes else "NULL"
    if slides(window):
        params = c.params("tinyrt_depthwise3x3_s8_params", fields)
        c.call("tinyrt_depthwise3x3_s8", params, c.pointer(x), lines, c.pointer(y))
    else:
        params = c.params("tinyrt_depthwise_block_s8_params", fields)
        taps = f"(tinyrt_tap_entry *)(void *)({c.scratch()})"
        c.call("tinyrt_depthwise_block_s8", params, c.pointer(x), taps, lines, c.pointer(y))
    emit_clamp(node, requant.act_min, requant.act_max, c)
