"""How kernels with lanes turn sums of products into int8 outputs, and the constants for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT32_MAX, INT32_MIN
from tinyrt.ops.shared.requant import Requant

LANES = 16

SIGN = 128
"""Flipping an int8's sign bit and reading it unsigned adds this."""

QUANT = 5
"""Vectors of constants for each vector of channels: first sums, mantissas, right shifts, and the
addends of even and of odd lanes (int64); in the general form left shifts, and nothing."""

MAX_RIGHT = 22
"""Greatest right shift of one rounding: a zero point that is shifted along with it fits."""

Integers = NDArray[np.int64]


def channel_vectors(channels: int) -> int:
    """Vectors of ``LANES`` that hold that many channels."""
    return -(-channels // LANES)


@dataclass(frozen=True, slots=True)
class Weighted:
    """Weights and constants of an int8 convolution or dense layer, in the op's own layout.

    Attributes:
        w: the weights.
        bias: one per output channel, or None.
        x_zp: the input's zero point.
        requant: mantissas and exponents per output channel, and the clamp.

    """

    w: NDArray[np.int8]
    bias: NDArray[np.int32] | None
    x_zp: int
    requant: Requant


class Finish(IntEnum):
    """How a kernel turns sums into outputs; the result is the same wherever a form is allowed.

    The reference rounds twice: ``high = (acc * mult + 2**30) >> 31``, then
    ``(high + 2**(s - 1) - (high < 0)) >> s``. Both are floors, which makes them one::

        (acc * mult + 2**30 + 2**(30 + s) - 2**31 * (acc < 0)) >> (31 + s)

    Attributes:
        GENERAL: two roundings, any shift.
        CLAMPED: one rounding; no shift goes left, and twice the sums fit 32 bits.
        SIGNED: likewise, where outputs are clamped to int8 only.
        RELU: likewise without the sign, as negative sums become the zero point, the least int8.

    """

    GENERAL = 0
    CLAMPED = 1
    SIGNED = 2
    RELU = 3


def pack_finish(layer: Weighted, axis: int, groups: int = 1) -> tuple[NDArray[np.int32], Finish]:
    """First sums and requantisation constants of a layer, and the form that they are for.

    The kernels see ``x + 128`` instead of ``x - x_zp``: the difference goes into the bias, modulo
    2**32 as in the accumulator.

    Args:
        layer: what is packed.
        axis: the axis of its weights that its outputs lie along.
        groups: how many groups of channels start a new vector.

    Returns:
        (groups, vectors, QUANT, LANES), and the shortest form that is exact.

    """
    w = np.moveaxis(layer.w, axis, 0).reshape(layer.w.shape[axis], -1)
    sums = w.sum(axis=1, dtype=np.int64)
    bias = np.zeros_like(sums) if layer.bias is None else layer.bias.astype(np.int64)
    low, high = _reach(w, bias, layer.x_zp)
    finish, is_constant = _form(layer.requant, low, high)
    first = (bias - (layer.x_zp + SIGN) * sums).astype(np.int32)
    quant = np.zeros((groups, channel_vectors(len(w) // groups) * LANES, QUANT), np.int32)
    constants = _constants(layer.requant, finish, low, is_constant)
    quant[:, : len(w) // groups] = np.stack([first, *constants], axis=1).reshape(groups, -1, QUANT)
    packed = quant.reshape(groups, -1, LANES, QUANT).transpose(0, 1, 3, 2).copy()
    if finish is not Finish.GENERAL:
        halves = packed[:, :, 3:].copy()
        for parity in (0, 1):
            packed[:, :, 3 + parity] = (
                halves[..., parity::2].swapaxes(2, 3).reshape(*halves.shape[:2], LANES)
            )
    return packed, finish


def _reach(w: NDArray[np.int8], bias: Integers, x_zp: int) -> tuple[Integers, Integers]:
    """The least and the greatest sum of each channel; padding lies between."""
    above, below = (
        part.sum(axis=1, dtype=np.int64) for part in (np.maximum(w, 0), np.minimum(w, 0))
    )
    most, least = INT8_MAX - x_zp, INT8_MIN - x_zp
    return bias + least * above + most * below, bias + most * above + least * below


def _form(requant: Requant, low: Integers, high: Integers) -> tuple[Finish, NDArray[np.bool_]]:
    """The shortest form, and the channels whose output is the same whatever the input is."""
    if low.min() < INT32_MIN or high.max() > INT32_MAX:
        return Finish.GENERAL, np.zeros(len(low), np.bool_)
    is_constant = requant.apply(low) == requant.apply(high)
    largest = np.where(is_constant, 0, np.maximum(-low, high))
    right = np.where(is_constant, 1, -requant.shift)
    if largest.max() >= 2**30 or right.min() < 1 or right.max() > MAX_RIGHT:
        return Finish.GENERAL, is_constant
    if (requant.act_min, requant.act_max) != (INT8_MIN, INT8_MAX):
        return Finish.CLAMPED, is_constant
    return Finish.RELU if requant.y_zp == INT8_MIN else Finish.SIGNED, is_constant


def _constants(
    requant: Requant, finish: Finish, low: Integers, is_constant: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], ...]:
    """Mantissas, right shifts, and either left shifts and zeros or both halves of the addends."""
    left, right = np.maximum(requant.shift, 0), np.maximum(-requant.shift, 0)
    if finish is Finish.GENERAL:
        return requant.mult, right, left, np.zeros_like(left)
    # Of 64 bits the upper 32 are kept; with a sign the sums are doubled before.
    doubled = finish is not Finish.RELU
    shift = np.where(is_constant, 1, right - (not doubled)).astype(np.int64)
    one = np.int64(1) << (shift + 32)
    addend = (1 << (30 + doubled)) + one // 2 + requant.y_zp * one
    # The middle between the output and the next one, which a sign leaves where it is.
    addend = np.where(is_constant, requant.apply(low) * one + one // 2, addend)
    halves = addend.view(np.int32).reshape(-1, 2)
    mult = np.where(is_constant, 0, requant.mult)
    return mult, shift.astype(np.int32), halves[:, 0], halves[:, 1]
