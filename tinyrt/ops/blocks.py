"""Convolutions and dense layers as products of columns with blocks of four output channels.

A layer takes this path where ``tinyrt.ops.packing`` can pack it; the general kernels stay for
groups, dilation, and scales that packing refuses. A pointwise convolution of stride 1 is a dense
layer whose rows are pixels; other windows are copied into columns pixel by pixel.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops.emit import Fields, nhwc, window_fields
from tinyrt.ops.packing import (
    BLOCK,
    PackedBlock,
    PackedRequant,
    column_bytes,
    eight_at_a_time,
    pack_block,
    single_bytes,
)
from tinyrt.ops.packing_s4 import pack_block_s4
from tinyrt.ops.requant import Requant
from tinyrt.ops.sparse import Cost, Weights, cheapest, costs, first_sums, in_blocks, n_of_4
from tinyrt.ops.spec import CWriter, InstructionSet
from tinyrt.ops.sweep import Sweep
from tinyrt.ops.sweep import columns as columns_sweep
from tinyrt.ops.window import Window

BLOCK_SETS = frozenset({InstructionSet.SCALAR, InstructionSet.DSP})
"""Instruction sets whose kernels read packed blocks."""

COLUMNS = 2
"""Columns that the kernels multiply at once."""

WINDOW_KERNEL, ROWS_KERNEL = "tinyrt_window_block", "tinyrt_window_rows"
"""Starts of the names of kernels for images, and for rows."""


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
    wide = pack_block(w.reshape(w.shape[0], -1), bias, x_zp, requant, isa)
    if node.input(1).dtype is DType.INT4:
        narrow = pack_block_s4(w.reshape(w.shape[0], -1), bias, x_zp, requant, isa)
        if narrow is not None and not _mostly_zeros(node, wide, narrow, isa):
            return narrow
    return wide


def _mostly_zeros(
    node: BoundNode, wide: PackedBlock | None, narrow: PackedBlock, isa: InstructionSet
) -> bool:
    """Whether weights of a byte without blocks of zeros take fewer bytes than all in four bits."""
    if wide is None:
        return False
    found = costs(wide, BLOCK, node.output.size // node.output.shape[-1], matrix=False, isa=isa)
    return Weights.BLOCKS in found and found[Weights.BLOCKS].nbytes <= narrow.w.nbytes


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


def dense_scratch(node: BoundNode, block: PackedBlock | None, isa: InstructionSet) -> int:
    """Bytes of columns that ``tinyrt_dense_s8`` or ``tinyrt_dense_row_s8`` works in."""
    if block is None:
        return 0
    c_in, rows = matrix_of(node)
    if row_block(node, block, isa) is not None:
        return 0 if isa is InstructionSet.SCALAR or c_in % BLOCK == 0 else block.taps
    return columns_scratch(block, rows, isa)


def matrix_of(node: BoundNode) -> tuple[int, int]:
    """What a dense layer or pointwise convolution reads: elements of a row, and rows."""
    c_in = node.input(1).size // node.output.shape[-1]
    return c_in, node.input(0).size // c_in


def row_block(node: BoundNode, block: PackedBlock, isa: InstructionSet) -> PackedBlock | None:
    """The layer for ``tinyrt_dense_row_s8``, which reads activations where they lie; or None."""
    c_in, rows = matrix_of(node)
    if rows != 1:
        return None
    eights = isa is InstructionSet.SCALAR and block.bits == 8
    return eight_at_a_time(block, c_in) if eights else block


def dense_sweep(node: BoundNode, block: PackedBlock, isa: InstructionSet) -> Sweep | None:
    """Two rows at a time, which are copied first; a single one is read all along."""
    if row_block(node, block, isa) is not None:
        return None
    return columns_sweep(node, matrix_of(node)[1], COLUMNS)


def columns_scratch(block: PackedBlock, rows: int, isa: InstructionSet) -> int:
    """Bytes of one or two columns."""
    if rows == 1:
        return single_bytes(block.taps, isa)
    return COLUMNS * column_bytes(block.taps, isa)


def convolution_scratch(
    node: BoundNode, block: PackedBlock | None, window: Window, isa: InstructionSet
) -> int:
    """Bytes of columns and patch that a convolution works in."""
    if block is None or is_pointwise(window):
        return dense_scratch(node, block, isa)
    return columns_scratch(block, _pixels(node), isa) + block.taps


def _pixels(node: BoundNode) -> int:
    return node.output.size // node.output.shape[3]


def sparse_costs(
    node: BoundNode, block: PackedBlock, window: Window | None, isa: InstructionSet
) -> dict[Weights, Cost]:
    """What a layer takes with its weights stored in every form that they can have.

    Args:
        node: the layer.
        block: its packed weights.
        window: of a convolution.
        isa: the instruction set.

    """
    if window is not None and not is_pointwise(window):
        return costs(block, BLOCK, _pixels(node), matrix=False, isa=isa)
    rows = matrix_of(node)[1]
    return costs(*_row_or_block(node, block, isa), rows, matrix=True, isa=isa)


def _row_or_block(
    node: BoundNode, block: PackedBlock, isa: InstructionSet
) -> tuple[PackedBlock, int]:
    """The layer as a dense kernel reads it, and how many channels one of its blocks has."""
    row = row_block(node, block, isa)
    if row is None:
        return block, BLOCK
    return row, 2 * BLOCK if isa is InstructionSet.SCALAR else BLOCK


def emit_dense(node: BoundNode, block: PackedBlock, requant: Requant, c: CWriter) -> None:
    """Write the call of ``tinyrt_dense_s8``, or of ``tinyrt_dense_row_s8`` for one row.

    Where zeros make it worth it, those of ``tinyrt_dense_sparse_s8``,
    ``tinyrt_dense_row_sparse_s8`` or ``tinyrt_dense_n_of_4_s8``.
    """
    c_in, rows = matrix_of(node)
    form = cheapest(sparse_costs(node, block, None, c.isa), c.small)
    if form in (Weights.ONE_OF_4, Weights.TWO_OF_4):
        _emit_n_of_4(node, block, requant, c)
        return
    is_row = row_block(node, block, c.isa) is not None
    layer, channels = _row_or_block(node, block, c.isa)
    fields: Fields = {"c_in": c_in} if is_row else {"rows": rows, "c_in": c_in}
    fields["block"] = _stored(layer, channels, form, requant, c)
    kernel = "tinyrt_dense_row" if is_row else "tinyrt_dense"
    params = c.params(f"{kernel}_s8_params", fields)
    c.call(
        f"{kernel}_{_suffix(block, form)}",
        params,
        c.pointer(node.input(0)),
        columns(c),
        c.pointer(node.output),
    )
    emit_clamp(node, requant.act_min, requant.act_max, c)


def _suffix(block: PackedBlock, form: Weights) -> str:
    """What the names of kernels for weights of that form end in."""
    return f"s{block.bits}" if form is Weights.DENSE else "sparse_s8"


def _stored(
    layer: PackedBlock, channels: int, form: Weights, requant: Requant, c: CWriter
) -> Fields:
    """``tinyrt_block_s8_params`` of weights in that form."""
    if form is Weights.BLOCKS:
        layer = in_blocks(layer, channels, len(requant.mult))
    return block_fields(layer, len(requant.mult), requant, c)


def _emit_n_of_4(node: BoundNode, block: PackedBlock, requant: Requant, c: CWriter) -> None:
    """Write the call of ``tinyrt_dense_n_of_4_s8``; ``costs`` has found that the layer is so."""
    c_in, rows = matrix_of(node)
    kept = n_of_4(block)
    assert kept is not None
    c_out, step = len(requant.mult), block.requant.step // BLOCK
    fields: Fields = {
        "rows": rows,
        "c_in": c_in,
        "c_out": c_out,
        "n": kept.n,
        "w": c.packed("w", kept.w),
        "places": c.packed("places", kept.places),
        "init": c.packed("init", first_sums(block)[:c_out]),
        "mult": c.packed("mult", block.requant.mult[: c_out if step else 1]),
        "shift": c.array("int8_t", "shift", block.requant.shift[: c_out if step else 1]),
        "requant_step": step,
        "y_zp": requant.y_zp,
    }
    params = c.params("tinyrt_dense_n_of_4_s8_params", fields)
    row = "NULL" if rows == 1 else c.scratch()
    pointers = (c.pointer(node.input(0)), row, c.pointer(node.output))
    c.call("tinyrt_dense_n_of_4_s8", params, *pointers)
    emit_clamp(node, requant.act_min, requant.act_max, c)


def emit_convolution(
    node: BoundNode,
    block: PackedBlock,
    window: Window,
    x_zp: int,
    requant: Requant,
    c: CWriter,
) -> None:
    """Write the call of a dense kernel, or of ``tinyrt_window_block_s8`` or its sparse twin.

    For rows, those of ``tinyrt_window_rows_s8``: all that is above and below is among them.
    """
    if is_pointwise(window):
        emit_dense(node, block, requant, c)
        return
    x, y = node.input(0), node.output
    form = cheapest(sparse_costs(node, block, window, c.isa), c.small)
    on_rows = window.on_rows and c.row_kernels
    fields = _row_fields(window, x, y) if on_rows else _image_fields(window, x, y)
    fields |= {"x_zp": x_zp, "block": _stored(block, BLOCK, form, requant, c)}
    kernel = ROWS_KERNEL if on_rows else WINDOW_KERNEL
    params = c.params(f"{kernel}_s8_params", fields)
    patch = f"{c.scratch()} + {columns_scratch(block, _pixels(node), c.isa)}"
    pointers = (c.pointer(x), columns(c), patch, c.pointer(y))
    c.call(f"{kernel}_{_suffix(block, form)}", params, *pointers)
    emit_clamp(node, requant.act_min, requant.act_max, c)


def _image_fields(window: Window, x: Value, y: Value) -> Fields:
    """Of ``tinyrt_window_block_s8_params``."""
    return {"x": nhwc(x.shape), "y": nhwc(y.shape), "window": window_fields(window)}


def _row_fields(window: Window, x: Value, y: Value) -> Fields:
    """Of ``tinyrt_window_rows_s8_params``."""
    _, _, width, channels = x.shape
    return {
        "rows": y.shape[1],
        "width": y.shape[2],
        "kernel_h": window.kernel[0],
        "row_bytes": width * channels,
        "row_step": window.stride[0] * width * channels,
        "run": window.kernel[1] * channels,
        "step": window.stride[1] * channels,
        "pad": window.before[1] * channels,
    }


def doubled_kernels(kernels: Iterable[str]) -> bool:
    """Whether there are kernels for rows beside those for images: one serves both."""
    called = set(kernels)
    return any(k.replace(ROWS_KERNEL, WINDOW_KERNEL) in called for k in called if ROWS_KERNEL in k)


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
    """Mantissas and shifts as the fields of a packed kernel's parameters.

    Mantissas lie with the weights, beside the biases that they belong to.
    """
    return {
        "mult": c.packed("mult", requant.mult),
        "shift": c.array("int8_t", "shift", requant.shift),
        "requant_step": requant.step,
    }


def block_fields(block: PackedBlock, c_out: int, requant: Requant, c: CWriter) -> Fields:
    """``tinyrt_block_s8_params``."""
    return {
        "taps": block.taps,
        "c_out": c_out,
        "w": c.packed("w", block.w),
        "init": c.packed("init", block.init),
        **requant_arrays(block.requant, c),
        "y_zp": requant.y_zp + (256 * block.raised if block.bits == 4 else 0),
    }
