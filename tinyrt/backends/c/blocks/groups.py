"""Convolutions on packed blocks with groups, dilation, long sums or fine scales.

They compute the products of ``block`` group by group, over patches that are gathered tap by tap.
Patches cost more than a plain convolution's rows, but several times less than the general kernel.
Layers whose sums or scales ``tinyrt_block_s8`` does not take have a product of their own. Every few
taps, it separates the sums of channels that share halves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tinyrt.backends.c.blocks.block import Block, LongBlock, Packed, long_block, pair_block
from tinyrt.backends.c.blocks.dense import COLUMNS_POINTER, columns_scratch
from tinyrt.backends.c.blocks.layer import (
    BLOCK_SETS,
    MAX_PADDING,
    QUAD,
    PackedRequant,
    constants_of,
    padded,
)
from tinyrt.backends.c.blocks.stored import block_fields
from tinyrt.backends.c.blocks.summed import SummedLayer, sum_fields, summed_block
from tinyrt.backends.c.clamp import clamp_calls
from tinyrt.backends.c.fields import nhwc, window_fields
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Calls, Fields, Kernel, Params, Scratch, call
from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.memory.sweep import Sweep
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window


@dataclass(frozen=True, eq=False)
class Groups:
    """A layer for ``tinyrt_group_block_s8`` or ``tinyrt_group_block_long_s8``.

    Attributes:
        blocks: of each group.
        c_in: input channels of a group.

    """

    blocks: tuple[Block, ...]
    c_in: int

    @property
    def c_out(self) -> int:
        """Output channels of a group."""
        return self.blocks[0].layer.c_out

    @property
    def is_long(self) -> bool:
        """Whether it takes the product for long sums and fine scales."""
        return isinstance(self.blocks[0], LongBlock)

    @property
    def taps(self) -> int | None:
        """Taps that sums stand behind; None where none do."""
        layer = self.blocks[0].layer
        return layer.whole.shape[1] if isinstance(layer, SummedLayer) else None

    @cached_property
    def packed(self) -> Packed:
        """All groups' constants, one behind the other; packed once."""
        blocks = [block.packed for block in self.blocks]
        return Packed(
            np.concatenate([b.w for b in blocks]),
            np.concatenate([b.init for b in blocks]),
            _joined([b.requant for b in blocks], padded(self.c_out)),
        )


def groups_of(node: BoundNode, x_zp: int, requant: Requant, isa: InstructionSet) -> Groups | None:
    """The layer in groups, found once; None where only the general kernel will do."""
    if isa not in BLOCK_SETS:
        return None
    return node.noted_of_constants(("groups", isa), lambda: _groups_of(node, x_zp, requant, isa))


def _groups_of(node: BoundNode, x_zp: int, requant: Requant, isa: InstructionSet) -> Groups | None:
    constants = constants_of(node)
    if constants is None:
        return None
    w, bias = constants
    c_in = w.shape[-1]
    groups = node.input(0).shape[-1] // c_in if len(w.shape) == 4 else 1
    c_out = len(w) // groups
    filters = w.reshape(groups, c_out, -1)
    zeros = groups * padded(c_out) * padded(filters.shape[2]) - w.size
    if zeros > max(MAX_PADDING, w.size // 2):
        return None
    is_wide = node.input(1).dtype is DType.INT16
    for block_for in (summed_block,) if is_wide else (pair_block, long_block):
        blocks: list[Block] = []
        for g, part in enumerate(filters):
            own = slice(g * c_out, (g + 1) * c_out)
            scales = replace(requant, mult=requant.mult[own], shift=requant.shift[own])
            block = block_for(part, None if bias is None else bias[own], x_zp, scales, isa)
            if block is None:
                break
            blocks.append(block)
        if len(blocks) == groups:
            return Groups(tuple(blocks), c_in)
    return None


def _joined(requants: list[PackedRequant], channels: int) -> PackedRequant:
    """All groups' scales, written out for each unless they are the same for all."""
    first = requants[0]
    if all(
        r.step == 0 and (r.mult == first.mult).all() and (r.shift == first.shift).all()
        for r in requants
    ):
        return first
    times = channels // QUAD
    return PackedRequant(
        np.concatenate([r.mult if r.step else np.tile(r.mult, times) for r in requants]),
        np.concatenate([r.shift if r.step else np.tile(r.shift, times) for r in requants]),
        QUAD,
    )


def groups_kernel(
    node: BoundNode,
    groups: Groups,
    shapes: tuple[Shape, Shape],
    window: Window,
    x_zp: int,
    requant: Requant,
    sweep: Callable[[], Sweep | None],
) -> Kernel:
    """The kernel ``tinyrt_group_block_s8``, or one of its like.

    Args:
        node: the op.
        groups: the layer.
        shapes: input and output as images; a dense layer's rows are pixels.
        window: how the kernel slides.
        x_zp: the input's zero point.
        requant: limits and zero point of the output.
        sweep: the order in which it reads and writes.

    """
    x, y = shapes
    count, taps = len(groups.blocks), groups.blocks[0].taps
    summed, pixels = groups.taps, y[0] * y[1] * y[2]
    # With sums there are always two.
    in_columns = columns_scratch(groups.blocks[0], pixels if summed is None else 2)
    # The outputs of two pixels before groups are joined.
    outputs = 2 * count * groups.c_out if count > 1 or summed is not None else 0

    def calls() -> Calls:
        packed, channels = groups.packed, padded(groups.c_out)
        fields: Fields = {
            "x": nhwc(x),
            "y": nhwc(y),
            "window": window_fields(window),
            "x_zp": x_zp,
            "groups": count,
            "c_in": groups.c_in,
            "w_step": len(packed.w) // count,
            "init_step": channels,
            "requant_step": channels if packed.requant.step else 0,
            "block": block_fields(packed, taps, groups.c_out, requant.y_zp),
        }
        params = Params("tinyrt_group_block_s8_params", fields)
        function = "tinyrt_group_block_long_s8" if groups.is_long else "tinyrt_group_block_s8"
        if summed is not None:
            more = sum_fields(summed, groups.blocks[0].isa)
            params = Params("tinyrt_group_more_s8_params", {"layer": fields, "more": more})
            function = "tinyrt_group_more_s8"
        scratch = Scratch(pointer=COLUMNS_POINTER), Scratch(in_columns)
        product = call(function, params, node.input(0), *scratch, node.output)
        return (product, *clamp_calls(node, requant.act_min, requant.act_max))

    return Kernel(calls, in_columns + taps + outputs, sweep)
