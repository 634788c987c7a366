"""Weights without blocks of zeros for cores with vectors, and whether that pays.

A block is 16 taps of four output channels: what the inner loops of the dense kernels take at once.
Blocks that are zero are left out; before each of the others stands how far on the next one's taps
lie, see ``tinyrt_mve_kept.h``.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.fields import requant_fields
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.mve.cost import CALL, convolution_cost, kept_cost, product_cost, row_cost
from tinyrt.backends.c.mve.layout import convolution_lines
from tinyrt.backends.c.mve.packing import QUAD, VECTOR, Axes, pack_filters, padded, rounding
from tinyrt.backends.c.weights import Cost, Stored, Weights
from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

CODE_BYTES = 1_500
"""Of the product's code, which layers without zeros add to a model with other layers."""

WORD, HEAD = 4, 12
"""Bytes before each block that is kept, and before those of four filters."""

BLOCK_WORDS = 1 + QUAD * VECTOR // WORD
"""Of a block that is kept, and of where the next one lies."""

SCALE_BYTES = 36
"""Of four channels: biases, mantissas and shifts."""


def fits(node: BoundNode, groups: int) -> bool:
    """Whether a layer may be stored so: whole blocks of bytes, in one group."""
    w = node.input(1)
    whole = w.shape[0] % QUAD == 0 and w.size // w.shape[0] % VECTOR == 0
    return groups == 1 and w.dtype is DType.INT8 and whole


def kept_of(filters: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Which blocks (channels / 4, blocks) are kept: those not zero, and the first where all are.

    Args:
        filters: (channels, taps), in the order in which kernels read them.

    """
    kept = (filters.reshape(len(filters) // QUAD, QUAD, -1, VECTOR) != 0).any(axis=(1, 3))
    kept[:, 0] |= ~kept.any(axis=1)
    return np.asarray(kept)


def without_zeros(filters: NDArray[np.int8]) -> NDArray[np.int32]:
    """The words of all filters (channels, taps), as ``tinyrt_mve_kept.h`` describes them."""
    blocks = np.ascontiguousarray(pack_filters(filters)).view("<i4").astype(np.int32)
    quads = blocks.reshape(*blocks.shape[:2], -1)
    kept = kept_of(filters)
    return np.concatenate(
        [_words_of(q, np.flatnonzero(k)) for q, k in zip(quads, kept, strict=True)]
    )


def _words_of(quad: NDArray[np.int32], places: NDArray[np.intp]) -> NDArray[np.int32]:
    """The words of four filters, of which the blocks at these places are kept."""
    first, last = VECTOR * places[0], VECTOR * places[-1]
    steps = np.append(VECTOR * np.diff(places), first)
    head = np.array([len(places) - 1, first, last])
    words = np.concatenate([steps[:, None], quad[places]], axis=1)
    return np.concatenate([head, words.ravel()]).astype(np.int32)


def starts_of_quads(words: NDArray[np.int32]) -> list[int]:
    """Where the words of each four filters begin, and their end."""
    starts = [0]
    while starts[-1] < words.size:
        more = int(words[starts[-1]])
        starts.append(starts[-1] + HEAD // WORD + (1 + more) * BLOCK_WORDS)
    return starts


def counts_of_quads(words: NDArray[np.int32]) -> NDArray[np.intp]:
    """How many blocks of each four filters these words have."""
    return (np.diff(starts_of_quads(words)) - HEAD // WORD) // BLOCK_WORDS


def most_words(shape: Shape) -> int:
    """Words of weights (channels, ...) of which no block is zero."""
    c_out, *taps = shape
    return c_out // QUAD * (HEAD // WORD + prod(taps) // VECTOR * BLOCK_WORDS)


def dense_stored(
    node: BoundNode, filters: NDArray[np.int8], requant: Requant, rows: int, target: Target
) -> Stored:
    """The form of a dense layer's weights.

    Args:
        node: the layer.
        filters: (channels, taps).
        requant: of its channels.
        rows: how many.
        target: what the kernel is chosen for.

    """
    c_out, length = filters.shape
    counts = _counts(node, filters)
    rounds = rounding(requant)
    if rows == 1:
        dense = row_cost(length, c_out)
        each = requant_fields(requant)["step"]
        scales = c_out * (WORD + (WORD + 1) * (each != 0))
    else:
        dense, scales = product_cost(rows, length, c_out, rounds > 0), c_out // QUAD * SCALE_BYTES
    forms = {
        Weights.DENSE: Cost(CALL + dense, filters.size + scales),
        Weights.BLOCKS: Cost(CALL + kept_cost(rows, counts, rounds), kept_bytes(counts)),
    }
    return target.stored(node.index, forms)


def convolution_stored(
    node: BoundNode,
    window: Window,
    filters: NDArray[np.int8],
    requant: Requant,
    target: Target,
) -> Stored:
    """The form of a convolution's weights, as ``dense_stored``."""
    counts = _counts(node, filters, convolution_lines(window))
    kept = counts, rounding(requant)
    scales = padded(len(filters), QUAD) // QUAD * SCALE_BYTES
    forms = {
        Weights.DENSE: Cost(convolution_cost(node, window), filters.size + scales),
        Weights.BLOCKS: Cost(convolution_cost(node, window, kept), kept_bytes(counts)),
    }
    return target.stored(node.index, forms)


def _counts(
    node: BoundNode, filters: NDArray[np.int8], axes: Axes | None = None
) -> NDArray[np.intp]:
    """How many blocks of every four filters are kept, in the order of taps that axes give."""
    return node.noted_of_constants(
        ("kept blocks", axes), lambda: np.asarray(kept_of(filters).sum(axis=1))
    )


def kept_bytes(counts: NDArray[np.intp]) -> int:
    """Bytes of weights without zeros, of their scales, and of the kernels' code."""
    blocks = int(counts.sum()) * BLOCK_WORDS * WORD
    return blocks + len(counts) * (HEAD + SCALE_BYTES) + CODE_BYTES
