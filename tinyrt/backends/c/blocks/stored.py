"""A packed layer's constants as ``tinyrt_block_s8_params``, in the form that its weights have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks import row_bytes
from tinyrt.backends.c.blocks.block import Block, Packed, pair_sums
from tinyrt.backends.c.blocks.layer import QUAD
from tinyrt.backends.c.blocks.relu import ReluScales
from tinyrt.backends.c.blocks.words import eight_at_a_time
from tinyrt.backends.c.blocks.zeros import joined, runs_of, without_zeros
from tinyrt.backends.c.kernel import Data, Fields
from tinyrt.backends.c.weights import Weights
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.requant import Requant


def stored_fields(
    node: BoundNode,
    block: Block,
    form: Weights,
    layout: tuple[int, int],
    requant: Requant,
    relu: ReluScales | None,
) -> Fields:
    """``tinyrt_block_s8_params`` of weights in that form.

    Args:
        node: the op.
        block: its weights.
        form: dense, or without blocks of zeros.
        layout: channels of a block of weights, and taps of each.
        requant: zero point of the output.
        relu: scales for kernels that need no sign.

    """
    c_out, y_zp = block.layer.c_out, requant.y_zp + 256 * block.raised
    if form is Weights.DENSE and layout[0] == row_bytes.CHANNELS:
        packed = node.noted_of_constants("row bytes", lambda: row_bytes.pack(block))
        return block_fields(packed, layout[1], c_out, y_zp)
    words, taps = node.noted_of_constants(
        ("words", block.isa, form, layout), lambda: stored_words(block, form, *layout)
    )
    packed = block.packed
    stored = Packed(words, packed.init, packed.requant)
    if relu is None:
        return block_fields(stored, taps, c_out, y_zp)
    own = replace(stored, init=pair_sums(np.pad(relu.first, (0, block.channels - c_out))))
    return block_fields(own, taps, c_out, relu.raised, relu.fields)


def stored_words(
    block: Block, form: Weights, channels: int, taps: int
) -> tuple[NDArray[np.int32], int]:
    """The words of weights in that form, and the parameter ``taps``."""
    words = block.packed.w
    if channels != QUAD:
        words = eight_at_a_time(words, block.taps, taps)
    if form is not Weights.BLOCKS:
        return words, taps
    runs_of_words = without_zeros(words, runs_of(block, channels, taps), channels)
    whole = runs_of_words[: block.layer.c_out // channels]
    return joined(runs_of_words), sum(map(len, whole))


def block_fields(
    packed: Packed, taps: int, c_out: int, y_zp: int, scales: Fields | None = None
) -> Fields:
    """``tinyrt_block_s8_params``; with other scales than the packed ones, if given."""
    return {
        "taps": taps,
        "c_out": c_out,
        "w": Data("w", packed.w),
        "init": Data("init", packed.init),
        **(requant_arrays(packed) if scales is None else scales),
        "y_zp": y_zp,
    }


def requant_arrays(packed: Packed) -> Fields:
    """Mantissas and shifts as the fields of a packed kernel's parameters.

    Mantissas lie with the weights, beside the biases that they belong to.
    """
    return {
        "mult": Data("mult", packed.requant.mult),
        "shift": Data("shift", packed.requant.shift, "int8_t"),
        "requant_step": packed.requant.step,
    }
