"""Convolutions on packed blocks with groups, dilation, long sums or fine scales.

They take the products of ``tinyrt.ops.blocks`` group by group, over patches that are gathered tap
by tap: dearer to set out than a plain convolution's rows, and several times as cheap as the general
kernel. Layers whose sums or scales ``tinyrt_block_s8`` does not take have a product of their own,
which takes the sums of channels that share halves apart every few taps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tinyrt.ir import BoundNode, Shape
from tinyrt.ops.blocks import (
    BLOCK_SETS,
    block_fields,
    columns,
    columns_scratch,
    constants_of,
    emit_clamp,
)
from tinyrt.ops.emit import Fields, nhwc, window_fields
from tinyrt.ops.packing import (
    BLOCK,
    MOST_PADDING,
    PackedBlock,
    PackedRequant,
    pack_block,
    pack_long,
    padded,
)
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import CWriter, InstructionSet
from tinyrt.ops.window import Window


@dataclass(frozen=True, slots=True)
class GroupBlock:
    """A layer for ``tinyrt_group_block_s8`` or ``tinyrt_group_block_long_s8``.

    Attributes:
        block: all groups' constants, one behind the other.
        groups: how many.
        c_in: input channels of a group.
        c_out: output channels of a group.
        long: whether it takes the product for long sums and fine scales.

    """

    block: PackedBlock
    groups: int
    c_in: int
    c_out: int
    long: bool


def group_block(
    node: BoundNode, x_zp: int, requant: Requant, isa: InstructionSet
) -> GroupBlock | None:
    """The packed layer; None where only the general kernel will do."""
    constants = constants_of(node)
    if isa not in BLOCK_SETS or constants is None:
        return None
    w, bias = constants
    c_in = w.shape[-1]
    groups = node.input(0).shape[-1] // c_in if len(w.shape) == 4 else 1
    c_out = len(w) // groups
    filters = w.reshape(groups, c_out, -1)
    padding = groups * padded(c_out) * padded(filters.shape[2]) - w.size
    if padding > max(MOST_PADDING, w.size // 2):
        return None
    for long, pack in ((False, pack_block), (True, pack_long)):
        packed = []
        for g, part in enumerate(filters):
            own = slice(g * c_out, (g + 1) * c_out)
            scales = replace(requant, mult=requant.mult[own], shift=requant.shift[own])
            packed.append(pack(part, None if bias is None else bias[own], x_zp, scales, isa))
        found = [block for block in packed if block is not None]
        if len(found) == groups:
            return GroupBlock(_joined(found, padded(c_out)), groups, c_in, c_out, long)
    return None


def _joined(blocks: list[PackedBlock], channels: int) -> PackedBlock:
    """All groups' constants; scales are written out for each unless they are the same for all."""
    first = blocks[0].requant
    alike = all(
        b.requant.step == 0
        and (b.requant.mult == first.mult).all()
        and (b.requant.shift == first.shift).all()
        for b in blocks
    )
    written = [b.requant if b.requant.step else _written_out(b.requant, channels) for b in blocks]
    requant = (
        first
        if alike
        else PackedRequant(
            np.concatenate([r.mult for r in written]),
            np.concatenate([r.shift for r in written]),
            BLOCK,
        )
    )
    return replace(
        blocks[0],
        w=np.concatenate([b.w for b in blocks]),
        init=np.concatenate([b.init for b in blocks]),
        requant=requant,
    )


def _written_out(requant: PackedRequant, channels: int) -> PackedRequant:
    times = channels // BLOCK
    return PackedRequant(np.tile(requant.mult, times), np.tile(requant.shift, times), BLOCK)


def group_scratch(group: GroupBlock, pixels: int, isa: InstructionSet) -> int:
    """Bytes of columns, patch, and the outputs of two pixels before groups are joined."""
    joined = 2 * group.groups * group.c_out if group.groups > 1 else 0
    return columns_scratch(group.block, pixels, isa) + group.block.taps + joined


def emit_groups(
    node: BoundNode,
    group: GroupBlock,
    shapes: tuple[Shape, Shape],
    window: Window,
    x_zp: int,
    requant: Requant,
    c: CWriter,
) -> None:
    """Write the call of ``tinyrt_group_block_s8`` or ``tinyrt_group_block_long_s8``.

    Args:
        node: the op.
        group: the packed layer.
        shapes: input and output as images; a dense layer's rows are pixels.
        window: how the kernel slides.
        x_zp: the input's zero point.
        requant: limits and zero point of the output.
        c: the writer.

    """
    x, y = shapes
    block = group.block
    channels = padded(group.c_out)
    fields: Fields = {
        "x": nhwc(x),
        "y": nhwc(y),
        "window": window_fields(window),
        "x_zp": x_zp,
        "groups": group.groups,
        "c_in": group.c_in,
        "w_step": len(block.w) // group.groups,
        "init_step": channels,
        "requant_step": channels if block.requant.step else 0,
        "block": block_fields(block, group.c_out, requant, c),
    }
    params = c.params("tinyrt_group_block_s8_params", fields)
    patch = f"{c.scratch()} + {columns_scratch(block, pixels_of(y), c.isa)}"
    kernel = "tinyrt_group_block_long_s8" if group.long else "tinyrt_group_block_s8"
    c.call(kernel, params, c.pointer(node.input(0)), columns(c), patch, c.pointer(node.output))
    emit_clamp(node, requant.act_min, requant.act_max, c)


def pixels_of(y: Shape) -> int:
    """Outputs of each channel."""
    return y[0] * y[1] * y[2]
