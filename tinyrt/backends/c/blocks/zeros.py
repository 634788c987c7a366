"""Weights with many zeros: the zeros that C kernels can leave out, and whether that pays.

Two forms are stored and computed without their zeros:

* **Blocks.** Four neighbouring taps of four output channels (of eight, for one row on scalar cores)
  that are all zero. What is left are runs of taps; before the words of each run stands a head that
  says where it begins, see ``tinyrt_sparse_run.h``. The inner loops are those of the dense kernels,
  so a run costs hardly more than its weights do.
* **N of 4.** At most one or two of every four weights along the input are not zero, in each output
  channel for itself. Stored are these and two bits for the place of each. Every product has to look
  up its activation, so that no two can share an instruction.

Which form a layer takes follows from what each costs, see ``form_cost``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.block import Block, PairBlock, Runs
from tinyrt.backends.c.blocks.form_cost import (
    Prices,
    Sizes,
    blocks_cost,
    dense_form_cost,
    kept_cost,
)
from tinyrt.backends.c.blocks.layer import QUAD
from tinyrt.backends.c.blocks.words import int32_words
from tinyrt.backends.c.kernel import Arg, Call, Data, Fields, Null, Params, Scratch, call
from tinyrt.backends.c.weights import Cost, Weights
from tinyrt.ir import BoundNode

GROUP = 4
"""Taps that are left out together, and of which N are kept."""

BYTE_OF_PLACES = 4
"""Places that a byte holds."""

MAX_RUN = (1 << 15) - 1
"""The longest run that a head has room for; for its first tap there is one bit more."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Weights of which at most n of every four are kept.

    Attributes:
        n: 1 or 2.
        w: values, channel by channel.
        places: four to a byte, two bits each.

    """

    n: int
    w: NDArray[np.int8]
    places: NDArray[np.int8]


CODE_BYTES = {Weights.DENSE: 0, Weights.BLOCKS: 400, Weights.ONE_OF_4: 450, Weights.TWO_OF_4: 450}
"""Of the kernels that a form adds to a model with dense layers."""


def runs_of(block: Block, channels: int, taps: int) -> list[Runs]:
    """Runs of taps of each block of so many channels; each block has at least one.

    Args:
        block: the layer.
        channels: of a block: four, or eight for one row on scalar cores.
        taps: of a channel: padded, or as they are for one row there.

    """
    key = channels, taps
    if key not in block.runs:
        w = block.layer.w
        filled = np.zeros((block.channels, -(-taps // GROUP) * GROUP), np.bool_)
        filled[: len(w), : w.shape[1]] = w != 0
        groups = filled.reshape(-1, channels, filled.shape[1] // GROUP, GROUP)
        some = np.asarray(groups.any(axis=(1, 3)))
        block.runs[key] = [_runs(one, taps) for one in some]
    return block.runs[key]


def _runs(some: NDArray[np.bool_], taps: int) -> Runs:
    """First tap and end of each run of a block whose groups of taps are not all zero."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], some, [False]]).astype(np.int8)))
    pairs = [(int(a) * GROUP, min(int(b) * GROUP, taps)) for a, b in edges.reshape(-1, 2)]
    return pairs or [(0, min(GROUP, taps))]


def without_zeros(
    words: NDArray[np.int32], runs: list[Runs], channels: int
) -> list[NDArray[np.int64]]:
    """The words of each block's runs, each run behind its head.

    Args:
        words: of all blocks; for one row on scalar cores as ``eight_at_a_time`` gives them.
        runs: of each block.
        channels: of a block.

    """
    by_block = words.reshape(len(runs), -1, channels // QUAD)
    return [_words_of(one, own) for one, own in zip(by_block, runs, strict=True)]


def joined(runs_of_words: list[NDArray[np.int64]]) -> NDArray[np.int32]:
    """All blocks' words, one behind the other."""
    return int32_words(np.concatenate(runs_of_words))


def _words_of(words: NDArray[np.int32], runs: Runs) -> NDArray[np.int64]:
    parts: list[NDArray[np.int64]] = []
    for first, end in runs:
        head = first << 16 | (end - first) << 1 | (end == runs[-1][1])
        parts += [np.array([head], np.int64), words[first:end].ravel().astype(np.int64)]
    return np.concatenate(parts)


def kept_of_4(w: NDArray[np.int8]) -> int | None:
    """How many of every four weights (c_out, taps) must be kept: 1 or 2.

    Returns:
        None if more than two of a group are not zero, or groups do not fill whole bytes of places.

    """
    if w.shape[1] % GROUP:
        return None
    n = max(1, int((w.reshape(-1, GROUP) != 0).sum(axis=1).max()))
    return None if n > 2 or w.shape[1] % (BYTE_OF_PLACES // n * GROUP) else n


def n_of_4(w: NDArray[np.int8], n: int) -> Kept:
    """The weights (c_out, taps) that are kept, where at most n of every four are not zero."""
    groups = w.reshape(-1, GROUP)
    # Nonzero weights first, in their order; zeros fill up a group with fewer.
    order = np.argsort(groups == 0, axis=1, kind="stable")[:, :n]
    places = order.reshape(-1, BYTE_OF_PLACES) << 2 * np.arange(BYTE_OF_PLACES)
    nonzero = np.take_along_axis(groups, order, axis=1)
    return Kept(n, nonzero.ravel(), places.sum(axis=1).astype(np.uint8).view(np.int8))


def costs(
    block: Block, sizes: Sizes, prices: Prices, *, matrix: bool, relu: bool = False
) -> dict[Weights, Cost]:
    """The cost of a layer in every form that it can have.

    Args:
        block: the layer.
        sizes: what its kernel computes.
        prices: of the cores.
        matrix: whether each row of the input is read as it lies, as N of 4 needs it.
        relu: whether outputs take no sign with dense weights.

    """
    nbytes = block.nbytes * sizes.taps // block.taps
    if not isinstance(block, PairBlock):
        return {Weights.DENSE: Cost(0, nbytes)}
    forms = {Weights.DENSE: Cost(dense_form_cost(block, sizes, prices, relu), nbytes)}
    if sizes.taps <= MAX_RUN:
        runs = runs_of(block, sizes.channels, sizes.taps)
        stored = blocks_bytes(runs, sizes.channels)
        forms[Weights.BLOCKS] = Cost(blocks_cost(runs, sizes, prices), stored)
    n = kept_of_4(block.layer.w) if matrix else None
    if n is not None:
        form = Weights.ONE_OF_4 if n == 1 else Weights.TWO_OF_4
        nonzero = block.layer.w.size // GROUP * n
        stored = nonzero + nonzero // BYTE_OF_PLACES + CODE_BYTES[form]
        cost = kept_cost(n, nonzero, block.layer.c_out, sizes, prices)
        forms[form] = Cost(cost, stored)
    return forms


def blocks_bytes(runs: list[Runs], channels: int) -> int:
    """Bytes of the words of runs of blocks of so many channels, and of code."""
    heads, read = sum(map(len, runs)), sum(b - a for own in runs for a, b in own)
    return 4 * heads + read * channels + CODE_BYTES[Weights.BLOCKS]


def kept_call(node: BoundNode, block: Block, y_zp: int, matrix: tuple[int, int]) -> Call:
    """The call of ``tinyrt_dense_n_of_4_s8``, for so many rows of so many elements."""
    n = kept_of_4(block.layer.w)
    assert n is not None
    sparse, packed, (rows, c_in) = n_of_4(block.layer.w, n), block.packed, matrix
    c_out, step = block.layer.c_out, packed.requant.step // QUAD
    first = block.layer.first_sums(block.x_zp)
    fields: Fields = {
        "rows": rows,
        "c_in": c_in,
        "c_out": c_out,
        "n": sparse.n,
        "w": Data("w", sparse.w),
        "places": Data("places", sparse.places),
        "init": Data("init", first.astype(np.int32)),
        "mult": Data("mult", packed.requant.mult[: c_out if step else 1]),
        "shift": Data("shift", packed.requant.shift[: c_out if step else 1], "int8_t"),
        "requant_step": step,
        "y_zp": y_zp,
    }
    params = Params("tinyrt_dense_n_of_4_s8_params", fields)
    row: Arg = Null() if rows == 1 else Scratch()
    return call("tinyrt_dense_n_of_4_s8", params, node.input(0), row, node.output)
