"""A layer's exact integers for the packed kernels, and the layers that these kernels refuse.

* A channel that gives one output for all inputs (pruned channels do, with exponents and biases
  beyond any use) gets weights of 0, and a bias and scale that give this output.
* Exponents of requantisation are right shifts of 1 to 22. Some kernels take 0, too, and read shifts
  plus 1. Where an exponent goes left, as it may beside weights of four bits, the channel's weights
  and bias are raised instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT32_MAX, INT32_MIN
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.requant import Requant

QUAD = 4
"""Output channels that a kernel computes at once, and the multiple to which taps are padded."""

MAX_SUM = 1 << 23
"""Bound of the absolute accumulators of channels that share halves."""

MAX_SINGLE_SUM = 1 << 29
"""Bound of the absolute accumulators of other layers: requantisation doubles them."""

MAX_SHIFT = 22

MAX_PADDING = 1024
"""Bytes of zeros that a layer may always be padded with; beyond, at most half its weights."""

BLOCK_SETS = frozenset({InstructionSet.SCALAR, InstructionSet.DSP})
"""Instruction sets whose kernels read packed blocks."""


def padded(size: int) -> int:
    """The next multiple of ``QUAD``."""
    return -(-size // QUAD) * QUAD


def constants_of(node: BoundNode) -> tuple[NDArray[np.int8], NDArray[np.int32] | None] | None:
    """Weights and bias of a node; None if either is computed while the model runs."""
    w, bias = node.input(1), node.optional(2)
    if w.data is None or (bias is not None and bias.data is None):
        return None
    return np.asarray(w.data), None if bias is None else np.asarray(bias.data)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer's integers by output channel.

    Attributes:
        w: weights (channels, taps).
        bias: of each channel.
        mult: mantissas.
        shift: right shifts, at most ``MAX_SHIFT``.
        raised: powers of two that w and bias were raised by.

    """

    w: NDArray[np.int8]
    bias: NDArray[np.int64]
    mult: NDArray[np.int64]
    shift: NDArray[np.int64]
    raised: NDArray[np.int64]

    @property
    def c_out(self) -> int:
        """Output channels."""
        return len(self.w)

    def first_sums(self, x_zp: int) -> NDArray[np.int64]:
        """The initial accumulators: ``bias - x_zp * sum(w)``."""
        sums: NDArray[np.int64] = self.w.sum(axis=1, dtype=np.int64)
        return self.bias - x_zp * sums

    def is_as(self, w: NDArray[np.int8], requant: Requant) -> bool:
        """Whether no channel was resolved or raised: weights (channels, taps) and scales are so."""
        scales = (self.mult == requant.mult).all() and (self.shift == -requant.shift).all()
        return bool(scales and not self.raised.any() and np.array_equal(self.w, w))

    def reach(self, x_zp: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Least and greatest accumulator of every channel."""
        return reach(self.w, self.bias, x_zp)


def simplify(
    w: NDArray[Any],
    bias: NDArray[np.int32] | None,
    x_zp: int,
    requant: Requant,
    max_sum: int = MAX_SUM,
    raises: bool = True,
    bits: int = 8,
) -> Layer | None:
    """The layer with constant channels resolved.

    Args:
        w: weights (channels, taps).
        bias: of each channel, or None.
        x_zp: the input's zero point.
        requant: exponents and mantissas.
        max_sum: bound of the absolute accumulators.
        raises: whether exponents to the left raise weights; else they become negative shifts.
        bits: that weights have room in; of 16, kernels take one to double them.

    Returns:
        None if an accumulator can reach ``max_sum``, or an exponent is out of range.

    """
    first = np.zeros(len(w), np.int64) if bias is None else bias.astype(np.int64)
    least, greatest = reach(w, first, x_zp)
    exponent = requant.shift.astype(np.int64)
    # Sums that are shifted out of 32 bits wrap around: what lies between the ends is not alike.
    left = np.maximum(exponent, 0)
    fits = (least >= INT32_MIN >> left) & (greatest <= INT32_MAX >> left)
    low, high = (requant.apply(np.clip(v, INT32_MIN, INT32_MAX)) for v in (least, greatest))
    constant = fits & (low == high)
    # 4 * q, times 2**30, is 2 * q after the first rounding and q after the second, with shift 1.
    q = low.astype(np.int64) - requant.y_zp
    raised = np.where(constant, 0, np.clip(exponent, 0, MAX_SHIFT))
    factor = np.int64(1) << (raised if raises else np.zeros_like(raised))
    shift = np.where(constant, 1, np.maximum(-exponent, 0) if raises else -exponent)
    reached = np.where(constant, 0, np.maximum(-least, greatest) << raised)
    weights = _times(w, np.where(constant, 0, factor), bits)
    if weights is None or reached.max() >= max_sum:
        return None
    if exponent.max() > MAX_SHIFT or shift.max() > MAX_SHIFT:
        return None
    biases = np.where(constant, 4 * q, first * factor)
    mult = np.where(constant, 1 << 30, requant.mult.astype(np.int64))
    return Layer(weights, biases, mult, shift, raised)


def _times(w: NDArray[Any], factor: NDArray[np.int64], bits: int) -> NDArray[Any] | None:
    """Weights times a factor for each channel; None where their bits do not hold them."""
    if (factor == 1).all():
        return w
    wide = w.astype(np.int64) * factor[:, None]
    least = -(1 << (7 if bits == 8 else 14))
    if wide.max() >= -least or wide.min() < least:
        return None
    return wide.astype(w.dtype)


def reach(
    w: NDArray[Any], bias: NDArray[np.int64], x_zp: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Least and greatest accumulator of every channel."""
    low, high = INT8_MIN - x_zp, INT8_MAX - x_zp
    positive = np.maximum(w, 0).sum(axis=1, dtype=np.int64)
    negative = np.minimum(w, 0).sum(axis=1, dtype=np.int64)
    return bias + positive * low + negative * high, bias + positive * high + negative * low


@dataclass(frozen=True, slots=True, eq=False)
class PackedRequant:
    """Requantisation as the packed kernels take it.

    Attributes:
        mult: mantissas, one for each channel, padded to quads; four entries where all are alike.
        shift: right shifts, likewise; for some kernels, plus 1.
        step: entries from one quad to the next: 4, or 0 where all channels are alike.

    """

    mult: NDArray[np.int32]
    shift: NDArray[np.int8]
    step: int


def pack_requant(layer: Layer, more: int | NDArray[np.int64] = 0) -> PackedRequant:
    """Requantisation in quads, or one quad where all channels are alike.

    Args:
        layer: the layer.
        more: what is added to shifts, of all channels or of each.

    """
    mult, shift = layer.mult, layer.shift + more
    if (mult == mult[0]).all() and (shift == shift[0]).all():
        return PackedRequant(np.full(QUAD, mult[0], np.int32), np.full(QUAD, _byte(shift[0])), 0)
    rest = padded(len(mult)) - len(mult)
    return PackedRequant(
        np.pad(mult, (0, rest)).astype(np.int32),
        np.pad(_byte(shift), (0, rest), constant_values=1),
        QUAD,
    )


def _byte(shift: NDArray[np.int64]) -> NDArray[np.int8]:
    return np.asarray(np.asarray(shift) & 0xFF, np.uint8).view(np.int8)
