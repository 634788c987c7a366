"""Functions of int16 values by interpolated lookup tables, as in TFLite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT16_MAX, INT16_MIN, INT32_MAX
from tinyrt.floatmath import elementary
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.spec import Array, qparams, require_alike, require_fixed

STEPS = 512
"""Intervals of an interpolated table over the int16 range; the table has one entry more."""

FIXED_OUTPUT = (1 / 32768, 0)
"""Scale and zero point of logistic, tanh and softmax in int16."""

Float32s = NDArray[np.float32]


def _round(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)


def interpolation_table(
    function: Callable[[Float32s], Float32s], least: float, greatest: float
) -> NDArray[np.int16]:
    """The function over [least, greatest] in Q0.15, 513 entries, computed in float32.

    Each entry is shifted by half the interpolation error at the middle of its interval. So the
    error at the interval's ends is as large as the error at its middle.
    """
    step = np.float32((np.float32(greatest) - np.float32(least)) / STEPS)
    scale = np.float32(32768)
    at = np.float32(least) + np.arange(STEPS, dtype=np.float32) * step
    after = np.float32(least) + np.arange(1, STEPS + 1, dtype=np.float32) * step
    value = _round(function(at) * scale)
    middle = _round(function(at + step / 2) * scale)
    interpolated = _round((function(after) * scale + value) / 2)
    bias = _round((interpolated - middle) / 2)
    last = _round(function(np.array([greatest], np.float32)) * scale)
    entries = np.concatenate([value - bias, last])
    return np.asarray(np.clip(entries, INT16_MIN, INT16_MAX), np.int16)


def interpolate(table: NDArray[np.int16], x: Array) -> NDArray[np.int64]:
    """The table's values at int16 positions, linear between its entries."""
    wide = table.astype(np.int64)
    index = 256 + (x >> 7)
    slope = wide[index + 1] - wide[index]
    return np.asarray(wide[index] + ((slope * (x & 0x7F) + 64) >> 7))


def sigmoid_table() -> NDArray[np.int64]:
    """``sigmoid(i / 24)`` in Q0.16 for ``i`` from 0 to 255: up to about 10.7.

    Entries are shifted as in ``interpolation_table``. The last one is saturated.
    """

    def sigmoid(i: Array) -> Array:
        return np.asarray(65536 / (1 + elementary.exp(-i / 24)))

    at = np.arange(256.0)
    error = (sigmoid(at) + sigmoid(at + 1)) / 2 - sigmoid(at + 0.5)
    table = np.floor(sigmoid(at) - error / 2 + 0.5).astype(np.int64)
    table[-1] = 65535
    return table


def half_tanh_table() -> NDArray[np.int16]:
    """``-tanh(i / 48)`` in Q0.15 for ``i`` from -1 to 255: half minus ``sigmoid_table``."""
    from_zero = 32768 - sigmoid_table()
    return np.concatenate([-from_zero[1:2], from_zero]).astype(np.int16)


POWER_OF_TWO = 1e-3
"""How far from a whole number the binary logarithm of a power of two may be."""


@dataclass(frozen=True, slots=True)
class SigmoidS16:
    """Multiplier from int16 inputs of logistic and tanh to positions in ``sigmoid_table``.

    Attributes:
        mult: multiplier that brings inputs to a scale of ``1 / (3 * 4096)``.
        right: rounding right shift after the multiplication.

    """

    mult: int
    right: int

    def positions(self, x: Array) -> NDArray[np.int64]:
        """The inputs at a scale of ``1 / (3 * 4096)``."""
        rounding = (1 << self.right) >> 1
        return np.asarray((x.astype(np.int64) * self.mult + rounding) >> self.right)


def prepare_sigmoid(node: BoundNode, most_left: int) -> SigmoidS16:
    """The input's multiplier.

    A scale within ``POWER_OF_TWO`` of a power of two counts as one, as in TFLM's ``CheckedLog2``.

    Args:
        node: a logistic or tanh of int16.
        most_left: largest left shift for an input whose scale is a power of two.

    """
    x, y = node.input(0), node.output
    require_alike(x, y)
    require_fixed(y, FIXED_OUTPUT)
    scale = float(qparams(x)[0])
    power = round(log2(scale))
    left = 12 + power
    if abs(log2(scale) - power) < POWER_OF_TWO and 0 <= left <= most_left:
        return SigmoidS16(3 << left, 0)
    real, right = scale * 4096 * 3, 0
    while real <= 32767 / 2 and right <= 30:
        real, right = real * 2, right + 1
    # With this multiplier one step of the input already reaches the table's end.
    return SigmoidS16(int(min(real, INT32_MAX)), right)
