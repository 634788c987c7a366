"""Products of four pixels at once, for cores without dual multiplies: three for four.

A multiplication of 32 bits is wasted on two numbers of 8 bits. So four activations of a tap are
three words, modulo 2**32:

    x0 + 2**24 * x3        x1 + 2**16 * x3        x2 + 2**8 * x3

and the sums of their products with weights hold ``s0 + 2**24 * s3`` and so on. Accumulators stay
below ``2**23``, as for all packed layers: 24 bits hold each. The first sum tells s0, and the
low byte of s3. Taken out of the second one, this leaves s1 and the next byte, and so on: 96 bits
hold four sums of 24 bits, whatever their values.

Weights are bytes: of two output channels for one tap, then for the next one. Cores that load a sign
by an instruction of its own read them raised by 128. That adds 128 times the words of all taps to
the sums of every channel, so that these begin with as much less.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.block import Block, Packed, PairBlock
from tinyrt.backends.c.blocks.cost import FOUR
from tinyrt.backends.c.blocks.layer import QUAD, pack_requant, padded
from tinyrt.backends.c.blocks.relu import ONE, PER_PAIR, PER_QUAD, ReluScales
from tinyrt.backends.c.blocks.words import int32_words
from tinyrt.backends.c.clamp import clamp_calls
from tinyrt.backends.c.kernel import (
    Call,
    Calls,
    Data,
    Fields,
    Kernel,
    Params,
    Scratch,
    Target,
    call,
)
from tinyrt.backends.c.weights import Stored
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import windows
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

WORDS = 3
"""Words of four activations."""

WORD_BYTES = 4

POINTER = "int32_t *"
"""The type of scratch memory as such words."""


def fits(block: Block, pixels: int, target: Target) -> bool:
    """Whether the kernels for four pixels compute a layer of so many.

    They take more working memory. They do not read both kinds of scales: code for blobs takes
    others where outputs may need no sign.
    """
    scales = target.choices is None or not target.mla
    plain = scales and not target.small
    return (
        target.fours and target.tiles and plain and isinstance(block, PairBlock) and pixels >= FOUR
    )


def scratch_bytes(block: Block, target: Target) -> int:
    """Bytes of the words of all taps; parts of raised weights keep what their sums begin with."""
    kept = target.raised and not math.isinf(target.in_one_go)
    return WORDS * WORD_BYTES * (block.taps + kept)


def weight_bytes(w: NDArray[np.int8], raised: bool) -> NDArray[np.int32]:
    """Weights (c_out, taps) as the kernels read them, four in a word.

    Pairs of output channels, and of each the taps: two bytes to a tap.

    Args:
        w: the weights.
        raised: whether 128 is added to each; they have no sign then.

    """
    c_out, taps = w.shape
    wide = np.pad(w, ((0, c_out % 2), (0, padded(taps) - taps)))
    by_tap = wide.reshape(-1, 2, padded(taps)).transpose(0, 2, 1)
    signed = by_tap.ravel().view(np.uint8)
    return (signed ^ (0x80 if raised else 0)).view("<i4").astype(np.int32)


def pack(block: Block, raised: bool, relu: ReluScales | None = None) -> Packed:
    """The layer's constants: first sums are one to a channel, and those of the scales if given."""
    layer = block.layer
    own = layer.first_sums(block.x_zp) if relu is None else relu.first
    first = np.pad(own, (0, layer.c_out % 2))
    return Packed(weight_bytes(layer.w, raised), int32_words(first), pack_requant(layer))


def fields(block: Block, y_zp: int, relu: ReluScales | None, raised: bool) -> Fields:
    """``tinyrt_block_s8_params`` of a layer; ``requant_step`` is 0 where channels are alike."""
    packed = pack(block, raised, relu)
    own: Fields = {
        "taps": block.taps,
        "c_out": block.layer.c_out,
        "w": Data("w", packed.w),
        "init": Data("init", packed.init),
    }
    if relu is not None:
        # Outputs count from -128 on.
        scales = relu.scales.reshape(-1, PER_PAIR) - [0, 128 * ONE, 0]
        own["mult"] = Data("mult", scales.ravel().astype(np.int32))
        return own | {"requant_step": relu.step // PER_QUAD, "y_zp": relu.raised}
    own |= {
        "mult": Data("mult", packed.requant.mult),
        "shift": Data("shift", packed.requant.shift, "int8_t"),
    }
    return own | {"requant_step": packed.requant.step // QUAD, "y_zp": y_zp}


def suffix(relu: ReluScales | None, raised: bool) -> str:
    """The suffix of the names of kernels for such scales, and such weights."""
    if relu is not None:
        return "relu_s8"
    return "raised_s8" if raised else "s8"


def dense_call(
    node: BoundNode,
    block: Block,
    y_zp: int,
    relu: ReluScales | None,
    matrix: tuple[int, int],
    raised: bool,
) -> Call:
    """The call of ``tinyrt_dense_four_s8`` or its like, for so many rows of so many elements."""
    rows, c_in = matrix
    own: Fields = {"rows": rows, "c_in": c_in, "block": fields(block, y_zp, relu, raised)}
    kernel = f"tinyrt_dense_four_{suffix(relu, raised)}"
    params = Params("tinyrt_dense_s8_params", own)
    return call(kernel, params, node.input(0), Scratch(pointer=POINTER), node.output)


def window_kernel(
    node: BoundNode,
    block: Block,
    window: Window,
    image: Fields,
    requant: Requant,
    relu: ReluScales | None,
    target: Target,
    stored: Stored,
) -> Kernel:
    """The kernel ``tinyrt_window_four_s8`` or its like; image has all fields but the block's."""
    x, y = node.input(0), node.output
    in_words, raised = scratch_bytes(block, target), target.raised

    def calls() -> Calls:
        own = image | {"block": fields(block, requant.y_zp, relu, raised)}
        params = Params("tinyrt_window_block_s8_params", own)
        scratch = Scratch(pointer=POINTER), Scratch(in_words)
        kernel = f"tinyrt_window_four_{suffix(relu, raised)}"
        product = call(kernel, params, x, *scratch, y)
        return (product, *clamp_calls(node, requant.act_min, requant.act_max))

    rows = FOUR * window.kernel[1] * x.shape[3]
    return Kernel(calls, in_words + rows, lambda: windows(node, window), stored=stored)
