"""Weights and constants in the order in which the C kernels read them.

The kernels of convolutions and dense layers compute four output channels at a time, from one or two
columns of activations. A layer is packed for them when it is exported:

* The input's zero point is folded into the bias, ``init = bias - x_zp * sum(w)``, so that the
  kernels multiply activations as they are; taps outside of the input read the zero point.
* Two channels share one 16-bit half: ``256 * w1 + w0``. A multiplication with it adds
  ``256 * s1 + s0`` to a sum, one with its sign-extended low byte adds ``s0``; the kernel takes
  ``s1 = (sum - s0) / 256`` out in the end. This needs half the byte extractions of plain weights,
  and ``|s1| < 2**23``.
* Channels are padded to a multiple of four, taps to a multiple of four, both with zeros.
* Scalar cores read one 32-bit word for each block of four channels and tap: the halves of channels
  (0, 1) and (2, 3). Cores with dual multiplies read two words for each two taps: the halves of
  channels (0, 1) for both taps, then those of channels (2, 3). Of every four taps the even ones
  come first there, as the activations do when their bytes are widened in pairs.
* A channel that gives one output for all inputs (pruned channels do, with exponents and biases
  beyond any use) gets weights of 0, and a bias and scale that give this output.
* Exponents of requantisation are right shifts of 1 to 22. Some kernels take 0, too, and read shifts
  plus 1. Where an exponent goes left, as it may beside weights of four bits, the channel's weights
  and bias are raised instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT32_MAX, INT32_MIN
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import InstructionSet

BLOCK = 4
"""Output channels of a block, and the multiple to which taps are padded."""

MOST_SUM = 1 << 23
"""What accumulators of channels that share halves must stay below, as absolute values."""

MOST_SINGLE_SUM = 1 << 29
"""What those of other layers must stay below: requantisation doubles them."""

MOST_SHIFT = 22

MOST_PADDING = 1024
"""Bytes of zeros that a layer may always be padded with; beyond, at most half its weights."""


@dataclass(frozen=True, slots=True)
class PackedRequant:
    """Requantisation as the packed kernels take it.

    Attributes:
        mult: mantissas, one for each channel, padded to blocks; four entries where all are alike.
        shift: right shifts, likewise; for some kernels, plus 1.
        step: entries from one block to the next: 4, or 0 where all channels are alike.

    """

    mult: NDArray[np.int32]
    shift: NDArray[np.int8]
    step: int


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """A layer for ``tinyrt_block_s8``.

    Attributes:
        taps: elements of a column, padded.
        w: 32-bit words, see above.
        init: first values of the accumulators: those of the channels 0 and 2 of a block, and the
            ones of 1 and 3 times 256 plus their neighbour's.
        requant: mantissas and shifts.
        bits: of a weight; the kernels' names end in them.
        raised: left shift of accumulators of weights of four bits: 1 doubles them.
        plain: the layer as it was before it was packed, where it has weights of eight bits.

    """

    taps: int
    w: NDArray[np.int32]
    init: NDArray[np.int32]
    requant: PackedRequant
    bits: int = 8
    raised: int = 1
    plain: Layer | None = None


def padded(size: int) -> int:
    """The next multiple of ``BLOCK``."""
    return -(-size // BLOCK) * BLOCK


def column_bytes(taps: int, isa: InstructionSet) -> int:
    """Bytes of each of two columns of so many taps, a multiple of four."""
    return taps * (4 if isa is InstructionSet.SCALAR else 2)


def single_bytes(taps: int, isa: InstructionSet) -> int:
    """Bytes of a column that is multiplied alone."""
    return taps * (4 if isa is InstructionSet.SCALAR else 1)


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's integers by output channel, as exact as the packed kernels need them.

    Attributes:
        w: weights (channels, taps).
        bias: of each channel.
        mult: mantissas.
        shift: right shifts, at most ``MOST_SHIFT``.
        raised: powers of two that w and bias were raised by.

    """

    w: NDArray[np.int64]
    bias: NDArray[np.int64]
    mult: NDArray[np.int64]
    shift: NDArray[np.int64]
    raised: NDArray[np.int64]


def simplify(
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    x_zp: int,
    requant: Requant,
    most_sum: int = MOST_SUM,
    raises: bool = True,
) -> Layer | None:
    """The layer with constant channels resolved.

    Args:
        w: weights (channels, taps).
        bias: of each channel, or None.
        x_zp: the input's zero point.
        requant: exponents and mantissas.
        most_sum: what accumulators must stay below.
        raises: whether exponents to the left raise weights; else they become negative shifts.

    Returns:
        None if an accumulator can reach ``most_sum``, or an exponent is out of range.

    """
    wide = w.astype(np.int64)
    first = np.zeros(len(w), np.int64) if bias is None else bias.astype(np.int64)
    least, greatest = _reach(wide, first, x_zp)
    fits = (least >= INT32_MIN) & (greatest <= INT32_MAX)
    low, high = (requant.apply(np.clip(v, INT32_MIN, INT32_MAX)) for v in (least, greatest))
    constant = fits & (low == high)
    # 4 * q, times 2**30, is 2 * q after the first rounding and q after the second, with shift 1.
    q = low.astype(np.int64) - requant.y_zp
    exponent = requant.shift.astype(np.int64)
    raised = np.where(constant, 0, np.clip(exponent, 0, MOST_SHIFT))
    factor = np.int64(1) << (raised if raises else np.zeros_like(raised))
    layer = Layer(
        np.where(constant[:, None], 0, wide * factor[:, None]),
        np.where(constant, 4 * q, first * factor),
        np.where(constant, 1 << 30, requant.mult.astype(np.int64)),
        np.where(constant, 1, np.maximum(-exponent, 0) if raises else -exponent),
        raised,
    )
    most = np.where(constant, 0, np.maximum(-least, greatest) << raised)
    too_large = most.max() >= most_sum or layer.w.max() > INT8_MAX or layer.w.min() < INT8_MIN
    if too_large or exponent.max() > MOST_SHIFT or layer.shift.max() > MOST_SHIFT:
        return None
    return layer


def _reach(
    w: NDArray[np.int64], bias: NDArray[np.int64], x_zp: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Least and greatest accumulator of every channel."""
    low, high = INT8_MIN - x_zp, INT8_MAX - x_zp
    positive, negative = np.maximum(w, 0).sum(axis=1), np.minimum(w, 0).sum(axis=1)
    return bias + positive * low + negative * high, bias + positive * high + negative * low


def pack_requant(layer: Layer, more: int | NDArray[np.int64] = 0) -> PackedRequant:
    """Requantisation in blocks, or one block where all channels are alike.

    Args:
        layer: the layer.
        more: what is added to shifts, of all channels or of each.

    """
    mult, shift = layer.mult, layer.shift + more
    if (mult == mult[0]).all() and (shift == shift[0]).all():
        return PackedRequant(np.full(BLOCK, mult[0], np.int32), np.full(BLOCK, _byte(shift[0])), 0)
    rest = padded(len(mult)) - len(mult)
    return PackedRequant(
        np.pad(mult, (0, rest)).astype(np.int32),
        np.pad(_byte(shift), (0, rest), constant_values=1),
        BLOCK,
    )


def _byte(shift: NDArray[np.int64]) -> NDArray[np.int8]:
    return np.asarray(np.asarray(shift) & 0xFF, np.uint8).view(np.int8)


def pack_block(
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    x_zp: int,
    requant: Requant,
    isa: InstructionSet,
) -> PackedBlock | None:
    """Pack a layer with weights (c_out, taps), taps in the order of the column's bytes.

    Returns:
        None if the layer must take the general kernel: its sums are too large, its output scale is
        finer than its accumulators', or too much of it would be padding.

    """
    c_out, taps = w.shape
    rows, columns = padded(c_out), padded(taps)
    layer = simplify(w, bias, x_zp, requant)
    if (
        layer is None
        or layer.shift.min() < 1
        or rows * columns - w.size > max(MOST_PADDING, w.size // 2)
    ):
        return None
    words = _pair_weights(layer.w, isa)
    if words is None:
        return None
    init = np.pad(layer.bias - x_zp * layer.w.sum(axis=1), (0, rows - c_out)).reshape(-1, 2)
    init[:, 1] = init[:, 1] * 256 + init[:, 0]
    # The doubled words wrap as a register does.
    first = int32_words(init.ravel())
    return PackedBlock(columns, words, first, pack_requant(layer), plain=layer)


def pack_long(
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    x_zp: int,
    requant: Requant,
    isa: InstructionSet,
) -> PackedBlock | None:
    """As ``pack_block`` for ``tinyrt_block_long_s8``: larger sums, and shifts that may go left.

    First values are plain, one to a channel.
    """
    layer = simplify(w, bias, x_zp, requant, MOST_SINGLE_SUM, raises=False)
    words = None if layer is None else _pair_weights(layer.w, isa)
    if layer is None or words is None:
        return None
    rest = padded(len(w)) - len(w)
    init = np.pad(layer.bias - x_zp * layer.w.sum(axis=1), (0, rest))
    return PackedBlock(padded(w.shape[1]), words, int32_words(init), pack_requant(layer))


def _pair_weights(w: NDArray[np.int64], isa: InstructionSet) -> NDArray[np.int32] | None:
    """Weights (c_out, taps) as words; None where two do not fit into one half."""
    c_out, taps = w.shape
    rows, columns = padded(c_out), padded(taps)
    pairs = np.pad(w, ((0, rows - c_out), (0, columns - taps))).reshape(rows // 2, 2, columns)
    halves = pairs[:, 1] * 256 + pairs[:, 0]
    if halves.min() < -(1 << 15):
        return None
    return int32_words(
        _words_scalar(halves) if isa is InstructionSet.SCALAR else _words_pairs(halves)
    )


def eight_at_a_time(block: PackedBlock, taps: int) -> PackedBlock | None:
    """The scalar cores' packed layer as ``tinyrt_dense_row_s8`` reads it: eight channels by tap.

    Returns:
        None if there is a block of four channels over.

    """
    if len(block.init) % (2 * BLOCK):
        return None
    words = block.w.reshape(-1, 2, block.taps)[:, :, :taps].transpose(0, 2, 1)
    return replace(block, taps=taps, w=words.ravel())


def _words_scalar(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """(channel pairs, taps) -> words (blocks, taps)."""
    low, high = halves[0::2], halves[1::2]
    return _word(low, high).ravel()


def _words_pairs(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """(channel pairs, taps) -> words (blocks, taps / 2, channel pairs)."""
    pairs, taps = halves.shape
    words = pair_words(halves).reshape(pairs // 2, 2, taps // 2)
    return words.transpose(0, 2, 1).ravel()


def pair_words(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, taps) -> words (n, taps / 2), even ones of every four taps before odd ones."""
    n, taps = halves.shape
    even_first = halves.reshape(n, taps // 4, 2, 2).transpose(0, 1, 3, 2)
    return _word(even_first[..., 0], even_first[..., 1]).reshape(n, taps // 2)


def tap_words(halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, taps) -> words (n, taps / 2), one tap after the other."""
    return _word(halves[:, 0::2], halves[:, 1::2])


def _word(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two 16-bit halves in a word."""
    return np.asarray((low & 0xFFFF) | (high << 16), np.int64)


def int32_words(words: NDArray[np.int64]) -> NDArray[np.int32]:
    """The low 32 bits."""
    return words.astype(np.uint64).astype(np.uint32).view(np.int32)
