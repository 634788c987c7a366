"""Convolutions and dense layers as products of columns with blocks of four output channels.

A layer takes this path where ``tinyrt.ops.packing`` can pack it; the general kernels stay for
groups, dilation, and scales that packing refuses. A pointwise convolution of stride 1 is a dense
layer whose rows are pixels; other windows are copied into columns pixel by pixel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode
from tinyrt.ops.emit import Fields, nhwc, window_fields
from tinyrt.ops.packing import PackedBlock, PackedRequant, column_bytes, pack_block
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import CWriter, InstructionSet
from tinyrt.ops.window import Window

BLOCK_SETS = frozenset({InstructionSet.SCALAR, InstructionSet.DSP})
"""Instruction sets whose kernels read packed blocks."""

COLUMNS = 2
"""Columns that the kernels multiply at once."""


def constants_of(node: BoundNode) -> tuple[NDArray[np.int8], NDArray[np.int32] | None] | None:
    """Weights and bias of a node; None if either is computed while the model runs."""
    w, bias = node.input(1), node.optional(2)
    if w.data is None or (bias is not None and bias.data is None):
        return None
    return np.asarray(w.data), None if bias is None else np.asarray(bias.data)


def block_of(
    node: BoundNode, x_zp: int, requant: Requant, isa: InstructionSet
) -> PackedBlock | None:
    """The packed layer; None where only the general kernel will do."""
    constants = constants_of(node)
    if isa not in BLOCK_SETS or constants is None:
        return None
    w, bias = constants
    return pack_block(w.reshape(w.shape[0], -1), bias, x_zp, requant, isa)


def convolution_block(
    node: BoundNode, window: Window, x_zp: int, requant: Requant, isa: InstructionSet
) -> PackedBlock | None:
    """As ``block_of`` for a convolution, which must have one group and no dilation."""
    if node.input(1).shape[3] != node.input(0).shape[3] or window.dilation != (1, 1):
        return None
    return block_of(node, x_zp, requant, isa)


def is_pointwise(window: Window) -> bool:
    """Whether output pixels read just the input pixel of the same place."""
    return window.kernel == (1, 1) and window.stride == (1, 1)


def dense_scratch(block: PackedBlock | None, rows: int, isa: InstructionSet) -> int:
    """Bytes of columns that ``tinyrt_dense_s8`` works in."""
    return 0 if block is None else min(rows, COLUMNS) * column_bytes(block.taps, isa)


def convolution_scratch(
    block: PackedBlock | None, window: Window, pixels: int, isa: InstructionSet
) -> int:
    """Bytes of columns and patch that a convolution over so many output pixels works in."""
    columns = dense_scratch(block, pixels, isa)
    return columns if block is None or is_pointwise(window) else columns + block.taps


def emit_dense(node: BoundNode, block: PackedBlock, requant: Requant, c: CWriter) -> None:
    """Write the call of ``tinyrt_dense_s8``, or of its form for one row."""
    x, y = node.input(0), node.output
    c_out = len(requant.mult)
    c_in = node.input(1).size // c_out
    rows = x.size // c_in
    fields: Fields = {
        "rows": rows,
        "c_in": c_in,
        "block": _block_fields(block, requant, c),
    }
    params = c.params("tinyrt_dense_s8_params", fields)
    kernel = "tinyrt_dense_row_s8" if rows == 1 else "tinyrt_dense_s8"
    c.call(kernel, params, c.pointer(x), columns(c), c.pointer(y))
    emit_clamp(node, requant.act_min, requant.act_max, c)


def emit_convolution(
    node: BoundNode,
    block: PackedBlock,
    window: Window,
    x_zp: int,
    requant: Requant,
    c: CWriter,
) -> None:
    """Write the call of ``tinyrt_dense_s8`` or ``tinyrt_window_block_s8``."""
    if is_pointwise(window):
        emit_dense(node, block, requant, c)
        return
    x, y = node.input(0), node.output
    fields: Fields = {
        "x": nhwc(x.shape),
        "y": nhwc(y.shape),
        "window": window_fields(window),
        "x_zp": x_zp,
        "block": _block_fields(block, requant, c),
    }
    pixels = y.size // y.shape[3]
    params = c.params("tinyrt_window_block_s8_params", fields)
    patch = f"{c.scratch()} + {dense_scratch(block, pixels, c.isa)}"
    pointers = (c.pointer(x), columns(c), patch, c.pointer(y))
    c.call("tinyrt_window_block_s8", params, *pointers)
    emit_clamp(node, requant.act_min, requant.act_max, c)


def columns(c: CWriter) -> str:
    """The current op's scratch memory as columns."""
    return f"(tinyrt_taps_word *)(void *)({c.scratch()})"


def emit_clamp(node: BoundNode, act_min: int, act_max: int, c: CWriter) -> None:
    """Limit outputs that may not use the whole range of int8: the packed kernels saturate only."""
    limits = (act_min, act_max)
    if limits != (INT8_MIN, INT8_MAX):
        y = node.output
        c.call("tinyrt_clamp_s8", *(str(v) for v in (y.size, *limits)), c.pointer(y))


def requant_arrays(requant: PackedRequant, c: CWriter) -> Fields:
    """Mantissas and shifts as the fields of a packed kernel's parameters."""
    return {
        "mult": c.array("int32_t", "mult", requant.mult),
        "shift": c.array("int8_t", "shift", requant.shift),
        "requant_step": requant.step,
    }


def _block_fields(block: PackedBlock, requant: Requant, c: CWriter) -> Fields:
    """``tinyrt_block_s8_params``."""
    return {
        "taps": block.taps,
        "c_out": len(requant.mult),
        "w": c.packed("w", block.w),
        "init": c.packed("init", block.init),
        **requant_arrays(block.requant, c),
        "y_zp": requant.y_zp,
    }
