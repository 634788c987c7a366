"""Convolutions of 3 x 3 with fewer products: Winograd's F(2 x 2, 3 x 3), exact in integers.

A tile of 2 x 2 outputs is ``A' (sum over channels of (G w G') * (B' x B)) A``, ``*`` element by
element: 16 products for each input channel where windows take 36 (Lavin and Gray, "Fast Algorithms
for Convolutional Neural Networks", 2015). ``G`` has halves. It is doubled down the columns, and
along the rows, too, where the halves are; the kernel halves what these give, which is even. So all
numbers are integers, and a tile is twice its accumulators.

Weights of 8 bits reach 9 * 128 at 16 places, those around any zero point 9 * 255, activations
4 * 128: all fit 16 bits. Sums may wrap.
What is halved does not: it is four times a part of an accumulator. Where accumulators stay below
2^23 for all inputs, so do the first sum, which is that of an input of zeros, and 128 times the sum
of the weights' absolute values, by half a percent at most beyond. So four times the part is below
2^27.

Transformed weights take 32 bytes to a filter and input channel where others take 9: this pays on
large maps.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.block import Block, Packed, PairBlock
from tinyrt.backends.c.blocks.cost import TILES_READ, TilePairs, winograd_cost
from tinyrt.backends.c.blocks.layer import QUAD, pack_requant
from tinyrt.backends.c.blocks.words import int32_words, pair_words, tap_words
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.weights import Cost
from tinyrt.fixedpoint import INT16_MAX
from tinyrt.ops.shared.window import Window

PLACES = 16
"""Products of a tile for each input channel."""

SCALE = 4
"""Sums of a place, before what is halved, are so many times their part of an accumulator."""

CODE_BYTES = 1_950
"""Of the kernel, to a layer."""

TAPS = 9
"""Weights of a filter for each input channel."""

MOST = INT16_MAX // TAPS
"""The largest absolute weight whose transform fits 16 bits."""

SUMS_BYTES = 512
"""Of the sums of four channels of two tiles."""

_DOWN = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]], np.int64)
_ACROSS = np.array([[1, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 1]], np.int64)
"""How weights are transformed: ``2 G`` down the columns, along rows with 1 in place of halves."""

_ROWS, _COLUMNS = (3, 1, 2, 0), (1, 2, 0, 3)
"""The order of places: columns, and of each the rows, in which ``tinyrt_winograd_s8`` sums up."""


def fits(block: Block, window: Window, target: Target) -> bool:
    """Whether ``tinyrt_winograd_s8`` can compute the layer: a whole image, no weights of 4 bits."""
    one_by_one = (1, 1)
    slides = window.kernel == (3, 3) and window.stride == window.dilation == one_by_one
    in_fours = block.layer.w.shape[1] % (TAPS * QUAD) == 0
    # Weights that were raised may be wider than those of any file.
    halves = block.layer.w.dtype == np.int8 or np.abs(block.layer.w).max() <= MOST
    return (
        (target.isa is InstructionSet.DSP or target.high_products)
        and target.tiles
        and isinstance(block, PairBlock)
        and slides
        and in_fours
        and halves
        and not window.on_rows
    )


def transformed(w: NDArray[Any]) -> NDArray[np.int64]:
    """Filters (c_out, 3, 3, c_in) at the places of a tile, in the kernel's order.

    Returns:
        (c_out, 16, c_in): ``(2 G) w (2 G)'``, at most 9 times the largest absolute weight.

    """
    both = np.einsum("ir,orsc,js->ojic", _DOWN, w.astype(np.int64), _ACROSS)
    ordered = both[:, _COLUMNS][:, :, _ROWS]
    return np.asarray(ordered.reshape(len(w), PLACES, w.shape[3]), np.int64)


def words(w: NDArray[Any], isa: InstructionSet) -> NDArray[np.int32]:
    """Filters (c_out, 3, 3, c_in), padded to quads, as the kernel reads them.

    Quads of output channels, and of each the places; at a place words of two halves: on DSP cores,
    for every two input channels one word to an output channel; on scalar cores, for every input
    channel the halves of output channels (0, 1) and (2, 3).
    """
    c_in = w.shape[3]
    quads = transformed(w).reshape(-1, QUAD, PLACES, c_in)
    if isa is InstructionSet.SCALAR:
        by_tap = quads.transpose(0, 2, 3, 1).reshape(-1, QUAD)
        return int32_words(tap_words(by_tap).ravel())
    pairs = pair_words(quads.reshape(-1, c_in)).reshape(-1, QUAD, PLACES, c_in // 2)
    return int32_words(pairs.transpose(0, 2, 3, 1).ravel())


def pack(block: Block) -> Packed:
    """The layer's constants for ``tinyrt_winograd_s8``."""
    layer, rest = block.layer, block.channels - block.layer.c_out
    w = np.pad(layer.w.reshape(layer.c_out, 3, 3, -1), ((0, rest), *((0, 0),) * 3))
    first = SCALE * np.pad(layer.first_sums(block.x_zp), (0, rest))
    return Packed(words(w, block.isa), int32_words(first), pack_requant(layer))


def form(block: Block, pairs: TilePairs, pace: float) -> Cost:
    """What the layer costs, on a core that takes so many times the formula's instructions."""
    c_in = block.layer.w.shape[1] // TAPS
    nbytes = 2 * PLACES * c_in * block.channels
    cost = winograd_cost(block.isa, pairs, c_in, block.layer.c_out)
    return Cost(pace * cost, nbytes + CODE_BYTES)


def least(block: Block) -> float:
    """Instructions of the smallest part of the layer: four channels of two tiles."""
    c_in = block.layer.w.shape[1] // TAPS
    return winograd_cost(block.isa, TilePairs(1, 1), c_in, QUAD)


def tiles_bytes(c_in: int, isa: InstructionSet) -> int:
    """Bytes of two tiles' places."""
    return 2 * PLACES * c_in * (4 if isa is InstructionSet.SCALAR else 2)


def sums_bytes(c_in: int) -> int:
    """Bytes of the sums, where the inputs of tiles at the border are copied to before."""
    return max(SUMS_BYTES, prod(TILES_READ) * c_in)
