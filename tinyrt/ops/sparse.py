"""Weights with many zeros: what the C kernels can leave out, and whether that pays.

Two forms are stored and computed without their zeros:

* **Blocks.** Four neighbouring taps of four output channels (of eight, for one row on scalar cores)
  that are all zero. What is left are runs of taps; before the words of each run stands a head that
  says where it begins, see ``tinyrt_sparse_run.h``. The inner loops are those of the dense kernels,
  so a run costs hardly more than its weights do.
* **N of 4.** At most one or two of every four weights along the input are not zero, in each output
  channel for itself. Stored are these and two bits for the place of each. Every product has to look
  up its activation, so that no two can share an instruction.

Which form a layer takes follows from the costs below, which are read off the kernels and held
against measured instructions by ``tests/firmware/test_sparse.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tinyrt.ops.packing import BLOCK, PackedBlock, int32_words
from tinyrt.ops.spec import InstructionSet

GROUP = 4
"""Taps that are left out together, and of which N are kept."""

BYTE_OF_PLACES = 4
"""Places that a byte holds."""

MOST_FIRST = (1 << 16) - 1
MOST_RUN = (1 << 15) - 1
"""What a head has room for."""


class Weights(StrEnum):
    """How a layer's weights are stored."""

    DENSE = "dense"
    BLOCKS = "blocks"
    ONE_OF_4 = "1:4"
    TWO_OF_4 = "2:4"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a layer takes in one of these forms.

    Attributes:
        instructions: of one inference, about.
        nbytes: of the weights with what says where they belong, and of the kernel's code where the
            form needs one of its own.

    """

    instructions: float
    nbytes: int


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Prices:
    """Instructions of the inner loops; Cortex-M3 for scalar cores, Cortex-M4 for DSP cores.

    Attributes:
        tap: of a tap of one channel.
        short_tap: what a tap takes more behind the last one that is unrolled in a run.
        run: of a run of a block, whatever its length.
        channel: of an output of one channel: first value, requantisation, store.
        column: of a tap of a pixel, for copying.
        unrolled: taps that the inner loop has side by side.

    """

    tap: float
    short_tap: float
    run: float
    channel: float
    column: float
    unrolled: int


PRICES: dict[tuple[InstructionSet, bool], Prices] = {
    (InstructionSet.SCALAR, True): Prices(2.17, 0.07, 26, 23, 0, unrolled=8),
    (InstructionSet.SCALAR, False): Prices(1.68, 0.31, 12, 17, 2.5, unrolled=16),
    (InstructionSet.DSP, True): Prices(1.09, 0.30, 4, 21, 0, unrolled=16),
    (InstructionSet.DSP, False): Prices(0.79, 0.56, 5.5, 16, 2.5, unrolled=16),
}
"""(instruction set, whether there is one row) -> what kernels of dense weights and blocks take."""

KEPT_TAP, KEPT_CHANNEL = 5.9, 41
"""Instructions for each weight that is kept of four, and for each output."""

WORTH = 0.97
"""What a sparse form must take at most of the dense one's cost."""

CODE_BYTES = {Weights.DENSE: 0, Weights.BLOCKS: 400, Weights.ONE_OF_4: 450, Weights.TWO_OF_4: 450}
"""Of the kernels that a form adds to a model with dense layers."""


def in_blocks(block: PackedBlock, channels: int, c_out: int) -> PackedBlock:
    """A packed layer without those fours of taps that are zero in all channels of a block.

    Args:
        block: the dense layer; for one row on scalar cores as ``eight_at_a_time`` gives it.
        channels: of a block: four, or eight there.
        c_out: channels of the layer, without padding.

    Returns:
        The layer with heads in its words, and in ``taps`` how many words all whole blocks have.

    """
    streams = [_stream(words, _runs(words)) for words in _by_block(block, channels)]
    whole = sum(len(stream) for stream in streams[: c_out // channels])
    return replace(block, w=int32_words(np.concatenate(streams)), taps=whole)


def _by_block(block: PackedBlock, channels: int) -> NDArray[np.int32]:
    """(blocks, taps, words of a tap)."""
    return block.w.reshape(len(block.init) // channels, block.taps, channels // BLOCK)


def _runs(words: NDArray[np.int32]) -> list[tuple[int, int]]:
    """First tap and end of each run of a block (taps, words), which has at least one."""
    taps = len(words)
    starts = np.arange(0, taps, GROUP)
    some = np.maximum.reduceat((words != 0).any(axis=1), starts)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], some, [False]]).astype(np.int8)))
    pairs = [(int(a) * GROUP, min(int(b) * GROUP, taps)) for a, b in edges.reshape(-1, 2)]
    return pairs or [(0, min(GROUP, taps))]


def _stream(words: NDArray[np.int32], runs: list[tuple[int, int]]) -> NDArray[np.int64]:
    """The words of all runs, each behind its head."""
    parts: list[NDArray[np.int64]] = []
    for first, end in runs:
        head = first << 16 | (end - first) << 1 | (end == runs[-1][1])
        parts += [np.array([head], np.int64), words[first:end].ravel().astype(np.int64)]
    return np.concatenate(parts)


def n_of_4(block: PackedBlock) -> Kept | None:
    """A packed layer's weights as those that are kept of every four.

    Returns:
        None if they have four bits, more than two of a group are not zero, or groups do not fill
        whole bytes of places.

    """
    if block.plain is None or block.plain.w.shape[1] % GROUP:
        return None
    groups = block.plain.w.reshape(-1, GROUP)
    n = max(1, int((groups != 0).sum(axis=1).max()))
    if n > 2 or block.plain.w.shape[1] % (BYTE_OF_PLACES // n * GROUP):
        return None
    # Those that are not zero first, in their order; of a group of zeros, any.
    order = np.argsort(groups == 0, axis=1, kind="stable")[:, :n]
    places = order.reshape(-1, BYTE_OF_PLACES) << 2 * np.arange(BYTE_OF_PLACES)
    kept = np.take_along_axis(groups, order, axis=1)
    return Kept(n, kept.ravel().astype(np.int8), places.sum(axis=1).astype(np.uint8).view(np.int8))


def first_sums(block: PackedBlock) -> NDArray[np.int32]:
    """The accumulators' first values, without what pairs of channels share."""
    even, odd = block.init.reshape(-1, 2).T
    return np.stack([even, (odd - even) >> 8], axis=1).ravel()


def costs(
    block: PackedBlock, channels: int, rows: int, matrix: bool, isa: InstructionSet
) -> dict[Weights, Cost]:
    """What a layer takes in every form that it can have.

    Args:
        block: the dense layer, as for ``in_blocks``.
        channels: of a block.
        rows: rows or pixels of the output.
        matrix: whether each row of the input is read as it lies, as N of 4 needs it.
        isa: the instruction set.

    """
    found = {Weights.DENSE: Cost(0, block.w.nbytes)}
    if block.plain is None:
        return found
    prices, outputs = PRICES[isa, rows == 1], len(block.init)
    pixel = prices.channel * outputs + prices.column * block.taps
    found[Weights.DENSE] = Cost(rows * (prices.tap * block.taps * outputs + pixel), block.w.nbytes)
    runs = [_runs(words) for words in _by_block(block, channels)]
    if block.taps <= min(MOST_FIRST, MOST_RUN):
        heads, taps = sum(map(len, runs)), sum(b - a for r in runs for a, b in r)
        short = sum((b - a) % prices.unrolled for r in runs for a, b in r)
        blocks = channels * (prices.tap * taps + prices.short_tap * short) + prices.run * heads
        nbytes = 4 * heads + taps * channels + CODE_BYTES[Weights.BLOCKS]
        found[Weights.BLOCKS] = Cost(rows * (blocks + pixel), nbytes)
    kept = n_of_4(block) if matrix else None
    if kept is not None:
        form = Weights.ONE_OF_4 if kept.n == 1 else Weights.TWO_OF_4
        nbytes = kept.w.nbytes + kept.places.nbytes + CODE_BYTES[form]
        found[form] = Cost(rows * (KEPT_TAP * kept.w.size + KEPT_CHANNEL * outputs), nbytes)
    return found


def cheapest(found: Mapping[Weights, Cost], small: bool) -> Weights:
    """The form with the fewest bytes, or the fewest instructions; sparse only where that is less.

    Args:
        found: what each form takes.
        small: whether bytes count.

    """

    def cost(form: Weights) -> float:
        return found[form].nbytes if small else found[form].instructions

    best = min(found, key=cost)
    return best if cost(best) < WORTH * cost(Weights.DENSE) else Weights.DENSE
